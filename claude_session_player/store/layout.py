"""What lies where in a store: finds every session file by its place and name, without opening it."""

from __future__ import annotations

import errno
import os
import re
import stat
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.store.roots import HISTORIES, PROJECTS, TRANSCRIPTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SESSION: Final = "session"
SUBAGENT: Final = "subagent"
TRANSCRIPT: Final = "transcript"
HISTORY: Final = "pre-compact"

NOT_SESSIONS: Final = frozenset(("todo.jsonl", "journal.jsonl", "history.jsonl"))
SUFFIX: Final = ".jsonl"
AGENT: Final = "agent-"
SUBAGENTS: Final = "subagents"
WORKFLOWS: Final = "workflows"
TOOL_RESULTS: Final = "tool-results"
FILE_HISTORY: Final = "file-history"
_WORKFLOW: Final = "wf_"
DEEPEST: Final = 100
"""How many directories below another one are entered. Claude Code nests a handful; a thousand would end every walk, and
every removal, in an error of the interpreter."""
TOO_DEEP: Final = f"nested more than {DEEPEST} directories deep"
_NO_NAMES: Final = frozenset(("", ".", ".."))
META: Final = ".meta.json"
MOVING: Final = ".removing-"
GONE: Final = ".removed-"
"""How directories begin in which a session lies that is being removed; see `care.bins`."""
_ID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[A-Za-z0-9]{26}")


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
    """A session file: where it is, and what its place and name say about it."""

    path: str
    id: str
    kind: str
    stamp: FileStamp
    device: int = 0
    home: str = ""
    """The directory of the session that the file belongs to: below `projects/`, as a rule."""
    parent: str | None = None
    """The session whose directory holds this sub-agent."""
    parent_agent: str | None = None
    """The sub-agent whose directory holds this one."""
    workflow: str | None = None
    meta: SideFile | None = None
    label: str = ""
    """How the file is called where its path says nothing to people: an archived one is unpacked to be read."""

    @property
    def name(self) -> str:
        """How the file is called: for people, and in the catalogue. That is its path, as a rule."""
        return self.label or self.path

    def called(self, path: str) -> str:
        """How a file below the home is called, if the session file is called by its name."""
        above = len(self.path) - len(self.home)
        return self.name[: len(self.name) - above] + path.removeprefix(self.home)

    @property
    def version(self) -> str:
        """What tells this state of the file, and of its description, from any other."""
        place = (self.kind, self.parent, self.parent_agent, self.workflow)
        told = " ".join(map(str, (*self.stamp, *(self.meta.stamp if self.meta else ()), *place)))
        return told if told.isascii() else told.encode("ascii", "backslashreplace").decode()

    @property
    def is_agent(self) -> bool:
        """True for a sub-agent."""
        return self.kind == SUBAGENT

    @property
    def project(self) -> str | None:
        """The name of the project directory."""
        return os.path.basename(self.home) if self.kind in (SESSION, SUBAGENT) else None

    @property
    def belongings(self) -> str:
        """The directory that a session owns."""
        return self.path.removesuffix(SUFFIX)

    def backup(self, session: str, name: str) -> str | None:
        """Where a session's copy of a file is that was changed; none where the names lead to somewhere else."""
        if {session, name} & _NO_NAMES or os.path.basename(session) != session or os.path.basename(name) != name:
            return None
        above = os.path.dirname(self.home)
        root = os.path.dirname(above) if os.path.basename(above) == PROJECTS else above
        return os.path.join(root, FILE_HISTORY, session, name)


class StorePlace(NamedTuple):
    """What the directories above a session file say about it; see `SessionFile`."""

    home: str
    parent: str | None = None
    parent_agent: str | None = None
    workflow: str | None = None

    def within(self, directory: str) -> StorePlace:
        """The place one directory deeper."""
        if directory.startswith(AGENT):
            return self._replace(parent_agent=directory.removeprefix(AGENT))
        return self._replace(workflow=directory) if directory.startswith(_WORKFLOW) else self


_NAME: Final = attrgetter("name")
_NO_METAS: Final[Mapping[str, SideFile]] = {}
KINDS: Final = {TRANSCRIPTS: TRANSCRIPT, HISTORIES: HISTORY}


