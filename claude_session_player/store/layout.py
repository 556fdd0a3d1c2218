"""Where things are in a store: finds every session file by its path and name, without opening it."""

from __future__ import annotations

import errno
import os
import re
import stat
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PROJECTS_DIR: Final = "projects"
TRANSCRIPTS_DIR: Final = "transcripts"
HISTORIES_DIR: Final = "pre-compact-session-histories"
SUBAGENTS_DIR: Final = "subagents"
WORKFLOWS_DIR: Final = "workflows"
TOOL_RESULTS_DIR: Final = "tool-results"
FILE_HISTORY_DIR: Final = "file-history"
SESSION_SUFFIX: Final = ".jsonl"
META_SUFFIX: Final = ".meta.json"
AGENT_PREFIX: Final = "agent-"
WORKFLOW_PREFIX: Final = "wf_"
JSON_SUFFIX: Final = ".json"
WORKFLOW: Final = "workflow"
"""The kind of a file about a workflow run, which is not a session."""
REMOVING_PREFIX: Final = ".removing-"
REMOVED_PREFIX: Final = ".removed-"
"""Prefixes of directories with a session that is being removed; see `archive.trash`."""
_OTHER_FILES: Final = frozenset(("todo.jsonl", "journal.jsonl", "history.jsonl"))
_NO_NAMES: Final = frozenset(("", ".", ".."))
MAX_DEPTH: Final = 100
"""How many levels of directories are entered. Claude Code nests a handful; a thousand would end every walk, and every
removal, in an error of the interpreter."""
TOO_DEEP_REASON: Final = f"nested more than {MAX_DEPTH} directories deep"
_ID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[A-Za-z0-9]{26}")


class SessionKind(StrEnum):
    """What a session file holds, by its directory."""

    SESSION = "session"
    SUBAGENT = "subagent"
    TRANSCRIPT = "transcript"
    PRE_COMPACT = "pre-compact"


KIND_OF_DIR: Final = {TRANSCRIPTS_DIR: SessionKind.TRANSCRIPT, HISTORIES_DIR: SessionKind.PRE_COMPACT}
_IN_PROJECTS: Final = (SessionKind.SESSION, SessionKind.SUBAGENT)


class FileStamp(NamedTuple):
    """What tells one state of a file from another."""

    size: int
    mtime_ns: int
    inode: int


class ReadProblem(NamedTuple):
    """Something in a store that could not be read."""

    path: str
    reason: str


class SideFile(NamedTuple):
    """A small file beside a session."""

    path: str
    stamp: FileStamp


class SessionFile(NamedTuple):
    """A session file that was found: where it is, and what its path says about it."""

    path: str
    id: str
    kind: str
    stamp: FileStamp
    device: int = 0
    home: str = ""
    """The directory of the session that the file belongs to: usually one below `projects/`."""
    parent: str | None = None
    """The session whose directory holds this sub-agent."""
    parent_agent: str | None = None
    """The sub-agent whose directory holds this one."""
    workflow: str | None = None
    meta: SideFile | None = None
    label: str = ""
    """Its name if the path means nothing to people: an archived file is unpacked to be read."""
    is_copy: bool = False
    """True for a redacted copy of a file, which has the name of its original."""

    @property
    def name(self) -> str:
        """What people and the index know the file by: usually its path."""
        return self.label or self.path

    @property
    def is_archived(self) -> bool:
        """True for a file of the archive."""
        return bool(self.label) and not self.is_copy

    def name_of(self, path: str) -> str:
        """The name of a file below `home`, in the same form as the session file's own."""
        above = len(self.path) - len(self.home)
        return self.name[: len(self.name) - above] + path.removeprefix(self.home)

    @property
    def version(self) -> str:
        """Identifies this version of the file and of its `.meta.json` file."""
        place = (self.kind, self.parent, self.parent_agent, self.workflow)
        text = " ".join(map(str, (*self.stamp, *(self.meta.stamp if self.meta else ()), *place)))
        return text if text.isascii() else text.encode("ascii", "backslashreplace").decode()

    @property
    def is_agent(self) -> bool:
        """True for a sub-agent."""
        return self.kind == SessionKind.SUBAGENT

    @property
    def project(self) -> str | None:
        """The name of the project directory."""
        return os.path.basename(self.home) if self.kind in _IN_PROJECTS else None

    @property
    def own_dir(self) -> str:
        """The directory of a session's sub-agents, workflows and tool results."""
        return self.path.removesuffix(SESSION_SUFFIX)

    def backup(self, session: str, name: str) -> str | None:
        """The path of the copy that a session made of a file; `None` if the names would lead elsewhere."""
        if {session, name} & _NO_NAMES or os.path.basename(session) != session or os.path.basename(name) != name:
            return None
        above = os.path.dirname(self.home)
        root = os.path.dirname(above) if os.path.basename(above) == PROJECTS_DIR else above
        return os.path.join(root, FILE_HISTORY_DIR, session, name)


