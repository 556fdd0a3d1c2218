"""The archive directory: the path of each session's archive, locking, and finding an archived session."""

from __future__ import annotations

import os
import shlex
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.archive.directories import make_dirs, sync_dir
from claude_session_player.archive.locks import lock_handle
from claude_session_player.archive.manifest import (
    ARCHIVE_SUFFIX,
    Manifest,
    archive_file_name,
    archive_folder_name,
    archive_version,
)
from claude_session_player.archive.pack import read_manifest
from claude_session_player.errors import Ambiguous, BadArchive, CannotRead, CannotWrite, NoSuchSession, SessionError
from claude_session_player.store import MIN_PREFIX_LENGTH, ReadProblem
from claude_session_player.util.dirs import PROGRAM, data_dir
from claude_session_player.util.fsutil import NOT_REGULAR, regular_opener
from claude_session_player.util.text import display_path, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

PARTIAL_NAME: Final = ".csp-partial"
"""The name of an archive while it is written. Only one process writes, so one name per directory is enough."""
_LOCK_NAME: Final = ".lock"


class ArchivedSession(NamedTuple):
    """An archive of a session."""

    path: str
    size: int
    """The size of the archive file itself, in bytes."""
    version: int
    """Counted from 1: a session that lost something after it was archived has several versions."""
    manifest: Manifest


