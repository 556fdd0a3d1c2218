"""The sub-agents of a session while it is told: each is found once, so that none can be its own ancestor.

For sessions of a store, the store knows which call each of them comes from. Of a stream, only what was read so far is
known; there, calls are asked one by one, by the same evidence.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from claude_session_player.format.events import REFUSALS, Event, Progress, User
from claude_session_player.format.results import decode_run_started
from claude_session_player.linking.agent_records import may_name_agent, named_agents, reported_events, task_digest
from claude_session_player.linking.subagents import BY_PROGRESS, BY_TEXT, best_names
from claude_session_player.tools import AGENTS

if TYPE_CHECKING:
    from claude_session_player.store import Session
    from claude_session_player.transcript.entries import TranscriptCall


class Subagent(Struct):
    """A sub-agent: who it is, and how its events are had."""

    id: str
    events: Callable[[], Iterable[Event]]
    kind: str | None = None
    title: str | None = None
    path: str | None = None
    """The file that holds it; `None` where it stands inside of its parent's."""
    call: str | None = None
    """The call that its description names."""
    parent: str | None = None
    """The sub-agent that called it, where its place or its description names one."""
    workflow: str | None = None
    task: str | None = None
    """A digest of its task, for comparison."""
    started: str = ""
    is_helper: bool = False
    """True for one that Claude Code started for itself."""


def subagent_of(session: Session) -> Subagent:
    """A sub-agent of which the store knows, with its call and its caller, as far as they can be known."""
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
    """The sub-agents of a session at any depth, in files of their own or inside of others."""
    for part in session.parts:
        if part is not session and part.path != session.path:
            yield part
        yield from part.inline_subagents


