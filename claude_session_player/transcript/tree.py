"""The branches of a conversation: where somebody went back and went on from there, and which branch is live.

The lines of a file are a tree by `parentUuid`. It grows line by line, and only what carries WEIGHT makes a fork: a
prompt of a person, or the first line of a response. Hooks, attachments, remarks, local commands and results of parallel
tools give a line several children all the time, and those are none.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.format.blocks import ToolResult
from claude_session_player.format.events import COMPACTION, Assistant, Event, System, User
from claude_session_player.linking.prompts import asks_model
from claude_session_player.transcript.forks import (
    Branch,
    Fork,
    NodeTree,
    ReturnPoint,
    Strand,
    Strands,
    cut_into_strands,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

__all__ = ["ABSENT", "PLAIN", "SIDE", "TOOL", "Branch", "ConversationTree", "Fork", "Row", "Strand", "TreeProblem"]

# What a line is in the tree; flags, kept in one byte.
ABSENT: Final = -1
"""Not in the tree at all."""
NOWHERE: Final = -1
"""Instead of the number of a node."""
PLAIN: Final = 0
WEIGHT: Final = 1
"""A person's prompt, or the first line of a response."""
TOOL: Final = 2
"""A tool's result, or a further line of a response: where parallel tools part, all sides go on together."""
REPEATED: Final = 4
"""A line that says again what was said before: some programs write a resumed conversation anew."""
SIDE: Final = 8
"""A line of a sub-agent."""
LOOSE: Final = 16
"""A line whose parent is none of those before it; it continues the last prompt or response."""
SEGMENT: Final = 32
"""A compaction, which continues its logical parent."""
META: Final = 64
"""A remark in a user's place. Old versions hang all local commands of a while on one, and go on from any."""


class TreeProblem(NamedTuple):
    """Something in a file that is not as it should be."""

    line: int
    what: str


Row = tuple[str | None, str | None, int, int]
"""The uuid of a line, that of its parent, its number and its role."""


