"""Where the bytes of a session come from, at any place of them: a file, which may grow, or lines that are in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Protocol

from claude_session_player.errors import CannotRead
from claude_session_player.line_reader import LongLine, after_hole
from claude_session_player.parser import open_session


class Tape(Protocol):
    """Bytes that can be read at any place."""

    def read(self, offset: int, size: int) -> bytes:
        """At most so many bytes from this place on; none where there are no more."""
        ...

    def after_hole(self, offset: int) -> int:
        """The next place that is not in a hole of a sparse file: this one, as a rule."""
        ...

    def as_read(self, lines: list[bytes], offset: int) -> list[bytes]:
        """The lines from a place on, as their source gave them: some may stand for longer ones."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class FileTape:
    """A session file. It is kept open, so that it can be read to its end also when somebody deletes it."""

    def __init__(self, path: str) -> None:
        """Raises `CannotRead`."""
        self.path = path
        self._file = open_session(path, buffering=0)  # what is in a buffer may be in the file no more

    def read(self, offset: int, size: int) -> bytes:
        """At most so many bytes from this place on; none where there are no more."""
        try:
            self._file.seek(offset)
            return self._file.read(size)
        except OSError as error:
            raise CannotRead(f"{self.path}: {error.strerror or error}") from error

    def after_hole(self, offset: int) -> int:
        """The next place that is not in a hole of a sparse file: this one, as a rule."""
        return after_hole(self._file.fileno(), offset)

    def as_read(self, lines: list[bytes], offset: int) -> list[bytes]:
        """A file holds its lines as they are."""
        return lines

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def status(self) -> os.stat_result:
        """What the system says of the file that is open here, whatever became of its name."""
        return os.fstat(self._file.fileno())


class MemoryTape:
    """The lines of a session that can be read only once: standard input, or a sub-agent inside of its parent's file."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._long: dict[int, LongLine] = {}
        """Stand-ins for lines that were too long to be kept, by their places in the data."""
        self._data = b"".join(self._kept(lines))

    def read(self, offset: int, size: int) -> bytes:
        """At most so many bytes from this place on; none where there are no more."""
        return self._data[offset : offset + size]

    def after_hole(self, offset: int) -> int:
        """Memory has no holes."""
        return offset

    def as_read(self, lines: list[bytes], offset: int) -> list[bytes]:
        """The lines from a place on, as their source gave them: some may stand for longer ones."""
        if not self._long:
            return lines
        starts = accumulate(map(len, lines), initial=offset)
        return [self._long.get(start, line) for start, line in zip(starts, lines, strict=False)]

    def _kept(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The bytes of each line, with a line end."""
        place = 0
        for line in lines:
            if isinstance(line, LongLine):
                self._long[place] = line
            kept = bytes(line) if line.endswith(b"\n") else bytes(line) + b"\n"
            place += len(kept)
            yield kept

    def close(self) -> None:
        """There is nothing to let go of."""
