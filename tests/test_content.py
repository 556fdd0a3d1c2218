"""The text of tool results: joining, tidying, shortening."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from claude_session_player.format.blocks import ToolResult
from claude_session_player.format.content import result_parts, result_text, shorten_lines
from claude_session_player.util.text import Cut


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


def test_a_removed_reminder_leaves_no_empty_lines_at_the_top() -> None:
    assert kept("<system-reminder>x</system-reminder>\n\n  1 a\n  2 b") == "  1 a\n  2 b"
    assert kept("\r\n\n  indented") == "  indented"
    assert kept("<system-reminder>x</system-reminder>\n<tool_use_error>\nNo</tool_use_error>") == "No"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("100%\r\r\ndone\r", "100%\ndone"),
        ("a\r  \nb", "  \nb"),
        ("\r\r\nb", "b"),
        ("50%\r<system-reminder>x\ry</system-reminder>", "50%"),
        ("a\r\x1b[K\nb", "a\nb"),
        ([{"type": "text", "text": "1\r2"}, {"type": "text", "text": "3\r"}], "2\n3"),
    ],
)
def test_of_a_line_with_lone_carriage_returns_the_last_part_that_is_not_empty_is_kept(content: Any, text: str) -> None:
    assert kept(content) == text
    assert result_parts(result(content))[0] == text


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


PIECES = st.sampled_from(
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
        "\r",
        "\x1b[1m",
        "\x1b]0;",
        "\x07",
        "😀",
        "<system-reminder>",
        "</system-reminder>",
        "<tool_use_error>",
        "</tool_use_error>",
    ]
)
LONG_TEXTS = st.builds(lambda head, body: head + body * 8, PIECES | st.just(""), st.lists(PIECES).map("".join))


def plain_result(text: str) -> str:
    """The rules of results, one after the other, on the whole text."""
    text = re.sub(r"\x1b\[1m|\x1b\][^\x07\x1b]*\x07|\x1b\]", "", text).replace("\r\n", "\n")
    text = re.sub("<system-reminder>.*?</system-reminder>", "", text, flags=re.DOTALL)
    if text.lstrip("\r\n").startswith("<tool_use_error>"):
        text = text.replace("<tool_use_error>", "", 1).replace("</tool_use_error>", "", 1)
    shown = [next((part for part in reversed(line.split("\r")) if part), "") for line in text.split("\n")]
    return re.sub(r"\A\n+", "", "\n".join(shown)).rstrip()


@given(st.lists(LONG_TEXTS, min_size=1, max_size=3), st.integers(1, 8))
@settings(max_examples=300)
def test_reading_only_the_head_of_a_result_gives_the_same_as_the_plain_rules(texts: list[str], lines: int) -> None:
    listed = [{"type": "text", "text": text} for text in texts]
    for content, whole in ((texts[0], plain_result(texts[0])), (listed, plain_result("\n".join(texts)))):
        assert result_text(result(content), None)[0] == whole
        assert result_parts(result(content))[0] == whole
        assert result_text(result(content), lines) == shorten_lines(whole, lines)
