"""Elements as rows of a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from rich.segment import Segment
from rich.text import Span, Text

from claude_session_player.export import drawing, terminal
from claude_session_player.export.drawing import MOST_DRAWN, crop_row, markdown_rows, row_text, row_width
from claude_session_player.export.element_rows import draw_element, is_shortened
from claude_session_player.models import (
    AssistantText,
    PeerMessage,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    TurnDuration,
    UserMessage,
    View,
)
from claude_session_player.tui.widgets.rows import element_rows, find_match


def texts(element: UserMessage | AssistantText | ToolCall | ThinkingIndicator, width: int = 40) -> list[str]:
    return [row.text for row in element_rows(element, View(), width)]


def test_every_kind_of_element_has_its_colours() -> None:
    elements = UserMessage("Hi"), ThinkingIndicator(), TurnDuration(1000), SystemOutput("out"), ToolCall("Bash", "ls")
    for element in elements:
        row = element_rows(element, View(), 40)[0]
        assert any(segment.style for segment in row), element


def test_a_long_line_goes_on_below_its_words() -> None:
    assert texts(UserMessage("one two three four five"), 20) == ["❯ one two three four", "  five"]


def test_an_answer_is_drawn_as_markdown() -> None:
    assert texts(AssistantText("Some **bold** words\n\n- one\n- two")) == [
        "● Some bold words",
        "  ",
        "   • one",
        "   • two",
    ]


def test_code_has_one_empty_row_around_it() -> None:
    rows = texts(AssistantText("Look:\n\n```python\nx = 1\n```\n\nDone."))
    assert [row.strip() for row in rows] == ["● Look:", "", "x = 1", "", "Done."]


WORDS = st.from_regex(r"[a-z][a-z<>/=&;.]{0,30}|<[a-z<>/=&;.]{1,30}|<[a-z]{2}::[a-z]{1,9}>", fullmatch=True)
LINES = st.builds(lambda first, more: " ".join(["a", first, *more]), WORDS, st.lists(WORDS, max_size=12))


@given(st.lists(LINES, min_size=1, max_size=6), st.integers(8, 100))
def test_every_word_of_an_answer_is_drawn_on_its_line(lines: list[str], width: int) -> None:
    lines = [line.replace("&", "&amp;") for line in lines]
    drawn = markdown_rows("\n".join(lines), width)
    kept = "".join(row_text(row) for row in drawn).replace(" ", "")
    assert kept == "".join(lines).replace("&amp;", "&").replace(" ", "")
    assert all(row_width(row) <= width for row in drawn)
    assert len(drawn) >= len(lines)


def test_tags_scripts_and_comments_are_text() -> None:
    answer = "Vec<T>, <div class=x> and <std::string>.\n<script>\nalert(1)\n</script>\n\n<!-- see -->"
    assert [row.strip("● ") for row in texts(AssistantText(answer), 80)] == [*answer.split("\n")]


def test_nothing_is_hidden_in_links_pictures_and_definitions() -> None:
    assert texts(AssistantText("![kettle](k.png)\n\n[INFO]: started")) == [
        "● !kettle (k.png)",
        "  ",
        "  [INFO]: started",
    ]


def test_long_words_of_a_table_go_on_in_the_next_row() -> None:
    drawn = texts(AssistantText(f"| a | b |\n|---|---|\n| {'x' * 50} | {'y' * 50} |"))
    told = "".join(drawn)
    assert (told.count("x"), told.count("y")) == (50, 50)


SIGNS = st.text(st.sampled_from("a \t茶👩🚀❤\u200d\ufe0f\u0301"), max_size=60)


@given(SIGNS, st.integers(0, 60), st.integers(8, 24))
def test_joined_signs_make_no_row_wider(signs: str, end: int, width: int) -> None:
    text = Text(signs)
    text.stylize("red", end)
    row = [Segment(part.replace("\t", " ")) for part in (signs[:end], signs[end:])]
    for drawn in (*drawing.text_rows(text, width), *markdown_rows(signs, width), crop_row(row, width)):
        assert row_width(drawn) <= width


@pytest.mark.parametrize("mark", [">", "- ", "1. "])
def test_blocks_that_are_nested_too_deep_are_shown_as_they_are(mark: str) -> None:
    for depth in (2, 6, 30):
        for width in (8, 40):
            rows = markdown_rows(f"{mark * depth}steep", width)
            assert "steep" in "".join(row_text(row).strip() for row in rows)


def test_half_a_construct_is_no_error_in_the_code_of_an_answer() -> None:
    drawn = markdown_rows('```python\nx = "half\n\n$ ?\n```', 40)
    assert not [one for row in drawn for one in row if one.style and one.style.underline]


def test_an_answer_that_is_too_long_to_be_drawn_is_shown_as_it_is() -> None:
    assert texts(AssistantText("**bold** " * MOST_DRAWN))[0].startswith("● **bold**")


def test_wide_signs_have_their_width() -> None:
    rows = element_rows(UserMessage("茶" * 30), View(), 21)
    assert all(row.cell_length <= 21 for row in rows)
    assert "".join(row.text for row in rows).count("茶") == 30


def test_tabs_are_spaces_on_a_screen() -> None:
    assert "\t" not in "".join(texts(ToolCall("Bash", "ls", "a\tb\tc")))


spans = st.builds(Span, st.integers(0, 12), st.integers(0, 12), st.sampled_from(["bold", "red", "dim"]))


@given(st.lists(spans, max_size=8))
def test_stretches_of_a_recording_have_the_styles_of_all_spans_that_cover_them(spans: list[Span]) -> None:
    """The plain reference asks every span at every stretch."""
    text = Text("twelve signs", spans=[span for span in spans if span.start <= span.end])
    for start, end, *codes in terminal._styled_spans(text):
        covering = [str(span.style) for span in text.spans if span.start <= start and end <= span.end]
        assert tuple(codes) == terminal._style_codes(" ".join(covering))


# --- what is left out, and where a text is -------------------------------------------------------------

AGENT_MESSAGES = ('<agent-message from="ada">{}</agent-message>', "Ada says:\n{}", "*+9 rows*\n\n{}")


@given(st.integers(0, 30), st.integers(60, 90), st.integers(8, 120), st.sampled_from(["{}", *AGENT_MESSAGES]))
def test_what_is_left_out_of_a_prompt_is_known_without_drawing_it_whole(
    lines: int, last: int, width: int, frame: str
) -> None:
    words = frame.format("line\n\n" * lines + "x" * last)
    for element in (UserMessage(words), PeerMessage(words, "ada")):
        folded, whole = (draw_element(element, View.rich(), width, is_folded=folded) for folded in (True, False))
        is_cut = [row_text(row) for row in folded] != [row_text(row) for row in whole]
        assert is_shortened(element, View.rich(), folded) == is_cut
        assert not is_shortened(element, View(), draw_element(element, View(), width))


def test_a_notice_that_is_shown_by_its_name_alone_has_more_to_show() -> None:
    notice = PeerMessage("<task-notification><summary>Done</summary><result>42</result></task-notification>", "")
    folded, whole = (draw_element(notice, View.rich(), 60, is_folded=is_folded) for is_folded in (True, False))
    assert is_shortened(notice, View.rich(), folded) == (len(folded) < len(whole))


SENTENCE = "alpha " * 11 + "needle haystack " + "omega " * 9
CODE = "```py\n" + "x" * 70 + "needle haystack\n```"
QUOTE = f"> {SENTENCE}"


@given(
    st.sampled_from([SENTENCE, "x" * 70 + "needle haystack", CODE, QUOTE]),
    st.integers(0, 20).map("y".__mul__),
    st.integers(24, 130),
    st.sampled_from([View.rich(), View()]),
)
def test_a_text_that_is_shown_is_found_where_it_begins_however_it_is_wrapped(
    said: str, start: str, width: int, view: View
) -> None:
    words = said.replace("xx", f"{start}xx", 1) if "xx" in said else start + said
    for element in (UserMessage(words), PeerMessage(words, "ada"), AssistantText(words)):
        rows = element_rows(element, view, width)
        row = find_match(rows, ["nothing of this", "Needle  Haystack"])
        assert row is not None
        assert find_match(rows[row:], ["needle haystack"]) == 0
        assert find_match(rows[row + 1 :], ["needle haystack"]) is None
        assert find_match(rows, ["needle stack"]) is None
