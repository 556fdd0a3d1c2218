"""A session of a store: its record, its sub-agents, its events."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.store.facts import conversation_record, decode_responses, detail_command
from claude_session_player.store.layout import SessionKind, StoreWalk
from claude_session_player.store.session_tree import ResponseLoader, SessionTree, SubagentLink
from claude_session_player.util.text import display_path, escape_controls, to_title
from claude_session_player.util.times import file_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.format.events import Event
    from claude_session_player.store.facts import ConversationFacts, FileFacts, InlineSubagent, Responses
    from claude_session_player.store.layout import ReadProblem, SessionFile

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class SessionRecord(NamedTuple):
    """A session as scripts see it. Names and types of these fields are a contract: docs/schema.json."""

    platform: str
    id: str
    kind: str
    path: str
    project: str | None
    cwd: str | None
    created_at: str | None
    updated_at: str
    duration_seconds: float
    provider: str | None
    model: str | None
    models: list[str]
    version: str | None
    entrypoint: str | None
    git_branch: str | None
    title: str | None
    first_user_message: str | None
    last_user_message: str | None
    usage: dict[str, int]
    parent_id: str | None
    parent_agent_id: str | None
    agent: str | None
    workflow: str | None
    subagent_count: int
    size: int
    events: int
    event_count: int
    malformed: int
    in_use: bool
    detail_hint: str


class Session:
    """One session, or one sub-agent, as it was when the store was read."""

    def __init__(
        self, file: SessionFile, facts: FileFacts, tree: SessionTree, inline: InlineSubagent | None = None
    ) -> None:
        self.file = file
        self.facts = facts
        """All that is known of the file."""
        self.tree = tree
        self._inline = inline

    def __repr__(self) -> str:
        return f"Session({self.id!r}, {self.path!r})"

    # --- what it is -----------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The id of the session or sub-agent. For a sub-agent inside its parent's file: the uuid of its first line."""
        return self._inline.id if self._inline else self.file.id

    @property
    def path(self) -> str:
        """The file that holds it."""
        return self.file.path

    @property
    def is_subagent(self) -> bool:
        """True for a sub-agent, in a file of its own or inside its parent's."""
        return self._inline is not None or self.file.is_agent

    @property
    def is_inline(self) -> bool:
        """True for a sub-agent inside its parent's file."""
        return self._inline is not None

    @property
    def is_reported(self) -> bool:
        """True for a sub-agent that is known only from progress records in its parent's file."""
        return self._inline is not None and self._inline.is_reported

    @property
    def line_ranges(self) -> tuple[tuple[int, int], ...]:
        """For a sub-agent inside its parent's file: the first and the last line of each of its parts there."""
        return self._inline.lines if self._inline is not None else ()

    @property
    def has_sidechains(self) -> bool:
        """True if its file also holds conversations of sub-agents."""
        return self._inline is None and any(not inline.is_reported for inline in self.facts.inline)

    @property
    def is_stale(self) -> bool:
        """True if its file has changed since; see `Store.snapshots`."""
        return self.facts.stamp != self.file.version

    @property
    def conversation(self) -> ConversationFacts:
        """What was said."""
        return self._inline.conversation if self._inline else self.facts.conversation

    @property
    def project(self) -> str | None:
        """The real path of the project, by the working directories of the session."""
        return self.facts.project

    @property
    def is_headless(self) -> bool:
        """True for a session that no person sat at, but not for its sub-agents."""
        return not self.is_subagent and self.ran_headless

    @property
    def ran_headless(self) -> bool:
        """True if no person sat at it, or at the session of a sub-agent: `claude -p`, an SDK, a workflow of GitHub."""
        from claude_session_player.format.prompts import is_headless_entrypoint

        entrypoints = self.facts.entrypoints
        return bool(entrypoints) and all(map(is_headless_entrypoint, entrypoints))

    @property
    def title(self) -> str | None:
        """The best name that there is."""
        from claude_session_player.linking.titles import session_title

        given = {} if self._inline else self.facts.titles
        described = self.description if self.is_subagent else None
        return session_title(given, described, self.conversation.topic, self.conversation.first_prompt)

    @property
    def created_at(self) -> str | None:
        """The earliest time in the file."""
        return self._inline.conversation.started if self._inline else self.facts.started

    @property
    def updated_at(self) -> str:
        """The latest time in the file and in those of its sub-agents; without any, the file's modification time.

        Helpers do not count: Claude Code starts them for itself, sometimes long after the last response.
        """
        own = self.ended_at or file_time(self.file.stamp.mtime_ns)
        if self.is_subagent or not self.tree.agents:
            return own
        return max([own, *(agent.facts.ended or "" for agent in self.tree.agents if not agent.facts.is_helper)])

    @property
    def ended_at(self) -> str | None:
        """The latest time in its own conversation."""
        return self._inline.conversation.ended if self._inline else self.facts.ended

    @property
    def duration_seconds(self) -> float:
        """From the first moment of its own conversation to the last."""
        if not (started := self.created_at) or not (ended := self.ended_at):
            return 0.0
        return (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()

    # --- what it belongs to ---------------------------------------------------------------------

    @property
    def session_id(self) -> str | None:
        """The session that the file belongs to: by its directory, else by what its lines say."""
        return self.file.id if not self.file.is_agent else self.file.parent or self.facts.session_id

    @property
    def parent_id(self) -> str | None:
        """The session that a sub-agent belongs to."""
        if self._inline:
            return self.file.id
        return self.session_id if self.is_subagent else None

    @property
    def parent_agent_id(self) -> str | None:
        """The sub-agent that called this one."""
        if self._inline:
            return self.file.id if self.file.is_agent else None
        return self._link.caller.id if self._link.caller else None

    @property
    def is_helper(self) -> bool:
        """True for a sub-agent that Claude Code starts for itself: no call leads to it."""
        return self.facts.is_helper != 0 and not self._inline

    @property
    def call_id(self) -> str | None:
        """The call that started a sub-agent."""
        return self._link.call.id if self._link.call else None

    @property
    def has_parent(self) -> bool:
        """False for a sub-agent whose session is missing."""
        return not self.is_subagent or self._inline is not None or self.tree.main is not None

    @property
    def is_orphan(self) -> bool:
        """True for a sub-agent in a file of its own whose session has none."""
        return not self.has_parent

    @property
    def circular_subagents(self) -> list[str]:
        """The ids of sub-agents that would be their own ancestors; they count as called by the session."""
        return [] if self.is_subagent else [agent.id for agent in self.tree.in_circles]

    @property
    def agent(self) -> str | None:
        """The type of a sub-agent: by its `.meta.json` file, by its call, or because it is a helper."""
        if not self.is_subagent:
            return None
        from claude_session_player.linking.subagents import helper_kind

        described = None if self._inline else self.facts.meta.get("agentType")
        called = self._link.call.agent if self._link.call else None
        if isinstance(described, str) and described:
            return described
        return called if called or self._inline else helper_kind(self.id, self.conversation.first_prompt)

    @property
    def description(self) -> str | None:
        """What a sub-agent is for, in the words of its caller."""
        described = self.facts.meta.get("description") if self._inline is None else None
        if isinstance(described, str) and described.strip():
            return to_title(described)
        return self._link.call.description if self._link.call else None

    @property
    def subagent_count(self) -> int:
        """How many sub-agents there are below this one, at any depth."""
        if self._inline:
            return 0
        own, below = self.tree.count_inline(self), self._below
        return own + len(below) + sum(map(self.tree.count_inline, below)) if below else own

    @cached_property
    def subagents(self) -> list[Session]:
        """The sub-agents that this one called, the earliest first."""
        if self._inline:
            return []
        children = [*self.tree.children(self), *self.inline_subagents]
        return sorted(children, key=lambda child: (child.created_at or "", child.id))

    @cached_property
    def inline_subagents(self) -> list[Session]:
        """The sub-agents inside this one's file that have no file of their own."""
        found = [] if self._inline else self.tree.inline(self)
        return [Session(self.file, self.facts, self.tree, inline) for inline in found]

    @property
    def head(self) -> Session:
        """The session that a sub-agent belongs to, if it has a file; else the sub-agent itself."""
        return self.tree.main if self.is_subagent and self.tree.main is not None else self

    @property
    def parts(self) -> list[Session]:
        """The session and its sub-agents at any depth, as far as they have files: one for each file."""
        return [self, *self._below]

    @property
    def files(self) -> list[SessionFile]:
        """The file of the session that this one belongs to, if there is one, and those of all its sub-agents."""
        return [session.file for session in (self.tree.main, *self.tree.agents) if session is not None]

    @property
    def paths(self) -> list[str]:
        """The session's file and those of its sub-agents at any depth; see `parts`."""
        return [part.path for part in self.parts]

    @property
    def responses(self) -> Responses:
        """The responses in the session's file, with the sub-agents inside it that gave them."""
        load_responses([self])
        return decode_responses(self.facts.responses or b"")

    @cached_property
    def inline_types(self) -> dict[str, str | None]:
        """The types of the sub-agents inside the file, by id."""
        calls = self.tree.inline_calls(self)
        found = {inline.id: calls.get(inline.id) for inline in self.facts.inline}
        return {id: call.agent if call else None for id, call in found.items()}

    @property
    def in_use(self) -> bool:
        """True if the session, or a sub-agent of it, was in use when the store was read."""
        return self.tree.in_use(self.file) or any(self.tree.in_use(agent.file) for agent in self._below)

    @property
    def _below(self) -> list[Session]:
        return [] if self._inline else self.tree.all_below(self)

    @cached_property
    def _link(self) -> SubagentLink:
        if self._inline is not None:
            return SubagentLink(self.tree.inline_calls(self).get(self._inline.id))
        return self.tree.link(self) if self.is_subagent else SubagentLink()

    # --- its record -----------------------------------------------------------------------------

    @property
    def summary(self) -> SessionRecord:
        """The session's record."""
        return SessionRecord(**self._record)

    @property
    def json(self) -> str:
        """The session's record as a JSON object."""
        if self._inline:
            return escape_controls(_encode(self._record))
        return escape_controls(_merge_objects(self.facts.record, _encode(self._relations)))

    @property
    def _record(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self.facts.record) | self._relations
        if self._inline:
            record |= conversation_record(self.conversation)
            record |= {"id": self.id, "kind": SessionKind.SUBAGENT.value, "size": 0, "malformed": 0}
            hint = detail_command(self.id, is_archived=self.file.is_archived)
            record |= {"title": self.title, "detail_hint": hint}
        return record

    @property
    def _relations(self) -> dict[str, Any]:
        """What depends on other files, or on the moment."""
        now = {
            "updated_at": self.updated_at,
            "duration_seconds": self.duration_seconds,
            "subagent_count": self.subagent_count,
            "in_use": self.in_use,
        }
        if not self.is_subagent:
            return {"parent_id": None, "parent_agent_id": None, "agent": None, **now}
        return now | {
            "title": self.title,
            "parent_id": display_path(self.parent_id or "") or None,
            "parent_agent_id": display_path(self.parent_agent_id or "") or None,
            "agent": self.agent,
        }

    # --- what is in it --------------------------------------------------------------------------

    def events(self) -> Iterator[Event]:
        """Every record of the session, in the order of the file."""
        from claude_session_player.parser import decode_lines, read_events

        if self._inline is None:
            yield from read_events(self.path)
            return
        for number, line in self._numbered_lines():
            events = decode_lines((line,), number - 1, 0)
            yield from events if not self.is_reported else self._reported_events(events)

    def lines(self) -> Iterator[bytes]:
        """The lines of the session; for a sub-agent that is only reported, the records inside the progress records."""
        if not self.is_reported:
            yield from (line for _, line in self._numbered_lines())
            return
        from claude_session_player.format.events import Progress
        from claude_session_player.parser import decode_lines

        for number, line in self._numbered_lines():
            for event in decode_lines((line,), number - 1, 0):
                if isinstance(event, Progress) and event.data is not None and event.data.agent_id == self.id:
                    yield bytes(event.data.message) + b"\n"

    def _numbered_lines(self) -> Iterator[tuple[int, bytes]]:
        from claude_session_player.format.line_reader import read_lines
        from claude_session_player.util.fsutil import regular_opener

        if self._inline is not None:
            yield from self.tree.inline_lines(self).lines(self._inline.lines)
            return
        with open(self.path, "rb", opener=regular_opener) as file:
            yield from enumerate(read_lines(file), 1)

    def _reported_events(self, events: Iterable[Event]) -> Iterator[Event]:
        """What progress records report of this sub-agent."""
        from claude_session_player.format.events import Progress
        from claude_session_player.linking.agent_records import reported_events

        for event in events:
            if isinstance(event, Progress) and event.data is not None and event.data.agent_id == self.id:
                yield from reported_events(event)

    def backup(self, name: str) -> str | None:
        """The text of a file before the session changed it, by the name of its copy; `None` if there is none.

        Line ends are those that Claude Code shows: a line feed.
        """
        from claude_session_player.util.fsutil import small_opener

        path = self.file.backup(self.session_id or self.file.id, name)
        try:
            if path is None or not os.path.isfile(path):
                return None
            with open(path, encoding="utf-8", newline="", opener=small_opener) as file:
                return file.read().replace("\r\n", "\n")
        except (OSError, ValueError):
            return None

    @cached_property
    def workflows(self) -> list[dict[str, Any]]:
        """The workflow runs of the session: the id, the path, the content of the file, or why it cannot be read."""
        from claude_session_player.store.extras import read_document

        runs = []
        for path in [] if self.is_subagent else StoreWalk().workflows(self.file.own_dir):
            problems: list[ReadProblem] = []
            run = {"run": read_document(path, problems), "trouble": problems[0].reason if problems else None}
            id = os.path.basename(path).removesuffix(".json")
            runs.append({"id": display_path(id), "path": display_path(self.file.name_of(path)), **run})
        return runs

    @cached_property
    def tool_results(self) -> list[str]:
        """The paths of tool outputs that were too large for the session file."""
        paths = [] if self.is_subagent else StoreWalk().tool_results(self.file.own_dir)
        return [display_path(self.file.name_of(path)) for path in paths]


def _merge_objects(first: str, second: str) -> str:
    """One JSON object with the members of two that are not empty.

    Decoding and encoding records takes 13 ms longer for 900 sessions, and loading the decoder for `msgspec.Raw` 5 ms.
    `Session.summary` is the plain implementation; a property test compares the two.
    """
    return f"{first[:-1]},{second[1:]}"


def load_responses(sessions: Sequence[Session]) -> None:
    """Load the responses of several sessions at once, which is much faster than one by one."""
    missing: dict[ResponseLoader, list[tuple[SessionFile, FileFacts]]] = defaultdict(list)
    for session in sessions:
        if session.facts.responses is None:
            missing[session.tree.load_responses].append((session.file, session.facts))
    for load, files in missing.items():
        load(files)


def require_unused(session: Session) -> None:
    """Raise `SessionInUse` if a session, or a sub-agent of it, is in use."""
    from claude_session_player.errors import SessionInUse

    if evidence := session.tree.in_use.renew().uses(session.paths):
        how = ", ".join(dict.fromkeys(one.words for one in evidence))
        raise SessionInUse(f"session {display_path(session.id)} is in use ({how}): try again when it is closed")
