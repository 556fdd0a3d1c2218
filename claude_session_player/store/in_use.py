"""Whether a session is in use, and how that is known: the one rule that every command follows.

A session is in use if a process writes to it, or may write to it: an exclusive lock, a handle open for writing, or a
write in the last minute, on its file or on one of its sub-agents. A modification time in the future says nothing about
its age, so it counts as use as well. A reader does not. Nothing is changed, and nothing waits.
"""

from __future__ import annotations

import contextlib
import os
import stat
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.util.times import wall_clock

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from claude_session_player.store.layout import SessionFile

PROC: Final = "/proc"
_ACCESS: Final = 0o3
"""The bits of a handle's flags that say whether it is open for reading or for writing."""

_DEVICE_DIRS: Final = frozenset(("/dev", "/dev/pts"))
"""Directories of terminals and other devices; every process has some of them open."""

FileKey = tuple[int, int]
"""The device and the inode of a file: the same under any name."""


class Process(NamedTuple):
    """A process, by its id and short name."""

    pid: int
    name: str | None


Handle = tuple[Process, bool]
"""A process that has a file open, and whether it may write to it."""


class OpenFiles:
    """The files that other processes have open, found by one look at all processes."""

    def __init__(self, proc: str = PROC) -> None:
        self.is_supported = os.path.isdir(os.path.join(proc, "self", "fd"))
        """False if the system does not list open files."""
        self.hidden = 0
        """How many processes may not be inspected."""
        self._proc = proc
        self._by_name: dict[str, list[tuple[int, str]]] = {}
        for pid in _pids(proc) if self.is_supported else ():
            self._note(pid)

    @property
    def names(self) -> Container[str]:
        """The names of all files that any process has open, in any directory."""
        return self._by_name

    def handles(self, name: str, key: FileKey) -> list[Handle]:
        """The processes that have a file of this name open.

        Only files of this name are inspected, because inspecting a file of a server that is gone takes for ever.
        """
        found: list[Handle] = []
        for pid, number in self._by_name.get(name, ()):
            with contextlib.suppress(OSError):  # closed in the meantime
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
        except OSError:  # it has ended in the meantime
            return
        for number in numbers:
            try:
                head, slash, name = os.readlink(f"{folder}/{number}").rpartition("/")
            except OSError:
                continue
            if slash and head not in _DEVICE_DIRS:
                self._by_name.setdefault(name, []).append((pid, number))


