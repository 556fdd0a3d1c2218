"""Takes sessions out of a store: all of each or nothing, whenever the process ends.

Everything of a session is moved into a bin beside it, from which it can go back. When all of it is there and nothing
has changed, the bin becomes one of the second kind, in one step: the session is gone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from claude_session_player.care.bins import (
    CONTENT,
    GONE,
    MOVING,
    Bin,
    Log,
    Note,
    claimed,
    discard,
    empty,
    fill,
    make,
    put_back,
    reason_of,
)
from claude_session_player.care.bundles import Bundle, Refused, change_of
from claude_session_player.care.directory import open_below
from claude_session_player.care.leases import Leases

Check = Callable[[Sequence[Bundle]], Iterable[str | None]]
"""Says for each session, as it lies in its bin, why it must not be removed; `None` where it may be.

It is asked when all of them are there, and for each answer when its session is decided on.
"""
Unleased = Callable[[int], None]
"""Is told on how many files of a session that is gone no lease could be had."""


class Leaving(NamedTuple):
    """A session that is to be removed."""

    bundle: Bundle
    archive: str | None = None
    """Where it is kept; `None` where it is not."""


def remove(
    leaving: Sequence[Leaving], check: Check, log: Log, unleased: Unleased | None = None
) -> Generator[str | None]:
    """Remove sessions, and log it. Gives for each, in order, why it stays, or `None` where it is gone.

    All are moved before the first is decided on. Whatever ends this before its time, what is undecided goes back.
    """
    with ExitStack() as undo:
        moved = [_moved(one, undo) for one in leaving]
        reasons = iter(check([one.inside for one in moved if isinstance(one, _Moved)]))
        for one in moved:
            if isinstance(one, str):
                yield one
                continue
            reason = next(reasons)
            with Leases(one.inside) as leases:
                outcome = _decided(one, leases, reason, log)
            if outcome is None and unleased is not None:
                unleased(leases.missing)
            yield outcome


class _Moved(NamedTuple):
    """A session in its bin: it can go back, or be gone."""

    bin: Bin
    note: Note
    inside: Bundle
    """The session as it lies there."""


def _moved(one: Leaving, undo: ExitStack) -> _Moved | str:
    """A session in its bin, or why it stays."""
    bundle = one.bundle
    note = Note(bundle.id, bundle.title, bundle.root, bundle.main, bundle.size, one.archive)
    place = os.path.dirname(note.path)
    try:
        home = undo.enter_context(open_below(bundle.root, place))
        bin = undo.enter_context(make(home, note))
        _claim(bin, undo)
    except BlockingIOError:
        return "somebody else removes it right now"
    except OSError as error:
        return reason_of(error, place)
    undo.callback(_put_back_undecided, bin, note)
    try:
        fill(bin, bundle, note)
    except Refused as error:
        return _returned(bin, note, str(error))
    except OSError as error:
        return _returned(bin, note, reason_of(error, bin.path))
    return _Moved(bin, note, bundle._replace(root=os.path.join(bin.path, CONTENT)))


def refusal_of(bin: Bin, inside: Bundle, leases: Leases, reason: str | None) -> str | None:
    """Why a session in its bin must not be deleted, for this reason or another; `None` where it may be.

    Leases come before the look at what has changed: after it, nobody can write any more without being noticed.
    """
    reason = change_of(inside) or reason or leases.refusal
    if reason is None and leases.are_broken:
        return "in use: somebody opens it for writing right now"
    if reason is None and not bin.is_there:
        return f"{bin.path} was taken away"
    return reason


def condemn(bin: Bin, note: Note, inside: Bundle, leases: Leases, reason: str | None) -> str | None:
    """Let a bin be one of the second kind, durably; gives why it is not, for this reason or another.

    It is looked at once more right before it is emptied: whoever has one of its directories open can still find it.
    """
    reason = refusal_of(bin, inside, leases, reason)
    if reason is None:
        bin.rename(GONE + note.id)
        bin.home.sync()
        reason = refusal_of(bin, inside._replace(root=os.path.join(bin.path, CONTENT)), leases, None)
        if reason is not None:
            bin.rename(MOVING + note.id)
    return reason


def _decided(moved: _Moved, leases: Leases, reason: str | None, log: Log) -> str | None:
    """Why a session is put back, unless it is gone."""
    bin, note, inside = moved
    try:
        reason = condemn(bin, note, inside, leases, reason)
    except OSError as error:
        reason = reason_of(error, bin.path)
        if bin.is_gone:  # whether it may be deleted is not known
            return f"it could neither be deleted nor put back, and waits in {bin.path}: {reason}"
    if reason is not None:
        leases.release()
        return _returned(bin, note, reason)
    try:
        empty(bin, note, log)
    except OSError as error:
        return f"it is removed, but not all of it could be deleted: {reason_of(error, bin.path)}"
    return None


def _returned(bin: Bin, note: Note, reason: str) -> str:
    """Put a session back; gives why, and where it is if that cannot be done."""
    try:
        put_back(bin, note)
    except Refused as error:
        return f"{reason}; {error}"
    except OSError as error:
        return f"{reason}; it could not be put back: {reason_of(error, bin.path)}"
    return reason


def _put_back_undecided(bin: Bin, note: Note) -> None:
    """Put a session back that is still in its bin; where that cannot be done, the next run says so."""
    with contextlib.suppress(Refused, OSError):
        if not bin.is_gone:
            put_back(bin, note)


def _claim(bin: Bin, undo: ExitStack) -> None:
    try:
        undo.enter_context(claimed(bin))
    except OSError:
        discard(bin)
        raise
