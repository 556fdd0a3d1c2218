"""Trash directories: hidden directories next to session files, each with one session that is being removed.

A directory whose name begins with `REMOVING_PREFIX` can be emptied back into the store, which leaves the session as it
was. One that begins with `REMOVED_PREFIX` only remains to be deleted. Everything is moved and deleted in open
directories, never by path.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Self

import msgspec

from claude_session_player.archive.directories import OpenDirectory, contains_copy
from claude_session_player.archive.locks import OPENED_FOR_WRITING, Leases, lock_handle
from claude_session_player.archive.session_files import SessionFiles, SessionRefused
from claude_session_player.store import (
    PROJECTS_DIR,
    REMOVED_PREFIX as REMOVED_PREFIX,
    REMOVING_PREFIX as REMOVING_PREFIX,
)
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.text import display_path

INFO_NAME: Final = "session.json"
CONTENT_NAME: Final = "content"
_NEXT_INFO_NAME: Final = "session.json.new"
_MAX_INFO_SIZE: Final = 1 << 20
_IMPOSSIBLE_NAMES: Final = ("", ".", "..")


class TrashInfo(msgspec.Struct, frozen=True):
    """The description of the session in a trash directory, which is stored there as JSON."""

    id: str
    title: str | None
    root: str
    main: str
    """The path of the session's own file below the root."""
    size: int
    archive: str | None
    """The path of its archive; `None` if it is not archived."""

    @property
    def path(self) -> str:
        """The path that the session's own file had."""
        return os.path.join(self.root, *self.main.split("/"))

    @property
    def parents(self) -> list[str]:
        """The names of the directories from the root down to the session's own file."""
        return self.main.split("/")[:-1]


RemovalLog = Callable[[TrashInfo], None]
"""Called for each session that has been deleted from the store."""


class TrashDir:
    """An open trash directory, and the open directory that it is in."""

    def __init__(self, home: OpenDirectory, name: str) -> None:
        self.home = home
        self.name = name
        self.directory = home.enter(name)

    @property
    def path(self) -> str:
        """The path of the trash directory."""
        return os.path.join(self.home.path, self.name)

    @property
    def is_gone(self) -> bool:
        """True if the removal is decided, and only the deletion remains."""
        return self.name.startswith(REMOVED_PREFIX)

    @property
    def is_in_place(self) -> bool:
        """True if it has been neither moved nor replaced by something else."""
        return self.directory.is_still_at(self.home, self.name)

    def rename(self, name: str) -> None:
        """Rename the trash directory."""
        self.home.move(self.name, self.home, name)
        self.name, self.directory.path = name, os.path.join(self.home.path, name)

    def open_content(self, info: TrashInfo) -> OpenDirectory:
        """Open the directory with the session's files, which lies below a directory laid out like the store."""
        return self.directory.descend((CONTENT_NAME, *info.parents))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.directory.close()


def make_trash_dir(home: OpenDirectory, info: TrashInfo) -> TrashDir:
    """Create a trash directory. If that fails, the error names the directory that it would be in."""
    name = REMOVING_PREFIX + info.id
    try:
        home.make_dir(name)
    except FileExistsError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, home.path) from error
    trash = TrashDir(home, name)
    try:
        _write(trash, info)
    except OSError:
        discard_trash_dir(trash)
        trash.directory.close()
        raise
    return trash


def move_to_trash(trash: TrashDir, session: SessionFiles, info: TrashInfo) -> None:
    """Move a session into its trash directory, its own file first, so that Claude Code cannot resume it meanwhile.

    Raises `SessionRefused` at the first file that is not the one that was collected.
    """
    above = session.main.rpartition("/")[0]
    with trash.directory.descend((CONTENT_NAME, *info.parents), make=True) as content:
        for item in session.items:
            parent, _, name = item.path.rpartition("/")
            if parent != above:
                continue
            status = trash.home.status(name)
            if status is None or (status.st_ino, status.st_dev) != (item.inode, item.device):
                raise SessionRefused(f"{display_path(item.path)} {'is gone' if status is None else 'has changed'}")
            trash.home.move(name, content, name)
        content.sync()
    trash.home.sync()


def move_back(trash: TrashDir, info: TrashInfo) -> None:
    """Move a session from its trash directory back, its own file last.

    Files that exist there again with the same content count as moved back. Raises `SessionRefused` if any differs, and
    then nothing is moved.
    """
    main = info.main.rpartition("/")[2]
    try:
        with trash.open_content(info) as content:
            names = sorted(content.names(), key=lambda name: (name == main, name))
            for name in names:
                if trash.home.status(name) is not None and not contains_copy(trash.home, content, name):
                    raise _conflict(trash.home, name, content)
            for name in names:
                _move_out(content, name, trash.home)
    except FileNotFoundError:  # the run was killed before it created the directory
        pass
    trash.home.sync()
    clear_trash_dir(trash, info)


def clear_trash_dir(trash: TrashDir, info: TrashInfo) -> None:
    """Delete a trash directory without files, with the empty directories in it."""
    for count in range(len(info.parents), -1, -1):
        names = (CONTENT_NAME, *info.parents)[: count + 1]
        with contextlib.suppress(FileNotFoundError), trash.directory.descend(names[:-1]) as above:
            above.remove_empty(names[-1])
    discard_trash_dir(trash)


