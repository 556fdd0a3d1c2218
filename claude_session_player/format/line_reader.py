"""Reads the lines of a session file within bounds of memory; the one owner of these bounds.

A line that is too long is never held, and one whose decoded form would be too large is never decoded. A `LongLine`
takes its place. Every decoder refuses its bytes like damage, so that normal lines need no extra check; the code that
handles damage finds the length of the line in it.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LONGEST = 128 << 20
"""The longest line that is held, without its line end. Real sessions have lines of over 100 MB; Claude Code writes none
above 512 MB."""
HEAVIEST = 512 << 20
"""The most memory that a line may take when it is decoded and shown, approximately."""
_COPIES: Final = 4
"""How many copies of a text are in memory while it is shown."""
_WIDEST: Final = 4
"""Bytes per character of a text, if any of its characters is beyond Latin-1."""
_ROW: Final = 160
"""Bytes that each line of a text takes in a recording."""
_ITEM: Final = 640
"""Bytes that an item of a record takes at most: that of a content block."""
_STRING: Final = _ITEM // 8
"""Bytes that a string takes beside its characters."""
_MOST_FOR_A_BYTE: Final = _COPIES * _WIDEST + _ITEM // 2
"""The most memory per byte of a line: an item has at least two, itself and a comma. (Empty ones may have one.)"""
_TOKEN: Final = rb'(?s)"[^"\\]*(?:\\.[^"\\]*)*+"?|[{\[,]'
"""A string, or a character before an item. It is compiled when it is needed, which is almost never."""
_BATCH: Final = 1 << 18
_PORTION: Final = 1 << 20


class LongLine(bytes):
    """Takes the place of a line that is too long to hold, or too large to decode.

    Its length is that of the line; its bytes only mention that length.

    >>> line = LongLine(1 << 30, is_complete=True)
    >>> len(line), line.endswith(b"\\n"), bytes(line)
    (1073741824, True, b'(a line of 1073741824 bytes)\\n')
    """

    size: int

    def __new__(cls, size: int, *, is_complete: bool) -> LongLine:
        """`is_complete` is true if the line has its line end."""
        line = super().__new__(cls, b"(a line of %d bytes)" % size + b"\n" * is_complete)
        line.size = size
        return line

    def __len__(self) -> int:
        return self.size


def is_too_long(size: int) -> bool:
    """True for the length of a line that is not held, whatever it contains; its line end does not count."""
    return size > LONGEST


def bounded_line(line: bytes) -> bytes:
    """The line itself, or a `LongLine` if it is too long or too large."""
    is_complete = line.endswith(b"\n")
    size = len(line) - is_complete
    if is_too_long(size) or (_may_be_heavy(size) and _is_heavy(line, size)):
        return LongLine(len(line), is_complete=is_complete)
    return line


def bounded_lines(lines: list[bytes]) -> list[bytes]:
    """Lines, with a `LongLine` for each that is too long or too large."""
    longest = max(map(len, lines), default=0)
    return list(map(bounded_line, lines)) if is_too_long(longest - 1) or _may_be_heavy(longest) else lines


def bounded_read_size(size: int) -> int:
    """A number of bytes to read at once, limited so that they contain no line that is too long."""
    return min(size, LONGEST)


def read_batches(file: BinaryIO) -> Iterator[list[bytes]]:
    """The lines of a file in batches, which is faster than one by one; none of them is kept here."""
    size = _size(file)
    if size is None or is_too_long(size):
        return iter(partial(_next_batch, file), [])
    return map(bounded_lines, iter(partial(file.readlines, _BATCH), []))


def read_lines(file: BinaryIO | io.BufferedIOBase) -> Iterator[bytes]:
    """The lines of a file or a pipe, each as soon as it is complete."""
    return iter(partial(_read_line, file), b"")


def complete_line(start: bytes, file: BinaryIO) -> bytes:
    """A line whose start was read already; nothing is added if the start has a line end."""
    if not start or start.endswith(b"\n"):
        return start
    rest = file.readline(max(LONGEST + 1 - len(start), 1))
    is_complete = rest.endswith(b"\n")
    if is_too_long(len(start) + len(rest) - is_complete):
        return _pass_over(file, len(start) + len(rest), is_complete=is_complete)
    return bounded_line(start + rest)


def split_lines(data: bytes) -> list[bytes]:
    """Bytes as lines, each with its line feed; a `LongLine` for each that is too large."""
    lines = io.BytesIO(data).readlines()
    return bounded_lines(lines) if _may_be_heavy(len(data)) else lines


def find_line(file: BinaryIO, number: int) -> int:
    """Seek to the beginning of a line, counted from 1; returns by how many lines the file is too short."""
    missing = number - 1
    while missing and (data := file.read(_PORTION)):
        ends = data.count(b"\n")
        if ends >= missing:
            end = -1
            for _ in range(missing):
                end = data.find(b"\n", end + 1)
            file.seek(end + 1 - len(data), os.SEEK_CUR)
            missing = 0
        else:
            missing -= ends
            if not data.strip(b"\0"):
                _skip_hole(file)
    return missing


def rest_of_line(file: BinaryIO) -> Iterator[bytes]:
    """The bytes up to and including the next line end, in portions: memory use does not depend on their number."""
    while data := file.readline(_PORTION):
        yield data
        if data.endswith(b"\n"):
            return


def read_portions(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file in portions, without its holes, which would all be NUL."""
    while data := file.read(_PORTION):
        yield data
        if not data.strip(b"\0"):
            _skip_hole(file)