class SubagentFinder:
    """Who takes part in a conversation beside the one who tells it. Whoever was called is not found again."""

    def __init__(self, actors: Iterable[Subagent] = (), *, is_linked: bool = False) -> None:
        """With `is_linked`, these are all, and they have all calls that can be known; else records are asked."""
        self._is_linked = is_linked
        self._has_dismissed = False
        ordered = sorted(actors, key=lambda actor: (actor.started, actor.id))
        self._free = OrderedDict(enumerate(ordered))  # a dict searches for its first key where many were taken
        self._by_id = _index(ordered, lambda actor: actor.id)
        self._by_call = _index(ordered, lambda actor: actor.call)
        self._by_parent = _index(ordered, lambda actor: actor.parent)
        self._by_workflow = _index(ordered, lambda actor: actor.workflow)
        self._by_task = _index(ordered, lambda actor: None if actor.workflow or actor.call else actor.task)
        self._reporters: dict[str, dict[str, None]] = {}
        """The sub-agents that report their progress for a call."""
        self._inside: OrderedDict[str, list[Event]] = OrderedDict()
        """The events of those inside of the file: by their call, their first line, or their id."""
        self._awaited: set[str] = set()
        """Among them those who reported for a call that will ask for them."""
        self._roots: dict[str, str] = {}
        self._tasks: dict[str, deque[str]] = defaultdict(deque)
        """Of those inside of the file, the roots by their tasks."""

    @property
    def is_alone(self) -> bool:
        """True where nobody is left who could be called."""
        return not self._free and not self._inside

    @property
    def is_order_free(self) -> bool:
        """True where a call has the same sub-agents whenever it is asked for them."""
        return self._is_linked or not (self._free or self._roots)

    # --- while a conversation is read ---------------------------------------------------------------

    def report(self, event: Progress, *, is_awaited: bool) -> None:
        """A sub-agent reports its progress for a call, and what it says, even where it has no file.

        With `is_awaited`, that call has not asked for its sub-agents yet.
        """
        agent = event.data.agent_id if event.data is not None else None
        if self._is_linked or not agent:
            return
        if event.parent_call:
            self._reporters.setdefault(event.parent_call, {})[agent] = None
        if agent not in self._by_id and (events := reported_events(event)):
            self._inside.setdefault(agent, []).extend(events)
            if is_awaited:
                self._awaited.add(agent)

    def overhear(self, event: Event) -> None:
        """A line of a sub-agent inside of its parent's file belongs to its call, or to the root of its chain."""
        if self._is_linked:
            return
        root = event.agent_call or self._roots.get(event.parent_uuid or "") or event.uuid or f"line {event.line}"
        if event.uuid:
            self._roots[event.uuid] = root
        heard = self._inside.setdefault(root, [])
        if isinstance(event, User) and not any(isinstance(earlier, User) for earlier in heard[:_FIRST]):
            self._tasks[task_digest(event.said) or ""].append(root)
        heard.append(event)

    def called_by(self, call: TranscriptCall) -> tuple[Subagent, ...]:
        """The sub-agents that a call started."""
        if self._are_awaited_elsewhere(call):
            return ()
        found = self._take_all(self._by_call, call.id) + self._run(call)
        if found or (self._is_linked and call.id):
            return found
        return self._named_by(call) or self._with_task(call)

    def _are_awaited_elsewhere(self, call: TranscriptCall) -> bool:
        """True where all who are here report for other calls, and the result names none of them beside its text."""
        if self._free or len(self._awaited) != len(self._inside) or call.id in self._reporters:
            return False
        return call.result is None or not may_name_agent(call.result.structured)

    def _named_by(self, call: TranscriptCall) -> tuple[Subagent, ...]:
        """Those that the records of a call name, the best evidence first."""
        result, is_agent_tool = call.result, call.name in AGENTS
        namings = [(agent, BY_PROGRESS) for agent in self._reporters.pop(call.id or "", ())]
        if result is not None:
            namings += named_agents(result.structured, result.block, is_agent_tool=is_agent_tool)
        named = sorted(best_names(namings), key=lambda naming: naming[1])
        ids = [id for id, evidence in named if evidence != BY_TEXT or id not in self._awaited]
        if call.id in self._inside:
            ids.insert(0, str(call.id))
        found = [self._take(self._by_id, id) or (self._heard(id) if id in self._inside else None) for id in ids]
        return tuple(actor for actor in found if actor is not None)

    def _with_task(self, call: TranscriptCall) -> tuple[Subagent, ...]:
        """The first one with the task that a call gives."""
        task = task_digest(_given(call.input, "prompt"))
        roots = self._tasks.get(task) if task is not None else None
        while roots:
            if (root := roots.popleft()) in self._inside:
                return (self._heard(root),)
        actor = self._take(self._by_task, task)
        return (actor,) if actor is not None else ()

    def _heard(self, root: str) -> Subagent:
        events = self._inside.pop(root)
        self._awaited.discard(root)
        return Subagent(root, lambda: events, started=events[0].timestamp or "")

    def _run(self, call: TranscriptCall) -> tuple[Subagent, ...]:
        """The agents of the workflow that a call started."""
        if not self._by_workflow or call.result is None or not call.result.structured:
            return ()
        try:
            run = decode_run_started(call.result.structured).run_id
        except REFUSALS:
            return ()
        return self._take_all(self._by_workflow, run)

    # --- afterwards -----------------------------------------------------------------------------------

    def left(self, parent: str | None = None) -> Subagent | None:
        """The next one of whom no call is known: among those of a sub-agent, or, for `None`, among all.

        One at a time, because each may have called some of the others.
        """
        if parent is not None:
            return self._take(self._by_parent, parent)
        while self._free and (self._is_linked or not self._has_dismissed):
            actor = self._free.pop(next(iter(self._free)))
            if not (self._has_dismissed and actor.call):
                return actor
        return self._heard(next(iter(self._inside))) if self._inside else None

    def dismiss(self, actors: Iterable[Subagent]) -> None:
        """Let sub-agents go untold, with all whom they called; whoever has no known call may be one of these."""
        self._has_dismissed = True
        waiting = [actor.id for actor in actors]
        while waiting:
            parent = waiting.pop()
            while (actor := self._take(self._by_parent, parent)) is not None:
                waiting.append(actor.id)

    def _take_all(self, index: _Index, key: str | None) -> tuple[Subagent, ...]:
        return tuple(iter(lambda: self._take(index, key), None)) if key and key in index else ()

    def _take(self, index: _Index, key: str | None) -> Subagent | None:
        """The first one with this key that was not called yet."""
        numbers = index.get(key) if key else None
        while numbers:
            if (actor := self._free.pop(numbers.popleft(), None)) is not None:
                return actor
        return None


_Index = dict[str | None, deque[int]]
"""The numbers of actors, by something that they have."""
_FIRST: Final = 5
"""Among so many lines of a sub-agent its task is found."""


def _index(actors: list[Subagent], key: Callable[[Subagent], str | None]) -> _Index:
    found: _Index = defaultdict(deque)
    for number, actor in enumerate(actors):
        if (word := key(actor)) is not None:
            found[word].append(number)
    return found


def _given(tool_input: Any, name: str) -> str | None:
    return _text(tool_input.get(name)) if isinstance(tool_input, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