class StorePlace(NamedTuple):
    """What the directories above a session file say about it; see `SessionFile`."""

    home: str
    parent: str | None = None
    parent_agent: str | None = None
    workflow: str | None = None

    def within(self, directory: str) -> StorePlace:
        """The place one directory deeper."""
        if directory.startswith(AGENT_PREFIX):
            return self._replace(parent_agent=directory.removeprefix(AGENT_PREFIX))
        return self._replace(workflow=directory) if directory.startswith(WORKFLOW_PREFIX) else self


_NAME: Final = attrgetter("name")
_NO_METAS: Final[Mapping[str, SideFile]] = {}


class StoreWalk:
    """One walk through a store, or a part of it. What could not be read is in `problems` afterwards."""

    def __init__(self) -> None:
        self.problems: list[ReadProblem] = []
        self.removals: list[str] = []
        """Directories with sessions that are being removed, or whose removal was interrupted."""
        self._entered: set[tuple[int, int]] = set()

    def store(self, root: str) -> Iterator[SessionFile]:
        """Every session file of a store, of all kinds and layouts."""
        for entry in self._entries(os.path.join(root, PROJECTS_DIR), missing_is_fine=True):
            if self._is_dir(entry):
                yield from self.project(entry.path)
        for name, kind in KIND_OF_DIR.items():
            entries = self._entries(os.path.join(root, name), missing_is_fine=True)
            yield from self._files(entries, kind, StorePlace(os.path.join(root, name)))

    def project(self, folder: str) -> Iterator[SessionFile]:
        """Every session file of a project directory."""
        entries = self._entries(folder)
        metas, place = self._metas(entries), StorePlace(folder)
        for entry in entries:
            if entry.name.endswith(SESSION_SUFFIX):
                kind = SessionKind.SUBAGENT if entry.name.startswith(AGENT_PREFIX) else SessionKind.SESSION
                if (file := self._file(entry, kind, place, metas)) is not None:
                    yield file
            elif self._is_dir(entry):
                agents = os.path.join(entry.path, SUBAGENTS_DIR)
                yield from self._below(agents, StorePlace(folder, entry.name), missing_is_fine=True)

    def relatives(self, file: SessionFile) -> Iterator[SessionFile]:
        """A session file, and the files that may belong to the same session."""
        session = file.parent or (None if file.is_agent else file.id)
        seen = set()
        for relative in self._beside(file.home, session, file):
            seen.add(relative.path)
            yield relative
        if file.path not in seen:
            yield file

    def _beside(self, home: str, session: str | None, file: SessionFile) -> Iterator[SessionFile]:
        entries = self._entries(home)
        metas = self._metas([entry for entry in entries if entry.name.startswith(AGENT_PREFIX)])
        for entry in entries:
            if entry.name.startswith(AGENT_PREFIX) and file.kind in _IN_PROJECTS:
                yield from self._files([entry], SessionKind.SUBAGENT, StorePlace(home), metas)
            elif session is not None and entry.name == session + SESSION_SUFFIX:
                yield from self._files([entry], SessionKind.SESSION if file.is_agent else file.kind, StorePlace(home))
        if session is not None:
            agents = os.path.join(home, session, SUBAGENTS_DIR)
            yield from self._below(agents, StorePlace(home, session), missing_is_fine=True)

    def workflows(self, own_dir: str) -> list[str]:
        """The paths of the workflow runs of a session."""
        folder = os.path.join(own_dir, WORKFLOWS_DIR)
        entries = self._entries(folder, missing_is_fine=True)
        return [e.path for e in entries if e.name.startswith(WORKFLOW_PREFIX) and e.name.endswith(JSON_SUFFIX)]

    def tool_results(self, own_dir: str) -> list[str]:
        """The paths of tool outputs that were too large for the session file."""
        return [e.path for e in self._entries(os.path.join(own_dir, TOOL_RESULTS_DIR), missing_is_fine=True)]

    def _below(
        self, folder: str, place: StorePlace, missing_is_fine: bool = False, depth: int = 0
    ) -> Iterator[SessionFile]:
        """The sub-agents of a session, at any depth that Claude Code uses, and deeper."""
        if depth > MAX_DEPTH:
            self.problems.append(ReadProblem(folder, TOO_DEEP_REASON))
            return
        entries = self._entries(folder, missing_is_fine)
        metas = self._metas(entries)
        for entry in entries:
            if entry.name.endswith(SESSION_SUFFIX):
                yield from self._files([entry], SessionKind.SUBAGENT, place, metas)
            elif self._is_dir(entry):
                yield from self._below(entry.path, place.within(entry.name), depth=depth + 1)

    def _entries(self, folder: str, missing_is_fine: bool = False) -> list[os.DirEntry[str]]:
        """The entries of a directory that are not hidden, links last; a directory is entered only once."""
        try:
            if not self._enter(folder):
                return []
            with os.scandir(folder) as entries:
                everything = list(entries)
        except OSError as error:
            if not (missing_is_fine and isinstance(error, FileNotFoundError | NotADirectoryError)):
                self.problems.append(ReadProblem(folder, error.strerror or str(error)))
            return []
        visible = [entry for entry in everything if not entry.name.startswith(".")]
        if len(visible) < len(everything):
            self.removals += [
                entry.path for entry in everything if entry.name.startswith((REMOVING_PREFIX, REMOVED_PREFIX))
            ]
        visible.sort(key=_NAME)
        if any(map(os.DirEntry.is_symlink, visible)):
            visible.sort(key=os.DirEntry.is_symlink)
        return visible

    def _is_dir(self, entry: os.DirEntry[str]) -> bool:
        """True for a directory, and for a link to one; a dangling link is a problem."""
        try:
            if entry.is_dir():
                return True
            if entry.is_symlink():
                os.stat(entry.path)
        except OSError as error:
            self.problems.append(ReadProblem(entry.path, _reason(entry, error)))
        return False

    def _enter(self, folder: str) -> bool:
        status = os.stat(folder)
        place = (status.st_dev, status.st_ino)
        if place in self._entered:
            return False
        self._entered.add(place)
        return True

    def _files(
        self,
        entries: Iterable[os.DirEntry[str]],
        kind: str,
        place: StorePlace,
        metas: Mapping[str, SideFile] = _NO_METAS,
    ) -> Iterator[SessionFile]:
        return (file for entry in entries if (file := self._file(entry, kind, place, metas)) is not None)

    def _file(
        self, entry: os.DirEntry[str], kind: str, place: StorePlace, metas: Mapping[str, SideFile]
    ) -> SessionFile | None:
        """The session file that an entry of a directory is, if it is one."""
        name = entry.name
        if not is_session_name(name) or (status := self._status(entry)) is None:
            return None
        name = name.removesuffix(SESSION_SUFFIX)
        id = name.removeprefix(AGENT_PREFIX) if kind == SessionKind.SUBAGENT else name
        return SessionFile(entry.path, id, kind, file_stamp(status), status.st_dev, *place, metas.get(name))

    def _status(self, entry: os.DirEntry[str]) -> os.stat_result | None:
        """The status of a regular file."""
        try:
            status = entry.stat()
        except OSError as error:
            self.problems.append(ReadProblem(entry.path, _reason(entry, error)))
            return None
        if stat.S_ISREG(status.st_mode):
            return status
        if not stat.S_ISDIR(status.st_mode):
            self.problems.append(ReadProblem(entry.path, "not a regular file"))
        return None

    def _metas(self, entries: list[os.DirEntry[str]]) -> dict[str, SideFile]:
        """The `.meta.json` files beside sub-agents, by the file names of the sub-agents without suffix."""
        metas = {}
        for entry in entries:
            if entry.name.endswith(META_SUFFIX) and (status := self._status(entry)) is not None:
                metas[entry.name.removesuffix(META_SUFFIX)] = SideFile(entry.path, file_stamp(status))
        return metas


