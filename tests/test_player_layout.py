"""How the player divides the terminal: nothing is cut off in a small one, and a large one has a pane at the side."""

from __future__ import annotations

import asyncio
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from claude_session_player.models import View
from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.footer import FooterState, footer_keys
from claude_session_player.tui.player_screen import PlayerScreen
from claude_session_player.tui.widgets.element_view import speaker_colour
from claude_session_player.tui.widgets.header import HeaderFacts
from claude_session_player.tui.widgets.side_pane import SIDE_WIDTH, SidePane
from tests.builder import SessionBuilder, text
from tests.players import played, player, recording, screen_of, shown_on
from tests.screens import check_picture, drawn_in, each_shade, each_size, run, text_of, until

WIDE = (200, 40)
FOOTER_STATES = [FooterState(*flags) for flags in itertools.product((False, True), repeat=len(FooterState._fields))]
FACTS = HeaderFacts(
    "The bell of my tea timer rings too early",
    (),
    "/home/ada/projects/teapot",
    "feature/steeping-times",
    "claude-opus-4-5-20251101",
    124_000,
    200_000,
    "$1.32",
)


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLORFGBG", raising=False)


def _words(line: str) -> set[str]:
    return set(re.findall(r"\S+", line))


@each_size
@each_shade
def test_the_player_looks_as_it_did_in_every_size(shade: str, size: tuple[int, int]) -> None:

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.app.workers.wait_for_complete()
        screen_of(app).header.show(FACTS)
        await until(pilot, lambda: screen_of(app).costs.curve is not None)
        await pilot.press("g", "7", "enter", "space")
        await pilot.pause()
        if size[0] >= SIDE_WIDTH:
            await until(pilot, lambda: "LASTED" in text_of(app))
        check_picture(pilot.app, f"player-{shade}")

    with drawn_in(shade):
        app, _ = player(view=View.rich())
        run(app, script, size)


@pytest.mark.parametrize("keys", [(), ("space",), ("end",), ("end", "up", "up"), ("end", "pageup"), ("slash", "x")])
@each_size
def test_no_line_around_the_session_ends_inside_a_word(keys: tuple[str, ...], size: tuple[int, int]) -> None:
    """Every word of the header, the status and the footer is one that a terminal with more room shows, or is marked."""

    def around(at: tuple[int, int]) -> list[str]:
        app, _ = player()
        lines: list[str] = []

        async def script(pilot: Pilot[Any]) -> None:
            screen = screen_of(app)
            await until(pilot, lambda: screen.costs.curve is not None)
            screen.show_facts = lambda: None  # type: ignore[method-assign]  # the header keeps what it is told here
            screen.header.show(FACTS)
            await pilot.press(*keys)
            await pilot.pause()
            shown = text_of(app).split("\n")
            lines.extend([*shown[: screen_of(app).header.size.height], *shown[-2:]])

        run(app, script, at)
        return lines

    named = (f"{key.label} {key.word}" for state in FOOTER_STATES for key in footer_keys(state))
    known = _words(" ".join((*around((400, 60)), *named, "x")))
    for line in around(size):
        assert all(word in known or word.endswith("…") or "/…/" in word for word in _words(line)), line


def test_the_session_keeps_a_readable_width_and_a_wide_terminal_has_a_pane_beside_it() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(app)
        places = (80, 80, False), (110, 110, False), (159, 111, False), (160, 111, True)
        for width, expected, has_side in places:

            def is_laid_out(wanted: tuple[int, bool] = (expected, has_side)) -> bool:
                return (screen.pane.size.width, bool(screen.side.display)) == wanted

            await pilot.resize_terminal(width, 40)
            await until(pilot, is_laid_out)
        assert screen.side.outer_size.width == 48  # a column stays free between them

    run(app, script)


def test_the_pane_shows_the_element_at_the_cursor_in_full_and_in_the_colour_of_its_speaker() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        side = screen_of(app).side
        await pilot.press("o", "g", "7", "enter", "space")
        await until(pilot, lambda: "test 8 of the kettle passed" in text_of(app))
        assert side.border_title == "Tool call · line 6"
        assert side.styles.border_top[1].ansi == 2
        await pilot.press("up", "up")
        await until(pilot, lambda: text_of(app).count("the test brings a clock of its own") == 2)
        assert str(side.border_title).startswith("Response")
        assert "test 8 of the kettle" not in text_of(app)

    run(app, script, WIDE)


