"""Whether a session is in use, and how that is known: the one rule that every command asks.

A session is in use where somebody writes, or may write: an exclusive lock, a handle open for writing, or a write in the
last minute, on its file or on one of its sub-agents. A time of change in the future says nothing about its age: that
counts as use, too. A reader is no use. Nothing is changed and nothing is waited for.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.store.processes import PROC, OpenFiles, Process, lock_holders
from claude_session_player.times import wall_clock

if TYPE_CHECKING:
    from claude_session_player.store.layout import Found

HAS_LOCKS: Final[bool] = os.name == "posix"
if HAS_LOCKS:
    import fcntl
RECENT_SECONDS: Final = 60

LOCKED: Final = "locked"
WRITING: Final = "open for writing"
READING: Final = "open for reading"
WRITTEN: Final = "written"
FUTURE: Final = "modified in the future"

_RECENT: Final = RECENT_SECONDS * 1_000_000_000
_OPEN: Final[int] = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
"""Nothing is waited for, also where a pipe has the name of a session."""


class Evidence(NamedTuple):
    """One sign of what is done with a file."""

    how: str
    path: str
    written_ns: int
    """When the file was last written to."""
    process: Process | None = None
    """Who holds the lock or has the file open, where that is known."""

    @property
    def is_use(self) -> bool:
        """False for a reader."""
        return self.how != READING

    @property
    def words(self) -> str:
        """The sign in a few words.

        >>> Evidence(LOCKED, "/s/1f2e.jsonl", 0, Process(12, "claude")).words
        'locked by claude (pid 12)'
        >>> Evidence(READING, "/s/1f2e.jsonl", 0, Process(12, "tail")).words
        'only read by tail (pid 12)'
        """
        if self.how == WRITTEN:
            return "written in the last minute"
        if self.how == FUTURE:
            return "its modification time is in the future"
        how = "only read" if self.how == READING else self.how
        if self.process is None:
            return how
        name, pid = self.process.name, self.process.pid
        return f"{how} by {name} (pid {pid})" if name else f"{how} by pid {pid}"


class Ways(NamedTuple):
    """By which ways it could be found out; a write in the last minute is known everywhere."""

    locks: bool
    """Locks can be probed."""
    holders: bool
    """Of a lock, it is known who holds it."""
    handles: bool
    """Open files can be seen."""
    hidden: int = 0
    """How many processes may not be looked into."""


class InUse:
    """Looks once at the clock, and once at all processes when it is first asked; then it answers for any file.

    With `roots`, a write counts only in these stores: a copy that was just made elsewhere is not in use. A list takes
    the same look as everybody: 3 ms for 800 open files of 100 processes, and 5 µs for each session file.
    """

    def __init__(self, roots: Iterable[str] | None = None, *, now: float | None = None, proc: str = PROC) -> None:
        self._roots = None if roots is None else tuple(os.path.join(root, "") for root in roots)
        self._now = int((wall_clock() if now is None else now) * 1_000_000_000)
        self._proc = proc

    def __call__(self, found: Found) -> bool:
        """True where a file is in use: the same answer as that of `uses`, but most files have to be probed only."""
        path, (_, written, _) = found.path, found.stamp
        if self._now - written <= _RECENT and self._is_recent(path, written):
            return True
        if path.rpartition(os.sep)[2] in self._open_files.names:
            return bool(self.uses([path]))
        return _probe_lock(path)  # who holds it is not asked for: to read the list of locks takes more than 10 ms

    def signs(self, paths: Iterable[str]) -> list[Evidence]:
        """All that is known of what is done with these files, readers included; what is no file has no signs."""
        return [sign for path in paths for sign in self._signs(path)]

    def uses(self, paths: Iterable[str]) -> list[Evidence]:
        """The signs that any of these files is in use."""
        return [sign for sign in self.signs(paths) if sign.is_use]

    def anew(self) -> InUse:
        """A new look, at this moment."""
        return InUse(self._roots, proc=self._proc)

    @property
    def ways(self) -> Ways:
        """How it could be found out."""
        return Ways(HAS_LOCKS, self._holders is not None, self._open_files.is_told, self._open_files.hidden)

    @cached_property
    def _open_files(self) -> OpenFiles:
        return OpenFiles(self._proc)

    @cached_property
    def _holders(self) -> dict[tuple[int, int], Process | None] | None:
        return lock_holders(self._proc)

    def _signs(self, path: str) -> Iterator[Evidence]:
        status, is_locked = _probe(path)
        if status is None:
            return
        key, written, holders = (status.st_dev, status.st_ino), status.st_mtime_ns, self._holders or {}
        if is_locked or key in holders:
            yield Evidence(LOCKED, path, written, holders.get(key))
        for process, may_write in dict.fromkeys(self._open_files.handles(os.path.basename(path), key)):
            yield Evidence(WRITING if may_write else READING, path, written, process)
        if self._is_recent(path, written):
            is_ahead = written - self._now > _RECENT  # by less, it is the clock of a file server
            yield Evidence(FUTURE if is_ahead else WRITTEN, path, written)

    def _is_recent(self, path: str, written_ns: int) -> bool:
        """True for a write that counts."""
        return self._now - written_ns <= _RECENT and (self._roots is None or path.startswith(self._roots))


def _probe(path: str) -> tuple[os.stat_result | None, bool]:
    """The state of a regular file, and whether somebody else is known to hold an exclusive lock on it."""
    try:
        number = os.open(path, _OPEN)
    except OSError as error:
        return _status(path), isinstance(error, BlockingIOError)  # a lease, which has to be given back first
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
    """True where somebody else is known to hold an exclusive lock on a file."""
    try:
        number = os.open(path, _OPEN)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    try:
        return _is_locked(number)
    finally:
        os.close(number)


def _status(path: str) -> os.stat_result | None:
    """The state of a file that may not be opened."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _is_locked(number: int) -> bool:
    """True where a shared lock cannot be had, of either kind; it is let go of when the file is closed."""
    for lock in (fcntl.flock, fcntl.lockf) if HAS_LOCKS else ():
        try:
            lock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks, or nobody may lock
            continue
    return False
