"""The branches of a conversation: where somebody went back and went on from there, and which branch is live.

The lines of a file are a tree by `parentUuid`. It grows line by line, and only what carries WEIGHT makes a fork: a
prompt of a person, or the first line of a response. Hooks, attachments, remarks and results of parallel tools give
a line several children all the time, and that is none.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from enum import IntFlag
from typing import Final, NamedTuple

from claude_session_player.events import Assistant, Event, System, ToolResult, User
from claude_session_player.normalized import human_prompt


class Role(IntFlag):
    """What a line is in the tree, beside a line."""

    PLAIN = 0
    WEIGHT = 1
    """A person's prompt, or the first line of a response."""
    TOOL = 2
    """A tool's result, or a further line of a response: where parallel tools part, all sides go on together."""
    REPEATED = 4
    """A prompt that was written before, with the same time: a conversation that was resumed can be written anew."""
    SIDE = 8
    """A line of a sub-agent."""
    JOINED = 16
    """A line that continues what came before it although it names no parent that is known: a new segment."""


class Fork(NamedTuple):
    """The event to which the conversation went back."""

    line: int
    uuid: str


class Problem(NamedTuple):
    """Something in a file that is not as it should be."""

    line: int
    what: str


class Branch(NamedTuple):
    """One way through the conversation, from its beginning to a leaf."""

    number: int
    fork: Fork | None
    """Where it parted from others; `None` where there is but one."""
    first: int
    """The first line that is on no earlier branch, or that the fork led to."""
    last: int
    """The line of the last prompt or response."""
    lines: int
    """How many lines are its own."""
    is_live: bool
    strands: frozenset[int]
    """The stretches between forks that it is made of."""


