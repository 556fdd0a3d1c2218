"""The tree of a conversation in plain Python: an object for each line, sets of words for roles, no index, no batches.

`ConversationTree` does the same with bit flags and parallel lists, in one pass; properties compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from claude_session_player.transcript.forks import Branch, Fork, ReturnPoint

ReferenceRow = tuple[str | None, str | None, int, frozenset[str]]
"""The uuid of a line, that of its parent, its line number, and its role: the names of `LineRole`, in lower case."""

Path = tuple[tuple[int, int], ...]
"""The forks on the way from the beginning to a line: the line of each, and the group of children that was taken."""


@dataclass(eq=False)
class ReferenceNode:
    """A line of the file."""

    uuid: str
    line: int
    role: frozenset[str]
    parent: ReferenceNode | None
    groups: list[list[ReferenceNode]] = field(default_factory=list)
    """The children with turns at or below them; those of a group continue together."""

    @property
    def ancestors(self) -> Iterator[ReferenceNode]:
        """The nodes above, as far as they belong to the same conversation: of the session, or of a sub-agent."""
        node = self.parent
        while node is not None and ("sidechain" in node.role) == ("sidechain" in self.role):
            yield node
            node = node.parent


class ReferenceTree:
    """Lines added one by one, in the order of the file."""

    def __init__(self, rows: Iterable[ReferenceRow] = ()) -> None:
        self.nodes: dict[str, ReferenceNode] = {}
        self.by_line: dict[int, ReferenceNode] = {}
        self.forks: list[Fork] = []
        for row in rows:
            self.add(row)

    def add(self, row: ReferenceRow) -> Fork | None:
        """One more line; returns the place that the conversation went back to, if it did."""
        uuid, parent_uuid, line, role = row
        if not uuid or "absent" in role:
            return None
        if uuid in self.nodes:
            self.by_line[line] = self.nodes[uuid]
            return None
        parent = self.nodes.get(parent_uuid or "")
        if parent is None or ("sidechain" in parent.role and "sidechain" not in role):
            parent, role = self._continued_node(role), role | {"detached"}
        node = self.nodes[uuid] = self.by_line[line] = ReferenceNode(uuid, line, role, parent)
        return self._add_turn(node) if "turn" in role else None

    def _turns(self, *, is_sidechain: bool) -> list[ReferenceNode]:
        nodes = self.nodes.values()
        return [node for node in nodes if "turn" in node.role and ("sidechain" in node.role) == is_sidechain]

    def _continued_node(self, role: frozenset[str]) -> ReferenceNode | None:
        """The last turn of the session; else, for a sub-agent, its own last turn; else the line before."""
        turns = self._turns(is_sidechain=False)
        if not turns and "sidechain" in role:
            turns = self._turns(is_sidechain=True)
        nodes = turns or list(self.nodes.values())
        return nodes[-1] if nodes else None

    def _add_turn(self, turn: ReferenceNode) -> Fork | None:
        """Tell every ancestor that there is a turn below it."""
        fork, child, passed = None, turn, turn.role
        for node in turn.ancestors:
            if not any(child in group for group in node.groups):
                fork = self._add_child(node, child, passed) or fork
            child, passed = node, passed | node.role
        return fork

    def _add_child(self, node: ReferenceNode, child: ReferenceNode, passed: frozenset[str]) -> Fork | None:
        if node.groups and (group := _group_to_join(node, child, passed)) is not None:
            group.append(child)
            return None
        node.groups.append([child])
        if len(node.groups) == 1 or not self._makes_forks(node):
            return None
        self.forks.append(Fork(node.line, node.uuid))
        return self.forks[-1]

    def _makes_forks(self, node: ReferenceNode) -> bool:
        """A sub-agent inside its parent's file makes no forks."""
        return "sidechain" not in node.role or not self._turns(is_sidechain=False)

    def path(self, node: ReferenceNode) -> Path:
        """Which way the conversation took at each fork above a line."""
        path: list[tuple[int, int]] = []
        while (parent := node.parent) is not None:
            if len(parent.groups) > 1 and self._makes_forks(parent):
                path += [(parent.line, number) for number, group in enumerate(parent.groups) if node in group]
            node = parent
        return tuple(reversed(path))

    def branches(self) -> list[Branch]:
        """The branches; the number of a strand is an invention of the fast tree, and is left out."""
        paths = {node: self.path(node) for node in self.nodes.values()}
        lines: dict[Path, list[ReferenceNode]] = {(): []}
        for node, path in paths.items():
            lines.setdefault(path, []).append(node)
        ends = [path for path in lines if not any(_begins_with(other, path) and other != path for other in lines)]
        turns = self._turns(is_sidechain=False) or self._turns(is_sidechain=True)
        leaf = paths[turns[-1]] if turns else ()
        last_turns = {path: [node.line for node in lines[path] if "turn" in node.role][-1:] for path in ends}
        live = max((path for path in ends if _begins_with(path, leaf)), key=lambda path: last_turns[path] or [0])
        found = []
        for number, path in enumerate(ends, 1):
            first = lines[path][0] if lines[path] else None
            origin = first.parent if first is not None and path else None
            fork = Fork(origin.line, origin.uuid) if origin is not None else None
            first_line = first.line if first is not None else 1
            last_line = (last_turns[path] or [first_line])[0]
            found.append(Branch(number, fork, first_line, last_line, len(lines[path]), path == live, 0))
        return found

    def is_on(self, number: int, line: int) -> bool:
        """True where a line belongs to a branch; a line without uuid belongs to all."""
        node = self.by_line.get(line)
        branch = self.branches()[number - 1]
        ends = [self.path(other) for other in self.nodes.values() if other.line == branch.first]
        return node is None or not ends or _begins_with(ends[0], self.path(node))

    def anchor(self, uuid: str) -> Fork | None:
        """The turn that a line continues."""
        node = self.nodes[uuid].parent
        while node is not None and "turn" not in node.role:
            node = node.parent
        return Fork(node.line, node.uuid) if node is not None else None


def _group_to_join(node: ReferenceNode, child: ReferenceNode, passed: frozenset[str]) -> list[ReferenceNode] | None:
    """The children that another one continues; `None` where it goes a way of its own."""
    if child.role & {"detached", "compaction"} or "copy" in passed or "meta" in node.role:
        return node.groups[-1]
    for group in node.groups:
        if all("detached" in other.role for other in group):
            return group
        if "tool" in child.role and any(other.role & {"tool", "compaction"} for other in group):
            return group
    return None


def _begins_with(path: Path, beginning: Path) -> bool:
    return path[: len(beginning)] == beginning


def fork_or_return(tree: ReferenceTree, row: ReferenceRow, last_turn: str | None) -> Fork | None:
    """What `LazyTree` says about a turn: it went back, or it continues an earlier branch, or neither."""
    if (fork := tree.add(row)) is not None or not tree.forks or last_turn is None:
        return fork
    anchor = tree.anchor(row[0] or "")
    return ReturnPoint(*anchor) if anchor is not None and anchor.uuid != last_turn else None
