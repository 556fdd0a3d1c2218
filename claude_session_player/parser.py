"""Decodes bytes into events: each line of a session file becomes one event, or several if records are glued.

Nothing here raises on data: what cannot be read becomes `Malformed`, with its line, offset and reason.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from typing import Any, BinaryIO, Final, NamedTuple, TypeAlias

import msgspec

from claude_session_player.errors import CannotRead
from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import DECODE_ERRORS
from claude_session_player.format.coerce import coerce_event, coerce_line
from claude_session_player.format.dialects import DIALECTS, translate
from claude_session_player.format.events import (
    CONVERSATION,
    RECORD_START,
    Blank,
    Event,
    Malformed,
    TooLong,
    UnknownRecord,
    decode,
)
from claude_session_player.format.line_reader import LongLine, is_too_long, read_batches, read_lines
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.humanize import size

Source: TypeAlias = str | os.PathLike[str] | Iterable[bytes]
"""A path, an open binary file, or any other iterable of lines."""

_BUFFER: Final = 1 << 20
_MOST_VALUES: Final = 10_000
"""The most values on one line that are not objects; what follows them is one malformed piece."""
_TRIES: Final = 8
"""The number of places, from either end, that are tried for a record behind a broken one."""
_SHORT_REST: Final = 1 << 20


class LinePiece(NamedTuple):
    """A part of a line that the strict decoder refused, from byte `start` to byte `end`."""

    start: int
    end: int
    value: Any
    """Its JSON value, or `Damage`."""
    event: Event
    """Its event, or `Malformed`."""


def read_events(source: Source) -> Iterator[Event]:
    """Every record of a session in the order of the file, each with its line number.

    >>> [event.kind for event in read_events([b'{"type":"user"}', b"", b"oops"])]
    ['user', '(blank)', '(malformed)']
    """
    if isinstance(source, str | os.PathLike):
        return _read_file(source)
    return _read_lines(read_lines(source) if isinstance(source, BufferedIOBase) else source)


def parse_object(value: Any) -> Event:
    """The event of one parsed JSON value. Anything but an object is malformed.

    >>> parse_object({"type": "message", "role": "user", "content": "Hi"}).kind
    'user'
    """
    if not isinstance(value, dict):
        return Malformed(reason="not a JSON object")
    event = translate(coerce_event(value))
    event.line = 0
    return event


def is_subagent_file(path: str | os.PathLike[str]) -> bool:
    """True for a sub-agent's own file: by its name, or because it has only sidechain lines."""
    if is_subagent_name(path):
        return True
    with open_session(path) as file:
        return only_sidechains(_read_lines(read_lines(file)))


def is_subagent_name(path: str | os.PathLike[str]) -> bool:
    """True for `agent-*.jsonl`.

    >>> is_subagent_name("subagents/agent-a1b2.jsonl"), is_subagent_name("a1b2.jsonl")
    (True, False)
    """
    name = os.path.basename(os.fspath(path))
    return name.startswith("agent-") and name.endswith(".jsonl")


def only_sidechains(events: Iterable[Event]) -> bool:
    """True if there are sidechain lines and no others; stops at the first other line."""
    found = False
    for event in events:
        if isinstance(event, CONVERSATION):
            if not (event.is_sidechain or event.agent_call):
                return False
            found = True
    return found


def open_session(path: str | os.PathLike[str], buffering: int = _BUFFER) -> BinaryIO:
    """The file, open for reading bytes; raises `CannotRead`.

    Only regular files are opened: a caller that reads a pipe opens it and passes its lines.
    """
    try:
        return open(path, "rb", buffering=buffering, opener=regular_opener)
    except OSError as error:
        raise CannotRead(f"{os.fspath(path)}: {error.strerror or error}") from error


def _read_file(path: str | os.PathLike[str]) -> Iterator[Event]:
    """Decode a batch of lines at a time, which is faster than decoding and using each in turn."""
    number = offset = 0
    with open_session(path) as file:
        for lines in read_batches(file):
            events = decode_lines(lines, number, offset)
            number += len(lines)
            offset += sum(map(len, lines))
            del lines  # a line may be huge, and is not needed while its events are used
            yield from events


def _read_lines(lines: Iterable[bytes]) -> Iterator[Event]:
    """Decode each line as it comes."""
    number = offset = 0
    for line in lines:
        events = decode_lines((line,), number, offset)
        number += 1  # noqa: SIM113 - `enumerate` would hold the line
        offset += len(line)
        del line
        yield from events


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the collector: reading sessions creates no cycles, and searching their many objects would take a while."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def is_worth_decoding(size: int, tried: int) -> bool:
    """False for a last line that is long, and not twice as long as when it was last tried: each time would take n².

    >>> is_worth_decoding(900, 800), is_worth_decoding(3 << 20, 2 << 20), is_worth_decoding(4 << 20, 2 << 20)
    (True, False, True)
    """
    return not is_too_long(size) and (size <= _SHORT_REST or size >= 2 * tried)


