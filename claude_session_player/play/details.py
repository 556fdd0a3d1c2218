"""All that is known of one element: the lines that it comes from are read again, and nothing of them is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from claude_session_player.content import pictures_of, result_parts, said_in
from claude_session_player.conversation.entries import Call, Kind, Result
from claude_session_player.events import (
    AnyBlock,
    Event,
    Thinking,
    ToolResult,
    text_of,
)
from claude_session_player.formatter import activity_text
from claude_session_player.models import ScreenElement, SystemOutput, ThinkingIndicator, ToolCall, UserMessage
from claude_session_player.parts import Code, Part, Prose
from claude_session_player.play.film import Film
from claude_session_player.text import clean

_B = TypeVar("_B", bound=AnyBlock)

Resolve = Callable[[str], str]
"""Gives a result with the whole output, where it only says in which file that is."""


class Details(NamedTuple):
    """What was given, what came back in a few words, and what came back."""

    words: str = ""
    name: str = ""
    given: tuple[Part, ...] = ()
    outcome: str = ""
    returned: tuple[Part, ...] = ()
    is_error: bool = False


def details_of(film: Film, element: ScreenElement, resolve: Resolve = str) -> Details | None:
    """What there is to be known of an element beyond what the screen shows; `None` where that is all."""
    if isinstance(element, ToolCall):
        return _call(film, element, resolve)
    events = film.events(element.line)
    if isinstance(element, ThinkingIndicator):
        thoughts = [clean(text_of(block.thinking)) for block in _blocks(events, Thinking)]
        return Details(given=tuple(Prose(thought) for thought in thoughts if thought))
    if isinstance(element, SystemOutput) and (results := _blocks(events, ToolResult)):
        text, pictures = result_parts(results[0])
        return Details(returned=(Code(resolve(text)), *pictures), is_error=element.is_error)
    if isinstance(element, UserMessage):
        pictures = pictures_of(block for event in events for block in _content(event))
        return Details(given=(Code(element.text), *pictures)) if pictures else None
    return None


def call_of(film: Film, element: ToolCall) -> Call:
    """A call with its whole result."""
    call = Call(Kind.CALL, element.line, element.timestamp, name=element.tool_name, id=element.id, input=element.input)
    for event in film.events(element.result_line) if element.result_line else ():
        for block in _blocks([event], ToolResult):
            if block.tool_use_id == element.id or not (element.id and block.tool_use_id):
                structured = getattr(event, "tool_use_result", None)
                call.result = Result(block, structured or Result(block).structured, event.line, event.timestamp)
    return call


def _call(film: Film, element: ToolCall, resolve: Resolve) -> Details:
    call = call_of(film, element)
    reply = call.reply()
    if reply is not None:
        reply = replace(reply, text=resolve(reply.text))
    sketch = call.sketch(reply)
    running = activity_text(element.activity, None) if reply is None and element.activity else ""
    return Details(
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
    said = said_in(event)
    return said if isinstance(said, list) else ()
