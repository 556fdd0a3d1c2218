"""A directory of archives: where each session is kept in it, and who may write to it."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.archive.handles import lock_handle, make_dirs, sync_dir
from claude_session_player.archive.manifest import (
    ARCHIVE,
    Manifest,
    archive_file_name,
    archive_folder_name,
    archive_version,
)
from claude_session_player.archive.pack import read_manifest
from claude_session_player.errors import Ambiguous, BadArchive, CannotRead, CannotWrite, NoSuchSession, SessionError
from claude_session_player.store import MIN_PREFIX_LENGTH, ReadProblem
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.text import display_path, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

PARTIAL: Final = ".csp-partial"
"""What an archive is called while it is written; as only one writes, one name will do for each directory."""
_LOCK: Final = ".lock"


class ArchivedSession(NamedTuple):
    """A session in an archive."""

    path: str
    size: int
    """The bytes of the archive itself."""
    version: int
    """Counts from 1: a session that lost something since it was archived is kept in several versions."""
    manifest: Manifest


class ArchiveDir:
    """A directory of archives. It need not be there before something is written to it.

    Archives that cannot be read are in `troubles` afterwards; the others are not affected.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = os.path.abspath(os.fspath(folder) if folder is not None else default_archive_dir())
        self.troubles: list[ReadProblem] = []
        self._noted: set[ReadProblem] = set()
        self._listed: dict[str, dict[str, list[str]]] | None = None
        """While nobody else can write: the names in each directory, by what comes before their first dot."""

    def place(self, main: str, version: int = 1) -> str:
        """The path of the archive of a session, by the path of its file below the store."""
        return os.path.join(self.folder, archive_folder_name(main), archive_file_name(main, version))

    def versions(self, main: str) -> list[ArchivedSession]:
        """The archives of a session that can be read, the oldest first; sessions of several stores may share a path."""
        found = self._read(path for _, path in self._named(main))
        return [archived for archived in found if archived.manifest.main == main]

    def newest(self, main: str, root: str | None = None) -> ArchivedSession | None:
        """The last archive of a session; or only of one that comes from this store."""
        fitting = (one for one in reversed(self.versions(main)) if root in (None, one.manifest.root))
        return next(fitting, None)

    def free(self, main: str) -> str:
        """Where another version of a session can be kept."""
        taken = [version for version, _ in self._named(main)]
        return self.place(main, max(taken, default=0) + 1)

    def everything(self) -> list[ArchivedSession]:
        """Every archive that can be read; of each session the newest comes last."""
        return self._read(self.files())

    def files(self) -> Iterator[str]:
        """The paths of all archives; none is opened."""
        for folder in self._names(self.folder):
            for name in self._names(os.path.join(self.folder, folder)):
                path = os.path.join(self.folder, folder, name)
                if not name.endswith(ARCHIVE) or name.startswith("."):
                    continue
                if os.path.isfile(path):
                    yield path
                else:
                    self._note(path, "no regular file")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let nobody else write to the directory, and take away what a killed run left behind. Raises `CannotWrite`."""
        with ExitStack() as held:
            try:
                make_dirs(self.folder)
                lock_handle(
                    held.enter_context(open(os.path.join(self.folder, _LOCK), "ab", opener=regular_opener)).fileno()
                )
                self._tidy()
                self._listed = {}
                held.callback(self._forget)
            except FileExistsError as error:
                raise CannotWrite(f"{display_path(error.filename)} is no directory: archives need one") from error
            except BlockingIOError as error:
                busy = f"another {PROGRAM} writes to this archive; try again when it is done"
                raise CannotWrite(f"{display_path(self.folder)}: {busy}") from error
            except OSError as error:
                raise CannotWrite(f"{display_path(self.folder)}: {error.strerror or error}") from error
            yield

    def added(self, path: str) -> None:
        """Take notice of an archive that was written while the directory is locked."""
        folder, name = os.path.split(path)
        if self._listed is not None and name not in (names := self._alike(folder, name)):
            names.append(name)

    def refuse_inside(self, roots: Sequence[str]) -> None:
        """Raises `CannotWrite` where the archive would be a part of a store."""
        folder = os.path.join(os.path.realpath(self.folder), "")
        for root in roots:
            if folder.startswith(os.path.join(os.path.realpath(root), "")):
                raise CannotWrite(
                    f"{display_path(self.folder)} is inside of the store {display_path(root)}: keep archives elsewhere"
                )

    def _named(self, main: str) -> Iterator[tuple[int, str]]:
        """The archives that are called like those of a session, with their versions."""
        folder = os.path.join(self.folder, archive_folder_name(main))
        for name in self._alike(folder, archive_file_name(main)):
            if (version := archive_version(name, main)) is not None:
                yield version, os.path.join(folder, name)

    def _alike(self, folder: str, name: str) -> list[str]:
        """The names in a directory that begin like one, up to its first dot."""
        if self._listed is None:
            return _by_beginning(self._names(folder)).get(_beginning(name), [])
        if folder not in self._listed:
            self._listed[folder] = _by_beginning(self._names(folder))
        return self._listed[folder].setdefault(_beginning(name), [])

    def _forget(self) -> None:
        self._listed = None

    def _read(self, paths: Iterable[str]) -> list[ArchivedSession]:
        archives = []
        for path in paths:
            try:
                archives.append(read_archive_file(path))
            except BadArchive as error:
                self._note(path, str(error).removeprefix(f"{display_path(path)}: "))
            except OSError as error:
                self._note(path, error.strerror or str(error))
        return sorted(archives, key=lambda archived: (archived.version, archived.path))

    def _note(self, path: str, reason: str) -> None:
        trouble = ReadProblem(path, reason)
        if trouble not in self._noted:
            self._noted.add(trouble)
            self.troubles.append(trouble)

    def _tidy(self) -> None:
        for folder in self._names(self.folder):
            inside = os.path.join(self.folder, folder)
            if PARTIAL in self._names(inside):
                os.remove(os.path.join(inside, PARTIAL))
                sync_dir(inside)

    def _names(self, folder: str) -> list[str]:
        """What is in a directory, in order; nothing where there is no such directory, or none that may be read."""
        try:
            return sorted(os.listdir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self._note(folder, error.strerror or str(error))
            return []


def read_archive_file(path: str) -> ArchivedSession:
    """The archive in a file, wherever it is. Raises `BadArchive` or `OSError`."""
    manifest = read_manifest(path)
    version = archive_version(os.path.basename(path), manifest.main) or 1  # it may have been renamed
    return ArchivedSession(path, os.stat(path).st_size, version, manifest)


def open_archive_dir(folder: str | None) -> ArchiveDir:
    """A vault to be read. Raises `CannotRead` where one is named that is not there: most likely it is misspelled."""
    vault = ArchiveDir(folder)
    if os.path.lexists(vault.folder) and not os.path.isdir(vault.folder):
        raise CannotRead(f"{display_path(vault.folder)} is no directory: archives are in one")
    if folder is not None and not os.path.isdir(vault.folder):
        raise CannotRead(f"{display_path(vault.folder)}: there is no such archive directory")
    return vault


def default_archive_dir() -> str:
    """The directory in which archives are kept, unless another is named."""
    import platformdirs

    try:
        return os.path.join(platformdirs.user_data_dir(PROGRAM, appauthor=False), "archive")
    except (OSError, RuntimeError, KeyError) as error:
        raise SessionError("there is no directory for archives on this system: name one") from error


def _by_beginning(names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(_beginning(name), []).append(name)
    return found


def _beginning(name: str) -> str:
    return name.partition(".")[0]


_MANY: Final = 10
_TITLE: Final = 60


def newest_versions(archives: Sequence[ArchivedSession]) -> list[ArchivedSession]:
    """Of each session the version that was archived last and has its own file, else the last; in the given order."""
    in_time = sorted(archives, key=lambda archived: (has_main_file(archived), archived.manifest.archived_at))
    last = {archived.manifest.main: archived for archived in in_time}
    return [archived for archived in archives if last[archived.manifest.main] is archived]


def has_main_file(archived: ArchivedSession) -> bool:
    """True where the session's own file is in its archive; sub-agents may have been all that was left."""
    return any(entry.path == archived.manifest.main for entry in archived.manifest.entries)


