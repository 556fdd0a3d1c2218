"""Bins: hidden directories in the homes of sessions, each with one session that is being removed.

From a bin of the first kind a session can go back, and is as it was. What is in one of the second kind is gone from the
store, and only remains to be deleted. Whatever moves or deletes does so in open directories, never by paths.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Self

import msgspec

from claude_session_player.archive.handles import OpenDirectory, contains_copy, lock_handle
from claude_session_player.archive.session_files import SessionFiles, SessionItem, SessionRefused
from claude_session_player.store import (
    MAX_DEPTH,
    PROJECTS_DIR,
    REMOVED_PREFIX as REMOVED_PREFIX,
    REMOVING_PREFIX as REMOVING_PREFIX,
    TOO_DEEP_REASON,
)
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.text import display_path

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

    def __init__(self, bundle: SessionFiles | None = None) -> None:
        self.refusal: str | None = None
        """Why the files must not be removed: somebody has one of them open for writing."""
        self.missing = 0
        """On how many files no lease could be had, for another reason than that."""
        self._handles: list[int] = []
        for item in bundle.files if bundle is not None else ():
            self._take(bundle.place(item), item)  # type: ignore[union-attr]

    def take_all(self, folder: OpenDirectory, name: str, depth: int = 0) -> None:
        """The same for a file in a directory, or for all files below a directory in it; links are no files."""
        status = folder.status(name)
        if depth > MAX_DEPTH:
            self.refusal = TOO_DEEP_REASON
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

    def _take(self, path: str, item: SessionItem) -> None:
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


NOTE: Final = "session.json"
CONTENT: Final = "content"
_NEXT_NOTE: Final = "session.json.new"
_LARGEST_NOTE: Final = 1 << 20
_NO_NAMES: Final = ("", ".", "..")


class TrashNote(msgspec.Struct, frozen=True):
    """What a bin says about the session in it."""

    id: str
    title: str | None
    root: str
    main: str
    """The path of its file below the root."""
    size: int
    archive: str | None
    """Where the session is kept; `None` where it is not."""

    @property
    def path(self) -> str:
        """Where its file was."""
        return os.path.join(self.root, *self.main.split("/"))

    @property
    def place(self) -> list[str]:
        """The names of the directories that lead to its file, below the root."""
        return self.main.split("/")[:-1]


Log = Callable[[TrashNote], None]
"""Is told of a session that is gone."""


class TrashDir:
    """A bin that is open, and the home that it is in."""

    def __init__(self, home: OpenDirectory, name: str) -> None:
        self.home = home
        self.name = name
        self.folder = home.enter(name)

    @property
    def path(self) -> str:
        """Where it is."""
        return os.path.join(self.home.path, self.name)

    @property
    def is_gone(self) -> bool:
        """True for a bin of the second kind."""
        return self.name.startswith(REMOVED_PREFIX)

    @property
    def is_there(self) -> bool:
        """True where nobody took it away, or put something else in its place."""
        return self.folder.is_still_at(self.home, self.name)

    def rename(self, name: str) -> None:
        """Let it have another name."""
        self.home.move(self.name, self.home, name)
        self.name, self.folder.path = name, os.path.join(self.home.path, name)

    def inside(self, note: TrashNote) -> OpenDirectory:
        """What was in the session's home: below a directory that is laid out like the store."""
        return self.folder.descend((CONTENT, *note.place))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.close()


def make_trash_dir(home: OpenDirectory, note: TrashNote) -> TrashDir:
    """Make a bin. Where none can be made, that is due to the directory which it would be in."""
    name = REMOVING_PREFIX + note.id
    try:
        home.make(name)
    except FileExistsError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, home.path) from error
    bin = TrashDir(home, name)
    try:
        _write(bin, note)
    except OSError:
        discard_trash_dir(bin)
        bin.folder.close()
        raise
    return bin


def move_to_trash(bin: TrashDir, bundle: SessionFiles, note: TrashNote) -> None:
    """Move everything of a session into its bin, its own file first: without it, nobody goes on with the session.

    Raises `SessionRefused` before anything is moved that is not what the bundle says.
    """
    above = bundle.main.rpartition("/")[0]
    with bin.folder.descend((CONTENT, *note.place), make=True) as inside:
        for item in bundle.items:
            folder, _, name = item.path.rpartition("/")
            if folder != above:
                continue
            status = bin.home.status(name)
            if status is None or (status.st_ino, status.st_dev) != (item.inode, item.device):
                raise SessionRefused(f"{display_path(item.path)} {'is gone' if status is None else 'has changed'}")
            bin.home.move(name, inside, name)
        inside.sync()
    bin.home.sync()


def move_back(bin: TrashDir, note: TrashNote) -> None:
    """Let a session be where its bin is, its own file last. Raises `SessionRefused` where something new is there.

    What has been put there again meanwhile, just as it was, is as good as put back; where anything is something else,
    nothing is put back.
    """
    main = note.main.rpartition("/")[2]
    try:
        with bin.inside(note) as inside:
            names = sorted(inside.names(), key=lambda name: (name == main, name))
            for name in names:
                if bin.home.status(name) is not None and not contains_copy(bin.home, inside, name):
                    raise _new(bin.home, name, inside)
            for name in names:
                _put(inside, name, bin.home)
    except FileNotFoundError:  # a run that was killed may not have come so far
        pass
    bin.home.sync()
    clear_trash_dir(bin, note)


