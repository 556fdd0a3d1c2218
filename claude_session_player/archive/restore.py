"""Restoring: archived sessions are put back into a store, byte for byte, and nothing there is ever overwritten."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.archive.archive_dir import ArchivedSession, has_main_file
from claude_session_player.archive.handles import (
    OpenDirectory,
    create_below,
    discarding_empty_dirs,
    make_dirs,
    require_space,
    reserve_dir,
    write_new_file,
)
from claude_session_player.archive.pack import Unpacker, open_archive, report_progress
from claude_session_player.archive.session_files import EACH, FILE, FOLDER, Progress, SessionRefused
from claude_session_player.errors import BadArchive, CannotRead, CannotWrite, NoSpace, NoStore, SessionError
from claude_session_player.store import ROOTS_VARIABLE, default_roots, read_document
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.text import display_path
from claude_session_player.util.times import wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.archive.manifest import Manifest, ManifestEntry
    from claude_session_player.store import ReadProblem

RESTORED: Final = "restored"
PRESENT: Final = "present"
"""All of it is in the store already."""
SKIPPED: Final = "skipped"
STAGING: Final = ".restore-"
"""No longer than what a session is called while it is removed: what could be removed can be put back."""
_ADVICE: Final = "free some, or restore to another disk with --root"
_ONLY_THIS: Final = frozenset(
    (errno.ENAMETOOLONG, errno.EILSEQ, errno.EFBIG, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ELOOP)
)
"""What hinders one session, and no other, from being put back."""
_FOLDER_MODE: Final = 0o755
_FILE_MODE: Final = 0o644
"""The most that an archive may allow: no file of a session is a program, and only its owner writes to it."""
_PERIOD: Final = "cleanupPeriodDays"
_USUAL_PERIOD: Final = 30
_DAY: Final = 24 * 60 * 60


class RestoreStep(NamedTuple):
    """An archived session, and the store into which it is to be put."""

    archived: ArchivedSession
    root: str
    others: tuple[ArchivedSession, ...] = ()
    """Other versions of it, the best first: one of them takes its place where it turns out to be damaged."""
    error: SessionError | None = None
    """Why there is no store for it."""


class RestoreOutcome(NamedTuple):
    """What became of an archived session."""

    archived: ArchivedSession
    status: str
    root: str
    error: SessionError | None = None
    """Why it was skipped."""


def plan_restore(archives: Iterable[ArchivedSession], root: str | None = None) -> list[RestoreStep]:
    """Where each session is to be put: into the named store, else into the usual one. Raises `NoStore`."""
    return [RestoreStep(archived, _root_for(archived.manifest, root)) for archived in archives]


def plan_restore_all(archives: Sequence[ArchivedSession], root: str | None = None) -> list[RestoreStep]:
    """The same for a whole archive: of what has the same place, the best version, and rather one from that store.

    A session that fits into no store is no reason to leave the others alone.
    """
    steps = [_step(archived, root) for archived in archives]
    versions: dict[tuple[str, str], list[RestoreStep]] = {}
    for step in sorted(steps, key=_worth):
        versions.setdefault((step.archived.manifest.main, step.root), []).append(step)
    best = {id(last): tuple(step.archived for step in rest[::-1]) for *rest, last in versions.values()}
    return [step._replace(others=best[id(step)]) for step in steps if id(step) in best]


def _step(archived: ArchivedSession, root: str | None) -> RestoreStep:
    try:
        return RestoreStep(archived, _root_for(archived.manifest, root))
    except NoStore as error:
        return RestoreStep(archived, "", error=error)


def _worth(step: RestoreStep) -> tuple[bool, bool, str]:
    manifest = step.archived.manifest
    comes_from_there = os.path.realpath(manifest.root) == os.path.realpath(step.root)
    return has_main_file(step.archived), comes_from_there, manifest.archived_at


def restore_sessions(steps: Iterable[RestoreStep], progress: Progress | None = None) -> Iterator[RestoreOutcome]:
    """Do it, one session after the other; one that cannot be put back is skipped, and nothing of it is written.

    Raises `CannotWrite` where the store cannot be written to.
    """
    for step in steps:
        for archived in (step.archived, *step.others):
            outcome = _applied(step._replace(archived=archived), progress)
            yield outcome
            if not isinstance(outcome.error, BadArchive):
                break
        report_progress(progress, EACH)


def _applied(step: RestoreStep, progress: Progress | None) -> RestoreOutcome:
    archived, root = step.archived, step.root
    if step.error is not None:
        return RestoreOutcome(archived, SKIPPED, root, step.error)
    try:
        status = PRESENT if restore_session(archived.path, root, progress) is None else RESTORED
        return RestoreOutcome(archived, status, root)
    except SessionError as error:
        if isinstance(error, CannotWrite) and not isinstance(error, NoSpace):
            raise
        return RestoreOutcome(archived, SKIPPED, root, error)


def restore_session(path: str, root: str, progress: Progress | None = None) -> Manifest | None:
    """Put an archived session into a store; `None` where all of it is there already.

    Raises `BadArchive`, `CannotRead`, `SessionRefused` where something else is in its place, or `CannotWrite`.
    """
    try:
        with open_archive(path) as archive:
            home = _place(root, archive.manifest.main.rpartition("/")[0])
            staging = os.path.join(home, STAGING + archive.manifest.id)
            _refuse_ways_out(home, root)
            missing = [entry for entry in archive.manifest.entries if _is_missing(entry, _place(root, entry.path))]
            if not missing and not os.path.lexists(staging):
                return None
            require_space(home, (entry.size for entry in missing), _ADVICE)
            with discarding_empty_dirs(home):
                make_dirs(root)
                with create_below(root, home) as folder:
                    with reserve_dir(folder, os.path.basename(staging)) as staged:
                        _put(archive, missing, folder, staged, progress)
                    folder.sync()
            return archive.manifest if missing else None
    except BlockingIOError as error:
        raise SessionRefused(f"another {PROGRAM} restores it right now") from error
    except OSError as error:
        kind = CannotRead if error.filename == path else SessionRefused if error.errno in _ONLY_THIS else CannotWrite
        raise kind(f"{display_path(error.filename or root)}: {error.strerror or error}") from error


def cleanup_period(root: str) -> int:
    """After how many days without use Claude Code deletes the sessions of a store."""
    troubles: list[ReadProblem] = []
    path = os.path.join(root, "settings.json")
    settings = read_document(path, troubles) if os.path.exists(path) else None
    days = settings.get(_PERIOD) if isinstance(settings, dict) else None
    return days if type(days) is int else _USUAL_PERIOD


def is_due_for_cleanup(manifest: Manifest, root: str) -> bool:
    """True for a session that Claude Code would delete from a store when it is started the next time."""
    last = max((entry.mtime_ns for entry in manifest.files), default=0) / 1e9
    return wall_clock() - last > cleanup_period(root) * _DAY


def _put(
    archive: Unpacker,
    missing: Sequence[ManifestEntry],
    home: OpenDirectory,
    staging: OpenDirectory,
    progress: Progress | None,
) -> None:
    """Unpack and check everything beside its place, then put it there: the session's own file last.

    Directories are open from beginning to end: whoever puts a link in the place of one changes nothing.
    """
    wanted = {entry.path: str(number) for number, entry in enumerate(missing)}
    for entry, pieces in archive.contents():
        if entry.kind == FILE and entry.path in wanted:
            mode = entry.mode & _FILE_MODE
            write_new_file(staging, wanted[entry.path], _told(pieces, progress), entry.mtime_ns, mode)
    main = archive.manifest.main
    for entry in missing:
        if entry.path != main:
            _put_one(entry, home, main, staging, wanted[entry.path])
    for entry in reversed(archive.manifest.entries):  # what is put into a directory changes its time
        if entry.kind == FOLDER:
            _finish(entry, home, main, is_new=entry.path in wanted)
    if main in wanted:
        last = next(entry for entry in missing if entry.path == main)
        _put_one(last, home, main, staging, wanted[main])


def _put_one(entry: ManifestEntry, home: OpenDirectory, main: str, staging: OpenDirectory, staged: str) -> None:
    *way, name = _way(entry, main)
    with home.descend(way) as folder:
        try:
            if entry.kind == FOLDER:
                folder.make(name)
            else:
                staging.place(staged, folder, name)
        except FileExistsError as error:
            target = os.path.join(folder.path, name)
            raise SessionRefused(f"{display_path(target)} appeared meanwhile: nothing is overwritten") from error


def _finish(entry: ManifestEntry, home: OpenDirectory, main: str, *, is_new: bool) -> None:
    """Give a directory its time, and its mode unless it was there before: an archive opens nothing that is private."""
    with home.descend(_way(entry, main)) as folder:
        mode = entry.mode & _FOLDER_MODE if is_new else stat.S_IMODE(folder.own_status().st_mode)
        folder.set_mode_and_time(mode | stat.S_IRWXU, entry.mtime_ns)
        folder.sync()


def _way(entry: ManifestEntry, main: str) -> list[str]:
    """The names that lead to an entry from the directory in which the session's own file is."""
    above = main.split("/")[:-1]
    way = entry.path.split("/")
    if way[: len(above)] != above:
        raise SessionRefused(f"{display_path(entry.path)!r} is not beside the session")
    return way[len(above) :]