def other_versions(
    chosen: Sequence[ArchivedSession], archives: Iterable[ArchivedSession]
) -> list[tuple[ArchivedSession, int]]:
    """Other versions of chosen sessions that have files which these have not, or not so; with how many."""
    paths = {archived.path for archived in chosen}
    had: dict[str, set[tuple[str, str]]] = {}
    for archived in chosen:
        had.setdefault(archived.manifest.main, set()).update(_states(archived))
    counted = [
        (other, len(_states(other) - had[other.manifest.main]))
        for other in archives
        if other.manifest.main in had and other.path not in paths
    ]
    return [(other, count) for other, count in counted if count]


def _states(archived: ArchivedSession) -> set[tuple[str, str]]:
    return {(entry.path, entry.sha256) for entry in archived.manifest.files}


def find_archived(vault: ArchiveDir, ref: str) -> ArchivedSession:
    """The archive that is meant by a path, an id or its beginning, or a title: of several versions the newest.

    Raises `NoSuchSession`, `Ambiguous`, `CannotRead`, or `BadArchive` where the one that is meant is damaged.
    """
    if ref.endswith(ARCHIVE):
        return archive_at(ref)
    archives = newest_versions(vault.everything())
    for rule in _rules(ref):
        if matches := [archived for archived in archives if rule(archived)]:
            return _only(ref, matches)
    if (damage := damaged_archive_error(vault.troubles, ref)) is not None:
        raise damage
    raise NoSuchSession(
        f"there is no session {ref!r} in the archive {display_path(vault.folder)}: see '{PROGRAM} archive list'"
    )


