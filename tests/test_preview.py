"""A glance at a session reads the end of its file, and more only where that shows nothing."""

from __future__ import annotations

from pathlib import Path

from claude_session_player.tui.preview import _ENDS, last_lines, last_screen, preview_of
from tests.builder import SessionBuilder, call, text
from tests.stores import AGENT, ONE, StoreBuilder
from tests.test_arriving import opened_files

SMALL_END = _ENDS[0]


def seen(path: Path) -> str:
    return last_lines(last_screen(str(path))).plain


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
    assert len(seen(path).splitlines()) < 300


def test_a_last_line_that_is_larger_than_the_end_is_still_shown(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("Write much").response(text("y" * (SMALL_END + 10) + " done"))
    shown = seen(session.write(tmp_path / "s.jsonl"))
    assert shown.endswith("y done")
    assert len(shown) < 50_000


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
    assert preview_of(session).plain == "there is nothing to see on its screen"


def test_a_session_that_is_gone_says_so(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    path = builder.session()
    session = builder.open().at(path)
    path.unlink()
    assert preview_of(session).plain == "cannot be read: No such file or directory"


def test_the_lines_of_a_subagent_are_its_screen(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    builder.session(ONE)
    session = builder.open().at(builder.agent(AGENT, ONE))
    assert "Nothing there." in preview_of(session).plain
