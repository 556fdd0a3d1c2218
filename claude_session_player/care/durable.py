"""Files and directories that outlast a power cut, and that nobody else uses meanwhile."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from typing import Final

from claude_session_player import humanize
from claude_session_player.care.directory import HAS_HANDLES, Directory
from claude_session_player.errors import NoSpace
from claude_session_player.text import display_path

_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_BLOCK: Final = 4096
"""Most file systems give a file a multiple of so many bytes."""
_RESERVE: Final = 16
"""One part in so many of the free space is left for others."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def sync_folder(path: str) -> None:
    """Let what was made, renamed or removed in a directory be on disk, where the system can be asked for it."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # some network file systems do not sync directories
        pass
    finally:
        os.close(handle)


def make_folders(path: str) -> None:
    """Make a directory and those above it, as far as they are missing; what people typed is nobody else's business."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_folders(above)
    os.mkdir(path, 0o700)
    sync_folder(above)


@contextlib.contextmanager
def no_empty_folders(path: str) -> Iterator[None]:
    """Where what follows fails, a directory and those above it that were missing before are missing again."""
    missing = []
    above = path
    while not os.path.isdir(above):
        missing.append(above)
        above = os.path.dirname(above)
    try:
        yield
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):  # something else may be in it by now
                os.rmdir(folder)
        raise


def require_space(folder: str, sizes: Iterable[int], advice: str) -> None:
    """Raises `NoSpace` where files of these sizes do not fit into a directory, which need not be there yet."""
    needed = sum(size + -size % _BLOCK for size in sizes)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    free = shutil.disk_usage(folder).free
    if needed > free - free // _RESERVE:
        told = f"{humanize.size(needed)} needed, {humanize.size(free)} free"
        raise NoSpace(f"{display_path(folder)}: not enough space ({told}): {advice}")


def lock(handle: int) -> None:
    """Keep an open file or directory for oneself until it is closed, where the system and its file system have locks.

    Raises `BlockingIOError` where somebody else keeps it.
    """
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


@contextlib.contextmanager
def reserved(home: Directory, name: str) -> Iterator[Directory]:
    """An empty directory that nobody else uses meanwhile; what a killed run left in it goes, and in the end all of it.

    Raises `BlockingIOError` where somebody else uses it.
    """
    with contextlib.suppress(FileExistsError):
        home.make(name)
    with _locked_folder(home, name) as folder:
        try:
            _clear(folder)
            yield folder
        finally:
            _clear(folder)
            home.remove_empty(name)
            home.sync()


def _clear(folder: Directory) -> None:
    for name in folder.names():
        folder.remove_tree(name)


def _locked_folder(home: Directory, name: str) -> Directory:
    """A directory that is kept, where that can be done."""
    try:
        folder = home.enter(name)
    except FileNotFoundError as error:  # somebody else has just been done with it
        raise BlockingIOError(*error.args) from error
    try:
        if folder.handle is not None:
            lock(folder.handle)
        if not folder.is_still_at(home, name):
            raise BlockingIOError
    except BlockingIOError:
        folder.close()
        raise
    except OSError:  # some network file systems lock no directories
        pass
    return folder


def write_new(folder: Directory, name: str, pieces: Iterable[bytes], mtime_ns: int, mode: int) -> None:
    """Write a file that is not there yet, with its time of change and its permissions."""
    with open(folder.open_file(name, _NEW), "wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        place = file.fileno() if HAS_HANDLES else os.path.join(folder.path, name)
        os.chmod(place, mode)
        os.utime(place, ns=(mtime_ns, mtime_ns))
        os.fsync(file.fileno())
