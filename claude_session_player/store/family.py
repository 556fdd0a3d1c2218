"""A session and its sub-agents, and which of them was called by whom: by the session, or by another sub-agent."""

import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Final, NamedTuple

from claude_session_player.linking.subagents import Agent, AgentCall, link_subagents
from claude_session_player.store.facts import FileFacts, IndexedFile, InlineSubagent
from claude_session_player.store.layout import SessionFile

_DEEPEST: Final = 50
"""Sub-agents that call each other in longer chains belong to the session."""


class SubagentLink(NamedTuple):
    """The call that a sub-agent comes from, and the sub-agent that made it; `None` where it is not known."""

    call: AgentCall | None = None
    caller: IndexedFile | None = None
    is_cut: bool = False
    """True where the caller led in a circle, or too far away, and is left out."""


class SessionFamily:
    """The files that belong to one session. The session's own may be missing."""

    def __init__(self) -> None:
        self.main: IndexedFile | None = None
        self.agents: list[IndexedFile] = []

    def link(self, agent: SessionFile) -> SubagentLink:
        """Where a sub-agent comes from."""
        return self._links.get(agent.path) or SubagentLink()

    def children(self, caller: SessionFile | None) -> list[IndexedFile]:
        """The sub-agents that a sub-agent called, or, for `None`, the session itself."""
        return self._children.get(caller.path if caller else None, [])

    @property
    def in_circles(self) -> list[IndexedFile]:
        """Sub-agents that would be their own ancestors, or too far from the session; they belong to it."""
        return [agent for agent in self.agents if self._links[agent.found.path].is_cut]

    def all_below(self, caller: SessionFile | None) -> list[IndexedFile]:
        """The sub-agents below one, at any depth."""
        if caller is None:
            return self.agents
        found: list[IndexedFile] = []
        waiting = self.children(caller)[:]
        while waiting:
            found.append(waiting.pop())
            waiting += self.children(found[-1].found)
        return found

    @cached_property
    def _children(self) -> Mapping[str | None, list[IndexedFile]]:
        children: dict[str | None, list[IndexedFile]] = defaultdict(list)
        for agent in self.agents:
            caller = self._links[agent.found.path].caller
            children[caller.found.path if caller else None].append(agent)
        return children

    def inline(self, member: IndexedFile) -> list[InlineSubagent]:
        """The sub-agents inside of a file, without those that report from there, but have a file of their own."""
        return [one for one in member.facts.inline if not (one.is_reported and one.id in self._file_ids)]

    def count_inline(self, member: IndexedFile) -> int:
        """How many these are."""
        inline, reported = member.row.inline, member.row.reported
        if not reported:
            return inline
        ids = json.loads(reported)
        return inline + (sum(id not in self._file_ids for id in ids) if self.agents else len(ids))

    @cached_property
    def _file_ids(self) -> frozenset[str]:
        return frozenset(agent.found.id for agent in self.agents)

    @cached_property
    def _links(self) -> dict[str, SubagentLink]:
        """The link of each sub-agent, by path.

        Its caller is the sub-agent that its directory or its description names, else whoever made the call.
        """
        agents = sorted(self.agents, key=lambda agent: (agent.facts.speech.started or "", agent.found.path))
        made: list[tuple[str | None, AgentCall]] = [(None, call) for call in self.main.facts.calls] if self.main else []
        made += [(agent.found.path, call) for agent in agents for call in agent.facts.calls]
        known = link_subagents([_wanted(agent) for agent in agents], made)
        by_id = {agent.found.id: agent for agent in reversed(agents)}
        by_path = {agent.found.path: agent for agent in agents}
        links: dict[str, SubagentLink] = {}
        for agent in agents:
            path, call = known.get(agent.found.path) or (None, None)
            named = by_id.get(agent.found.parent_agent or _text(agent, "parentAgentId"))
            caller = named or (by_path[path] if path else None)
            is_own = caller is agent
            links[agent.found.path] = SubagentLink(call, None if is_own else caller, is_own)
        return _without_loops(links)


def inline_calls(facts: FileFacts) -> dict[str, AgentCall]:
    """The calls of the sub-agents inside of a file, by the sub-agent's id."""
    wanted = [
        Agent(one.id, one.id, one.call or one.id, None if one.is_reported else one.speech.task) for one in facts.inline
    ]
    links = link_subagents(wanted, [(None, call) for call in facts.calls])
    return {id: call for id, (_, call) in links.items()}


def _wanted(agent: IndexedFile) -> Agent[str]:
    """A sub-agent as the rule wants it. A workflow's agents are not called with a task."""
    task = agent.facts.speech.task if agent.found.workflow is None else None
    return Agent(agent.found.path, agent.found.id, _text(agent, "toolUseId"), task)


def _text(agent: IndexedFile, key: str) -> str:
    """What a sub-agent's description says."""
    value = agent.facts.meta.get(key)
    return value if isinstance(value, str) else ""


def _without_loops(links: dict[str, SubagentLink]) -> dict[str, SubagentLink]:
    """Links that lead to the session in the end; what goes in a circle, or too far, belongs to the session."""
    for path, link in links.items():
        seen = {path}
        above = link.caller
        while above is not None:
            if above.found.path in seen or len(seen) > _DEEPEST:
                links[path] = SubagentLink(link.call, is_cut=True)
                break
            seen.add(above.found.path)
            above = links[above.found.path].caller
    return links


def group_families(members: Mapping[str, IndexedFile]) -> dict[str, SessionFamily]:
    """The family of each file, by path."""
    by_session: dict[tuple[str, str | None], SessionFamily] = {}
    of_file: dict[str, SessionFamily] = {}
    for path, member in members.items():
        family = by_session.setdefault((member.found.home, member.session_id), SessionFamily())
        if member.found.is_agent:
            family.agents.append(member)
        else:
            family.main = member
        of_file[path] = family
    return of_file
