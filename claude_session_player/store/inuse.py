"""Whether a session is in use, told without waiting and without changing it."""

from __future__ import annotations

import os
import time
from typing import Final

from claude_session_player.store.layout import Found

HAS_LOCKS: Final[bool] = os.name == "posix"

RECENT_SECONDS: Final = 60
LOCKED_SECONDS: Final = 24 * 60 * 60
_BILLION: Final = 1_000_000_000


class InUse:
    """Looks once at the clock, and then knows of every session.

    A session is in use when it was written to in the last minute, or when it was written to in the last day and
    somebody holds an exclusive lock on it. Older ones are not opened to find out.
    """

    def __init__(self, now: float | None = None) -> None:
        self._now = int((time.time() if now is None else now) * _BILLION)

    def __call__(self, found: Found) -> bool:
        """True where a session is in use."""
        age = self._now - found.stamp.mtime_ns
        if abs(age) <= RECENT_SECONDS * _BILLION:  # the clock of a file server may be ahead
            return True
        return age <= LOCKED_SECONDS * _BILLION and is_locked(found.path)


def is_locked(path: str) -> bool:
    """True where somebody else is known to hold an exclusive lock on a file."""
    return lock_state(path) is True


def lock_state(path: str) -> bool | None:
    """Whether somebody else holds an exclusive lock on a regular file; `None` where the system does not tell."""
    if not HAS_LOCKS:
        return None
    import fcntl

    try:
        with open(path, "rb", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False
