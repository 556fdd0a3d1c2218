"""The archive as a store: its sessions are found, listed and read without restoring them.

The index remembers what is known of them, so that listing them again unpacks nothing. Sessions that have to be read are
unpacked into a temporary directory, which is removed when the store is closed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Final

from claude_session_player.archive.archive_dir import (
    ArchiveDir,
    ArchivedSession,
    damaged_archive_error,
    load_archive_file,
    newest_versions,
)
from claude_session_player.archive.directories import require_space
from claude_session_player.archive.manifest import ARCHIVE_SUFFIX, Manifest, ManifestEntry
from claude_session_player.archive.pack import open_archive
from claude_session_player.archive.session_files import FOLDER
from claude_session_player.errors import BadArchive, CannotRead, NoSpace, NoSuchSession, SessionError
from claude_session_player.store import (
    DEFAULT_CACHE,
    META_SUFFIX,
    SESSION_SUFFIX,
    Extraction,
    ExtractJob,
    FileStamp,
    InUse,
    KnownFiles,
    Progress,
    ReadProblem,
    SessionFile,
    Store,
    StoreIndex,
    UseEvidence,
    session_files_among,
)
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.store import Session

_NO_SPACE_ADVICE: Final = "free some, or set TMPDIR to a directory on another disk"
_MAX_VERSIONS: Final = 8
"""How many versions of a session are tried if one after another is damaged."""
_BATCH_SIZE: Final = 128 << 20
"""Bytes that are unpacked at a time, to be read by several processes."""


class ArchivedStore(Store):
    """The sessions of an archive, each in its newest version. It has to be closed.

    A session is named by the path of its archive, followed by its own path in the archive.
    """

    is_packed = True

    def __init__(self, archive_dir: ArchiveDir, index: ArchivedIndex) -> None:
        super().__init__((archive_dir.path,), index)
        self.list_command = f"list{archive_dir.options or ' --archived'}"
        self._archives = index

    @classmethod
    def from_archive_dir(
        cls, archive_dir: ArchiveDir, cache: str | None = DEFAULT_CACHE, progress: Progress | None = None
    ) -> ArchivedStore:
        """The sessions of an archive directory; for `cache` and `progress` see `Store.open`."""
        return cls(archive_dir, ArchivedIndex(archive_dir, cache, progress))

    def close(self) -> None:
        """Delete what was unpacked."""
        self._archives.close()

    def file_at(self, path: str | os.PathLike[str]) -> SessionFile:
        """The session in an archive file, or a file by its name in this store. Raises `CannotRead` or `BadArchive`."""
        name = os.path.abspath(path)
        for file in self._archives.add(name) if name.endswith(ARCHIVE_SUFFIX) else self.files():
            if file.name == name or (name.endswith(ARCHIVE_SUFFIX) and not file.is_agent):
                return file
        raise CannotRead(f"{display_path(name)} is not a session of the archive {display_path(self.roots[0])}")

    def session_of(self, file: SessionFile) -> Session:
        """The session in a file, unpacked. Raises `CannotRead` or `BadArchive`."""
        return super().session_of(self._archives.unpacked(file))

    def unpacked(self, file: SessionFile) -> SessionFile:
        """A file that can be opened by its path, until one of another archive is unpacked. Raises `SessionError`."""
        return self._archives.unpacked_alone(file)

    def locate(self, ref: str) -> SessionFile | Session:
        """The file that a reference names, unpacked; if the newest version is damaged, the one before it."""
        first: SessionError | None = None
        for _ in range(_MAX_VERSIONS):
            try:
                return self._locate_once(ref)
            except (BadArchive, NoSuchSession) as error:
                first = first or error
            if not self._archives.skip_refused():
                break
        assert first is not None
        raise first

    def _locate_once(self, ref: str) -> SessionFile | Session:
        try:
            located = super().locate(ref)
        except NoSuchSession as error:
            if (damage := damaged_archive_error(self.problems, ref)) is not None:
                raise damage from error
            raise
        if isinstance(located, SessionFile):
            return self._archives.unpacked(located)
        return self._unpack_inline(located) if located.is_inline else self._archives.unpacked(located.file)

    def resolve(self, ref: str) -> Session:
        """The one session that a reference names, unpacked; see `Store.resolve`."""
        located = self.locate(ref)
        return self.session_of(located) if isinstance(located, SessionFile) else located

    def _unpack_inline(self, subagent: Session) -> Session:
        """A sub-agent whose records are in its parent's file, after that was unpacked."""
        for child in self.session_of(subagent.file).subagents:
            if child.id == subagent.id:
                return child
        raise NoSuchSession(f"no session {display_path(subagent.id)!r} in the archive")

    def look_for_use(self) -> InUse:
        """Archived sessions are never in use."""
        return _NotInUse()


