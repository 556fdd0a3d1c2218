"""Running sessions: what each does, its title and its latest text, of which only the ends of the files are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from claude_session_player.errors import SessionError
from claude_session_player.format.blocks import Text
from claude_session_player.format.events import Assistant, Event, QueueOperation, Title
from claude_session_player.format.line_reader import LongLine, bounded_line, is_too_long, split_lines
from claude_session_player.linking.prompts import PromptQueue, human_prompt
from claude_session_player.linking.titles import note_prompt, note_title, session_title
from claude_session_player.live.status import Phase, SessionActivity, SessionStatus
from claude_session_player.parser import decode_lines, is_whole_record, is_worth_decoding
from claude_session_player.stats import ContextMeter
from claude_session_player.store import (
    META_SUFFIX,
    PROJECTS_DIR,
    SESSION_SUFFIX,
    Session,
    SessionFile,
    WatchedDir,
    read_document,
    real_path,
    scalar_text,
    session_file_at,
)
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.text import base_name, display_path, strip_escapes, to_title

if TYPE_CHECKING:
    from claude_session_player.stats import ContextFill, Expense

HEAD_SIZE: Final = 1 << 16
"""Bytes that are read at the beginning of a long file."""
TAIL_SIZE: Final = 1 << 18
"""Bytes that are first read at the end of a long file; more, if they contain no complete line."""
_MAX_TRAILING_SPACE: Final = 80
"""The end of a record is looked for among this many of the last bytes."""


class FileTail:
    """Reads a file as it grows, and starts again if it was truncated or replaced. The file is open only while read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.written_at: float | None = None
        """When the file was last written to, in seconds since 1970; `None` if it does not exist."""
        self.is_restarted = False
        """True if the latest lines are from the beginning of the file, at first or after a restart."""
        self.has_gap = False
        """True if the middle of a long file was skipped."""
        self.bytes_read = 0
        self._offset = 0
        """The end of what was read or skipped."""
        self._inode: int | None = None
        self._incomplete = bytearray()
        """The beginning of a line that has no end yet."""
        self._skipped = 0
        """The length of such a line, if it is too long to be kept."""
        self._tried = 0
        """The length of the incomplete line when it was last tried as a record, and was not one."""

    def read_lines(self) -> list[bytes]:
        """The new complete lines; none if the file does not exist. Raises `OSError`."""
        try:
            with open(self.path, "rb", buffering=0, opener=regular_opener) as file:
                status = os.fstat(file.fileno())
                self.written_at = status.st_mtime
                self.is_restarted = status.st_ino != self._inode or not self._can_continue(status.st_size)
                if self.is_restarted:
                    self._inode, self._incomplete, self._skipped, self._tried = status.st_ino, bytearray(), 0, 0
                    return self._begin(file, status.st_size)
                return self._complete_lines(self._read(file, self._offset, status.st_size))
        except FileNotFoundError:
            self.written_at = None
            return []

    def _can_continue(self, size: int) -> bool:
        """True if the file was not truncated, and no more was appended than fits into memory."""
        return size >= self._offset and not is_too_long(size - self._offset)

    def _begin(self, file: BinaryIO, size: int) -> list[bytes]:
        """The lines at both ends of a long file; all lines of a short one."""
        self.has_gap = False
        if size <= HEAD_SIZE + TAIL_SIZE:
            return self._complete_lines(self._read(file, 0, size))
        head = self._read(file, 0, HEAD_SIZE)
        start = size - TAIL_SIZE
        while start > HEAD_SIZE and not is_too_long(size - start):
            end = self._read(file, start, size)
            cut = end.find(b"\n") + 1
            if end.rfind(b"\n") >= cut:
                self.has_gap = True
                return [*_lines(head), *self._complete_lines(end[cut:])]
            start -= 3 * (size - start)
        if is_too_long(size - HEAD_SIZE):  # the last line is too long, and its beginning is unknown
            self.has_gap, self._offset, self._skipped = True, size, size - HEAD_SIZE
            return _lines(head)
        return self._complete_lines(head + self._read(file, HEAD_SIZE, size))

    def _read(self, file: BinaryIO, start: int, end: int) -> bytes:
        file.seek(start)
        data = file.read(end - start)
        self._offset = start + len(data)
        self.bytes_read += len(data)
        return data

    def _complete_lines(self, data: bytes) -> list[bytes]:
        """The complete lines; the rest is kept for later, unless it is a complete record without a line end."""
        end = data.rfind(b"\n") + 1
        lines = self._join_lines(data[:end]) if end else []
        if self._skipped:
            self._skipped += len(data)
            return []
        self._incomplete += memoryview(data)[end:]
        if is_too_long(len(self._incomplete)):
            self._incomplete, self._skipped = bytearray(), len(self._incomplete)
        elif data[-_MAX_TRAILING_SPACE:].rstrip().endswith(b"}") and is_worth_decoding(
            len(self._incomplete), self._tried
        ):
            self._tried = len(self._incomplete)
            if is_whole_record(rest := bounded_line(bytes(self._incomplete))):
                lines.append(rest)
                self._incomplete, self._tried = bytearray(), 0
        return lines

    def _join_lines(self, data: bytes) -> list[bytes]:
        """Complete lines, of which the first continues the incomplete line."""
        first, *others = split_lines(data)
        size = self._skipped + len(self._incomplete) + len(first)
        if is_too_long(size - 1) or isinstance(first, LongLine):
            first = LongLine(size, is_complete=True)
        elif self._incomplete:
            first = bounded_line(bytes(self._incomplete) + first)
        self._incomplete, self._skipped, self._tried = bytearray(), 0, 0
        return [first, *others]


