"""Writes redacted copies of session files, and of what lies beside them.

All files are read twice: first everything is learned that must not be said, then everything is copied with masks. A
copy has the same lines as its original, each as readable or as damaged as it was.
"""

from __future__ import annotations

import os
import re
import zlib
from array import array
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

import msgspec

from claude_session_player.errors import CannotRead, SessionError
from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import DECODE_ERRORS
from claude_session_player.format.line_reader import LongLine, read_batches
from claude_session_player.parser import open_session, salvage_line
from claude_session_player.redact.line_sieve import DECODED, NAMED, PLAIN
from claude_session_player.redact.report import Place
from claude_session_player.redact.session_texts import text_portions
from claude_session_player.redact.streams import StreamCut, Streams, cut_texts
from claude_session_player.store import SESSION_SUFFIX
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from claude_session_player.redact.redactor import Redactor

_DAMAGE: Final = re.compile("[\udc80-\udcff\x00-\x08\x0e-\x1f]")
"""Bytes that no JSON has: those that are not UTF-8, and control characters."""
FILE_MARK: Final = b"[file removed]\n"
"""In place of a file that is not text."""
_FILLER: Final = b"x" * (1 << 20)
_RAW_IMAGE: Final = re.compile(rb'("(?:data|base64)"\s*:\s*")[A-Za-z0-9+/=\\]{64,}')

_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode


class SourceFile(NamedTuple):
    """A file that is copied: where it is, and what reports call it."""

    path: str
    session: str
    name: str = ""
    """Its name in reports; empty for the session's own file."""

    @property
    def is_session(self) -> bool:
        """True for JSON lines."""
        return self.path.endswith(SESSION_SUFFIX) or not self.name


class CopyOutcome(NamedTuple):
    """What became of the files."""

    unread: list[str]
    """Lines and files that could not be read, and are not in the copy."""


