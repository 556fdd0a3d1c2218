"""Which files other processes have open, and which they hold locks on: where the system has a `/proc` that tells."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Container, Iterator
from typing import Final, NamedTuple

PROC: Final = "/proc"
_ACCESS: Final = 0o3
"""The bits of a handle's flags that say whether it is for reading or for writing."""

_NO_FILES: Final = frozenset(("/dev", "/dev/pts"))
"""Where terminals and the like are, of which every process has some open."""

FileKey = tuple[int, int]
"""The device and the inode of a file: the same whatever name it was opened by."""


class Process(NamedTuple):
    """A process, by its number and its short name."""

    pid: int
    name: str | None


Handle = tuple[Process, bool]
"""A process that has a file open, and whether it may write to it."""


class OpenFiles:
    """The files that other processes have open, by one look at all processes."""

    def __init__(self, proc: str = PROC) -> None:
        self.is_told = os.path.isdir(os.path.join(proc, "self", "fd"))
        """False where the system does not tell."""
        self.hidden = 0
        """How many processes may not be looked into."""
        self._proc = proc
        self._by_name: dict[str, list[tuple[int, str]]] = {}
        for pid in _pids(proc) if self.is_told else ():
            self._note(pid)

    @property
    def names(self) -> Container[str]:
        """The names of all files that somebody has open, here or elsewhere."""
        return self._by_name

    def handles(self, name: str, key: FileKey) -> list[Handle]:
        """Who has a file of this name open.

        Only these are looked at more closely, because a look at a file of a server that is gone takes for ever.
        """
        found: list[Handle] = []
        for pid, number in self._by_name.get(name, ()):
            with contextlib.suppress(OSError):  # it has been closed meanwhile
                status = os.stat(os.path.join(self._proc, str(pid), "fd", number))
                if (status.st_dev, status.st_ino) == key:
                    found.append((_process(self._proc, pid), _writes(self._proc, pid, number)))
        return found

    def _note(self, pid: int) -> None:
        folder = os.path.join(self._proc, str(pid), "fd")
        try:
            numbers = os.listdir(folder)
        except PermissionError:
            self.hidden += 1
            return
        except OSError:  # it has ended meanwhile
            return
        for number in numbers:
            try:
                head, slash, name = os.readlink(f"{folder}/{number}").rpartition("/")
            except OSError:
                continue
            if slash and head not in _NO_FILES:
                self._by_name.setdefault(name, []).append((pid, number))


def lock_holders(proc: str = PROC) -> dict[FileKey, Process | None] | None:
    """Who holds exclusive locks on files, as far as that is told; `None` where the system does not tell of locks."""
    try:
        with open(os.path.join(proc, "locks"), encoding="utf-8", errors="replace") as file:
            told = [line.split() for line in file]
    except OSError:
        return None
    holders: dict[FileKey, Process | None] = {}
    for words in told:
        if len(words) >= 6 and words[1] != "->" and words[3] == "WRITE":
            with contextlib.suppress(ValueError, OverflowError):  # a file that is known to no file system is `<none>:0`
                pid = int(words[4])
                holders[_file(words[5])] = _process(proc, pid) if pid > 0 else None  # -1: the lock is no process's
    return holders


def _file(word: str) -> FileKey:
    """The file of a line like `1: FLOCK ADVISORY WRITE 1426 fe:00:2148892 0 EOF`. Raises `ValueError`."""
    major, minor, inode = word.split(":")
    return os.makedev(int(major, 16), int(minor, 16)), int(inode)


def _pids(proc: str) -> Iterator[int]:
    own = os.getpid()
    yield from (int(name) for name in os.listdir(proc) if name.isascii() and name.isdigit() and int(name) != own)


def _process(proc: str, pid: int) -> Process:
    try:
        with open(os.path.join(proc, str(pid), "comm"), encoding="utf-8", errors="replace") as file:
            return Process(pid, file.read().strip() or None)
    except OSError:
        return Process(pid, None)


def _writes(proc: str, pid: int, number: str) -> bool:
    """True where a handle is for writing; where that is not told, it is taken for one."""
    try:
        with open(os.path.join(proc, str(pid), "fdinfo", number), encoding="utf-8", errors="replace") as file:
            flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
    except (OSError, ValueError, StopIteration, IndexError):
        return True
    return flags & _ACCESS != os.O_RDONLY