def damaged_archive_error(troubles: Iterable[ReadProblem], ref: str) -> BadArchive | None:
    """What is to be said where a reference means an archive that could not be read."""
    for trouble in troubles:
        if len(ref) >= MIN_PREFIX_LENGTH and os.path.basename(trouble.path).startswith(ref):
            return BadArchive(f"{display_path(trouble.path)}: {trouble.reason}")
    return None


def archive_at(path: str) -> ArchivedSession:
    """The archive in a file. Raises `CannotRead` or `BadArchive`."""
    try:
        return read_archive_file(os.path.abspath(path))
    except OSError as error:
        raise CannotRead(f"{display_path(path)}: {error.strerror or error}") from error


def _rules(ref: str) -> Iterator[Callable[[ArchivedSession], bool]]:
    """From the strictest to the loosest."""
    word = " ".join(ref.split()).casefold()
    yield lambda archived: ref in (archived.manifest.id, display_path(archived.manifest.id))
    if len(ref) >= MIN_PREFIX_LENGTH:
        yield lambda archived: archived.manifest.id.casefold().startswith(ref.casefold())
    yield lambda archived: (archived.manifest.title or "").casefold() == word
    if len(word) >= MIN_PREFIX_LENGTH:
        yield lambda archived: (archived.manifest.title or "").casefold().startswith(word)


def _only(ref: str, matches: Sequence[ArchivedSession]) -> ArchivedSession:
    if len(matches) == 1:
        return matches[0]
    raise Ambiguous(
        f"{ref!r} fits {len(matches)} archived sessions: name one by its id, or by the path of its archive",
        *(f"{display_path(m.path)}  {truncate(m.manifest.title or '(no title)', _TITLE)}" for m in matches[:_MANY]),
        *([f"… and {len(matches) - _MANY} more"] if len(matches) > _MANY else []),
    )
