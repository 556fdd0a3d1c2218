"""Messages of other agents: how their tags are read, who is named, and how many rows they take."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from hypothesis import given, strategies as st

from claude_session_player.export.drawing import row_text, row_width
from claude_session_player.export.element_rows import draw_element
from claude_session_player.format.prompts import parse_peer_messages
from claude_session_player.models import PeerMessage, ScreenElement, UserMessage, View
from claude_session_player.playback import replay
from tests.builder import SessionBuilder

WIDTH = 80
ADVICE = "Another Claude session sent a message:"
CAUTION = "This came from another Claude session — not typed by your user."
PEERS = f"""{ADVICE}
<teammate-message teammate_id="ada" summary="The kettle">It boils.</teammate-message>
<teammate-message teammate_id="ben">{{"type": "idle_notification", "from": "ben"}}</teammate-message>"""
MEGABYTE = 1_000_000
MOST_SECONDS = 2


def sent(text: str, **flags: Any) -> ScreenElement:
    """The element that the rich view keeps of a text in a user's place."""
    (element,) = replay(SessionBuilder().prompt(text, **flags).lines, View.rich()).elements
    return element


def shown(text: str, *, is_folded: bool = True, width: int = WIDTH, **flags: Any) -> list[str]:
    """The rows of a text in a user's place."""
    rows = draw_element(sent(text, **flags), View.rich(), width, is_folded=is_folded)
    assert all(row_width(row) <= width for row in rows)
    return [row_text(row) for row in rows]


# --- attributes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "sender", "summary"),
    [
        ('from="ada" summary="a -> b done"', "ada", "a -> b done"),
        ("from='ada' summary='say \"go\"'", "ada", 'say "go"'),
        ("from=ada", "ada", ""),
        ('from = "ada"\n  summary="x"', "ada", "x"),
        ('from="ada"summary="x"', "ada", "x"),
        ('from="ada" from="ben"', "ada", ""),
        ('from="" name="ada"', "ada", ""),
        ('urgent from="ada"', "ada", ""),
        ('from="ada" "odd" summary="x"', "ada", ""),
        (f'from="ada" summary="{"x" * 5000}"', "ada", "x" * 5000),
        ("", "", ""),
        ('from="', "", ""),
    ],
)
def test_attributes_are_read_however_they_are_quoted(attributes: str, sender: str, summary: str) -> None:
    (message,) = parse_peer_messages(f"<agent-message {attributes}>It boils.</agent-message>").messages
    assert message == (sender, summary, "It boils.", "")


@pytest.mark.parametrize(
    "unit",
    [
        "<agent-message ",
        '<agent-message a="',
        "<agent-message a='\">",
        "<agent-message a ",
        "<agent-message a=\"<agent-message b='\" c='>",
        '<agent-message from="a">',
        "<agent-message>{",
        f"{ADVICE} ",
        "\n ",
        "a ",
        '=""',
    ],
)
@pytest.mark.parametrize("beginning", ["", "<agent-message ", '<agent-message a="', "<agent-message>"])
def test_hostile_tags_take_no_longer_than_others(unit: str, beginning: str) -> None:
    text = beginning + unit * (MEGABYTE // len(unit))
    start = process_time()
    parse_peer_messages(text)
    assert process_time() - start < MOST_SECONDS


def test_a_tag_with_a_similar_name_is_no_message() -> None:
    assert parse_peer_messages('<agent-messages from="ada">Hi</agent-messages>').messages == ()


# --- senders ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "flags", "sender"),
    [
        ("<agent-message from='ada'>Hi</agent-message>", {}, "ada"),
        ('<agent-message from="">Hi</agent-message>', {}, "another agent"),
        (f"{ADVICE} Hi", {}, "another agent"),
        ("Hi", {"origin": {"kind": "peer"}}, "another agent"),
        ("Hi", {"origin": {"kind": "hook"}}, "Claude Code"),
        ("Unknown skill: tea", {}, "Claude Code"),
        ('<agent-message>Hi</agent-message><agent-message from="ada">Ho</agent-message>', {}, "another agent, ada"),
    ],
)
def test_a_message_is_attributed_to_claude_code_only_if_no_agent_sent_it(
    text: str, flags: dict[str, Any], sender: str
) -> None:
    element = sent(text, **flags)
    assert isinstance(element, PeerMessage)
    assert element.sender == sender


