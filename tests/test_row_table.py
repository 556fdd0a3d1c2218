"""A table draws what is in sight, keeps its cursor in sight, and fits into any width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from claude_session_player.tui.widgets.table import RowTable
from claude_session_player.util.tables import TableColumn
from tests.screens import run, text_of, until, until_shown

COLUMNS = (TableColumn("NAME", 6, 3, grows=True), TableColumn("SIZE", 4, 1, is_right=True), TableColumn("WHEN", 5, 2))


class Numbers(RowTable[int]):
    """Numbers, and how often a row was drawn."""

    columns = COLUMNS
    drawn = 0

    def cells(self, row: int) -> Sequence[str]:
        """The number, in words that could harm a terminal."""
        self.drawn += 1
        return f"row\x1b[2J {row}", str(row), "now"


class NumbersApp(App[None]):
    """Nothing but the table."""

    def compose(self) -> ComposeResult:
        """The table."""
        yield Numbers()

    def on_mount(self) -> None:
        """Five thousand rows."""
        self.query_one(Numbers).show(range(5000), 0)


def test_five_thousand_rows_are_drawn_as_they_come_into_sight() -> None:
    app = NumbersApp()

    async def script(pilot: Pilot[Any]) -> None:
        table = app.query_one(Numbers)
        assert "row�[2J 22" in text_of(app)
        assert "row�[2J 23" not in text_of(app)
        table.drawn = 0
        await pilot.press("end")
        await pilot.pause()
        assert "row�[2J 4999" in text_of(app)
        assert text_of(app).startswith("NAME")
        assert table.drawn <= 3 * 24

    run(app, script)


@pytest.mark.parametrize(
    ("keys", "cursor"),
    [("down", 1), ("up", 0), ("j j k", 1), ("pagedown", 22), ("end", 4999), ("end down", 4999), ("end home", 0)],
)
def test_keys_move_the_cursor_inside_of_the_table(keys: str, cursor: int) -> None:
    app = NumbersApp()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press(*keys.split())
        await pilot.pause()
        assert app.query_one(Numbers).cursor == cursor
        assert f"row�[2J {cursor} " in text_of(app)

    run(app, script)


def test_a_click_moves_the_cursor_and_one_on_the_heading_does_not() -> None:
    app = NumbersApp()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.click(Numbers, offset=(3, 5))
        assert app.query_one(Numbers).cursor == 4
        await pilot.click(Numbers, offset=(3, 0))
        assert app.query_one(Numbers).cursor == 4

    run(app, script)


def test_a_table_that_becomes_shorter_takes_its_cursor_along() -> None:
    app = NumbersApp()

    async def script(pilot: Pilot[Any]) -> None:
        table = app.query_one(Numbers)
        await pilot.press("end")
        table.show(range(2), 1)
        await pilot.pause()
        assert "row�[2J 0" in text_of(app)
        table.show(range(0), 0)
        await pilot.press("down", "up", "end", "home", "pageup")
        assert (table.cursor, table.current) == (0, None)

    run(app, script)


def test_the_cursor_stays_in_sight_when_the_window_shrinks() -> None:
    app = NumbersApp()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press(*["down"] * 20)
        await pilot.resize_terminal(20, 5)
        await until(pilot, lambda: len(text_of(app).splitlines()) <= 5)
        await until_shown(pilot, "20")

    run(app, script)
