"""Searching a film: on which of its frames some words appear, be they cut off on the screen or not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from claude_session_player import rawjson
from claude_session_player.content import raw_text, said_in
from claude_session_player.events import (
    AnyBlock,
    Event,
    Other,
    Progress,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    text_of,
)
from claude_session_player.models import ScreenState, ToolCall
from claude_session_player.play.film import Film
from claude_session_player.renderer import render
from claude_session_player.view import View

_EVERYTHING: Final = View(thinking=True, history=True, sidechains=True)
PORTION: Final = 500
"""Frames that are looked at in a go."""


class Search:
    """The frames of a film on which some words appear, in capitals or not; found a portion at a time."""

    def __init__(self, film: Film, words: str) -> None:
        self.words = words
        self.film = film
        self.hits: list[int] = []
        """The frames that were found so far."""
        self._wanted = words.lower()
        self._seen = 0

    @property
    def is_over(self) -> bool:
        """True where every frame that there is was looked at."""
        return self._seen >= len(self.film.frames)

    def go_on(self, frames: int = PORTION) -> None:
        """Look at some more frames."""
        until = min(self._seen + frames, len(self.film.frames))
        for number in range(self._seen, until):
            events = self.film.events(self.film.frames[number].line)
            if any(self._wanted in text.lower() for event in events for text in texts(event)):
                self.hits.append(number)
        self._seen = until

    def after(self, frame: int) -> int | None:
        """The next hit; the first of all where there is none further on."""
        place = bisect_right(self.hits, frame)
        return self.hits[place % len(self.hits)] if self.hits else None

    def has_after(self, frame: int) -> bool:
        """True where a hit further on is known."""
        return bool(self.hits) and self.hits[-1] > frame

    def before(self, frame: int) -> int | None:
        """The hit before; the last of all where there is none further up."""
        return self.hits[bisect_left(self.hits, frame) - 1] if self.hits else None

    def number(self, frame: int) -> int | None:
        """The number of a hit, counted from 1; `None` for a frame that is none."""
        place = bisect_left(self.hits, frame)
        return place + 1 if place < len(self.hits) and self.hits[place] == frame else None


def texts(event: Event) -> Iterator[str]:
    """Everything in a record that a person may look for: what the screen shows, and what is cut off there."""
    yield _shown(event)
    content = said_in(event)
    if isinstance(content, str):
        yield content
    else:
        for block in content or ():
            yield from _words(block)


def _shown(event: Event) -> str:
    """What a record shows on a screen that has nothing but the call that it may belong to."""
    state = ScreenState(_EVERYTHING)
    if isinstance(event, Progress) and event.parent_call:
        state.elements.append(ToolCall())
        state.calls[event.parent_call] = 0
    return render(state, event).to_markdown()


def _words(block: AnyBlock) -> Iterator[str]:
    match block:
        case Text():
            yield block.text or ""
        case Thinking():
            yield text_of(block.thinking)
        case ToolUse():
            yield block.name or ""
            yield from _strings(block.input)
        case ToolResult():
            yield raw_text(block.content)
        case Other():
            yield rawjson.compact(block.body)


def _strings(value: object) -> Iterator[str]:
    """Every text in a JSON value, as it is and not as JSON would write it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
    elif value is not None:
        yield str(value)