class ConversationTree:
    """The tree of a conversation: `add` every event in the order of the file, then ask."""

    def __init__(self) -> None:
        self.forks: list[Fork] = []
        """Every time that the conversation went back, in the order of the file."""
        self._numbers: dict[str | None, int] = {}
        self._uuids: list[str] = []
        self._lines: list[int] = []
        self._parents: list[int] = []
        self._roles = bytearray()
        self._heavy: list[int] = []
        """Of each node, the first child with weight below; itself where only it has weight."""
        self._groups: dict[int, list[list[int]]] = {}
        """Of a node with several such children: those that go on together."""
        self._welcoming: dict[int, list[list[int]]] = {}
        """Of these, the groups that others may join."""
        self._responses: set[str] = set()
        self._leaf = -1
        self._side_leaf = -1
        self._copies: dict[int, int] = {}
        """Lines that have the uuid of an earlier node, and that node."""
        self._roots: list[int] = []
        self._waiting: dict[str, list[int]] = {}
        """Nodes whose parent has not come, by the parent's uuid."""
        self._late: dict[int, int] = {}
        """Nodes that came before their parents, and those parents."""
        self._known: Strands | None = None

    @property
    def uuids(self) -> Set[str | None]:
        """The uuids of all events so far."""
        return self._numbers.keys()

    def anchor(self, uuid: str) -> Fork | None:
        """The prompt or response that a line continues."""
        node, steps = self._parents[self._numbers[uuid]], len(self._uuids)
        while node >= 0 and not self._roles[node] & WEIGHT and steps:
            node = self._late.get(node, self._parents[node])  # a result may stand before its call
            steps -= 1
        return Fork(self._lines[node], self._uuids[node]) if node >= 0 else None

    def add(self, event: Event) -> Fork | None:
        """Let the tree grow by an event; gives the place to which the conversation went back, if it did."""
        return self.grow((self.row(event, is_prompt=asks_model(event)),))

    def add_copy(self, event: Event) -> None:
        """Let the tree grow by an event that says again what was said before."""
        uuid, parent, line, role = self.row(event, is_prompt=False)
        said = event.said if isinstance(event, User) else None
        is_result = type(said) is list and len(said) == 1 and type(said[0]) is ToolResult
        self.grow(((uuid, parent, line, role if is_result or type(event) is System else (role & SIDE) | REPEATED),))

    def row(self, event: Event, *, is_prompt: bool) -> Row:
        """What the tree needs to know of the next event."""
        role = self._role(event, is_prompt)
        parent = event.parent_uuid
        if type(event) is System and event.subtype == COMPACTION and parent is None:
            parent, role = event.logical_parent, role | SEGMENT
        return event.uuid, parent, event.line, role

    def _role(self, event: Event, is_prompt: bool) -> int:
        side = SIDE if event.is_sidechain or event.agent_call else PLAIN
        if is_prompt:
            return side | WEIGHT
        if isinstance(event, Assistant):
            return side | self.response_role(event.request_id or (event.message.id if event.message else None))
        if type(event) is not User:
            return side
        said = event.said
        is_result = type(said) is list and any(type(block) is ToolResult for block in said)
        return side | (TOOL if is_result else META if event.is_meta else PLAIN)

    # --- growing --------------------------------------------------------------------------------

    def response_role(self, response: str | None) -> int:
        """The role of the next line of a response, by the id of its request or message."""
        if response is None:
            return WEIGHT
        if response in self._responses:
            return TOOL
        self._responses.add(response)
        return WEIGHT

    def grow(self, rows: Iterable[Row]) -> Fork | None:
        """Let the tree grow by some lines, in the order of the file; gives the last fork among them."""
        numbers, uuids, lines, parents = self._numbers, self._uuids, self._lines, self._parents
        roles, heavy, waiting, fork = self._roles, self._heavy, self._waiting, None
        number = len(uuids)
        for uuid, parent, line, role in rows:
            if not uuid or role < 0:
                continue
            if uuid in numbers:
                self._copies[line] = numbers[uuid]
                continue
            above = numbers.get(parent, NOWHERE)
            if above < 0 or roles[above] & ~role & SIDE:
                above = self._continued(above, uuid, parent, role)
                role |= LOOSE
            numbers[uuid] = number
            uuids.append(uuid)
            lines.append(line)
            parents.append(above)
            roles.append(role)
            heavy.append(NOWHERE)
            if waiting and uuid in waiting:
                self._late.update(dict.fromkeys(waiting.pop(uuid), number))
            if role & WEIGHT:
                fork = self._weigh(number, role) or fork
            number += 1
        return fork

    def _continued(self, above: int, uuid: str, parent: str | None, role: int) -> int:
        """Where a line belongs whose parent is none of the lines before it: to the last prompt or response."""
        number = len(self._uuids)
        if parent == uuid:
            self._late[number] = number
        elif above < 0 and parent:
            self._waiting.setdefault(parent, []).append(number)
        elif above < 0 and number and not role & (SEGMENT | SIDE):
            self._roots.append(number)
        leaf = self._side_leaf if self._leaf < 0 and role & SIDE else self._leaf
        return leaf if leaf >= 0 else number - 1

    def _weigh(self, number: int, role: int) -> Fork | None:
        """Climb from a node with weight to the first ancestor that has weight below already."""
        parents, heavy, roles = self._parents, self._heavy, self._roles
        side = role & SIDE
        if side:
            self._side_leaf = number
        else:
            self._leaf = number
        heavy[number] = number
        child, node, passed = number, parents[number], role
        while node >= 0 and roles[node] & SIDE == side:
            below = heavy[node]
            if below >= 0 and below != node:
                return self._meet(node, child, passed)
            heavy[node] = child
            if below == node:
                return None
            passed |= roles[node]
            child, node = node, parents[node]
        return None

    def _meet(self, node: int, child: int, passed: int) -> Fork | None:
        """One more child of a node has weight below: it goes on together with another one, or it is a fork."""
        groups = self._groups.get(node)
        if groups is None:
            groups = self._groups[node] = [[self._heavy[node]]]
            self._welcome(node, groups[0], self._heavy[node])
        company = self._company(node, child, passed, groups)
        if company is not None:
            company.append(child)
            self._welcome(node, company, child)
            return None
        groups.append([child])
        self._welcome(node, groups[-1], child)
        if not self._counts(node):
            return None
        self.forks.append(Fork(self._lines[node], self._uuids[node]))
        return self.forks[-1]

    def _company(self, node: int, child: int, passed: int, groups: list[list[int]]) -> list[int] | None:
        """The children of a node with which another one goes on; `None` where it goes another way."""
        roles = self._roles
        role = roles[child]
        if role & (LOOSE | SEGMENT) or passed & REPEATED or roles[node] & META:
            return groups[-1]
        for group in self._welcoming.get(node, ()):
            if all(roles[other] & LOOSE for other in group):
                return group
            if role & TOOL and any(roles[other] & (TOOL | SEGMENT) for other in group):
                return group
        return None

    def _welcome(self, node: int, group: list[int], child: int) -> None:
        """Remember that others may go on with a group, because of a child in it; most forks are not like that."""
        known = self._welcoming.setdefault(node, [])
        if self._roles[child] & (LOOSE | TOOL | SEGMENT) and not any(other is group for other in known[-2:]):
            known.append(group)

    def _counts(self, node: int) -> bool:
        """False for what belongs to a sub-agent inside of its parent's file."""
        return self._leaf < 0 or not self._roles[node] & SIDE

    # --- afterwards -----------------------------------------------------------------------------

    def paths(self) -> tuple[Branch, ...]:
        """The branches, numbered from 1 in the order in which they first appear; there is at least one."""
        return self._strands.branches

    @property
    def live(self) -> Branch:
        """The branch that ends in the last leaf of the file."""
        return next(branch for branch in self.paths() if branch.is_live)

    @property
    def live_way(self) -> frozenset[int]:
        """The stretches that the live branch is made of."""
        return self._strands.way(self.live.number)

    def is_on(self, number: int, line: int) -> bool:
        """True where a line belongs to the branch of this number. A line without uuid belongs to all."""
        strand = self.strand_of(line)
        return strand is None or strand in self._strands.way(number)

    def strand_of(self, line: int) -> int | None:
        """The stretch between forks on which a line lies; `None` for a line without uuid."""
        node = self._copies.get(line)
        if node is None:
            node = bisect_right(self._lines, line) - 1
            if node < 0 or self._lines[node] != line:
                return None
        return self._strands.of_node[node]

    def stretches(self) -> dict[int, Strand]:
        """The stretches between forks, in the order in which they first appear."""
        return self._strands.stretches

    @property
    def problems(self) -> list[TreeProblem]:
        """What is wrong with the tree, in the order of the lines."""
        lines = self._lines
        lost = ((node, uuid) for uuid, nodes in self._waiting.items() for node in nodes)
        found = [TreeProblem(lines[node], f"its parent {uuid} is nowhere") for node, uuid in lost]
        found += [TreeProblem(line, f"has the uuid of line {lines[node]}") for line, node in self._copies.items()]
        if not all(role & LOOSE for role in self._roles):  # there are dialects in which no line names its parent
            found += [TreeProblem(lines[node], "begins anew: it has no parent") for node in self._roots]
        found += [TreeProblem(lines[node], "is its own ancestor") for node in self._circles()]
        return sorted(found)

    def _circles(self) -> list[int]:
        """One node of every circle of parents; only a node that came before its parent can close one."""
        done: dict[int, int] = {}
        found = []
        for start in self._late:
            node = start
            while node >= 0 and node not in done:
                done[node] = start
                node = self._late.get(node, self._parents[node])
            if done.get(node) == start and node >= 0:
                found.append(node)
        return found

    @property
    def _strands(self) -> Strands:
        if self._known is None or len(self._known.of_node) != len(self._uuids):
            weighty = [node for node, role in enumerate(self._roles) if role & WEIGHT]
            tree = NodeTree(self._parents, self._lines, self._uuids, weighty)
            self._known = cut_into_strands(tree, self._heads(), self._leaf if self._leaf >= 0 else self._side_leaf)
        return self._known

    def _heads(self) -> dict[int, int]:
        """The nodes at which strands begin, and those strands."""
        forked = [groups for node, groups in self._groups.items() if len(groups) > 1 and self._counts(node)]
        together = (group for groups in forked for group in groups)
        return {node: strand for strand, group in enumerate(together, 1) for node in group}


