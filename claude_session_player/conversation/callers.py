"""The sub-agents of a session where they were called, its workflows, and the sub-agents that nobody called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from claude_session_player.conversation.nodes import Node, NodeKind
from claude_session_player.store.session import Session
from claude_session_player.text import display_path


class Callers:
    """The sub-agents of a session, by the lines that called them."""

    def __init__(self, session: Session, calls: Mapping[str, int]) -> None:
        self.at: dict[int, list[Session]] = defaultdict(list)
        """The sub-agents that a line called."""
        self._session = session
        self._unlinked: list[Session] = []
        self._by_workflow: dict[str, list[Session]] = {display_path(str(run["id"])): [] for run in session.workflows}
        for agent in session.subagents:
            line = calls.get(agent.call_id or "")
            if agent.found.workflow and not agent.is_inline:
                self._by_workflow.setdefault(display_path(agent.found.workflow), []).append(agent)
            elif line:
                self.at[line].append(agent)
            else:
                self._unlinked.append(agent)

    def nodes_at(self, line: int) -> list[Node]:
        """The sub-agents that a line called."""
        return [_node(agent, line) for agent in self.at.get(line, ())]

    def workflows(self) -> list[Node]:
        """The workflows, each with its agents."""
        runs = {display_path(str(run["id"])): run["run"] for run in self._session.workflows}
        return [_workflow(id, runs.get(id), agents) for id, agents in self._by_workflow.items()]

    def unlinked(self) -> list[Node]:
        """The sub-agents of which no call is known."""
        return [_node(agent, None) for agent in self._unlinked]

    def problems(self) -> list[str]:
        """What is wrong with the sub-agents. Those that Claude Code starts for itself are never called."""
        session = self._session
        found = [f"agent {display_path(id)}: is its own ancestor" for id in session.circular_subagents]
        found += [
            f"agent {display_path(agent.id)}: no call of it was found" for agent in self._unlinked if not agent.agent
        ]
        if not session.has_parent:
            found.append(
                f"agent {display_path(session.id)}: its session {display_path(session.parent_id or '?')} is not there"
            )
        return found


def _workflow(id: str, run: Any, agents: Iterable[Session]) -> Node:
    told = run if isinstance(run, dict) else {}
    name, status = told.get("workflowName"), told.get("status")
    children = [_node(agent, None, is_called=True) for agent in agents]
    facts = {
        "id": id,
        "name": name if isinstance(name, str) else None,
        "status": status if isinstance(status, str) else None,
        "agents": len(children),
    }
    return Node(NodeKind.WORKFLOW, facts, children)


def _node(agent: Session, line: int | None, *, is_called: bool = False) -> Node:
    """A sub-agent with all that it called in turn, however deep."""
    top = _alone(agent, line, is_called or line is not None)
    waiting = [(top, agent)]
    while waiting:
        node, caller = waiting.pop()
        for called in caller.subagents:
            below = _alone(called, None, True)
            node.children.append(below)
            waiting.append((below, called))
    return top


def _alone(agent: Session, line: int | None, is_called: bool) -> Node:
    facts = {
        "id": display_path(agent.id),
        "agent": agent.agent,
        "title": agent.title,
        "events": agent.speech.events,
        "line": line,
        "linked": is_called,
    }
    return Node(NodeKind.AGENT, facts, [])
