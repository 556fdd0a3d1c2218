"""Search in the frames of a session, and the details of an element: also for text that the screen truncates."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from msgspec.structs import replace

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import AnyBlock, Text, Thinking, ToolResult, ToolUse, UnknownBlock, raw_as_text
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
    PeerMessage,
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
FRAMES_PER_STEP: Final = 500
"""Frames that are searched at a time."""


class FrameSearch:
    """The frames in which some words appear, ignoring case; some frames are searched at a time."""

    def __init__(self, frame_index: FrameIndex, words: str) -> None:
        self.words = words
        self.frame_index = frame_index
        self.hits: list[int] = []
        """The frames that match, as far as they have been searched."""
        self._lowered = words.lower()
        self._searched = 0

    @property
    def is_complete(self) -> bool:
        """True if all frames that exist now have been searched."""
        return self._searched >= len(self.frame_index.frames)

    def search_more(self, frames: int = FRAMES_PER_STEP) -> None:
        """Search some more frames."""
        until = min(self._searched + frames, len(self.frame_index.frames))
        for number in range(self._searched, until):
            events = self.frame_index.events_on(self.frame_index.frames[number].line)
            if any(self._lowered in text.lower() for event in events for text in searchable_texts(event)):
                self.hits.append(number)
        self._searched = until

    def after(self, frame: int) -> int | None:
        """The next hit; after the last one, the first."""
        index = bisect_right(self.hits, frame)
        return self.hits[index % len(self.hits)] if self.hits else None

    def has_after(self, frame: int) -> bool:
        """True if a hit after a frame is known."""
        return bool(self.hits) and self.hits[-1] > frame

    def before(self, frame: int) -> int | None:
        """The previous hit; before the first one, the last."""
        return self.hits[bisect_left(self.hits, frame) - 1] if self.hits else None

    def number(self, frame: int) -> int | None:
        """The number of a hit, counted from 1; `None` for a frame that is not one."""
        index = bisect_left(self.hits, frame)
        return index + 1 if index < len(self.hits) and self.hits[index] == frame else None


def searchable_texts(event: Event) -> Iterator[str]:
    """Everything in a record that a person may search for: what the screen shows, and what it truncates."""
    yield _screen_text(event)
    content = message_content(event)
    if isinstance(content, str):
        yield content
    else:
        for block in content or ():
            yield from _block_texts(block)


def _screen_text(event: Event) -> str:
    """The text of a record on a screen with nothing but the call that it may belong to."""
    state = ScreenState(_EVERYTHING)
    if isinstance(event, Progress) and event.parent_call:
        state.elements.append(ToolCall())
        state.calls[event.parent_call] = 0
    return render(state, event).to_markdown()


def _block_texts(block: AnyBlock) -> Iterator[str]:
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
    """Every text in a JSON value, without the escapes of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
    elif value is not None:
        yield str(value)


_B = TypeVar("_B", bound=AnyBlock)

OutputResolver = Callable[[str], str]
"""Gives the full output for a result that only names the file with it."""


class ElementDetails(NamedTuple):
    """The input of an element, its outcome in a few words, and its output."""

    words: str = ""
    name: str = ""
    given: tuple[Part, ...] = ()
    outcome: str = ""
    returned: tuple[Part, ...] = ()
    is_error: bool = False


def element_details(
    frame_index: FrameIndex, element: ScreenElement, resolve: OutputResolver = str
) -> ElementDetails | None:
    """What is known of an element beyond what the screen shows; `None` if nothing is."""
    if isinstance(element, ToolCall):
        return _tool_call_details(frame_index, element, resolve)
    events = frame_index.events_on(element.line)
    if isinstance(element, ThinkingIndicator):
        texts = [strip_escapes(raw_as_text(block.thinking)) for block in _blocks(events, Thinking)]
        return ElementDetails(given=tuple(Prose(text) for text in texts if text))
    if isinstance(element, SystemOutput) and (results := _blocks(events, ToolResult)):
        text, pictures = result_parts(results[0])
        return ElementDetails(returned=(Code(resolve(text)), *pictures), is_error=element.is_error)
    if isinstance(element, UserMessage | PeerMessage):
        pictures = find_pictures(block for event in events for block in _content(event))
        return ElementDetails(given=(Code(element.text), *pictures)) if pictures else None
    return None


def call_details(frame_index: FrameIndex, element: ToolCall) -> TranscriptCall:
    """A call with its full result."""
    call = TranscriptCall(
        EntryKind.CALL, element.line, element.timestamp, name=element.tool_name, id=element.id, input=element.input
    )
    for event in frame_index.events_on(element.result_line) if element.result_line else ():
        for block in _blocks([event], ToolResult):
            if block.tool_use_id == element.id or not (element.id and block.tool_use_id):
                structured = getattr(event, "tool_use_result", None)
                call.result = CallResult(block, structured or CallResult(block).structured, event.line, event.timestamp)
    return call


def _tool_call_details(frame_index: FrameIndex, element: ToolCall, resolve: OutputResolver) -> ElementDetails:
    call = call_details(frame_index, element)
    reply = call.reply()
    if reply is not None:
        reply = replace(reply, text=resolve(reply.text))
    sketch = call.to_parts(reply)
    running = activity_text(element.activity, None) if reply is None and element.activity else ""
    returned = sketch.returned
    if reply is None and element.result:  # a result of another kind, of a tool that ran on the server
        returned = (Code(element.result),)
    return ElementDetails(
        sketch.words,
        sketch.name,
        sketch.given,
        sketch.outcome or running,
        (*returned, *call.pictures),
        element.is_error,
    )


def _blocks(events: Sequence[Event], kind: type[_B]) -> list[_B]:
    return [block for event in events for block in _content(event) if isinstance(block, kind)]


def _content(event: Event) -> Sequence[AnyBlock]:
    content = message_content(event)
    return content if isinstance(content, list) else ()
