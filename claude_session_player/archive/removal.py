"""Removes sessions from a store in steps that can be undone, and finishes removals that were interrupted.

A session is moved into a trash directory beside it, checked there once more, and then deleted or moved back.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

import msgspec

from claude_session_player.archive.directories import OpenDirectory, open_below
from claude_session_player.archive.locks import OPENED_FOR_WRITING, Leases
from claude_session_player.archive.pack import SessionChanged
from claude_session_player.archive.session_files import (
    SessionFiles,
    SessionRefused,
    describe_change,
    session_files_below,
)
from claude_session_player.archive.trash import (
    CONTENT_NAME,
    INFO_NAME,
    REMOVED_PREFIX,
    REMOVING_PREFIX,
    RemovalLog,
    TrashDir,
    TrashInfo,
    claim_trash_dir,
    delete_trashed,
    discard_trash_dir,
    make_trash_dir,
    move_back,
    move_to_trash,
    read_trash_info,
    replace_trash_info,
)
from claude_session_player.store import KIND_OF_DIR, PROJECTS_DIR, ReadProblem
from claude_session_player.util.fsutil import describe_os_error

InUseCheck = Callable[[Sequence[SessionFiles]], Iterable[str | None]]
"""Gives for each session in its trash directory why it must not be removed; `None` if it may be.

