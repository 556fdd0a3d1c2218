"""The archive as a store: its sessions are found, listed and read where they are.

The index knows them, so that listing them again unpacks nothing. What has to be read is unpacked into a temporary
directory, which `close` removes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Final

from claude_session_player.archive.archive_dir import (
    ArchiveDir,
    ArchivedSession,
    archive_at,
    damaged_archive_error,
    newest_versions,
)
from claude_session_player.archive.handles import require_space
from claude_session_player.archive.manifest import ARCHIVE, Manifest, ManifestEntry
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

_ADVICE: Final = "free some, or set TMPDIR to a directory on another disk"
_MAX_VERSIONS: Final = 8
"""How many versions of a session are tried if one after another is damaged."""
_PORTION_BYTES: Final = 128 << 20
"""How much is unpacked at once, to be read by several processes."""


class ArchivedStore(Store):
    """The sessions of an archive directory, in their newest versions. It has to be closed.

    The name of a session is the path of its archive, and its own path in there.
    """

    list_command = "list --archived"

    def __init__(self, vault: ArchiveDir, index: ArchivedIndex) -> None:
        super().__init__((vault.folder,), index)
        self._archives = index

    @classmethod
    def at_vault(
        cls, vault: ArchiveDir, cache: str | None = DEFAULT_CACHE, progress: Progress | None = None
    ) -> ArchivedStore:
        """The sessions of an archive directory; for `cache` and `progress` see `Store.open`."""
        return cls(vault, ArchivedIndex(vault, cache, progress))

    def close(self) -> None:
        """Remove what was unpacked."""
        self._archives.close()

    def file_at(self, path: str | os.PathLike[str]) -> SessionFile:
        """The session in an archive, or a file in one by its name here; raises `CannotRead` or `BadArchive`."""
        name = os.path.abspath(path)
        for file in self._archives.add(name) if name.endswith(ARCHIVE) else self.files():
            if file.name == name or (name.endswith(ARCHIVE) and not file.is_agent):
                return file
        raise CannotRead(f"{display_path(name)} is not a session of the archive {display_path(self.roots[0])}")

    def session_of(self, file: SessionFile) -> Session:
        """The session in a file, unpacked; raises `CannotRead` or `BadArchive`."""
        return super().session_of(self._archives.unpacked(file))

    def locate(self, ref: str) -> SessionFile | Session:
        """The file that is meant, unpacked; an older version if the newest is damaged."""
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
            meant = super().locate(ref)
        except NoSuchSession as error:
            if (damage := damaged_archive_error(self.problems, ref)) is not None:
                raise damage from error
            raise
        if isinstance(meant, SessionFile):
            return self._archives.unpacked(meant)
        return self._inline_session(meant) if meant.is_inline else self._archives.unpacked(meant.file)

    def resolve(self, ref: str) -> Session:
        """The one session that is meant, unpacked; see `Store.resolve`."""
        meant = self.locate(ref)
        return self.session_of(meant) if isinstance(meant, SessionFile) else meant

    def _inline_session(self, meant: Session) -> Session:
        for child in self.session_of(meant.file).subagents:
            if child.id == meant.id:
                return child
        raise NoSuchSession(f"there is no session {display_path(meant.id)!r} in the archive")

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

    def __init__(self, vault: ArchiveDir, cache: str | None = None, progress: Progress | None = None) -> None:
        super().__init__(cache, progress)
        self._vault = vault
        self._all: list[ArchivedSession] | None = None
        """Every archive that was not refused."""
        self._by_path: dict[str, ArchivedSession] | None = None
        """The version of each session that is used."""
        self._folders: dict[str, str] = {}
        """The directories into which archives are unpacked, by the paths of the archives."""
        self.refused: set[str] = set()
        """The paths of archives that turned out to be damaged when they were unpacked."""

    def files(self, roots: Sequence[str]) -> list[SessionFile]:
        """Every session file of the archive; only the manifests are read, once."""
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
        """Use older versions of sessions whose archives were refused in the meantime; false if none was."""
        is_new = not self.refused.isdisjoint(self._archives())
        self._by_path = None if is_new else self._by_path
        return is_new

    def add(self, path: str) -> list[SessionFile]:
        """The session files of one archive, wherever it is. Raises `CannotRead` or `BadArchive`."""
        archives = self._archives()
        if path not in archives:
            archives[path] = archive_at(path)
        return _files_of(archives[path])

    def relatives(self, file: SessionFile) -> KnownFiles:
        """A session file and those of the same archive, unpacked."""
        archived = self._archive_of(file)
        return self.lookup(_files_of(archived, self._unpack(archived)))

    def unpacked(self, file: SessionFile) -> SessionFile:
        """A session file that can be read."""
        archived = self._archive_of(file)
        folder = self._unpack(archived)
        return next(one for one in _files_of(archived, folder) if one.name == file.name)

    def close(self) -> None:
        """Remove what was unpacked, and close the database."""
        super().close()
        for folder in self._folders.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._folders.clear()

    def _run(self, jobs: Sequence[ExtractJob]) -> Iterator[Extraction]:
        """Unpack archives up to a certain size, read them, remove them again, and continue."""
        waiting: dict[str, list[ExtractJob]] = {}
        for job in jobs:
            waiting.setdefault(self._archive_of(job.file).path, []).append(job)
        while waiting:
            with tempfile.TemporaryDirectory(prefix=f"{PROGRAM}-") as folder:
                ready: list[ExtractJob] = []
                size = 0
                while waiting and size < _PORTION_BYTES:
                    path, some = waiting.popitem()
                    more = self._ready(self._archives()[path], some, os.path.join(folder, str(len(waiting))))
                    size += sum(job.file.stamp.size for job in more)
                    ready += more
                yield from super()._run(ready)

    def _ready(self, archived: ArchivedSession, jobs: Sequence[ExtractJob], folder: str) -> list[ExtractJob]:
        """The jobs with files that can be read; none if the archive is damaged."""
        folder = self._folders.get(archived.path, folder)
        wanted = {job.file.name for job in jobs}
        try:
            if archived.path not in self._folders:
                _unpack_to(archived.path, folder, sessions_only=True)
        except (BadArchive, NoSpace, OSError) as error:
            self._refuse(archived, error)
            return []
        files = {file.name: file for file in _files_of(archived, folder) if file.name in wanted}
        return [job._replace(file=files[job.file.name]) for job in jobs]

    def _unpack(self, archived: ArchivedSession) -> str:
        if archived.path not in self._folders:
            folder = tempfile.mkdtemp(prefix=f"{PROGRAM}-")
            try:
                _unpack_to(archived.path, folder)
                self._folders[archived.path] = folder
            except BadArchive as error:
                self._refuse(archived, error)
                raise
            except OSError as error:
                raise CannotRead(f"{display_path(archived.path)}: {error.strerror or error}") from error
            finally:
                if archived.path not in self._folders:  # half of it must not be taken for all of it
                    shutil.rmtree(folder, ignore_errors=True)
        return self._folders[archived.path]

    def _archives(self) -> dict[str, ArchivedSession]:
        if self._by_path is None:
            if self._all is None:
                self._all = self._vault.everything()
                self.note(self._vault.troubles)
            self._all = [archived for archived in self._all if archived.path not in self.refused]
            self._by_path = {archived.path: archived for archived in newest_versions(self._all)}
        return self._by_path

    def _refuse(self, archived: ArchivedSession, error: Exception) -> None:
        """Note what is wrong with an archive; from now on an older version of its session is used, if there is one."""
        self.note([ReadProblem(archived.path, str(error).removeprefix(f"{display_path(archived.path)}: "))])
        self.refused.add(archived.path)

    def _archive_of(self, file: SessionFile) -> ArchivedSession:
        """The archive that a file is in, by its name."""
        archives, path = self._archives(), file.name
        while path not in archives and path != os.path.dirname(path):
            path = os.path.dirname(path)
        return archives[path]


def _files_of(archived: ArchivedSession, folder: str | None = None) -> list[SessionFile]:
    """The session files of an archive; with `folder`, where they are when it is unpacked there."""
    stamps = {entry.path: FileStamp(entry.size, entry.mtime_ns, 0) for entry in archived.manifest.files}
    root = folder or archived.path
    found = session_files_among(root, stamps)
    return [file._replace(label=archived.path + file.path.removeprefix(root)) for file in found]


def _unpack_to(path: str, folder: str, *, sessions_only: bool = False) -> None:
    """Unpack an archive as a store; or only what the index is made of.

    Raises `BadArchive`, `NoSpace` or `OSError`.
    """
    with open_archive(path) as archive:
        wanted = [
            e for e in archive.manifest.files if not sessions_only or e.path.endswith((SESSION_SUFFIX, META_SUFFIX))
        ]
        require_space(folder, (entry.size for entry in wanted), _ADVICE)
        paths = {entry.path for entry in wanted}
        for one in _parents(archive.manifest):
            os.makedirs(os.path.join(folder, *one.split("/")), exist_ok=True)
        for entry, pieces in archive.contents():
            if entry.path in paths:
                _write(os.path.join(folder, *entry.path.split("/")), entry, pieces)


def _parents(manifest: Manifest) -> Iterator[str]:
    yield manifest.main.rpartition("/")[0]
    yield from (entry.path for entry in manifest.entries if entry.kind == FOLDER)


def _write(path: str, entry: ManifestEntry, pieces: Iterable[bytes]) -> None:
    with open(path, "xb") as file:
        file.writelines(pieces)
    os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns))