class StoreWalk:
    """One walk through a store, or a part of it. What could not be read is in `troubles` afterwards."""

    def __init__(self) -> None:
        self.troubles: list[ReadProblem] = []
        self.removals: list[str] = []
        """Directories in which sessions lie that are being removed, or whose removal was interrupted."""
        self._entered: set[tuple[int, int]] = set()

    def store(self, root: str) -> Iterator[SessionFile]:
        """Every session file of a store, of all kinds and layouts."""
        for entry in self._entries(os.path.join(root, PROJECTS), missing_is_fine=True):
            if self._is_dir(entry):
                yield from self.project(entry.path)
        for name, kind in KINDS.items():
            entries = self._entries(os.path.join(root, name), missing_is_fine=True)
            yield from self._files(entries, kind, StorePlace(os.path.join(root, name)))

    def project(self, folder: str) -> Iterator[SessionFile]:
        """Every session file of a project directory."""
        entries = self._entries(folder)
        metas, place = self._metas(entries), StorePlace(folder)
        for entry in entries:
            if entry.name.endswith(SUFFIX):
                kind = SUBAGENT if entry.name.startswith(AGENT) else SESSION
                if (found := self._file(entry, kind, place, metas)) is not None:
                    yield found
            elif self._is_dir(entry):
                agents = os.path.join(entry.path, SUBAGENTS)
                yield from self._below(agents, StorePlace(folder, entry.name), missing_is_fine=True)

    def relatives(self, found: SessionFile) -> Iterator[SessionFile]:
        """A session file, and the files that may belong to the same session."""
        session = found.parent or (None if found.is_agent else found.id)
        seen = set()
        for file in self._family(found.home, session, found):
            seen.add(file.path)
            yield file
        if found.path not in seen:
            yield found

    def _family(self, home: str, session: str | None, found: SessionFile) -> Iterator[SessionFile]:
        entries = self._entries(home)
        metas = self._metas([entry for entry in entries if entry.name.startswith(AGENT)])
        for entry in entries:
            if entry.name.startswith(AGENT) and found.kind in (SESSION, SUBAGENT):
                yield from self._files([entry], SUBAGENT, StorePlace(home), metas)
            elif session is not None and entry.name == session + SUFFIX:
                yield from self._files([entry], SESSION if found.is_agent else found.kind, StorePlace(home))
        if session is not None:
            agents = os.path.join(home, session, SUBAGENTS)
            yield from self._below(agents, StorePlace(home, session), missing_is_fine=True)

    def workflows(self, belongings: str) -> list[str]:
        """The paths of the workflow runs of a session."""
        folder = os.path.join(belongings, WORKFLOWS)
        entries = self._entries(folder, missing_is_fine=True)
        return [e.path for e in entries if e.name.startswith(_WORKFLOW) and e.name.endswith(".json")]

    def tool_results(self, belongings: str) -> list[str]:
        """The paths of the tool outputs that were too large for the session file."""
        return [e.path for e in self._entries(os.path.join(belongings, TOOL_RESULTS), missing_is_fine=True)]

    def _below(
        self, folder: str, place: StorePlace, missing_is_fine: bool = False, depth: int = 0
    ) -> Iterator[SessionFile]:
        """The sub-agents of a session, as deep as Claude Code puts them, and deeper."""
        if depth > DEEPEST:
            self.troubles.append(ReadProblem(folder, TOO_DEEP))
            return
        entries = self._entries(folder, missing_is_fine)
        metas = self._metas(entries)
        for entry in entries:
            if entry.name.endswith(SUFFIX):
                yield from self._files([entry], SUBAGENT, place, metas)
            elif self._is_dir(entry):
                yield from self._below(entry.path, place.within(entry.name), depth=depth + 1)

    def _entries(self, folder: str, missing_is_fine: bool = False) -> list[os.DirEntry[str]]:
        """What is in a directory and not hidden, links last; a directory is entered once, whatever leads to it."""
        try:
            if not self._enter(folder):
                return []
            with os.scandir(folder) as entries:
                everything = list(entries)
        except OSError as error:
            if not (missing_is_fine and isinstance(error, FileNotFoundError | NotADirectoryError)):
                self.troubles.append(ReadProblem(folder, error.strerror or str(error)))
            return []
        found = [entry for entry in everything if not entry.name.startswith(".")]
        if len(found) < len(everything):
            self.removals += [entry.path for entry in everything if entry.name.startswith((MOVING, GONE))]
        found.sort(key=_NAME)
        if any(map(os.DirEntry.is_symlink, found)):
            found.sort(key=os.DirEntry.is_symlink)
        return found

    def _is_dir(self, entry: os.DirEntry[str]) -> bool:
        """True for a directory, and for a link to one; a link that leads nowhere is a trouble."""
        try:
            if entry.is_dir():
                return True
            if entry.is_symlink():
                os.stat(entry.path)
        except OSError as error:
            self.troubles.append(ReadProblem(entry.path, _reason(entry, error)))
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
        return (found for entry in entries if (found := self._file(entry, kind, place, metas)) is not None)

    def _file(
        self, entry: os.DirEntry[str], kind: str, place: StorePlace, metas: Mapping[str, SideFile]
    ) -> SessionFile | None:
        """The session file that an entry of a directory is, if it is one."""
        name = entry.name
        if not is_session_name(name) or (status := self._status(entry)) is None:
            return None
        name = name.removesuffix(SUFFIX)
        id = name.removeprefix(AGENT) if kind == SUBAGENT else name
        return SessionFile(entry.path, id, kind, _stamp(status), status.st_dev, *place, metas.get(name))

    def _status(self, entry: os.DirEntry[str]) -> os.stat_result | None:
        """The status of a regular file."""
        try:
            status = entry.stat()
        except OSError as error:
            self.troubles.append(ReadProblem(entry.path, _reason(entry, error)))
            return None
        if stat.S_ISREG(status.st_mode):
            return status
        if not stat.S_ISDIR(status.st_mode):
            self.troubles.append(ReadProblem(entry.path, "not a regular file"))
        return None

    def _metas(self, entries: list[os.DirEntry[str]]) -> dict[str, SideFile]:
        """The description beside each sub-agent, by the sub-agent's file name."""
        metas = {}
        for entry in entries:
            if entry.name.endswith(META) and (status := self._status(entry)) is not None:
                metas[entry.name.removesuffix(META)] = SideFile(entry.path, _stamp(status))
        return metas


