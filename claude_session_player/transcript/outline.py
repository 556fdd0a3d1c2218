"""The structure of a session as a tree: stretches of the conversation, forks, compactions, sub-agents, workflows.

The live branch is the trunk, so that a conversation that went back a hundred times is no hundred levels deep; what
was left behind hangs on the fork. Nothing here calls itself: a tree may be deeper than Python's stack.
"""

from __future__ import annotations

from collections import defaultdict, deque
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from claude_session_player.format.events import COMPACTION, Assistant, Event, Malformed, System, ToolUse, UnknownRecord
from claude_session_player.linking.copies import CopyDetector
from claude_session_player.linking.prompts import human_prompt, with_queued_prompts
from claude_session_player.linking.titles import is_bare_command
from claude_session_player.store import SessionKind
from claude_session_player.transcript.tree import ConversationTree, TreeProblem
from claude_session_player.util.text import display_path, to_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from claude_session_player.store import Session
    from claude_session_player.transcript.chains import Relative


class MarkKind(StrEnum):
    """What happened on a marked line."""

    PROMPT = "prompt"
    RESPONSE = "response"
    COMPACTED = "compaction"
    CALLED = "call"


class LineMark(NamedTuple):
    """Something that happened on a line."""

    line: int
    kind: MarkKind
    time: str | None = None
    text: str | None = None
    """The beginning of a prompt, or why it was compacted."""
    tokens: int | None = None


class MarkedConversation:
    """The marks and the branches of a conversation."""

    def __init__(self, *, skips_sidechains: bool) -> None:
        self.branches = ConversationTree()
        self.marks: list[LineMark] = []
        self.calls: dict[str, int] = {}
        """The line of each call."""
        self.problems: list[TreeProblem] = []
        """Lines that could not be read, and the first of each type that nobody knows."""
        self._unknown: set[str] = set()
        self._responses: set[str] = set()
        self._skips_sidechains = skips_sidechains

    def read(self, events: Iterable[Event]) -> None:
        """Take in all events of the conversation."""
        for event, is_copy in CopyDetector().mark(with_queued_prompts(events)):
            if not (self._skips_sidechains and (event.is_sidechain or event.agent_call)):
                self._take(event, is_copy)

    def _take(self, event: Event, is_copy: bool) -> None:
        if is_copy:
            self.branches.add_copy(event)
            return
        self.branches.add(event)
        if (prompt := human_prompt(event)) is not None:
            self._mark(event, MarkKind.PROMPT, to_title(prompt))
        elif isinstance(event, Assistant):
            self._answer(event)
        elif isinstance(event, System) and event.subtype == COMPACTION:
            about = event.compact_metadata or event.stream_compaction
            self._mark(event, MarkKind.COMPACTED, about.trigger if about else None, about.pre_tokens if about else None)
        elif isinstance(event, Malformed):
            self.problems.append(TreeProblem(event.line, event.reason))
        elif isinstance(event, UnknownRecord) and event.name not in self._unknown:
            self._unknown.add(event.name)
            self.problems.append(TreeProblem(event.line, f"unknown record {event.name!r}"))

    def _answer(self, event: Assistant) -> None:
        response = event.request_id or (event.message.id if event.message else None)
        if response is None or response not in self._responses:
            self._responses.add(response or "")
            self._mark(event, MarkKind.RESPONSE)
        said: Any = event.said
        for block in said if isinstance(said, list) else ():
            if isinstance(block, ToolUse) and block.id:
                self.calls.setdefault(block.id, event.line)

    def _mark(self, event: Event, kind: MarkKind, text: str | None = None, tokens: int | None = None) -> None:
        self.marks.append(LineMark(event.line, kind, event.timestamp, text, tokens))


class NodeKind(StrEnum):
    """What a node of an outline stands for."""

    SESSION = "session"
    SEGMENT = "segment"
    BRANCH = "branch"
    FORK = "fork"
    COMPACTION = "compaction"
    PROMPT = "prompt"
    AGENT = "agent"
    WORKFLOW = "workflow"
    CONTINUES = "continues"
    CONTINUED = "continued-by"


class Node(NamedTuple):
    """A line of an outline, and what stands below it. Which facts there are depends on the kind."""

    kind: NodeKind
    facts: dict[str, Any]
    children: list[Node]


class CalledSubagents:
    """The sub-agents of a session, by the lines that called them."""

    def __init__(self, session: Session, calls: Mapping[str, int]) -> None:
        self.at: dict[int, list[Session]] = defaultdict(list)
        """The sub-agents that a line called."""
        self._session = session
        self._unlinked: list[Session] = []
        self._by_workflow: dict[str, list[Session]] = {display_path(str(run["id"])): [] for run in session.workflows}
        for agent in session.subagents:
            line = calls.get(agent.call_id or "")
            if agent.file.workflow and not agent.is_inline:
                self._by_workflow.setdefault(display_path(agent.file.workflow), []).append(agent)
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
        "events": agent.conversation.events,
        "line": line,
        "linked": is_called,
    }
    return Node(NodeKind.AGENT, facts, [])


class Outline(NamedTuple):
    """The tree, and what is wrong with the session."""

    root: Node
    problems: list[str]