def test_a_message_without_a_sender_is_not_attributed_to_the_others() -> None:
    rows = shown('<agent-message>Hi</agent-message><agent-message from="ada">Ho</agent-message>')
    assert rows == ["◂ another agent", "▎ Hi", "◂ ada", "▎ Ho"]


# --- rows -------------------------------------------------------------------------------------------


def test_messages_are_told_by_their_senders() -> None:
    assert shown(PEERS) == ["◂ ada  The kettle", "▎ It boils.", "◂ ben  idle notification"]
    unfolded = shown(PEERS, is_folded=False)
    assert any("idle_notification" in row for row in unfolded)
    assert f"▎ {ADVICE}" in unfolded


def test_a_long_message_is_folded() -> None:
    said = "\n\n".join(f"Step {number}." for number in range(20))
    rows = shown(f'<agent-message from="ada">{said}</agent-message>')
    assert (rows[0], rows[1], rows[-1]) == ("◂ ada", "▎ Step 0.", "▎ +27 lines")


def test_of_many_messages_the_first_are_shown_and_the_others_counted() -> None:
    text = '<agent-message from="x">a</agent-message>' * 30_000
    element = sent(text)
    start = process_time()
    rows = draw_element(element, View.rich(), WIDTH)
    assert process_time() - start < MOST_SECONDS
    assert (len(rows), row_text(rows[-1])) == (25, "▎ +29,988 messages")
    assert len(draw_element(element, View.rich(), WIDTH, is_folded=False)) == 60_000
    assert process_time() - start < 3 * MOST_SECONDS


def test_what_stands_around_a_message_is_shown() -> None:
    text = f'{ADVICE}\n<agent-message from="ada">Hi</agent-message> what does this mean?\n\n{CAUTION}'
    assert shown(text) == ["◂ ada", "▎ Hi", "  what does this mean?"]
    assert shown(text, is_folded=False)[2:] == ["  what does this mean?", f"▎ {ADVICE}", f"▎ {CAUTION}"]


def test_much_around_a_message_is_folded() -> None:
    text = '<agent-message from="ada">Hi</agent-message>' + "\n".join(f"Line {number}" for number in range(50))
    assert shown(text)[-2:] == ["  Line 11", "  +38 lines"]
    assert shown(text, is_folded=False)[-1] == "  Line 49"


def test_a_long_summary_takes_one_row_until_it_is_unfolded() -> None:
    text = f'<agent-message from="ada" summary="{"word " * 50}end">Hi</agent-message>'
    rows = shown(text)
    assert (len(rows), rows[0][-1]) == (2, "…")
    assert shown(text, is_folded=False)[-2].endswith("end")


_WORDS = st.lists(st.from_regex(r"[a-z0-9]{3,9}", fullmatch=True), min_size=1, max_size=8)
_MARKS = (" ", "\n", "\n\n", " -> ", " > ", " < ", "</b>", "<b>", " # ", "\n- ", "**", " & ", "`", '"', "'", "=")
_BETWEEN = st.sampled_from(_MARKS)


@given(_WORDS, _WORDS, _WORDS, _BETWEEN, st.sampled_from("\"'"))
def test_any_message_is_kept_in_full(
    sender: list[str], said: list[str], typed: list[str], between: str, quote: str
) -> None:
    name = between.replace(quote, " ").join(sender)
    text = f"<agent-message from={quote}{name}{quote}>{between.join(said)}</agent-message>{between.join(typed)}"
    rows = "\n".join(shown(text, is_folded=False, width=400))
    missing = [word for word in (*sender, *said, *typed) if word not in rows]
    assert not missing, (missing, rows)


def test_the_screen_shows_messages_as_the_terminal_did() -> None:
    state = replay(SessionBuilder().prompt(PEERS).lines)
    assert [type(element) for element in state.elements] == [UserMessage]
    assert state.to_markdown().startswith(f"❯ {ADVICE}")
