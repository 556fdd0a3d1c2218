"""Checks the lines of a session file: intact lines in one step, all others piece by piece."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Union

import msgspec
from msgspec import Struct, field

from claude_session_player.doctor import findings as kinds
from claude_session_player.doctor.findings import Finding, FindingKind
from claude_session_player.format.blocks import DECODE_ERRORS, ToolResult
from claude_session_player.format.content import result_text
from claude_session_player.format.events import User
from claude_session_player.format.lenient_json import CUT_SHORT, Damage
from claude_session_player.format.line_reader import LongLine, read_batches
from claude_session_player.linking.pairing import Pairing
from claude_session_player.parser import LinePiece, decode_lines, gc_paused, salvage_line
from claude_session_player.store import persisted_name
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.humanize import size
from claude_session_player.util.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BOM: Final = b"\xef\xbb\xbf"
_CHARACTER_END: Final = re.compile(rb"[\x80-\xbf]{1,3}")
"""The last bytes of a UTF-8 character whose first byte is missing."""


class CheckedBlock(Struct, gc=False):
    """A block of a message: a call has an `id`, a result a `tool_use_id`."""

    type: str | None = None
    id: str | None = None
    tool_use_id: str | None = None


class CheckedMessage(Struct, gc=False):
    """A message without its texts."""

    content: Union[str, list[CheckedBlock], None] = None  # noqa: UP007


class CheckedRecord(Struct, gc=False, rename="camel"):
    """A record of any type: the fields that have to be consistent with other records and with the path of the file."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: datetime | None = None
    session_id: str | None = None
    cwd: str | None = None
    message: CheckedMessage | None = None
    call: str | None = field(default=None, name="tool_use_id")
    """In a result on a line of its own: the call that it belongs to, if it names one."""


class LineFlaw(NamedTuple):
    """What is wrong with a line, and at which byte of the line."""

    kind: FindingKind
    at: int
    detail: str = ""


class CheckedLine(NamedTuple):
    """The records on a line, and what is wrong with it."""

    records: list[CheckedRecord]
    flaws: list[LineFlaw]


_decode: Final = msgspec.json.Decoder(CheckedRecord).decode


def check_whole_lines(lines: Sequence[bytes]) -> list[CheckedRecord] | None:
    """The record of each line, if every line is exactly one intact record; else `None`."""
    try:
        records = list(map(_decode, lines))
        for line in lines:
            if not line.isascii():
                line.decode()
    except DECODE_ERRORS:
        return None
    return records


_BLANK: Final = CheckedLine([], [])


def check_line(line: bytes) -> CheckedLine:
    """Check a line that may hold one record, several or none."""
    if line.isspace():  # a file may have millions of them
        return _BLANK
    if (records := check_whole_lines((line,))) is not None:
        return CheckedLine(records, [])
    if isinstance(line, LongLine):
        return CheckedLine([], [LineFlaw(kinds.LONG_LINE, 0, size(len(line)))])
    pieces = list(salvage_line(line))
    flaws = [*_flaws_of_bytes(line), *_flaws_of_pieces(line, pieces)]
    objects = [piece for piece in pieces if isinstance(piece.value, dict)]
    flaws += [
        LineFlaw(kinds.BAD_TIMESTAMP, piece.start, _timestamp_text(piece.value))
        for piece in objects
        if not _has_time(piece.value)
    ]
    return CheckedLine([_lenient_record(piece.value) for piece in objects], flaws)


def _flaws_of_bytes(line: bytes) -> Iterator[LineFlaw]:
    if line.startswith(_BOM):
        yield LineFlaw(kinds.BYTE_ORDER_MARK, 0)
    if count := line.count(b"\0"):
        yield LineFlaw(kinds.NUL_BYTES, line.index(b"\0"), f"{count} of them" if count > 1 else "")


def _flaws_of_pieces(line: bytes, pieces: Sequence[LinePiece]) -> Iterator[LineFlaw]:
    """What is wrong with the pieces of a line, except for what `_flaws_of_bytes` reports."""
    objects = [piece for piece in pieces if isinstance(piece.value, dict)]
    damages = [piece for piece in pieces if isinstance(piece.value, Damage)]
    for piece in pieces:
        data, nul, _ = line[piece.start : piece.end].partition(b"\0")
        if (wrong := _first_invalid_byte(data, isinstance(piece.value, Damage))) is not None:
            yield LineFlaw(kinds.INVALID_UTF8, piece.start + wrong, f"the first invalid byte is 0x{data[wrong]:02X}")
        elif piece in damages and not nul:
            yield _damage(data, piece, is_last=piece is pieces[-1])
    for piece in pieces if not damages else ():  # otherwise they are part of the damage
        if not isinstance(piece.value, dict):
            yield LineFlaw(kinds.NOT_AN_OBJECT, piece.start, f"it is {_TYPE_NAMES.get(type(piece.value), 'a number')}")
    for piece in objects:
        data = line[piece.start : piece.end]
        if b"\0" not in data and is_utf8(data) and not is_strict_json(data):
            yield LineFlaw(
                kinds.MALFORMED_LINE, piece.start, "some parsers reject it: it has a control character, or NaN"
            )
    if len(objects) > 1:
        yield LineFlaw(kinds.GLUED_RECORDS, objects[1].start, f"{len(objects)} of them")


