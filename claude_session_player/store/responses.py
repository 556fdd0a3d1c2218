"""The tokens of responses as lines name them: each line of a response repeats its numbers, or has greater ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claude_session_player.format.events import Assistant, Event, Progress, UsageLine
from claude_session_player.linking.agent_records import reported_events
from claude_session_player.store.facts import (
    SYNTHETIC_MODEL,
    TokenCounts,
    line_key,
    response_key,
    token_counts,
    usage_line_counts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class NamedTokens(NamedTuple):
    """The tokens that a line names for a response."""

    key: str
    """What identifies the response."""
    tokens: TokenCounts
    model: str | None
    time: str | None


def named_tokens(event: Event) -> Iterator[NamedTokens]:
    """The tokens that an event names: for its own response, or for those that a sub-agent reports with it."""
    if isinstance(event, Assistant):
        yield from _response(event, line_key(event))
    elif isinstance(event, UsageLine):
        yield NamedTokens(line_key(event), usage_line_counts(event), None, event.timestamp)
    elif isinstance(event, Progress) and event.data is not None and event.data.agent_id:
        for inner in reported_events(event):
            if isinstance(inner, Assistant):
                yield from _response(inner, "")


def _response(event: Assistant, place: str) -> Iterator[NamedTokens]:
    message = event.message
    if message is None or message.usage is None or message.model == SYNTHETIC_MODEL:
        return
    if key := response_key(message.id, event.request_id, place):
        yield NamedTokens(key, token_counts(message.usage), message.model, event.timestamp)
