"""Restores archived sessions into a store, byte for byte, without ever overwriting anything."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.archive.archive_dir import ArchivedSession, has_main_file
from claude_session_player.archive.directories import (
    OpenDirectory,
    create_below,
    discarding_empty_dirs,
    make_dirs,
    require_space,
    write_new_file,
)
from claude_session_player.archive.locks import reserve_dir
from claude_session_player.archive.pack import Unpacker, open_archive, report_progress
from claude_session_player.archive.session_files import FILE, FOLDER, SESSION_OVERHEAD, ByteProgress, SessionRefused
from claude_session_player.errors import BadArchive, CannotRead, CannotWrite, NoSpace, NoStore, SessionError
from claude_session_player.store import ROOTS_VARIABLE, default_roots, read_document
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.fsutil import describe_os_error, regular_opener
from claude_session_player.util.text import display_path
from claude_session_player.util.times import wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.archive.manifest import Manifest, ManifestEntry
    from claude_session_player.store import ReadProblem

RESTORED: Final = "restored"
PRESENT: Final = "present"
"""The store has all of it already."""
SKIPPED: Final = "skipped"
STAGING_PREFIX: Final = ".restore-"
"""No longer than the prefix of a trash directory, so that a session that could be removed can be restored."""
_NO_SPACE_ADVICE: Final = "free some, or restore to another disk with --root"
_SESSION_ERRNOS: Final = frozenset(
    (errno.ENAMETOOLONG, errno.EILSEQ, errno.EFBIG, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ELOOP)
)
"""Errors that prevent the restoring of one session, but not of the others."""
_MAX_DIR_MODE: Final = 0o755
_MAX_FILE_MODE: Final = 0o644
"""The most permissions that an archive may grant: session files are not programs, and only their owner writes them."""
_PERIOD_SETTING: Final = "cleanupPeriodDays"
_DEFAULT_PERIOD: Final = 30
_DAY_SECONDS: Final = 24 * 60 * 60


class RestoreStep(NamedTuple):
    """An archived session, and the store to restore it into."""

    archived: ArchivedSession
    root: str
    fallbacks: tuple[ArchivedSession, ...] = ()
    """Other versions of the session, best first, to be used if the archive turns out to be damaged."""
    error: SessionError | None = None
    """Why there is no store for it."""

    @property
    def work(self) -> int:
        """The number of bytes that `restore_sessions` reports as progress for this step, if no archive is damaged."""
        return self.archived.manifest.size + SESSION_OVERHEAD


class RestoreOutcome(NamedTuple):
    """The result of restoring a session."""

    archived: ArchivedSession
    status: str
    root: str
    error: SessionError | None = None
    """Why it was skipped."""


def plan_restore(archives: Iterable[ArchivedSession], root: str | None = None) -> list[RestoreStep]:
    """Plan to restore each archive into the given store, else into the default one. Raises `NoStore`."""
    return [RestoreStep(archived, _root_for(archived.manifest, root)) for archived in archives]


def plan_restore_all(archives: Sequence[ArchivedSession], root: str | None = None) -> list[RestoreStep]:
    """Plan to restore the best version of each session, preferably one that comes from the target store.

    A session without a store gets a step with an error, so that the others are restored nevertheless.
    """
    steps = [_plan_step(archived, root) for archived in archives]
    versions: dict[tuple[str, str], list[RestoreStep]] = {}
    for step in sorted(steps, key=_preference):
        versions.setdefault((step.archived.manifest.main, step.root), []).append(step)
    fallbacks = {id(best): tuple(step.archived for step in rest[::-1]) for *rest, best in versions.values()}
    return [step._replace(fallbacks=fallbacks[id(step)]) for step in steps if id(step) in fallbacks]


def _plan_step(archived: ArchivedSession, root: str | None) -> RestoreStep:
    try:
        return RestoreStep(archived, _root_for(archived.manifest, root))
    except NoStore as error:
        return RestoreStep(archived, "", error=error)


def _preference(step: RestoreStep) -> tuple[bool, bool, str]:
    """A sort key: the higher, the better."""
    manifest = step.archived.manifest
    is_from_store = os.path.realpath(manifest.root) == os.path.realpath(step.root)
    return has_main_file(step.archived), is_from_store, manifest.archived_at


def restore_sessions(steps: Iterable[RestoreStep], progress: ByteProgress | None = None) -> Iterator[RestoreOutcome]:
    """Restore one session after the other; of one that cannot be restored, nothing is written.

    Raises `CannotWrite` if the store cannot be written to.
    """
    for step in steps:
        for archived in (step.archived, *step.fallbacks):
            outcome = _restore_step(step._replace(archived=archived), progress)
            yield outcome
            if not isinstance(outcome.error, BadArchive):
                break
        report_progress(progress, SESSION_OVERHEAD)


def _restore_step(step: RestoreStep, progress: ByteProgress | None) -> RestoreOutcome:
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


def restore_session(path: str, root: str, progress: ByteProgress | None = None) -> Manifest | None:
    """Restore an archive into a store; gives `None` if the store has all of it already.

    Raises `BadArchive`, `CannotRead`, `CannotWrite`, or `SessionRefused` if another file is in the way.
    """
    try:
        with open_archive(path) as archive:
            home = _path_in(root, archive.manifest.main.rpartition("/")[0])
            staging = os.path.join(home, STAGING_PREFIX + archive.manifest.id)
            _require_inside(home, root)
            missing = [entry for entry in archive.manifest.entries if _is_missing(entry, _path_in(root, entry.path))]
            if not missing and not os.path.lexists(staging):
                return None
            require_space(home, (entry.size for entry in missing), _NO_SPACE_ADVICE)
            with discarding_empty_dirs(home):
                make_dirs(root)
                with create_below(root, home) as home_dir:
                    with reserve_dir(home_dir, os.path.basename(staging)) as staging_dir:
                        _unpack(archive, missing, home_dir, staging_dir, progress)
                    home_dir.sync()
            return archive.manifest if missing else None
    except BlockingIOError as error:
        raise SessionRefused(f"another {PROGRAM} is restoring it") from error
    except OSError as error:
        kind = SessionRefused if error.errno in _SESSION_ERRNOS else CannotWrite
        raise (CannotRead if error.filename == path else kind)(describe_os_error(error, root)) from error


def cleanup_period(root: str) -> int:
    """The number of days without use after which Claude Code deletes the sessions of a store."""
    ignored: list[ReadProblem] = []
    path = os.path.join(root, "settings.json")
    settings = read_document(path, ignored) if os.path.exists(path) else None
    days = settings.get(_PERIOD_SETTING) if isinstance(settings, dict) else None
    return days if type(days) is int else _DEFAULT_PERIOD


def is_due_for_cleanup(manifest: Manifest, root: str) -> bool:
    """True for a session that Claude Code would delete from a store at its next start."""
    last_used = max((entry.mtime_ns for entry in manifest.files), default=0) / 1e9
    return wall_clock() - last_used > cleanup_period(root) * _DAY_SECONDS


def _unpack(
    archive: Unpacker,
    missing: Sequence[ManifestEntry],
    home: OpenDirectory,
    staging: OpenDirectory,
    progress: ByteProgress | None,
) -> None:
    """Unpack and check all files in the staging directory, then link them into place, the session's own file last.

    All directories stay open meanwhile, so that replacing one by a link has no effect.
    """
    staged = {entry.path: str(number) for number, entry in enumerate(missing)}
    for entry, pieces in archive.contents():
        if entry.kind == FILE and entry.path in staged:
            mode = entry.mode & _MAX_FILE_MODE
            write_new_file(staging, staged[entry.path], _with_progress(pieces, progress), entry.mtime_ns, mode)
    main = archive.manifest.main
    for entry in missing:
        if entry.path != main:
            _install(entry, home, main, staging, staged[entry.path])
    for entry in reversed(archive.manifest.entries):  # adding to a directory has changed its time
        if entry.kind == FOLDER:
            _finish_directory(entry, home, main, is_new=entry.path in staged)
    if main in staged:
        main_entry = next(entry for entry in missing if entry.path == main)
        _install(main_entry, home, main, staging, staged[main])


def _install(entry: ManifestEntry, home: OpenDirectory, main: str, staging: OpenDirectory, staged: str) -> None:
    """Create a directory, or link a file from the staging directory into place."""
    *parents, name = _names_below_home(entry, main)
    with home.descend(parents) as directory:
        try:
            if entry.kind == FOLDER:
                directory.make_dir(name)
            else:
                staging.link(staged, directory, name)
        except FileExistsError as error:
            target = os.path.join(directory.path, name)
            raise SessionRefused(f"{display_path(target)} has just been created, and is not overwritten") from error


def _finish_directory(entry: ManifestEntry, home: OpenDirectory, main: str, *, is_new: bool) -> None:
    """Set the time of a directory, and its permissions if it is new: an archive cannot open an existing private one."""
    with home.descend(_names_below_home(entry, main)) as directory:
        mode = entry.mode & _MAX_DIR_MODE if is_new else stat.S_IMODE(directory.own_status().st_mode)
        directory.set_mode_and_time(mode | stat.S_IRWXU, entry.mtime_ns)
        directory.sync()


def _names_below_home(entry: ManifestEntry, main: str) -> list[str]:
    """The names that lead to an entry from the directory of the session's own file."""
    home = main.split("/")[:-1]
    names = entry.path.split("/")
    if names[: len(home)] != home:
        raise SessionRefused(f"{display_path(entry.path)!r} is not beside the session")
    return names[len(home) :]