def clear_trash_dir(bin: TrashDir, note: TrashNote) -> None:
    """Delete a bin from which everything was taken, with the directories in it."""
    for count in range(len(note.place), -1, -1):
        way = (CONTENT, *note.place)[: count + 1]
        with contextlib.suppress(FileNotFoundError), bin.folder.descend(way[:-1]) as above:
            above.remove_empty(way[-1])
    discard_trash_dir(bin)


def delete_trashed(bin: TrashDir, note: TrashNote, log: Log) -> None:
    """Delete a session that is gone from the store. Links are deleted, and never followed."""
    bin.folder.remove_tree(CONTENT)
    bin.folder.sync()
    log(note)
    discard_trash_dir(bin)


def replace_note(bin: TrashDir, note: TrashNote) -> None:
    """Let a bin say something else about the session in it, in one step."""
    _write(bin, note, _NEXT_NOTE)
    bin.folder.move(_NEXT_NOTE, bin.folder, NOTE)
    bin.folder.sync()


def discard_trash_dir(bin: TrashDir) -> None:
    """Delete a bin that has nothing in it."""
    for delete, name in ((bin.folder.remove, _NEXT_NOTE), (bin.folder.remove, NOTE), (bin.home.remove_empty, bin.name)):
        with contextlib.suppress(FileNotFoundError):
            delete(name)


def read_note(bin: TrashDir) -> TrashNote | None:
    """What a bin says about the session in it; `None` where it says nothing that can be meant. Raises `OSError`."""
    try:
        with open(_opened_note(bin), "rb") as file:
            note = msgspec.convert(json.loads(file.read(_LARGEST_NOTE)), TrashNote)
    except (FileNotFoundError, ValueError, RecursionError, msgspec.ValidationError):
        return None
    return note if _fits(bin, note) else None


@contextmanager
def claim_trash_dir(bin: TrashDir) -> Iterator[None]:
    """Let nobody else work on a bin, where there are locks. Raises `BlockingIOError` where somebody does."""
    with open(_opened_note(bin), "rb") as file:
        lock_handle(file.fileno())
        yield


def os_error_reason(error: OSError, place: str) -> str:
    """What went wrong, and where."""
    return f"{display_path(error.filename or place)}: {error.strerror or error}"


def _opened_note(bin: TrashDir) -> int:
    handle = bin.folder.open_file(NOTE, os.O_RDONLY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileNotFoundError(NOTE)
    return handle


def _fits(bin: TrashDir, note: TrashNote) -> bool:
    """True for a bin that was made for this session, also where its project directory was renamed since."""
    place = note.place
    here = bin.home.path.split(os.sep)[-len(place) :]
    is_placed = here == place or (len(place) == 2 and here[0] == place[0] == PROJECTS_DIR and place[1] not in _NO_NAMES)
    if not place or not is_placed or bin.name not in (REMOVING_PREFIX + note.id, REMOVED_PREFIX + note.id):
        return False
    way = (CONTENT, *place)
    return all(
        one == way[depth] or one.startswith(".") for depth in range(1, len(way)) for one in _names(bin, way[:depth])
    )


def _put(inside: OpenDirectory, name: str, home: OpenDirectory) -> None:
    """Move without replacing anything. Where the same is there again, it stays, and that in the bin goes."""
    status = inside.status(name)
    try:
        if home.status(name) is not None:
            _remove_copy(inside, name, home)
            return
        if status is not None and stat.S_ISREG(status.st_mode):
            inside.place(name, home, name)
        else:
            inside.move(name, home, name)
    except FileExistsError as error:
        raise _new(home, name, inside) from error
    inside.remove_tree(name)


def _remove_copy(inside: OpenDirectory, name: str, home: OpenDirectory) -> None:
    """Remove what is also in the home, byte for byte. Raises `SessionRefused` where such a file is being written."""
    with Leases() as leases:
        leases.take_all(inside, name)
        if not contains_copy(home, inside, name):
            raise FileExistsError
        if (leases.refusal is not None or leases.are_broken) and not _is_same_file(home, inside, name):
            reason = leases.refusal or "in use: somebody opens it for writing right now"
            raise SessionRefused(f"{display_path(os.path.join(inside.path, name))} is there twice, and stays: {reason}")
        inside.remove_tree(name)


def _is_same_file(home: OpenDirectory, inside: OpenDirectory, name: str) -> bool:
    """True for one file with two names: whoever writes to it loses nothing where one of them goes."""
    one, two = home.status(name), inside.status(name)
    return one is not None and two is not None and os.path.samestat(one, two)


def _new(home: OpenDirectory, name: str, inside: OpenDirectory) -> SessionRefused:
    return SessionRefused(
        f"{display_path(os.path.join(home.path, name))} is there again: what was there before is in "
        f"{display_path(inside.path)}; "
        f"'{PROGRAM} clean --recover' moves it into the archive"
    )


def _write(bin: TrashDir, note: TrashNote, name: str = NOTE) -> None:
    """Say durably what a bin is for, before anything is moved into it."""
    with open(bin.folder.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(json.dumps(msgspec.structs.asdict(note)).encode())
        file.flush()
        os.fsync(file.fileno())
    bin.folder.sync()


def _names(bin: TrashDir, way: tuple[str, ...]) -> list[str]:
    try:
        with bin.folder.descend(way) as folder:
            return folder.names()
    except (FileNotFoundError, NotADirectoryError):
        return []
