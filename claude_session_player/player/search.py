"""Searching a film: on which of its frames some words appear, be they cut off on the screen or not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from msgspec.structs import replace

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import (
    AnyBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UnknownBlock,
    raw_as_text,
)
from claude_session_player.format.content import (
    Code,
    Part,
    Prose,
    find_pictures,
    message_content,
    raw_text,
    result_parts,
)
from claude_session_player.format.events import Event, Progress
from claude_session_player.formatter import activity_text
from claude_session_player.models import (
    ScreenElement,
    ScreenState,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    UserMessage,
    View,
)
from claude_session_player.renderer import render
from claude_session_player.transcript import CallResult, EntryKind, TranscriptCall
from claude_session_player.util.text import strip_escapes

if TYPE_CHECKING:
    from claude_session_player.player.frame_index import FrameIndex

_EVERYTHING: Final = View(thinking=True, history=True, sidechains=True)
PORTION: Final = 500
"""Frames that are looked at in a go."""


class FrameSearch:
    """The frames of a film on which some words appear, in capitals or not; found a portion at a time."""

    def __init__(self, film: FrameIndex, words: str) -> None:
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
            if any(self._wanted in text.lower() for event in events for text in searchable_texts(event)):
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


def searchable_texts(event: Event) -> Iterator[str]:
    """Everything in a record that a person may look for: what the screen shows, and what is cut off there."""
    yield _shown(event)
    content = message_content(event)
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
            yield raw_as_text(block.thinking)
        case ToolUse():
            yield block.name or ""
            yield from _strings(block.input)
        case ToolResult():
            yield raw_text(block.content)
        case UnknownBlock():
            yield lenient_json.compact(block.body)


def _strings(value: object) -> Iterator[str]:
    """Every text in a JSON value, as it is and not as JSON would write it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
    elif value is not None:
        yield str(value)


_B = TypeVar("_B", bound=AnyBlock)

Resolve = Callable[[str], str]
"""Gives a result with the whole output, where it only says in which file that is."""


class ElementDetails(NamedTuple):
    """What was given, what came back in a few words, and what came back."""

    words: str = ""
    name: str = ""
    given: tuple[Part, ...] = ()
    outcome: str = ""
    returned: tuple[Part, ...] = ()
    is_error: bool = False


def element_details(film: FrameIndex, element: ScreenElement, resolve: Resolve = str) -> ElementDetails | None:
    """What there is to be known of an element beyond what the screen shows; `None` where that is all."""
    if isinstance(element, ToolCall):
        return _call(film, element, resolve)
    events = film.events(element.line)
    if isinstance(element, ThinkingIndicator):
        thoughts = [strip_escapes(raw_as_text(block.thinking)) for block in _blocks(events, Thinking)]
        return ElementDetails(given=tuple(Prose(thought) for thought in thoughts if thought))
    if isinstance(element, SystemOutput) and (results := _blocks(events, ToolResult)):
        text, pictures = result_parts(results[0])
        return ElementDetails(returned=(Code(resolve(text)), *pictures), is_error=element.is_error)
    if isinstance(element, UserMessage):
        pictures = find_pictures(block for event in events for block in _content(event))
        return ElementDetails(given=(Code(element.text), *pictures)) if pictures else None
    return None


def call_details(film: FrameIndex, element: ToolCall) -> TranscriptCall:
    """A call with its whole result."""
    call = TranscriptCall(
        EntryKind.CALL, element.line, element.timestamp, name=element.tool_name, id=element.id, input=element.input
    )
    for event in film.events(element.result_line) if element.result_line else ():
        for block in _blocks([event], ToolResult):
            if block.tool_use_id == element.id or not (element.id and block.tool_use_id):
                structured = getattr(event, "tool_use_result", None)
                call.result = CallResult(block, structured or CallResult(block).structured, event.line, event.timestamp)
    return call


def _call(film: FrameIndex, element: ToolCall, resolve: Resolve) -> ElementDetails:
    call = call_details(film, element)
    reply = call.reply()
    if reply is not None:
        reply = replace(reply, text=resolve(reply.text))
    sketch = call.to_parts(reply)
    running = activity_text(element.activity, None) if reply is None and element.activity else ""
    return ElementDetails(
        sketch.words,
        sketch.name,
        sketch.given,
        sketch.outcome or running,
        (*sketch.returned, *call.pictures),
        element.is_error,
    )


def _blocks(events: Sequence[Event], kind: type[_B]) -> list[_B]:
    return [block for event in events for block in _content(event) if isinstance(block, kind)]


def _content(event: Event) -> Sequence[AnyBlock]:
    said = message_content(event)
    return said if isinstance(said, list) else ()
