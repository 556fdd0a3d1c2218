"""The beginning and the end of a file, and then what is appended to it: whole lines only."""

from __future__ import annotations

import os
from typing import BinaryIO, Final

from claude_session_player.line_reader import LongLine, as_held, is_too_long, split_lines
from claude_session_player.parser import is_whole_record, is_worth_decoding
from claude_session_player.regular_file import only_regular

HEAD: Final = 1 << 16
"""Bytes that are read of the beginning of a long file."""
END: Final = 1 << 18
"""Bytes that are read of its end, to begin with; more, where they hold no whole line."""


_BLANKS: Final = 80
"""Among so many of the last bytes, the end of a record is looked for."""


class Tail:
    """Reads a file as it grows; it is open only meanwhile. One that was cut off or replaced is begun anew."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.written: float | None = None
        """When the file was last written to, in seconds since 1970; `None` where it is gone."""
        self.is_new = False
        """True where the lines that were read last are those of a file that is begun, or begun anew."""
        self.has_gap = False
        """True where the middle of a long file was left out."""
        self.count = 0
        """How many bytes were read so far."""
        self._known = 0
        """Bytes of the file that were read, or left out."""
        self._inode: int | None = None
        self._rest = bytearray()
        """The beginning of a line that has no end yet."""
        self._passed = 0
        """How much there is of such a line, where that is too long to be held."""
        self._tried = 0
        """How much there was of it when it was last taken for a whole record, and was none."""

    def lines(self) -> list[bytes]:
        """The lines that are new, as far as they are whole; none where the file is gone. Raises `OSError`."""
        try:
            with open(self.path, "rb", buffering=0, opener=only_regular) as file:
                status = os.fstat(file.fileno())
                self.written = status.st_mtime
                self.is_new = status.st_ino != self._inode or not self._may_go_on(status.st_size)
                if self.is_new:
                    self._inode, self._rest, self._passed, self._tried = status.st_ino, bytearray(), 0, 0
                    return self._begin(file, status.st_size)
                return self._whole(self._read(file, self._known, status.st_size))
        except FileNotFoundError:
            self.written = None
            return []

    def _may_go_on(self, size: int) -> bool:
        """True where a file was not cut off, and no more was appended than can be held."""
        return size >= self._known and not is_too_long(size - self._known)

    def _begin(self, file: BinaryIO, size: int) -> list[bytes]:
        """The beginning and the end of a long file; all of a short one."""
        self.has_gap = False
        if size <= HEAD + END:
            return self._whole(self._read(file, 0, size))
        head = self._read(file, 0, HEAD)
        start = size - END
        while start > HEAD and not is_too_long(size - start):
            end = self._read(file, start, size)
            cut = end.find(b"\n") + 1
            if end.rfind(b"\n") >= cut:
                self.has_gap = True
                return [*_lines(head), *self._whole(end[cut:])]
            start -= 3 * (size - start)
        if is_too_long(size - HEAD):  # the last line is, and nobody knows where it begins
            self.has_gap, self._known, self._passed = True, size, size - HEAD
            return _lines(head)
        return self._whole(head + self._read(file, HEAD, size))

    def _read(self, file: BinaryIO, start: int, end: int) -> bytes:
        file.seek(start)
        data = file.read(end - start)
        self._known = start + len(data)
        self.count += len(data)
        return data

    def _whole(self, data: bytes) -> list[bytes]:
        """The whole lines; what is behind them waits, unless it is a whole record already."""
        end = data.rfind(b"\n") + 1
        lines = self._ended(data[:end]) if end else []
        if self._passed:
            self._passed += len(data)
            return []
        self._rest += memoryview(data)[end:]
        if is_too_long(len(self._rest)):
            self._rest, self._passed = bytearray(), len(self._rest)
        elif data[-_BLANKS:].rstrip().endswith(b"}") and is_worth_decoding(len(self._rest), self._tried):
            self._tried = len(self._rest)
            if is_whole_record(rest := as_held(bytes(self._rest))):
                lines.append(rest)
                self._rest, self._tried = bytearray(), 0
        return lines

    def _ended(self, data: bytes) -> list[bytes]:
        """Whole lines: the first is the end of what has waited."""
        first, *others = split_lines(data)
        size = self._passed + len(self._rest) + len(first)
        if is_too_long(size - 1) or isinstance(first, LongLine):
            first = LongLine(size, is_complete=True)
        elif self._rest:
            first = as_held(bytes(self._rest) + first)
        self._rest, self._passed, self._tried = bytearray(), 0, 0
        return [first, *others]


def _lines(data: bytes) -> list[bytes]:
    return split_lines(data[: data.rfind(b"\n") + 1])
