"""How full the context of a conversation is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from claude_session_player.format.blocks import Usage
from claude_session_player.parser import decode_lines
from claude_session_player.stats import ContextFill, ContextMeter, context_fill, context_tokens, context_window
from tests.builder import SessionBuilder, text

OPUS = "claude-opus-4-5-20251101"
NEXT = "claude-next-9"
"""A model of the family that no list knows yet."""


def usage(input: int, output: int = 0, read: int = 0, written: int = 0) -> dict[str, Any]:
    return {
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }


def response(session: SessionBuilder, tokens: int, model: str = OPUS, **extra: Any) -> SessionBuilder:
    """A response after which there are this many tokens in the context."""
    return session.block(text("So be it."), request=f"r{tokens}", model=model, usage=usage(2, 8, tokens - 10), **extra)


def meter_of(session: SessionBuilder, *, is_subagent: bool = False) -> ContextMeter:
    meter = ContextMeter(is_subagent=is_subagent)
    meter.take(decode_lines(session.lines, 0, 0))
    return meter


def test_the_context_has_what_a_response_was_given_and_what_it_answered() -> None:
    given = Usage(input_tokens=1, output_tokens=20, cache_creation_input_tokens=300, cache_read_input_tokens=4000)
    assert context_tokens(given) == 4321
    assert context_fill(OPUS, given) == ContextFill(4321, 200_000)


def test_absurd_numbers_of_tokens_count_as_none() -> None:
    assert context_tokens(Usage(input_tokens=-5, output_tokens=7, cache_read_input_tokens=1 << 60)) == 7


@pytest.mark.parametrize(
    ("model", "tokens", "window"),
    [
        (OPUS, 0, 200_000),
        ("claude-opus-4-6", 0, 1_000_000),
        ("claude-sonnet-4-5-20250929[1m]", 0, 1_000_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 0, 200_000),
        (NEXT, 0, 200_000),
        (NEXT, 200_001, 1_000_000),
        (NEXT, 1_000_001, None),
        ("tea-1", 0, None),
        ("", 0, None),
        (None, 0, None),
    ],
)
def test_the_window_is_that_of_the_model(model: str | None, tokens: int, window: int | None) -> None:
    assert context_window(model, tokens) == window


def test_the_share_is_known_if_the_window_is() -> None:
    assert ContextFill(50_000, 200_000).share == 0.25
    assert ContextFill(50_000, None).share is None


def test_the_latest_response_decides() -> None:
    session = response(SessionBuilder().prompt("Start"), 20_000)
    assert meter_of(session).fill == ContextFill(20_000, 200_000)
    assert meter_of(response(session, 30_000)).fill == ContextFill(30_000, 200_000)


def test_a_session_without_a_response_has_no_known_context() -> None:
    assert meter_of(SessionBuilder().prompt("Start")).fill is None


def test_a_compaction_empties_the_context_until_the_next_response() -> None:
    session = response(SessionBuilder().prompt("Start"), 150_000).compaction()
    assert meter_of(session).fill is None
    assert meter_of(response(session, 12_000)).fill == ContextFill(12_000, 200_000)


def test_a_context_that_was_larger_than_the_window_keeps_the_large_one() -> None:
    session = response(response(SessionBuilder().prompt("Start"), 250_000).compaction(), 30_000)
    assert meter_of(session).fill == ContextFill(30_000, 1_000_000)


def test_the_largest_context_of_a_model_decides_also_after_another_model_answered() -> None:
    session = response(response(SessionBuilder().prompt("Start"), 250_000), 20_000, "claude-haiku-4-5-20251001")
    assert meter_of(session).fill == ContextFill(20_000, 200_000)
    assert meter_of(response(session, 30_000)).fill == ContextFill(30_000, 1_000_000)


def test_a_context_is_marked_when_it_fills_up() -> None:
    fills = [ContextFill(tokens, 200_000) for tokens in (149_999, 150_000, 179_999, 180_000)]
    assert [(fill.is_filling, fill.is_full) for fill in fills] == [(False, False), *[(True, False)] * 2, (True, True)]
    assert not ContextFill(180_000, None).is_full


def test_subagents_in_the_file_do_not_count() -> None:
    session = response(SessionBuilder().prompt("Start"), 20_000)
    session.sidechain = True
    response(session, 90_000)
    assert meter_of(session).fill == ContextFill(20_000, 200_000)
    assert meter_of(session, is_subagent=True).fill == ContextFill(90_000, 200_000)


def test_a_notice_in_place_of_a_response_does_not_count() -> None:
    session = response(SessionBuilder().prompt("Start"), 20_000)
    session.block(text("No response requested."), request="none", model="<synthetic>", usage=usage(0))
    assert meter_of(session).fill == ContextFill(20_000, 200_000)


def test_a_response_of_several_requests_has_the_context_of_the_last_one() -> None:
    steps = [
        {"type": "message", "input_tokens": 1, "cache_read_input_tokens": 100_000, "output_tokens": 9},
        {"type": "advisor_message", "input_tokens": 150_000, "output_tokens": 9_000},
        {"type": "message", "input_tokens": 1, "cache_read_input_tokens": 101_000, "output_tokens": 99},
    ]
    sums = {"input_tokens": 2, "cache_read_input_tokens": 201_000, "output_tokens": 108}
    usage = msgspec.convert(sums, Usage)
    usage.iterations = steps
    assert context_tokens(usage) == 101_100
    usage.iterations = "damaged"
    assert context_tokens(usage) == 201_110