class LazyTree:
    """The tree of a conversation, line by line."""

    def __init__(self, side: int = PLAIN) -> None:
        self._tree = ConversationTree()
        self._side = side
        """The part of the role that all lines of a conversation share."""
        self._last: str | None = None
        """The last line with weight."""
        self._rows: list[Row] = []
        self._tip: str | None = None
        self._is_straight = True

    @property
    def tree(self) -> ConversationTree:
        """The tree of all lines so far."""
        self._grow()
        return self._tree

    def response(self, event: Event, response: str | None) -> Fork | None:
        """A line of a response, by the id of its request or message; gives the place that it went back to, if any."""
        return self.add(event, self._tree.response_role(response) | self._side)

    def prompt(self, event: Event) -> Fork | None:
        """A prompt of a person."""
        return self.add(event, WEIGHT | self._side)

    def copy(self, event: Event) -> None:
        """A line that says again what was said before."""
        self.add(event, REPEATED | self._side)

    def plain(self, event: Event, role: int = PLAIN) -> None:
        """A line without weight: what `add` does for it, in one step, because most lines are such."""
        uuid = event.uuid
        if uuid:
            parent = event.parent_uuid
            self._rows.append((uuid, parent, event.line, role | self._side))
            if parent != self._tip:
                self._is_straight = False
            self._tip = uuid

    def remark(self, event: Event) -> Fork | None:
        """A remark of the harness, or a line of which the tree shall find out the role by itself."""
        _, parent, _, role = self._tree.row(event, is_prompt=False)
        return self.add(event, role, parent)

    def add(self, event: Event, role: int, parent: str | None = None) -> Fork | None:
        """A line of a known role."""
        uuid = event.uuid
        if not uuid:
            return None
        parent = parent or event.parent_uuid
        self._rows.append((uuid, parent, event.line, role))
        if parent != self._tip:
            self._is_straight = False
        self._tip = uuid
        if not role & WEIGHT:
            return None
        before, self._last = self._last, uuid
        if self._is_straight:
            return None
        fork = self._grow()
        if fork is None and self._tree.forks:  # it may go on where it was before a fork
            anchor = self._tree.anchor(uuid)
            has_moved = anchor is not None and before is not None and anchor.uuid != before
            return ReturnPoint(*anchor) if anchor is not None and has_moved else None
        return fork

    def _grow(self) -> Fork | None:
        rows, self._rows, self._is_straight = self._rows, [], True
        return self._tree.grow(rows)
