"""The text of tool results: joining, tidying, shortening."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_session_player.content import result_text, shortened
from claude_session_player.events import ToolResult
from claude_session_player.text import Cut


def result(content: Any) -> ToolResult:
    """A result as the decoder leaves it."""
    return ToolResult("a", msgspec.Raw(msgspec.json.encode(content)))


def kept(content: Any, lines: int | None = 5) -> str:
    """The text that is kept of a result."""
    return result_text(result(content), lines)[0]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "image", "source": {"data": "…"}}, {"type": "text", "text": "a"}], "[image]\na"),
        ([{"type": "tool_reference", "tool_name": "X"}], "[tool_reference]"),
        (None, ""),
        ([], ""),
        ("", ""),
        (" \n\t\n", ""),
    ],
)
def test_content_is_a_string_or_the_texts_of_a_list_with_other_blocks_named(content: Any, text: str) -> None:
    assert kept(content) == text


def test_absent_content_is_no_output() -> None:
    assert result_text(ToolResult("a"), 5) == ("", Cut.NONE)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (42, "42"),
        (True, "true"),
        ({"a": 1}, '{"a":1}'),
        ({"type": "text", "text": "lone"}, "lone"),
        (["x", 1], "x\n[(no type)]"),
        ([{"type": 3}], "[3]"),
        ([{"type": "text", "text": 9}], "9"),
        ([{"text": "x"}], "x"),
    ],
)
def test_content_of_any_other_shape_is_shown_as_well_as_possible(content: Any, text: str) -> None:
    assert kept(content) == text


def test_reminders_are_removed() -> None:
    assert kept("a\n<system-reminder>\nx\n</system-reminder>\nb") == "a\n\nb"
    assert kept("a\n\n<system-reminder>x\ny</system-reminder>\n") == "a"


def test_the_error_wrapper_is_removed() -> None:
    assert kept("<tool_use_error>File not found</tool_use_error>") == "File not found"
    assert kept("<tool_use_error>File not found</tool_use_error>\nhint") == "File not found\nhint"


def test_escape_sequences_go_before_trailing_white_space_does() -> None:
    assert kept("\x1b[32mok\x1b[0m\r\n\x1b[0m") == "ok"


@pytest.mark.parametrize(
    ("count", "cut"), [(1, Cut.NONE), (5, Cut.NONE), (6, Cut.LINES), (7, Cut.LINES), (5000, Cut.LINES)]
)
def test_up_to_five_lines_are_kept_and_of_more_the_first_four(count: int, cut: Cut) -> None:
    lines = [f"line {n}" for n in range(count)]
    expected = "\n".join(lines if cut is Cut.NONE else lines[:4])
    assert result_text(result("\n".join(lines)), 5) == (expected, cut)


def test_trailing_blank_lines_do_not_count() -> None:
    assert result_text(result("1\n2\n3\n4\n5\n\n\n"), 5) == ("1\n2\n3\n4\n5", Cut.NONE)


def test_a_backslash_before_an_n_is_no_line_break() -> None:
    windows = "\n".join([r"C:\new\name"] * 3)
    assert kept(windows) == windows


def test_without_a_limit_everything_is_kept() -> None:
    long = "\n".join(map(str, range(5000)))
    assert kept(long, None) == long


def test_a_reminder_that_ends_far_below_is_removed_from_a_long_result() -> None:
    reminder = "<system-reminder>" + "noise\n" * 20_000 + "</system-reminder>"
    assert kept(f"one\n{reminder}\ntwo") == "one\n\ntwo"


pieces = st.sampled_from(
    [
        "\n",
        "\n\n",
        "x",
        "→",
        "\\",
        "\\n",
        "n",
        " ",
        "\t",
        "\r\n",
        "\x1b[1m",
        "😀",
        "<system-reminder>",
        "</system-reminder>",
    ]
)


@given(st.lists(pieces, max_size=40).map(lambda some: "".join(some) * 8), st.integers(1, 8))
def test_reading_only_the_head_of_a_result_gives_the_same_as_reading_all(text: str, lines: int) -> None:
    whole, _ = result_text(result(text), None)
    assert result_text(result(text), lines) == shortened(whole, lines)
    listed = [{"type": "text", "text": text}]
    assert result_text(result(listed), lines) == shortened(whole, lines)
