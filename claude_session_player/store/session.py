"""A session of a store: its summary, its sub-agents, its events."""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from claude_session_player.errors import SessionInUse
from claude_session_player.linking.subagents import AgentCall, helper_kind
from claude_session_player.linking.titles import session_title
from claude_session_player.store.facts import (
    ConversationFacts,
    FileFacts,
    IndexedFile,
    InlineSubagent,
    LineRangeReader,
    load_responses,
)
from claude_session_player.store.family import SessionFamily, SubagentLink, inline_calls
from claude_session_player.store.in_use import InUse
from claude_session_player.store.layout import SUBAGENT, ReadProblem, SessionFile, StoreWalk
from claude_session_player.store.record import (
    SessionRecord,
    conversation_record,
    detail_command,
    modified_time,
    seconds_between,
)
from claude_session_player.util.fsutil import regular_opener, small_opener
from claude_session_player.util.text import display_path, escape_controls, to_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.format.events import Event
    from claude_session_player.store.facts import Responses

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Session:
    """One session, or one sub-agent, as it was when the store was looked at."""

    def __init__(
        self, member: IndexedFile, family: SessionFamily, in_use: InUse, inline: InlineSubagent | None = None
    ) -> None:
        self.found: SessionFile = member.found
        self._member = member
        self._family = family
        self.use = in_use
        """The look that tells whether it is in use."""
        self._inline = inline

    def __repr__(self) -> str:
        return f"Session({self.id!r}, {self.path!r})"

    # --- what it is -----------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The session's id, or the sub-agent's. Where its lines stand in its parent's file: the uuid of the first."""
        return self._inline.id if self._inline else self.found.id

    @property
    def path(self) -> str:
        """The file that holds it."""
        return self.found.path

    @property
    def is_subagent(self) -> bool:
        """True for a sub-agent, in a file of its own or inside of its parent's."""
        return self._inline is not None or self.found.is_agent

    @property
    def is_inline(self) -> bool:
        """True for a sub-agent inside of its parent's file."""
        return self._inline is not None

    @property
    def is_reported(self) -> bool:
        """True for a sub-agent that is known only from lines of progress in its parent's file."""
        return self._inline is not None and self._inline.is_reported

    @property
    def has_sidechains(self) -> bool:
        """True where conversations of sub-agents stand inside of its file, which are not its own."""
        return self._inline is None and any(not inline.is_reported for inline in self.facts.inline)

    @property
    def is_stale(self) -> bool:
        """True where its file has changed since; see `Store.arriving`."""
        return self._member.is_stale

    @property
    def facts(self) -> FileFacts:
        """All that is known of the file."""
        return self._member.facts

    @property
    def speech(self) -> ConversationFacts:
        """What was said."""
        return self._inline.speech if self._inline else self.facts.speech

    @property
    def project(self) -> str | None:
        """The real path of the project, by the working directories of the session."""
        return self._member.row.project

    @property
    def title(self) -> str | None:
        """The best name that there is."""
        given = {} if self._inline else self.facts.titles
        described = self.description if self.is_subagent else None
        return session_title(given, described, self.speech.topic, self.speech.first_prompt)

    @property
    def created_at(self) -> str | None:
        """The earliest time in the file."""
        return self._inline.speech.started if self._inline else self._member.row.started

    @property
    def updated_at(self) -> str:
        """The latest time in the file and in those of its sub-agents; without any, when it was last written to.

        Helpers do not count: Claude Code starts them for itself, sometimes long after the last answer.
        """
        if self._inline:
            return self._inline.speech.ended or modified_time(self.found)
        own = self._member.row.ended or modified_time(self.found)
        if self.found.is_agent or not self._family.agents:
            return own
        return max([own, *(agent.row.ended or "" for agent in self._family.agents if not agent.row.helper)])

    @property
    def ended_at(self) -> str | None:
        """The latest time in its own conversation."""
        return self._inline.speech.ended if self._inline else self._member.row.ended

    @property
    def duration_seconds(self) -> float:
        """From the first moment of its own conversation to the last."""
        return seconds_between(self.created_at, self.ended_at)

    # --- whose it is ----------------------------------------------------------------------------

    @property
    def parent_id(self) -> str | None:
        """The session that a sub-agent belongs to."""
        if self._inline:
            return self.found.id
        return self._member.session_id if self.is_subagent else None

    @property
    def parent_agent_id(self) -> str | None:
        """The sub-agent that called this one."""
        if self._inline:
            return self.found.id if self.found.is_agent else None
        return self._link.caller.found.id if self._link.caller else None

    @property
    def is_helper(self) -> bool:
        """True for a sub-agent that Claude Code starts for itself: no call leads to it."""
        return self._member.row.helper != 0 and not self._inline

    @property
    def call_id(self) -> str | None:
        """The call that a sub-agent comes from."""
        return self._link.call.id if self._link.call else None

    @property
    def has_parent(self) -> bool:
        """False for a sub-agent whose session is not there."""
        return not self.is_subagent or self._inline is not None or self._family.main is not None

    @property
    def circular_subagents(self) -> list[str]:
        """The ids of sub-agents that would be their own ancestors; they are taken as called by the session."""
        return [] if self.is_subagent else [member.found.id for member in self._family.in_circles]

    @property
    def agent(self) -> str | None:
        """The type of a sub-agent: by its description, by the call that it comes from, or because it is a helper."""
        if not self.is_subagent:
            return None
        told = None if self._inline else self.facts.meta.get("agentType")
        called = self._link.call.agent if self._link.call else None
        if isinstance(told, str) and told:
            return told
        return called if called or self._inline else helper_kind(self.id, self.speech.first_prompt)

    @property
    def subagent_count(self) -> int:
        """How many sub-agents there are below this one, at any depth."""
        if self._inline:
            return 0
        own, below = self._family.count_inline(self._member), self._below
        return own + len(below) + sum(map(self._family.count_inline, below)) if below else own

    @cached_property
    def subagents(self) -> list[Session]:
        """The sub-agents that this one called, the earliest first; each has its own."""
        if self._inline:
            return []
        children = [Session(member, self._family, self.use) for member in self._family.children(self._caller)]
        return sorted([*children, *self.inline_subagents], key=lambda child: (child.created_at or "", child.id))

    @property
    def inline_subagents(self) -> list[Session]:
        """The sub-agents that stand inside of this one's file, and in no other."""
        found = [] if self._inline else self._family.inline(self._member)
        return [Session(self._member, self._family, self.use, inline) for inline in found]

    @property
    def is_orphan(self) -> bool:
        """True for a sub-agent whose session has no file of its own."""
        return self.is_subagent and not self.is_inline and self._family.main is None

    @property
    def head(self) -> Session:
        """The session that a sub-agent belongs to, where it has a file; else the sub-agent itself."""
        if not self.is_subagent or self._family.main is None:
            return self
        return Session(self._family.main, self._family, self.use)

    @property
    def parts(self) -> list[Session]:
        """The session and its sub-agents at any depth, as far as they have files: one for each file."""
        return [self, *(Session(member, self._family, self.use) for member in self._below)]

    @property
    def files(self) -> list[SessionFile]:
        """The file of the session that this one belongs to, where there is one, and those of all its sub-agents."""
        members = [self._family.main, *self._family.agents]
        return [member.found for member in members if member is not None]

    @property
    def responses(self) -> Responses:
        """The responses in the session's file; those of sub-agents inside of it are told apart there."""
        return self._member.responses

    @cached_property
    def inline_types(self) -> dict[str, str | None]:
        """The types of the sub-agents inside of the file, by id."""
        calls = self._inline_calls
        agents = {inline.id: calls.get(inline.id) for inline in self.facts.inline}
        return {id: call.agent if call else None for id, call in agents.items()}

    @property
    def in_use(self) -> bool:
        """True where the session, or a sub-agent of it, was in use when the store was looked at."""
        return self.use(self.found) or any(self.use(agent.found) for agent in self._below)

    @property
    def paths(self) -> list[str]:
        """The session's file and those of its sub-agents at any depth; see `parts`."""
        return [self.path, *(agent.found.path for agent in self._below)]

    @property
    def _below(self) -> list[IndexedFile]:
        return [] if self._inline else self._family.all_below(self._caller)

    # --- the contract ---------------------------------------------------------------------------

    @property
    def summary(self) -> SessionRecord:
        """What the session is, in one look."""
        return SessionRecord(**self._record)

    @property
    def json(self) -> str:
        """The summary as a JSON object."""
        if self._inline:
            return escape_controls(_encode(self._record))
        return escape_controls(f"{self._member.row.record[:-1]},{_encode(self._relations)[1:]}")

    @property
    def _record(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self._member.row.record) | self._relations
        if self._inline:
            record |= conversation_record(self.speech) | {"id": self.id, "kind": SUBAGENT, "size": 0, "malformed": 0}
            told = detail_command(self.id, is_archived=bool(self.found.label))
            record |= {"title": self.title, "detail_hint": told}
        return record

    @property
    def _relations(self) -> dict[str, Any]:
        """What depends on the session's relatives, or on the moment."""
        if not self.is_subagent:
            lone = {"parent_id": None, "parent_agent_id": None, "agent": None}
            return lone | self._moment
        return self._moment | {
            "title": self.title,
            "parent_id": display_path(self.parent_id or "") or None,
            "parent_agent_id": display_path(self.parent_agent_id or "") or None,
            "agent": self.agent,
        }

    @property
    def _moment(self) -> dict[str, Any]:
        return {
            "updated_at": self.updated_at,
            "duration_seconds": self.duration_seconds,
            "subagent_count": self.subagent_count,
            "in_use": self.in_use,
        }

    # --- what is in it --------------------------------------------------------------------------

    def events(self) -> Iterator[Event]:
        """Every record of the session, in the order of the file."""
        from claude_session_player.parser import decode_lines, read_events

        if self._inline is None:
            yield from read_events(self.path)
            return
        for number, line in self._own_lines():
            events = decode_lines((line,), number - 1, 0)
            yield from events if not self.is_reported else self._reported(events)

    def lines(self) -> Iterator[bytes]:
        """The lines of the session, as they stand in its file; of one that only reports, the records in them."""
        if not self.is_reported:
            yield from (line for _, line in self._own_lines())
            return
        from claude_session_player.format.events import Progress
        from claude_session_player.parser import decode_lines

        for number, line in self._own_lines():
            for event in decode_lines((line,), number - 1, 0):
                if isinstance(event, Progress) and event.data is not None and event.data.agent_id == self.id:
                    yield bytes(event.data.message) + b"\n"

    def _own_lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines of the session with their numbers."""
        if self._inline is not None:
            return self._inline_lines.lines(self._inline.lines)
        return self._file_lines()

    def _file_lines(self) -> Iterator[tuple[int, bytes]]:
        from claude_session_player.format.line_reader import read_lines

        with open(self.path, "rb", opener=regular_opener) as file:
            yield from enumerate(read_lines(file), 1)

    @property
    def _inline_lines(self) -> LineRangeReader:
        """Reads the lines of the sub-agents inside of the file."""
        if self._member.inline_lines is None:
            stretches = (stretch for inline in self.facts.inline for stretch in inline.lines)
            self._member.inline_lines = LineRangeReader(self.path, stretches)
        return self._member.inline_lines

    def _reported(self, events: Iterable[Event]) -> Iterator[Event]:
        """What lines of progress report of this sub-agent."""
        from claude_session_player.format.events import Progress
        from claude_session_player.linking.agent_records import reported_events

        for event in events:
            if isinstance(event, Progress) and event.data is not None and event.data.agent_id == self.id:
                yield from reported_events(event)

    def backup(self, name: str) -> str | None:
        """The text of a file before the session changed it, by the name of its copy; `None` where there is none.

        Line ends are those that Claude Code shows: a line feed.
        """
        path = self.found.backup(self._member.session_id or self.found.id, name)
        try:
            if path is None or not os.path.isfile(path):
                return None
            with open(path, encoding="utf-8", newline="", opener=small_opener) as file:
                return file.read().replace("\r\n", "\n")
        except (OSError, ValueError):
            return None

    @cached_property
    def workflows(self) -> list[dict[str, Any]]:
        """The workflow runs of the session: the id, the path, what the file says, or why it cannot be read."""
        paths = [] if self.is_subagent else StoreWalk().workflows(self.found.belongings)
        names = [os.path.basename(path).removesuffix(".json") for path in paths]
        return [
            {"id": display_path(name), "path": display_path(self.found.called(path)), **_run(path)}
            for name, path in zip(names, paths, strict=True)
        ]

    @cached_property
    def tool_results(self) -> list[str]:
        """The paths of the tool outputs that were too large for the session file."""
        paths = [] if self.is_subagent else StoreWalk().tool_results(self.found.belongings)
        return [display_path(self.found.called(path)) for path in paths]

    @property
    def description(self) -> str | None:
        """What a sub-agent is for, as whoever called it wrote."""
        told = self.facts.meta.get("description") if self._inline is None else None
        if isinstance(told, str) and told.strip():
            return to_title(told)
        return self._link.call.description if self._link.call else None

    @property
    def _caller(self) -> SessionFile | None:
        """How this one is known in its family as a caller."""
        return self.found if self.found.is_agent else None

    @cached_property
    def _link(self) -> SubagentLink:
        if self._inline is None:
            return self._family.link(self.found) if self.is_subagent else SubagentLink()
        return SubagentLink(self._inline_calls.get(self._inline.id))

    @property
    def _inline_calls(self) -> dict[str, AgentCall]:
        if self._member.inline_calls is None:
            self._member.inline_calls = inline_calls(self.facts)
        return self._member.inline_calls


def load_session_responses(sessions: Sequence[Session]) -> None:
    """Let these sessions have their responses at hand: all at once is much faster than one by one."""
    load_responses([session._member for session in sessions])


def _run(path: str) -> dict[str, Any]:
    from claude_session_player.store.extras import read_document

    troubles: list[ReadProblem] = []
    run = read_document(path, troubles)
    return {"run": run, "trouble": troubles[0].reason if troubles else None}


def look_for_use(sessions: Sequence[Session]) -> InUse:
    """A new look at all processes, for sessions of one store."""
    return sessions[0].use.anew() if sessions else InUse()


def require_unused(session: Session) -> None:
    """Raise `SessionInUse` where a session, or a sub-agent of it, is in use."""
    if signs := look_for_use([session]).uses(session.paths):
        what = ", ".join(dict.fromkeys(sign.words for sign in signs))
        raise SessionInUse(
            f"session {display_path(session.id)} is in use ({what}): try again when nobody works with it"
        )
