"""The structure of a session as a tree: segments of the conversation, forks, compactions, sub-agents, workflows.

The live branch is the trunk, so that a conversation that went back a hundred times is not a hundred levels deep;
abandoned branches are children of their forks. Nothing here is recursive: a tree may be deeper than Python's stack.
"""

from __future__ import annotations

from collections import defaultdict, deque
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from claude_session_player.format.blocks import ToolUse
from claude_session_player.format.events import COMPACTION, Assistant, Event, Malformed, System, UnknownRecord
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
    """The kind of a mark."""

    PROMPT = "prompt"
    RESPONSE = "response"
    COMPACTION = "compaction"
    CALL = "call"


class LineMark(NamedTuple):
    """What happened on a line."""

    line: int
    kind: MarkKind
    time: str | None = None
    text: str | None = None
    """The beginning of a prompt, or the trigger of a compaction."""
    tokens: int | None = None


class MarkedConversation:
    """A conversation as marks, and as a tree."""

    def __init__(self, *, skips_sidechains: bool) -> None:
        self.tree = ConversationTree()
        self.marks: list[LineMark] = []
        self.calls: dict[str, int] = {}
        """The line of each call."""
        self.problems: list[TreeProblem] = []
        """Lines that could not be read, and the first of each unknown type."""
        self._unknown: set[str] = set()
        self._responses: set[str] = set()
        self._skips_sidechains = skips_sidechains

    def read(self, events: Iterable[Event]) -> None:
        """Read all events of the conversation."""
        for event, is_copy in CopyDetector().mark(with_queued_prompts(events)):
            if not (self._skips_sidechains and (event.is_sidechain or event.agent_call)):
                self._take(event, is_copy)

    def _take(self, event: Event, is_copy: bool) -> None:
        if is_copy:
            self.tree.add_copy(event)
            return
        self.tree.add(event)
        if (prompt := human_prompt(event)) is not None:
            self._mark(event, MarkKind.PROMPT, to_title(prompt))
        elif isinstance(event, Assistant):
            self._answer(event)
        elif isinstance(event, System) and event.subtype == COMPACTION:
            about = event.compact_metadata or event.stream_compaction
            self._mark(
                event, MarkKind.COMPACTION, about.trigger if about else None, about.pre_tokens if about else None
            )
        elif isinstance(event, Malformed):
            self.problems.append(TreeProblem(event.line, event.reason))
        elif isinstance(event, UnknownRecord) and event.kind not in self._unknown:
            self._unknown.add(event.kind)
            self.problems.append(TreeProblem(event.line, f"unknown record {event.kind!r}"))

    def _answer(self, event: Assistant) -> None:
        response = event.request_id or (event.message.id if event.message else None)
        if response is None or response not in self._responses:
            self._responses.add(response or "")
            self._mark(event, MarkKind.RESPONSE)
        said: Any = event.message_content
        for block in said if isinstance(said, list) else ():
            if isinstance(block, ToolUse) and block.id:
                self.calls.setdefault(block.id, event.line)

    def _mark(self, event: Event, kind: MarkKind, text: str | None = None, tokens: int | None = None) -> None:
        self.marks.append(LineMark(event.line, kind, event.timestamp, text, tokens))


class NodeKind(StrEnum):
    """What a node of an outline represents."""

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
    """A node of an outline; its kind determines which facts it has."""

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
        """The sub-agents without a matching call."""
        return [_node(agent, None) for agent in self._unlinked]

    def problems(self) -> list[str]:
        """Problems of the sub-agents. Those that Claude Code starts for its own purposes have no call."""
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
    facts = run if isinstance(run, dict) else {}
    name, status = facts.get("workflowName"), facts.get("status")
    children = [_node(agent, None, is_called=True) for agent in agents]
    facts = {
        "id": id,
        "name": name if isinstance(name, str) else None,
        "status": status if isinstance(status, str) else None,
        "agents": len(children),
    }
    return Node(NodeKind.WORKFLOW, facts, children)


def _node(agent: Session, line: int | None, *, is_called: bool = False) -> Node:
    """A sub-agent with all that it called, however deep."""
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
    """The tree, and the problems of the session."""

    root: Node
    problems: list[str]


def build_outline(session: Session, relatives: Iterable[Relative] = (), *, with_prompts: bool = False) -> Outline:
    """Read a session once, and build its outline; `relatives` are those of `relatives_of`."""
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
        "branches": len(reading.tree.branches()),
    }
    children = [*older, *trunk, *callers.workflows(), *callers.unlinked(), *newer]
    problems = [f"line {line}: {what}" for line, what in sorted((*reading.tree.problems, *reading.problems))]
    return Outline(Node(NodeKind.SESSION, facts, children), problems + callers.problems())