_TYPE_NAMES: Final = {str: "a string", list: "a list", bool: "true or false", type(None): "null"}


def _damage(data: bytes, piece: LinePiece, is_last: bool) -> LineFlaw:
    """The flaw of a piece that is not JSON; if another record follows on the line, that one cut it off."""
    if not is_last:
        return LineFlaw(kinds.CUT_LINE, piece.start, "another record begins in the middle of it")
    is_truncated = data.startswith(b"{") and piece.value.reason == CUT_SHORT
    return LineFlaw(kinds.CUT_LINE if is_truncated else kinds.MALFORMED_LINE, piece.start, piece.value.reason)


def _first_invalid_byte(data: bytes, may_be_cut: bool) -> int | None:
    """The offset of the first byte that is not UTF-8; in cut data, the first and last character may be incomplete."""
    incomplete = _CHARACTER_END.match(data) if may_be_cut else None
    start = incomplete.end() if incomplete else 0
    data = data[start:].rstrip(b"\r\n")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        is_cut = may_be_cut and error.reason == "unexpected end of data"
        return None if is_cut else start + error.start
    return None


def is_utf8(data: bytes) -> bool:
    """True for bytes that are valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_strict_json(data: bytes) -> bool:
    """True for JSON that every parser accepts, however deeply nested."""
    try:
        _strict.decode(data.decode())
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)


_strict: Final = json.JSONDecoder(parse_constant=_refuse_constant)


def _has_time(value: dict[str, Any]) -> bool:
    time = value.get("timestamp")
    try:
        return time is None or bool(parse_time(time))
    except (ValueError, TypeError, AttributeError, OverflowError):
        return False


def _timestamp_text(value: dict[str, Any]) -> str:
    return repr(value["timestamp"])[:60]


def _lenient_record(value: dict[str, Any]) -> CheckedRecord:
    """The record of a JSON object whose fields may have any type."""
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    names = ("type", "uuid", "parentUuid", "sessionId", "cwd")
    type, uuid, parent, session, cwd = (_text(value.get(name)) for name in names)
    checked = [CheckedBlock(*(_text(block.get(name)) for name in ("type", "id", "tool_use_id"))) for block in blocks]
    return CheckedRecord(type, uuid, parent, None, session, cwd, CheckedMessage(checked))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


_LINKED_TYPES: Final = frozenset(("user", "assistant", "system", "attachment", "progress"))
"""Records that others refer to: each that names its session has a uuid."""
_CALL: Final = "tool_use"
_RESULT: Final = "tool_result"
"""A result on a line of its own; if it names no call, it follows the line of its call."""
_CALLS: Final = frozenset((_CALL, "server_tool_use", "mcp_tool_use"))


class RecordLocation(NamedTuple):
    """The line of a record, and its offset in the file."""

    line: int
    offset: int


class BrokenReference(NamedTuple):
    """A reference between records that leads nowhere, and where it is."""

    kind: FindingKind
    location: RecordLocation
    detail: str


_CallPlace = tuple[str, str, RecordLocation]
"""The id of a call, its type, and its location."""


class ReferenceChecker:
    """Checks the references between the records of a file. Of intact records, only the ids are kept."""

    def __init__(self) -> None:
        self._uuids: set[str] = set()
        self._parents: list[tuple[str, RecordLocation]] = []
        """Parents that have not occurred yet."""
        self._pairing: Pairing[_CallPlace, RecordLocation] = Pairing()
        self._results: list[tuple[str, RecordLocation]] = []
        """Results that come before their calls, or have none."""
        self._broken: list[BrokenReference] = []

    def add(self, record: CheckedRecord, line: int, offset: int) -> None:
        """Add the next record of the file."""
        uuid, parent = record.uuid, record.parent_uuid
        if uuid:
            if uuid in self._uuids:
                self._broken.append(BrokenReference(kinds.DUPLICATE_UUID, RecordLocation(line, offset), uuid))
            self._uuids.add(uuid)
        elif record.type in _LINKED_TYPES and record.session_id:
            self._broken.append(BrokenReference(kinds.MISSING_UUID, RecordLocation(line, offset), record.type or ""))
        if parent and parent not in self._uuids:
            self._parents.append((parent, RecordLocation(line, offset)))
        content = record.message.content if record.message is not None else None
        if type(content) is list:
            for block in content:
                self._add_block(block, uuid, line, offset)
        elif record.type == _RESULT:
            self._pairing.add_result(RecordLocation(line, offset), record.call, source=parent)

    def _add_block(self, block: CheckedBlock, uuid: str | None, line: int, offset: int) -> None:
        if call := block.tool_use_id:
            location = RecordLocation(line, offset)
            if self._pairing.add_result(location, call) is None:
                self._results.append((call, location))
        elif (call := block.id) and block.type in _CALLS and self._pairing.call_with(call) is None:
            self._pairing.add_call((call, block.type or _CALL, RecordLocation(line, offset)), call, "", uuid)

    def broken_references(self) -> Iterator[BrokenReference]:
        """All references that lead nowhere, when the whole file has been added."""
        yield from self._broken
        for uuid, location in self._parents:
            if uuid not in self._uuids:
                yield BrokenReference(kinds.MISSING_PARENT, location, uuid)
        for call, location in self._results:
            if self._pairing.call_with(call) is None:
                yield BrokenReference(kinds.RESULT_WITHOUT_CALL, location, call)
        for call, kind, location in self._pairing.unanswered():
            if kind == _CALL:
                yield BrokenReference(kinds.CALL_WITHOUT_RESULT, location, call)


_BUFFER_SIZE: Final = 1 << 18
_PERSISTED: Final = b"<persisted-output>"


class CheckJob(NamedTuple):
    """A file to inspect."""

    path: str
    size: int


class NamedPath(NamedTuple):
    """A file or directory that a record names."""

    name: str
    location: RecordLocation


class Inspection(NamedTuple):
    """The result of checking a file."""

    path: str
    findings: tuple[Finding, ...] = ()
    tail: Finding | None = None
    """A truncated last line, which may still be completed."""
    session_id: str | None = None
    """The session that the first record names."""
    cwds: tuple[NamedPath, ...] = ()
    """The recorded working directories, each at its first occurrence."""
    outputs: tuple[NamedPath, ...] = ()
    """The files with tool outputs that were too large for the session file."""
    problem: str | None = None
    """Why the file could not be read to the end."""
    bytes_read: int = 0
    records: int = 0

    @property
    def is_empty(self) -> bool:
        """True if the file has nothing but blank lines."""
        return not (self.records or self.findings or self.tail or self.problem)


@gc_paused()
def inspect_file(job: CheckJob) -> Inspection:
    """Check a file. Raises nothing: if the file cannot be read, `problem` gives the reason."""
    inspector = _Inspector(job.path)
    problem = None
    try:
        with open(job.path, "rb", buffering=_BUFFER_SIZE, opener=regular_opener) as file:
            inspector.read(file)
    except OSError as error:
        problem = error.strerror or str(error)
    return inspector.report(problem)


class _Inspector:
    def __init__(self, path: str) -> None:
        self._path = path
        self._findings: list[Finding] = []
        self._tail: Finding | None = None
        self._references = ReferenceChecker()
        self._session_id: str | None = None
        self._cwds: dict[str, RecordLocation] = {}
        self._outputs: list[NamedPath] = []
        self._records = 0
        self._line = self._offset = 0
        """The number of the current line, and its offset."""

    def read(self, file: BinaryIO) -> None:
        """Check all lines in batches, so that memory does not depend on their number."""
        for lines in read_batches(file):
            if (records := check_whole_lines(lines)) is None:
                for line in lines:
                    self._add_checked(line)
            else:
                for record, line in zip(records, lines, strict=True):
                    self._line += 1
                    self._add(record)
                    self._add_outputs((record,), line)
                    self._offset += len(line)

    def _add(self, record: CheckedRecord) -> None:
        self._records += 1
        self._references.add(record, self._line, self._offset)
        if (cwd := record.cwd) is not None and cwd not in self._cwds:
            self._cwds[cwd] = RecordLocation(self._line, self._offset)
        if self._session_id is None:
            self._session_id = record.session_id

    def _add_outputs(self, records: Sequence[CheckedRecord], line: bytes) -> None:
        """Add the output files that a line refers to; one line may have many records."""
        if any(record.type == "user" for record in records) and _PERSISTED in line:
            self._outputs += (
                NamedPath(name, RecordLocation(self._line, self._offset)) for name in _persisted_names(line)
            )

    def _add_checked(self, line: bytes) -> None:
        self._line += 1
        checked = check_line(line)
        for record in checked.records:
            self._add(record)
        self._add_outputs(checked.records, line)
        for kind, at, detail in checked.flaws:
            finding = Finding(kind, self._path, self._line, self._offset + at, detail)
            if kind is kinds.CUT_LINE and not line.endswith(b"\n"):
                self._tail = finding
            else:
                self._findings.append(finding)
        self._offset += len(line)

    def report(self, problem: str | None) -> Inspection:
        """All findings, in the order of the file."""
        broken = self._references.broken_references()
        found = self._findings + [Finding(kind, self._path, *location, detail) for kind, location, detail in broken]
        return Inspection(
            self._path,
            tuple(sorted(found, key=lambda finding: finding.offset or 0)),
            self._tail,
            self._session_id,
            tuple(NamedPath(cwd, location) for cwd, location in self._cwds.items()),
            tuple(self._outputs),
            problem,
            self._offset,
            self._records,
        )


def _persisted_names(line: bytes) -> list[str]:
    """The names of the output files that the results on a line refer to."""
    events = (event for event in decode_lines((line,), 0, 0) if isinstance(event, User))
    contents = (event.message.content for event in events if event.message is not None)
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    results = (result_text(block, None)[0] for block in blocks if isinstance(block, ToolResult))
    return [name for text in results if (name := persisted_name(text)) is not None]
