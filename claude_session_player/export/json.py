"""Screens and transcripts as JSON: a flat record for each element or entry."""

from __future__ import annotations

import re
from dataclasses import asdict, fields
from datetime import UTC
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TextIO

from claude_session_player.export.registry import TranscriptWriter
from claude_session_player.format import lenient_json
from claude_session_player.format.lenient_json import encode_json, json_array
from claude_session_player.models import ScreenElement, ScreenState, ToolActivity
from claude_session_player.transcript import Entry, EntryKind, Subagent, TranscriptCall
from claude_session_player.util.humanize import transcript_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claude_session_player.export.transcript import TranscriptStyle
    from claude_session_player.transcript import PlacedEntry

_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def write_element_array(state: ScreenState, file: TextIO) -> None:
    """Write the elements of a screen as one JSON array, with an element on each line."""
    file.writelines(json_array(_encoded_elements(state)))
    file.write("\n")


def write_element_lines(state: ScreenState, file: TextIO) -> None:
    """Write the elements of a screen as JSON objects, one per line."""
    file.writelines(f"{text}\n" for text in _encoded_elements(state))


def _encoded_elements(state: ScreenState) -> Iterator[str]:
    return (lenient_json.compact(element_record(element)) for element in state.elements)


def element_record(element: ScreenElement) -> dict[str, Any]:
    """All fields of an element; `time` is in UTC, `timestamp` as in the file.

    >>> from claude_session_player.models import UserMessage
    >>> element_record(UserMessage("Hi", line=3))["kind"], element_record(UserMessage("Hi", line=3))["time"]
    ('user_message', 'Unknown time')
    """
    kind = _INNER_CAPITAL.sub("_", type(element).__name__).lower()
    values = {field.name: _json_value(getattr(element, field.name)) for field in fields(element)}
    return {"kind": kind, "line": values.pop("line"), "time": transcript_time(element.timestamp, UTC), **values}


def _json_value(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return asdict(value) if isinstance(value, ToolActivity) else value


_RECORD_KINDS: Final = (EntryKind.NOTE, EntryKind.RECORD)
"""Kinds of entries that may have the type of a record."""


def entry_record(placed: PlacedEntry, style: TranscriptStyle) -> dict[str, Any] | None:
    """The facts of one entry, untruncated; `None` for separators, and for entries of full transcripts only.

    `depth` and `agent` say which sub-agent the entry belongs to.
    """
    entry = placed.entry
    if placed.is_end or entry.kind is EntryKind.SECTION or (entry.full_only and not style.is_full):
        return None
    facts: dict[str, Any] = {
        "kind": entry.kind.value,
        "line": entry.line or None,
        "timestamp": entry.timestamp,
        "uuid": entry.uuid,
        "depth": placed.depth,
        "agent": placed.subagent.id if placed.subagent else None,
    }
    if isinstance(entry, TranscriptCall):
        return facts | _call_facts(entry, style)
    if isinstance(entry.body, Subagent):
        return facts | _subagent_facts(entry.body)
    if entry.kind in (EntryKind.FORK, EntryKind.RETURN):
        return facts | {"back_to": entry.body.line}
    facts["text"] = entry.text
    if entry.kind is EntryKind.BLOCK:
        facts["body"] = entry.body
    elif entry.kind in _RECORD_KINDS and entry.body is not None:
        facts["record"] = entry.body
        if entry.kind is EntryKind.RECORD:
            facts["text"] = f"{entry.text} {entry.body}"
    return facts | _picture_facts(entry, style)


def _picture_facts(entry: Entry, style: TranscriptStyle) -> dict[str, Any]:
    """The pictures of an entry; `url` is the path of a picture that is saved to a file."""
    pictures = [
        {"kind": picture.kind, "media_type": picture.media_type, "url": picture.url or style.save(picture) or ""}
        for picture in entry.pictures
    ]
    return {"pictures": pictures} if pictures else {}


def _call_facts(call: TranscriptCall, style: TranscriptStyle) -> dict[str, Any]:
    reply, result = call.reply(), call.result
    return _picture_facts(call, style) | {
        "tool": call.name,
        "tool_use_id": call.id,
        "input": call.input,
        "result": None
        if reply is None or result is None
        else {
            "text": style.resolve(reply.text),
            "is_error": reply.is_error,
            "line": result.line,
            "timestamp": result.timestamp,
            "uuid": result.uuid,
        },
        "agents": [subagent.id for subagent in call.subagents],
    }


def _subagent_facts(subagent: Subagent) -> dict[str, Any]:
    return {"id": subagent.id, "type": subagent.kind, "title": subagent.title, "workflow": subagent.workflow}


def _records(entries: Iterable[PlacedEntry], style: TranscriptStyle) -> Iterator[dict[str, Any]]:
    return (facts for placed in entries if (facts := entry_record(placed, style)) is not None)


def _as_array(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    return chain(json_array(map(encode_json, records)), "\n")


def _as_lines(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    return (f"{encode_json(facts)}\n" for facts in records)


ARRAY: Final = TranscriptWriter(_records, _as_array)
LINES: Final = TranscriptWriter(_records, _as_lines)
