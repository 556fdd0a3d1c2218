"""Finds the sub-agents of each call; each sub-agent is found once, so that none can be its own ancestor.

For a session of a store, the store knows the call of each sub-agent. For a stream, only what was read so far is known,
and each call is linked when its result comes, by the same evidence.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from claude_session_player.format.blocks import DECODE_ERRORS
from claude_session_player.format.events import Event, Progress, User
from claude_session_player.format.results import decode_workflow_started
from claude_session_player.linking.agent_records import may_name_agent, named_agents, reported_events, task_digest
from claude_session_player.linking.subagents import BY_PROGRESS, BY_TEXT, strongest_namings
from claude_session_player.tools import AGENTS

if TYPE_CHECKING:
    from claude_session_player.store import Session
    from claude_session_player.transcript.entries import TranscriptCall


class Subagent(Struct):
    """A sub-agent: its identity, and a function that returns its events."""

    id: str
    events: Callable[[], Iterable[Event]]
    kind: str | None = None
    title: str | None = None
    path: str | None = None
    """Its file; `None` if its lines are in its parent's file."""
    call: str | None = None
    """The call that its `.meta.json` names."""
    parent: str | None = None
    """The sub-agent that called it, if its location or its `.meta.json` names one."""
    workflow: str | None = None
    task: str | None = None
    """A hash of its task, for comparison."""
    started: str = ""
    is_helper: bool = False
    """True if Claude Code started it for its own purposes."""


def subagent_of(session: Session) -> Subagent:
    """A sub-agent that the store knows, with its call and its caller, as far as they are known."""
    meta = session.facts.meta
    return Subagent(
        session.id,
        session.events,
        session.agent,
        session.title,
        None if session.is_inline else session.file.name,
        session.call_id or (None if session.is_inline else _text(meta.get("toolUseId"))),
        session.parent_agent_id or session.file.parent_agent or _text(meta.get("parentAgentId")),
        session.file.workflow,
        session.conversation.task,
        session.created_at or "",
        session.is_helper,
    )


def session_subagents(session: Session) -> SubagentFinder:
    """All sub-agents of a session, linked to their calls."""
    return SubagentFinder(map(subagent_of, all_subagents(session)), is_linked=True)


def all_subagents(session: Session) -> Iterator[Session]:
    """The sub-agents of a session at any depth, with or without files of their own."""
    for part in session.parts:
        if part is not session and part.path != session.path:
            yield part
        yield from part.inline_subagents


