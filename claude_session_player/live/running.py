"""One session as a glance shows it: what it does, what it is called, what was said last. Only its ends are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple

from claude_session_player.errors import SessionError
from claude_session_player.format.events import Assistant, Event, QueueOperation, Text, Title
from claude_session_player.format.line_reader import LongLine, bounded_line, is_too_long, split_lines
from claude_session_player.linking.prompts import PromptQueue, human_prompt
from claude_session_player.linking.titles import note_prompt, note_title, session_title
from claude_session_player.live.status import Phase, SessionActivity, SessionStatus
from claude_session_player.parser import decode_lines, is_whole_record, is_worth_decoding
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
from claude_session_player.util.text import strip_escapes, to_title

HEAD: Final = 1 << 16
"""Bytes that are read of the beginning of a long file."""
END: Final = 1 << 18
"""Bytes that are read of its end, to begin with; more, where they hold no whole line."""


_BLANKS: Final = 80
"""Among so many of the last bytes, the end of a record is looked for."""


class FileTail:
    """Reads a file as it grows; it is open only meanwhile. One that was cut off or replaced is begun anew."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.written: float | None = None
        """When the file was last written to, in seconds since 1970; `None` where it is gone."""
        self.is_new = False
        """True where the lines that were read last are those of a file that is begun, or begun anew."""
        self.has_gap = False
        """True where the middle of a long file was left out."""
        self.count = 0
        """How many bytes were read so far."""
        self._known = 0
        """Bytes of the file that were read, or left out."""
        self._inode: int | None = None
        self._rest = bytearray()
        """The beginning of a line that has no end yet."""
        self._passed = 0
        """How much there is of such a line, where that is too long to be held."""
        self._tried = 0
        """How much there was of it when it was last taken for a whole record, and was none."""

    def lines(self) -> list[bytes]:
        """The lines that are new, as far as they are whole; none where the file is gone. Raises `OSError`."""
        try:
            with open(self.path, "rb", buffering=0, opener=regular_opener) as file:
                status = os.fstat(file.fileno())
                self.written = status.st_mtime
                self.is_new = status.st_ino != self._inode or not self._may_go_on(status.st_size)
                if self.is_new:
                    self._inode, self._rest, self._passed, self._tried = status.st_ino, bytearray(), 0, 0
                    return self._begin(file, status.st_size)
                return self._whole(self._read(file, self._known, status.st_size))
        except FileNotFoundError:
            self.written = None
            return []

    def _may_go_on(self, size: int) -> bool:
        """True where a file was not cut off, and no more was appended than can be held."""
        return size >= self._known and not is_too_long(size - self._known)

    def _begin(self, file: BinaryIO, size: int) -> list[bytes]:
        """The beginning and the end of a long file; all of a short one."""
        self.has_gap = False
        if size <= HEAD + END:
            return self._whole(self._read(file, 0, size))
        head = self._read(file, 0, HEAD)
        start = size - END
        while start > HEAD and not is_too_long(size - start):
            end = self._read(file, start, size)
            cut = end.find(b"\n") + 1
            if end.rfind(b"\n") >= cut:
                self.has_gap = True
                return [*_lines(head), *self._whole(end[cut:])]
            start -= 3 * (size - start)
        if is_too_long(size - HEAD):  # the last line is, and nobody knows where it begins
            self.has_gap, self._known, self._passed = True, size, size - HEAD
            return _lines(head)
        return self._whole(head + self._read(file, HEAD, size))

    def _read(self, file: BinaryIO, start: int, end: int) -> bytes:
        file.seek(start)
        data = file.read(end - start)
        self._known = start + len(data)
        self.count += len(data)
        return data

    def _whole(self, data: bytes) -> list[bytes]:
        """The whole lines; what is behind them waits, unless it is a whole record already."""
        end = data.rfind(b"\n") + 1
        lines = self._ended(data[:end]) if end else []
        if self._passed:
            self._passed += len(data)
            return []
        self._rest += memoryview(data)[end:]
        if is_too_long(len(self._rest)):
            self._rest, self._passed = bytearray(), len(self._rest)
        elif data[-_BLANKS:].rstrip().endswith(b"}") and is_worth_decoding(len(self._rest), self._tried):
            self._tried = len(self._rest)
            if is_whole_record(rest := bounded_line(bytes(self._rest))):
                lines.append(rest)
                self._rest, self._tried = bytearray(), 0
        return lines

    def _ended(self, data: bytes) -> list[bytes]:
        """Whole lines: the first is the end of what has waited."""
        first, *others = split_lines(data)
        size = self._passed + len(self._rest) + len(first)
        if is_too_long(size - 1) or isinstance(first, LongLine):
            first = LongLine(size, is_complete=True)
        elif self._rest:
            first = bounded_line(bytes(self._rest) + first)
        self._rest, self._passed, self._tried = bytearray(), 0, 0
        return [first, *others]


