"""Turns the records of the other dialects into the events that everything else understands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import astuple

from claude_session_player.events import (
    Assistant,
    CallLine,
    Event,
    LegacyMessage,
    ResultLine,
    RunResult,
    System,
    ToolResult,
    ToolUse,
    Unknown,
    User,
    decode_wrapped_output,
)

_E = TypeVar("_E", bound=Event)


def translate(event: Event) -> Event:
    """The same record as an event of the project dialect; most already are."""
    translator = _TRANSLATORS.get(type(event))
    if translator is None:
        return event
    return _stamped(translator(event), event)


def _stamped(event: _E, source: Event) -> _E:
    event.line, event.timestamp, event.uuid = source.line, source.timestamp, source.uuid
    return event


def _message(source: LegacyMessage) -> Event:
    if source.role == "user":
        return User(content=source.content)
    return Assistant(content=source.content)


def _call(source: CallLine) -> Event:
    name = source.tool_name or source.tool or source.name
    arguments = source.tool_input or source.arguments or source.input
    return Assistant(content=[ToolUse(source.id, name, arguments)])


def _result(source: ResultLine) -> Event:
    name = source.tool_name or source.tool or source.name
    output = _output(source.tool_output or source.output or source.content)
    return User(content=[ToolResult(source.tool_use_id, output, source.is_error, name)])


def _run_result(source: RunResult) -> Event:
    if source.duration_ms is None:  # a workflow's journal has records of this type, too
        return Unknown(name="result")
    return System(subtype="turn_duration", duration_ms=source.duration_ms)


def _output(raw: Raw) -> Raw:
    """The output itself, where the dialect wraps it into an object."""
    if bytes(memoryview(raw)[:1]) != b"{":
        return raw
    try:
        return next((inner for inner in astuple(decode_wrapped_output(raw)) if inner), raw)
    except msgspec.DecodeError:
        return raw


_TRANSLATORS: Final[dict[type[Event], Callable[[Any], Event]]] = {
    LegacyMessage: _message,
    CallLine: _call,
    ResultLine: _result,
    RunResult: _run_result,
}

DIALECTS: Final = frozenset(_TRANSLATORS)
"""The records that have to be translated."""