class _NotInUse(InUse):
    """Archived sessions are never in use."""

    def __call__(self, file: SessionFile) -> bool:
        return False

    def evidence(self, paths: Iterable[str]) -> list[UseEvidence]:
        return []

    def renew(self) -> InUse:
        return self


class ArchivedIndex(StoreIndex):
    """The facts of session files in archives; see `StoreIndex`. Nothing is unpacked before it has to be read."""

    def __init__(self, archive_dir: ArchiveDir, cache: str | None = None, progress: Progress | None = None) -> None:
        super().__init__(cache, progress)
        self._archive_dir = archive_dir
        self._all: list[ArchivedSession] | None = None
        """Every archive that is not refused."""
        self._by_path: dict[str, ArchivedSession] | None = None
        """The version of each session that is used."""
        self._unpacked_dirs: dict[str, str] = {}
        """The directories with unpacked archives, by the paths of the archives."""
        self.refused: set[str] = set()
        """The paths of archives that proved to be damaged when they were unpacked."""

    def files(self, roots: Sequence[str]) -> list[SessionFile]:
        """Every session file of the archive; only the manifests are read, and only once."""
        return [file for archived in self._archives().values() for file in _files_of(archived)]

    def everything(self, roots: Sequence[str]) -> KnownFiles:
        """Every session file of the archive that can be read; see `StoreIndex`."""
        files = super().everything(roots)
        for _ in range(_MAX_VERSIONS):
            if not self.skip_refused():
                break
            files = super().everything(roots)
        return files

    def skip_refused(self) -> bool:
        """Use older versions of the sessions whose archives have been refused; false if there are none."""
        is_new = not self.refused.isdisjoint(self._archives())
        self._by_path = None if is_new else self._by_path
        return is_new

    def add(self, path: str) -> list[SessionFile]:
        """The session files of one archive, wherever it is. Raises `CannotRead` or `BadArchive`."""
        archives = self._archives()
        if path not in archives:
            archives[path] = load_archive_file(path)
        return _files_of(archives[path])

    def relatives(self, file: SessionFile) -> KnownFiles:
        """A session file and the others of its archive, unpacked."""
        archived = self._archive_of(file)
        return self.lookup(_files_of(archived, self._unpack(archived)))

    def unpacked(self, file: SessionFile) -> SessionFile:
        """A session file, unpacked."""
        archived = self._archive_of(file)
        directory = self._unpack(archived)
        return next(one for one in _files_of(archived, directory) if one.name == file.name)

    def unpacked_alone(self, file: SessionFile) -> SessionFile:
        """The same, and what was unpacked of other archives before is deleted: many files need little room then."""
        own = self._archive_of(file).path
        for path in [path for path in self._unpacked_dirs if path != own]:
            shutil.rmtree(self._unpacked_dirs.pop(path), ignore_errors=True)
        return self.unpacked(file)

    def close(self) -> None:
        """Delete what was unpacked, and close the index."""
        super().close()
        for directory in self._unpacked_dirs.values():
            shutil.rmtree(directory, ignore_errors=True)
        self._unpacked_dirs.clear()

    def _run(self, jobs: Sequence[ExtractJob]) -> Iterator[Extraction]:
        """Unpack the archives in batches, read them, and delete what was unpacked."""
        waiting: dict[str, list[ExtractJob]] = {}
        for job in jobs:
            waiting.setdefault(self._archive_of(job.file).path, []).append(job)
        while waiting:
            with tempfile.TemporaryDirectory(prefix=f"{PROGRAM}-") as directory:
                ready: list[ExtractJob] = []
                size = 0
                while waiting and size < _BATCH_SIZE:
                    path, some = waiting.popitem()
                    more = self._unpack_jobs(self._archives()[path], some, os.path.join(directory, str(len(waiting))))
                    size += sum(job.file.stamp.size for job in more)
                    ready += more
                yield from super()._run(ready)

    def _unpack_jobs(self, archived: ArchivedSession, jobs: Sequence[ExtractJob], directory: str) -> list[ExtractJob]:
        """The jobs with the paths of unpacked files; none if the archive is damaged."""
        directory = self._unpacked_dirs.get(archived.path, directory)
        wanted = {job.file.name for job in jobs}
        try:
            if archived.path not in self._unpacked_dirs:
                _unpack_to(archived.path, directory, sessions_only=True)
        except (BadArchive, NoSpace, OSError) as error:
            self._refuse(archived, error)
            return []
        files = {file.name: file for file in _files_of(archived, directory) if file.name in wanted}
        return [job._replace(file=files[job.file.name]) for job in jobs]

    def _unpack(self, archived: ArchivedSession) -> str:
        if archived.path not in self._unpacked_dirs:
            directory = tempfile.mkdtemp(prefix=f"{PROGRAM}-")
            try:
                _unpack_to(archived.path, directory)
                self._unpacked_dirs[archived.path] = directory
            except BadArchive as error:
                self._refuse(archived, error)
                raise
            except OSError as error:
                raise CannotRead(f"{display_path(archived.path)}: {error.strerror or error}") from error
            finally:
                if archived.path not in self._unpacked_dirs:  # an incomplete directory must not be used
                    shutil.rmtree(directory, ignore_errors=True)
        return self._unpacked_dirs[archived.path]

    def _archives(self) -> dict[str, ArchivedSession]:
        if self._by_path is None:
            if self._all is None:
                self._all = self._archive_dir.archives()
                self.note(self._archive_dir.problems)
            self._all = [archived for archived in self._all if archived.path not in self.refused]
            self._by_path = {archived.path: archived for archived in newest_versions(self._all)}
        return self._by_path

    def _refuse(self, archived: ArchivedSession, error: Exception) -> None:
        """Record why an archive is unusable; from now on an older version of its session is used, if there is one."""
        self.note([ReadProblem(archived.path, str(error).removeprefix(f"{display_path(archived.path)}: "))])
        self.refused.add(archived.path)

    def _archive_of(self, file: SessionFile) -> ArchivedSession:
        """The archive of a file, whose name begins with the path of the archive."""
        archives, path = self._archives(), file.name
        while path not in archives and path != os.path.dirname(path):
            path = os.path.dirname(path)
        return archives[path]