def _lines(data: bytes) -> list[bytes]:
    return split_lines(data[: data.rfind(b"\n") + 1])


LookUp = Callable[[SessionFile], Session]
"""Gives what a store knows of a file; raises `SessionError`."""
_MOST_CWDS: Final = 8


class SessionPeek:
    """A session or sub-agent, as far as the beginning and the end of its file tell. What is appended is read once."""

    def __init__(self, found: SessionFile, look_up: LookUp | None = None) -> None:
        """What the ends of the file do not tell of its title is looked up, once."""
        self.found = found
        self._look_up = look_up
        self.tail = FileTail(found.path)
        self.session_id = found.parent if found.is_agent else found.id
        """The session that it is, or that a sub-agent belongs to; `None` where that is not known."""
        self._begin()
        self._agent: str | None = None
        self._description: str | None = None

    def _begin(self) -> None:
        self.words = ""
        """What was said last, on one line."""
        self._activity = SessionActivity(is_subagent=self.found.is_agent)
        self._cwds: tuple[str, ...] = ()
        self._given: dict[str, str] = {}
        self._queue = PromptQueue()
        self.first_prompt: str | None = None
        self.last_prompt: str | None = None
        self.topic: str | None = None
        self.first_line = self.last_line = self.topic_line = self._lines = 0

    def catch_up(self) -> bool:
        """Take in what was appended; false where there is nothing. Raises `OSError`."""
        if self.found.is_agent and self._agent is None:
            self._describe()
        lines = self.tail.lines()
        if self.tail.is_new:
            self._begin()
            if self.tail.has_gap or (self.found.is_agent and not self._description):
                self._recall()
        events = decode_lines(lines, self._lines, 0)
        self._lines += len(lines)
        self._activity.take(events)
        for event in events:
            self._note(event)
        return bool(lines)

    @property
    def title(self) -> str:
        """The best name that there is; empty where there is none."""
        return session_title(self._given, self._description, self.topic, self.first_prompt) or ""

    @property
    def description(self) -> str:
        """What a sub-agent is for, where that is described in fewer words than its prompt."""
        return self._description or ""

    @property
    def agent(self) -> str:
        """What kind of sub-agent it is, where that is described."""
        return self._agent or ""

    @property
    def project(self) -> str | None:
        """The real path of the project, where it is known."""
        return real_path(self.found.project or "", self._cwds)

    @property
    def written(self) -> float | None:
        """When the file was last written to, in seconds since 1970; `None` where it is gone."""
        return self.tail.written

    def status(self, now: float, written: float | None = None) -> SessionStatus:
        """What goes on at a moment; `written` is when anything that belongs to it was last written to."""
        times = [time for time in (self.written, written) if time is not None]
        return self._activity.status(now, max(times, default=None))

    def _describe(self) -> None:
        """Take in the description beside a sub-agent; it may be written later than the first lines."""
        told = read_document(self.found.path.removesuffix(SESSION_SUFFIX) + META_SUFFIX, [])
        if isinstance(told, dict):
            self._agent = scalar_text(told.get("agentType")) or ""
            self._description = to_title(scalar_text(told.get("description")) or "") or None

    def _note(self, event: Event) -> None:
        if event.cwd and event.cwd not in self._cwds and len(self._cwds) < _MOST_CWDS:
            self._cwds = (*self._cwds, event.cwd)
        if self.session_id is None:
            self.session_id = event.session_id
        if isinstance(event, QueueOperation):
            self._take_up(event)
            return
        is_own = self.found.is_agent or not (event.is_sidechain or event.agent_call)
        if isinstance(event, Title):
            note_title(self._given, event.kind, event.title)
        elif is_own and (prompt := human_prompt(event)) is not None:
            self.words = to_title(prompt)
            note_prompt(self, prompt, event.line)
        elif isinstance(event, Assistant):
            self._queue.settle()
            said = event.said
            texts = [said] if isinstance(said, str) else [block.text for block in said or () if type(block) is Text]
            self.words = next((to_title(strip_escapes(one)) for one in reversed(texts) if one), self.words)

    def _take_up(self, event: QueueOperation) -> None:
        """A prompt that the model was given from the queue; where a line of its own follows, it says the same."""
        taken = self._queue.operate(event)
        if taken is not None and taken.text is not None:
            self.words = to_title(taken.text)
            note_prompt(self, taken.text, taken.line)

    def _recall(self) -> None:
        """Take over what a store knows of the whole file, and of the call that a sub-agent comes from."""
        if self._look_up is None:
            return
        try:
            session = self._look_up(self.found)
        except SessionError:
            return
        speech = session.conversation
        self._given = dict(session.facts.titles)
        self.first_prompt, self.topic = speech.first_prompt, speech.topic
        self.last_prompt = speech.last_prompt or speech.first_prompt
        if self.found.is_agent:
            self._agent = self._agent or session.agent or ""
            self._description = self._description or session.description


