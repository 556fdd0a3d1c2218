"""The tokens of responses as lines name them: each line of a response repeats its numbers, or has greater ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.format.events import Assistant, Event, Progress, UsageLine
from claude_session_player.linking.agent_records import reported_events
from claude_session_player.store.facts import LINE_KEY, TokenCounts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.format.blocks import Usage

SYNTHETIC_MODEL: Final = "<synthetic>"
"""The model of messages that Claude Code wrote itself: they are no responses."""
NO_TOKENS: Final = (0, 0, 0, 0, 0)
_MAX_TOKENS: Final = 1 << 53


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
        tokens = (
            event.input_tokens or 0,
            event.output_tokens or 0,
            event.cache_creation_tokens or 0,
            event.cache_read_tokens or 0,
            0,
        )
        yield NamedTokens(line_key(event), tokens, None, event.timestamp)
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


def line_key(event: Event) -> str:
    """What identifies a line: in copies of a file as well, if it has a uuid."""
    return f"\0uuid {event.uuid}" if event.uuid else f"{LINE_KEY}{event.line}"


def response_key(message_id: str | None, request: str | None, place: str = "") -> str:
    """What identifies a response: the ids of message and request, or else its place."""
    return f"{message_id or ''} {request or ''}" if message_id or request else place


def token_counts(usage: Usage) -> TokenCounts:
    """The tokens that a line names. A missing sum of cache writes is computed from its parts."""
    written, parts = usage.cache_creation_input_tokens, usage.cache_creation
    one_hour = parts.one_hour or 0 if parts is not None else 0
    if written is None and parts is not None:
        written = one_hour + (parts.five_minutes or 0)
    read = usage.cache_read_input_tokens
    return usage.input_tokens or 0, usage.output_tokens or 0, written or 0, read or 0, one_hour


def sound_token_counts(usage: Usage) -> TokenCounts:
    """The tokens that a line names, of which absurd ones count as none."""
    return sound_tokens(token_counts(usage))


def sound_tokens(tokens: TokenCounts) -> TokenCounts:
    """The same numbers; absurd ones count as none."""
    is_sound = max(tokens) <= _MAX_TOKENS and min(tokens) >= 0
    return tokens if is_sound else largest_tokens(NO_TOKENS, tokens)


def largest_tokens(before: TokenCounts, tokens: TokenCounts) -> TokenCounts:
    """The largest of each number; absurd ones count as none."""
    sound = (number if 0 <= number <= _MAX_TOKENS else 0 for number in tokens)
    a, b, c, d, e = map(max, before, sound)
    return a, b, c, d, e
