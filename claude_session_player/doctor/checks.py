"""The lines of a session file, looked at for their integrity: whole records in one step, the others closely."""

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
from claude_session_player.parser import LinePiece, decode_lines, salvage_line
from claude_session_player.store import persisted_name
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.humanize import size
from claude_session_player.util.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BOM: Final = b"\xef\xbb\xbf"
_TORN: Final = re.compile(rb"[\x80-\xbf]{1,3}")
"""The end of a character."""


class CheckedBlock(Struct, gc=False):
    """A block of a message: a call by its `id`, a result by its `tool_use_id`."""

    type: str | None = None
    id: str | None = None
    tool_use_id: str | None = None


class CheckedMessage(Struct, gc=False):
    """A message without what is said in it."""

    content: Union[str, list[CheckedBlock], None] = None  # noqa: UP007


class CheckedRecord(Struct, gc=False, rename="camel"):
    """A record of any type: what other records, and the place of the file, have to fit to."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: datetime | None = None
    session_id: str | None = None
    cwd: str | None = None
    message: CheckedMessage | None = None
    call: str | None = field(default=None, name="tool_use_id")
    """Of a result on a line of its own: the call that it answers, where it names one."""


class LineFlaw(NamedTuple):
    """What is wrong with a line, and at which of its bytes."""

    kind: FindingKind
    at: int
    detail: str = ""


class CheckedLine(NamedTuple):
    """A line that is not simply one whole record."""

    records: list[CheckedRecord]
    flaws: list[LineFlaw]


_look: Final = msgspec.json.Decoder(CheckedRecord).decode


def check_whole_lines(lines: Sequence[bytes]) -> list[CheckedRecord] | None:
    """The record of each line, where every line is exactly one; else `None`."""
    try:
        records = list(map(_look, lines))
        for line in lines:
            if not line.isascii():
                line.decode()
    except DECODE_ERRORS:
        return None
    return records


_BLANK: Final = CheckedLine([], [])


def check_line(line: bytes) -> CheckedLine:
    """What is on a line, be it one record, several or none."""
    if line.isspace():  # there may be millions of them
        return _BLANK
    if (records := check_whole_lines((line,))) is not None:
        return CheckedLine(records, [])
    if isinstance(line, LongLine):
        return CheckedLine([], [LineFlaw(kinds.LONG_LINE, 0, size(len(line)))])
    pieces = list(salvage_line(line))
    flaws = [*_flaws_of_bytes(line), *_flaws_of_pieces(line, pieces)]
    objects = [piece for piece in pieces if isinstance(piece.value, dict)]
    flaws += [
        LineFlaw(kinds.NO_TIME, piece.start, _told(piece.value)) for piece in objects if not _has_time(piece.value)
    ]
    return CheckedLine([_bent(piece.value) for piece in objects], flaws)


def _flaws_of_bytes(line: bytes) -> Iterator[LineFlaw]:
    if line.startswith(_BOM):
        yield LineFlaw(kinds.BOM, 0)
    if count := line.count(b"\0"):
        yield LineFlaw(kinds.NULS, line.index(b"\0"), f"{count} of them" if count > 1 else "")


def _flaws_of_pieces(line: bytes, pieces: Sequence[LinePiece]) -> Iterator[LineFlaw]:
    """What is wrong with the pieces of a line; what its bytes explain already is not said twice."""
    objects = [piece for piece in pieces if isinstance(piece.value, dict)]
    damages = [piece for piece in pieces if isinstance(piece.value, Damage)]
    for piece in pieces:
        data, nul, _ = line[piece.start : piece.end].partition(b"\0")
        if (wrong := _first_wrong(data, isinstance(piece.value, Damage))) is not None:
            yield LineFlaw(kinds.ENCODING, piece.start + wrong, f"0x{data[wrong]:02X} is the first of them")
        elif piece in damages and not nul:
            yield _damage(data, piece, is_last=piece is pieces[-1])
    for piece in pieces if not damages else ():  # else they are a part of the damage
        if not isinstance(piece.value, dict):
            yield LineFlaw(kinds.NO_OBJECT, piece.start, f"but {_NAMES.get(type(piece.value), 'a number')}")
    for piece in objects:
        data = line[piece.start : piece.end]
        if b"\0" not in data and is_utf8(data) and not is_strict_json(data):
            yield LineFlaw(kinds.MALFORMED, piece.start, "only some readers understand it: a control character, or NaN")
    if len(objects) > 1:
        yield LineFlaw(kinds.GLUED, objects[1].start, f"{len(objects)} of them")


_NAMES: Final = {str: "a text", list: "a list", bool: "true or false", type(None): "null"}


def _damage(data: bytes, piece: LinePiece, is_last: bool) -> LineFlaw:
    """A stretch that is no JSON; where a whole record follows on the line, it was cut by that."""
    if not is_last:
        return LineFlaw(kinds.CUT, piece.start, "another record begins in the middle of it")
    is_cut = data.startswith(b"{") and piece.value.reason == CUT_SHORT
    return LineFlaw(kinds.CUT if is_cut else kinds.MALFORMED, piece.start, piece.value.reason)


def _first_wrong(data: bytes, may_be_cut: bool) -> int | None:
    """Where the first byte is that is no UTF-8; of what was cut, the first and the last character may be in parts."""
    torn = _TORN.match(data) if may_be_cut else None
    start = torn.end() if torn else 0
    data = data[start:].rstrip(b"\r\n")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        is_cut = may_be_cut and error.reason == "unexpected end of data"
        return None if is_cut else start + error.start
    return None


def is_utf8(data: bytes) -> bool:
    """True where bytes are a text in UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_strict_json(data: bytes) -> bool:
    """True for JSON that every reader understands, however deep."""
    try:
        _strict.decode(data.decode())
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_strict: Final = json.JSONDecoder(parse_constant=_refuse)


