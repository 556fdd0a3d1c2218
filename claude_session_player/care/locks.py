"""Which sessions are in use, and how that is known: a closer look than the one that a list takes.

Nothing is changed and nothing is waited for. What the system does not tell is said, not guessed.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from claude_session_player.care.processes import PROC, Process, lock_holders, open_handles
from claude_session_player.errors import SessionInUse
from claude_session_player.store.inuse import HAS_LOCKS, RECENT_SECONDS, lock_state
from claude_session_player.store.record import shown, time_of
from claude_session_player.store.session import Session

LOCKED: Final = "locked"
WRITING: Final = "open for writing"
READING: Final = "open for reading"
WRITTEN: Final = "written"
_BILLION: Final = 1_000_000_000


class Evidence(NamedTuple):
    """One sign that a file is in use."""

    how: str
    path: str
    written_at: str
    """When the file was last written to."""
    process: Process | None = None
    """Who holds the lock or has the file open, where that is known."""

    @property
    def words(self) -> str:
        """The sign in a few words.

        >>> Evidence(LOCKED, "/s/1f2e.jsonl", "2026-01-17T20:31:59.000Z", Process(12, "claude")).words
        'locked by claude (pid 12)'
        """
        if self.how == WRITTEN:
            return "written in the last minute"
        if self.process is None:
            return self.how
        name, pid = self.process.name, self.process.pid
        return f"{self.how} by {name} (pid {pid})" if name else f"{self.how} by pid {pid}"


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


class Look:
    """One look at all processes; it answers for the files that it was made for."""

    def __init__(self, paths: Iterable[str], *, now: float | None = None, proc: str = PROC) -> None:
        holders = lock_holders(proc)
        handles = open_handles(paths, proc)
        self._now = int((time.time() if now is None else now) * _BILLION)
        self._holders = holders or {}
        self._handles = handles.by_file if handles else {}
        self.ways = Ways(HAS_LOCKS, holders is not None, handles is not None, handles.hidden if handles else 0)

    def of(self, session: Session) -> list[Evidence]:
        """The signs that a session, or a sub-agent of it, is in use."""
        return self.at(session_files(session))

    def at(self, paths: Iterable[str]) -> list[Evidence]:
        """The signs that any of these files is in use, as they are now; what is no file is not."""
        return [sign for path in paths for sign in self._signs(path)]

    def _signs(self, path: str) -> Iterator[Evidence]:
        try:
            status = os.stat(path)
        except OSError:
            return
        if not stat.S_ISREG(status.st_mode):
            return
        key, written = (status.st_dev, status.st_ino), time_of(status.st_mtime_ns)
        if lock_state(path) or key in self._holders:  # a probe sees one of the two kinds of locks
            yield Evidence(LOCKED, path, written, self._holders.get(key))
        for handle in dict.fromkeys(self._handles.get(key, ())):
            yield Evidence(WRITING if handle.writing else READING, path, written, handle.process)
        if abs(self._now - status.st_mtime_ns) <= RECENT_SECONDS * _BILLION:
            yield Evidence(WRITTEN, path, written)


def look_at(sessions: Sequence[Session]) -> Look:
    """One look at all processes, for these sessions."""
    return Look(path for session in sessions for path in session_files(session))


def session_files(session: Session) -> list[str]:
    """The files of a session and of its sub-agents."""
    return [part.path for part in session.parts]


def require_unused(session: Session) -> None:
    """Raise `SessionInUse` where a session, or a sub-agent of it, is in use."""
    if signs := look_at([session]).of(session):
        what = ", ".join(dict.fromkeys(sign.words for sign in signs))
        raise SessionInUse(f"session {shown(session.id)} is in use ({what}): try again when nobody works with it")