It is called when all sessions have been moved; each reason is asked for right before its session is decided on.
"""
ReportUnleased = Callable[[int], None]
"""Called with the number of files of a removed session on which no lease was granted."""


class Removal(NamedTuple):
    """A session that is to be removed."""

    session: SessionFiles
    archive: str | None = None
    """The path of its archive; `None` if it is not archived."""


def remove_sessions(
    removals: Sequence[Removal], check: InUseCheck, log: RemovalLog, report_unleased: ReportUnleased | None = None
) -> Generator[str | None]:
    """Remove sessions and log it. Gives for each, in order, why it was not removed, or `None` if it was.

    All are moved before the first is decided on. If this ends early, all undecided sessions are moved back.
    """
    with ExitStack() as undo:
        trashed = [_move_to_trash(removal, undo) for removal in removals]
        reasons = iter(check([one.session for one in trashed if isinstance(one, _TrashedSession)]))
        for one in trashed:
            if isinstance(one, str):
                yield one
                continue
            reason = next(reasons)
            with Leases(one.session) as leases:
                outcome = _delete_or_move_back(one, leases, reason, log)
            if outcome is None and report_unleased is not None:
                report_unleased(leases.missing)
            yield outcome


class _TrashedSession(NamedTuple):
    """A session in its trash directory, from where it is deleted or moved back."""

    trash: TrashDir
    info: TrashInfo
    session: SessionFiles
    """Its files in the trash directory."""


def _move_to_trash(removal: Removal, undo: ExitStack) -> _TrashedSession | str:
    """Move a session into a trash directory; gives the reason if it cannot be moved."""
    session = removal.session
    info = TrashInfo(session.id, session.title, session.root, session.main, session.size, removal.archive)
    home_path = os.path.dirname(info.path)
    try:
        home = undo.enter_context(open_below(session.root, home_path))
        trash = undo.enter_context(make_trash_dir(home, info))
        _claim(trash, undo)
    except BlockingIOError:
        return "another process is removing it"
    except OSError as error:
        return describe_os_error(error, home_path)
    undo.callback(_move_back_if_undecided, trash, info)
    try:
        move_to_trash(trash, session, info)
    except SessionRefused as error:
        return _move_back_because(trash, info, str(error))
    except OSError as error:
        return _move_back_because(trash, info, describe_os_error(error, trash.path))
    return _TrashedSession(trash, info, session._replace(root=os.path.join(trash.path, CONTENT_NAME)))


def refusal_reason(trash: TrashDir, session: SessionFiles, leases: Leases, reason: str | None) -> str | None:
    """Why a session in its trash directory must not be deleted: the given reason or another; `None` if it may be.

    The leases are taken before changes are looked for, so that no write after that goes unnoticed.
    """
    reason = describe_change(session) or reason or leases.refusal
    if reason is None and leases.are_broken:
        return OPENED_FOR_WRITING
    if reason is None and not trash.is_in_place:
        return f"{trash.path} was moved away"
    return reason


def mark_for_deletion(
    trash: TrashDir, info: TrashInfo, session: SessionFiles, leases: Leases, reason: str | None
) -> str | None:
    """Mark a trash directory for deletion, durably; gives the reason if it must not be deleted.

    It is checked again after the renaming, because a process that has one of its directories open can still write.
    """
    reason = refusal_reason(trash, session, leases, reason)
    if reason is None:
        trash.rename(REMOVED_PREFIX + info.id)
        trash.home.sync()
        reason = refusal_reason(trash, session._replace(root=os.path.join(trash.path, CONTENT_NAME)), leases, None)
        if reason is not None:
            trash.rename(REMOVING_PREFIX + info.id)
    return reason


def _delete_or_move_back(trashed: _TrashedSession, leases: Leases, reason: str | None, log: RemovalLog) -> str | None:
    """Delete a session, or move it back; gives the reason if it was not deleted."""
    trash, info, session = trashed
    try:
        reason = mark_for_deletion(trash, info, session, leases, reason)
    except OSError as error:
        reason = describe_os_error(error, trash.path)
        if trash.is_gone:  # it is unknown whether it may be deleted
            return f"it could be neither deleted nor moved back, and is still in {trash.path}: {reason}"
    if reason is not None:
        leases.release()
        return _move_back_because(trash, info, reason)
    try:
        delete_trashed(trash, info, log)
    except OSError as error:
        return f"it was removed, but not all of it could be deleted: {describe_os_error(error, trash.path)}"
    return None


def _move_back_because(trash: TrashDir, info: TrashInfo, reason: str) -> str:
    """Move a session back; gives the reason, extended by the error if it cannot be moved."""
    try:
        move_back(trash, info)
    except SessionRefused as error:
        return f"{reason}; {error}"
    except OSError as error:
        return f"{reason}; it could not be moved back: {describe_os_error(error, trash.path)}"
    return reason


def _move_back_if_undecided(trash: TrashDir, info: TrashInfo) -> None:
    """Move a session back that is still in its trash directory; if that fails, the next run reports it."""
    with contextlib.suppress(SessionRefused, OSError):
        if not trash.is_gone:
            move_back(trash, info)


def _claim(trash: TrashDir, undo: ExitStack) -> None:
    try:
        undo.enter_context(claim_trash_dir(trash))
    except OSError:
        discard_trash_dir(trash)
        raise


class ArchiveFallback(NamedTuple):
    """How to archive a session that cannot be moved back because its place is taken."""

    archive: Callable[[SessionFiles], str]
    """Archives it, and gives the path of the archive. Raises `SessionRefused` or `SessionChanged`."""
    check: InUseCheck


_NOT_OURS: Final = (BlockingIOError, FileNotFoundError, NotADirectoryError)
"""Another process works on a trash directory or has finished with it, or it is not a directory."""


class FinishedRemoval(NamedTuple):
    """The result for a session whose removal was interrupted."""

    info: TrashInfo
    is_gone: bool
    """True if the removal was completed, False if the session was moved back."""
    reason: str | None = None
    """Why neither was possible."""
    archive: str | None = None
    """The path of the archive, if the session was archived because its place is taken."""


class PendingRemoval(NamedTuple):
    """A session whose removal was interrupted."""

    path: str
    """The trash directory that holds it."""
    info: TrashInfo | None
    """`None` if the directory does not describe its content."""
    reason: str | None = None
    """Why the directory cannot be read."""

    @property
    def is_gone(self) -> bool:
        """True if the removal is decided, and only the deletion remains."""
        return os.path.basename(self.path).startswith(REMOVED_PREFIX)


def finish_pending(
    roots: Sequence[str], log: RemovalLog, fallback: ArchiveFallback | None = None
) -> Iterator[FinishedRemoval]:
    """Complete every interrupted removal in these stores that was decided, and undo all others.

    With `fallback`, sessions that cannot be moved back because their place is taken are archived.
    """
    for home, names in _trash_dirs_in(roots):
        for name in names:
            with contextlib.suppress(OSError), TrashDir(home, name) as trash:  # `pending_removals` reports it
                if (info := read_trash_info(trash)) is not None:
                    yield _finish(trash, info, log, fallback)
                else:
                    _discard_unused(trash)


def pending_removals(roots: Sequence[str], problems: list[ReadProblem] | None = None) -> list[PendingRemoval]:
    """The sessions in these stores whose removal was interrupted, and which no other process works on.

    Directories that cannot be read, and may hold more of them, are added to `problems`.
    """
    pending = []
    for home, names in _trash_dirs_in(roots, problems):
        for name in names:
            try:
                pending += _pending_in(home, name)
            except _NOT_OURS:
                pass
            except OSError as error:
                pending.append(PendingRemoval(os.path.join(home.path, name), None, error.strerror or str(error)))
    return pending


def _pending_in(home: OpenDirectory, name: str) -> list[PendingRemoval]:
    with TrashDir(home, name) as trash:
        if (info := read_trash_info(trash)) is not None:
            with claim_trash_dir(trash):
                return [PendingRemoval(trash.path, info)]
        return [PendingRemoval(trash.path, None)] if trash.directory.status(CONTENT_NAME) is not None else []


def _finish(trash: TrashDir, info: TrashInfo, log: RemovalLog, fallback: ArchiveFallback | None) -> FinishedRemoval:
    is_gone, archive = trash.is_gone, None
    try:
        with claim_trash_dir(trash):
            if is_gone:
                delete_trashed(trash, info, log)
            else:
                try:
                    move_back(trash, info)
                except SessionRefused:
                    if fallback is None:
                        raise
                    archive = _archive_instead(trash, info, log, fallback)
    except BlockingIOError:
        raise
    except (SessionRefused, SessionChanged) as error:
        return FinishedRemoval(info, is_gone, str(error))
    except OSError as error:
        return FinishedRemoval(info, is_gone, describe_os_error(error, trash.path))
    return FinishedRemoval(info, is_gone, archive=archive)


def _archive_instead(trash: TrashDir, info: TrashInfo, log: RemovalLog, fallback: ArchiveFallback) -> str:
    """Archive a session, and delete it from its trash directory; gives the path of the archive.

    As in any removal, only what was archived and is not in use is deleted. The description names the archive before
    the directory is marked for deletion, so that a later run which finishes it can log that.
    """
    session = session_files_below(os.path.join(trash.path, CONTENT_NAME), info.main, title=info.title, origin=info.root)
    if not _is_in(trash, session):
        raise SessionRefused(f"{trash.path} was moved away")
    info = msgspec.structs.replace(info, archive=fallback.archive(session))
    replace_trash_info(trash, info)
    with Leases(session) as leases:
        in_use = next(iter(fallback.check([session])))
        if (reason := mark_for_deletion(trash, info, session, leases, in_use)) is not None:
            raise SessionRefused(reason)
        delete_trashed(trash, info, log)
    return info.archive or ""


def _is_in(trash: TrashDir, session: SessionFiles) -> bool:
    """True if files that were found by path are those in the open trash directory."""
    for item in session.items:
        *parents, name = item.path.split("/")
        with trash.directory.descend((CONTENT_NAME, *parents)) as directory:
            status = directory.status(name)
        if status is None or (status.st_ino, status.st_dev) != (item.inode, item.device):
            return False
    return True


def _discard_unused(trash: TrashDir) -> None:
    """Delete a trash directory into which nothing was moved; any other content is left alone."""
    names = trash.directory.names()
    if names == [INFO_NAME]:
        with claim_trash_dir(trash):
            discard_trash_dir(trash)
    elif not names:
        trash.home.remove_empty(trash.name)


def _trash_dirs_in(
    roots: Sequence[str], problems: list[ReadProblem] | None = None
) -> Iterator[tuple[OpenDirectory, list[str]]]:
    """The directories that hold sessions, each open, with the names of the trash directories in it."""
    for root in roots:
        for path in _session_homes(root, problems):
            try:
                with open_below(root, path) as home:
                    yield (
                        home,
                        sorted(name for name in home.names() if name.startswith((REMOVING_PREFIX, REMOVED_PREFIX))),
                    )
            except _NOT_OURS:  # also raised for a link out of the store
                pass
            except OSError as error:
                _add_problem(problems, path, error)


def _session_homes(root: str, problems: list[ReadProblem] | None) -> list[str]:
    """The paths of all directories that hold sessions."""
    homes = [os.path.join(root, name) for name in KIND_OF_DIR]
    projects = os.path.join(root, PROJECTS_DIR)
    try:
        homes += [os.path.join(projects, name) for name in sorted(os.listdir(projects))]
    except _NOT_OURS:
        pass
    except OSError as error:
        _add_problem(problems, projects, error)
    return homes


def _add_problem(problems: list[ReadProblem] | None, path: str, error: OSError) -> None:
    if problems is not None:
        problems.append(ReadProblem(path, error.strerror or str(error)))