def _is_missing(entry: ManifestEntry, target: str) -> bool:
    """True if the target does not exist. Raises `SessionRefused` if it exists and differs from the entry."""
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return True
    except NotADirectoryError as error:
        raise SessionRefused(f"{display_path(target)}: a file is in the way") from error
    if not _COMPARISONS[entry.kind](entry, target, status):
        raise SessionRefused(f"{display_path(target)} already exists with other content, and is not overwritten")
    return False


def _is_same_file(entry: ManifestEntry, target: str, status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode) or status.st_size != entry.size:
        return False
    with open(target, "rb", buffering=0, opener=regular_opener) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == entry.sha256


_COMPARISONS: Final[dict[str, Callable[[ManifestEntry, str, os.stat_result], bool]]] = {
    FILE: _is_same_file,
    FOLDER: lambda entry, target, status: stat.S_ISDIR(status.st_mode),
}


def _require_inside(home: str, root: str) -> None:
    """Raises `SessionRefused` if symbolic links lead out of the store."""
    if not os.path.realpath(home).startswith(os.path.join(os.path.realpath(root), "")):
        raise SessionRefused(f"{display_path(home)} leads out of the store through a symbolic link")


def _with_progress(pieces: Iterator[bytes], progress: ByteProgress | None) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        report_progress(progress, len(piece))


def _root_for(manifest: Manifest, root: str | None) -> str:
    if root is not None:
        return os.path.abspath(root)
    roots = [os.path.abspath(path) for path in default_roots()]
    if len(roots) == 1:
        return roots[0]
    if manifest.root in roots:
        return manifest.root
    raise NoStore(
        f"${ROOTS_VARIABLE} names several stores, and {display_path(manifest.id)} comes from none of them: "
        "name one with --root DIR"
    )


def _path_in(root: str, path: str) -> str:
    return os.path.join(root, *path.split("/"))
