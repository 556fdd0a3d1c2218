"""Keeps other processes away: locks on files and directories, and leases, which notice writers."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
from typing import TYPE_CHECKING, Final, Self

from claude_session_player.store import MAX_DEPTH, TOO_DEEP_REASON
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claude_session_player.archive.directories import OpenDirectory
    from claude_session_player.archive.session_files import SessionFiles, SessionItem

try:
    import fcntl

    HAS_LOCKS: Final[bool] = True
    HAS_LEASES: Final[bool] = hasattr(fcntl, "F_SETLEASE")
except ImportError:
    HAS_LOCKS = HAS_LEASES = False  # type: ignore[misc]

_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_OPEN_FLAGS: Final[int] = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_MAX_HELD: Final = 256
"""Leases held at once, because a process may not have many more files open. All others are taken and given back."""
OPENED_FOR_WRITING: Final = "in use: a process is just opening it for writing"
_OPEN_ELSEWHERE: Final = "in use: open for writing by a process that cannot be seen"
_OTHER_OWNER: Final = "one of its files belongs to another user, so it is unknown whether it is open for writing"


def lock_handle(handle: int) -> None:
    """Lock an open file or directory until it is closed, if the file system supports locks.

    Raises `BlockingIOError` if another process holds the lock.
    """
    if not HAS_LOCKS:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


@contextlib.contextmanager
def reserve_dir(home: OpenDirectory, name: str) -> Iterator[OpenDirectory]:
    """An empty, locked directory, which is removed again; what a killed run left in it is deleted first.

    Raises `BlockingIOError` if another process uses it.
    """
    with contextlib.suppress(FileExistsError):
        home.make_dir(name)
    with _enter_locked(home, name) as directory:
        try:
            _clear(directory)
            yield directory
        finally:
            _clear(directory)
            home.remove_empty(name)
            home.sync()


def _clear(directory: OpenDirectory) -> None:
    for name in directory.names():
        directory.remove_tree(name)


def _enter_locked(home: OpenDirectory, name: str) -> OpenDirectory:
    """Open a directory and lock it, if the file system can."""
    try:
        directory = home.enter(name)
    except FileNotFoundError as error:  # another process has just removed it
        raise BlockingIOError(*error.args) from error
    try:
        if directory.handle is not None:
            lock_handle(directory.handle)
        if not directory.is_still_at(home, name):
            raise BlockingIOError
    except BlockingIOError:
        directory.close()
        raise
    except OSError:  # some network file systems cannot lock directories
        pass
    return directory


class Leases:
    """Read leases on files, such as those of a session, held until they are released.

    The system grants one only while no process has the file open for writing, and reports any that tries to open it.
    """

    def __init__(self, session: SessionFiles | None = None) -> None:
        self.refusal: str | None = None
        """Why the files must not be removed, for example because one is open for writing."""
        self.missing = 0
        """The number of files on which the system grants no leases."""
        self._handles: list[int] = []
        for item in session.files if session is not None else ():
            self._take(session.path_of(item), item)  # type: ignore[union-attr]

    def take_all(self, directory: OpenDirectory, name: str, depth: int = 0) -> None:
        """Take a lease on a file in a directory, or on all files below a subdirectory; links are skipped."""
        status = directory.status(name)
        if depth > MAX_DEPTH:
            self.refusal = TOO_DEEP_REASON
        elif status is not None and stat.S_ISDIR(status.st_mode):
            with directory.enter(name) as subdirectory:
                for inside in subdirectory.names():
                    self.take_all(subdirectory, inside, depth + 1)
        elif status is not None and stat.S_ISREG(status.st_mode):
            self._take_one(lambda: directory.open_file(name, os.O_RDONLY), name, (status.st_ino, status.st_dev))

    @property
    def are_broken(self) -> bool:
        """True if a process is waiting to open one of the files for writing."""
        return any(fcntl.fcntl(handle, fcntl.F_GETLEASE) != fcntl.F_RDLCK for handle in self._handles)

    def release(self) -> None:
        """Give all leases back."""
        while self._handles:
            os.close(self._handles.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _take(self, path: str, item: SessionItem) -> None:
        self._take_one(lambda: os.open(path, _OPEN_FLAGS), item.path, (item.inode, item.device))

    def _take_one(self, opener: Callable[[], int], path: str, identity: tuple[int, int]) -> None:
        if self.refusal is not None:
            return
        if not HAS_LEASES:
            self.missing += 1
            return
        try:
            handle = opener()
        except BlockingIOError:  # another process has a lease
            self.refusal = _OPEN_ELSEWHERE
            return
        except OSError as error:
            self.refusal = f"{display_path(path)}: {error.strerror or error}"
            return
        status = os.fstat(handle)
        if (status.st_ino, status.st_dev) != identity:
            self.refusal = f"{display_path(path)} has changed"
        elif self._get_lease(handle) and len(self._handles) < _MAX_HELD:
            self._handles.append(handle)
            return
        os.close(handle)

    def _get_lease(self, handle: int) -> bool:
        try:
            fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)  # the default signal, SIGIO, would end the process
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except BlockingIOError:
            self.refusal = _OPEN_ELSEWHERE
            return False
        except PermissionError:
            self.refusal = _OTHER_OWNER
            return False
        except OSError:  # a file system without leases
            self.missing += 1
            return False
        return True