def _link(relative: Relative) -> Node:
    other = relative.session
    kind = NodeKind.CONTINUES if relative.is_older else NodeKind.CONTINUED
    is_copy = other.file.kind == SessionKind.PRE_COMPACT
    facts = {"id": display_path(other.id), "title": other.title, "common": relative.common, "copy": is_copy}
    return Node(kind, facts, [])


class _Trunk:
    """The nodes of the conversation: the strands of the live branch, with abandoned branches at each fork."""

    def __init__(self, reading: MarkedConversation, callers: CalledSubagents, with_prompts: bool) -> None:
        self._tree = reading.tree
        self._callers = callers
        self._with_prompts = with_prompts
        self._marks: dict[int, list[LineMark]] = defaultdict(list)
        calls = (LineMark(line, MarkKind.CALL) for line in callers.at)
        for mark in sorted((*reading.marks, *calls), key=lambda mark: mark.line):
            self._marks[reading.tree.strand_of(mark.line) or 0].append(mark)

    def nodes(self) -> list[Node]:
        """The nodes of all strands. Those that appear last are built first, because earlier ones contain them."""
        strands, live = self._tree.strands(), self._tree.live_strands
        children: dict[int, dict[Any, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, strand in strands.items():
            children[strand.parent][strand.fork].append(number)
        built: dict[int, deque[Node]] = {}
        for number in reversed(strands):
            nodes = self._segments(number)
            trunk: deque[Node] | None = None
            for fork, below in children[number].items():
                abandoned = [self._branch_node(child, built.pop(child)) for child in below if child not in live]
                nodes.append(Node(NodeKind.FORK, {"line": fork.line}, abandoned))
                for child in live.intersection(below):  # at most one: it is extended, not copied for each strand
                    trunk = built.pop(child)
                    trunk.extendleft(reversed(nodes))
                    nodes = []
            if trunk is None:
                built[number] = deque(self._with_branch_number(number, nodes) if number in live else nodes)
            else:
                trunk.extend(nodes)
                built[number] = trunk
        return list(built[0])

    def _segments(self, strand: int) -> list[Node]:
        """A strand from compaction to compaction."""
        found: list[Node] = []
        stretch: list[LineMark] = []
        for mark in self._marks[strand]:
            if mark.kind == MarkKind.COMPACTION:
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
        texts = (mark for mark in prompts if not is_bare_command(mark.text or ""))
        first = next(texts, prompts[0] if prompts else stretch[0])
        facts = {
            "line": first.line,
            "time": first.time,
            "prompt": first.text,
            "prompts": len(prompts),
            "responses": sum(mark.kind == MarkKind.RESPONSE for mark in stretch),
        }
        children: list[Node] = []
        for mark in stretch:
            if mark.kind == MarkKind.CALL:
                children += self._callers.nodes_at(mark.line)
            elif mark.kind == MarkKind.PROMPT and self._with_prompts:
                about = {"line": mark.line, "time": mark.time, "prompt": mark.text}
                children.append(Node(NodeKind.PROMPT, about, []))
        return [Node(NodeKind.SEGMENT, facts, children)]

    def _branch_node(self, strand: int, lines: Iterable[Node]) -> Node:
        """A branch; or the common part of several branches, where it forks again."""
        listed = list(lines)
        (first, *rest) = listed if listed and listed[0].kind == NodeKind.SEGMENT else [_NOTHING, *listed]
        return Node(NodeKind.BRANCH, first.facts | self._identity(strand), first.children + rest)

    def _with_branch_number(self, strand: int, lines: list[Node]) -> list[Node]:
        """The last strand of the live branch with its number, if there are other branches."""
        if len(self._tree.branches()) == 1 or self._tree.strands()[strand].branch is None:
            return lines
        return [self._branch_node(strand, lines[:1]), *lines[1:]]

    def _identity(self, strand: int) -> dict[str, Any]:
        number = self._tree.strands()[strand].branch
        branch = self._tree.branches()[number - 1] if number is not None else None
        return {
            "number": number,
            "live": branch is not None and branch.is_live,
            "lines": branch.lines if branch else None,
        }


_NOTHING = Node(NodeKind.SEGMENT, {"line": None, "time": None, "prompt": None, "prompts": 0, "responses": 0}, [])