def _lines(data: bytes) -> list[bytes]:
    return split_lines(data[: data.rfind(b"\n") + 1])


SessionLookup = Callable[[SessionFile], Session]
"""Gives the session of a file as the store knows it. Raises `SessionError`."""
_MAX_CWDS: Final = 8


class SessionPeek:
    """What both ends of a file reveal about a session or sub-agent. What is appended later is read once."""

    def __init__(self, file: SessionFile, look_up: SessionLookup | None = None) -> None:
        """With `look_up`, the title and prompts of a file with a gap are looked up once."""
        self.file = file
        self._look_up = look_up
        self.tail = FileTail(file.path)
        self.session_id = file.parent if file.is_agent else file.id
        """The id of the session, or of a sub-agent's session; `None` if unknown."""
        self._begin()
        self._agent: str | None = None
        self._description: str | None = None

    def _begin(self) -> None:
        self.last_text = ""
        """The latest prompt or response, on one line."""
        self._activity = SessionActivity(is_subagent=self.file.is_agent)
        self._context = ContextMeter(is_subagent=self.file.is_agent)
        self._cwds: tuple[str, ...] = ()
        self._titles: dict[str, str] = {}
        self._queue = PromptQueue()
        self.first_prompt: str | None = None
        self.last_prompt: str | None = None
        self.topic: str | None = None
        self.first_line = self.last_line = self.topic_line = self._lines = 0

    def catch_up(self) -> bool:
        """Read what was appended; false if nothing was. Raises `OSError`."""
        if self.file.is_agent and self._agent is None:
            self._describe()
        lines = self.tail.read_lines()
        if self.tail.is_restarted:
            self._begin()
            if self.tail.has_gap or (self.file.is_agent and not self._description):
                self._look_up_rest()
        events = decode_lines(lines, self._lines, 0)
        self._lines += len(lines)
        self._activity.take(events)
        self._context.take(events)
        for event in events:
            self._add_event(event)
        return bool(lines)

    @property
    def title(self) -> str:
        """The title; empty if there is none."""
        return session_title(self._titles, self._description, self.topic, self.first_prompt) or ""

    @property
    def description(self) -> str:
        """The description of a sub-agent's task; empty if there is none."""
        return self._description or ""

    @property
    def agent(self) -> str:
        """The type of a sub-agent; empty if unknown."""
        return self._agent or ""

    @property
    def project(self) -> str | None:
        """The real path of the project, if known."""
        return real_path(self.file.project or "", self._cwds)

    @property
    def project_name(self) -> str:
        """The name of the project's directory, if known."""
        return base_name(self.project or "") or self.file.project or ""

    @property
    def short_name(self) -> str:
        """The name of the project, else the title, else the id: what a person calls the session."""
        return self.project_name or self.title or display_path(self.file.id)

    @property
    def context(self) -> ContextFill | None:
        """How full the context is; `None` if that is not known yet."""
        return self._context.fill

    @property
    def model(self) -> str | None:
        """The model of the latest response."""
        return self._context.model

    @property
    def written_at(self) -> float | None:
        """When the file was last written to, in seconds since 1970; `None` if it does not exist."""
        return self.tail.written_at

    @property
    def active_at(self) -> float | None:
        """When it was last active, in seconds since 1970; a copied or restored file is as old as its events."""
        return self._activity.active_at(self.written_at)

    def status(self, now: float, agents_active_at: float | None = None) -> SessionStatus:
        """What the session does at a time; `agents_active_at` is when any of its sub-agents was last active."""
        return self._activity.status(now, self.written_at, agents_active_at)

    def _describe(self) -> None:
        """Read the description file of a sub-agent, which may be written later than the first lines."""
        document = read_document(self.file.path.removesuffix(SESSION_SUFFIX) + META_SUFFIX, [])
        if isinstance(document, dict):
            self._agent = scalar_text(document.get("agentType")) or ""
            self._description = to_title(scalar_text(document.get("description")) or "") or None

    def _add_event(self, event: Event) -> None:
        if event.cwd and event.cwd not in self._cwds and len(self._cwds) < _MAX_CWDS:
            self._cwds = (*self._cwds, event.cwd)
        if self.session_id is None:
            self.session_id = event.session_id
        if isinstance(event, QueueOperation):
            self._take_queued(event)
            return
        is_own = self.file.is_agent or not (event.is_sidechain or event.agent_call)
        if isinstance(event, Title):
            note_title(self._titles, event.kind, event.title)
        elif is_own and (prompt := human_prompt(event)) is not None:
            self.last_text = to_title(prompt)
            note_prompt(self, prompt, event.line)
        elif isinstance(event, Assistant):
            self._queue.settle()
            said = event.message_content
            texts = [said] if isinstance(said, str) else [block.text for block in said or () if type(block) is Text]
            self.last_text = next((to_title(strip_escapes(one)) for one in reversed(texts) if one), self.last_text)

    def _take_queued(self, event: QueueOperation) -> None:
        """Note a queued prompt that reached the model; a record of its own may follow with the same text."""
        taken = self._queue.operate(event)
        if taken is not None and taken.text is not None:
            self.last_text = to_title(taken.text)
            note_prompt(self, taken.text, taken.line)

    def _look_up_rest(self) -> None:
        """Take over what the store knows of the whole file, and of the call that started a sub-agent."""
        if self._look_up is None:
            return
        try:
            session = self._look_up(self.file)
        except SessionError:
            return
        conversation = session.conversation
        self._titles = dict(session.facts.titles)
        self.first_prompt, self.topic = conversation.first_prompt, conversation.topic
        self.last_prompt = conversation.last_prompt or conversation.first_prompt
        if self.file.is_agent:
            self._agent = self._agent or session.agent or ""
            self._description = self._description or session.description


