"""Open directories: what is done in one is done there, whatever becomes of its path meanwhile.

A path is looked up anew each time that it is used, and whoever may write to a directory on the way can put a link to
anywhere in its place. Nothing that changes a store goes by paths: a directory is opened once, step by step and through
no link, and from then on only names in it are used. Where a system cannot do so, paths are used all the same.
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
_STEP: Final[int] = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE: Final[int] = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""No link is followed, and no pipe is waited for."""
_CHUNK: Final = 1 << 18


class OpenDirectory:
    """An open directory. Errors name the path by which it was opened."""

    def __init__(self, path: str, handle: int | None) -> None:
        self.path = path
        self._handle = handle

    @classmethod
    def at(cls, path: str) -> OpenDirectory:
        """The directory at a path, wherever the links on the way lead."""
        return cls(path, os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)) if HAS_HANDLES else None)

    def enter(self, name: str) -> OpenDirectory:
        """A directory in this one; a link is none. Raises `NotADirectoryError` for anything else."""
        path = os.path.join(self.path, name)
        if not HAS_HANDLES:
            if os.path.islink(path) or not os.path.isdir(path):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            return OpenDirectory(path, None)
        with self._naming(name):
            return OpenDirectory(path, os.open(name, _STEP, dir_fd=self._handle))

    def descend(self, names: Iterable[str], *, make: bool = False) -> OpenDirectory:
        """The directory that these names lead to, one after the other; missing ones are made where that is wanted."""
        here = self._again()
        for name in names:
            with here:
                if make and here.status(name) is None:
                    here.make(name)
                    here.sync()
                here = here.enter(name)
        return here

    def status(self, name: str) -> os.stat_result | None:
        """What is known of a file or directory in it, and of a link itself; `None` where there is none."""
        try:
            with self._naming(name):
                return os.stat(self._name(name), follow_symlinks=False, **self._here)
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        """What is in it."""
        with self._naming(""):
            return os.listdir(self.path if self._handle is None else self._handle)

    def open_file(self, name: str, flags: int, mode: int = 0o600) -> int:
        """The handle of a file in it."""
        with self._naming(name):
            return os.open(self._name(name), flags | _FILE, mode, **self._here)

    def target(self, name: str) -> str:
        """Where a link in it leads."""
        with self._naming(name):
            return os.readlink(self._name(name), **self._here)

    def make(self, name: str, mode: int = 0o700) -> None:
        """Make a directory in it."""
        with self._naming(name):
            os.mkdir(self._name(name), mode, **self._here)

    def move(self, name: str, folder: OpenDirectory, new: str) -> None:
        """Let something in it be in another directory instead; what is there may be replaced."""
        with self._naming(name):
            os.rename(self._name(name), folder._name(new), **_pair(self._handle, folder._handle))

    def place(self, name: str, folder: OpenDirectory, new: str) -> None:
        """Let a file be in another directory, too. Raises `FileExistsError`: nothing is replaced."""
        try:
            with folder._naming(new):
                handles = _pair(self._handle, folder._handle)
                os.link(self._name(name), folder._name(new), follow_symlinks=False, **handles)
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            if folder.status(new) is not None:  # a file system without links has no better way
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), error.filename) from error
            self.move(name, folder, new)

    def remove(self, name: str) -> None:
        """Remove a file or a link in it."""
        with self._naming(name):
            os.remove(self._name(name), **self._here)

    def remove_empty(self, name: str) -> None:
        """Remove a directory in it that has nothing in it."""
        with self._naming(name):
            os.rmdir(self._name(name), **self._here)

    def remove_tree(self, name: str) -> None:
        """Remove whatever is there by this name, a directory with all that is in it; no link is followed.

        What is deeper comes up first, one level at a time: however deep it is, no more than two directories are open.
        """
        if not self._is_directory(name):
            with contextlib.suppress(FileNotFoundError):
                self.remove(name)
            return
        with self.enter(name) as top:
            while names := top.names():
                for inside in names:
                    if top._is_directory(inside):
                        top._empty(inside)
                        top.remove_empty(inside)
                    else:
                        top.remove(inside)
        self.remove_empty(name)

    def _empty(self, name: str) -> None:
        """Remove the files of a directory in this one, and let its directories be in this one, under other names."""
        with self.enter(name) as folder:
            for inside in folder.names():
                if folder._is_directory(inside):
                    folder.move(inside, self, f".{os.urandom(8).hex()}")
                else:
                    folder.remove(inside)

    def _is_directory(self, name: str) -> bool:
        status = self.status(name)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def sync(self) -> None:
        """Let what was made, renamed or removed in it be on disk, where the system can be asked for it."""
        if self._handle is not None:
            with contextlib.suppress(OSError):  # some network file systems do not sync directories
                os.fsync(self._handle)

    def set_mode_and_time(self, mode: int, mtime_ns: int) -> None:
        """Give it permissions and a time of change."""
        with self._naming(""):
            os.chmod(self.path if self._handle is None else self._handle, mode)
            os.utime(self.path if self._handle is None else self._handle, ns=(mtime_ns, mtime_ns))

    def is_still_at(self, folder: OpenDirectory, name: str) -> bool:
        """True where it is what a name in another directory means."""
        status = folder.status(name)
        return status is not None and os.path.samestat(status, self.own_status())

    def own_status(self) -> os.stat_result:
        """What is known of itself."""
        return os.stat(self.path) if self._handle is None else os.fstat(self._handle)

    @property
    def handle(self) -> int | None:
        """Its number, where the system has one."""
        return self._handle

    def close(self) -> None:
        """Let go of it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _again(self) -> OpenDirectory:
        return OpenDirectory(self.path, None if self._handle is None else os.dup(self._handle))

    def _name(self, name: str) -> str:
        return os.path.join(self.path, name) if self._handle is None else name

    @property
    def _here(self) -> dict[str, Any]:
        return {} if self._handle is None else {"dir_fd": self._handle}

    @contextlib.contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """Let an error name a whole path."""
        try:
            yield
        except OSError as error:
            error.filename = os.path.join(self.path, name) if name else self.path
            error.filename2 = None
            raise


def open_below(root: str, path: str) -> OpenDirectory:
    """A directory of a store, which links within the store may lead to. Raises `OSError` where they lead out of it."""
    top, names = _way(root, path)
    with OpenDirectory.at(top) as store:
        found = store.descend(names)
    found.path = path
    return found


@contextlib.contextmanager
def create_below(root: str, path: str) -> Iterator[OpenDirectory]:
    """The same, made where it is missing; where what follows fails, what was made and has nothing in it goes again."""
    top, names = _way(root, path)
    made: list[tuple[OpenDirectory, str]] = []
    with contextlib.ExitStack() as held:
        here = held.enter_context(OpenDirectory.at(top))
        try:
            for name in names:
                if here.status(name) is None:
                    with contextlib.suppress(FileExistsError):  # somebody else has just made it
                        here.make(name)
                        made.append((here, name))
                    here.sync()
                here = held.enter_context(here.enter(name))
            here.path = path
            yield here
        except BaseException:
            for above, name in reversed(made):
                with contextlib.suppress(OSError):
                    above.remove_empty(name)
            raise


def _way(root: str, path: str) -> tuple[str, list[str]]:
    """Where a store really is, and the names that really lead from there to something in it."""
    top = os.path.realpath(root)
    inside = os.path.relpath(os.path.realpath(path), top)
    names = [] if inside == os.curdir else inside.split(os.sep)
    if os.pardir in names or os.path.isabs(inside):
        raise NotADirectoryError(errno.ENOTDIR, "leads out of the store through a symbolic link", path)
    return top, names


def contains_copy(there: OpenDirectory, here: OpenDirectory, name: str, depth: int = 0) -> bool:
    """True where everything of a file or a directory is in another place, too, byte for byte.

    Of what is too deep that is not known, and it counts as something else.
    """
    one, two = there.status(name), here.status(name)
    if one is None or two is None or stat.S_IFMT(one.st_mode) != stat.S_IFMT(two.st_mode):
        return False
    if stat.S_ISLNK(one.st_mode):
        return there.target(name) == here.target(name)
    if stat.S_ISDIR(one.st_mode):
        with there.enter(name) as below_there, here.enter(name) as below_here:
            names = below_here.names()
            return depth < MAX_DEPTH and all(contains_copy(below_there, below_here, one, depth + 1) for one in names)
    return os.path.samestat(one, two) or (stat.S_ISREG(one.st_mode) and _is_same(there, here, name))


def _is_same(there: OpenDirectory, here: OpenDirectory, name: str) -> bool:
    with open(there.open_file(name, os.O_RDONLY), "rb") as one, open(here.open_file(name, os.O_RDONLY), "rb") as two:
        while (data := one.read(_CHUNK)) == two.read(_CHUNK):
            if not data:
                return True
    return False


def _pair(source: int | None, target: int | None) -> dict[str, Any]:
    return {} if source is None else {"src_dir_fd": source, "dst_dir_fd": target}


_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_BLOCK: Final = 4096
"""Most file systems give a file a multiple of so many bytes."""
_RESERVE: Final = 16
"""One part in so many of the free space is left for others."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def sync_dir(path: str) -> None:
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


