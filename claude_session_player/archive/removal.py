"""Finishes what a removal that was killed left behind: bins in the homes of sessions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

import msgspec

from claude_session_player.archive.handles import OpenDirectory, open_below
from claude_session_player.archive.pack import SessionChanged
from claude_session_player.archive.session_files import (
    SessionFiles,
    SessionRefused,
    describe_change,
    session_files_below,
)
from claude_session_player.archive.trash import (
    CONTENT,
    NOTE,
    REMOVED_PREFIX,
    REMOVING_PREFIX,
    Leases,
    Log,
    TrashDir,
    TrashNote,
    claim_trash_dir,
    delete_trashed,
    discard_trash_dir,
    make_trash_dir,
    move_back,
    move_to_trash,
    os_error_reason,
    read_note,
    replace_note,
)
from claude_session_player.store import KIND_OF_DIR, PROJECTS_DIR, ReadProblem

Check = Callable[[Sequence[SessionFiles]], Iterable[str | None]]
"""Says for each session, as it lies in its bin, why it must not be removed; `None` where it may be.

It is asked when all of them are there, and for each answer when its session is decided on.
"""
Unleased = Callable[[int], None]
"""Is told on how many files of a session that is gone no lease could be had."""


class Removal(NamedTuple):
    """A session that is to be removed."""

    bundle: SessionFiles
    archive: str | None = None
    """Where it is kept; `None` where it is not."""


def remove_sessions(
    leaving: Sequence[Removal], check: Check, log: Log, unleased: Unleased | None = None
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

    bin: TrashDir
    note: TrashNote
    inside: SessionFiles
    """The session as it lies there."""


def _moved(one: Removal, undo: ExitStack) -> _Moved | str:
    """A session in its bin, or why it stays."""
    bundle = one.bundle
    note = TrashNote(bundle.id, bundle.title, bundle.root, bundle.main, bundle.size, one.archive)
    place = os.path.dirname(note.path)
    try:
        home = undo.enter_context(open_below(bundle.root, place))
        bin = undo.enter_context(make_trash_dir(home, note))
        _claim(bin, undo)
    except BlockingIOError:
        return "somebody else removes it right now"
    except OSError as error:
        return os_error_reason(error, place)
    undo.callback(_put_back_undecided, bin, note)
    try:
        move_to_trash(bin, bundle, note)
    except SessionRefused as error:
        return _returned(bin, note, str(error))
    except OSError as error:
        return _returned(bin, note, os_error_reason(error, bin.path))
    return _Moved(bin, note, bundle._replace(root=os.path.join(bin.path, CONTENT)))


def refusal_reason(bin: TrashDir, inside: SessionFiles, leases: Leases, reason: str | None) -> str | None:
    """Why a session in its bin must not be deleted, for this reason or another; `None` where it may be.

    Leases come before the look at what has changed: after it, nobody can write any more without being noticed.
    """
    reason = describe_change(inside) or reason or leases.refusal
    if reason is None and leases.are_broken:
        return "in use: somebody opens it for writing right now"
    if reason is None and not bin.is_there:
        return f"{bin.path} was taken away"
    return reason


def mark_for_deletion(
    bin: TrashDir, note: TrashNote, inside: SessionFiles, leases: Leases, reason: str | None
) -> str | None:
    """Let a bin be one of the second kind, durably; gives why it is not, for this reason or another.

    It is looked at once more right before it is emptied: whoever has one of its directories open can still find it.
    """
    reason = refusal_reason(bin, inside, leases, reason)
    if reason is None:
        bin.rename(REMOVED_PREFIX + note.id)
        bin.home.sync()
        reason = refusal_reason(bin, inside._replace(root=os.path.join(bin.path, CONTENT)), leases, None)
        if reason is not None:
            bin.rename(REMOVING_PREFIX + note.id)
    return reason


def _decided(moved: _Moved, leases: Leases, reason: str | None, log: Log) -> str | None:
    """Why a session is put back, unless it is gone."""
    bin, note, inside = moved
    try:
        reason = mark_for_deletion(bin, note, inside, leases, reason)
    except OSError as error:
        reason = os_error_reason(error, bin.path)
        if bin.is_gone:  # whether it may be deleted is not known
            return f"it could neither be deleted nor put back, and waits in {bin.path}: {reason}"
    if reason is not None:
        leases.release()
        return _returned(bin, note, reason)
    try:
        delete_trashed(bin, note, log)
    except OSError as error:
        return f"it is removed, but not all of it could be deleted: {os_error_reason(error, bin.path)}"
    return None


def _returned(bin: TrashDir, note: TrashNote, reason: str) -> str:
    """Put a session back; gives why, and where it is if that cannot be done."""
    try:
        move_back(bin, note)
    except SessionRefused as error:
        return f"{reason}; {error}"
    except OSError as error:
        return f"{reason}; it could not be put back: {os_error_reason(error, bin.path)}"
    return reason


def _put_back_undecided(bin: TrashDir, note: TrashNote) -> None:
    """Put a session back that is still in its bin; where that cannot be done, the next run says so."""
    with contextlib.suppress(SessionRefused, OSError):
        if not bin.is_gone:
            move_back(bin, note)


def _claim(bin: TrashDir, undo: ExitStack) -> None:
    try:
        undo.enter_context(claim_trash_dir(bin))
    except OSError:
        discard_trash_dir(bin)
        raise


class KeepSession(NamedTuple):
    """What is done with a session that cannot be put back."""

    archive: Callable[[SessionFiles], str]
    """Puts it into the archive, and gives its path there. Raises `SessionRefused` or `SessionChanged`."""
    check: Check
    """Says whether it is in use."""


_ELSEWHERE: Final = (BlockingIOError, FileNotFoundError, NotADirectoryError)
"""Somebody else works on a bin, or has done so; or it is none."""


class FinishedRemoval(NamedTuple):
    """What became of a session whose removal was interrupted."""

    note: TrashNote
    is_gone: bool
    """True where the removal was completed, False where the session was put back."""
    reason: str | None = None
    """Why neither could be done."""
    archive: str | None = None
    """Where the session is kept instead of being put back: something new is in its place."""


class PendingRemoval(NamedTuple):
    """A session whose removal was interrupted."""

    path: str
    """The directory in which it lies."""
    note: TrashNote | None
    """`None` where the directory does not say what is in it."""
    reason: str | None = None
    """Why it cannot be looked into."""

    @property
    def is_gone(self) -> bool:
        """True where the removal was decided, and only remains to be completed."""
        return os.path.basename(self.path).startswith(REMOVED_PREFIX)


def finish_pending(roots: Sequence[str], log: Log, keep: KeepSession | None = None) -> Iterator[FinishedRemoval]:
    """Complete every removal of these stores that was decided, and take back every other one.

    A session that cannot be taken back, because something new is in its place, goes into the archive with `keep`.
    """
    for home, names in _bins_of(roots):
        for name in names:
            with contextlib.suppress(OSError), TrashDir(home, name) as bin:  # `pending` tells of it
                if (note := read_note(bin)) is not None:
                    yield _finished(bin, note, log, keep)
                else:
                    _discard_unused(bin)


def pending_removals(roots: Sequence[str], troubles: list[ReadProblem] | None = None) -> list[PendingRemoval]:
    """The sessions of these stores whose removal was begun and not finished, and which nobody works on right now.

    Directories in which there may be more of them, and that cannot be read, are added to the troubles.
    """
    found = []
    for home, names in _bins_of(roots, troubles):
        for name in names:
            try:
                found += _waiting(home, name)
            except _ELSEWHERE:
                pass
            except OSError as error:
                found.append(PendingRemoval(os.path.join(home.path, name), None, error.strerror or str(error)))
    return found


def _waiting(home: OpenDirectory, name: str) -> list[PendingRemoval]:
    with TrashDir(home, name) as bin:
        if (note := read_note(bin)) is not None:
            with claim_trash_dir(bin):
                return [PendingRemoval(bin.path, note)]
        return [PendingRemoval(bin.path, None)] if bin.folder.status(CONTENT) is not None else []


def _finished(bin: TrashDir, note: TrashNote, log: Log, keep: KeepSession | None) -> FinishedRemoval:
    is_gone, archive = bin.is_gone, None
    try:
        with claim_trash_dir(bin):
            if is_gone:
                delete_trashed(bin, note, log)
            else:
                try:
                    move_back(bin, note)
                except SessionRefused:
                    if keep is None:
                        raise
                    archive = _kept(bin, note, log, keep)
    except BlockingIOError:
        raise
    except (SessionRefused, SessionChanged) as error:
        return FinishedRemoval(note, is_gone, str(error))
    except OSError as error:
        return FinishedRemoval(note, is_gone, os_error_reason(error, bin.path))
    return FinishedRemoval(note, is_gone, archive=archive)


def _kept(bin: TrashDir, note: TrashNote, log: Log, keep: KeepSession) -> str:
    """Put a session into the archive, and delete it from its bin; gives the path of the archive.

    What is deleted is what was archived, and nobody writes to it: both are asked as in any removal. The bin says where
    the session is kept before it becomes one of the second kind: whoever finishes it logs that.
    """
    bundle = session_files_below(os.path.join(bin.path, CONTENT), note.main, title=note.title, origin=note.root)
    if not _is_in(bin, bundle):
        raise SessionRefused(f"{bin.path} was taken away")
    note = msgspec.structs.replace(note, archive=keep.archive(bundle))
    replace_note(bin, note)
    with Leases(bundle) as leases:
        if (reason := mark_for_deletion(bin, note, bundle, leases, next(iter(keep.check([bundle]))))) is not None:
            raise SessionRefused(reason)
        delete_trashed(bin, note, log)
    return note.archive or ""


def _is_in(bin: TrashDir, bundle: SessionFiles) -> bool:
    """True where a bundle that was found by its path is what lies in a bin that is open."""
    for item in bundle.items:
        *way, name = item.path.split("/")
        with bin.folder.descend((CONTENT, *way)) as folder:
            status = folder.status(name)
        if status is None or (status.st_ino, status.st_dev) != (item.inode, item.device):
            return False
    return True


def _discard_unused(bin: TrashDir) -> None:
    """Delete a bin into which nothing was ever moved; one that is not ours stays."""
    names = bin.folder.names()
    if names == [NOTE]:
        with claim_trash_dir(bin):
            discard_trash_dir(bin)
    elif not names:
        bin.home.remove_empty(bin.name)


def _bins_of(
    roots: Sequence[str], troubles: list[ReadProblem] | None = None
) -> Iterator[tuple[OpenDirectory, list[str]]]:
    """The homes of sessions, each open, with the names of bins in it."""
    for root in roots:
        for path in _homes(root, troubles):
            try:
                with open_below(root, path) as home:
                    yield (
                        home,
                        sorted(name for name in home.names() if name.startswith((REMOVING_PREFIX, REMOVED_PREFIX))),
                    )
            except _ELSEWHERE:  # a link out of the store, too
                pass
            except OSError as error:
                _note(troubles, path, error)


def _homes(root: str, troubles: list[ReadProblem] | None) -> list[str]:
    """The paths of all homes of sessions."""
    homes = [os.path.join(root, name) for name in KIND_OF_DIR]
    projects = os.path.join(root, PROJECTS_DIR)
    try:
        homes += [os.path.join(projects, name) for name in sorted(os.listdir(projects))]
    except _ELSEWHERE:
        pass
    except OSError as error:
        _note(troubles, projects, error)
    return homes


def _note(troubles: list[ReadProblem] | None, path: str, error: OSError) -> None:
    if troubles is not None:
        troubles.append(ReadProblem(path, error.strerror or str(error)))