RECENT_SECONDS: Final = 30 * 60
"""What was written to in this time is taken as running."""
_WORKING: Final = (Phase.THINKING, Phase.RUNNING)


class RunningSession(NamedTuple):
    """A session, or a sub-agent below it, and what it does."""

    glimpse: SessionPeek
    status: SessionStatus
    is_subagent: bool = False

    def belongs_to(self, path: str) -> bool:
        """True for the session in a file, and for each of its sub-agents."""
        name = os.path.basename(path).removesuffix(SESSION_SUFFIX)
        return self.glimpse.found.path == path or (self.is_subagent and self.glimpse.session_id == name)


class RunningSessions:
    """What runs in some stores. It is told which files have changed, and reads what was appended to them."""

    def __init__(self, roots: Sequence[str], *, in_use: Iterable[str] = (), look_up: LookUp | None = None) -> None:
        """Files that are `in_use` are shown however old they are. What their ends do not tell is looked up."""
        self._look_up = look_up
        self.folders = tuple(WatchedDir(os.path.join(root, PROJECTS_DIR), is_deep=True) for root in roots)
        self._in_use = frozenset(in_use)
        self._sessions: dict[str, SessionPeek] = {}
        self._agents: dict[str, SessionPeek] = {}

    def notice(self, files: Iterable[str], now: float) -> None:
        """Look at files that may have changed; what is old and was not shown so far stays away."""
        stamps = [(_written(path), path) for path in files]
        for written, path in sorted(stamps, reverse=True):
            known = self._sessions.get(path) or self._agents.get(path)
            if known is None and (written > now - RECENT_SECONDS or path in self._in_use):
                known = self._add(path)
            if known is not None:
                self._catch_up(known)

    def rows(self, now: float) -> list[RunningSession]:
        """Every session, those first that are not idle, each with the sub-agents that are at work for it.

        What nobody has written to for long, or uses, is not among them any more until somebody does.
        """
        self._forget(now)
        agents: dict[str | None, list[SessionPeek]] = {}
        for agent in self._agents.values():
            agents.setdefault(agent.session_id, []).append(agent)
        families = [
            list(_family(glimpse, agents.get(glimpse.found.id, []), now)) for glimpse in self._sessions.values()
        ]
        families.sort(key=lambda family: not family[0].status.is_live)
        return [row for family in families for row in family]

    def status(self, path: str, now: float) -> SessionStatus | None:
        """What the session, or the sub-agent, in a file does; `None` where nothing is known of the file."""
        if (agent := self._agents.get(path)) is not None:
            return agent.status(now)
        if (session := self._sessions.get(path)) is None:
            return None
        return _status(session, [agent for agent in self._agents.values() if agent.session_id == session.found.id], now)

    def _forget(self, now: float) -> None:
        """Let go of what is old; a session stays for as long as one of its sub-agents does."""
        since = now - RECENT_SECONDS
        self._agents = {path: agent for path, agent in self._agents.items() if self._is_kept(agent, since)}
        busy = {agent.session_id for agent in self._agents.values()}
        self._sessions = {
            path: session
            for path, session in self._sessions.items()
            if session.found.id in busy or self._is_kept(session, since)
        }

    def _is_kept(self, glimpse: SessionPeek, since: float) -> bool:
        return glimpse.found.path in self._in_use or (glimpse.written or 0.0) > since

    def _add(self, path: str) -> SessionPeek | None:
        try:
            glimpse = SessionPeek(session_file_at(path), self._look_up)
        except OSError:
            return None
        if not glimpse.found.is_agent:
            self._sessions[path] = glimpse
            return glimpse
        self._agents[path] = glimpse
        main = os.path.join(glimpse.found.home, f"{glimpse.found.parent}{SESSION_SUFFIX}")
        if glimpse.found.parent and main not in self._sessions and os.path.isfile(main) and (head := self._add(main)):
            self._catch_up(head)
        return glimpse

    def _catch_up(self, glimpse: SessionPeek) -> None:
        try:
            glimpse.catch_up()
        except OSError:
            glimpse.tail.written = None
        if glimpse.written is None:
            self._sessions.pop(glimpse.found.path, None)
            self._agents.pop(glimpse.found.path, None)


def _family(session: SessionPeek, agents: Sequence[SessionPeek], now: float) -> Iterator[RunningSession]:
    yield RunningSession(session, _status(session, agents, now))
    for agent in agents:
        status = agent.status(now)
        if status.phase in _WORKING:
            yield RunningSession(agent, status, is_subagent=True)


def _status(session: SessionPeek, agents: Sequence[SessionPeek], now: float) -> SessionStatus:
    """What a session does; as long as one of its sub-agents is written to, it is not idle."""
    written = max((agent.written for agent in agents if agent.written is not None), default=None)
    return session.status(now, written)


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
