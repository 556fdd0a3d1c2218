"""One or several stores, looked at as one: what they hold, and which session is meant."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeVar

from claude_session_player.errors import CannotRead, NoStore
from claude_session_player.store.extras import Project, projects_of
from claude_session_player.store.family import group_families
from claude_session_player.store.filters import Filter
from claude_session_player.store.in_use import InUse
from claude_session_player.store.index import StoreIndex, default_index_dir
from claude_session_player.store.layout import ReadProblem, SessionFile, session_file_at
from claude_session_player.store.library import Library, Progress
from claude_session_player.store.roots import find_stores
from claude_session_player.store.session import Session
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from claude_session_player.store.extras import Memory, Settings, Todo
    from claude_session_player.store.facts import IndexedFile

_T = TypeVar("_T")

DEFAULT_CACHE: Final = "(in the platform's cache directory)"
ARRIVAL_SECONDS: Final = 0.5


class StoreSnapshot(NamedTuple):
    """What is known of stores while their files are still being read."""

    sessions: list[Session]
    waiting: int
    """How many files are still to be read."""


class Store:
    """One or several Claude stores, looked at as one.

    Every question looks at the disk anew. What could not be read is in `troubles` afterwards; the rest is answered.
    """

    listing: ClassVar = "list"
    """The command that lists its sessions."""

    def __init__(self, roots: tuple[str, ...], library: Library) -> None:
        self.roots = roots
        self._library = library

    @classmethod
    def open(
        cls,
        *roots: str | os.PathLike[str],
        cache: str | None = DEFAULT_CACHE,
        progress: Progress | None = None,
        required: bool = True,
    ) -> Store:
        """The stores at these places; without any, those of `$CLAUDE_CONFIG_DIR`, or `~/.claude`.

        `cache` is the directory of the catalogue; with `None` there is none. Raises `NoStore`, unless none is required:
        then only files can be looked at.
        """
        library = Library(StoreIndex(default_index_dir() if cache == DEFAULT_CACHE else cache), progress)
        try:
            places = find_stores([os.fspath(root) for root in roots])
        except NoStore:
            if required:
                raise
            return cls((), library)
        library.note([ReadProblem(path, "there is no such directory") for path in places.missing])
        return cls(places.roots, library)

    def note(self, trouble: ReadProblem) -> None:
        """Remember that something could not be read."""
        self._library.note([trouble])

    @property
    def troubles(self) -> list[ReadProblem]:
        """What could not be read so far."""
        return self._library.troubles

    @property
    def has_removals(self) -> bool:
        """True where sessions were seen that are being removed, or whose removal was interrupted."""
        return self._library.has_removals

    @property
    def refused_index(self) -> str | None:
        """Why the index that is there was not used, where somebody else may have written to it."""
        return self._library.refusal

    def sessions(self, filter: Filter | None = None) -> list[Session]:
        """The sessions that are wanted, in the wanted order: by default all but sub-agents, the last active first."""
        return (filter or Filter()).apply(self._everything())

    def arriving(self, filter: Filter | None = None, *, seconds: float = ARRIVAL_SECONDS) -> Iterator[StoreSnapshot]:
        """The same for somebody who looks on: at once what is known already, then more and more until all is known.

        For the first look no session file is opened. What it tells of files that have changed since then is stale.
        """
        wanted = filter or Filter()
        for members, waiting in self._library.arriving(self.roots, seconds):
            yield StoreSnapshot(wanted.apply(self._sessions(members)), waiting)

    def projects(self) -> list[Project]:
        """The projects, the last active first."""
        return projects_of(self._everything())

    def files(self) -> list[SessionFile]:
        """Every session file, by what its place and name say; none is opened."""
        return self._library.files(self.roots)

    def seen(self) -> list[SessionFile]:
        """The same as at the last look at all sessions, where there was one: a large store is not walked twice."""
        return self.files() if self._library.seen is None else self._library.seen

    def at(self, path: str | os.PathLike[str]) -> Session:
        """The session in a file, be it in a store or elsewhere; raises `CannotRead`."""
        return self.of(self.place(path))

    def place(self, path: str | os.PathLike[str]) -> SessionFile:
        """What a file is by its place and name, be it in a store or elsewhere; raises `CannotRead`."""
        full = os.path.abspath(path)
        if full.startswith(tuple(os.path.join(root, "") for root in self.roots)):
            for file in self.files():
                if file.path == full:
                    return file
        try:
            return session_file_at(full)
        except OSError as error:
            raise CannotRead(f"{display_path(full)}: {error.strerror or error}") from error

    def of(self, file: SessionFile) -> Session:
        """The session in a file of which the place is known; raises `CannotRead`."""
        members = self._library.relatives(file)
        if file.name not in members:
            reason = next((t.reason for t in self.troubles if t.path == file.name), "there is no such file")
            raise CannotRead(f"{display_path(file.name)}: {reason}")
        member = members[file.name]
        session = member.session_id
        if file.is_agent and file.parent is None and session is not None:  # only its lines tell whose it is
            members = self._library.relatives(file._replace(parent=session)) | {file.name: member}
        return Session(member, group_families(members)[file.name], self._in_use())

    def sessions_in(self, files: Sequence[SessionFile]) -> list[Session]:
        """The sessions and sub-agents in these files; no others are looked at, also not to find relatives."""
        members = self._library.members(files)
        by_path, in_use = group_families(members), self._in_use()
        return [Session(member, by_path[path], in_use) for path, member in members.items()]

    def reread(self, sessions: Sequence[Session]) -> list[Session]:
        """Everything in the files of these sessions, read from the files alone, whatever the catalogue knows.

        Sub-agents beside them are read, too: only their lines tell whose they are.
        """
        homes = {session.found.home for session in sessions}
        files = {file.path: file for session in sessions for file in session.files}
        beside = [file for file in self.files() if file.is_agent and file.parent is None and file.home in homes]
        library = self._library.without_catalogue()
        members = library.members([*files.values(), *(file for file in beside if file.path not in files)])
        self._library.note(library.troubles)
        return self._sessions(members)

    def locate(self, ref: str) -> SessionFile | Session:
        """The same as `resolve_ref`, but where its file is enough to know which one is meant, nothing is read."""
        from claude_session_player.store.refs import locate_ref

        return locate_ref(self, ref)

    def resolve(self, ref: str) -> Session:
        """The one session that is meant; raises `NoSuchSession`, `Ambiguous` or `CannotRead`.

        A reference is a path, an id or at least 4 characters of its beginning, `latest`, `latest:2`, a title, or the
        path of a breadcrumb.
        """
        from claude_session_player.store.refs import resolve_ref

        return resolve_ref(self, ref)

    def todos(self, project: str | None = None) -> list[Todo]:
        """The todo lists; those of one project, where a part of its path is given."""
        from claude_session_player.store.extras import todos_of

        sessions = self._everything()
        return self._noting(lambda troubles: todos_of(self.roots, sessions, project, troubles))

    def memories(self, project: str | None = None, tag: str | None = None) -> list[Memory]:
        """What Claude was asked to remember, the last changed first."""
        from claude_session_player.store.extras import memories_of

        return self._noting(lambda troubles: memories_of(self.roots, project, tag, troubles))

    def settings(self) -> list[Settings]:
        """The settings files, with secrets masked."""
        from claude_session_player.store.extras import settings_of

        return self._noting(lambda troubles: settings_of(self.roots, troubles))

    def _in_use(self) -> InUse:
        """Tells which sessions are in use at this moment."""
        return InUse(self.roots)

    def _noting(self, read: Callable[[list[ReadProblem]], list[_T]]) -> list[_T]:
        troubles: list[ReadProblem] = []
        found = read(troubles)
        self._library.note(troubles)
        return found

    def close(self) -> None:
        """Let go of the catalogue; a later question opens it again."""
        self._library.close()

    def _everything(self) -> list[Session]:
        return self._sessions(self._library.everything(self.roots))

    def _sessions(self, members: Mapping[str, IndexedFile]) -> list[Session]:
        by_path = group_families(members)
        in_use = self._in_use()
        return [Session(member, by_path[path], in_use) for path, member in members.items()]