class ArchiveDir:
    """A directory of archives. It need not exist before something is written to it.

    Archives that cannot be read are added to `problems`; the others are not affected.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = os.path.abspath(os.fspath(path) if path is not None else default_archive_dir())
        self.options = "" if path is None else f" --archive {shlex.quote(os.fspath(path))}"
        """The option that leads another command to it, after a space; empty for the default directory."""
        self.problems: list[ReadProblem] = []
        self._seen_problems: set[ReadProblem] = set()
        self._names_by_dir: dict[str, dict[str, list[str]]] | None = None
        """While the directory is locked: the names in each subdirectory, by the part before their first dot."""

    def archive_path(self, main: str, version: int = 1) -> str:
        """The path of the archive of a session, by the path of its file below the store."""
        return os.path.join(self.path, archive_folder_name(main), archive_file_name(main, version))

    def versions(self, main: str) -> list[ArchivedSession]:
        """The readable archives of a session, oldest first; sessions of several stores may share a path."""
        archives = self._read_archives(path for _, path in self._versions_of(main))
        return [archived for archived in archives if archived.manifest.main == main]

    def newest(self, main: str, root: str | None = None) -> ArchivedSession | None:
        """The newest archive of a session; with `root`, only of a session from this store."""
        newest_first = reversed(self.versions(main))
        return next((archived for archived in newest_first if root in (None, archived.manifest.root)), None)

    def next_path(self, main: str) -> str:
        """The path for the next version of a session."""
        taken = [version for version, _ in self._versions_of(main)]
        return self.archive_path(main, max(taken, default=0) + 1)

    def archives(self) -> list[ArchivedSession]:
        """Every readable archive; the newest of each session comes last."""
        return self._read_archives(self.archive_paths())

    def archive_paths(self) -> Iterator[str]:
        """The paths of all archives; no archive is opened."""
        for directory in self._names_in(self.path):
            for name in self._names_in(os.path.join(self.path, directory)):
                path = os.path.join(self.path, directory, name)
                if not name.endswith(ARCHIVE_SUFFIX) or name.startswith("."):
                    continue
                if os.path.isfile(path):
                    yield path
                else:
                    self._add_problem(path, NOT_REGULAR)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the directory against other writers, and delete what a killed run left. Raises `CannotWrite`."""
        with ExitStack() as held:
            try:
                make_dirs(self.path)
                lock_path = os.path.join(self.path, _LOCK_NAME)
                lock_handle(held.enter_context(open(lock_path, "ab", opener=regular_opener)).fileno())
                self._remove_partial_files()
                self._names_by_dir = {}
                held.callback(self._drop_names)
            except FileExistsError as error:
                raise CannotWrite(
                    f"{display_path(error.filename)} is not a directory: name a directory for archives"
                ) from error
            except BlockingIOError as error:
                busy = f"another {PROGRAM} is writing to this archive: try again when it has finished"
                raise CannotWrite(f"{display_path(self.path)}: {busy}") from error
            except OSError as error:
                raise CannotWrite(f"{display_path(self.path)}: {error.strerror or error}") from error
            yield

    def register(self, path: str) -> None:
        """Remember an archive that was written while the directory is locked."""
        directory, name = os.path.split(path)
        if self._names_by_dir is not None and name not in (names := self._similar_names(directory, name)):
            names.append(name)

    def require_outside(self, roots: Sequence[str]) -> None:
        """Raises `CannotWrite` if the archive directory is inside of a store."""
        path = os.path.join(os.path.realpath(self.path), "")
        for root in roots:
            if path.startswith(os.path.join(os.path.realpath(root), "")):
                raise CannotWrite(
                    f"{display_path(self.path)} is inside of the store {display_path(root)}: "
                    "name another directory for archives"
                )

    def _versions_of(self, main: str) -> Iterator[tuple[int, str]]:
        """The version and path of each file whose name is that of an archive of this session."""
        directory = os.path.join(self.path, archive_folder_name(main))
        for name in self._similar_names(directory, archive_file_name(main)):
            if (version := archive_version(name, main)) is not None:
                yield version, os.path.join(directory, name)

    def _similar_names(self, directory: str, name: str) -> list[str]:
        """The names in a directory that are the same up to the first dot."""
        if self._names_by_dir is None:
            return _group_by_stem(self._names_in(directory)).get(_stem(name), [])
        if directory not in self._names_by_dir:
            self._names_by_dir[directory] = _group_by_stem(self._names_in(directory))
        return self._names_by_dir[directory].setdefault(_stem(name), [])

    def _drop_names(self) -> None:
        self._names_by_dir = None

    def _read_archives(self, paths: Iterable[str]) -> list[ArchivedSession]:
        archives = []
        for path in paths:
            try:
                archives.append(read_archive_file(path))
            except BadArchive as error:
                self._add_problem(path, str(error).removeprefix(f"{display_path(path)}: "))
            except OSError as error:
                self._add_problem(path, error.strerror or str(error))
        return sorted(archives, key=lambda archived: (archived.version, archived.path))

    def _add_problem(self, path: str, reason: str) -> None:
        problem = ReadProblem(path, reason)
        if problem not in self._seen_problems:
            self._seen_problems.add(problem)
            self.problems.append(problem)

    def _remove_partial_files(self) -> None:
        for name in self._names_in(self.path):
            directory = os.path.join(self.path, name)
            if PARTIAL_NAME in self._names_in(directory):
                os.remove(os.path.join(directory, PARTIAL_NAME))
                sync_dir(directory)

    def _names_in(self, directory: str) -> list[str]:
        """The sorted names in a directory; none if it does not exist or cannot be read."""
        try:
            return sorted(os.listdir(directory))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self._add_problem(directory, error.strerror or str(error))
            return []


def read_archive_file(path: str) -> ArchivedSession:
    """Read the manifest of an archive file, wherever it is. Raises `BadArchive` or `OSError`."""
    manifest = read_manifest(path)
    version = archive_version(os.path.basename(path), manifest.main) or 1  # it may have been renamed
    return ArchivedSession(path, os.stat(path).st_size, version, manifest)


def open_archive_dir(path: str | None) -> ArchiveDir:
    """An archive directory for reading. Raises `CannotRead` if the named one does not exist, probably for a typo."""
    archive_dir = ArchiveDir(path)
    if os.path.lexists(archive_dir.path) and not os.path.isdir(archive_dir.path):
        raise CannotRead(f"{display_path(archive_dir.path)} is not a directory: name the directory of the archive")
    if path is not None and not os.path.isdir(archive_dir.path):
        raise CannotRead(f"{display_path(archive_dir.path)}: no such archive directory")
    return archive_dir


