"""The structure of a session as a tree: stretches of the conversation, forks, compactions, sub-agents, workflows.

The live branch is the trunk, so that a conversation that went back a hundred times is no hundred levels deep; what
was left behind hangs on the fork. Nothing here calls itself: a tree may be deeper than Python's stack.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from claude_session_player.conversation.callers import Callers
from claude_session_player.conversation.chains import Relative
from claude_session_player.conversation.marks import Mark, MarkKind, Reading
from claude_session_player.conversation.nodes import Node, NodeKind
from claude_session_player.linking.titles import is_bare_command
from claude_session_player.store.layout import HISTORY
from claude_session_player.store.session import Session
from claude_session_player.text import display_path


class Outline(NamedTuple):
    """The tree, and what is wrong with the session."""

    root: Node
    problems: list[str]


def outline_of(session: Session, relatives: Iterable[Relative] = (), *, with_prompts: bool = False) -> Outline:
    """Read a session once, and draw up its structure; `relatives` are those of `relatives_of`."""
    reading = Reading(skips_sidechains=session.has_sidechains)
    reading.read(session.events())
    callers = Callers(session, reading.calls)
    trunk = _Trunk(reading, callers, with_prompts).nodes()
    older = [_link(relative) for relative in relatives if relative.is_older]
    newer = [_link(relative) for relative in relatives if not relative.is_older]
    facts = {
        "id": display_path(session.id),
        "title": session.title,
        "project": session.project,
        "events": session.speech.events,
        "branches": len(reading.branches.paths()),
    }
    children = [*older, *trunk, *callers.workflows(), *callers.unlinked(), *newer]
    problems = [f"line {line}: {what}" for line, what in sorted((*reading.branches.problems, *reading.problems))]
    return Outline(Node(NodeKind.SESSION, facts, children), problems + callers.problems())


def _link(relative: Relative) -> Node:
    other = relative.session
    kind = NodeKind.CONTINUES if relative.is_older else NodeKind.CONTINUED
    is_copy = other.found.kind == HISTORY
    facts = {"id": display_path(other.id), "title": other.title, "common": relative.common, "copy": is_copy}
    return Node(kind, facts, [])


class _Trunk:
    """The conversation: strand after strand along the live branch, with what was left behind at each fork."""

    def __init__(self, reading: Reading, callers: Callers, with_prompts: bool) -> None:
        self._branches = reading.branches
        self._callers = callers
        self._with_prompts = with_prompts
        self._marks: dict[int, list[Mark]] = defaultdict(list)
        called = (Mark(line, MarkKind.CALLED) for line in callers.at)
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
        stretch: list[Mark] = []
        for mark in self._marks[strand]:
            if mark.kind == MarkKind.COMPACTED:
                found += self._segment(stretch)
                about = {"line": mark.line, "time": mark.time, "trigger": mark.text, "tokens": mark.tokens}
                found.append(Node(NodeKind.COMPACTION, about, []))
                stretch = []
            else:
                stretch.append(mark)
        return found + self._segment(stretch)

    def _segment(self, stretch: list[Mark]) -> list[Node]:
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
