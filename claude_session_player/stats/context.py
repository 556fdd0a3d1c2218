"""How full the context of a conversation is: the tokens after its latest response, and the model's context window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.format.events import COMPACTION, Assistant, System
from claude_session_player.format.results import parse_usage_steps
from claude_session_player.store import sound_token_counts
from claude_session_player.util.humanize import short_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claude_session_player.format.blocks import Usage
    from claude_session_player.format.events import Event

DEFAULT_WINDOW: Final = 200_000
"""The context window of Claude models that are not listed."""
LARGE_WINDOW: Final = 1_000_000
_LARGE_MARK: Final = "[1m]"
"""The end of the names under which Claude Code offers a model with the large window."""
_REQUEST: Final = "message"
"""The type of a request to the model of the conversation; tools on the server may ask other models."""
_FAMILY: Final = "claude"
_FILLING, _FULL = 0.75, 0.9
"""Shares of the window from which on its use is marked: at the end of it, the conversation is compacted."""


class ContextFill(NamedTuple):
    """The tokens in a context, and how many it can hold."""

    tokens: int
    window: int | None
    """`None` if the model is unknown."""

    @property
    def share(self) -> float | None:
        """The share of the window that is in use, from 0 to 1; `None` if the window is unknown."""
        return min(self.tokens / self.window, 1.0) if self.window else None

    @property
    def is_filling(self) -> bool:
        """True if most of the window is in use."""
        return (self.share or 0.0) >= _FILLING

    @property
    def is_full(self) -> bool:
        """True if the window is nearly full."""
        return (self.share or 0.0) >= _FULL

    def words(self, *, with_window: bool = True) -> str:
        """How full the context is; without a known window, its tokens.

        >>> ContextFill(124_000, 200_000).words(), ContextFill(9000, None).words()
        ('62% of 200 k', '9.0 k tokens')
        """
        if self.share is None or self.window is None:
            return f"{short_number(self.tokens)} tokens"
        return f"{self.share:.0%}" + (f" of {short_number(self.window)}" if with_window else "")


def context_tokens(usage: Usage) -> int:
    """The tokens in the context after a response: what it was given, and what it answered.

    >>> from claude_session_player.format.blocks import Usage
    >>> context_tokens(Usage(input_tokens=10, cache_read_input_tokens=12_000, output_tokens=490))
    12500
    """
    input, output, written, read, _ = sound_token_counts(_last_request(usage))
    return input + output + written + read


def _last_request(usage: Usage) -> Usage:
    """The last of several requests: each of them was given the whole context, so that their sum says too much."""
    steps = parse_usage_steps(usage.iterations)
    return next((step for step in reversed(steps) if step.type == _REQUEST), usage)


def context_window(model: str | None, tokens: int = 0) -> int | None:
    """How many tokens the context of a model holds; `None` if that is unknown.

    A context with more `tokens` than the model's window has the large one, because it cannot exceed its window.

    >>> context_window("claude-opus-4-5-20251101"), context_window("claude-sonnet-4-5[1m]"), context_window("tea-1")
    (200000, 1000000, None)
    >>> context_window("claude-opus-4-5-20251101", 250_000)
    1000000
    """
    from claude_session_player.stats.prices import listed_window  # the list takes time to load

    name = (model or "").lower()
    if name.endswith(_LARGE_MARK):
        window: int | None = LARGE_WINDOW
    else:
        window = listed_window(name) or (DEFAULT_WINDOW if _FAMILY in name else None)
    if window is None or tokens <= window:
        return window
    return LARGE_WINDOW if tokens <= LARGE_WINDOW else None


def context_fill(model: str | None, usage: Usage) -> ContextFill:
    """How full the context is after a response of a model."""
    tokens = context_tokens(usage)
    return ContextFill(tokens, context_window(model, tokens))


class LargestContexts:
    """The largest context that each model had in a session: it shows which window the model has in all of it."""

    def __init__(self) -> None:
        self._tokens: dict[str | None, int] = {}

    def note(self, model: str | None, tokens: int) -> None:
        """Note a context after a response of a model."""
        self._tokens[model] = max(self._tokens.get(model, 0), tokens)

    def window(self, model: str | None) -> int | None:
        """The context window of a model in this session, as far as it is known; `None` if it is not."""
        return context_window(model, self._tokens.get(model, 0))


class ContextMeter:
    """The context of a conversation, event by event; those of sub-agents in the same file are not counted."""

    def __init__(self, *, is_subagent: bool = False) -> None:
        self.model: str | None = None
        """The model of the latest response."""
        self._usage: Usage | None = None
        """The tokens of the latest response; `None` before the first one, and after a compaction."""
        self._largest = LargestContexts()
        self._is_subagent = is_subagent

    def take(self, events: Iterable[Event]) -> None:
        """Process the next events."""
        for event in events:
            if isinstance(event, System):
                self._usage = None if event.subtype == COMPACTION else self._usage
            elif isinstance(event, Assistant) and (self._is_subagent or not (event.is_sidechain or event.agent_call)):
                self._take_response(event)

    def _take_response(self, event: Assistant) -> None:
        """Note the tokens of a response; notices in the place of one have none."""
        message = event.message
        if message is None or message.usage is None or not (tokens := context_tokens(message.usage)):
            return
        self._usage = message.usage
        self._largest.note(message.model, tokens)
        self.model = message.model

    @property
    def fill(self) -> ContextFill | None:
        """How full the context is; `None` if that is not known yet."""
        if self._usage is None:
            return None
        return ContextFill(context_tokens(self._usage), self._largest.window(self.model))