def session_file_at(path: str) -> SessionFile:
    """A session file, as far as its absolute path describes it. Raises `OSError`."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    home, session = session_home(path)
    name = os.path.basename(path)
    stem = name.removesuffix(SESSION_SUFFIX) if name.endswith(SESSION_SUFFIX) else os.path.splitext(name)[0]
    is_agent = name.startswith(AGENT_PREFIX)
    kind = SessionKind.SUBAGENT if is_agent else _kind_below(home)
    id = stem.removeprefix(AGENT_PREFIX) if is_agent else stem
    return SessionFile(path, id, kind, file_stamp(status), status.st_dev, home, session)


def session_home(path: str) -> tuple[str, str | None]:
    """The directory of the session that a file belongs to, and, below `subagents/`, the session's id.

    >>> session_home("/s/projects/-p/1f2e/subagents/workflows/wf_1/agent-a1.jsonl")
    ('/s/projects/-p', '1f2e')
    >>> session_home("/s/projects/-p/1f2e.jsonl")
    ('/s/projects/-p', None)
    """
    folder, name = os.path.split(path)
    parts = folder.split(os.sep)
    places = [number for number, part in enumerate(parts) if part == SUBAGENTS_DIR and number > 1]
    if not name.startswith(AGENT_PREFIX) or not places:
        return folder, None
    at = places.pop()
    while places and parts[at - 1].startswith(AGENT_PREFIX):  # the directory of another sub-agent
        at = places.pop()
    return os.sep.join(parts[: at - 1]), parts[at - 1]


def _kind_below(folder: str) -> str:
    """The kind of the sessions in a directory."""
    above, name = os.path.split(folder)
    return (
        SessionKind.SESSION if os.path.basename(above) == PROJECTS_DIR else KIND_OF_DIR.get(name, SessionKind.SESSION)
    )


def _reason(entry: os.DirEntry[str], error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and entry.is_symlink():
        return "a link that leads nowhere"
    return error.strerror or str(error)


def is_session_name(name: str) -> bool:
    """True for a file name of a session or a sub-agent."""
    return name.endswith(SESSION_SUFFIX) and name not in _OTHER_FILES


def is_session_id(name: str) -> bool:
    """True for an id in the form that Claude Code gives to sessions.

    >>> is_session_id("1f2e3d4c-0001-4000-8000-000000000001"), is_session_id("memory")
    (True, False)
    """
    return _ID.fullmatch(name) is not None


def file_stamp(status: os.stat_result) -> FileStamp:
    """What tells this state of a file from another."""
    return FileStamp(status.st_size, status.st_mtime_ns, status.st_ino)


def session_files_among(root: str, stamps: Mapping[str, FileStamp]) -> Iterator[SessionFile]:
    """The session files among some files, given by their paths below a store, with "/"."""
    for path, stamp in stamps.items():
        *folders, name = path.split("/")
        if not is_session_name(name) or any(part.startswith(".") for part in (*folders, name)):
            continue
        if (match := _kind_and_place(root, folders, name)) is None:
            continue
        kind, place = match
        stem = name.removesuffix(SESSION_SUFFIX)
        beside = path.removesuffix(SESSION_SUFFIX) + META_SUFFIX
        has_meta = beside in stamps and kind in _IN_PROJECTS
        meta = SideFile(os.path.join(root, *beside.split("/")), stamps[beside]) if has_meta else None
        id = stem.removeprefix(AGENT_PREFIX) if kind == SessionKind.SUBAGENT else stem
        yield SessionFile(os.path.join(root, *folders, name), id, kind, stamp, 0, *place, meta)


def _kind_and_place(root: str, folders: list[str], name: str) -> tuple[SessionKind, StorePlace] | None:
    """What a session file is by the directories above it; `None` if they hold no sessions."""
    if len(folders) == 1 and folders[0] in KIND_OF_DIR:
        return KIND_OF_DIR[folders[0]], StorePlace(os.path.join(root, *folders))
    if len(folders) < 2 or folders[0] != PROJECTS_DIR:
        return None
    place = StorePlace(os.path.join(root, *folders[:2]))
    if len(folders) == 2:
        return SessionKind.SUBAGENT if name.startswith(AGENT_PREFIX) else SessionKind.SESSION, place
    if len(folders) == 3 or folders[3] != SUBAGENTS_DIR:
        return None
    place = place._replace(parent=folders[2])
    for folder in folders[4:]:
        place = place.within(folder)
    return SessionKind.SUBAGENT, place


# --- project directories ---------------------------------------------------------------------------

_MAX_NAME_LENGTH: Final = 200
_SPECIAL: Final = re.compile(r"[^A-Za-z0-9]")


def encode_project_path(path: str) -> str:
    """The name of a working directory's project directory, as Claude Code writes it.

    >>> encode_project_path("/home/ada/my.engine")
    '-home-ada-my-engine'
    """
    return _SPECIAL.sub("-", path)


def project_dir_spellings(path: str) -> tuple[str, ...]:
    """Every name that a working directory's project directory may have, today's first.

    >>> project_dir_spellings("/home/ada/my_engine")
    ('-home-ada-my-engine', '-home-ada-my_engine', 'home-ada-my-engine', 'home-ada-my_engine')
    """
    today, older = encode_project_path(path), path.replace("/", "-").replace(".", "-")
    return tuple(dict.fromkeys((today, older, today.lstrip("-"), older.lstrip("-"))))


def normalize_project_path(path: str) -> str:
    """The oldest name of a working directory's project directory: `/` and `.` become `-`, without leading ones.

    >>> normalize_project_path("/Users/jane/Sites/app.demo")
    'Users-jane-Sites-app-demo'
    """
    return project_dir_spellings(path)[-1]


@lru_cache(maxsize=1024)
def real_path(directory: str, cwds: tuple[str, ...]) -> str | None:
    """The path that a project directory stands for, by the working directories recorded in its files.

    It is the first of them, or the parent of one, that matches the directory's name; else simply the first. The name
    is never decoded: `-a-b-c` may be `/a/b/c`, `/a/b-c` or `/a-b/c`.

    >>> real_path("-home-ada-engine", ("/home/ada/engine/src", "/tmp"))
    '/home/ada/engine'
    >>> real_path("-somewhere-else", ("/home/ada",))
    '/home/ada'
    """
    return match_spelling(directory, cwds) or (cwds[0] if cwds else None)


def match_spelling(directory: str, cwds: Iterable[str]) -> str | None:
    """The first of some working directories, or the parent of one, that matches the name of a project directory.

    Only the beginning of a long name counts: Claude Code truncates it, and adds a checksum.

    >>> match_spelling("-home-ada", ["/tmp", "/home/ada/engine"]), match_spelling("-home-ada", ["/home/bob"])
    ('/home/ada', None)
    """
    wanted = directory.casefold()[:_MAX_NAME_LENGTH]
    for cwd in cwds:
        for path in _upwards(cwd):
            if wanted in {spelling.casefold()[:_MAX_NAME_LENGTH] for spelling in project_dir_spellings(path)}:
                return path
    return None


def _upwards(path: str) -> Iterator[str]:
    """A path and all of its parents, on any platform."""
    path = path.rstrip("/\\") or path
    while path:
        yield path
        shorter = path[: max(path.rfind("/"), path.rfind("\\"), 0)]
        if shorter == path:
            return
        path = shorter
