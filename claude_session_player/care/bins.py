"""Bins: hidden directories in the homes of sessions, each with one session that is being removed.

From a bin of the first kind a session can go back, and is as it was. What is in one of the second kind is gone from the
store, and only remains to be deleted.
"""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from claude_session_player.care.bundles import Bundle, Refused
from claude_session_player.care.durable import lock, remove_tree, sync_folder
from claude_session_player.placing import place
from claude_session_player.regular_file import only_regular
from claude_session_player.store.locate import PROJECTS
from claude_session_player.store.record import shown

MOVING: Final = ".removing-"
GONE: Final = ".removed-"
NOTE: Final = "session.json"
CONTENT: Final = "content"
_NO_NAMES: Final = ("", ".", "..")


class Note(msgspec.Struct, frozen=True):
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


Log = Callable[[Note], None]
"""Is told of a session that is gone."""


def make(bin: str, note: Note) -> None:
    """Make a bin. Where none can be made, that is due to the directory which it would be in."""
    try:
        os.mkdir(bin, 0o700)
    except FileExistsError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.path.dirname(bin)) from error
    _write(bin, note)


def fill(bin: str, bundle: Bundle, note: Note) -> None:
    """Move everything of a session into its bin, its own file first: without it, nobody goes on with the session."""
    inside = _inside(bin, note)
    os.mkdir(os.path.join(bin, CONTENT))
    os.makedirs(inside)
    above = bundle.main.rpartition("/")[0]
    for item in bundle.items:
        folder, _, name = item.path.rpartition("/")
        if folder == above:
            os.rename(bundle.place(item), os.path.join(inside, name))
    home = os.path.dirname(bin)
    while inside != home:
        sync_folder(inside)
        inside = os.path.dirname(inside)
    sync_folder(home)


def put_back(bin: str, note: Note) -> None:
    """Let a session be where its bin is, its own file last. Raises `Refused` where something new is in its place.

    What has been put there again meanwhile, just as it was, is as good as put back.
    """
    home, inside = os.path.dirname(bin), _inside(bin, note)
    main = os.path.basename(note.path)
    for name in sorted(_names(inside), key=lambda name: (name == main, name)):
        try:
            _put(os.path.join(inside, name), os.path.join(home, name))
        except FileExistsError as error:
            new = shown(os.path.join(home, name))
            raise Refused(f"{new} is there again: what was there before is in {shown(inside)}") from error
    sync_folder(home)
    while inside != bin:
        with contextlib.suppress(FileNotFoundError):  # a run that was killed may not have come so far
            os.rmdir(inside)
        inside = os.path.dirname(inside)
    discard(bin)


def empty(bin: str, note: Note, log: Log) -> None:
    """Delete a session that is gone from the store. Links are deleted, and never followed."""
    remove_tree(os.path.join(bin, CONTENT))
    log(note)
    discard(bin)


def discard(bin: str) -> None:
    """Delete a bin that has nothing in it."""
    for delete, path in ((os.remove, os.path.join(bin, NOTE)), (os.rmdir, bin)):
        with contextlib.suppress(FileNotFoundError):
            delete(path)


def read_note(bin: str) -> Note | None:
    """What a bin says about the session in it; `None` where it says nothing that can be meant."""
    try:
        with open(os.path.join(bin, NOTE), "rb", opener=only_regular) as file:
            note = msgspec.convert(json.load(file), Note)
    except (OSError, ValueError, RecursionError, msgspec.ValidationError):
        return None
    return note if _fits(bin, note) else None


@contextmanager
def claimed(bin: str) -> Iterator[None]:
    """Let nobody else work on a bin, where there are locks. Raises `BlockingIOError` where somebody does."""
    with open(os.path.join(bin, NOTE), "rb", opener=only_regular) as file:
        lock(file.fileno())
        yield


def reason_of(error: OSError, place: str) -> str:
    """What went wrong, and where."""
    return f"{shown(error.filename or place)}: {error.strerror or error}"


def _fits(bin: str, note: Note) -> bool:
    """True for a bin that was made for this session, also where its project directory was renamed since."""
    place = note.main.split("/")[:-1]
    here = os.path.dirname(bin).split(os.sep)[-len(place) :]
    is_placed = here == place or (len(place) == 2 and here[0] == place[0] == PROJECTS and place[1] not in _NO_NAMES)
    names = (MOVING + note.id, GONE + note.id)
    if not place or not is_placed or os.path.basename(bin) not in names:
        return False
    folders = [os.path.join(bin, CONTENT, *place[:depth]) for depth in range(len(place))]
    pairs = zip(folders, place, strict=True)
    return all(one == name or one.startswith(".") for folder, name in pairs for one in _names(folder))


def _inside(bin: str, note: Note) -> str:
    """Where a bin has what was in the session's home: below a directory that is laid out like the store."""
    return os.path.join(bin, CONTENT, *note.main.split("/")[:-1])


def _put(source: str, target: str) -> None:
    """Move without replacing anything but the same. Raises `FileExistsError`."""
    is_file = os.path.isfile(source) and not os.path.islink(source)
    if os.path.lexists(target):  # a run that was killed may have come so far, or somebody restored the session
        if not _has_all(target, source):
            raise FileExistsError(target)
    elif is_file:
        place(source, target)
    else:
        os.rename(source, target)
    remove_tree(source)
    with contextlib.suppress(FileNotFoundError):
        os.remove(source)


def _has_all(there: str, here: str) -> bool:
    """True where everything of a file or a directory is at another place, too, byte for byte."""
    if os.path.islink(here) or os.path.islink(there):
        return os.path.islink(here) and os.path.islink(there) and os.readlink(here) == os.readlink(there)
    if os.path.isdir(here):
        names = os.listdir(here)
        return os.path.isdir(there) and all(_has_all(os.path.join(there, n), os.path.join(here, n)) for n in names)
    return os.path.isfile(there) and filecmp.cmp(there, here, shallow=False)


def _write(bin: str, note: Note) -> None:
    """Say durably what a bin is for, before anything is moved into it."""
    try:
        with open(os.path.join(bin, NOTE), "xb") as file:
            file.write(json.dumps(msgspec.structs.asdict(note)).encode())
            file.flush()
            os.fsync(file.fileno())
        sync_folder(bin)
    except OSError:
        discard(bin)
        raise


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
