"""A session and its sub-agents, and which of them was called by whom: by the session, or by another sub-agent."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from claude_session_player.store.facts import Call, Facts
from claude_session_player.store.layout import Found
from claude_session_player.store.member import Member

_DEEPEST: Final = 50
"""Sub-agents that call each other in longer chains belong to the session."""


class Link(NamedTuple):
    """The call that a sub-agent comes from, and the sub-agent that made it; `None` where it is not known."""

    call: Call | None = None
    caller: Member | None = None
    is_cut: bool = False
    """True where the caller led in a circle, or too far away, and is left out."""


_Made = tuple[Member | None, Call]
"""A call, and the sub-agent that made it; the session itself is none."""


class Family:
    """The files that belong to one session. The session's own may be missing."""

    def __init__(self) -> None:
        self.main: Member | None = None
        self.agents: list[Member] = []

    def link(self, agent: Found) -> Link:
        """Where a sub-agent comes from."""
        return self._links.get(agent.path) or Link()

    def children(self, caller: Found | None) -> list[Member]:
        """The sub-agents that a sub-agent called, or, for `None`, the session itself."""
        return self._children.get(caller.path if caller else None, [])

    @property
    def in_circles(self) -> list[Member]:
        """Sub-agents that would be their own ancestors, or too far from the session; they belong to it."""
        return [agent for agent in self.agents if self._links[agent.found.path].is_cut]

    def below(self, caller: Found | None) -> int:
        """How many sub-agents there are below one, at any depth."""
        return len(self.agents) if caller is None else len(self.all_below(caller))

    def all_below(self, caller: Found | None) -> list[Member]:
        """The sub-agents below one, at any depth."""
        if caller is None:
            return self.agents
        found: list[Member] = []
        waiting = self.children(caller)[:]
        while waiting:
            found.append(waiting.pop())
            waiting += self.children(found[-1].found)
        return found

    @cached_property
    def _children(self) -> Mapping[str | None, list[Member]]:
        children: dict[str | None, list[Member]] = defaultdict(list)
        for agent in self.agents:
            caller = self._links[agent.found.path].caller
            children[caller.found.path if caller else None].append(agent)
        return children

    @cached_property
    def _links(self) -> dict[str, Link]:
        """The link of each sub-agent, by path.

        Its call is the one that its description names, else the one whose result names it, else one with its task that
        is nobody else's. Its caller is the sub-agent that its directory or its description names, else whoever made the
        call.
        """
        agents = sorted(self.agents, key=lambda agent: (agent.facts.speech.started or "", agent.found.path))
        made: list[_Made] = [(None, call) for call in self.main.facts.calls] if self.main else []
        made += [(agent, call) for agent in agents for call in agent.facts.calls]
        by_call = {call.id: (who, call) for who, call in made if call.id}
        by_agent = {call.agent_id: (who, call) for who, call in made if call.agent_id}
        known = {a.found.path: by_call.get(_text(a, "toolUseId")) or by_agent.get(a.found.id) for a in agents}
        taken = {id(source[1]) for source in known.values() if source}
        free = _by_task(pair for pair in made if id(pair[1]) not in taken)
        by_id = {agent.found.id: agent for agent in reversed(agents)}
        links: dict[str, Link] = {}
        for agent in agents:
            caller, call = known[agent.found.path] or _waiting(agent, free) or (None, None)
            named = by_id.get(agent.found.parent_agent or _text(agent, "parentAgentId"))
            caller = named or caller
            is_own = caller is agent
            links[agent.found.path] = Link(call, None if is_own else caller, is_own)
        return _without_loops(links)


def inline_calls(facts: Facts) -> dict[str, Call]:
    """The calls of the sub-agents inside of a file, by the sub-agent's id."""
    by_id = {call.id: call for call in facts.calls}
    free = _by_task((None, call) for call in facts.calls)
    calls: dict[str, Call] = {}
    for inline in facts.inline:
        waiting = free.get(inline.speech.task or "")
        if inline.id in by_id:
            calls[inline.id] = by_id[inline.id]
        elif waiting:
            calls[inline.id] = waiting.pop(0)[1]
    return calls


def _text(agent: Member, key: str) -> str:
    """What a sub-agent's description says."""
    value = agent.facts.meta.get(key)
    return value if isinstance(value, str) else ""


def _by_task(made: Iterable[_Made]) -> dict[str, list[_Made]]:
    by_task: dict[str, list[_Made]] = defaultdict(list)
    for who, call in made:
        if call.task:
            by_task[call.task].append((who, call))
    return by_task


def _waiting(agent: Member, free: Mapping[str, list[_Made]]) -> _Made | None:
    """A call with a sub-agent's task; it waits no longer. A workflow's agents are not called like that."""
    task = agent.facts.speech.task if agent.found.workflow is None else None
    calls = free.get(task or "", [])
    for number, (who, _) in enumerate(calls):
        if who is not agent:
            return calls.pop(number)
    return None


def _without_loops(links: dict[str, Link]) -> dict[str, Link]:
    """Links that lead to the session in the end; what goes in a circle, or too far, belongs to the session."""
    for path, link in links.items():
        seen = {path}
        above = link.caller
        while above is not None:
            if above.found.path in seen or len(seen) > _DEEPEST:
                links[path] = Link(link.call, is_cut=True)
                break
            seen.add(above.found.path)
            above = links[above.found.path].caller
    return links


def families(members: Mapping[str, Member]) -> dict[str, Family]:
    """The family of each file, by path."""
    by_session: dict[tuple[str, str | None], Family] = {}
    of_file: dict[str, Family] = {}
    for path, member in members.items():
        family = by_session.setdefault((member.found.home, member.session_id), Family())
        if member.found.is_agent:
            family.agents.append(member)
        else:
            family.main = member
        of_file[path] = family
    return of_file
