"""A glance at a session reads the end of its file, and more only where that shows nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Size
from textual.strip import Strip

from claude_session_player.models import ScreenElement, View
from claude_session_player.store import Session
from claude_session_player.tui.hit_list import HitText
from claude_session_player.tui.widgets import preview
from claude_session_player.tui.widgets.preview import (
    _AFTER,
    _BEFORE,
    _SIZES,
    Preview,
    PreviewPart,
    first_screen,
    last_rows,
    last_screen,
    preview_at,
    preview_of,
    screen_around,
)
from claude_session_player.tui.widgets.rows import element_rows
from tests.builder import SessionBuilder, call, text
from tests.stores import AGENT, ONE, StoreBuilder
from tests.test_snapshots import opened_files

SMALL_END = _SIZES[0]
USUAL = Size(40, 12)


def seen(path: Path, size: Size = USUAL) -> str:
    """The end of the specification's screen."""
    return plain(last_rows(last_screen(str(path), is_rich=False), size))


def plain(rows: list[Strip]) -> str:
    return "\n".join(row.text for row in rows)


def in_view(preview: Preview, size: Size) -> str:
    return plain(preview.rows[preview.top : preview.top + size.height])


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
    assert in_view(preview_of(session, Size(80, 9)), Size(80, 9)) == "The screen is empty."


