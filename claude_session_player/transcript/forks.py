"""A tree cut at its forks: the strands between them, and the branches that are made of strands."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class Fork(NamedTuple):
    """The event to which a conversation went back."""

    line: int
    uuid: str


class ReturnPoint(Fork):
    """The event of an earlier branch with which a conversation goes on."""


class Branch(NamedTuple):
    """One way through a conversation, from its beginning to a leaf."""

    number: int
    fork: Fork | None
    """Where it parted from others; `None` where there is but one."""
    first: int
    """The line that the fork led to; without a fork, the first of the conversation."""
    last: int
    """The line of the last prompt or response."""
    lines: int
    """How many lines are on no other branch."""
    is_live: bool
    strand: int
    """The strand that it ends in."""


class Strand(NamedTuple):
    """A strand: what several branches have in common, or what only one of them has."""

    above: int
    """The strand that it parted from; -1 for that of the beginning."""
    fork: Fork | None
    """Where it did."""
    branch: int | None
    """The number of the branch that ends in it; `None` where it parts again."""


class Strands:
    """To which strand each node belongs, and the branches. The strand of the beginning is 0."""

    def __init__(self, of_node: array[int], branches: tuple[Branch, ...], stretches: dict[int, Strand]) -> None:
        self.of_node = of_node
        self.branches = branches
        self.stretches = stretches
        """All strands, in the order in which they first appear."""
        self._ways: dict[int, frozenset[int]] = {}

    def way(self, number: int) -> frozenset[int]:
        """The strands that a branch is made of, from the beginning to its leaf."""
        if number not in self._ways:
            above = {strand: stretch.above for strand, stretch in self.stretches.items()}
            self._ways[number] = _upwards(self.branches[number - 1].strand, above)
        return self._ways[number]


class NodeTree(NamedTuple):
    """A tree as lists by the numbers of its nodes; a parent has a smaller number than its children."""

    parents: Sequence[int]
    lines: Sequence[int]
    uuids: Sequence[str]
    weighty: Collection[int]
    """The nodes in which a branch can end, in their order."""


def cut_into_strands(tree: NodeTree, heads: Mapping[int, int], leaf: int) -> Strands:
    """Cut a tree at `heads`, the nodes where strands begin; the live branch is the one that ends in `leaf`."""
    of_node = array("q")
    above: dict[int, int] = {0: -1}
    began: dict[int, int] = {}
    for node, parent in enumerate(tree.parents):
        strand = of_node[parent] if parent >= 0 else 0
        if node in heads:
            strand, outer = heads[node], strand
            above.setdefault(strand, outer)
            began.setdefault(strand, node)
        of_node.append(strand)
    sizes: dict[int, int] = dict.fromkeys(above, 0)
    for strand in of_node:
        sizes[strand] += 1
    ends = {of_node[node]: tree.lines[node] for node in tree.weighty}
    leaves = sorted(above.keys() - above.values(), key=lambda strand: began.get(strand, 0))
    alive = _below(of_node[leaf] if leaf >= 0 else 0, above)
    live = max((strand for strand in leaves if strand in alive), key=lambda strand: ends.get(strand, 0))
    places = {strand: tree.lines[began.get(strand, 0)] if tree.lines else 1 for strand in above}
    forks = {strand: _fork(tree, began.get(strand)) for strand in above}
    branches = tuple(
        Branch(
            number,
            forks[strand],
            places[strand],
            ends.get(strand, places[strand]),
            sizes[strand],
            strand == live,
            strand,
        )
        for number, strand in enumerate(leaves, 1)
    )
    numbers = {strand: number for number, strand in enumerate(leaves, 1)}
    stretches = {strand: Strand(outer, forks[strand], numbers.get(strand)) for strand, outer in above.items()}
    return Strands(of_node, branches, stretches)


def _fork(tree: NodeTree, first: int | None) -> Fork | None:
    """Where a strand that begins with a node parted from another."""
    if first is None:
        return None
    origin = tree.parents[first]
    return Fork(tree.lines[origin], tree.uuids[origin])


def _upwards(strand: int, above: Mapping[int, int]) -> frozenset[int]:
    found = set()
    while strand >= 0:
        found.add(strand)
        strand = above[strand]
    return frozenset(found)


def _below(strand: int, above: Mapping[int, int]) -> set[int]:
    """A strand, and all that parted from it."""
    children: dict[int, list[int]] = {}
    for child, parent in above.items():
        children.setdefault(parent, []).append(child)
    found, waiting = set(), [strand]
    while waiting:
        found.add(one := waiting.pop())
        waiting += children.get(one, ())
    return found
