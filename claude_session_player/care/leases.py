"""Leases: the system's own word that nobody has a file open for writing, whoever runs the process that would.

What processes of other users have open cannot be seen, but a read lease on a file is refused while anybody has it open
for writing; and as long as it is held, whoever opens the file for writing has to wait. Readers do not matter, here as
everywhere. Only the owner of a file, or root, gets a lease: a session with a file of somebody else is left alone. Only
Linux has leases, and not every file system; elsewhere, that they are missing is counted.
"""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from typing import Final, Self

from claude_session_player.care.bundles import Bundle, Item
from claude_session_player.care.directory import Directory
from claude_session_player.store.layout import DEEPEST, TOO_DEEP
from claude_session_player.text import display_path

try:
    import fcntl

    HAS_LEASES: Final[bool] = hasattr(fcntl, "F_SETLEASE")
except ImportError:
    HAS_LEASES = False  # type: ignore[misc]

_OPEN: Final[int] = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_MOST: Final = 256
"""So many are held at once: a process may not have many more files open. Of the others, each is asked for once."""
_IN_USE: Final = "in use: open for writing by a process that cannot be seen"
_NOT_OURS: Final = "a file of it belongs to another user: whether they write to it cannot be told"


class Leases:
    """Leases on files, those of a session for instance, held until they are released."""

    def __init__(self, bundle: Bundle | None = None) -> None:
        self.refusal: str | None = None
        """Why the files must not be removed: somebody has one of them open for writing."""
        self.missing = 0
        """On how many files no lease could be had, for another reason than that."""
        self._handles: list[int] = []
        for item in bundle.files if bundle is not None else ():
            self._take(bundle.place(item), item)  # type: ignore[union-attr]

    def take_all(self, folder: Directory, name: str, depth: int = 0) -> None:
        """The same for a file in a directory, or for all files below a directory in it; links are no files."""
        status = folder.status(name)
        if depth > DEEPEST:
            self.refusal = TOO_DEEP
        elif status is not None and stat.S_ISDIR(status.st_mode):
            with folder.enter(name) as below:
                for inside in below.names():
                    self.take_all(below, inside, depth + 1)
        elif status is not None and stat.S_ISREG(status.st_mode):
            self._take_one(lambda: folder.open_file(name, os.O_RDONLY), name, (status.st_ino, status.st_dev))

    @property
    def are_broken(self) -> bool:
        """True where somebody waits to open one of the files for writing."""
        return any(fcntl.fcntl(handle, fcntl.F_GETLEASE) != fcntl.F_RDLCK for handle in self._handles)

    def release(self) -> None:
        """Give all leases back."""
        while self._handles:
            os.close(self._handles.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _take(self, path: str, item: Item) -> None:
        self._take_one(lambda: os.open(path, _OPEN), item.path, (item.inode, item.device))

    def _take_one(self, opener: Callable[[], int], path: str, identity: tuple[int, int]) -> None:
        if self.refusal is not None:
            return
        if not HAS_LEASES:
            self.missing += 1
            return
        try:
            handle = opener()
        except BlockingIOError:  # somebody else has a lease
            self.refusal = _IN_USE
            return
        except OSError as error:
            self.refusal = f"{display_path(path)}: {error.strerror or error}"
            return
        status = os.fstat(handle)
        if (status.st_ino, status.st_dev) != identity:
            self.refusal = f"{display_path(path)} has changed"
        elif self._is_leased(handle) and len(self._handles) < _MOST:
            self._handles.append(handle)
            return
        os.close(handle)

    def _is_leased(self, handle: int) -> bool:
        try:
            fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)  # the usual signal of a broken lease ends the process
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except BlockingIOError:
            self.refusal = _IN_USE
            return False
        except PermissionError:
            self.refusal = _NOT_OURS
            return False
        except OSError:  # a file system without leases
            self.missing += 1
            return False
        return True