RECENT_SECONDS: Final = 30 * 60
"""A session that was written to within this time counts as running."""
_WORKING: Final = (Phase.THINKING, Phase.RUNNING)


class RunningSession(NamedTuple):
    """A running session or sub-agent, and what it does."""

    peek: SessionPeek
    status: SessionStatus
    is_subagent: bool = False
    expense: Expense | None = None
    """What the session and its sub-agents have cost, if that was counted."""

    def belongs_to(self, path: str) -> bool:
        """True for the session in a file and for each of its sub-agents."""
        name = os.path.basename(path).removesuffix(SESSION_SUFFIX)
        return self.peek.file.path == path or (self.is_subagent and self.peek.session_id == name)


class RunningSessions:
    """The running sessions of some stores. Given the files that may have changed, it reads what was appended."""

    def __init__(
        self, roots: Sequence[str], *, in_use: Iterable[str] = (), look_up: SessionLookup | None = None
    ) -> None:
        """Files that are `in_use` are included however old they are. For `look_up`, see `SessionPeek`."""
        self._look_up = look_up
        self.directories = tuple(WatchedDir(os.path.join(root, PROJECTS_DIR), is_deep=True) for root in roots)
        self._in_use = frozenset(in_use)
        self._sessions: dict[str, SessionPeek] = {}
        self._agents: dict[str, SessionPeek] = {}
        self._grown: dict[str, SessionFile] = {}
        """The sessions that were appended to, or one of their sub-agents, by path."""
        self._expenses: dict[str, Expense] = {}

    def update(self, files: Iterable[str], now: float) -> None:
        """Read files that may have changed; old ones that are not known yet are ignored."""
        stamps = [(_modified_at(path), path) for path in files]
        for modified_at, path in sorted(stamps, reverse=True):
            known = self._sessions.get(path) or self._agents.get(path)
            if known is None and (modified_at > now - RECENT_SECONDS or path in self._in_use):
                known = self._add(path)
            if known is not None:
                self._catch_up(known)

    def rows(self, now: float) -> list[RunningSession]:
        """Every session with its working sub-agents; sessions that are not idle come first.

        Sessions that were not written to for long and are not in use are dropped until they are written to again.
        """
        self._drop_old(now)
        agents: dict[str | None, list[SessionPeek]] = {}
        for agent in self._agents.values():
            agents.setdefault(agent.session_id, []).append(agent)
        families = [
            list(_family(peek, agents.get(peek.file.id, []), now, self._expenses.get(path)))
            for path, peek in self._sessions.items()
        ]
        families.sort(key=lambda family: not family[0].status.is_live)
        return [row for family in families for row in family]

    def take_grown(self) -> list[SessionFile]:
        """The sessions that were appended to since the last call, or one of their sub-agents."""
        grown, self._grown = self._grown, {}
        return [file for path, file in grown.items() if path in self._sessions]

    def note_expense(self, path: str, expense: Expense) -> None:
        """Note what the session in a file has cost."""
        self._expenses[path] = expense

    def status(self, path: str, now: float) -> SessionStatus | None:
        """What the session or sub-agent in a file does; `None` if the file is unknown."""
        if (agent := self._agents.get(path)) is not None:
            return agent.status(now)
        if (session := self._sessions.get(path)) is None:
            return None
        return _status(session, [agent for agent in self._agents.values() if agent.session_id == session.file.id], now)

    def _drop_old(self, now: float) -> None:
        """Drop what is old; a session is kept as long as one of its sub-agents is."""
        since = now - RECENT_SECONDS
        self._agents = {path: agent for path, agent in self._agents.items() if self._is_kept(agent, since)}
        busy = {agent.session_id for agent in self._agents.values()}
        self._sessions = {
            path: session
            for path, session in self._sessions.items()
            if session.file.id in busy or self._is_kept(session, since)
        }
        self._expenses = {path: expense for path, expense in self._expenses.items() if path in self._sessions}

    def _is_kept(self, peek: SessionPeek, since: float) -> bool:
        return peek.file.path in self._in_use or (peek.active_at or 0.0) > since

    def _add(self, path: str) -> SessionPeek | None:
        try:
            peek = SessionPeek(session_file_at(path), self._look_up)
        except OSError:
            return None
        if not peek.file.is_agent:
            self._sessions[path] = peek
            return peek
        self._agents[path] = peek
        main = _session_path(peek)
        if peek.file.parent and main not in self._sessions and os.path.isfile(main) and (head := self._add(main)):
            self._catch_up(head)
        return peek

    def _catch_up(self, peek: SessionPeek) -> None:
        try:
            if peek.catch_up() and (main := self._sessions.get(_session_path(peek))) is not None:
                self._grown[main.file.path] = main.file
        except OSError:
            peek.tail.written_at = None
        if peek.written_at is None:
            self._sessions.pop(peek.file.path, None)
            self._agents.pop(peek.file.path, None)


def _session_path(peek: SessionPeek) -> str:
    """The file of the session that a session or sub-agent is, or belongs to."""
    file = peek.file
    return os.path.join(file.home, f"{peek.session_id}{SESSION_SUFFIX}") if file.is_agent else file.path


def _family(
    session: SessionPeek, agents: Sequence[SessionPeek], now: float, expense: Expense | None
) -> Iterator[RunningSession]:
    yield RunningSession(session, _status(session, agents, now), expense=expense)
    for agent in agents:
        status = agent.status(now)
        if status.phase in _WORKING:
            yield RunningSession(agent, status, is_subagent=True)


def _status(session: SessionPeek, agents: Sequence[SessionPeek], now: float) -> SessionStatus:
    """What a session does; it is not idle while one of its sub-agents is active."""
    times = (agent.active_at for agent in agents)
    return session.status(now, max((time for time in times if time is not None), default=None))


def _modified_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
