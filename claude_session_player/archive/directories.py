"""Directories that stay open, so that every change happens in them whatever becomes of their paths.

A path is resolved again each time it is used, and anybody who may write to a directory on the way can replace it by a
link to anywhere. Nothing that changes a store uses paths: a directory is opened once, step by step and through no link,
and from then on only names in it are used. Systems without directory handles use paths nevertheless.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from typing import TYPE_CHECKING, Any, Final, Self

from claude_session_player.errors import NoSpace
from claude_session_player.store import MAX_DEPTH
from claude_session_player.util import humanize
from claude_session_player.util.fsutil import NO_LINKS
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HAS_HANDLES: Final[bool] = os.name == "posix"
_DIRECTORY_FLAGS: Final[int] = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE_FLAGS: Final[int] = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Follow no link, and do not wait for a pipe."""
_CHUNK_SIZE: Final = 1 << 18


class OpenDirectory:
    """An open directory. Errors name the full path, by which it was opened."""

    def __init__(self, path: str, handle: int | None) -> None:
        self.path = path
        self._handle = handle

    @classmethod
    def at(cls, path: str) -> OpenDirectory:
        """Open the directory at a path, following links."""
        return cls(path, os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)) if HAS_HANDLES else None)

    def enter(self, name: str) -> OpenDirectory:
        """Open a directory in this one. Raises `NotADirectoryError` for anything else, also for a link."""
        path = os.path.join(self.path, name)
        if not HAS_HANDLES:
            if os.path.islink(path) or not os.path.isdir(path):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            return OpenDirectory(path, None)
        with self._full_path_errors(name):
            return OpenDirectory(path, os.open(name, _DIRECTORY_FLAGS, dir_fd=self._handle))

    def descend(self, names: Iterable[str], *, make: bool = False) -> OpenDirectory:
        """Open the directory that these names lead to, one after the other; with `make`, create the missing ones."""
        here = self._duplicate()
        for name in names:
            with here:
                if make and here.status(name) is None:
                    here.make_dir(name)
                    here.sync()
                here = here.enter(name)
        return here

    def status(self, name: str) -> os.stat_result | None:
        """The status of something in this directory, of a link itself; `None` if it does not exist."""
        try:
            with self._full_path_errors(name):
                return os.stat(self._name(name), follow_symlinks=False, **self._dir_fd)
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        """The names of everything in this directory."""
        with self._full_path_errors(""):
            return os.listdir(self.path if self._handle is None else self._handle)

    def open_file(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open a file in this directory; gives its handle."""
        with self._full_path_errors(name):
            return os.open(self._name(name), flags | _FILE_FLAGS, mode, **self._dir_fd)

    def link_target(self, name: str) -> str:
        """The target of a symbolic link in this directory."""
        with self._full_path_errors(name):
            return os.readlink(self._name(name), **self._dir_fd)

    def make_dir(self, name: str, mode: int = 0o700) -> None:
        """Create a directory in this one."""
        with self._full_path_errors(name):
            os.mkdir(self._name(name), mode, **self._dir_fd)

    def move(self, name: str, target: OpenDirectory, new_name: str) -> None:
        """Move something to another directory; an existing file is replaced."""
        with self._full_path_errors(name):
            os.rename(self._name(name), target._name(new_name), **_dir_fds(self._handle, target._handle))

    def link(self, name: str, target: OpenDirectory, new_name: str) -> None:
        """Link a file into another directory. Raises `FileExistsError` rather than replacing anything."""
        try:
            with target._full_path_errors(new_name):
                dir_fds = _dir_fds(self._handle, target._handle)
                os.link(self._name(name), target._name(new_name), follow_symlinks=False, **dir_fds)
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            if target.status(new_name) is not None:  # the best check on a file system without hard links
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), error.filename) from error
            self.move(name, target, new_name)

    def remove(self, name: str) -> None:
        """Delete a file or a link in this directory."""
        with self._full_path_errors(name):
            os.remove(self._name(name), **self._dir_fd)

    def remove_empty(self, name: str) -> None:
        """Delete an empty directory in this one."""
        with self._full_path_errors(name):
            os.rmdir(self._name(name), **self._dir_fd)

    def remove_tree(self, name: str) -> None:
        """Delete whatever has this name, a directory with everything in it; links are not followed.

        Subdirectories are moved up one level at a time, so that only two are open however deep the tree is.
        """
        if not self._is_directory(name):
            with contextlib.suppress(FileNotFoundError):
                self.remove(name)
            return
        with self.enter(name) as top:
            while names := top.names():
                for inside in names:
                    if top._is_directory(inside):
                        top._flatten(inside)
                        top.remove_empty(inside)
                    else:
                        top.remove(inside)
        self.remove_empty(name)

    def _flatten(self, name: str) -> None:
        """Delete the files of a directory in this one, and move its subdirectories up under random names."""
        with self.enter(name) as directory:
            for inside in directory.names():
                if directory._is_directory(inside):
                    directory.move(inside, self, f".{os.urandom(8).hex()}")
                else:
                    directory.remove(inside)

    def _is_directory(self, name: str) -> bool:
        status = self.status(name)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def sync(self) -> None:
        """Write what was created, renamed or deleted in this directory to disk, if the system can."""
        if self._handle is not None:
            with contextlib.suppress(OSError):  # some network file systems cannot sync directories
                os.fsync(self._handle)

    def set_mode_and_time(self, mode: int, mtime_ns: int) -> None:
        """Set the permissions and the modification time of this directory."""
        with self._full_path_errors(""):
            os.chmod(self.path if self._handle is None else self._handle, mode)
            os.utime(self.path if self._handle is None else self._handle, ns=(mtime_ns, mtime_ns))

    def is_still_at(self, parent: OpenDirectory, name: str) -> bool:
        """True if this name in the parent directory still leads to this directory."""
        status = parent.status(name)
        return status is not None and os.path.samestat(status, self.own_status())

    def own_status(self) -> os.stat_result:
        """The status of this directory itself."""
        return os.stat(self.path) if self._handle is None else os.fstat(self._handle)

    @property
    def handle(self) -> int | None:
        """The file descriptor; `None` on systems that have none for directories."""
        return self._handle

    def close(self) -> None:
        """Close the directory."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _duplicate(self) -> OpenDirectory:
        return OpenDirectory(self.path, None if self._handle is None else os.dup(self._handle))

    def _name(self, name: str) -> str:
        return os.path.join(self.path, name) if self._handle is None else name

    @property
    def _dir_fd(self) -> dict[str, Any]:
        return {} if self._handle is None else {"dir_fd": self._handle}

    @contextlib.contextmanager
    def _full_path_errors(self, name: str) -> Iterator[None]:
        """Make errors name the full path."""
        try:
            yield
        except OSError as error:
            error.filename = os.path.join(self.path, name) if name else self.path
            error.filename2 = None
            raise


def open_below(root: str, path: str) -> OpenDirectory:
    """Open a directory of a store, following links within the store. Raises `OSError` if one leads out of it."""
    top, names = _real_parts(root, path)
    with OpenDirectory.at(top) as store:
        directory = store.descend(names)
    directory.path = path
    return directory


@contextlib.contextmanager
def create_below(root: str, path: str) -> Iterator[OpenDirectory]:
    """The same, but create what is missing; if the block fails, created directories that are empty are deleted."""
    top, names = _real_parts(root, path)
    created: list[tuple[OpenDirectory, str]] = []
    with contextlib.ExitStack() as opened:
        here = opened.enter_context(OpenDirectory.at(top))
        try:
            for name in names:
                if here.status(name) is None:
                    with contextlib.suppress(FileExistsError):  # another process has just created it
                        here.make_dir(name)
                        created.append((here, name))
                    here.sync()
                here = opened.enter_context(here.enter(name))
            here.path = path
            yield here
        except BaseException:
            for above, name in reversed(created):
                with contextlib.suppress(OSError):
                    above.remove_empty(name)
            raise


def _real_parts(root: str, path: str) -> tuple[str, list[str]]:
    """The real path of a store, and the real names that lead from there to something in it."""
    top = os.path.realpath(root)
    inside = os.path.relpath(os.path.realpath(path), top)
    names = [] if inside == os.curdir else inside.split(os.sep)
    if os.pardir in names or os.path.isabs(inside):
        raise NotADirectoryError(errno.ENOTDIR, "leads out of the store through a symbolic link", path)
    return top, names


def contains_copy(there: OpenDirectory, here: OpenDirectory, name: str, depth: int = 0) -> bool:
    """True if a file, or everything in a directory, exists in another directory as well, byte for byte.

    Trees that are too deep are not compared and count as different.
    """
    one, two = there.status(name), here.status(name)
    if one is None or two is None or stat.S_IFMT(one.st_mode) != stat.S_IFMT(two.st_mode):
        return False
    if stat.S_ISLNK(one.st_mode):
        return there.link_target(name) == here.link_target(name)
    if stat.S_ISDIR(one.st_mode):
        with there.enter(name) as below_there, here.enter(name) as below_here:
            names = below_here.names()
            return depth < MAX_DEPTH and all(contains_copy(below_there, below_here, one, depth + 1) for one in names)
    return os.path.samestat(one, two) or (stat.S_ISREG(one.st_mode) and _has_same_content(there, here, name))


def _has_same_content(there: OpenDirectory, here: OpenDirectory, name: str) -> bool:
    with open(there.open_file(name, os.O_RDONLY), "rb") as one, open(here.open_file(name, os.O_RDONLY), "rb") as two:
        while (data := one.read(_CHUNK_SIZE)) == two.read(_CHUNK_SIZE):
            if not data:
                return True
    return False


def _dir_fds(source: int | None, target: int | None) -> dict[str, Any]:
    return {} if source is None else {"src_dir_fd": source, "dst_dir_fd": target}


_BLOCK_SIZE: Final = 4096
"""Most file systems allocate a multiple of this many bytes for a file."""
_RESERVED_SHARE: Final = 16
"""One part in this many of the free space is left unused."""
_NEW_FILE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def sync_dir(path: str) -> None:
    """Write what was created, renamed or deleted in a directory to disk, if the system can."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # some network file systems cannot sync directories
        pass
    finally:
        os.close(handle)


def make_dirs(path: str) -> None:
    """Create a directory and its missing parents, readable by their owner only because sessions are private."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_dirs(above)
    os.mkdir(path, 0o700)
    sync_dir(above)


@contextlib.contextmanager
def discarding_empty_dirs(path: str) -> Iterator[None]:
    """If the block fails, delete a directory and its parents, as far as they did not exist before and are empty."""
    missing = []
    above = path
    while not os.path.isdir(above):
        missing.append(above)
        above = os.path.dirname(above)
    try:
        yield
    except BaseException:
        for directory in missing:
            with contextlib.suppress(OSError):  # it may not be empty by now
                os.rmdir(directory)
        raise


def require_space(directory: str, sizes: Iterable[int], advice: str) -> None:
    """Raises `NoSpace` if files of these sizes do not fit into a directory, which need not exist yet."""
    needed = sum(size + -size % _BLOCK_SIZE for size in sizes)
    while not os.path.isdir(directory) and directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
    free = shutil.disk_usage(directory).free
    if needed > free - free // _RESERVED_SHARE:
        sizes_text = f"{humanize.size(needed)} needed, {humanize.size(free)} free"
        raise NoSpace(f"{display_path(directory)}: not enough space ({sizes_text}): {advice}")


def write_new_file(directory: OpenDirectory, name: str, pieces: Iterable[bytes], mtime_ns: int, mode: int) -> None:
    """Write a new file durably, with its modification time and permissions. Raises `FileExistsError`."""
    with open(directory.open_file(name, _NEW_FILE_FLAGS), "wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        target = file.fileno() if HAS_HANDLES else os.path.join(directory.path, name)
        os.chmod(target, mode)
        os.utime(target, ns=(mtime_ns, mtime_ns))
        os.fsync(file.fileno())
