"""The output for a changing screen, compared on a terminal emulator."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from claude_session_player import ScreenState, View, render, replay
from claude_session_player.export.asciicast import WRAP_OFF
from claude_session_player.export.terminal import fold_line, folded_rows
from claude_session_player.export.terminal_screen import TerminalScreen, last_rows
from claude_session_player.models import AssistantText, ToolCall, UserMessage
from tests.builder import SessionBuilder, call as tool, text
from tests.recordings import Terminal, all_rows, expected_terminal
from tests.test_frame_index import COMPACTED, QUIET, call, progress, prompt, result

WORDS = (
    "a",
    "two\nlines",
    "",
    "far too long for a row of this terminal",
    "茶を一杯どうぞお願いします",
    "e\u0301🍵\ttab",
    "\x1b[2Jx\x07",
)
IDS = st.sampled_from("1234")
RECORDS = st.one_of(
    st.sampled_from(WORDS).map(prompt),
    IDS.map(call),
    st.builds(result, IDS, st.sampled_from(WORDS), is_error=st.booleans()),
    st.builds(progress, IDS, st.sampled_from(WORDS)),
    st.just(COMPACTED),
    st.just(QUIET),
)


def shown(
    records: list[Any], width: int = 20, height: int = 5, view: View | None = None
) -> tuple[TerminalScreen, Terminal]:
    """The screen after some records, and the terminal that shows it."""
    state = ScreenState(view)
    screen, terminal = TerminalScreen(state, width, height), Terminal(width, height)
    terminal.write(WRAP_OFF)
    for record in records:
        render(state, record)
        terminal.write(screen.update())
    return screen, terminal


VIEWS = st.sampled_from((View(), View(history=True), View.rich(), replace(View.rich(), history=False)))


@given(st.lists(RECORDS, max_size=30), st.integers(10, 30), st.integers(2, 9), VIEWS)
def test_after_every_record_the_terminal_shows_the_end_of_the_screen(
    records: list[Any], width: int, height: int, view: View
) -> None:
    state = ScreenState(view)
    screen, terminal = TerminalScreen(state, width, height), Terminal(width, height)
    terminal.write(WRAP_OFF)
    for record in records:
        render(state, record)
        terminal.write(screen.update())
        assert terminal.rows == expected_terminal(state, width, height).rows
    assert terminal.cells == expected_terminal(state, width, height).cells


@given(st.lists(st.lists(RECORDS, max_size=9), max_size=9), st.integers(2, 9), VIEWS)
def test_after_several_records_at_once_the_terminal_shows_the_end_of_the_screen(
    moments: list[list[Any]], height: int, view: View
) -> None:
    state = ScreenState(view)
    screen, terminal = TerminalScreen(state, 20, height), Terminal(20, height)
    terminal.write(WRAP_OFF)
    for records in moments:
        end = None
        for record in records:
            render(state, record)
            screen.note()
            end = screen.end().after(end)
        if end is not None:
            terminal.write(screen.show(end))
        expected = expected_terminal(state, 20, height)
        assert terminal.cells == expected.cells
        assert last_rows(state, 20, height) == all_rows(state, 20)[-height:]


def test_the_end_of_the_screen_at_a_moment_can_be_shown_after_the_screen_has_changed() -> None:
    state = ScreenState(View.rich())
    screen, terminal = TerminalScreen(state, 40, 9), Terminal(40, 9)
    for record in (prompt("Make tea"), call("1")):
        render(state, record)
        screen.note()
    before, expected = screen.end(), expected_terminal(state, 40, 9).rows
    for record in (result("1", "no kettle", is_error=True), prompt("Buy one")):
        render(state, record)
        screen.note()
    terminal.write(screen.show(before))
    assert terminal.rows == expected
    terminal.write(screen.show(screen.end()))
    assert terminal.rows == expected_terminal(state, 40, 9).rows != expected


def test_what_is_never_on_the_terminal_is_not_drawn() -> None:
    state = ScreenState(View.rich())
    screen = TerminalScreen(state, 40, 9)
    for _ in range(1000):
        render(state, prompt("words"))
        screen.note()
    screen.show(screen.end())
    assert screen.laid_out <= 2 * 9


@given(st.lists(RECORDS, max_size=20))
def test_a_larger_terminal_shows_the_same_rows_at_the_end(records: list[Any]) -> None:
    state = ScreenState(View(history=True))
    screen, terminal = TerminalScreen(state, 20, 5), Terminal(30, 400)
    for record in records:
        render(state, record)
        terminal.write(screen.update())
    rows = expected_terminal(state, 20, 5).rows[: len(screen.rows)]
    last = terminal.screen.cursor.y
    assert terminal.rows[last - len(rows) + 1 : last + 1] == rows


def test_what_scrolls_away_is_complete_and_in_order() -> None:
    records = [
        prompt("a"),
        call("1"),
        result("1", "x\ny\nz"),
        prompt("b\nc\nd\ne\nf\ng\nh"),
        call("2"),
        result("2", "v\nw"),
    ]
    _, terminal = shown(records, 40, 4)
    everything = terminal.scrolled_away + terminal.rows
    state = ScreenState()
    for record in records:
        render(state, record)
    plain = Terminal(40, 100)
    plain.write("\r\n".join(all_rows(state, 40)))
    assert everything == plain.rows[: len(everything)]


def test_what_changes_above_the_screen_costs_nothing() -> None:
    records = [call("1"), *(prompt("words") for _ in range(10)), QUIET]
    screen, _ = shown(records)
    before = screen.laid_out
    state = screen.state
    for record in (progress("1", "x"), progress("1", "y"), result("1", "many\nlines")):
        render(state, record)
        assert screen.update() == ""
    assert screen.laid_out == before


def test_a_row_that_changes_in_place_is_the_only_one_that_is_written() -> None:
    screen, _ = shown([call("1"), progress("1", "first"), prompt("below")], height=9)
    render(screen.state, progress("1", "second"))
    written = screen.update()
    assert "second" in written
    assert "below" not in written


def test_rows_laid_out_are_as_many_as_changed_however_long_the_session_is() -> None:
    turn = [prompt("a"), call("1"), progress("1", "x"), result("1", "one\ntwo")]
    short, long = (shown(turn * count, 80, 24)[0].laid_out for count in (100, 1000))
    assert long <= 10.1 * short
    assert len(shown(turn * 1000, 80, 24)[0]._blocks) <= 24


def test_nothing_is_written_for_a_record_that_changes_nothing() -> None:
    screen, _ = shown([prompt("a")])
    render(screen.state, QUIET)
    assert screen.update() == ""


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("● one two three, and four", ["● one two three, and", "  four"]),
        ("● " + "x" * 25, ["● xxxxxxxxxxxxxxxxxx", "  xxxxxxx"]),
        ("  └ a long result of a tool", ["  └ a long result of", "    a tool"]),
        ("茶" * 11, ["茶" * 10, "茶"]),
        ("x" + "茶" * 10, ["x" + "茶" * 9, "茶"]),
        (" " * 30 + "deep", [" " * 20, " " * 9 + "deep"]),
        ("e\u0301" * 21, ["e\u0301" * 20, "e\u0301"]),
        ("👨‍👩‍👧" * 11, ["👨‍👩‍👧" * 10, "👨‍👩‍👧"]),
        ("exactly twenty signs", ["exactly twenty signs"]),
    ],
)
def test_lines_are_folded_between_words_and_hang_below_their_text(line: str, rows: list[str]) -> None:
    assert [" " * row.blanks + line[row.start : row.end] for row in fold_line(line, 20)] == rows


def test_a_sign_wider_than_the_terminal_has_a_row_of_its_own() -> None:
    assert [(row.start, row.end) for row in fold_line("茶茶", 1)] == [(0, 1), (1, 2)]


def test_rows_have_the_colours_of_their_element() -> None:
    pending, done = ToolCall("Bash", "ls"), ToolCall("Bash", "ls", result="no", is_error=True)
    assert folded_rows(UserMessage("Hi"), View(), 80) == ["\x1b[1;36m❯\x1b[0m\x1b[1m Hi\x1b[0m"]
    assert folded_rows(AssistantText("Hi"), View(), 80) == ["\x1b[1m●\x1b[0m Hi"]
    assert folded_rows(pending, View(), 80) == ["\x1b[33m●\x1b[0m \x1b[1mBash\x1b[0m(ls)"]
    assert folded_rows(done, View(), 80)[1] == "\x1b[31m  ✗ no\x1b[0m"


def test_markdown_and_changes_are_drawn_in_colour_by_the_rich_view() -> None:
    edit = {"file_path": "/k/kettle.py", "old_string": "cold = 1", "new_string": "hot = 2"}
    lines = (
        SessionBuilder().prompt("Boil").response(text("**Done**: `hot`"), tool("Edit", **edit)).result("toolu_1", "ok")
    )
    state = replay(lines.lines, View.rich())
    rows = last_rows(state, 40, 9)
    assert "● \x1b[0m\x1b[1mDone\x1b[0m: \x1b[36mhot\x1b[0m" in rows[2]
    assert any("\x1b[31m" in row and "- " in row for row in rows)
    assert any("\x1b[32m" in row and "+ " in row for row in rows)


def test_half_a_construct_in_a_diff_is_not_marked_as_an_error() -> None:
    edit = {"file_path": "/k/kettle.html", "old_string": "old", "new_string": "a && b"}
    state = replay(SessionBuilder().response(tool("Edit", **edit)).result("toolu_1", "ok").lines, View.rich())
    (row,) = (row for row in last_rows(state, 40, 9) if "&" in row)
    assert "31" not in "".join(re.findall(r"\x1b\[([0-9;]*)m", row))


def test_a_long_place_leaves_room_for_what_is_searched() -> None:
    search = {"pattern": "kettle|cup", "path": "/home/ada/" + "deep/" * 20}
    state = replay(SessionBuilder().response(tool("Grep", **search)).result("toolu_1", "a\nb").lines, View.rich())
    assert "kettle|cup" in last_rows(state, 80, 9)[0]


def test_a_very_long_line_is_folded_in_no_time() -> None:
    assert len(folded_rows(AssistantText("x" * 5_000_000), View(), 80)) == 64_103