def _is_missing(entry: ManifestEntry, target: str) -> bool:
    """True where nothing is in the place of an entry; raises `SessionRefused` where something else is."""
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return True
    except NotADirectoryError as error:
        raise SessionRefused(f"{display_path(target)}: a file is in its way") from error
    if not _SAME[entry.kind](entry, target, status):
        raise SessionRefused(f"{display_path(target)} is there already, and it is not the same: nothing is overwritten")
    return False


def _is_same_file(entry: ManifestEntry, target: str, status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode) or status.st_size != entry.size:
        return False
    with open(target, "rb", buffering=0, opener=regular_opener) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == entry.sha256


_SAME: Final[dict[str, Callable[[ManifestEntry, str, os.stat_result], bool]]] = {
    FILE: _is_same_file,
    FOLDER: lambda entry, target, status: stat.S_ISDIR(status.st_mode),
}


def _refuse_ways_out(home: str, root: str) -> None:
    """Symbolic links are not followed out of the store."""
    if not os.path.realpath(home).startswith(os.path.join(os.path.realpath(root), "")):
        raise SessionRefused(f"{display_path(home)} leads out of the store through a symbolic link")


def _told(pieces: Iterator[bytes], progress: Progress | None) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        report_progress(progress, len(piece))


def _root_for(manifest: Manifest, root: str | None) -> str:
    if root is not None:
        return os.path.abspath(root)
    places = [os.path.abspath(place) for place in default_roots()]
    if len(places) == 1:
        return places[0]
    if manifest.root in places:
        return manifest.root
    raise NoStore(
        f"${ROOTS_VARIABLE} names several stores, none of which {display_path(manifest.id)} comes from: say --root DIR"
    )


def _place(root: str, path: str) -> str:
    return os.path.join(root, *path.split("/"))