def _has_time(value: dict[str, Any]) -> bool:
    time = value.get("timestamp")
    try:
        return time is None or bool(parse_time(time))
    except (ValueError, TypeError, AttributeError, OverflowError):
        return False


def _told(value: dict[str, Any]) -> str:
    return repr(value["timestamp"])[:60]


def _bent(value: dict[str, Any]) -> CheckedRecord:
    """A record of an object that may hold anything anywhere."""
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    names = ("type", "uuid", "parentUuid", "sessionId", "cwd")
    type, uuid, parent, session, cwd = (_text(value.get(name)) for name in names)
    checked = [CheckedBlock(*(_text(block.get(name)) for name in ("type", "id", "tool_use_id"))) for block in blocks]
    return CheckedRecord(type, uuid, parent, None, session, cwd, CheckedMessage(checked))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


_SAID: Final = frozenset(("user", "assistant", "system", "attachment", "progress"))
"""Records that others follow: each has a uuid, wherever it names its session."""
_CALL: Final = "tool_use"
_RESULT: Final = "tool_result"
"""A result on a line of its own; where it names no call, it stands behind the line of the call."""
_CALLS: Final = frozenset((_CALL, "server_tool_use", "mcp_tool_use"))


class RecordPlace(NamedTuple):
    """A record's line, and its offset in the file."""

    line: int
    offset: int


class LooseEnd(NamedTuple):
    """An end that is loose, and where it is."""

    kind: FindingKind
    place: RecordPlace
    detail: str


_Called = tuple[str, str, RecordPlace]
"""The id of a call, its kind, and its place."""


class ReferenceChecker:
    """Follows the threads of a file from record to record. Of records that fit, only their ids are kept."""

    def __init__(self) -> None:
        self._uuids: set[str] = set()
        self._parents: list[tuple[str, RecordPlace]] = []
        """Parents that have not been seen yet."""
        self._pairing: Pairing[_Called, RecordPlace] = Pairing()
        self._results: list[tuple[str, RecordPlace]] = []
        """Results that stand before their calls, or have none."""
        self._loose: list[LooseEnd] = []

    def add(self, record: CheckedRecord, line: int, offset: int) -> None:
        """The next record of the file."""
        uuid, parent = record.uuid, record.parent_uuid
        if uuid:
            if uuid in self._uuids:
                self._loose.append(LooseEnd(kinds.SAME_UUID, RecordPlace(line, offset), uuid))
            self._uuids.add(uuid)
        elif record.type in _SAID and record.session_id:
            self._loose.append(LooseEnd(kinds.NO_UUID, RecordPlace(line, offset), record.type or ""))
        if parent and parent not in self._uuids:
            self._parents.append((parent, RecordPlace(line, offset)))
        content = record.message.content if record.message is not None else None
        if type(content) is list:
            for block in content:
                self._add_block(block, uuid, line, offset)
        elif record.type == _RESULT:
            self._pairing.add_result(RecordPlace(line, offset), record.call, source=parent)

    def _add_block(self, block: CheckedBlock, uuid: str | None, line: int, offset: int) -> None:
        if call := block.tool_use_id:
            place = RecordPlace(line, offset)
            if self._pairing.add_result(place, call) is None:
                self._results.append((call, place))
        elif (call := block.id) and block.type in _CALLS and self._pairing.call_with(call) is None:
            self._pairing.add_call((call, block.type or _CALL, RecordPlace(line, offset)), call, "", uuid)

    def loose_ends(self) -> Iterator[LooseEnd]:
        """Everything that does not fit, in the end."""
        yield from self._loose
        for uuid, place in self._parents:
            if uuid not in self._uuids:
                yield LooseEnd(kinds.NO_PARENT, place, uuid)
        for call, place in self._results:
            if self._pairing.call_with(call) is None:
                yield LooseEnd(kinds.NO_CALL, place, call)
        for call, kind, place in self._pairing.unanswered():
            if kind == _CALL:
                yield LooseEnd(kinds.NO_RESULT, place, call)