def make_dirs(path: str) -> None:
    """Make a directory and those above it, as far as they are missing; what people typed is nobody else's business."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_dirs(above)
    os.mkdir(path, 0o700)
    sync_dir(above)


@contextlib.contextmanager
def discarding_empty_dirs(path: str) -> Iterator[None]:
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


def lock_handle(handle: int) -> None:
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
def reserve_dir(home: OpenDirectory, name: str) -> Iterator[OpenDirectory]:
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


def _clear(folder: OpenDirectory) -> None:
    for name in folder.names():
        folder.remove_tree(name)


def _locked_folder(home: OpenDirectory, name: str) -> OpenDirectory:
    """A directory that is kept, where that can be done."""
    try:
        folder = home.enter(name)
    except FileNotFoundError as error:  # somebody else has just been done with it
        raise BlockingIOError(*error.args) from error
    try:
        if folder.handle is not None:
            lock_handle(folder.handle)
        if not folder.is_still_at(home, name):
            raise BlockingIOError
    except BlockingIOError:
        folder.close()
        raise
    except OSError:  # some network file systems lock no directories
        pass
    return folder


def write_new_file(folder: OpenDirectory, name: str, pieces: Iterable[bytes], mtime_ns: int, mode: int) -> None:
    """Write a file that is not there yet, with its time of change and its permissions."""
    with open(folder.open_file(name, _NEW), "wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        place = file.fileno() if HAS_HANDLES else os.path.join(folder.path, name)
        os.chmod(place, mode)
        os.utime(place, ns=(mtime_ns, mtime_ns))
        os.fsync(file.fileno())
