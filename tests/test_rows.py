"""Elements as rows of a terminal."""

from __future__ import annotations

from hypothesis import given, strategies as st
from rich.text import Span, Text

from claude_session_player.export import terminal
from claude_session_player.export.drawing import MOST_DRAWN
from claude_session_player.models import (
    AssistantText,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    TurnDuration,
    UserMessage,
    View,
)
from claude_session_player.tui.widgets.rows import element_rows


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
