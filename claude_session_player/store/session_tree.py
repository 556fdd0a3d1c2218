"""A session with its sub-agents, as far as they have files, and which of them called which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.store.facts import FileFacts
from claude_session_player.store.layout import SessionFile

if TYPE_CHECKING:
    from claude_session_player.format.line_reader import LineRangeReader
    from claude_session_player.linking.subagents import Agent, AgentCall
    from claude_session_player.store.facts import InlineSubagent
    from claude_session_player.store.in_use import InUse
    from claude_session_player.store.session import Session

_MAX_DEPTH: Final = 50
"""Sub-agents that call each other in longer chains belong to the session."""

ResponseLoader = Callable[[Sequence[tuple[SessionFile, FileFacts]]], None]
"""Fills in the responses of some files; see `StoreIndex.load_responses`."""


class SubagentLink(NamedTuple):
    """The call that started a sub-agent, and the sub-agent that made it; `None` if unknown."""

    call: AgentCall | None = None
    caller: Session | None = None
    is_cut: bool = False
    """True if the caller led in a circle, or too far away, and is left out."""


class SessionTree:
    """A session and its sub-agents, as far as they have files. The session itself may be missing."""

    def __init__(self, in_use: InUse, load_responses: ResponseLoader) -> None:
        self.main: Session | None = None
        self.agents: list[Session] = []
        self.in_use = in_use
        self.load_responses = load_responses
        self._inline_calls: dict[str, dict[str, AgentCall]] = {}
        self._inline_lines: dict[str, LineRangeReader] = {}

    def add(self, session: Session) -> None:
        """Let a session, or one of its sub-agents, belong to the tree."""
        if session.file.is_agent:
            self.agents.append(session)
        else:
            self.main = session

    def link(self, agent: Session) -> SubagentLink:
        """What started a sub-agent."""
        return self._links.get(agent.path) or SubagentLink()

    def children(self, caller: Session) -> list[Session]:
        """The sub-agents that a session or a sub-agent called."""
        return self._children.get(caller.path if caller.file.is_agent else None, [])

    @property
    def in_circles(self) -> list[Session]:
        """Sub-agents that would be their own ancestors, or too far from the session; they belong to it."""
        return [agent for agent in self.agents if self._links[agent.path].is_cut]

    def all_below(self, caller: Session) -> list[Session]:
        """The sub-agents below one, at any depth."""
        if not caller.file.is_agent:
            return self.agents
        found: list[Session] = []
        waiting = self.children(caller)[:]
        while waiting:
            found.append(waiting.pop())
            waiting += self.children(found[-1])
        return found

    def inline(self, session: Session) -> list[InlineSubagent]:
        """The sub-agents inside a file, without those that report progress there, but have a file of their own."""
        return [one for one in session.facts.inline if not (one.is_reported and one.id in self._file_ids)]

    def count_inline(self, session: Session) -> int:
        """The number of these sub-agents, without decoding them."""
        count = session.facts.inline_count
        if not session.facts.reported:
            return count
        return count + sum(id not in self._file_ids for id in session.facts.reported_ids)

    def inline_calls(self, session: Session) -> dict[str, AgentCall]:
        """The calls of the sub-agents inside a file, by the sub-agent's id."""
        if session.path not in self._inline_calls:
            self._inline_calls[session.path] = _inline_calls(session.facts)
        return self._inline_calls[session.path]

    def inline_lines(self, session: Session) -> LineRangeReader:
        """Reads the lines of the sub-agents inside a file."""
        from claude_session_player.format.line_reader import LineRangeReader

        if session.path not in self._inline_lines:
            ranges = (lines for inline in session.facts.inline for lines in inline.lines)
            self._inline_lines[session.path] = LineRangeReader(session.path, ranges)
        return self._inline_lines[session.path]

    @cached_property
    def _children(self) -> Mapping[str | None, list[Session]]:
        children: dict[str | None, list[Session]] = defaultdict(list)
        for agent in self.agents:
            caller = self._links[agent.path].caller
            children[caller.path if caller else None].append(agent)
        return children

    @cached_property
    def _file_ids(self) -> frozenset[str]:
        return frozenset(agent.id for agent in self.agents)

    @cached_property
    def _links(self) -> dict[str, SubagentLink]:
        """The link of each sub-agent, by path.

        The caller is the sub-agent that the directory or the `.meta.json` file names, else the one that made the call.
        """
        from claude_session_player.linking.subagents import link_subagents

        agents = sorted(self.agents, key=lambda agent: (agent.conversation.started or "", agent.path))
        calls: list[tuple[str | None, AgentCall]] = (
            [(None, call) for call in self.main.facts.calls] if self.main else []
        )
        calls += [(agent.path, call) for agent in agents for call in agent.facts.calls]
        known = link_subagents([_to_link(agent) for agent in agents], calls)
        by_id = {agent.id: agent for agent in reversed(agents)}
        by_path = {agent.path: agent for agent in agents}
        links: dict[str, SubagentLink] = {}
        for agent in agents:
            path, call = known.get(agent.path) or (None, None)
            named = by_id.get(agent.file.parent_agent or _meta_text(agent, "parentAgentId"))
            caller = named or (by_path[path] if path else None)
            is_own = caller is agent
            links[agent.path] = SubagentLink(call, None if is_own else caller, is_own)
        return _without_loops(links)


def _inline_calls(facts: FileFacts) -> dict[str, AgentCall]:
    from claude_session_player.linking.subagents import Agent, link_subagents

    agents = [
        Agent(one.id, one.id, one.call or one.id, None if one.is_reported else one.conversation.task)
        for one in facts.inline
    ]
    links = link_subagents(agents, [(None, call) for call in facts.calls])
    return {id: call for id, (_, call) in links.items()}


def _to_link(agent: Session) -> Agent[str]:
    """A sub-agent as `link_subagents` wants it. A workflow's agents are not called with a task."""
    from claude_session_player.linking.subagents import Agent

    task = agent.conversation.task if agent.file.workflow is None else None
    return Agent(agent.path, agent.id, _meta_text(agent, "toolUseId"), task)


def _meta_text(agent: Session, key: str) -> str:
    """A text of a sub-agent's `.meta.json` file."""
    value = agent.facts.meta.get(key)
    return value if isinstance(value, str) else ""


def _without_loops(links: dict[str, SubagentLink]) -> dict[str, SubagentLink]:
    """Links that all lead to the session; a sub-agent in a circle, or too far away, is taken as called by it."""
    for path, link in links.items():
        seen = {path}
        above = link.caller
        while above is not None:
            if above.path in seen or len(seen) > _MAX_DEPTH:
                links[path] = SubagentLink(link.call, is_cut=True)
                break
            seen.add(above.path)
            above = links[above.path].caller
    return links