def lock_holders(proc: str = PROC) -> dict[FileKey, Process | None] | None:
    """The holders of exclusive locks on files, if known; `None` if the system does not list locks."""
    try:
        with open(os.path.join(proc, "locks"), encoding="utf-8", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return None
    holders: dict[FileKey, Process | None] = {}
    for words in lines:
        if len(words) >= 6 and words[1] != "->" and words[3] == "WRITE":
            with contextlib.suppress(ValueError, OverflowError):  # a file without a file system is `<none>:0`
                pid = int(words[4])
                holders[_file(words[5])] = _process(proc, pid) if pid > 0 else None  # -1: no process holds it
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
    """True if a handle is open for writing, or if that is not known."""
    try:
        with open(os.path.join(proc, str(pid), "fdinfo", number), encoding="utf-8", errors="replace") as file:
            flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
    except (OSError, ValueError, StopIteration, IndexError):
        return True
    return flags & _ACCESS != os.O_RDONLY


HAS_LOCKS: Final[bool] = os.name == "posix"
if HAS_LOCKS:
    import fcntl
RECENT_SECONDS: Final = 60


class UseKind(StrEnum):
    """What is done with a file."""

    LOCKED = "locked"
    OPEN_FOR_WRITING = "open for writing"
    OPEN_FOR_READING = "open for reading"
    WRITTEN = "written"
    FUTURE = "modified in the future"


_RECENT: Final = RECENT_SECONDS * 1_000_000_000
_OPEN: Final[int] = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
"""Does not wait, even if a pipe has the name of a session."""


class UseEvidence(NamedTuple):
    """One piece of evidence of how a file is used."""

    how: UseKind
    path: str
    written_ns: int
    """The modification time of the file."""
    process: Process | None = None
    """The process that holds the lock or has the file open, if known."""

    @property
    def is_use(self) -> bool:
        """False for a reader."""
        return self.how != UseKind.OPEN_FOR_READING

    @property
    def words(self) -> str:
        """The evidence in a few words.

        >>> UseEvidence(UseKind.LOCKED, "/s/1f2e.jsonl", 0, Process(12, "claude")).words
        'locked by claude (pid 12)'
        >>> UseEvidence(UseKind.OPEN_FOR_READING, "/s/1f2e.jsonl", 0, Process(12, "tail")).words
        'only read by tail (pid 12)'
        """
        if self.how == UseKind.WRITTEN:
            return "written in the last minute"
        if self.how == UseKind.FUTURE:
            return "its modification time is in the future"
        how = "only read" if self.how == UseKind.OPEN_FOR_READING else self.how
        if self.process is None:
            return how
        name, pid = self.process.name, self.process.pid
        return f"{how} by {name} (pid {pid})" if name else f"{how} by pid {pid}"


class InUseMethods(NamedTuple):
    """The methods that were available; a write in the last minute can be seen on every system."""

    locks: bool
    """Locks can be probed."""
    holders: bool
    """The holders of locks are known."""
    handles: bool
    """Open files can be seen."""
    hidden: int = 0
    """How many processes may not be inspected."""


class InUse:
    """Reads the clock once, inspects all processes once when it is first asked, and then answers for any file.

    With `roots`, a write counts only in these stores: a copy that was just made elsewhere is not in use. This takes
    3 ms for 800 open files of 100 processes, and 5 µs for each session file.
    """

    def __init__(self, roots: Iterable[str] | None = None, *, now: float | None = None, proc: str = PROC) -> None:
        self._roots = None if roots is None else tuple(os.path.join(root, "") for root in roots)
        self._now = int((wall_clock() if now is None else now) * 1_000_000_000)
        self._proc = proc

    def __call__(self, file: SessionFile) -> bool:
        """True if a file is in use: the same answer as that of `uses`, but most files only have to be probed."""
        path, (_, written, _) = file.path, file.stamp
        if self._now - written <= _RECENT and self._is_recent(path, written):
            return True
        if path.rpartition(os.sep)[2] in self._open_files.names:
            return bool(self.uses([path]))
        return _probe_lock(path)  # its holder does not matter: reading the list of locks takes more than 10 ms

    def evidence(self, paths: Iterable[str]) -> list[UseEvidence]:
        """All that is known of how these files are used, readers included; what is not a file has no evidence."""
        return [one for path in paths for one in self._evidence(path)]

    def uses(self, paths: Iterable[str]) -> list[UseEvidence]:
        """The evidence that any of these files is in use."""
        return [one for one in self.evidence(paths) if one.is_use]

    def renew(self) -> InUse:
        """The same at this moment."""
        return InUse(self._roots, proc=self._proc)

    @property
    def methods(self) -> InUseMethods:
        """The methods that were available."""
        return InUseMethods(
            HAS_LOCKS, self._holders is not None, self._open_files.is_supported, self._open_files.hidden
        )

    @cached_property
    def _open_files(self) -> OpenFiles:
        return OpenFiles(self._proc)

    @cached_property
    def _holders(self) -> dict[tuple[int, int], Process | None] | None:
        return lock_holders(self._proc)

    def _evidence(self, path: str) -> Iterator[UseEvidence]:
        status, is_locked = _probe(path)
        if status is None:
            return
        key, written, holders = (status.st_dev, status.st_ino), status.st_mtime_ns, self._holders or {}
        if is_locked or key in holders:
            yield UseEvidence(UseKind.LOCKED, path, written, holders.get(key))
        for process, may_write in dict.fromkeys(self._open_files.handles(os.path.basename(path), key)):
            yield UseEvidence(
                UseKind.OPEN_FOR_WRITING if may_write else UseKind.OPEN_FOR_READING, path, written, process
            )
        if self._is_recent(path, written):
            is_ahead = written - self._now > _RECENT  # by less, it is the clock of a file server
            yield UseEvidence(UseKind.FUTURE if is_ahead else UseKind.WRITTEN, path, written)

    def _is_recent(self, path: str, written_ns: int) -> bool:
        """True for a write in the last minute that counts."""
        return self._now - written_ns <= _RECENT and (self._roots is None or path.startswith(self._roots))


def _probe(path: str) -> tuple[os.stat_result | None, bool]:
    """The status of a regular file, and whether another process is known to hold an exclusive lock on it."""
    try:
        number = os.open(path, _OPEN)
    except OSError as error:
        return _status(path), isinstance(error, BlockingIOError)  # a lease that has to be released first
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            return None, False
        return status, _is_locked(number)
    except OSError:
        return None, False
    finally:
        os.close(number)


def _probe_lock(path: str) -> bool:
    """True if another process is known to hold an exclusive lock on a file."""
    try:
        number = os.open(path, _OPEN)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    try:
        return _is_locked(number)
    finally:
        os.close(number)


def _status(path: str) -> os.stat_result | None:
    """The status of a regular file that may not be opened."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _is_locked(number: int) -> bool:
    """True if a shared lock of either kind cannot be acquired; closing the file releases it."""
    for lock in (fcntl.flock, fcntl.lockf) if HAS_LOCKS else ():
        try:
            lock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks, or one that refuses them
            continue
    return False