class SubagentFinder:
    """The sub-agents that are still to be placed in a transcript. Each is returned once."""

    def __init__(self, subagents: Iterable[Subagent] = (), *, is_linked: bool = False) -> None:
        """With `is_linked`, these are all, and linked as far as possible; else records provide further evidence."""
        self._is_linked = is_linked
        self._has_discarded = False
        ordered = sorted(subagents, key=lambda subagent: (subagent.started, subagent.id))
        self._free = OrderedDict(
            enumerate(ordered)
        )  # finding the first key of a dict takes long after many were removed
        self._by_id = _index(ordered, lambda subagent: subagent.id)
        self._by_call = _index(ordered, lambda subagent: subagent.call)
        self._by_parent = _index(ordered, lambda subagent: subagent.parent)
        self._by_workflow = _index(ordered, lambda subagent: subagent.workflow)
        self._by_task = _index(ordered, lambda subagent: None if subagent.workflow or subagent.call else subagent.task)
        self._reporters: dict[str, dict[str, None]] = {}
        """The sub-agents that report progress for a call, by call."""
        self._inline: OrderedDict[str, list[Event]] = OrderedDict()
        """The events of sub-agents in the file itself, by their call, their first line, or their id."""
        self._awaited: set[str] = set()
        """Those of them that reported progress for a call that is still pending."""
        self._roots: dict[str, str] = {}
        self._tasks: dict[str, deque[str]] = defaultdict(deque)
        """The keys of `_inline` by task."""

    @property
    def is_empty(self) -> bool:
        """True if no sub-agent is left."""
        return not self._free and not self._inline

    @property
    def is_order_independent(self) -> bool:
        """True if a call gets the same sub-agents whenever `take_called_by` is called for it."""
        return self._is_linked or not (self._free or self._roots)

    # --- while events are read ----------------------------------------------------------------------

    def add_progress(self, event: Progress, *, is_awaited: bool) -> None:
        """Note that a sub-agent reports progress for a call, and its events if it has no file.

        With `is_awaited`, `take_called_by` has not been called for that call yet.
        """
        agent = event.data.agent_id if event.data is not None else None
        if self._is_linked or not agent:
            return
        if event.parent_call:
            self._reporters.setdefault(event.parent_call, {})[agent] = None
        if agent not in self._by_id and (events := reported_events(event)):
            self._inline.setdefault(agent, []).extend(events)
            if is_awaited:
                self._awaited.add(agent)

    def add_sidechain_event(self, event: Event) -> None:
        """Add a line of a sub-agent in its parent's file: it belongs to its call, or to the root of its chain."""
        if self._is_linked:
            return
        root = event.agent_call or self._roots.get(event.parent_uuid or "") or event.uuid or f"line {event.line}"
        if event.uuid:
            self._roots[event.uuid] = root
        events = self._inline.setdefault(root, [])
        if isinstance(event, User) and not any(isinstance(earlier, User) for earlier in events[:_FIRST]):
            self._tasks[task_digest(event.message_content) or ""].append(root)
        events.append(event)

    def take_called_by(self, call: TranscriptCall) -> tuple[Subagent, ...]:
        """Remove and return the sub-agents that a call started."""
        if self._are_awaited_elsewhere(call):
            return ()
        found = self._take_all(self._by_call, call.id) + self._take_workflow(call)
        if found or (self._is_linked and call.id):
            return found
        return self._take_named_by(call) or self._take_with_task(call)

    def _are_awaited_elsewhere(self, call: TranscriptCall) -> bool:
        """True if all sub-agents report for other calls, and the structured result names none of them."""
        if self._free or len(self._awaited) != len(self._inline) or call.id in self._reporters:
            return False
        return call.result is None or not may_name_agent(call.result.structured)

    def _take_named_by(self, call: TranscriptCall) -> tuple[Subagent, ...]:
        """Take the sub-agents that the records of a call name, the strongest evidence first."""
        result, is_agent_tool = call.result, call.name in AGENTS
        namings = [(agent, BY_PROGRESS) for agent in self._reporters.pop(call.id or "", ())]
        if result is not None:
            namings += named_agents(result.structured, result.block, is_agent_tool=is_agent_tool)
        named = sorted(strongest_namings(namings), key=lambda naming: naming[1])
        ids = [id for id, evidence in named if evidence != BY_TEXT or id not in self._awaited]
        if call.id in self._inline:
            ids.insert(0, str(call.id))
        found = [self._take(self._by_id, id) or (self._take_inline(id) if id in self._inline else None) for id in ids]
        return tuple(subagent for subagent in found if subagent is not None)

    def _take_with_task(self, call: TranscriptCall) -> tuple[Subagent, ...]:
        """Take the first sub-agent with the task in a call's input."""
        task = task_digest(_input_text(call.input, "prompt"))
        roots = self._tasks.get(task) if task is not None else None
        while roots:
            if (root := roots.popleft()) in self._inline:
                return (self._take_inline(root),)
        subagent = self._take(self._by_task, task)
        return (subagent,) if subagent is not None else ()

    def _take_inline(self, root: str) -> Subagent:
        events = self._inline.pop(root)
        self._awaited.discard(root)
        return Subagent(root, lambda: events, started=events[0].timestamp or "")

    def _take_workflow(self, call: TranscriptCall) -> tuple[Subagent, ...]:
        """Take the sub-agents of the workflow that a call started."""
        if not self._by_workflow or call.result is None or not call.result.structured:
            return ()
        try:
            run = decode_workflow_started(call.result.structured).run_id
        except DECODE_ERRORS:
            return ()
        return self._take_all(self._by_workflow, run)

    # --- at the end -----------------------------------------------------------------------------------

    def take_unlinked(self, parent: str | None = None) -> Subagent | None:
        """Take the next sub-agent without a matching call: among those of a parent, or among all.

        One at a time, because each may have called some of the others.
        """
        if parent is not None:
            return self._take(self._by_parent, parent)
        while self._free and (self._is_linked or not self._has_discarded):
            subagent = self._free.pop(next(iter(self._free)))
            if not (self._has_discarded and subagent.call):
                return subagent
        return self._take_inline(next(iter(self._inline))) if self._inline else None

    def discard(self, subagents: Iterable[Subagent]) -> None:
        """Leave out sub-agents and all that they called; one without a matching call may be among these."""
        self._has_discarded = True
        waiting = [subagent.id for subagent in subagents]
        while waiting:
            parent = waiting.pop()
            while (subagent := self._take(self._by_parent, parent)) is not None:
                waiting.append(subagent.id)

    def _take_all(self, index: _Index, key: str | None) -> tuple[Subagent, ...]:
        return tuple(iter(lambda: self._take(index, key), None)) if key and key in index else ()

    def _take(self, index: _Index, key: str | None) -> Subagent | None:
        """Take the first sub-agent with this key."""
        numbers = index.get(key) if key else None
        while numbers:
            if (subagent := self._free.pop(numbers.popleft(), None)) is not None:
                return subagent
        return None


_Index = dict[str | None, deque[int]]
"""The numbers of sub-agents by one of their properties."""
_FIRST: Final = 5
"""The number of lines of a sub-agent among which its task is found."""


def _index(subagents: list[Subagent], key: Callable[[Subagent], str | None]) -> _Index:
    found: _Index = defaultdict(deque)
    for number, subagent in enumerate(subagents):
        if (word := key(subagent)) is not None:
            found[word].append(number)
    return found


def _input_text(tool_input: Any, name: str) -> str | None:
    return _text(tool_input.get(name)) if isinstance(tool_input, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