def delete_trashed(trash: TrashDir, info: TrashInfo, log: RemovalLog) -> None:
    """Delete the session in a trash directory for good. Links are deleted, never followed."""
    trash.directory.remove_tree(CONTENT_NAME)
    trash.directory.sync()
    log(info)
    discard_trash_dir(trash)


def replace_trash_info(trash: TrashDir, info: TrashInfo) -> None:
    """Replace the description in a trash directory atomically."""
    _write(trash, info, _NEXT_INFO_NAME)
    trash.directory.move(_NEXT_INFO_NAME, trash.directory, INFO_NAME)
    trash.directory.sync()


def discard_trash_dir(trash: TrashDir) -> None:
    """Delete a trash directory that holds no session."""
    for delete, name in (
        (trash.directory.remove, _NEXT_INFO_NAME),
        (trash.directory.remove, INFO_NAME),
        (trash.home.remove_empty, trash.name),
    ):
        with contextlib.suppress(FileNotFoundError):
            delete(name)


def read_trash_info(trash: TrashDir) -> TrashInfo | None:
    """Read the description in a trash directory; `None` if there is none that fits. Raises `OSError`."""
    try:
        with open(_open_info(trash), "rb") as file:
            info = msgspec.convert(json.loads(file.read(_MAX_INFO_SIZE)), TrashInfo)
    except (FileNotFoundError, ValueError, RecursionError, msgspec.ValidationError):
        return None
    return info if _fits(trash, info) else None


@contextmanager
def claim_trash_dir(trash: TrashDir) -> Iterator[None]:
    """Lock a trash directory, if the system can. Raises `BlockingIOError` if another process works on it."""
    with open(_open_info(trash), "rb") as file:
        lock_handle(file.fileno())
        yield


def _open_info(trash: TrashDir) -> int:
    handle = trash.directory.open_file(INFO_NAME, os.O_RDONLY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileNotFoundError(INFO_NAME)
    return handle


def _fits(trash: TrashDir, info: TrashInfo) -> bool:
    """True if a trash directory was created for this session, also if its project directory was renamed since."""
    parents = info.parents
    here = trash.home.path.split(os.sep)[-len(parents) :]
    is_renamed_project = (
        len(parents) == 2 and here[0] == parents[0] == PROJECTS_DIR and parents[1] not in _IMPOSSIBLE_NAMES
    )
    if not parents or not (here == parents or is_renamed_project):
        return False
    if trash.name not in (REMOVING_PREFIX + info.id, REMOVED_PREFIX + info.id):
        return False
    names = (CONTENT_NAME, *parents)
    return all(
        name == names[depth] or name.startswith(".")
        for depth in range(1, len(names))
        for name in _names_in(trash, names[:depth])
    )


def _move_out(content: OpenDirectory, name: str, home: OpenDirectory) -> None:
    """Move without replacing anything. If the same content exists in the target, it is only deleted from the trash."""
    status = content.status(name)
    try:
        if home.status(name) is not None:
            _remove_copy(content, name, home)
            return
        if status is not None and stat.S_ISREG(status.st_mode):
            content.link(name, home, name)
        else:
            content.move(name, home, name)
    except FileExistsError as error:
        raise _conflict(home, name, content) from error
    content.remove_tree(name)


def _remove_copy(content: OpenDirectory, name: str, home: OpenDirectory) -> None:
    """Delete what the target holds as well, byte for byte. Raises `SessionRefused` if such a file is being written."""
    with Leases() as leases:
        leases.take_all(content, name)
        if not contains_copy(home, content, name):
            raise FileExistsError
        if (leases.refusal is not None or leases.are_broken) and not _is_same_file(home, content, name):
            reason = leases.refusal or OPENED_FOR_WRITING
            raise SessionRefused(
                f"{display_path(os.path.join(content.path, name))} is a second copy and was not deleted: {reason}"
            )
        content.remove_tree(name)


def _is_same_file(home: OpenDirectory, content: OpenDirectory, name: str) -> bool:
    """True for one file with two names: a process that writes to it loses nothing when one of them is deleted."""
    one, two = home.status(name), content.status(name)
    return one is not None and two is not None and os.path.samestat(one, two)


def _conflict(home: OpenDirectory, name: str, content: OpenDirectory) -> SessionRefused:
    return SessionRefused(
        f"{display_path(os.path.join(home.path, name))} exists again with other content; the previous content is in "
        f"{display_path(content.path)}: '{PROGRAM} clean --recover' moves it into the archive"
    )


def _write(trash: TrashDir, info: TrashInfo, name: str = INFO_NAME) -> None:
    """Write the description durably, before anything is moved into the trash directory."""
    with open(trash.directory.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(json.dumps(msgspec.structs.asdict(info)).encode())
        file.flush()
        os.fsync(file.fileno())
    trash.directory.sync()


def _names_in(trash: TrashDir, names: tuple[str, ...]) -> list[str]:
    try:
        with trash.directory.descend(names) as directory:
            return directory.names()
    except (FileNotFoundError, NotADirectoryError):
        return []
