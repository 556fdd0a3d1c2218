"""A conversation tree cut at its forks: the strands between forks, and the branches that consist of strands."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class Fork(NamedTuple):
    """The event that a conversation went back to."""

    line: int
    uuid: str


class ReturnPoint(Fork):
    """The event of an earlier branch from which a conversation continues."""


class Branch(NamedTuple):
    """One path through a conversation, from its beginning to a leaf."""

    number: int
    fork: Fork | None
    """Where it separated from others; `None` for the only branch."""
    first: int
    """The line that the fork led to; without a fork, the first of the conversation."""
    last: int
    """The line of the last turn."""
    lines: int
    """How many lines are on no other branch."""
    is_live: bool
    strand: int
    """The strand that it ends in."""


class Strand(NamedTuple):
    """The lines between two forks: several branches share them, or one branch has them alone."""

    parent: int
    """The strand that it separated from; -1 for the strand at the beginning."""
    fork: Fork | None
    """Where it did."""
    branch: int | None
    """The number of the branch that ends in it; `None` if it forks again."""


class Strands:
    """The strand of each node, and the branches. The strand at the beginning has number 0."""

    def __init__(self, of_node: array[int], branches: tuple[Branch, ...], strands: dict[int, Strand]) -> None:
        self.of_node = of_node
        self.branches = branches
        self.strands = strands
        """All strands by number, in the order in which they first appear."""
        self._of_branch: dict[int, frozenset[int]] = {}

    def of_branch(self, number: int) -> frozenset[int]:
        """The strands that a branch consists of, from the beginning to its leaf."""
        if number not in self._of_branch:
            parents = {strand: facts.parent for strand, facts in self.strands.items()}
            self._of_branch[number] = _ancestors(self.branches[number - 1].strand, parents)
        return self._of_branch[number]


class NodeTree(NamedTuple):
    """A tree as lists with one item for each node; a parent has a smaller number than its children."""

    parents: Sequence[int]
    lines: Sequence[int]
    uuids: Sequence[str]
    turns: Collection[int]
    """The nodes in which a branch can end, in their order."""


def cut_into_strands(tree: NodeTree, heads: Mapping[int, int], leaf: int) -> Strands:
    """Cut a tree at `heads`, the nodes where strands begin; the live branch is the one that ends in `leaf`."""
    of_node = array("q")
    parents: dict[int, int] = {0: -1}
    first_nodes: dict[int, int] = {}
    for node, parent in enumerate(tree.parents):
        strand = of_node[parent] if parent >= 0 else 0
        if node in heads:
            strand, parent_strand = heads[node], strand
            parents.setdefault(strand, parent_strand)
            first_nodes.setdefault(strand, node)
        of_node.append(strand)
    sizes: dict[int, int] = dict.fromkeys(parents, 0)
    for strand in of_node:
        sizes[strand] += 1
    last_lines = {of_node[node]: tree.lines[node] for node in tree.turns}
    ends = sorted(parents.keys() - parents.values(), key=lambda strand: first_nodes.get(strand, 0))
    behind_leaf = _descendants(of_node[leaf] if leaf >= 0 else 0, parents)
    live = max((strand for strand in ends if strand in behind_leaf), key=lambda strand: last_lines.get(strand, 0))
    first_lines = {strand: tree.lines[first_nodes.get(strand, 0)] if tree.lines else 1 for strand in parents}
    forks = {strand: _fork_before(tree, first_nodes.get(strand)) for strand in parents}
    branches = tuple(
        Branch(
            number,
            forks[strand],
            first_lines[strand],
            last_lines.get(strand, first_lines[strand]),
            sizes[strand],
            strand == live,
            strand,
        )
        for number, strand in enumerate(ends, 1)
    )
    numbers = {strand: number for number, strand in enumerate(ends, 1)}
    strands = {strand: Strand(parent, forks[strand], numbers.get(strand)) for strand, parent in parents.items()}
    return Strands(of_node, branches, strands)


def _fork_before(tree: NodeTree, first_node: int | None) -> Fork | None:
    """Where the strand that begins with a node separated from another."""
    if first_node is None:
        return None
    origin = tree.parents[first_node]
    return Fork(tree.lines[origin], tree.uuids[origin])


def _ancestors(strand: int, parents: Mapping[int, int]) -> frozenset[int]:
    """A strand, and all that it separated from."""
    found = set()
    while strand >= 0:
        found.add(strand)
        strand = parents[strand]
    return frozenset(found)


def _descendants(strand: int, parents: Mapping[int, int]) -> set[int]:
    """A strand, and all that separated from it."""
    children: dict[int, list[int]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    found, waiting = set(), [strand]
    while waiting:
        found.add(one := waiting.pop())
        waiting += children.get(one, ())
    return found
