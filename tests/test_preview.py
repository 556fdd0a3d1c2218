"""A glance at a session reads the end of its file, and more only where that shows nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Size
from textual.strip import Strip

from claude_session_player.models import ScreenElement, View
from claude_session_player.tui.widgets import preview
from claude_session_player.tui.widgets.preview import _TAIL_SIZES, last_rows, last_screen, preview_of
from claude_session_player.tui.widgets.rows import element_rows
from tests.builder import SessionBuilder, call, text
from tests.stores import AGENT, ONE, StoreBuilder
from tests.test_snapshots import opened_files

SMALL_END = _TAIL_SIZES[0]
USUAL = Size(40, 12)


def seen(path: Path, size: Size = USUAL) -> str:
    return plain(last_rows(last_screen(str(path)), size))


def plain(rows: list[Strip]) -> str:
    return "\n".join(row.text for row in rows)


def test_the_end_of_a_small_session_is_its_whole_screen(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("Hi").response(text("Hello."), call("Bash", "t1", command="ls")).result("t1", "a")
    path = session.write(tmp_path / "s.jsonl")
    assert seen(path) == "❯ Hi\n\n● Hello.\n● Bash(ls)\n  └ a"


def test_only_the_end_of_a_large_session_is_replayed(tmp_path: Path) -> None:
    session = SessionBuilder()
    for number in range(2000):
        session.prompt(f"Step {number}").response(text("x" * 200))
    path = session.write(tmp_path / "s.jsonl")
    state = last_screen(str(path))
    assert path.stat().st_size > 4 * SMALL_END
    assert 0 < state.account.lines * 700 < 2 * SMALL_END
    assert "Step 1999" in seen(path)


def test_a_last_line_that_is_larger_than_the_end_is_still_shown(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("Write much").response(text("y" * (SMALL_END + 10)))
    shown = seen(session.write(tmp_path / "s.jsonl"))
    assert shown.count("\n") == 11
    assert shown.endswith("more characters)")


def test_the_last_rows_are_those_of_the_player(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("Hi").response(text("Some *words* of which one row is made, and another."))
    session.response(call("Bash", "t1", command="ls")).result("t1", "a")
    path = session.write(tmp_path / "s.jsonl")
    answer = "● Some words of which one row\n  is made, and another.\n"
    assert seen(path, Size(30, 9)) == f"❯ Hi\n\n{answer}\n● Bash(ls)\n  └ a"
    assert seen(path, Size(30, 4)) == "  is made, and another.\n\n● Bash(ls)\n  └ a"
    assert seen(path, Size(30, 2)) == "● Bash(ls)\n  └ a"
    assert seen(path, Size(30, 0)) == ""


def test_only_elements_that_are_in_sight_are_laid_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = SessionBuilder()
    for number in range(500):
        session.prompt(f"Step {number}")
    state = last_screen(str(session.write(tmp_path / "s.jsonl")))
    laid_out: list[ScreenElement] = []

    def rows(element: ScreenElement, view: View, width: int) -> list[Strip]:
        laid_out.append(element)
        return element_rows(element, view, width)

    monkeypatch.setattr(preview, "element_rows", rows)
    assert len(last_rows(state, USUAL)) == 12
    assert len(state.elements) > 100
    assert len(laid_out) <= 7


def test_a_file_is_opened_once_where_its_end_shows_something(tmp_path: Path) -> None:
    path = SessionBuilder().prompt("Hi").write(tmp_path / "s.jsonl")
    with opened_files() as opened:
        last_screen(str(path))
    assert len(opened) == 1


def test_a_session_without_a_screen_says_so(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    path = builder.session()
    session = builder.open().at(path)
    path.write_bytes(b"")
    assert plain(preview_of(session, Size(80, 9))) == "The screen is empty."


def test_a_session_that_is_gone_says_so(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    path = builder.session()
    session = builder.open().at(path)
    path.unlink()
    assert plain(preview_of(session, Size(80, 9))) == "Cannot read the session: No such file or directory"


def test_the_lines_of_a_subagent_are_its_screen(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    builder.session(ONE)
    session = builder.open().at(builder.agent(AGENT, ONE))
    assert "Nothing there." in plain(preview_of(session, Size(80, 9)))
