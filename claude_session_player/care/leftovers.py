"""Finishes what a removal that was killed left behind: bins in the homes of sessions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from claude_session_player.care.bins import (
    CONTENT,
    GONE,
    MOVING,
    NOTE,
    Bin,
    Log,
    Note,
    change_note,
    claimed,
    discard,
    empty,
    put_back,
    read_note,
    reason_of,
)
from claude_session_player.care.bundles import Bundle, Refused, bundle_below, change_of
from claude_session_player.care.directory import Directory, open_below
from claude_session_player.care.packing import Changed
from claude_session_player.store.locate import HISTORIES, PROJECTS, TRANSCRIPTS

Keep = Callable[[Bundle], str]
"""Puts a session into the archive, and gives the path of it there. Raises `Refused` or `Changed`."""


class Finished(NamedTuple):
    """What became of a session whose removal was interrupted."""

    note: Note
    is_gone: bool
    """True where the removal was completed, False where the session was put back."""
    reason: str | None = None
    """Why neither could be done."""
    archive: str | None = None
    """Where the session is kept instead of being put back: something new is in its place."""


class Waiting(NamedTuple):
    """A session whose removal was interrupted."""

    path: str
    """The directory in which it lies."""
    note: Note | None
    """`None` where the directory does not say what is in it."""

    @property
    def is_gone(self) -> bool:
        """True where the removal was decided, and only remains to be completed."""
        return os.path.basename(self.path).startswith(GONE)


def finish(roots: Sequence[str], log: Log, keep: Keep | None = None) -> Iterator[Finished]:
    """Complete every removal of these stores that was decided, and take back every other one.

    A session that cannot be taken back, because something new is in its place, goes into the archive with `keep`.
    """
    for root in roots:
        for home in _homes(root):
            with home:
                for name in _names_of_bins(home):
                    with contextlib.suppress(OSError), Bin(home, name) as bin:  # somebody else works on it, or did so
                        if (note := read_note(bin)) is not None:
                            yield _finished(bin, note, log, keep)
                        else:
                            _discard_unused(bin)


def pending(roots: Sequence[str]) -> list[Waiting]:
    """The sessions of these stores whose removal was begun and not finished, and which nobody works on right now."""
    found = []
    for root in roots:
        for home in _homes(root):
            with home:
                for name in _names_of_bins(home):
                    with contextlib.suppress(OSError), Bin(home, name) as bin:
                        if (note := read_note(bin)) is not None:
                            with claimed(bin):
                                found.append(Waiting(bin.path, note))
                        elif bin.folder.status(CONTENT) is not None:
                            found.append(Waiting(bin.path, None))
    return found


def _finished(bin: Bin, note: Note, log: Log, keep: Keep | None) -> Finished:
    is_gone, archive = bin.is_gone, None
    try:
        with claimed(bin):
            if is_gone:
                empty(bin, note, log)
            else:
                try:
                    put_back(bin, note)
                except Refused:
                    if keep is None:
                        raise
                    archive = _kept(bin, note, log, keep)
    except BlockingIOError:
        raise
    except (Refused, Changed) as error:
        return Finished(note, is_gone, str(error))
    except OSError as error:
        return Finished(note, is_gone, reason_of(error, bin.path))
    return Finished(note, is_gone, archive=archive)


def _kept(bin: Bin, note: Note, log: Log, keep: Keep) -> str:
    """Put a session into the archive, and delete it from its bin; gives the path of the archive.

    The bin says where the session is kept before it becomes one of the second kind: whoever finishes it logs that.
    """
    bundle = bundle_below(os.path.join(bin.path, CONTENT), note.main, title=note.title, origin=note.root)
    archive = keep(bundle)
    if (change := change_of(bundle)) is not None:
        raise Refused(f"{change} while it was archived")
    note = msgspec.structs.replace(note, archive=archive)
    change_note(bin, note)
    bin.rename(GONE + note.id)
    bin.home.sync()
    empty(bin, note, log)
    return archive


def _discard_unused(bin: Bin) -> None:
    """Delete a bin into which nothing was ever moved; one that is not ours stays."""
    names = bin.folder.names()
    if names == [NOTE]:
        with claimed(bin):
            discard(bin)
    elif not names:
        bin.home.remove_empty(bin.name)


def _homes(root: str) -> Iterator[Directory]:
    """The homes of sessions, as far as they are in the store and may be looked into."""
    homes = [os.path.join(root, name) for name in (TRANSCRIPTS, HISTORIES)]
    projects = os.path.join(root, PROJECTS)
    with contextlib.suppress(OSError):
        homes += [os.path.join(projects, name) for name in sorted(os.listdir(projects))]
    for home in homes:
        with contextlib.suppress(OSError):
            yield open_below(root, home)


def _names_of_bins(home: Directory) -> list[str]:
    with contextlib.suppress(OSError):
        return sorted(name for name in home.names() if name.startswith((MOVING, GONE)))
    return []
