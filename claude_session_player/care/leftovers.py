"""Finishes what a removal that was killed left behind: bins in the homes of sessions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from claude_session_player.care.bins import (
    GONE,
    MOVING,
    NOTE,
    Log,
    Note,
    claimed,
    discard,
    empty,
    put_back,
    read_note,
    reason_of,
)
from claude_session_player.care.bundles import Refused
from claude_session_player.store.locate import HISTORIES, PROJECTS, TRANSCRIPTS


class Finished(NamedTuple):
    """What became of a session whose removal was interrupted."""

    note: Note
    is_gone: bool
    """True where the removal was completed, False where the session was put back."""
    reason: str | None = None
    """Why neither could be done."""


def finish(roots: Sequence[str], log: Log) -> Iterator[Finished]:
    """Complete every removal of these stores that was decided, and take back every other one."""
    for root in roots:
        for bin in _bins(root):
            with contextlib.suppress(OSError):  # somebody else works on it, or did so, or may alone look into it
                if (note := read_note(bin)) is not None:
                    yield _finished(bin, note, log)
                else:
                    _discard_unused(bin)


def pending(roots: Sequence[str]) -> list[Note]:
    """The sessions of these stores whose removal was begun and not finished."""
    notes = [read_note(bin) for root in roots for bin in _bins(root)]
    return [note for note in notes if note is not None]


def _finished(bin: str, note: Note, log: Log) -> Finished:
    is_gone = os.path.basename(bin).startswith(GONE)
    try:
        with claimed(bin):
            if is_gone:
                empty(bin, note, log)
            else:
                put_back(bin, note)
    except BlockingIOError:
        raise
    except Refused as error:
        return Finished(note, is_gone, str(error))
    except OSError as error:
        return Finished(note, is_gone, reason_of(error, bin))
    return Finished(note, is_gone)


def _discard_unused(bin: str) -> None:
    """Delete a bin into which nothing was ever moved; one that is not ours stays."""
    names = os.listdir(bin)
    if names == [NOTE]:
        with claimed(bin):
            discard(bin)
    elif not names:
        os.rmdir(bin)


def _bins(root: str) -> Iterator[str]:
    homes = [os.path.join(root, name) for name in (TRANSCRIPTS, HISTORIES)]
    projects = os.path.join(root, PROJECTS)
    homes += [os.path.join(projects, name) for name in _folders(projects, linked=True)]
    for home in homes:
        for name in _folders(home):
            if name.startswith((MOVING, GONE)):
                yield os.path.join(home, name)


def _folders(path: str, linked: bool = False) -> list[str]:
    """The directories in a directory, in order; links to some only where they are wanted."""
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=linked))
    except OSError:
        return []
