"""The header says the most important facts in any width, and marks every cut."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from claude_session_player.tui.widgets.header import HeaderFacts, header_text, shorten

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
NAMES = st.text("abc de茶\x1b\n-", max_size=60)
ANY = st.builds(
    HeaderFacts,
    NAMES,
    st.lists(NAMES, max_size=3).map(tuple),
    NAMES,
    NAMES,
    NAMES,
    st.none() | st.integers(0, 10**7),
    st.none() | st.integers(0, 10**7),
    NAMES,
)


@given(ANY, st.integers(1, 220), st.integers(1, 2))
def test_the_header_is_never_wider_than_its_place_and_holds_nothing_that_a_terminal_obeys(
    facts: HeaderFacts, width: int, lines: int
) -> None:
    rows = header_text(facts, width, lines).split("\n")
    assert len(rows) == lines
    assert all(row.cell_len <= width for row in rows)
    assert all(row.plain.isprintable() for row in rows)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (20, "The bell of my tea…"),
        (38, "The bell of my tea timer rings…  $1.32"),
        (58, "The bell of my tea timer…      62% of 200 k context  $1.32"),
        (78, "The bell of my tea timer rings too…      opus-4-5  62% of 200 k context  $1.32"),
    ],
)
def test_the_right_end_of_the_header_has_what_fits_the_cost_first(width: int, shown: str) -> None:
    assert header_text(FACTS, width).plain.rstrip() == shown


def test_a_wide_header_has_the_project_and_the_git_branch() -> None:
    assert "/home/ada/projects/teapot" in header_text(FACTS, 198).plain
    first, second = header_text(FACTS, 118, lines=2).plain.split("\n")
    assert first.endswith("opus-4-5  62% of 200 k context  $1.32")
    assert second.startswith("/home/ada/projects/teapot ")
    assert second.endswith(" ⎇ feature/steeping-times")


def test_what_is_not_known_is_not_shown() -> None:
    assert header_text(HeaderFacts("Tea", project="/tea/in/a/pot"), 78).plain.rstrip() == "Tea  /tea/in/a/pot"
    assert "12.3 k context" in header_text(HeaderFacts("Tea", context_tokens=12_300), 78).plain


@pytest.mark.parametrize(("used", "style"), [(100, ""), (149_000, ""), (150_000, "yellow"), (190_000, "bold red")])
def test_a_context_window_that_fills_up_is_marked(used: int, style: str) -> None:
    text = header_text(FACTS._replace(context_tokens=used), 118)
    place = text.plain.index("% of")
    assert [str(span.style) for span in text.spans if span.start <= place < span.end] == ([style] if style else [])


def test_the_title_of_a_sub_agent_stays_when_those_of_its_callers_do_not_fit() -> None:
    facts = HeaderFacts("Find the temperature", ("A long title " * 9, "Another one"))
    assert header_text(facts, 50).plain.rstrip() == "… › Another one › Find the temperature"
    assert header_text(facts, 24).plain.rstrip() == "… › Find the temperature"


def test_the_path_to_a_sub_agent_comes_before_model_and_branch_but_after_cost_and_context() -> None:
    facts = FACTS._replace(title="Find the temperature", callers=("A tea timer",))
    shown = header_text(facts, 78).plain.rstrip()
    assert shown.startswith("A tea timer › Find the temperature ")
    assert shown.endswith(" opus-4-5  62% of 200 k context  $1.32")
    shown = header_text(facts._replace(callers=("A tea timer that rings",) * 2), 78).plain
    assert shown.startswith("… › A tea timer that rings › Find the temp")
    assert shown.endswith("  62% of 200 k context  $1.32")
    assert "opus" not in shown


@given(st.text("abc d茶", max_size=40), st.integers(0, 40))
def test_a_shortened_text_fits_and_says_that_it_is_shortened(text: str, width: int) -> None:
    from rich.cells import cell_len

    short = shorten(text, width)
    assert cell_len(short) <= width
    assert short == text or width == 0 or short.endswith("…")