class Branches:
    """The tree of a conversation; `add` every event in the order of the file, then ask."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._uuids: list[str] = []
        self._lines = array("q")
        self._parents = array("q")
        self._roles = bytearray()
        self._heavy = array("q")
        """Of each node, the first child with weight below; itself where only it has weight; -1 for none."""
        self._groups: dict[int, list[list[int]]] = {}
        """Of nodes with several such children: those that go on together."""
        self._forks: list[Fork] = []
        self._responses: set[str] = set()
        self._prompt_times: set[str] = set()
        self._leaf = -1
        self._side_leaf = -1
        self._copies: list[Problem] = []
        self._roots: list[int] = []
        self._waiting: dict[str, list[int]] = {}
        """Lines whose parent has not come, by the parent's uuid."""
        self._late: dict[int, int] = {}
        """Lines that stand before their parents, and those parents."""
        self._strands: _Strands | None = None

    def is_copy(self, event: Event) -> bool:
        """True where the uuid of an event stood on an earlier line: it is the same event."""
        number = self._numbers.get(event.uuid or "")
        return number is not None and self._lines[number] != event.line

    def add(self, event: Event) -> Fork | None:
        """Let the tree grow by an event; gives the place to which the conversation went back, if it did."""
        if not event.uuid:
            return None
        parent = event.parent_uuid
        if parent is None and type(event) is System:
            return self.place(event.uuid, event.logical_parent, event.line, self._role(event) | Role.JOINED)
        return self.place(event.uuid, parent, event.line, self._role(event))

    def _role(self, event: Event) -> int:
        side = Role.SIDE if event.is_sidechain or event.agent_call else Role.PLAIN
        if isinstance(event, Assistant):
            message_id = event.message.id if event.message else None
            return side | self.response_role(event.request_id or message_id)
        if human_prompt(event) is not None:
            return side | self.prompt_role(event.timestamp)
        is_result = type(event) is User and type(said := event.said) is list and any(type(b) is ToolResult for b in said)
        return side | (Role.TOOL if is_result else Role.PLAIN)

    def response_role(self, response: str | None) -> Role:
        """The role of a line of a response, by the id of its request or message."""
        if response is None:
            return Role.WEIGHT
        if response in self._responses:
            return Role.TOOL
        self._responses.add(response)
        return Role.WEIGHT

    def prompt_role(self, time: str | None) -> Role:
        """The role of a prompt of a person."""
        if time is None:
            return Role.WEIGHT
        if time in self._prompt_times:
            return Role.REPEATED
        self._prompt_times.add(time)
        return Role.WEIGHT

    def place(self, uuid: str, parent: str | None, line: int, role: int) -> Fork | None:
        """The same as `add`, of a line of which only this much is known."""
        numbers = self._numbers
        number = len(numbers)
        if numbers.setdefault(uuid, number) != number:
            self._copies.append(Problem(line, f"has the uuid of line {self._lines[numbers[uuid]]}"))
            return None
        above = numbers.get(parent, -1) if parent is not None else -1
        if above == number:
            above = -1
        if above < 0 or (self._roles[above] & ~role & Role.SIDE):
            above, role = self._continued(number, above, parent, role)
        self._uuids.append(uuid)
        self._lines.append(line)
        self._parents.append(above)
        self._roles.append(role)
        self._heavy.append(number if role & Role.WEIGHT else -1)
        if self._waiting and uuid in self._waiting:
            self._late.update(dict.fromkeys(self._waiting.pop(uuid), number))
        return self._weigh(number, role) if role & Role.WEIGHT else None

    def _continued(self, number: int, above: int, parent: str | None, role: int) -> tuple[int, int]:
        """Where a line belongs whose parent is none of the lines before it: to the last prompt or response."""
        if above < 0 and parent is not None:
            self._waiting.setdefault(parent, []).append(number)
        elif above < 0 and not role & (Role.JOINED | Role.SIDE):
            self._roots.append(number)
        leaf = self._leaf if self._leaf >= 0 or not role & Role.SIDE else self._side_leaf
        return (leaf if leaf >= 0 else number - 1), role | Role.JOINED

    def _weigh(self, number: int, role: int) -> Fork | None:
        """Climb from a node with weight to the first ancestor that has weight below already."""
        parents, heavy, roles = self._parents, self._heavy, self._roles
        side = role & Role.SIDE
        if side:
            self._side_leaf = number
        else:
            self._leaf = number
        child, node, passed = number, parents[number], role
        while node >= 0 and roles[node] & Role.SIDE == side:
            below = heavy[node]
            if below == -1:
                heavy[node] = child
                passed |= roles[node]
                child, node = node, parents[node]
            elif below == node:
                heavy[node] = child
                return None
            else:
                return self._meet(node, child, passed)
        return None

    def _meet(self, node: int, child: int, passed: int) -> Fork | None:
        """A further child of a node has weight below: it goes on together with another one, or it is a fork."""
        groups = self._groups.setdefault(node, [[self._heavy[node]]])
        role = self._roles[child]
        if role & Role.JOINED or passed & Role.REPEATED:
            groups[-1].append(child)
            return None
        if role & Role.TOOL:
            for group in groups:
                if any(self._roles[other] & (Role.TOOL | Role.JOINED) for other in group):
                    group.append(child)
                    return None
        groups.append([child])
        fork = Fork(self._lines[node], self._uuids[node])
        if not self._roles[node] & Role.SIDE or self._leaf < 0:
            self._forks.append(fork)
        return fork

    # --- afterwards -----------------------------------------------------------------------------

    @property
    def forks(self) -> list[Fork]:
        """Every time that the conversation went back, in the order of the file."""
        return self._forks

    def paths(self) -> tuple[Branch, ...]:
        """The branches, in the order in which they first appear; a conversation has at least one."""
        return self._split.branches

    @property
    def live(self) -> Branch:
        """The branch that ends in the last leaf of the file."""
        return next(branch for branch in self.paths() if branch.is_live)

    def is_on(self, number: int, line: int) -> bool:
        """True where a line belongs to a branch. A line without uuid belongs to all."""
        split = self._split
        at = bisect_right(self._lines, line) - 1
        if at < 0 or self._lines[at] != line:
            return True
        return split.of_node[at] in split.branches[number - 1].strands

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the tree, in the order of the lines."""
        found = [Problem(self._lines[n], f"its parent {uuid} is nowhere") for uuid, ns in self._waiting.items() for n in ns]
        found += self._copies
        beginnings = [n for n in self._roots if n]
        found += [Problem(self._lines[n], "begins anew, without a parent") for n in beginnings]
        found += [Problem(self._lines[n], "is its own ancestor") for n in self._circles()]
        return sorted(found)

    def _circles(self) -> list[int]:
        """One node of every circle of parents. Only a line before its parent can close one."""
        state = bytearray(len(self._uuids))
        found = []
        for start in self._late:
            path, node = [], start
            while node >= 0 and not state[node]:
                state[node] = 1
                path.append(node)
                node = self._late.get(node, self._parents[node])
            if node >= 0 and state[node] == 1:
                found.append(node)
            for passed in path:
                state[passed] = 2
        return found

    @property
    def _split(self) -> _Strands:
        if self._strands is None or len(self._strands.of_node) != len(self._uuids):
            self._strands = self._cut()
        return self._strands

    def _cut(self) -> _Strands:
        """Cut the tree at its forks."""
        heads = self._heads()
        of_node = array("q")
        above: dict[int, int] = {0: -1}
        fork_of: dict[int, int] = {}
        size: dict[int, int] = {0: 0}
        first: dict[int, int] = {0: self._lines[0] if self._lines else 1}
        last: dict[int, int] = {}
        for node, parent in enumerate(self._parents):
            strand = of_node[parent] if parent >= 0 else 0
            if (head := heads.get(node)) is not None:
                if head not in above:
                    above[head], fork_of[head], size[head], first[head] = strand, parent, 0, self._lines[node]
                strand = head
            of_node.append(strand)
            size[strand] += 1
            if self._roles[node] & Role.WEIGHT:
                last[strand] = self._lines[node]
        inner = set(above.values())
        leaves = [strand for strand in above if strand not in inner]
        leaf = self._leaf if self._leaf >= 0 else self._side_leaf
        live = of_node[leaf] if leaf >= 0 else leaves[-1]
        branches = []
        for number, strand in enumerate(leaves, 1):
            parent = fork_of.get(strand)
            fork = None if parent is None else Fork(self._lines[parent], self._uuids[parent])
            begins = first[strand]
            ends = last.get(strand, begins)
            strands = _upwards(strand, above)
            branches.append(Branch(number, fork, begins, ends, size[strand], strand == live, strands))
        return _Strands(of_node, tuple(branches))

    def _heads(self) -> dict[int, int]:
        """The nodes at which strands begin, and the strands; those of sub-agents inside of the file are none."""
        heads: dict[int, int] = {}
        strand = 0
        for node, groups in self._groups.items():
            if len(groups) > 1 and not (self._roles[node] & Role.SIDE and self._leaf >= 0):
                for group in groups:
                    strand += 1
                    heads.update(dict.fromkeys(group, strand))
        return heads


class _Strands(NamedTuple):
    """The stretches between forks: to which of them each node belongs, and the branches that are made of them."""

    of_node: array[int]
    branches: tuple[Branch, ...]


def _upwards(strand: int, above: dict[int, int]) -> frozenset[int]:
    found = set()
    while strand >= 0:
        found.add(strand)
        strand = above[strand]
    return frozenset(found)
