"""Takes a session out of a store: all of it or nothing, whenever the process ends.

Everything of the session is moved into a hidden directory beside it, a bin. From a bin of the first kind it can go
back, and is as it was. When all of it is there and nothing has changed, the bin becomes one of the second kind, in one
step: what is in it is gone from the store, and only remains to be deleted.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from claude_session_player.care.bundles import Bundle, Refused, change_of
from claude_session_player.care.durable import place, remove_tree, sync_folder
from claude_session_player.store.inuse import HAS_LOCKS
from claude_session_player.store.record import shown

MOVING: Final = ".removing-"
GONE: Final = ".removed-"
NOTE: Final = "session.json"
_CONTENT: Final = "content"

Check = Callable[[Bundle], str | None]
"""Says why a session, as it lies in its bin, must not be removed; `None` where it may be."""


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


def remove(bundle: Bundle, archive: str | None, check: Check, log: Log) -> None:
    """Remove a session, and log it. Raises `Refused` where it changed or cannot be moved: then it stays."""
    note = Note(bundle.id, bundle.title, bundle.root, bundle.main, bundle.size, archive)
    bin = os.path.join(os.path.dirname(note.path), MOVING + bundle.id)
    try:
        os.mkdir(bin, 0o700)
        _write(bin, note)
        with claimed(bin):
            gone = _moved(bundle, bin, note, check)
            _delete(gone, note, log)
    except BlockingIOError as error:
        raise Refused("somebody else removes it right now") from error
    except OSError as error:
        raise Refused(reason_of(error, bin)) from error


def put_back(bin: str, note: Note) -> None:
    """Let a session be where it was, its own file last. Raises `Refused` where something new is in its place."""
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
    remove_tree(os.path.join(bin, _CONTENT))
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
        with open(os.path.join(bin, NOTE), "rb") as file:
            note = msgspec.convert(json.load(file), Note)
    except (OSError, ValueError, RecursionError, msgspec.ValidationError):
        return None
    home = os.path.join("", *note.main.split("/")[:-1])
    return note if os.path.dirname(bin).endswith(os.sep + home) else None


@contextmanager
def claimed(bin: str) -> Iterator[None]:
    """Let nobody else work on a bin, where the system has locks. Raises `BlockingIOError` where somebody does."""
    if not HAS_LOCKS:
        yield
        return
    import fcntl

    with open(os.path.join(bin, NOTE), "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def reason_of(error: OSError, place: str) -> str:
    """What went wrong, and where."""
    return f"{shown(error.filename or place)}: {error.strerror or error}"


def _moved(bundle: Bundle, bin: str, note: Note, check: Check) -> str:
    """The bin of a session that is gone; raises `OSError` or `Refused` after everything was put back."""
    try:
        _fill(bin, bundle, note)
        inside = bundle._replace(root=os.path.join(bin, _CONTENT))
        if (why := change_of(inside) or check(inside)) is not None:
            raise Refused(why)
        gone = os.path.join(os.path.dirname(bin), GONE + bundle.id)
        os.rename(bin, gone)
    except BaseException:
        put_back(bin, note)
        raise
    sync_folder(os.path.dirname(bin))
    return gone


def _fill(bin: str, bundle: Bundle, note: Note) -> None:
    """Move everything of a session into its bin, its own file first: without it, nobody goes on with the session."""
    inside = _inside(bin, note)
    os.mkdir(os.path.join(bin, _CONTENT))
    os.makedirs(inside)
    above = bundle.main.rpartition("/")[0]
    for item in bundle.items:
        folder, _, name = item.path.rpartition("/")
        if folder == above:
            os.rename(bundle.place(item), os.path.join(inside, name))
    sync_folder(inside)
    sync_folder(os.path.dirname(bin))


def _inside(bin: str, note: Note) -> str:
    """Where a bin has what was in the session's home: below a directory that is laid out like the store."""
    return os.path.join(bin, _CONTENT, *note.main.split("/")[:-1])


def _put(source: str, target: str) -> None:
    """Move without replacing anything. Raises `FileExistsError`."""
    if os.path.islink(source) or not os.path.isfile(source):
        if os.path.lexists(target):
            raise FileExistsError(target)
        os.rename(source, target)
        return
    try:
        place(source, target)
    except FileExistsError:
        if not os.path.samefile(source, target):  # a run that was killed may have come so far
            raise
    with contextlib.suppress(FileNotFoundError):
        os.remove(source)


def _delete(gone: str, note: Note, log: Log) -> None:
    try:
        empty(gone, note, log)
    except OSError as error:
        raise Refused(f"it is removed, but not all of it could be deleted: {reason_of(error, gone)}") from error


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