def _files_of(archived: ArchivedSession, directory: str | None = None) -> list[SessionFile]:
    """The session files of an archive, with their paths below the directory that it is unpacked into."""
    stamps = {entry.path: FileStamp(entry.size, entry.mtime_ns, 0) for entry in archived.manifest.files}
    root = directory or archived.path
    found = session_files_among(root, stamps)
    return [file._replace(label=archived.path + file.path.removeprefix(root)) for file in found]


def _unpack_to(path: str, directory: str, *, sessions_only: bool = False) -> None:
    """Unpack an archive into a directory laid out like a store; with `sessions_only`, only what the index needs.

    Raises `BadArchive`, `NoSpace` or `OSError`.
    """
    with open_archive(path) as archive:
        wanted = [
            e for e in archive.manifest.files if not sessions_only or e.path.endswith((SESSION_SUFFIX, META_SUFFIX))
        ]
        require_space(directory, (entry.size for entry in wanted), _NO_SPACE_ADVICE)
        paths = {entry.path for entry in wanted}
        for parent in _parents(archive.manifest):
            os.makedirs(os.path.join(directory, *parent.split("/")), exist_ok=True)
        for entry, pieces in archive.contents():
            if entry.path in paths:
                _write(os.path.join(directory, *entry.path.split("/")), entry, pieces)


def _parents(manifest: Manifest) -> Iterator[str]:
    yield manifest.main.rpartition("/")[0]
    yield from (entry.path for entry in manifest.entries if entry.kind == FOLDER)


def _write(path: str, entry: ManifestEntry, pieces: Iterable[bytes]) -> None:
    with open(path, "xb") as file:
        file.writelines(pieces)
    os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns))
