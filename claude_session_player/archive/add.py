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

from claude_session_player.archive.archive_dir import PARTIAL, Archived, Vault
from claude_session_player.archive.handles import make_folders, sync_folder
from claude_session_player.archive.manifest import Entry, Manifest, encode, manifest_of
from claude_session_player.archive.pack import Changed, Checksums, check, checksums_of, is_complete, pack, tell
from claude_session_player.archive.session_files import EACH, FILE, Bundle, Item, Progress, Refused, change_of
from claude_session_player.errors import BadArchive, CannotWrite
from claude_session_player.util.fsutil import place
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


class Step(NamedTuple):
    """What is to be done with a session."""

    bundle: Bundle
    old: Archived | None
    is_needed: bool
    """False where the archive has all of it already."""


class Outcome(NamedTuple):
    """What became of a session."""

    bundle: Bundle
    status: str
    path: str | None = None
    """The archive that holds it."""
    size: int = 0
    """The bytes of the archive itself."""
    reason: str | None = None
    """Why it was skipped."""


def plan(vault: Vault, bundles: Iterable[Bundle], *, is_checked: bool = False) -> list[Step]:
    """What is to be done so that the archive has all of these sessions; no session is read.

    Nor is an archive, but for its two ends; where all is to be checked, `apply` reads and compares both.
    """
    steps = []
    for bundle in bundles:
        old = vault.newest(bundle.main, bundle.root)
        is_there = old is not None and covers(old.manifest, bundle) and _is_complete(old)
        steps.append(Step(bundle, old, is_checked or not is_there))
    return steps


def apply(vault: Vault, steps: Iterable[Step], progress: Progress | None = None) -> Iterator[Outcome]:
    """Do it, one session after the other, while the vault is locked. A session that cannot be kept is skipped.

    Raises `CannotWrite` where the archive cannot be written to.
    """
    for step in steps:
        if not step.is_needed and step.old is not None:
            yield Outcome(step.bundle, UNCHANGED, step.old.path, step.old.size)
            continue
        try:
            yield keep(vault, step.bundle, progress)
        except (Changed, Refused) as error:
            yield Outcome(step.bundle, SKIPPED, reason=str(error))
        tell(progress, EACH)


def keep(vault: Vault, bundle: Bundle, progress: Progress | None = None) -> Outcome:
    """See to it that a session is in the archive as it is now, whole and durably, whatever was there before.

    Its bytes are compared, and those of its archive are read back: what this gives is safe to be removed from the store
    as long as `change_of` finds nothing. Raises `Changed`, `Refused`, or `CannotWrite`.
    """
    old = vault.newest(bundle.main, bundle.store)
    sums = _checksums(bundle, old.manifest if old else None, progress)
    if old is not None and covers(old.manifest, bundle, sums) and _is_complete(old) and _is_sound(old):
        return Outcome(bundle, UNCHANGED, old.path, old.size)
    try:
        manifest = manifest_of(bundle, {path: sum.whole for path, sum in sums.items()})
    except BadArchive as error:
        raise Refused(f"{error}: it could not be restored, so take it away first") from error
    is_more = old is not None and extends(manifest, old.manifest, sums)
    path = old.path if old is not None and is_more else vault.free(bundle.main)
    _write(path, manifest, bundle, progress, may_replace=is_more)
    vault.added(path)
    status = NEW if old is None else GROWN if is_more else CHANGED
    return Outcome(bundle, status, path, os.stat(path).st_size)


def covers(manifest: Manifest, bundle: Bundle, sums: dict[str, Checksums] | None = None) -> bool:
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


def _is_kept(item: Item, entry: Entry | None, sums: dict[str, Checksums] | None) -> bool:
    if entry is None or entry.kind != item.kind:
        return False
    if item.kind != FILE:
        return True
    if (entry.size, entry.mtime_ns) != (item.size, item.mtime_ns):
        return False
    return sums is None or entry.sha256 == sums[item.path].whole


def _checksums(bundle: Bundle, old: Manifest | None, progress: Progress | None) -> dict[str, Checksums]:
    """The checksum of each file, and of its beginning, as long as it was in an older archive; by path."""
    marks = {entry.path: entry.size for entry in old.files} if old else {}
    return {item.path: checksums_of(bundle, item, marks.get(item.path), progress) for item in bundle.files}


def _is_complete(archived: Archived) -> bool:
    try:
        return is_complete(archived.path)
    except OSError:
        return False


def _is_sound(archived: Archived) -> bool:
    try:
        check(archived.path)
    except (BadArchive, OSError):
        return False
    return True


def _write(path: str, manifest: Manifest, bundle: Bundle, progress: Progress | None, *, may_replace: bool) -> None:
    """Write an archive beside its place, read it back, and put it there if nothing changed meanwhile."""
    folder = os.path.dirname(path)
    partial = os.path.join(folder, PARTIAL)
    try:
        make_folders(folder)
        pack(partial, manifest, bundle, progress)
        if encode(check(partial, progress)) != encode(manifest):
            raise BadArchive(f"{display_path(partial)} does not hold what was written to it")
        if (change := change_of(bundle)) is not None:
            raise Changed(f"{change} while it was archived")
        (os.replace if may_replace else place)(partial, path)
        sync_folder(folder)
    except OSError as error:
        kind = Refused if error.errno in _ONLY_THIS else CannotWrite
        raise kind(
            f"{display_path(error.filename or path)}: {_ONLY_THIS.get(error.errno or 0) or error.strerror}"
        ) from error
    except BadArchive as error:
        raise CannotWrite(f"{error}: is the disk sound?") from error
    finally:
        with contextlib.suppress(OSError):
            os.remove(partial)
