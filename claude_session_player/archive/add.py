"""Archiving: sessions of a store are kept in a directory of archives, so that nothing of them is lost.

vault = Vault()
with vault.locked():
    for outcome in apply(vault, plan(vault, bundles)):
        ...
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.archive.archive_dir import PARTIAL, ArchiveDir, ArchivedSession
from claude_session_player.archive.handles import make_dirs, sync_dir
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
    EACH,
    FILE,
    Progress,
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
"""Something of what was archived is not in the store any more: both versions are kept."""
UNCHANGED: Final = "unchanged"
SKIPPED: Final = "skipped"
PASSES: Final = 3
"""How often the bytes of a session are read: for its checksums, for its archive, and out of the archive again."""

_ONLY_THIS: Final = {
    errno.ENAMETOOLONG: "the archive of this session would have too long a name",
    errno.EILSEQ: "this disk takes no such name",
    errno.EEXIST: "a file is in the way: take it away",
    errno.ENOTDIR: "a file is in the way: take it away",
    errno.EISDIR: "a directory is in the way: take it away",
}
"""What hinders one session, and no other, from being kept."""


class ArchiveStep(NamedTuple):
    """What is to be done with a session."""

    bundle: SessionFiles
    old: ArchivedSession | None
    is_needed: bool
    """False where the archive has all of it already."""


class ArchiveOutcome(NamedTuple):
    """What became of a session."""

    bundle: SessionFiles
    status: str
    path: str | None = None
    """The archive that holds it."""
    size: int = 0
    """The bytes of the archive itself."""
    reason: str | None = None
    """Why it was skipped."""


def plan_archive(vault: ArchiveDir, bundles: Iterable[SessionFiles], *, is_checked: bool = False) -> list[ArchiveStep]:
    """What is to be done so that the archive has all of these sessions; no session is read.

    Nor is an archive, but for its two ends; where all is to be checked, `archive_sessions` reads and compares both.
    """
    steps = []
    for bundle in bundles:
        old = vault.newest(bundle.main, bundle.root)
        is_there = old is not None and covers(old.manifest, bundle) and _is_complete(old)
        steps.append(ArchiveStep(bundle, old, is_checked or not is_there))
    return steps


def archive_sessions(
    vault: ArchiveDir, steps: Iterable[ArchiveStep], progress: Progress | None = None
) -> Iterator[ArchiveOutcome]:
    """Do it, one session after the other, while the vault is locked. A session that cannot be kept is skipped.

    Raises `CannotWrite` where the archive cannot be written to.
    """
    for step in steps:
        if not step.is_needed and step.old is not None:
            yield ArchiveOutcome(step.bundle, UNCHANGED, step.old.path, step.old.size)
            continue
        try:
            yield archive_session(vault, step.bundle, progress)
        except (SessionChanged, SessionRefused) as error:
            yield ArchiveOutcome(step.bundle, SKIPPED, reason=str(error))
        report_progress(progress, EACH)


def archive_session(vault: ArchiveDir, bundle: SessionFiles, progress: Progress | None = None) -> ArchiveOutcome:
    """See to it that a session is in the archive as it is now, whole and durably, whatever was there before.

    Its bytes are compared, and those of its archive are read back: what this gives is safe to be removed from the store
    as long as `describe_change` finds nothing. Raises `SessionChanged`, `SessionRefused`, or `CannotWrite`.
    """
    old = vault.newest(bundle.main, bundle.store)
    sums = _checksums(bundle, old.manifest if old else None, progress)
    if old is not None and covers(old.manifest, bundle, sums) and _is_complete(old) and _is_sound(old):
        return ArchiveOutcome(bundle, UNCHANGED, old.path, old.size)
    try:
        manifest = build_manifest(bundle, {path: sum.whole for path, sum in sums.items()})
    except BadArchive as error:
        raise SessionRefused(f"{error}: it could not be restored, so take it away first") from error
    is_more = old is not None and extends(manifest, old.manifest, sums)
    path = old.path if old is not None and is_more else vault.free(bundle.main)
    _write(path, manifest, bundle, progress, may_replace=is_more)
    vault.added(path)
    status = NEW if old is None else GROWN if is_more else CHANGED
    return ArchiveOutcome(bundle, status, path, os.stat(path).st_size)


def covers(manifest: Manifest, bundle: SessionFiles, sums: dict[str, Checksums] | None = None) -> bool:
    """True where an archive has everything that the store has of a session; it may have more.

    By the sizes and times of files, and, with checksums, by their bytes.
    """
    kept = {entry.path: entry for entry in manifest.entries}
    return all(_is_kept(item, kept.get(item.path), sums) for item in bundle.items)


def extends(manifest: Manifest, old: Manifest, sums: dict[str, Checksums]) -> bool:
    """True where an archive has everything that an older one has: each file begins with what it was before."""
    now = {entry.path: entry for entry in manifest.entries}
    for entry in old.entries:
        same = now.get(entry.path)
        if same is None or same.kind != entry.kind:
            return False
        if entry.kind == FILE and sums[entry.path].at_mark != entry.sha256:
            return False
    return True


def _is_kept(item: SessionItem, entry: ManifestEntry | None, sums: dict[str, Checksums] | None) -> bool:
    if entry is None or entry.kind != item.kind:
        return False
    if item.kind != FILE:
        return True
    if (entry.size, entry.mtime_ns) != (item.size, item.mtime_ns):
        return False
    return sums is None or entry.sha256 == sums[item.path].whole


def _checksums(bundle: SessionFiles, old: Manifest | None, progress: Progress | None) -> dict[str, Checksums]:
    """The checksum of each file, and of its beginning, as long as it was in an older archive; by path."""
    marks = {entry.path: entry.size for entry in old.files} if old else {}
    return {item.path: compute_checksums(bundle, item, marks.get(item.path), progress) for item in bundle.files}


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
    path: str, manifest: Manifest, bundle: SessionFiles, progress: Progress | None, *, may_replace: bool
) -> None:
    """Write an archive beside its place, read it back, and put it there if nothing changed meanwhile."""
    folder = os.path.dirname(path)
    partial = os.path.join(folder, PARTIAL)
    try:
        make_dirs(folder)
        pack_session(partial, manifest, bundle, progress)
        if encode_manifest(check_archive(partial, progress)) != encode_manifest(manifest):
            raise BadArchive(f"{display_path(partial)} does not hold what was written to it")
        if (change := describe_change(bundle)) is not None:
            raise SessionChanged(f"{change} while it was archived")
        (os.replace if may_replace else link_into_place)(partial, path)
        sync_dir(folder)
    except OSError as error:
        kind = SessionRefused if error.errno in _ONLY_THIS else CannotWrite
        raise kind(
            f"{display_path(error.filename or path)}: {_ONLY_THIS.get(error.errno or 0) or error.strerror}"
        ) from error
    except BadArchive as error:
        raise CannotWrite(f"{error}: is the disk sound?") from error
    finally:
        with contextlib.suppress(OSError):
            os.remove(partial)
