"""The archive looked at as a store: its sessions are found, listed and read where they are.

What is known of them is kept in the catalogue, so that a second look unpacks nothing. What has to be read is unpacked
into a temporary directory, which is removed in the end.
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
    DIGEST,
    META,
    SUFFIX,
    ExtractJob,
    ExtractResult,
    FileStamp,
    InUse,
    Library,
    Progress,
    ReadProblem,
    SessionFile,
    Store,
    StoreIndex,
    UseEvidence,
    default_index_dir,
    locate_ref,
    run_jobs,
    session_files_among,
)
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.store import IndexedFile, Session

_ADVICE: Final = "free some, or set TMPDIR to a directory on another disk"
_MOST_VERSIONS: Final = 8
"""How many versions of a session are tried, where one after another is damaged."""
_PORTION: Final = 128 << 20
"""So many bytes are unpacked at once, to be read by several processes."""


class ArchivedStore(Store):
    """The sessions of an archive; of several versions the newest. To be closed in the end.

    A session is called by the path of its archive, and its own path in there.
    """

    listing = "list --archived"

    def __init__(self, vault: ArchiveDir, library: ArchivedLibrary) -> None:
        super().__init__((vault.folder,), library)
        self._archives = library

    @classmethod
    def at_vault(
        cls, vault: ArchiveDir, cache: str | None = DEFAULT_CACHE, progress: Progress | None = None
    ) -> ArchivedStore:
        """The sessions of a vault; for `cache` and `progress` see `Store.open`."""
        catalogue = StoreIndex(default_index_dir() if cache == DEFAULT_CACHE else cache)
        return cls(vault, ArchivedLibrary(vault, catalogue, progress))

    def close(self) -> None:
        """Remove what was unpacked."""
        self._archives.close()

    def place(self, path: str | os.PathLike[str]) -> SessionFile:
        """The session in an archive, or a file of one as it is called here; raises `CannotRead` or `BadArchive`."""
        name = os.path.abspath(path)
        for file in self._archives.add(name) if name.endswith(ARCHIVE) else self.files():
            if file.name == name or (name.endswith(ARCHIVE) and not file.is_agent):
                return file
        raise CannotRead(f"{display_path(name)} is no session of the archive {display_path(self.roots[0])}")

    def of(self, file: SessionFile) -> Session:
        """The session in a file, unpacked; raises `CannotRead` or `BadArchive`."""
        return super().of(self._archives.unpacked(file))

    def locate(self, ref: str) -> SessionFile | Session:
        """The file that is meant, unpacked; of a session whose last version is damaged, the one before it."""
        first: SessionError | None = None
        for _ in range(_MOST_VERSIONS):
            try:
                return self._located(ref)
            except (BadArchive, NoSuchSession) as error:
                first = first or error
            if not self._archives.pass_over():
                break
        assert first is not None
        raise first

    def _located(self, ref: str) -> SessionFile | Session:
        try:
            meant = locate_ref(self, ref)
        except NoSuchSession as error:
            if (damage := damaged_archive_error(self.troubles, ref)) is not None:
                raise damage from error
            raise
        if isinstance(meant, SessionFile):
            return self._archives.unpacked(meant)
        return self._inline(meant) if meant.is_inline else self._archives.unpacked(meant.found)

    def resolve(self, ref: str) -> Session:
        """The one session that is meant, unpacked; see `Store.resolve`."""
        meant = self.locate(ref)
        return self.of(meant) if isinstance(meant, SessionFile) else meant

    def _inline(self, meant: Session) -> Session:
        for child in self.of(meant.found).subagents:
            if child.id == meant.id:
                return child
        raise NoSuchSession(f"there is no session {display_path(meant.id)!r} in the archive")

    def _in_use(self) -> InUse:
        return _NotInUse()


class _NotInUse(InUse):
    """Nobody works with what is archived."""

    def __call__(self, found: SessionFile) -> bool:
        return False

    def signs(self, paths: Iterable[str]) -> list[UseEvidence]:
        return []

    def anew(self) -> InUse:
        return self


class ArchivedLibrary(Library):
    """The session files of archives; see `Library`. Nothing is unpacked before it has to be read."""

    def __init__(self, vault: ArchiveDir, catalogue: StoreIndex, progress: Progress | None = None) -> None:
        super().__init__(catalogue, progress)
        self._vault = vault
        self._all: list[ArchivedSession] | None = None
        """Every archive that is not refused."""
        self._by_path: dict[str, ArchivedSession] | None = None
        """Of each session the version that stands for it."""
        self._folders: dict[str, str] = {}
        """Where archives are unpacked, by their paths."""
        self.refused: set[str] = set()
        """The paths of archives that turned out to be damaged when they were unpacked."""

    def files(self, roots: Sequence[str]) -> list[SessionFile]:
        """Every session file of the archive; no more than the manifests is read, and that once."""
        return [file for archived in self._archives().values() for file in _files_of(archived)]

    def everything(self, roots: Sequence[str]) -> dict[str, IndexedFile]:
        """Every session file of the archive that can be read; see `Library`."""
        members = super().everything(roots)
        for _ in range(_MOST_VERSIONS):
            if not self.pass_over():
                break
            members = super().everything(roots)
        return members

    def pass_over(self) -> bool:
        """Let older versions stand for sessions whose archives were refused meanwhile; false where none was."""
        is_new = not self.refused.isdisjoint(self._archives())
        self._by_path = None if is_new else self._by_path
        return is_new

    def add(self, path: str) -> list[SessionFile]:
        """The session files of one archive, wherever it is. Raises `CannotRead` or `BadArchive`."""
        archives = self._archives()
        if path not in archives:
            archives[path] = archive_at(path)
        return _files_of(archives[path])

    def relatives(self, file: SessionFile, *, with_main: bool = True) -> dict[str, IndexedFile]:
        """A session file and those of the same archive, unpacked, by name; or only the sub-agents among them."""
        archived = self._archive_of(file)
        folder = self._unpack(archived)
        found = [one for one in _files_of(archived, folder) if with_main or one.is_agent]
        return self._members(found, self._catalogue.of([one.name for one in found]))

    def unpacked(self, file: SessionFile) -> SessionFile:
        """A session file in a place where it can be read."""
        archived = self._archive_of(file)
        folder = self._unpack(archived)
        return next(one for one in _files_of(archived, folder) if one.name == file.name)

    def close(self) -> None:
        """Remove what was unpacked, and let go of the catalogue."""
        super().close()
        for folder in self._folders.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._folders.clear()

    def _results(self, jobs: Sequence[ExtractJob]) -> Iterator[ExtractResult]:
        """Unpack as many archives at once as fit, read them, and remove them again."""
        waiting: dict[str, list[ExtractJob]] = {}
        for job in jobs:
            waiting.setdefault(self._archive_of(job.found).path, []).append(job)
        while waiting:
            with tempfile.TemporaryDirectory(prefix=f"{PROGRAM}-") as folder:
                ready: list[ExtractJob] = []
                size = 0
                while waiting and size < _PORTION:
                    path, some = waiting.popitem()
                    more = self._ready(self._archives()[path], some, os.path.join(folder, str(len(waiting))))
                    size += sum(job.found.stamp.size for job in more)
                    ready += more
                yield from run_jobs(ready, DIGEST)

    def _ready(self, archived: ArchivedSession, jobs: Sequence[ExtractJob], folder: str) -> list[ExtractJob]:
        """The jobs with files that can be read; an archive that is damaged costs only itself."""
        folder = self._folders.get(archived.path, folder)
        wanted = {job.found.name for job in jobs}
        try:
            if archived.path not in self._folders:
                _unpack_to(archived.path, folder, sessions_only=True)
        except (BadArchive, NoSpace, OSError) as error:
            self._refuse(archived, error)
            return []
        files = {file.name: file for file in _files_of(archived, folder) if file.name in wanted}
        return [job._replace(found=files[job.found.name]) for job in jobs]

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
                if archived.path not in self._folders:  # nobody shall take half of it for the whole
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
        """Note what is wrong with an archive; from now on an older version stands for its session, if there is one."""
        self.note([ReadProblem(archived.path, str(error).removeprefix(f"{display_path(archived.path)}: "))])
        self.refused.add(archived.path)

    def _archive_of(self, file: SessionFile) -> ArchivedSession:
        """By the name of a file: that of its archive, and its path in there."""
        archives, path = self._archives(), file.name
        while path not in archives and path != os.path.dirname(path):
            path = os.path.dirname(path)
        return archives[path]


def _files_of(archived: ArchivedSession, folder: str | None = None) -> list[SessionFile]:
    """The session files of an archive, and where they are once it is unpacked into a directory."""
    stamps = {entry.path: FileStamp(entry.size, entry.mtime_ns, 0) for entry in archived.manifest.files}
    root = folder or archived.path
    found = session_files_among(root, stamps)
    return [file._replace(label=archived.path + file.path.removeprefix(root)) for file in found]


def _unpack_to(path: str, folder: str, *, sessions_only: bool = False) -> None:
    """Unpack an archive as a store; or only what the catalogue is made of.

    Raises `BadArchive`, `NoSpace` or `OSError`.
    """
    with open_archive(path) as archive:
        wanted = [e for e in archive.manifest.files if not sessions_only or e.path.endswith((SUFFIX, META))]
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
