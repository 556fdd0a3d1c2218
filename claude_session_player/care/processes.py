"""Which files other processes have open, and which they hold locks on: where the system has a `/proc` that tells."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

PROC: Final = "/proc"
_ACCESS: Final = 0o3
"""The bits of a handle's flags that say whether it is for reading or for writing."""

FileKey = tuple[int, int]
"""The device and the inode of a file: the same whatever name it was opened by."""


class Process(NamedTuple):
    """A process, by its number and its short name."""

    pid: int
    name: str | None


class Handle(NamedTuple):
    """A file that a process has open."""

    process: Process
    writing: bool


class Handles(NamedTuple):
    """The files that other processes have open."""

    by_file: dict[FileKey, list[Handle]]
    hidden: int
    """How many processes may not be looked into."""


def open_handles(paths: Iterable[str], proc: str = PROC) -> Handles | None:
    """Who has one of these files open, this process left out; `None` where the system does not tell."""
    if not os.path.isdir(os.path.join(proc, "self", "fd")):
        return None
    names = {os.path.basename(path) for path in paths}
    found: dict[FileKey, list[Handle]] = {}
    hidden = 0
    for pid in _pids(proc):
        folder = os.path.join(proc, str(pid), "fd")
        try:
            numbers = os.listdir(folder)
        except PermissionError:
            hidden += 1
            continue
        except OSError:  # it has ended meanwhile
            continue
        for number in numbers:
            if key := _file_behind(os.path.join(folder, number), names):
                found.setdefault(key, []).append(Handle(_process(proc, pid), _writes(proc, pid, number)))
    return Handles(found, hidden)


def lock_holders(proc: str = PROC) -> dict[FileKey, Process | None] | None:
    """Who holds exclusive locks on files, as far as that is told; `None` where the system does not tell of locks."""
    try:
        with open(os.path.join(proc, "locks"), encoding="ascii", errors="replace") as file:
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


def _file_behind(link: str, names: set[str]) -> FileKey | None:
    """The file that a handle leads to, where its name is one of those that are asked for.

    Only these are looked at more closely, because a look at a file of a server that is gone takes for ever.
    """
    try:
        if os.path.basename(os.readlink(link)) not in names:
            return None
        status = os.stat(link)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _process(proc: str, pid: int) -> Process:
    try:
        with open(os.path.join(proc, str(pid), "comm"), encoding="utf-8", errors="replace") as file:
            return Process(pid, file.read().strip() or None)
    except OSError:
        return Process(pid, None)


def _writes(proc: str, pid: int, number: str) -> bool:
    """True where a handle is for writing; where that is not told, it is taken for one."""
    try:
        with open(os.path.join(proc, str(pid), "fdinfo", number), encoding="ascii", errors="replace") as file:
            flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
    except (OSError, ValueError, StopIteration, IndexError):
        return True
    return flags & _ACCESS != os.O_RDONLY