def walk_folders(path: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """What `os.walk` gives, no deeper than `DEEPEST`."""
    above = path.count(os.sep)
    for folder, folders, names in os.walk(path):
        if folder.count(os.sep) - above >= DEEPEST:
            folders.clear()
        yield folder, folders, names


def session_file_at(path: str) -> SessionFile:
    """What a file is, as far as its absolute path tells. Raises `OSError`."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    home, session = session_home(path)
    name = os.path.basename(path)
    stem = name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else os.path.splitext(name)[0]
    is_agent = name.startswith(AGENT)
    kind = SUBAGENT if is_agent else _kind_below(home)
    id = stem.removeprefix(AGENT) if is_agent else stem
    return SessionFile(path, id, kind, _stamp(status), status.st_dev, home, session)


def session_home(path: str) -> tuple[str, str | None]:
    """The directory of the session that a file belongs to, and, below `subagents/`, the session's id.

    >>> session_home("/s/projects/-p/1f2e/subagents/workflows/wf_1/agent-a1.jsonl")
    ('/s/projects/-p', '1f2e')
    >>> session_home("/s/projects/-p/1f2e.jsonl")
    ('/s/projects/-p', None)
    """
    folder, name = os.path.split(path)
    parts = folder.split(os.sep)
    places = [number for number, part in enumerate(parts) if part == SUBAGENTS and number > 1]
    if not name.startswith(AGENT) or not places:
        return folder, None
    at = places.pop()
    while places and parts[at - 1].startswith(AGENT):  # that is another sub-agent's directory
        at = places.pop()
    return os.sep.join(parts[: at - 1]), parts[at - 1]


def _kind_below(folder: str) -> str:
    """What a session is that lies in a directory."""
    above, name = os.path.split(folder)
    return SESSION if os.path.basename(above) == PROJECTS else KINDS.get(name, SESSION)


def _reason(entry: os.DirEntry[str], error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and entry.is_symlink():
        return "a link that leads nowhere"
    return error.strerror or str(error)


def is_session_name(name: str) -> bool:
    """True for a file name of a session or a sub-agent."""
    return name.endswith(SUFFIX) and name not in NOT_SESSIONS


def is_session_id(name: str) -> bool:
    """True for an id that Claude Code gives to a session.

    >>> is_session_id("1f2e3d4c-0001-4000-8000-000000000001"), is_session_id("memory")
    (True, False)
    """
    return _ID.fullmatch(name) is not None


def _stamp(status: os.stat_result) -> FileStamp:
    return FileStamp(status.st_size, status.st_mtime_ns, status.st_ino)


def session_files_among(root: str, stamps: Mapping[str, FileStamp]) -> Iterator[SessionFile]:
    """The session files among some files, by their paths below a store, with "/"."""
    for path, stamp in stamps.items():
        *folders, name = path.split("/")
        if not is_session_name(name) or any(part.startswith(".") for part in (*folders, name)):
            continue
        if (placed := _placed(root, folders, name)) is None:
            continue
        kind, place = placed
        stem = name.removesuffix(SUFFIX)
        about = path.removesuffix(SUFFIX) + META
        is_described = about in stamps and kind in (SESSION, SUBAGENT)
        meta = SideFile(os.path.join(root, *about.split("/")), stamps[about]) if is_described else None
        id = stem.removeprefix(AGENT) if kind == SUBAGENT else stem
        yield SessionFile(os.path.join(root, *folders, name), id, kind, stamp, 0, *place, meta)


def _placed(root: str, folders: list[str], name: str) -> tuple[str, StorePlace] | None:
    """What a session file is by the directories above it; none where no session lies."""
    if len(folders) == 1 and folders[0] in KINDS:
        return KINDS[folders[0]], StorePlace(os.path.join(root, *folders))
    if len(folders) < 2 or folders[0] != PROJECTS:
        return None
    place = StorePlace(os.path.join(root, *folders[:2]))
    if len(folders) == 2:
        return SUBAGENT if name.startswith(AGENT) else SESSION, place
    if len(folders) == 3 or folders[3] != SUBAGENTS:
        return None
    place = place._replace(parent=folders[2])
    for folder in folders[4:]:
        place = place.within(folder)
    return SUBAGENT, place
