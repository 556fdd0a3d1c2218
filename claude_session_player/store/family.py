"""A session and its sub-agents, and which of them was called by whom: by the session, or by another sub-agent."""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from claude_session_player.store.facts import Call
from claude_session_player.store.layout import Found
from claude_session_player.store.member import Member


class Link(NamedTuple):
    """The call that a sub-agent comes from, and the id of the sub-agent that made it; `None` where it is not known."""

    call: Call | None = None
    parent_agent: str | None = None


_Calls = list[tuple[str | None, Call]]
"""Calls, each with the id of the sub-agent that made it; the session itself has none."""


class Family:
    """The files that belong to one session. The session's own may be missing."""

    def __init__(self) -> None:
        self.main: Member | None = None
        self.agents: list[Member] = []

    def link(self, agent: Found) -> Link:
        """Where a sub-agent comes from."""
        return self._links.get(agent.path) or Link()

    def children(self, caller: str | None) -> list[Member]:
        """The sub-agents that a sub-agent called, or, for `None`, the session itself."""
        return [agent for agent in self.agents if self._links[agent.found.path].parent_agent == caller]

    def below(self, caller: str | None) -> int:
        """How many sub-agents there are below one, at any depth."""
        if caller is None:
            return len(self.agents)
        return sum(1 + self.below(agent.found.id) for agent in self.children(caller))

    @cached_property
    def _links(self) -> dict[str, Link]:
        """The link of each sub-agent, by path.

        Its call is the one that its description names, else one with its task that is nobody else's. Its parent is the
        sub-agent that its directory or its description names, else whoever made the call.
        """
        calls: _Calls = [(None, call) for call in self.main.facts.calls] if self.main else []
        agents = sorted(self.agents, key=lambda agent: (agent.facts.speech.started or "", agent.found.path))
        calls += [(agent.found.id, call) for agent in agents for call in agent.facts.calls]
        sources = {agent.found.path: _by_id(agent, calls) for agent in agents}
        taken = {id(source[1]) for source in sources.values() if source}
        free = [made for made in calls if id(made[1]) not in taken]
        linked: dict[str, Link] = {}
        for agent in agents:
            found = agent.found
            caller, call = sources[found.path] or _by_task(agent, free) or (None, None)
            parent = found.parent_agent or agent.facts.meta.get("parentAgentId") or caller
            linked[found.path] = Link(call, parent if isinstance(parent, str) and parent != found.id else None)
        return _without_loops(linked, {agent.found.id: agent.found.path for agent in agents})


def _by_id(agent: Member, calls: _Calls) -> tuple[str | None, Call] | None:
    """The call that a sub-agent's description names."""
    named = agent.facts.meta.get("toolUseId")
    return next((made for made in calls if named and made[1].id == named), None)


def _by_task(agent: Member, free: _Calls) -> tuple[str | None, Call] | None:
    """A call with a sub-agent's task; it is free no longer. A workflow's agents are not called like that."""
    task = agent.facts.speech.task if agent.found.workflow is None else None
    for number, (caller, call) in enumerate(free):
        if task and call.task == task and caller != agent.found.id:
            return free.pop(number)
    return None


def _without_loops(linked: dict[str, Link], paths: Mapping[str, str]) -> dict[str, Link]:
    """Links that lead to the session in the end; what goes in a circle, or to nobody, belongs to the session."""
    for path, link in linked.items():
        seen = {path}
        parent = link.parent_agent
        while parent is not None:
            above = paths.get(parent)
            if above is None or above in seen:
                linked[path] = Link(link.call)
                break
            seen.add(above)
            parent = linked[above].parent_agent
    return linked


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
