"""The lines of a session file, looked at for their integrity: whole records in one step, the others closely."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, Union

import msgspec
from msgspec import Struct, field

from claude_session_player.care import findings as kinds
from claude_session_player.care.findings import Kind
from claude_session_player.events import REFUSALS
from claude_session_player.humanize import size
from claude_session_player.line_reader import LongLine
from claude_session_player.parser import Piece, salvage
from claude_session_player.rawjson import CUT_SHORT, Damage
from claude_session_player.times import parse_time

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


class Checked(Struct, gc=False, rename="camel"):
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


class Flaw(NamedTuple):
    """What is wrong with a line, and at which of its bytes."""

    kind: Kind
    at: int
    detail: str = ""


class Line(NamedTuple):
    """A line that is not simply one whole record."""

    records: list[Checked]
    flaws: list[Flaw]


_look: Final = msgspec.json.Decoder(Checked).decode


def look_at_all(lines: Sequence[bytes]) -> list[Checked] | None:
    """The record of each line, where every line is exactly one; else `None`."""
    try:
        records = list(map(_look, lines))
        for line in lines:
            if not line.isascii():
                line.decode()
    except REFUSALS:
        return None
    return records


_BLANK: Final = Line([], [])


def look_closely(line: bytes) -> Line:
    """What is on a line, be it one record, several or none."""
    if line.isspace():  # there may be millions of them
        return _BLANK
    if (records := look_at_all((line,))) is not None:
        return Line(records, [])
    if isinstance(line, LongLine):
        return Line([], [Flaw(kinds.LONG_LINE, 0, size(len(line)))])
    pieces = list(salvage(line))
    flaws = [*_flaws_of_bytes(line), *_flaws_of_pieces(line, pieces)]
    objects = [piece for piece in pieces if isinstance(piece.value, dict)]
    flaws += [Flaw(kinds.NO_TIME, piece.start, _told(piece.value)) for piece in objects if not _has_time(piece.value)]
    return Line([_bent(piece.value) for piece in objects], flaws)


def _flaws_of_bytes(line: bytes) -> Iterator[Flaw]:
    if line.startswith(_BOM):
        yield Flaw(kinds.BOM, 0)
    if count := line.count(b"\0"):
        yield Flaw(kinds.NULS, line.index(b"\0"), f"{count} of them" if count > 1 else "")


def _flaws_of_pieces(line: bytes, pieces: Sequence[Piece]) -> Iterator[Flaw]:
    """What is wrong with the pieces of a line; what its bytes explain already is not said twice."""
    objects = [piece for piece in pieces if isinstance(piece.value, dict)]
    damages = [piece for piece in pieces if isinstance(piece.value, Damage)]
    for piece in pieces:
        data, nul, _ = line[piece.start : piece.end].partition(b"\0")
        if (wrong := _first_wrong(data, isinstance(piece.value, Damage))) is not None:
            yield Flaw(kinds.ENCODING, piece.start + wrong, f"0x{data[wrong]:02X} is the first of them")
        elif piece in damages and not nul:
            yield _damage(data, piece, is_last=piece is pieces[-1])
    for piece in pieces if not damages else ():  # else they are a part of the damage
        if not isinstance(piece.value, dict):
            yield Flaw(kinds.NO_OBJECT, piece.start, f"but {_NAMES.get(type(piece.value), 'a number')}")
    for piece in objects:
        data = line[piece.start : piece.end]
        if b"\0" not in data and is_utf8(data) and not is_strict(data):
            yield Flaw(kinds.MALFORMED, piece.start, "only some readers understand it: a control character, or NaN")
    if len(objects) > 1:
        yield Flaw(kinds.GLUED, objects[1].start, f"{len(objects)} of them")


_NAMES: Final = {str: "a text", list: "a list", bool: "true or false", type(None): "null"}


def _damage(data: bytes, piece: Piece, is_last: bool) -> Flaw:
    """A stretch that is no JSON; where a whole record follows on the line, it was cut by that."""
    if not is_last:
        return Flaw(kinds.CUT, piece.start, "another record begins in the middle of it")
    is_cut = data.startswith(b"{") and piece.value.reason == CUT_SHORT
    return Flaw(kinds.CUT if is_cut else kinds.MALFORMED, piece.start, piece.value.reason)


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


def is_strict(data: bytes) -> bool:
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


def _bent(value: dict[str, Any]) -> Checked:
    """A record of an object that may hold anything anywhere."""
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    names = ("type", "uuid", "parentUuid", "sessionId", "cwd")
    type, uuid, parent, session, cwd = (_text(value.get(name)) for name in names)
    checked = [CheckedBlock(*(_text(block.get(name)) for name in ("type", "id", "tool_use_id"))) for block in blocks]
    return Checked(type, uuid, parent, None, session, cwd, CheckedMessage(checked))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