def build_outline(session: Session, relatives: Iterable[Relative] = (), *, with_prompts: bool = False) -> Outline:
    """Read a session once, and draw up its structure; `relatives` are those of `relatives_of`."""
    reading = MarkedConversation(skips_sidechains=session.has_sidechains)
    reading.read(session.events())
    callers = CalledSubagents(session, reading.calls)
    trunk = _Trunk(reading, callers, with_prompts).nodes()
    older = [_link(relative) for relative in relatives if relative.is_older]
    newer = [_link(relative) for relative in relatives if not relative.is_older]
    facts = {
        "id": display_path(session.id),
        "title": session.title,
        "project": session.project,
        "events": session.conversation.events,
        "branches": len(reading.branches.paths()),
    }
    children = [*older, *trunk, *callers.workflows(), *callers.unlinked(), *newer]
    problems = [f"line {line}: {what}" for line, what in sorted((*reading.branches.problems, *reading.problems))]
    return Outline(Node(NodeKind.SESSION, facts, children), problems + callers.problems())


def _link(relative: Relative) -> Node:
    other = relative.session
    kind = NodeKind.CONTINUES if relative.is_older else NodeKind.CONTINUED
    is_copy = other.file.kind == SessionKind.PRE_COMPACT
    facts = {"id": display_path(other.id), "title": other.title, "common": relative.common, "copy": is_copy}
    return Node(kind, facts, [])


class _Trunk:
    """The conversation: strand after strand along the live branch, with what was left behind at each fork."""

    def __init__(self, reading: MarkedConversation, callers: CalledSubagents, with_prompts: bool) -> None:
        self._branches = reading.branches
        self._callers = callers
        self._with_prompts = with_prompts
        self._marks: dict[int, list[LineMark]] = defaultdict(list)
        called = (LineMark(line, MarkKind.CALLED) for line in callers.at)
        for mark in sorted((*reading.marks, *called), key=lambda mark: mark.line):
            self._marks[reading.branches.strand_of(mark.line) or 0].append(mark)

    def nodes(self) -> list[Node]:
        """All strands are drawn up, those that appear last first, because they stand inside of the earlier ones."""
        stretches = self._branches.stretches()
        live = self._branches.live_way
        parts: dict[int, dict[Any, list[int]]] = defaultdict(lambda: defaultdict(list))
        for strand, stretch in stretches.items():
            parts[stretch.above][stretch.fork].append(strand)
        drawn: dict[int, deque[Node]] = {}
        for strand in reversed(stretches):
            lines = self._segments(strand)
            trunk: deque[Node] | None = None
            for fork, strands in parts[strand].items():
                left = [self._left_behind(below, drawn.pop(below)) for below in strands if below not in live]
                lines.append(Node(NodeKind.FORK, {"line": fork.line}, left))
                for below in strands:
                    if below in live:  # at most one: what was drawn of it is added to, not copied for each strand
                        trunk = drawn.pop(below)
                        trunk.extendleft(reversed(lines))
                        lines = []
            if trunk is None:
                drawn[strand] = deque(self._named(strand, lines) if strand in live else lines)
            else:
                trunk.extend(lines)
                drawn[strand] = trunk
        return list(drawn[0])

    def _segments(self, strand: int) -> list[Node]:
        """A strand from compaction to compaction."""
        found: list[Node] = []
        stretch: list[LineMark] = []
        for mark in self._marks[strand]:
            if mark.kind == MarkKind.COMPACTED:
                found += self._segment(stretch)
                about = {"line": mark.line, "time": mark.time, "trigger": mark.text, "tokens": mark.tokens}
                found.append(Node(NodeKind.COMPACTION, about, []))
                stretch = []
            else:
                stretch.append(mark)
        return found + self._segment(stretch)

    def _segment(self, stretch: list[LineMark]) -> list[Node]:
        if not stretch:
            return []
        prompts = [mark for mark in stretch if mark.kind == MarkKind.PROMPT]
        telling = (mark for mark in prompts if not is_bare_command(mark.text or ""))
        first = next(telling, prompts[0] if prompts else stretch[0])
        facts = {
            "line": first.line,
            "time": first.time,
            "prompt": first.text,
            "prompts": len(prompts),
            "responses": sum(mark.kind == MarkKind.RESPONSE for mark in stretch),
        }
        children: list[Node] = []
        for mark in stretch:
            if mark.kind == MarkKind.CALLED:
                children += self._callers.nodes_at(mark.line)
            elif mark.kind == MarkKind.PROMPT and self._with_prompts:
                about = {"line": mark.line, "time": mark.time, "prompt": mark.text}
                children.append(Node(NodeKind.PROMPT, about, []))
        return [Node(NodeKind.SEGMENT, facts, children)]

    def _left_behind(self, strand: int, lines: Iterable[Node]) -> Node:
        """A branch that is not live; or, where it parts again, what several such branches have in common."""
        listed = list(lines)
        (first, *rest) = listed if listed and listed[0].kind == NodeKind.SEGMENT else [_NOTHING, *listed]
        return Node(NodeKind.BRANCH, first.facts | self._identity(strand), first.children + rest)

    def _named(self, strand: int, lines: list[Node]) -> list[Node]:
        """The last strand of the live branch says so, where there are others."""
        if len(self._branches.paths()) == 1 or self._branches.stretches()[strand].branch is None:
            return lines
        return [self._left_behind(strand, lines[:1]), *lines[1:]]

    def _identity(self, strand: int) -> dict[str, Any]:
        number = self._branches.stretches()[strand].branch
        branch = self._branches.paths()[number - 1] if number is not None else None
        return {
            "number": number,
            "live": branch is not None and branch.is_live,
            "lines": branch.lines if branch else None,
        }


_NOTHING = Node(NodeKind.SEGMENT, {"line": None, "time": None, "prompt": None, "prompts": 0, "responses": 0}, [])