def test_a_session_that_is_gone_says_so(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    path = builder.session()
    session = builder.open().at(path)
    path.unlink()
    assert (
        in_view(preview_of(session, Size(80, 9)), Size(80, 9)) == "Cannot read the session: No such file or directory"
    )


def test_the_lines_of_a_subagent_are_its_screen(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    builder.session(ONE)
    session = builder.open().at(builder.agent(AGENT, ONE))
    assert "Nothing there." in in_view(preview_of(session, Size(80, 9)), Size(80, 9))


# --- the beginning and the end --------------------------------------------------------------------


def long_session(tmp_path: Path, count: int = 2000) -> Session:
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE)
    for number in range(count):
        session.prompt(f"Step {number}").response(text("x" * 200))
    return builder.open().at(session.write(builder.home() / f"{ONE}.jsonl"))


def test_a_preview_begins_with_the_first_prompt_and_reads_only_the_beginning(tmp_path: Path) -> None:
    session = long_session(tmp_path)
    preview = preview_of(session, USUAL)
    assert in_view(preview, USUAL).startswith("❯ Step 0\n\n● xxx")
    assert len(preview.rows) > 4 * USUAL.height
    assert 0 < first_screen(session.path).account.lines * 700 < 2 * SMALL_END


def test_a_preview_of_the_end_shows_the_last_response_and_can_be_scrolled_back(tmp_path: Path) -> None:
    preview = preview_of(long_session(tmp_path), USUAL, PreviewPart.END)
    assert "Step 1999" in in_view(preview, USUAL)
    assert preview.top == len(preview.rows) - USUAL.height
    assert "Step 1998" in plain(preview.rows[: preview.top])


def test_the_first_prompt_is_shown_although_the_session_was_compacted(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE).prompt("Hi").compaction().prompt("Go on")
    known = builder.open().at(session.write(builder.home() / f"{ONE}.jsonl"))
    assert in_view(preview_of(known, USUAL, is_rich=False), USUAL).startswith("❯ Hi")
    assert in_view(preview_of(known, USUAL, PreviewPart.END, is_rich=False), USUAL) == "❯ Go on"


def test_the_preview_shows_what_happened_unless_the_screen_is_wanted(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE).prompt("Hi").response(call("Bash", "t1", command="ls")).result("t1", "a")
    known = builder.open().at(session.write(builder.home() / f"{ONE}.jsonl"))
    assert in_view(preview_of(known, USUAL), USUAL) == "❯ Hi\n\n● Bash\n    $ ls\n  └ a"
    assert in_view(preview_of(known, USUAL, is_rich=False), USUAL) == "❯ Hi\n\n● Bash(ls)\n  └ a"


def test_a_first_line_that_is_larger_than_what_is_read_at_first_is_shown(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("y" * (SMALL_END + 10))
    assert first_screen(str(session.write(tmp_path / "s.jsonl"))).elements


# --- at a hit -----------------------------------------------------------------------------------------

NEEDLE = HitText("response", "a needle in the hay", ((2, 8),))


def at_hit(
    tmp_path: Path,
    session: SessionBuilder,
    line: int,
    size: Size = USUAL,
    hit: HitText = NEEDLE,
    *,
    agent: bool = False,
) -> str:
    builder = StoreBuilder(tmp_path / "store")
    builder.session(ONE)
    path = session.write(builder.agent(AGENT, ONE) if agent else builder.home() / f"{ONE}.jsonl")
    return in_view(preview_at(builder.open().at(path), line, hit, size, is_rich=False), size)


def hay(count: int = 40) -> SessionBuilder:
    session = SessionBuilder()
    for number in range(count):
        session.prompt(f"Step {number}").response(text("a NEEDLE" if number == count // 2 else "hay"))
    return session


def test_a_hit_is_marked_with_what_is_before_and_after_it(tmp_path: Path) -> None:
    shown = at_hit(tmp_path, hay(), 42, Size(40, 9))
    assert shown == " \n ❯ Step 20\n \n▌● a NEEDLE\n \n ❯ Step 21\n \n ● hay\n "


def test_a_hit_at_either_end_leaves_no_room_unused(tmp_path: Path) -> None:
    first = HitText("prompt", "Step 0", ((0, 4),))
    assert at_hit(tmp_path / "a", hay(), 1, Size(40, 3), first) == "▌❯ Step 0\n \n ● hay"
    last = SessionBuilder().prompt("Hi").prompt("Ho").response(text("needle"))
    assert at_hit(tmp_path / "b", last, 3, Size(40, 3)) == " ❯ Ho\n \n▌● needle"


def test_the_row_with_the_word_is_in_view_in_a_long_response(tmp_path: Path) -> None:
    words = "\n\n".join(f"line {number}" for number in range(200)) + "\n\nneedle\n\nmore"
    shown = at_hit(tmp_path, SessionBuilder().prompt("Hi").response(text(words)), 2)
    assert "▌  needle" in shown
    assert all(row.startswith("▌") for row in shown.splitlines())


def test_the_text_of_a_truncated_result_stands_below_its_call(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("Hi").response(call("Bash", "t1", command="ls"))
    session.result("t1", "\n".join("hay" for _ in range(99)) + "\nneedle")
    shown = at_hit(tmp_path, session, 3)
    assert "▌● Bash(ls)" in shown
    assert "▌response: a needle in the hay" in shown


def test_a_line_that_is_not_on_the_screen_shows_its_text_where_it_is(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("Hi").attachment("file", filename="/hay.txt").prompt("Ho")
    shown = at_hit(tmp_path, session, 2, hit=HitText("file", "a needle", ((2, 8),)))
    assert [row for row in shown.splitlines() if row.strip()] == [" ❯ Hi", "▌file: a needle", " ❯ Ho"]


def test_a_hit_beside_the_file_of_its_session_shows_only_its_text(tmp_path: Path) -> None:
    assert at_hit(tmp_path, hay(), 0) == "▌response: a needle in the hay"


def test_a_hit_before_a_compaction_and_in_thinking_is_shown(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("Hi").response({"type": "thinking", "thinking": "A needle?", "signature": ""})
    session.compaction().prompt("Go on")
    assert any(row.startswith("▌") and "A needle?" in row for row in at_hit(tmp_path, session, 2).splitlines())


def test_a_hit_of_a_sub_agent_is_shown_in_its_own_file_and_inside_that_of_its_session(tmp_path: Path) -> None:
    agent = SessionBuilder(sidechain=True).prompt("Look", agentId=AGENT).response(text("A needle."), agentId=AGENT)
    assert "▌● A needle." in at_hit(tmp_path / "a", agent, 2, agent=True)
    inline = SessionBuilder().prompt("Hi").response(call("Task", "t", description="Look", prompt="Look"))
    inline.sidechain = True
    inline.prompt("Look", parentUuid=None).response(text("A needle."))
    assert "▌● A needle." in at_hit(tmp_path / "b", inline, 4)


@pytest.mark.parametrize("width", [1, 2, 9])
def test_a_hit_is_shown_in_any_width(tmp_path: Path, width: int) -> None:
    assert "▌" in at_hit(tmp_path, hay(), 42, Size(width, 5))
    assert at_hit(tmp_path / "flat", hay(), 42, Size(width, 0)) == ""


def test_a_file_that_became_shorter_or_is_gone_is_survived(tmp_path: Path) -> None:
    assert at_hit(tmp_path, hay(2), 99) == "▌response: a needle in the hay"
    builder = StoreBuilder(tmp_path / "other")
    path = builder.session()
    session = builder.open().at(path)
    path.unlink()
    assert plain(preview_at(session, 2, NEEDLE, USUAL).rows) == "Cannot read the session: No such file or\ndirectory"


def test_only_the_lines_around_a_hit_are_replayed(tmp_path: Path) -> None:
    session = SessionBuilder()
    for number in range(2000):
        session.prompt(f"Step {number}").response(text("x" * 200))
    path = session.write(tmp_path / "s.jsonl")
    state = screen_around(str(path), 2000)
    assert path.stat().st_size > 4 * (_BEFORE + _AFTER)
    assert 0 < state.account.lines * 700 < 2 * (_BEFORE + _AFTER)
    assert any(element.line == 2000 for element in state.elements)