_BUFFER: Final = 1 << 18
_PERSISTED: Final = b"<persisted-output>"


class CheckJob(NamedTuple):
    """A file to inspect."""

    path: str
    size: int


class NeededFile(NamedTuple):
    """Something outside of the file that a record of it names."""

    name: str
    place: RecordPlace


class Inspection(NamedTuple):
    """What a look at a file found."""

    path: str
    findings: tuple[Finding, ...] = ()
    tail: Finding | None = None
    """A last line that is cut short, and may still be written."""
    session_id: str | None = None
    """The session that the first record names."""
    cwds: tuple[NeededFile, ...] = ()
    """The working directories, each where it first occurs."""
    outputs: tuple[NeededFile, ...] = ()
    """The outputs of tools that were too large for the file."""
    trouble: str | None = None
    """Why the file could not be read to its end."""
    bytes_read: int = 0
    records: int = 0

    @property
    def is_empty(self) -> bool:
        """True where there is nothing but blank lines."""
        return not (self.records or self.findings or self.tail or self.trouble)


def inspect_file(job: CheckJob) -> Inspection:
    """Look at a file. Nothing is raised: where it cannot be read, `trouble` says why."""
    inspector = _Inspector(job.path)
    trouble = None
    try:
        with open(job.path, "rb", buffering=_BUFFER, opener=regular_opener) as file:
            inspector.read(file)
    except OSError as error:
        trouble = error.strerror or str(error)
    return inspector.report(trouble)


class _Inspector:
    def __init__(self, path: str) -> None:
        self._path = path
        self._findings: list[Finding] = []
        self._tail: Finding | None = None
        self._threads = ReferenceChecker()
        self._session_id: str | None = None
        self._cwds: dict[str, RecordPlace] = {}
        self._outputs: list[NeededFile] = []
        self._records = 0
        self._line = self._offset = 0
        """The number of the last line, and where the next one begins."""

    def read(self, file: BinaryIO) -> None:
        """All lines, some at a time, so that memory does not depend on their number."""
        for lines in read_batches(file):
            if (records := check_whole_lines(lines)) is None:
                for line in lines:
                    self._take_closely(line)
            else:
                for record, line in zip(records, lines, strict=True):
                    self._line += 1
                    self._take(record)
                    self._take_outputs((record,), line)
                    self._offset += len(line)

    def _take(self, record: CheckedRecord) -> None:
        self._records += 1
        self._threads.add(record, self._line, self._offset)
        if (cwd := record.cwd) is not None and cwd not in self._cwds:
            self._cwds[cwd] = RecordPlace(self._line, self._offset)
        if self._session_id is None:
            self._session_id = record.session_id

    def _take_outputs(self, records: Sequence[CheckedRecord], line: bytes) -> None:
        """The outputs that a line refers to, with all of its records: it may have many."""
        if any(record.type == "user" for record in records) and _PERSISTED in line:
            self._outputs += (NeededFile(name, RecordPlace(self._line, self._offset)) for name in _persisted(line))

    def _take_closely(self, line: bytes) -> None:
        self._line += 1
        seen = check_line(line)
        for record in seen.records:
            self._take(record)
        self._take_outputs(seen.records, line)
        for kind, at, detail in seen.flaws:
            finding = Finding(kind, self._path, self._line, self._offset + at, detail)
            if kind is kinds.CUT and not line.endswith(b"\n"):
                self._tail = finding
            else:
                self._findings.append(finding)
        self._offset += len(line)

    def report(self, trouble: str | None) -> Inspection:
        """All that was found, in the order of the file."""
        loose = self._threads.loose_ends()
        found = self._findings + [Finding(kind, self._path, *place, detail) for kind, place, detail in loose]
        return Inspection(
            self._path,
            tuple(sorted(found, key=lambda finding: finding.offset or 0)),
            self._tail,
            self._session_id,
            tuple(NeededFile(cwd, place) for cwd, place in self._cwds.items()),
            tuple(self._outputs),
            trouble,
            self._offset,
            self._records,
        )


def _persisted(line: bytes) -> list[str]:
    """The names of the outputs that the results on a line refer to."""
    events = (event for event in decode_lines((line,), 0, 0) if isinstance(event, User))
    contents = (event.message.content for event in events if event.message is not None)
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    results = (result_text(block, None)[0] for block in blocks if isinstance(block, ToolResult))
    return [name for text in results if (name := persisted_name(text)) is not None]
