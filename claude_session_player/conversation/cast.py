"""The sub-agents of a session, and which call each of them comes from.

A call finds its sub-agent by, in this order: the description beside the sub-agent's file, what the result says beside
its text, signs of life, the text of the result, and a task that is equal to the call's. Each is found once, so that
none can be its own ancestor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from claude_session_player.content import named_agents
from claude_session_player.events import REFUSALS, Event, User
from claude_session_player.parser import read_events
from claude_session_player.results import decode_run_started
from claude_session_player.store.voice import task_of
from claude_session_player.tools import AGENTS

if TYPE_CHECKING:
    from claude_session_player.conversation.entries import Call
    from claude_session_player.store.session import Session


class Actor(Struct):
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


def actor_of(session: Session, *, is_linked: bool = True) -> Actor:
    """A sub-agent that has a file of its own; where the whole family is known, with the call and the caller of it."""
    meta = session.facts.meta
    call, caller = (session.call_id, session.parent_agent_id) if is_linked else (None, None)
    return Actor(
        session.id,
        lambda: read_events(session.path),
        session.agent,
        session.title,
        session.found.name,
        call or _text(meta.get("toolUseId")),
        caller or session.found.parent_agent or _text(meta.get("parentAgentId")),
        session.found.workflow,
        session.speech.task,
        session.created_at or "",
        session.is_helper,
    )


class Cast:
    """Who takes part in a conversation beside the one who tells it. Whoever was called is not found again."""

    def __init__(self, actors: Iterable[Actor] = (), *, is_linked: bool = False) -> None:
        """With `is_linked`, the actors have all calls that can be known."""
        self._is_linked = is_linked
        self._has_dismissed = False
        ordered = sorted(actors, key=lambda actor: (actor.started, actor.id))
        self._free = dict(enumerate(ordered))
        self._by_id = _index(ordered, lambda actor: actor.id)
        self._by_call = _index(ordered, lambda actor: actor.call)
        self._by_parent = _index(ordered, lambda actor: actor.parent)
        self._by_workflow = _index(ordered, lambda actor: actor.workflow)
        self._by_task = _index(ordered, lambda actor: None if actor.workflow or actor.call else actor.task)
        self._signs: dict[str, str] = {}
        self._inline: dict[str, list[Event]] = {}
        self._roots: dict[str, str] = {}
        self._tasks: dict[str, list[str]] = defaultdict(list)
        """Of those inside of the file, the roots by their tasks."""

    @property
    def is_alone(self) -> bool:
        """True where nobody is left who could be called."""
        return not self._free and not self._inline

    # --- while a conversation is read ---------------------------------------------------------------

    def note(self, call: str | None, agent: str | None) -> None:
        """A sub-agent is at work for a call."""
        if call and agent and self._free:
            self._signs[call] = agent

    def overhear(self, event: Event) -> None:
        """A line of a sub-agent inside of its parent's file belongs to its call, or to the root of its chain."""
        root = event.agent_call or self._roots.get(event.parent_uuid or "") or event.uuid or f"line {event.line}"
        if event.uuid:
            self._roots[event.uuid] = root
        heard = self._inline.setdefault(root, [])
        if isinstance(event, User) and not any(isinstance(earlier, User) for earlier in heard[:_FIRST]):
            self._tasks[task_of(event.said) or ""].append(root)
        heard.append(event)

    def called_by(self, call: Call) -> tuple[Actor, ...]:
        """The sub-agents that a call started."""
        if self._inline and (found := self._inside(call)):
            return (found,)
        if not self._free:
            return ()
        if run := self._run(call):
            return run
        return tuple(actor for actor in [self._in_file(call)] if actor)

    def _inside(self, call: Call) -> Actor | None:
        """One inside of the file: by the call that its lines name, or by its task."""
        if call.id in self._inline:
            return self._heard(str(call.id))
        if call.name in AGENTS and (task := task_of(_given(call.input, "prompt"))):
            roots = self._tasks.get(task, [])
            while roots:
                if (root := roots.pop(0)) in self._inline:
                    return self._heard(root)
        return None

    def _heard(self, root: str) -> Actor:
        events = self._inline.pop(root)
        return Actor(root, lambda: events, started=events[0].timestamp or "")

    def _in_file(self, call: Call) -> Actor | None:
        if actor := self._take(self._by_call, call.id):
            return actor
        result = call.result
        beside, inside = named_agents(result.structured, result.block) if result else (None, None)
        for named in (beside, self._signs.pop(call.id or "", None), inside):
            if actor := self._take(self._by_id, named):
                return actor
        task = task_of(_given(call.input, "prompt")) if call.name in AGENTS else None
        return self._take(self._by_task, task)

    def _run(self, call: Call) -> tuple[Actor, ...]:
        """The agents of the workflow that a call started."""
        if not self._by_workflow or call.result is None or not call.result.structured:
            return ()
        try:
            run = decode_run_started(call.result.structured).run_id
        except REFUSALS:
            return ()
        return tuple(iter(lambda: self._take(self._by_workflow, run), None))

    # --- afterwards -----------------------------------------------------------------------------------

    def left(self, parent: str | None = None) -> Actor | None:
        """The next one of whom no call is known: among those of a sub-agent, or, for `None`, among all.

        One at a time, because each may have called some of the others.
        """
        if parent is not None:
            return self._take(self._by_parent, parent)
        while self._free and (self._is_linked or not self._has_dismissed):
            actor = self._free.pop(next(iter(self._free)))
            if not (self._has_dismissed and actor.call):
                return actor
        return self._heard(next(iter(self._inline))) if self._inline else None

    def dismiss(self, actors: Iterable[Actor]) -> None:
        """Let sub-agents go untold, with all whom they called; whoever has no known call may be one of these."""
        self._has_dismissed = True
        waiting = [actor.id for actor in actors]
        while waiting:
            parent = waiting.pop()
            while (actor := self._take(self._by_parent, parent)) is not None:
                waiting.append(actor.id)

    def _take(self, index: _Index, key: str | None) -> Actor | None:
        """The first one with this key that was not called yet."""
        numbers = index.get(key) if key else None
        while numbers:
            if (actor := self._free.pop(numbers.pop(0), None)) is not None:
                return actor
        return None


_Index = dict[str | None, list[int]]
"""The numbers of actors, by something that they have."""
_FIRST: Final = 5
"""Among so many lines of a sub-agent its task is found."""


def _index(actors: list[Actor], key: Callable[[Actor], str | None]) -> _Index:
    found: _Index = defaultdict(list)
    for number, actor in enumerate(actors):
        if (word := key(actor)) is not None:
            found[word].append(number)
    return found


def _given(tool_input: Any, name: str) -> str | None:
    return _text(tool_input.get(name)) if isinstance(tool_input, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
