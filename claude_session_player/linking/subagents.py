"""Which tool call started a sub-agent.

Any tool may start one. The evidence, the strongest first: the call that the `.meta.json` beside the sub-agent's file
names; a structured result that names the sub-agent; progress that it reported for a call; the text of a result; and a
task that equals the call's prompt. `agent_records` reads this evidence from records.
"""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)

BY_RESULT: Final = 1
BY_PROGRESS: Final = 2
BY_TEXT: Final = 3
"""The evidence that a call started a sub-agent; a smaller number is stronger."""

Naming = tuple[str, int]
"""The id of a sub-agent, and the evidence that a call started it."""

_IS_SIDECHAIN: Final = attrgetter("is_sidechain")
_AGENT_CALL: Final = attrgetter("agent_call")


class AgentCall(NamedTuple):
    """A call that started a sub-agent, or may have started one."""

    id: str | None
    agent: str | None = None
    """The type of sub-agent that it asks for."""
    description: str | None = None
    task: str | None = None
    """A hash of the prompt in its input."""
    named: tuple[Naming, ...] = ()
    """The sub-agents that records say it started."""

    @property
    def is_of_agent_tool(self) -> bool:
        """True for a call of a tool whose only purpose is to start sub-agents."""
        return self.task is not None or self.agent is not None or self.description is not None


class Agent(Generic[K]):
    """A sub-agent to be linked to its call."""

    __slots__ = ("call", "id", "key", "task")

    def __init__(self, key: K, id: str, call: str | None = None, task: str | None = None) -> None:
        """`call` is the one that its `.meta.json` names; `task` is a hash, or `None` to rule out linking by task."""
        self.key = key
        self.id = id
        self.call = call
        self.task = task


def strongest_namings(namings: Iterable[Naming]) -> tuple[Naming, ...]:
    """Each sub-agent that records of a call name, once, with its strongest evidence."""
    best: dict[str, int] = {}
    for id, evidence in namings:
        best[id] = min(evidence, best.get(id, evidence))
    return tuple(best.items())


def link_subagents(
    agents: Sequence[Agent[K]], calls: Sequence[tuple[K | None, AgentCall]]
) -> dict[K, tuple[K | None, AgentCall]]:
    """The call of each sub-agent and its caller, as far as they are known.

    Calls come with their callers (`None` is the session itself), in the order in which they were made: among equal
    evidence, the first call counts. No sub-agent calls itself. Calls that no evidence links go to sub-agents with
    the same task.
    """
    by_call: dict[str, tuple[K | None, AgentCall]] = {}
    by_agent: dict[str, list[tuple[int, bool, int]]] = defaultdict(list)
    for number, (_, call) in enumerate(calls):
        if call.id:
            by_call.setdefault(call.id, calls[number])
        for name, evidence in call.named:
            by_agent[name].append((evidence, not call.is_of_agent_tool, number))
    for namings in by_agent.values():
        namings.sort()
    links: dict[K, tuple[K | None, AgentCall]] = {}
    for agent in agents:
        described = by_call.get(agent.call or "")
        named = (calls[number] for *_, number in by_agent.get(agent.id, ()))
        candidates = chain((described,), named)
        found = next((made for made in candidates if made is not None and made[0] != agent.key), None)
        if found is not None:
            links[agent.key] = found
    taken = {id(call) for _, call in links.values()}
    free: dict[str, deque[tuple[K | None, AgentCall]]] = defaultdict(deque)
    for caller, call in calls:
        if call.task is not None and id(call) not in taken:
            free[call.task].append((caller, call))
    for agent in agents:
        if agent.key not in links and agent.task is not None:
            waiting = free.get(agent.task, deque())
            position = next((n for n, (caller, _) in enumerate(waiting) if caller != agent.key), None)
            if position is not None:
                links[agent.key] = waiting[position]
                del waiting[position]
    return links


class SidechainMarks(Protocol):
    """The fields of a record that tell whether it belongs to a sub-agent."""

    @property
    def is_sidechain(self) -> bool | None:
        """True for a line of a sub-agent's conversation."""
        ...

    @property
    def agent_call(self) -> str | None:
        """In stream-json: the call of the sub-agent."""
        ...


def subagent_positions(records: Sequence[SidechainMarks]) -> list[int]:
    """The positions of the records that belong to sub-agents; usually there are none.

    >>> from types import SimpleNamespace as Record
    >>> own, side = Record(is_sidechain=None, agent_call=None), Record(is_sidechain=True, agent_call=None)
    >>> subagent_positions([own, side, Record(is_sidechain=None, agent_call="toolu_1")])
    [1, 2]
    """
    if not (any(map(_IS_SIDECHAIN, records)) or any(map(_AGENT_CALL, records))):
        return []
    return [position for position, record in enumerate(records) if record.is_sidechain or record.agent_call]


def helper_kind(id: str, prompt: str | None) -> str | None:
    """The kind of a sub-agent that Claude Code starts for its own purposes, without a tool call; `None` for others.

    >>> helper_kind("acompact-4f2a", None), helper_kind("a1b2c3d4", "Warmup"), helper_kind("a1b2c3d4", "Look around")
    ('compact', 'warmup', None)
    """
    name, dash, _ = id.partition("-")
    if dash and name.startswith("a") and name[1:]:
        return name[1:]
    return "warmup" if prompt == "Warmup" else None