def default_archive_dir() -> str:
    """The archive directory that is used unless another is named."""
    if (path := data_dir()) is None:
        raise SessionError("this system has no default directory for archives: name one")
    return os.path.join(path, "archive")


def _group_by_stem(names: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_stem(name), []).append(name)
    return groups


def _stem(name: str) -> str:
    return name.partition(".")[0]


_MAX_MATCHES: Final = 10
_MAX_TITLE: Final = 60


def newest_versions(archives: Sequence[ArchivedSession]) -> list[ArchivedSession]:
    """The newest version of each session that has the session's own file, else the newest; in the given order."""
    best_last = sorted(archives, key=lambda archived: (has_main_file(archived), archived.manifest.archived_at))
    best = {archived.manifest.main: archived for archived in best_last}
    return [archived for archived in archives if best[archived.manifest.main] is archived]


def has_main_file(archived: ArchivedSession) -> bool:
    """True if the archive has the session's own file, not only sub-agents that were left without it."""
    return any(entry.path == archived.manifest.main for entry in archived.manifest.entries)


def other_versions(
    chosen: Sequence[ArchivedSession], archives: Iterable[ArchivedSession]
) -> list[tuple[ArchivedSession, int]]:
    """Other versions of the chosen sessions with files that these lack or have differently, and how many."""
    paths = {archived.path for archived in chosen}
    states: dict[str, set[tuple[str, str]]] = {}
    for archived in chosen:
        states.setdefault(archived.manifest.main, set()).update(_file_states(archived))
    counts = [
        (other, len(_file_states(other) - states[other.manifest.main]))
        for other in archives
        if other.manifest.main in states and other.path not in paths
    ]
    return [(other, count) for other, count in counts if count]


def _file_states(archived: ArchivedSession) -> set[tuple[str, str]]:
    return {(entry.path, entry.sha256) for entry in archived.manifest.files}


def find_archived(archive_dir: ArchiveDir, ref: str) -> ArchivedSession:
    """The archive that a reference names by a path, an id or its beginning, or a title; the newest of its versions.

    Raises `NoSuchSession`, `Ambiguous`, `CannotRead`, or `BadArchive` if the named archive is damaged.
    """
    if ref.endswith(ARCHIVE_SUFFIX):
        return load_archive_file(ref)
    archives = newest_versions(archive_dir.archives())
    for rule in _rules(ref):
        if matches := [archived for archived in archives if rule(archived)]:
            return _only(ref, matches)
    if (damage := damaged_archive_error(archive_dir.problems, ref)) is not None:
        raise damage
    raise NoSuchSession(
        f"no session {ref!r} in the archive {display_path(archive_dir.path)}: "
        f"see '{PROGRAM} archive list{archive_dir.options}'"
    )


def damaged_archive_error(problems: Iterable[ReadProblem], ref: str) -> BadArchive | None:
    """The error for a reference that names an archive which could not be read; `None` if it names none."""
    for problem in problems:
        if len(ref) >= MIN_PREFIX_LENGTH and os.path.basename(problem.path).startswith(ref):
            return BadArchive(f"{display_path(problem.path)}: {problem.reason}")
    return None


def load_archive_file(path: str) -> ArchivedSession:
    """The archive at a path that a person named. Raises `CannotRead` or `BadArchive`."""
    try:
        return read_archive_file(os.path.abspath(path))
    except OSError as error:
        raise CannotRead(f"{display_path(path)}: {error.strerror or error}") from error


def _rules(ref: str) -> Iterator[Callable[[ArchivedSession], bool]]:
    """How an archive may match a reference, from the strictest rule to the loosest."""
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
        f"{ref!r} matches {len(matches)} archived sessions: name one by its id, or by the path of its archive",
        *(_match_line(archived) for archived in matches[:_MAX_MATCHES]),
        *([f"… and {len(matches) - _MAX_MATCHES} more"] if len(matches) > _MAX_MATCHES else []),
    )


def _match_line(archived: ArchivedSession) -> str:
    return f"{display_path(archived.path)}  {truncate(archived.manifest.title or '(no title)', _MAX_TITLE)}"