def copy_bytes(source: BinaryIO, start: int, size: int) -> Iterator[bytes]:
    """`size` bytes of a file from offset `start`, in portions; the position of the file does not change."""
    end = start + size
    while start < end and (data := _bytes_at(source, start, min(_PORTION, end - start))):
        yield data
        start += len(data)


def _bytes_at(source: BinaryIO, start: int, size: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(source.fileno(), size, start)
    here = source.tell()  # Windows has no call that leaves the place alone
    try:
        source.seek(start)
        return source.read(size)
    finally:
        source.seek(here)


def next_data_offset(descriptor: int, offset: int) -> int:
    """The next offset that is not in a hole of the file; the end of the file if only a hole follows."""
    if not hasattr(os, "SEEK_DATA"):
        return offset
    try:
        return max(os.lseek(descriptor, offset, os.SEEK_DATA), offset)
    except OSError as error:
        return max(os.fstat(descriptor).st_size, offset) if error.errno == errno.ENXIO else offset


def _size(file: BinaryIO) -> int | None:
    """The size of a file; `None` for a pipe."""
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _may_be_heavy(size: int) -> bool:
    return size * _MOST_FOR_A_BYTE > HEAVIEST


def _is_heavy(line: bytes, size: int) -> bool:
    """True if a line would take too much memory; its strings are measured one by one only if in doubt."""
    items = sum(map(line.count, (b"{", b"[", b",")))
    strings = (line.count(b'"') + 1) // 2
    estimate = _text_weight(line, size) + items * _ITEM + strings * _STRING
    return estimate > HEAVIEST and _is_heavy_in_detail(line)


def _is_heavy_in_detail(line: bytes) -> bool:
    weight = 0
    for token in re.finditer(_TOKEN, line):
        text = token[0]
        weight += _text_weight(text, len(text)) + _STRING if text.startswith(b'"') else _ITEM
        if weight > HEAVIEST:
            return True
    return False


def _text_weight(text: bytes, size: int) -> int:
    width = 1 if text.isascii() and b"\\u" not in text else _WIDEST
    return size * _COPIES * width + text.count(b"\\n") * _ROW


def _next_batch(file: BinaryIO) -> list[bytes]:
    lines: list[bytes] = []
    size = 0
    while size < _BATCH and (line := _read_line(file)):
        lines.append(line)
        size += len(line)
    return lines


def _read_line(file: BinaryIO | io.BufferedIOBase) -> bytes:
    line = file.readline(LONGEST + 1)
    if len(line) <= LONGEST or line.endswith(b"\n"):
        return bounded_line(line) if _may_be_heavy(len(line)) else line
    return _pass_over(file, len(line), is_complete=False)


def _pass_over(file: BinaryIO | io.BufferedIOBase, size: int, *, is_complete: bool) -> LongLine:
    """Read to the end of a line, and keep nothing of it."""
    while not is_complete and (part := file.readline(_PORTION)):
        size += len(part)
        is_complete = part.endswith(b"\n")
        if not is_complete and not part.strip(b"\0"):
            size += _skip_hole(file)
    return LongLine(size, is_complete=is_complete)


def _skip_hole(file: BinaryIO | io.BufferedIOBase) -> int:
    """Seek to the end of the hole at the file's position; returns its length."""
    if not (isinstance(file, io.BufferedReader) and file.seekable()):
        return 0
    start, descriptor = file.tell(), file.fileno()
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    end = next_data_offset(descriptor, start)
    os.lseek(descriptor, position, os.SEEK_SET)  # the buffer relies on the position where it left the file
    return file.seek(end) - start


class LineRangeReader:
    """Reads ranges of lines of a file. All of them together cost one pass over the file, and a seek for each.

    A range is the numbers of its first and its last line. The file is scanned again only if it has changed.
    """

    def __init__(self, path: str, ranges: Iterable[tuple[int, int]]) -> None:
        self._path = path
        self._firsts = sorted({first for first, _ in ranges})
        self._version: tuple[int, ...] = ()
        self._offsets: dict[int, int] = {}

    def lines(self, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
        """The lines of some of the ranges with their numbers, in the order of the file. Raises `OSError`."""
        from claude_session_player.util.fsutil import regular_opener

        with open(self._path, "rb", opener=regular_opener) as file:
            status = os.fstat(file.fileno())
            version = (status.st_ino, status.st_size, status.st_mtime_ns)
            if version != self._version:
                self._offsets = dict(_line_offsets(read_lines(file), self._firsts))
                self._version = version
            done = 0
            for first, last in sorted(ranges):
                if first in self._offsets:
                    file.seek(self._offsets[first])
                    for number, line in zip(range(first, last + 1), read_lines(file), strict=False):
                        if number > done:  # ranges may overlap
                            yield number, line
                    done = max(done, last)


def _line_offsets(lines: Iterable[bytes], numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The offset of each of these lines, as far as the file has them."""
    wanted = iter(numbers)
    next_number = next(wanted, None)
    offset = 0
    for number, line in enumerate(lines, 1):
        if number == next_number:
            yield number, offset
            next_number = next(wanted, None)
            if next_number is None:
                return
        offset += len(line)
