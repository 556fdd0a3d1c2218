"""Translates records of the other dialects into the events of the project dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import astuple

from claude_session_player.format.blocks import DECODE_ERRORS, NOTHING, AnyBlock, ToolResult, ToolUse, decode_blocks
from claude_session_player.format.events import (
    Assistant,
    CallLine,
    Event,
    LegacyMessage,
    LineMessage,
    ResultLine,
    RunResult,
    System,
    UnknownRecord,
    User,
)
from claude_session_player.format.results import decode_wrapped_output

if TYPE_CHECKING:
    from collections.abc import Callable

_NULL: Final = Raw(b"null")

_ENVELOPE: Final = tuple(name for name in Event.__struct_fields__ if name != "line")

_E = TypeVar("_E", bound=Event)


def translate(event: Event) -> Event:
    """The same record as an event of the project dialect; most records already are."""
    translator = _TRANSLATORS.get(type(event))
    if translator is None:
        return event
    return _with_envelope(translator(event), event)


def _with_envelope(event: _E, source: Event) -> _E:
    for name in _ENVELOPE:
        setattr(event, name, getattr(source, name))
    return event


def _message(source: LegacyMessage) -> Event:
    match source.role:
        case "user":
            return User(content=source.content)
        case "assistant":
            return Assistant(content=source.content)
    return UnknownRecord(kind=f"message of {source.role or 'nobody'}")


def _call(source: CallLine) -> Event:
    name = source.tool_name or source.tool or source.name
    arguments = source.tool_input or source.arguments or source.input
    if name is None and (calls := _blocks_in(source.message, ToolUse)):
        return Assistant(content=calls)
    return Assistant(content=[ToolUse(source.tool_use_id or source.id, name, arguments)])


def _result(source: ResultLine) -> Event:
    name = source.tool_name or source.tool or source.name
    outputs = [raw for raw in (source.tool_output, source.output, source.content) if _is_given(raw)]
    content: list[AnyBlock] = []
    if not outputs and source.message is not None:
        outputs = [source.message.content]
        content = _blocks_in(source.message, ToolResult)
    output = _output(next(iter(outputs), NOTHING))
    content = content or [ToolResult(source.tool_use_id, output, source.is_error, name)]
    # the parent of a result that does not name its call is the line of its call
    parent = source.parent_uuid if source.tool_use_id is None else None
    return User(content=content, tool_use_result=source.tool_use_result, source_uuid=source.source_uuid or parent)


def _run_result(source: RunResult) -> Event:
    if source.duration_ms is None:  # a workflow's journal has records of this type, too
        return UnknownRecord(kind="result")
    return System(subtype="turn_duration", duration_ms=source.duration_ms)


def _blocks_in(message: LineMessage | None, wanted: type[AnyBlock]) -> list[AnyBlock]:
    """The blocks of a message, if any of them is of the wanted type."""
    if message is None or bytes(memoryview(message.content)[:1]) != b"[":
        return []
    try:
        blocks: list[AnyBlock] = decode_blocks(message.content)
    except DECODE_ERRORS:
        return []
    return blocks if any(type(block) is wanted for block in blocks) else []


def _is_given(raw: Raw) -> bool:
    return bool(raw) and raw != _NULL


def _output(raw: Raw) -> Raw:
    """The output itself, which some tools wrap in an object."""
    if bytes(memoryview(raw)[:1]) != b"{":
        return raw
    try:
        return next((inner for inner in astuple(decode_wrapped_output(raw)) if _is_given(inner)), raw)
    except (msgspec.DecodeError, RecursionError):
        return raw


_TRANSLATORS: Final[dict[type[Event], Callable[[Any], Event]]] = {
    LegacyMessage: _message,
    CallLine: _call,
    ResultLine: _result,
    RunResult: _run_result,
}

DIALECTS: Final = frozenset(_TRANSLATORS)
"""The types of records that have to be translated."""
