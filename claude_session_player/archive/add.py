"""Archives sessions: each is packed with all its files, and read back before it counts as archived.

archive_dir = ArchiveDir()
with archive_dir.lock():
    for outcome in archive_sessions(archive_dir, plan_archive(archive_dir, sessions)):
        ...
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.archive.archive_dir import PARTIAL_NAME, ArchiveDir, ArchivedSession
from claude_session_player.archive.directories import make_dirs, sync_dir
from claude_session_player.archive.manifest import Manifest, ManifestEntry, build_manifest, encode_manifest
from claude_session_player.archive.pack import (
    Checksums,
    SessionChanged,
    check_archive,
    compute_checksums,
    is_complete_archive,
    pack_session,
    report_progress,
)
from claude_session_player.archive.session_files import (
    FILE,
    SESSION_OVERHEAD,
    ByteProgress,
    SessionFiles,
    SessionItem,
    SessionRefused,
    describe_change,
)
from claude_session_player.errors import BadArchive, CannotWrite
from claude_session_player.util.fsutil import link_into_place
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NEW: Final = "new"
GROWN: Final = "grown"
CHANGED: Final = "changed"
"""Part of what was archived is no longer in the store, so both versions are kept."""
UNCHANGED: Final = "unchanged"
SKIPPED: Final = "skipped"
READS_PER_SESSION: Final = 3
"""The files of a session are read for their checksums and for the archive, and then the archive is read back."""

_SESSION_ERRORS: Final = {
    errno.ENAMETOOLONG: "the name of its archive would be too long",
    errno.EILSEQ: "the file system of the archive does not allow this name",
    errno.EEXIST: "a file is in the way: move it away first",
    errno.ENOTDIR: "a file is in the way: move it away first",
    errno.EISDIR: "a directory is in the way: move it away first",
}
"""Errors that prevent the archiving of one session, but not of the others."""


class ArchiveStep(NamedTuple):
    """A session to archive, and what the archive has of it."""

    session: SessionFiles
    old: ArchivedSession | None
    is_needed: bool
    """False if the archive is up to date."""

    @property
    def work(self) -> int:
        """The number of bytes that `archive_sessions` reports as progress for this step."""
        return READS_PER_SESSION * self.session.size + SESSION_OVERHEAD if self.is_needed else 0


class ArchiveOutcome(NamedTuple):
    """The result of archiving a session."""

    session: SessionFiles
    status: str
    path: str | None = None
    """The path of its archive."""
    size: int = 0
    """The size of the archive file itself, in bytes."""
    reason: str | None = None
    """Why it was skipped."""


def plan_archive(
    archive_dir: ArchiveDir, sessions: Iterable[SessionFiles], *, verify: bool = False
) -> list[ArchiveStep]:
    """What has to be done so that the archive has all of these sessions.

    No session is read, and only both ends of an archive; with `verify`, `archive_sessions` compares all of it.
    """
    steps = []
    for session in sessions:
        old = archive_dir.newest(session.main, session.root)
        is_current = old is not None and covers(old.manifest, session) and _is_complete(old)
        steps.append(ArchiveStep(session, old, verify or not is_current))
    return steps


def archive_sessions(
    archive_dir: ArchiveDir, steps: Iterable[ArchiveStep], progress: ByteProgress | None = None
) -> Iterator[ArchiveOutcome]:
    """Archive one session after the other, while the directory is locked. Sessions that cannot be archived are skipped.

    Raises `CannotWrite` if the archive directory cannot be written to.
    """
    for step in steps:
        if not step.is_needed and step.old is not None:
            yield ArchiveOutcome(step.session, UNCHANGED, step.old.path, step.old.size)
            continue
        try:
            yield archive_session(archive_dir, step.session, progress)
        except (SessionChanged, SessionRefused) as error:
            yield ArchiveOutcome(step.session, SKIPPED, reason=str(error))
        report_progress(progress, SESSION_OVERHEAD)


def archive_session(
    archive_dir: ArchiveDir, session: SessionFiles, progress: ByteProgress | None = None
) -> ArchiveOutcome:
    """Ensure that the archive has a session as it is now, complete and durably, whatever it had before.

    All bytes are compared and the archive is read back, so that the session may be removed from the store as long as
    `describe_change` finds nothing. Raises `SessionChanged`, `SessionRefused` or `CannotWrite`.
    """
    old = archive_dir.newest(session.main, session.store)
    sums = _checksums(session, old.manifest if old else None, progress)
    if old is not None and covers(old.manifest, session, sums) and _is_complete(old) and _is_sound(old):
        return ArchiveOutcome(session, UNCHANGED, old.path, old.size)
    try:
        manifest = build_manifest(session, {path: sum.whole for path, sum in sums.items()})
    except BadArchive as error:
        raise SessionRefused(f"{error}, and could not be restored: move it away first") from error
    is_extended = old is not None and extends(manifest, old.manifest, sums)
    path = old.path if old is not None and is_extended else archive_dir.next_path(session.main)
    _write(path, manifest, session, progress, may_replace=is_extended)
    archive_dir.register(path)
    status = NEW if old is None else GROWN if is_extended else CHANGED
    return ArchiveOutcome(session, status, path, os.stat(path).st_size)


def covers(manifest: Manifest, session: SessionFiles, sums: dict[str, Checksums] | None = None) -> bool:
    """True if an archive has everything that the store has of a session; it may have more.

    Files are compared by size and modification time, and with `sums` by their checksums as well.
    """
    entries = {entry.path: entry for entry in manifest.entries}
    return all(_is_archived(item, entries.get(item.path), sums) for item in session.items)


def extends(manifest: Manifest, old: Manifest, sums: dict[str, Checksums]) -> bool:
    """True if an archive has everything that an older one has: each file begins with its previous content."""
    new_entries = {entry.path: entry for entry in manifest.entries}
    for entry in old.entries:
        new = new_entries.get(entry.path)
        if new is None or new.kind != entry.kind:
            return False
        if entry.kind == FILE and sums[entry.path].at_mark != entry.sha256:
            return False
    return True


def _is_archived(item: SessionItem, entry: ManifestEntry | None, sums: dict[str, Checksums] | None) -> bool:
    if entry is None or entry.kind != item.kind:
        return False
    if item.kind != FILE:
        return True
    if (entry.size, entry.mtime_ns) != (item.size, item.mtime_ns):
        return False
    return sums is None or entry.sha256 == sums[item.path].whole


def _checksums(session: SessionFiles, old: Manifest | None, progress: ByteProgress | None) -> dict[str, Checksums]:
    """The checksums of each file by path: of all of it, and of as much as an older archive has."""
    old_sizes = {entry.path: entry.size for entry in old.files} if old else {}
    return {item.path: compute_checksums(session, item, old_sizes.get(item.path), progress) for item in session.files}


def _is_complete(archived: ArchivedSession) -> bool:
    try:
        return is_complete_archive(archived.path)
    except OSError:
        return False


def _is_sound(archived: ArchivedSession) -> bool:
    try:
        check_archive(archived.path)
    except (BadArchive, OSError):
        return False
    return True


def _write(
    path: str, manifest: Manifest, session: SessionFiles, progress: ByteProgress | None, *, may_replace: bool
) -> None:
    """Write an archive under a temporary name, read it back, and rename it if the session has not changed meanwhile."""
    directory = os.path.dirname(path)
    partial = os.path.join(directory, PARTIAL_NAME)
    try:
        make_dirs(directory)
        pack_session(partial, manifest, session, progress)
        if encode_manifest(check_archive(partial, progress)) != encode_manifest(manifest):
            raise BadArchive(f"{display_path(partial)} does not contain what was written to it")
        if (change := describe_change(session)) is not None:
            raise SessionChanged(f"{change} while it was archived")
        (os.replace if may_replace else link_into_place)(partial, path)
        sync_dir(directory)
    except OSError as error:
        kind = SessionRefused if error.errno in _SESSION_ERRORS else CannotWrite
        raise kind(
            f"{display_path(error.filename or path)}: {_SESSION_ERRORS.get(error.errno or 0) or error.strerror}"
        ) from error
    except BadArchive as error:
        raise CannotWrite(f"{error}: check the disk") from error
    finally:
        with contextlib.suppress(OSError):
            os.remove(partial)
