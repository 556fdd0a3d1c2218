"""Where the bytes of a session come from, at any place of them: a file, which may grow, or lines that are in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Protocol

from claude_session_player.errors import CannotRead
from claude_session_player.parser import open_session


class Tape(Protocol):
    """Bytes that can be read at any place."""

    def read(self, offset: int, size: int) -> bytes:
        """At most so many bytes from this place on; none where there are no more."""
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

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def status(self) -> os.stat_result:
        """What the system says of the file that is open here, whatever became of its name."""
        return os.fstat(self._file.fileno())


class MemoryTape:
    """The lines of a session that can be read only once: standard input, or a sub-agent inside of its parent's file."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._data = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines)

    def read(self, offset: int, size: int) -> bytes:
        """At most so many bytes from this place on; none where there are no more."""
        return self._data[offset : offset + size]

    def close(self) -> None:
        """There is nothing to let go of."""