def is_whole_record(data: bytes) -> bool:
    """True for a last line that has no line end, but is a whole record: nothing more of it can come.

    >>> is_whole_record(b'{"type":"mode"}'), is_whole_record(b'{"type":"mo'), is_whole_record(b"")
    (True, False, False)
    """
    if not data.rstrip().endswith(b"}"):
        return False
    try:
        decode(data)
    except DECODE_ERRORS:
        return False
    return True


def decode_lines(lines: Sequence[bytes], number: int, offset: int) -> list[Event]:
    """The events of some lines of a session that come after `number` lines and `offset` bytes."""
    try:
        events: list[Event] = list(map(decode, lines))
    except DECODE_ERRORS:
        return _decode_each(lines, number, offset)
    if not DIALECTS.isdisjoint(map(type, events)):
        events = [translate(event) for event in events]
    for event in events:
        number += 1
        event.line = number
    return events


def _decode_each(lines: Sequence[bytes], number: int, offset: int) -> list[Event]:
    """The same one by one, because some lines are not plain records."""
    events: list[Event] = []
    for line in lines:
        number += 1
        if line.isspace():  # there may be millions of them
            events.append(Blank(line=number))
            offset += len(line)
            continue
        try:
            event = decode(line)
        except msgspec.ValidationError:
            event = coerce_line(line)
        except DECODE_ERRORS:
            event = None
        if event is None:
            events.extend(_salvage(line, number, offset))
        else:
            event = translate(event)
            event.line = number
            events.append(event)
        offset += len(line)
    return events


def _salvage(line: bytes, number: int, offset: int) -> Iterator[Event]:
    """The events of a line that the strict decoder refused."""
    if isinstance(line, LongLine):
        reason = f"{size(len(line))}, too large to show: get --line {number} prints it"
        yield TooLong(line=number, offset=offset, reason=reason, size=len(line))
        return
    event = None
    for piece in salvage_line(line):
        event = piece.event
        event.line = number
        if isinstance(event, Malformed):
            event.offset = offset + piece.start
        yield event
    if event is None:
        nuls = line.count(b"\0")
        reason = f"only {nuls} NUL bytes"
        yield Malformed(line=number, offset=offset, reason=reason) if nuls else Blank(line=number)


def salvage_line(line: bytes) -> Iterator[LinePiece]:
    """The readable and unreadable pieces of a line that the strict decoder refused; a blank line has none.

    >>> [(piece.start, piece.end, piece.event.kind) for piece in salvage_line(b'{"type":"user"}{"type":"us')]
    [(0, 15, 'user'), (15, 26, '(malformed)')]
    """
    text = lenient_json.decode_text(line)
    counted = start = others = 0
    for position, after, value in lenient_json.json_values(text):
        start += lenient_json.encoded_length(text[counted:position])
        others += not isinstance(value, dict)
        if others > _MOST_VALUES:
            value, after = lenient_json.Damage(f"more than {_MOST_VALUES:,} values on one line"), len(text)
        is_damaged = isinstance(value, lenient_json.Damage)
        behind = _record_behind(text, position) if is_damaged else None
        end = start + lenient_json.encoded_length(text[position : behind[0] if behind else after])
        event = Malformed(reason=value.reason) if isinstance(value, lenient_json.Damage) else parse_object(value)
        yield LinePiece(start, end, value, event)
        if behind is not None:
            yield LinePiece(end, len(line.rstrip(b"\0\r\n\t ")), behind[1], parse_object(behind[1]))
        if is_damaged:
            return
        counted = position


def _record_behind(text: str, at: int) -> tuple[int, dict[str, Any]] | None:
    """A whole record at the end of a line, behind one that a crash cut off; and where it begins."""
    starts = [match.start() for match in RECORD_START.finditer(text, at + 1)]
    for start in starts[:_TRIES] + starts[_TRIES:][-_TRIES:]:
        found = lenient_json.object_at(text, start)
        if found is not None and lenient_json.is_end(text, found[1]):
            event = parse_object(found[0])
            if event.uuid and not isinstance(event, UnknownRecord):
                return start, found[0]
    return None


_TYPES: Final = ("user", "assistant", "summary")


def validate_event(event: Mapping[str, Any]) -> tuple[bool, str]:
    """True and "Valid", or false and the first problem.

    >>> validate_event({"type": "summary", "timestamp": "2026-01-17T21:00:00.000Z", "summary": "Tea was made."})
    (True, 'Valid')
    >>> validate_event({"type": "progress"})
    (False, 'Invalid type: progress')
    """
    if not _has(event, "type"):
        return False, "Missing 'type' field"
    kind = event["type"]
    if kind not in _TYPES:
        return False, f"Invalid type: {kind}"
    for path in (("timestamp",), *_NEEDED[kind]):
        *above, key = path
        place = event[above[0]] if above else event
        if not _has(place, key):
            return False, f"Missing '{key}' field"
    return True, "Valid"


_NEEDED: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "user": (("message",), ("message", "content")),
    "assistant": (("message",), ("message", "content")),
    "summary": (("summary",),),
}


def _has(value: Any, key: str) -> bool:
    return isinstance(value, Mapping) and key in value