def test_the_chapters_beside_the_session_have_no_filter_and_leave_the_keys_to_the_player() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(app)
        await pilot.pause()
        assert "PROMPT" in text_of(app)
        assert "type to filter" not in text_of(app)
        await pilot.press("t")
        assert screen.pane.view.thinking
        await pilot.click("SidePane ChapterTable", offset=(5, 2))
        await until(pilot, lambda: screen.player.position > 0)
        assert screen.focused is screen.pane
        await pilot.press("c")
        await until(pilot, lambda: "type to filter" in text_of(app))

    run(app, script, WIDE)


def test_a_key_hides_the_pane_and_shows_it_again() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(app)
        await pilot.press("o", "o")
        await pilot.pause()
        assert not screen.side.display
        assert screen.pane.size.width == 111
        await pilot.resize_terminal(210, 40)
        await pilot.pause()
        assert not screen.side.display
        await pilot.press("o")
        await until(pilot, lambda: bool(screen.side.display))
        await pilot.resize_terminal(100, 40)
        await until(pilot, lambda: screen.size.width == 100)
        await pilot.press("o")
        await pilot.pause()
        assert "needs 160 columns" in shown_on(app)

    run(app, script, WIDE)


@pytest.mark.parametrize("length", [*range(70, 82), 150, 230])
def test_a_notification_is_shown_whole_however_it_is_wrapped(length: int) -> None:
    app = TerminalApp[None]()
    words = f"Copied: {'x' * (length - 25)} claude --resume 7"

    async def body() -> None:
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            app.notify(words)
            await until(pilot, lambda: "resume 7" in text_of(app) or "Copied" in text_of(app))
            await pilot.pause()
            rows = [row.removeprefix("▌ ").strip() for row in text_of(app).splitlines() if row.startswith("▌")]
            assert "".join(rows).replace(" ", "") == words.replace(" ", "")

    asyncio.run(body())


@pytest.mark.parametrize("key", ["1", "plus", "r", "p", "t", "e", "space"])
def test_what_is_said_about_a_key_ends_with_the_next_one_that_changes_something(key: str) -> None:
    async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("o")
        assert "needs 160 columns" in shown_on(pilot.app)
        await pilot.press("up", "pageup")
        assert "needs 160 columns" in shown_on(pilot.app)
        await pilot.press(key)
        assert "needs 160 columns" not in shown_on(pilot.app)
        screen.notify("Steam!", severity="error")
        await pilot.press("plus")
        assert "Steam!" in shown_on(pilot.app), "an error stays"

    played(script)


def test_a_long_element_is_scrolled_in_the_pane() -> None:
    session = SessionBuilder().prompt("Count").response(text("\n\n".join(f"number {number}" for number in range(60))))
    app, _ = player(recording(session))

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("o", "end", "up")
        await until(pilot, lambda: "Prompt · line 1" in text_of(app))
        await pilot.press("down")
        await until(pilot, lambda: "Response · line 2" in text_of(app))
        await pilot.press(*["shift+down"] * 4)
        await pilot.pause()
        assert "number 0\n" not in text_of(app)
        await pilot.press(*["shift+up"] * 4)
        await until(pilot, lambda: "number 0" in text_of(app))

    run(app, script, (160, 40))


def test_the_place_of_the_cursor_is_told_while_it_is_not_at_the_end() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("end")
        assert "8 of 9" not in text_of(app)
        await pilot.press("up")
        await pilot.pause()
        assert "8 of 9" in text_of(app)

    run(app, script, (120, 40))


def test_people_the_model_tools_and_errors_have_colours_of_their_own() -> None:
    app, _ = player()
    colours = {}

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("end")
        for element in screen_of(app).pane.elements:
            kind = type(element).__name__, bool(getattr(element, "is_error", False))
            colours[kind] = speaker_colour(element)

    run(app, script)
    assert len({colours[kind] for kind in colours if kind[0] != "TurnDuration"}) == len(colours)
    assert colours["ToolCall", True] == "ansi_red"


class PaneApp(TerminalApp[None]):
    """A pane with two widgets."""

    def compose(self) -> ComposeResult:
        """Nothing but the pane."""
        yield SidePane(("One", Static("first")), ("Two", Static("second")))


def test_the_pane_goes_through_its_widgets_and_then_hides() -> None:
    app = PaneApp()

    async def script(pilot: Pilot[Any]) -> None:
        pane = app.query_one(SidePane)
        shown = []
        for _ in range(4):
            await pilot.pause()
            shown.append("first" in text_of(app) and "One" in text_of(app))
            shown.append("second" in text_of(app) and "Two" in text_of(app))
            pane.show_next()
        assert shown == [True, False, False, True, False, False, True, False]

    run(app, script, (170, 9))