def copy_redacted(
    files: Sequence[SourceFile],
    redactor: Redactor,
    target_of: Callable[[SourceFile], str],
    progress: Callable[[int], None] | None = None,
) -> CopyOutcome:
    """Write redacted copies of some files that belong together, to where `target_of` says once everything is learned.

    Raises `OSError` and `CannotRead` for the session's own file; others that cannot be read are left out.
    """
    unread: list[str] = []
    learned: dict[SourceFile, LearnedFile] = {}
    for file in files:
        try:
            learned[file] = learn_file(file, redactor, progress)
        except (OSError, SessionError) as error:
            unread.append(_named_problem(file, error))
    for file, known in learned.items():
        path = target_of(file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as target:
            try:
                _copy_file(file, known, redactor, target, unread, progress)
                status = os.stat(file.path)
            except SessionError as error:
                unread.append(_named_problem(file, error))
                os.unlink(path)
                continue
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return CopyOutcome(unread)


def _named_problem(file: SourceFile, error: OSError | SessionError) -> str:
    """A file that could not be read, and why; raises the error again for the session's own."""
    if not file.name:
        raise error
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return f"{display_path(file.name)} ({reason.removeprefix(f'{file.path}: ')})"


# --- learning -----------------------------------------------------------------------------------------


class LearnedFile(NamedTuple):
    """How much of a file was read, and what its lines need."""

    size: int = 0
    lines: bytes | bytearray = b""
    """What each line needs; see `line_sieve`."""
    checksums: Sequence[int] = ()
    """Of each batch of lines."""
    cuts: Mapping[int, Sequence[StreamCut]] = MappingProxyType({})
    """Parts of secrets that are spread over several lines, by the numbers of lines."""


def learn_file(file: SourceFile, redactor: Redactor, progress: Callable[[int], None] | None = None) -> LearnedFile:
    """Learn what a file says. Raises `OSError`."""
    if not file.is_session:
        for text in _texts(file.path):
            if text is not None:
                _learn_text(text, redactor, file.path)
        return LearnedFile()
    kinds, checksums = bytearray(), array("I")
    size, homes, sieve = 0, redactor.homes, redactor.sieve()
    streams = Streams(redactor)
    with open_session(file.path) as source:
        end = os.fstat(source.fileno()).st_size
        for lines in read_batches(source):
            kinds_here = sieve.kinds(lines)
            for at, line in enumerate(lines):
                number = len(kinds) + at + 1
                if isinstance(line, LongLine):
                    kinds_here[at] = DECODED
                elif streams.goes_on(line, number) or kinds_here[at] >= NAMED:
                    kinds_here[at] = _learn_line(line, number, kinds_here[at], redactor, streams)
                    if redactor.homes != homes:  # most lines need no more than these
                        homes, sieve = redactor.homes, redactor.sieve()
                        kinds_here[at + 1 :] = sieve.kinds(lines[at + 1 :])
            kinds += kinds_here
            checksums.append(_checksum(lines))
            read = sum(map(len, lines))
            size += read
            if progress is not None:
                progress(read)
            if size >= end:  # what is added now would be in batches of its own
                break
    streams.finish()
    return LearnedFile(size, kinds, checksums, streams.cuts)


def _checksum(lines: Sequence[bytes], size: int | None = None) -> int:
    """What tells whether lines, or their first bytes, are those that were read before; long ones are not looked at."""
    checksum = 0
    for line in lines:
        if size is not None:
            line = line if len(line) <= size or isinstance(line, LongLine) else line[:size]
            size = max(size - len(line), 0)
        if not isinstance(line, LongLine):
            checksum = zlib.crc32(line, checksum)
    return checksum


def _learn_line(line: bytes, number: int, kind: int, redactor: Redactor, streams: Streams) -> int:
    """Learn what a line says, and return what it needs: less than was thought if rules find nothing in it."""
    try:
        record = _decode(line)
    except DECODE_ERRORS:
        if line.strip():
            redactor.learn(_as_text(line))
            for piece in salvage_line(line):
                if isinstance(piece.value, dict):
                    redactor.learn_record(piece.value)
        return DECODED
    if kind >= NAMED and not redactor.learn_record(record, has_secrets=kind == DECODED):
        kind = NAMED
    streams.add(record, number)
    return kind


def _learn_text(text: str, redactor: Redactor, path: str) -> None:
    redactor.learn(text)
    if path.endswith(".json"):
        try:
            redactor.learn_record(_decode(text))
        except DECODE_ERRORS:
            return


# --- copying ------------------------------------------------------------------------------------------


def _copy_file(
    file: SourceFile,
    known: LearnedFile,
    redactor: Redactor,
    target: BinaryIO,
    unread: list[str],
    progress: Callable[[int], None] | None,
) -> None:
    """Copy a file as far as it was learned: a session may grow meanwhile. Raises `CannotRead` if it was rewritten."""
    if not file.is_session:
        for text in _texts(file.path):
            if text is None:
                redactor.report.add_images(1, Place(file.session, file=file.name), FILE_MARK.decode().strip())
                target.write(FILE_MARK)
            else:
                target.write(_redacted_text(text, redactor, file))
        return
    number, left, is_fast = 0, known.size, not redactor.reports_places
    sieve = redactor.sieve_of_learned()
    with open_session(file.path) as source:
        for lines, checksum in zip(read_batches(source), known.checksums, strict=False):
            if _checksum(lines, left) != checksum:
                break
            kinds = sieve.kinds(lines) if is_fast else b""
            for at, line in enumerate(lines):
                if left <= 0:
                    return
                number += 1
                line = line if len(line) <= left else line[:left]
                left -= len(line)
                if isinstance(line, LongLine):
                    unread.append(f"line {number}{f' of {display_path(file.name)}' if file.name else ''} (too long)")
                    _write_filler(target, line)
                else:
                    place = Place(file.session, number, "", file.name)
                    kind, cuts = known.lines[number - 1], known.cuts.get(number, ())
                    if kind >= NAMED or not is_fast or kinds[at] >= NAMED or cuts:
                        target.write(redacted_line(line, redactor, place, has_secrets=kind == DECODED, cuts=cuts))
                    else:
                        target.write(line if kind == PLAIN else redactor.mask_homes(line))
            if progress is not None:
                progress(sum(map(len, lines)))
    if left > 0:
        raise CannotRead(f"{file.path}: it was rewritten while it was read: try again")


def redacted_line(
    line: bytes, redactor: Redactor, place: Place, *, has_secrets: bool = True, cuts: Sequence[StreamCut] = ()
) -> bytes:
    """A line with masks: a record like the one that it was, or as damaged as it was.

    `cuts` are parts of secrets in it that are spread over several lines.
    """
    body = line.rstrip(b" \t\r\n")
    if not body:
        return line
    end = line[len(body) :]
    try:
        record = _decode(body)
    except DECODE_ERRORS:
        return _redacted_damage(body, redactor, place) + end
    if cuts:
        cut_texts(record, cuts, redactor, place)
    return _encoded(redactor.record(record, place, has_secrets=has_secrets)) + end


def _encoded(record: Any) -> bytes:
    try:
        return _encode(record)
    except (ValueError, TypeError, RecursionError):
        return lenient_json.dump(record)


def _redacted_damage(body: bytes, redactor: Redactor, place: Place) -> bytes:
    """A line that is not exactly one value: whole records in it as records, everything else as text."""
    pieces: list[bytes] = []
    at = 0
    for piece in salvage_line(body):
        data = body[piece.start : piece.end]
        if not isinstance(piece.value, dict):
            continue
        try:
            record = _decode(data)
        except DECODE_ERRORS:
            continue
        pieces += (_redacted_raw(body[at : piece.start], redactor, place), _encoded(redactor.record(record, place)))
        at = piece.end
    return b"".join((*pieces, _redacted_raw(body[at:], redactor, place)))


def _redacted_raw(data: bytes, redactor: Redactor, place: Place) -> bytes:
    """JSON that is damaged, as text."""
    if not data:
        return data
    data = _RAW_IMAGE.sub(rb"\1", data)
    text = _as_text(data)
    masked = redactor.masked(text, place=place)
    return _as_damaged(text, masked).encode("utf-8", "surrogateescape")


def _as_damaged(text: str, masked: str) -> str:
    """A masked text with the damage that stood in what was masked: the line is as unreadable as it was."""
    if masked == text or _DAMAGE.search(masked) or (damage := _DAMAGE.search(text)) is None:
        return masked
    pairs = enumerate(zip(text, masked, strict=False))
    at = next((number for number, (one, other) in pairs if one != other), min(len(text), len(masked)))
    return masked[:at] + (damage[0] if damage[0] > "\x1f" else "\x01") + masked[at:]


def _as_text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _write_filler(target: BinaryIO, line: LongLine) -> None:
    """A line of the same length that says nothing: it is as unreadable as the original."""
    left = len(line) - line.endswith(b"\n")
    while left > 0:
        left -= target.write(_FILLER[:left])
    if line.endswith(b"\n"):
        target.write(b"\n")


def _redacted_text(text: str, redactor: Redactor, file: SourceFile) -> bytes:
    """A text file, or a JSON file, with masks."""
    place = Place(file.session, file=file.name)
    if file.path.endswith(".json"):
        try:
            return _encoded(redactor.record(_decode(text), place)) + b"\n"
        except DECODE_ERRORS:
            pass
    return redactor.masked(text, place=place).encode("utf-8", "surrogateescape")


def _texts(path: str) -> Iterator[str | None]:
    """The text of a file, a large one in several portions of whole lines; `None` for what is not text."""
    for number, data in enumerate(text_portions(path)):
        if b"\0" in data:
            yield None
            return
        try:
            yield data.decode("utf-8")
        except UnicodeDecodeError:
            if not number and sum(byte > 127 for byte in data[:4096]) > 1024:
                yield None
                return
            yield data.decode("utf-8", "surrogateescape")
