"""Sessions that continue others: a resumed or forked session begins with the events of the one that it continues.

Copies keep their uuids, so files with common events belong together. Only files of the same project, and copies made
before compactions, are searched; a file is read only as far as necessary, and never as a whole into memory.
"""

from __future__ import annotations

import contextlib
import os
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.errors import CannotRead
from claude_session_player.format.blocks import DECODE_ERRORS, type_tag
from claude_session_player.format.events import Assistant, User
from claude_session_player.format.line_reader import read_lines, read_portions
from claude_session_player.format.partial_records import EventIdentity, decode_event_identity
from claude_session_player.parser import open_session
from claude_session_player.store import ReadProblem, SessionFile, SessionKind, StoreWalk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claude_session_player.store import Session, Store

_HEAD: Final = 200
"""The number of lines that are the beginning of a session."""
_NEEDLES: Final = 3
_SPOKEN: Final = frozenset((type_tag(User), type_tag(Assistant)))


class Relative(NamedTuple):
    """A session that has common events with another one, or continues it."""

    session: Session
    common: int
    """The number of events that both files have."""
    is_older: bool
    """True if the other session continues it; false if it continues the other."""


def chain_of(session: Session, store: Store) -> list[Session]:
    """The sessions that a session continues, the oldest first, and the session itself."""
    chain = [session]
    known = {session.path}
    while True:
        older = [relative for relative in relatives_of(chain[0], store, known) if relative.is_older]
        if not older:
            return chain
        chain[:0] = [relative.session for relative in older]
        known.update(relative.session.path for relative in older)


def relatives_of(session: Session, store: Store, known: Iterable[str] = ()) -> list[Relative]:
    """The sessions that a session continues, the oldest first, and then those that continue it.

    A file that cannot be read is a problem of the store; if it is the session's own, raises `CannotRead` or `OSError`.
    """
    if session.is_subagent:
        return []
    head = _Head.of(session.path)
    passed_over = {session.path, *known}
    files = [file for file in _candidates(session.file, head, store) if file.path not in passed_over]
    found: list[Relative] = []
    own = _Content.of(session.path) if files else _Content({}, frozenset())
    for file in files:
        try:
            is_older = _is_continued(head, own, file.path)
            if is_older is not None:
                common = len(own.spoken.keys() & _Content.of(file.path).spoken.keys())
                found.append(Relative(store.session_of(file), common, is_older))
        except (CannotRead, OSError) as error:  # it may be a relative, so the list may be incomplete
            if os.path.lexists(file.path):
                store.note(ReadProblem(file.path, getattr(error, "strerror", None) or str(error)))
    return sorted(found, key=lambda relative: (not relative.is_older, relative.common, relative.session.updated_at))


def _is_continued(head: _Head, own: _Content, path: str) -> bool | None:
    """True for a file that a session continues, false for one that continues it, `None` for any other."""
    if _holds(path, head.needles):
        other = _Content.of(path)
        if common := own.spoken.keys() & other.spoken.keys():
            return _came_first(other.spoken, own.spoken, common)
        if not head.pointers.isdisjoint(other.uuids):
            return True
    return None if _Head.of(path).pointers.isdisjoint(own.uuids) else False


class _Head(NamedTuple):
    """What the beginning of a file says about its origin."""

    needles: tuple[bytes, ...]
    """The uuids of the first events, and of earlier events that they refer to."""
    pointers: frozenset[str]
    """The uuids of these earlier events."""
    sessions: frozenset[str]
    """Sessions that it names."""

    @classmethod
    def of(cls, path: str) -> _Head:
        seen: list[EventIdentity] = list(islice(_records(path), _HEAD))
        own = {record.uuid for record in seen if record.uuid}
        spoken = [r.uuid for r in seen if r.uuid and r.type in _SPOKEN and not r.is_meta][:_NEEDLES]
        first = next((record for record in seen if record.uuid), EventIdentity())
        forks = [record.forked_from for record in seen if record.forked_from]
        named = (first.parent_uuid, first.logical_parent_uuid, *(fork.message_uuid for fork in forks))
        pointers = frozenset(uuid for uuid in named if uuid) - own
        needles = dict.fromkeys((*spoken, *sorted(pointers)))
        sessions = frozenset(fork.session_id for fork in forks if fork.session_id)
        return cls(tuple(uuid.encode(errors="replace") for uuid in needles), pointers, sessions)


class _Content(NamedTuple):
    """The uuids of a file."""

    spoken: dict[str, str | None]
    """Those of prompts and responses, with their times."""
    uuids: frozenset[str]
    """Those of all records."""

    @classmethod
    def of(cls, path: str) -> _Content:
        spoken: dict[str, str | None] = {}
        uuids = set()
        for record in _records(path):
            if record.uuid:
                uuids.add(record.uuid)
                if record.type in _SPOKEN and not record.is_meta:
                    spoken.setdefault(record.uuid, record.timestamp)
        return cls(spoken, frozenset(uuids))


def _candidates(found: SessionFile, head: _Head, store: Store) -> Iterator[SessionFile]:
    """The files that a session may continue, or that may continue it."""
    is_stored = found.path.startswith(tuple(os.path.join(root, "") for root in store.roots))
    for file in store.files() if is_stored else StoreWalk().project(found.home):
        is_near = file.kind == SessionKind.SESSION and (file.home == found.home or file.id in head.sessions)
        if is_near or _is_history(file, found) or _is_history(found, file):
            yield file


def _is_history(file: SessionFile, session: SessionFile) -> bool:
    """True for a copy of a session that was made before a compaction."""
    return (
        file.kind == SessionKind.PRE_COMPACT
        and session.kind == SessionKind.SESSION
        and file.id.startswith(f"{session.id}-")
    )


def _holds(path: str, needles: Iterable[bytes]) -> bool:
    """True if any of these occurs in a file, which is read in portions up to the first occurrence."""
    wanted = tuple(needles)
    overlap = max(map(len, wanted), default=1) - 1
    rest = b""
    with open_session(path) as file:
        for portion in read_portions(file):
            data = rest + portion
            if any(needle in data for needle in wanted):
                return True
            rest = data[-overlap:] if overlap else b""
    return False


def _came_first(theirs: dict[str, str | None], own: dict[str, str | None], common: set[str]) -> bool:
    """True if another file is older: it has nothing more, or it continued before this one did."""
    left = [time or "" for uuid, time in theirs.items() if uuid not in common]
    mine = [time or "" for uuid, time in own.items() if uuid not in common]
    if not left or not mine:
        return not left
    return min(left) <= min(mine)


def _records(path: str) -> Iterator[EventIdentity]:
    """The records of a file that can be decoded. Raises `CannotRead` or `OSError`."""
    with open_session(path) as file:
        for line in read_lines(file):
            if not line.isspace():
                with contextlib.suppress(*DECODE_ERRORS):
                    yield decode_event_identity(line)
