"""One or several stores, seen as one: where they are, what they hold, and which session is meant."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeVar

from claude_session_player.errors import CannotRead, NoStore
from claude_session_player.store.filters import Filter
from claude_session_player.store.in_use import InUse
from claude_session_player.store.index import DEFAULT_CACHE, KnownFiles, Progress, StoreIndex
from claude_session_player.store.layout import (
    HISTORIES_DIR,
    PROJECTS_DIR,
    TRANSCRIPTS_DIR,
    ReadProblem,
    SessionFile,
    session_file_at,
)
from claude_session_player.store.session import Session
from claude_session_player.store.session_tree import SessionTree
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from claude_session_player.search import Hits, SearchOptions, StoreSearch
    from claude_session_player.store.extras import Memory, Project, Settings, Todo

_T = TypeVar("_T")

ROOTS_VARIABLE: Final = "CLAUDE_CONFIG_DIR"
_DEFAULT_ROOT: Final = "~/.claude"
_SIGNS: Final = (
    PROJECTS_DIR,
    TRANSCRIPTS_DIR,
    HISTORIES_DIR,
    "todos",
    "memories",
    "settings.json",
    "history.jsonl",
)
"""Any of these makes a directory a store."""
_SNAPSHOT_SECONDS: Final = 0.5
_SEARCH_SECONDS: Final = 1.0
"""For how long a search relies on what was known of the store."""


class StoreSnapshot(NamedTuple):
    """What is known of stores while their files are still being read."""

    sessions: list[Session]
    waiting: int
    """How many files are still to be read."""


class Store:
    """One or several Claude stores, seen as one.

    Every question reads the disk again. What could not be read is in `problems` afterwards; the rest is answered.
    """

    is_packed: ClassVar = False
    """True if files have to be unpacked before they can be read; see `unpacked`."""

    def __init__(self, roots: tuple[str, ...], index: StoreIndex) -> None:
        self.roots = roots
        self.list_command = "list"
        """The command that lists its sessions."""
        self._index = index
        self._search: StoreSearch | None = None
        self._searched = (False, False)
        """Whether the last search wanted an update, and an index."""

    @classmethod
    def open(
        cls,
        *roots: str | os.PathLike[str],
        cache: str | None = DEFAULT_CACHE,
        progress: Progress | None = None,
        required: bool = True,
    ) -> Store:
        """The stores at these paths; without any, those of `$CLAUDE_CONFIG_DIR`, or `~/.claude`.

        `cache` is the directory of the index; with `None` there is none. Raises `NoStore` unless `required` is false:
        then only files can be read.
        """
        index, given = StoreIndex(cache, progress), [os.fspath(root) for root in roots]
        try:
            stores = find_stores(given)
        except NoStore:
            if required:
                raise
            return cls((), index)
        index.note(ReadProblem(path, "there is no such directory") for path in stores.missing)
        store = cls(stores.roots, index)
        store.list_command = " ".join(("list", *(f"--root {shlex.quote(root)}" for root in given)))
        return store

    def note(self, problem: ReadProblem) -> None:
        """Remember that something could not be read."""
        self._index.note([problem])

    @property
    def problems(self) -> list[ReadProblem]:
        """What could not be read so far."""
        return self._index.problems

    @property
    def has_removals(self) -> bool:
        """True if sessions were seen that are being removed, or whose removal was interrupted."""
        return self._index.has_removals

    @property
    def refused_index(self) -> str | None:
        """Why the existing index was not used, if other users may have written to it."""
        return self._index.refusal

    def sessions(self, filter: Filter | None = None) -> list[Session]:
        """The sessions that a filter selects, in its order: by default all but sub-agents, the last active first."""
        return (filter or Filter()).apply(self._everything())

    def snapshots(self, filter: Filter | None = None, *, seconds: float = _SNAPSHOT_SECONDS) -> Iterator[StoreSnapshot]:
        """The same while files are read: at first what the index knows, then more and more until all is known.

        The first snapshot opens no session file. What it says of files that have changed since is out of date.
        """
        wanted = filter or Filter()
        for files, waiting in self._index.snapshots(self.roots, seconds):
            yield StoreSnapshot(wanted.apply(self._sessions(files)), waiting)

    def projects(self) -> list[Project]:
        """The projects, the last active first."""
        from claude_session_player.store.extras import projects_of

        return projects_of(self._everything())

    def files(self) -> list[SessionFile]:
        """Every session file, by what its path says; none is opened."""
        return self._index.files(self.roots)

    def last_files(self) -> list[SessionFile]:
        """The files that the last `sessions` or `projects` found, if any: a large store is not walked twice."""
        return self.files() if self._index.last_files is None else self._index.last_files

    def at(self, path: str | os.PathLike[str]) -> Session:
        """The session in a file, in a store or elsewhere; raises `CannotRead`."""
        return self.session_of(self.file_at(path))

    def file_at(self, path: str | os.PathLike[str]) -> SessionFile:
        """What a file is by its path, in a store or elsewhere; raises `CannotRead`."""
        full = os.path.abspath(path)
        if full.startswith(tuple(os.path.join(root, "") for root in self.roots)):
            for file in self.files():
                if file.path == full:
                    return file
        try:
            return session_file_at(full)
        except OSError as error:
            raise CannotRead(f"{display_path(full)}: {error.strerror or error}") from error

    def session_of(self, file: SessionFile) -> Session:
        """The session in a file that was found; raises `CannotRead`."""
        files = self._index.relatives(file)
        if file.name not in files:
            reason = next((problem.reason for problem in self.problems if problem.path == file.name), None)
            raise CannotRead(f"{display_path(file.name)}: {reason or 'there is no such file'}")
        session = files[file.name][1].session_id
        if file.is_agent and file.parent is None and session is not None:  # only its lines name its session
            files = self._index.relatives(file._replace(parent=session)) | {file.name: files[file.name]}
        return self._by_name(files)[file.name]

    def sessions_in(self, files: Sequence[SessionFile]) -> list[Session]:
        """The sessions and sub-agents in these files; no others are read, not even to find relatives."""
        return self._sessions(self._index.lookup(files))

    def reread(self, sessions: Sequence[Session]) -> list[Session]:
        """Everything in the files of these sessions, read from the files alone, whatever the index knows.

        Sub-agents beside them are read as well: only their lines name their session.
        """
        homes = {session.file.home for session in sessions}
        files = {file.path: file for session in sessions for file in session.files}
        beside = [file for file in self.files() if file.is_agent and file.parent is None and file.home in homes]
        index = self._index.without_database()
        found = index.lookup([*files.values(), *(file for file in beside if file.path not in files)])
        self._index.note(index.problems)
        return self._sessions(found)

    @property
    def has_cache(self) -> bool:
        """True if anything may be remembered of the store."""
        return self._index.is_kept

    def unpacked(self, file: SessionFile) -> SessionFile:
        """A file that can be opened by its path; those of a store always can."""
        return file

    def offer_bytes(self, file: SessionFile, offset: int, data: bytes) -> None:
        """Offer what was just read of a file, so that the next look-up of it need not read it again."""
        if offset + len(data) == file.stamp.size:
            self._index.offered[file.name] = file.stamp, data

    def forget_offers(self) -> None:
        """Forget what was offered and not needed."""
        self._index.offered.clear()

    def locate(self, ref: str) -> SessionFile | Session:
        """The same as `resolve`, but only the file if that suffices to know which session is meant."""
        from claude_session_player.store.refs import locate_ref

        return locate_ref(self, ref)

    def resolve(self, ref: str) -> Session:
        """The one session that is meant; raises `NoSuchSession`, `Ambiguous` or `CannotRead`.

        A reference is a path, an id or at least 4 characters of its beginning, `latest`, `latest:2`, `latest:all`, a
        title, or the path of a breadcrumb. `latest` depends on the working directory: see `sessions_here`.
        """
        from claude_session_player.store.refs import resolve_ref

        return resolve_ref(self, ref)

    def search(self, *queries: str, options: SearchOptions | None = None) -> Hits:
        """The sessions that match all of some queries, the best first; texts are loaded when they are used.

        The index is brought up to date first, at most once a second. Raises `BadQuery` or `MissingExtra`.
        """
        import time

        from claude_session_player.search import SearchOptions, StoreSearch

        wanted = options or SearchOptions()
        if self._search is None:
            self._search = StoreSearch(self, progress=self._index.progress)
        how = (wanted.updates, wanted.uses_index)
        if how != self._searched or time.monotonic() - self._search.refreshed > _SEARCH_SECONDS:
            self._search.refresh(updates=wanted.updates, uses_index=wanted.uses_index)
            self._searched = how
        return self._search.search(queries, wanted)

    def scan(self, pattern: str, *, is_regex: bool = False, options: SearchOptions | None = None) -> Hits:
        """The sessions that hold a text exactly, or that match a regular expression; no index is needed.

        Raises `BadQuery`.
        """
        from claude_session_player.search import SearchOptions, scan_store

        wanted = options or SearchOptions()
        return scan_store(self, pattern, is_regex=is_regex, options=wanted, progress=self._index.progress)

    def todos(self, project: str | None = None) -> list[Todo]:
        """The todo lists; those of one project if a part of its path is given."""
        from claude_session_player.store.extras import todos_of

        sessions = self._everything()
        return self._noting(lambda problems: todos_of(self.roots, sessions, project, problems))

    def memories(self, project: str | None = None, tag: str | None = None) -> list[Memory]:
        """What Claude was asked to remember, the last changed first."""
        from claude_session_player.store.extras import memories_of

        return self._noting(lambda problems: memories_of(self.roots, project, tag, problems))

    def settings(self) -> list[Settings]:
        """The settings files, with secrets masked."""
        from claude_session_player.store.extras import settings_of

        return self._noting(lambda problems: settings_of(self.roots, problems))

    def look_for_use(self) -> InUse:
        """Finds out which sessions are in use at this moment."""
        return InUse(self.roots)

    def close(self) -> None:
        """Close the index; the next question opens it again."""
        self._index.close()

    def _noting(self, read: Callable[[list[ReadProblem]], list[_T]]) -> list[_T]:
        problems: list[ReadProblem] = []
        found = read(problems)
        self._index.note(problems)
        return found

    def _everything(self) -> list[Session]:
        return self._sessions(self._index.everything(self.roots))

    def _sessions(self, files: KnownFiles) -> list[Session]:
        return list(self._by_name(files).values())

    def _by_name(self, files: KnownFiles) -> dict[str, Session]:
        """The sessions in files, each with its relatives among them."""
        in_use, load = self.look_for_use(), self._index.load_responses
        trees: dict[tuple[str, str | None], SessionTree] = {}
        sessions: dict[str, Session] = {}
        for name, (file, facts) in files.items():
            key = (file.home, file.parent or facts.session_id if file.is_agent else file.id)
            if (tree := trees.get(key)) is None:
                tree = trees[key] = SessionTree(in_use, load)
            sessions[name] = session = Session(file, facts, tree)
            tree.add(session)
        return sessions


# --- where stores are -------------------------------------------------------------------------------


class StoreRoots(NamedTuple):
    """The absolute paths of stores, and the paths of those that do not exist."""

    roots: tuple[str, ...]
    missing: tuple[str, ...] = ()


def find_stores(given: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> StoreRoots:
    """The stores: those given, else `$CLAUDE_CONFIG_DIR`, else `~/.claude`.

    Each is named once, however many paths lead to it. Raises `NoStore` if there is none, or if one that was given is
    not a store.
    """
    environment = os.environ if environment is None else environment
    if given:
        for path in given:
            _require(path)
        return StoreRoots(_distinct(given))
    source = f"${ROOTS_VARIABLE}" if environment.get(ROOTS_VARIABLE, "").strip(" ,") else "the default location"
    paths = default_roots(environment)
    stores = [path for path in paths if os.path.isdir(path)]
    if not stores:
        raise NoStore(
            f"there is no Claude store at {', '.join(paths)} ({source}): "
            f"name one with --root DIR, or set {ROOTS_VARIABLE} to its path"
        )
    return StoreRoots(_distinct(stores), tuple(path for path in paths if path not in stores))


def default_roots(environment: Mapping[str, str] | None = None) -> list[str]:
    """The paths of the stores that are used unless others are given; they may not exist."""
    environment = os.environ if environment is None else environment
    named = [path.strip() for path in environment.get(ROOTS_VARIABLE, "").split(",") if path.strip()]
    return [os.path.expanduser(path) for path in named or [_DEFAULT_ROOT]]


def is_store(path: str) -> bool:
    """True for a directory that can be opened as a store."""
    return any(os.path.exists(os.path.join(path, sign)) for sign in _SIGNS)


def enclosing_store(path: str) -> str | None:
    """The store that a directory is, or whose `projects` directory, or one of whose projects, it is."""
    path = os.path.abspath(path)
    above, name = os.path.split(path)
    outer, name_above = os.path.split(above)
    if is_store(path):
        return path
    return above if name == PROJECTS_DIR else outer if name_above == PROJECTS_DIR else None


def resume_command(session: Session) -> str:
    """The command that resumes a session, or the session of a sub-agent, from any directory.

    Claude Code finds a session only from the directory of its project, and only in its own store.
    """
    import shlex

    config_dir = config_dir_to_name(session)
    store = f"{ROOTS_VARIABLE}={shlex.quote(config_dir)} " if config_dir else ""
    resume = f"{store}claude --resume {shlex.quote(session.parent_id or session.id)}"
    folder = session.head.project or session.project
    if not folder:
        return resume
    return f"cd {'-- ' if folder.startswith('-') else ''}{shlex.quote(folder)} && {resume}"


def config_dir_to_name(session: Session) -> str | None:
    """The store of a session, if Claude Code has to be told, because it would look into another one.

    `None` also for what is in no store, and for what is archived: nothing that Claude Code is told finds that.
    """
    file = session.head.file
    above, name = os.path.split(os.path.dirname(os.path.abspath(file.home)))
    if name != PROJECTS_DIR or file.label:
        return None
    looked_into = os.environ.get(ROOTS_VARIABLE) or os.path.expanduser(_DEFAULT_ROOT)
    return None if os.path.realpath(above) == os.path.realpath(looked_into) else above


def _require(path: str) -> None:
    if not os.path.isdir(path):
        raise NoStore(f"--root {path}: there is no such directory")
    if is_store(path):
        return
    above = os.path.dirname(os.path.abspath(path))
    hint = f" (did you mean {above}?)" if os.path.basename(os.path.abspath(path)) in _SIGNS else ""
    raise NoStore(f"--root {path}: not a Claude store: it has no {PROJECTS_DIR}/{hint}")


def _distinct(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple({os.path.realpath(path): os.path.abspath(path) for path in reversed(paths)}.values())[::-1]
