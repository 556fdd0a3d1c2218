"""The tree of a conversation: where it forks, which branches it has, and which of them is live.

The lines of a file form a tree by `parentUuid`, which is built line by line. Only turns make forks: a person's prompt,
or the first line of a response. Hooks, attachments, notices, local commands and results of parallel tools often give a
line several children, and those are not forks. `tests/reference_tree.py` does the same in plain Python, without bit
flags and parallel lists, and a property compares the two.
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

_NO_NODE: Final = -1
"""Instead of the number of a node."""


class LineRole:
    """What a line is in the tree: the bits of one byte, or ABSENT.

    Plain integers, because a test of an `IntFlag` takes 0.4 µs and there are several for each line of a file.
    """

    ABSENT: Final = -1
    """Not in the tree at all."""
    PLAIN: Final = 0
    TURN: Final = 1
    """A person's prompt, or the first line of a response."""
    TOOL: Final = 2
    """A tool result, or a further line of a response: where parallel tools separate, all of them continue together."""
    COPY: Final = 4
    """A line that repeats an earlier one: some programs rewrite a conversation that they resume."""
    SIDECHAIN: Final = 8
    """A line of a sub-agent."""
    DETACHED: Final = 16
    """A line whose parent is not among the lines before it; it continues the last turn."""
    COMPACTION: Final = 32
    """A compaction, which continues its logical parent."""
    META: Final = 64
    """A notice in a user's place. Old versions attach several local commands to one, and continue from any of them."""


_TURN: Final = LineRole.TURN
_TOOL: Final = LineRole.TOOL
_COPY: Final = LineRole.COPY
_SIDECHAIN: Final = LineRole.SIDECHAIN
_DETACHED: Final = LineRole.DETACHED
_COMPACTION: Final = LineRole.COMPACTION
_META: Final = LineRole.META


class TreeProblem(NamedTuple):
    """Something that is wrong with a line."""

    line: int
    what: str


TreeRow = tuple[str | None, str | None, int, int]
"""The uuid of a line, that of its parent, its line number and its role."""


class ConversationTree:
    """The tree of a conversation: `add` every event in the order of the file, then query it.

    Nodes are numbered in the order of the file. The lists hold one item for each node: a session has up to a million
    lines, and objects for them would take ten times the memory.
    """

    def __init__(self) -> None:
        self.forks: list[Fork] = []
        """Every time that the conversation went back, in the order of the file."""
        self._numbers: dict[str | None, int] = {}
        self._uuids: list[str] = []
        self._lines: list[int] = []
        self._parents: list[int] = []
        self._roles = bytearray()
        self._turn_below: list[int] = []
        """The first child that has a turn at or below it; the node itself where it is a turn and none is below."""
        self._groups: dict[int, list[list[int]]] = {}
        """The children of a node with turns at or below them, if there are several; a group continues together."""
        self._open_groups: dict[int, list[list[int]]] = {}
        """Those of the groups that further children may join."""
        self._responses: set[str] = set()
        self._leaf = _NO_NODE
        self._sidechain_leaf = _NO_NODE
        self._copies: dict[int, int] = {}
        """Lines that have the uuid of an earlier node, and that node."""
        self._roots: list[int] = []
        self._orphans: dict[str, list[int]] = {}
        """Nodes whose parent has not come yet, by the parent's uuid."""
        self._late_parents: dict[int, int] = {}
        """The parents that came after their children, by child."""
        self._known_strands: Strands | None = None

    @property
    def uuids(self) -> Set[str | None]:
        """The uuids of all events so far."""
        return self._numbers.keys()

    def anchor(self, uuid: str) -> Fork | None:
        """The turn that a line continues."""
        node, steps = self._parents[self._numbers[uuid]], len(self._uuids)
        while node >= 0 and not self._roles[node] & _TURN and steps:
            node = self._late_parents.get(node, self._parents[node])  # a result may stand before its call
            steps -= 1
        return Fork(self._lines[node], self._uuids[node]) if node >= 0 else None

    def add(self, event: Event) -> Fork | None:
        """Add an event; returns the place that the conversation went back to, if it did."""
        return self.add_rows((self.row(event, is_prompt=asks_model(event)),))

    def add_copy(self, event: Event) -> None:
        """Add an event that repeats an earlier one."""
        uuid, parent, line, role = self.row(event, is_prompt=False)
        content = event.message_content if isinstance(event, User) else None
        is_result = type(content) is list and len(content) == 1 and type(content[0]) is ToolResult
        if not is_result and type(event) is not System:
            role = (role & _SIDECHAIN) | _COPY
        self.add_rows(((uuid, parent, line, role),))

    def row(self, event: Event, *, is_prompt: bool) -> TreeRow:
        """What the tree needs to know of the next event."""
        role = self._role(event, is_prompt)
        parent = event.parent_uuid
        if type(event) is System and event.subtype == COMPACTION and parent is None:
            parent, role = event.logical_parent, role | _COMPACTION
        return event.uuid, parent, event.line, role

    def _role(self, event: Event, is_prompt: bool) -> int:
        sidechain = _SIDECHAIN if event.is_sidechain or event.agent_call else LineRole.PLAIN
        if is_prompt:
            return sidechain | _TURN
        if isinstance(event, Assistant):
            return sidechain | self.response_role(event.request_id or (event.message.id if event.message else None))
        if type(event) is not User:
            return sidechain
        content = event.message_content
        is_result = type(content) is list and any(type(block) is ToolResult for block in content)
        return sidechain | (_TOOL if is_result else _META if event.is_meta else LineRole.PLAIN)

    # --- adding ---------------------------------------------------------------------------------

    def response_role(self, response: str | None) -> int:
        """The role of the next line of a response, by the id of its request or message."""
        if response is None:
            return _TURN
        if response in self._responses:
            return _TOOL
        self._responses.add(response)
        return _TURN

    def add_rows(self, rows: Iterable[TreeRow]) -> Fork | None:
        """Add lines in the order of the file; returns the last fork among them."""
        numbers, uuids, lines, parents = self._numbers, self._uuids, self._lines, self._parents
        roles, turn_below, orphans, fork = self._roles, self._turn_below, self._orphans, None
        number = len(uuids)
        for uuid, parent_uuid, line, role in rows:
            if not uuid or role < 0:
                continue
            if uuid in numbers:
                self._copies[line] = numbers[uuid]
                continue
            parent = numbers.get(parent_uuid, _NO_NODE)
            if parent < 0 or roles[parent] & ~role & _SIDECHAIN:
                parent = self._continued_node(parent, uuid, parent_uuid, role)
                role |= _DETACHED
            numbers[uuid] = number
            uuids.append(uuid)
            lines.append(line)
            parents.append(parent)
            roles.append(role)
            turn_below.append(_NO_NODE)
            if orphans and uuid in orphans:
                self._late_parents.update(dict.fromkeys(orphans.pop(uuid), number))
            if role & _TURN:
                fork = self._add_turn(number, role) or fork
            number += 1
        return fork

    def _continued_node(self, parent: int, uuid: str, parent_uuid: str | None, role: int) -> int:
        """The node that a line continues whose parent is not among the lines before it: the last turn."""
        number = len(self._uuids)
        if parent_uuid == uuid:
            self._late_parents[number] = number
        elif parent < 0 and parent_uuid:
            self._orphans.setdefault(parent_uuid, []).append(number)
        elif parent < 0 and number and not role & (_COMPACTION | _SIDECHAIN):
            self._roots.append(number)
        leaf = self._sidechain_leaf if self._leaf < 0 and role & _SIDECHAIN else self._leaf
        return leaf if leaf >= 0 else number - 1

    def _add_turn(self, number: int, role: int) -> Fork | None:
        """Climb from a turn to the first ancestor that is a turn or has one below it already."""
        parents, turn_below, roles = self._parents, self._turn_below, self._roles
        sidechain = role & _SIDECHAIN
        if sidechain:
            self._sidechain_leaf = number
        else:
            self._leaf = number
        turn_below[number] = number
        child, node, passed = number, parents[number], role
        while node >= 0 and roles[node] & _SIDECHAIN == sidechain:
            below = turn_below[node]
            if below >= 0 and below != node:
                return self._add_to_groups(node, child, passed)
            turn_below[node] = child
            if below == node:
                return None
            passed |= roles[node]
            child, node = node, parents[node]
        return None

    def _add_to_groups(self, node: int, child: int, passed: int) -> Fork | None:
        """One more child of a node has a turn at or below it: it continues a group, or it is a fork.

        `passed` are the roles of the nodes from that turn up to the child.
        """
        groups = self._groups.get(node)
        if groups is None:
            groups = self._groups[node] = [[self._turn_below[node]]]
            self._note_open_group(node, groups[0], self._turn_below[node])
        group = self._group_to_join(node, child, passed, groups)
        if group is not None:
            group.append(child)
            self._note_open_group(node, group, child)
            return None
        groups.append([child])
        self._note_open_group(node, groups[-1], child)
        if not self._makes_forks(node):
            return None
        self.forks.append(Fork(self._lines[node], self._uuids[node]))
        return self.forks[-1]

    def _group_to_join(self, node: int, child: int, passed: int, groups: list[list[int]]) -> list[int] | None:
        """The group of a node's children that another child continues; `None` if it goes a way of its own."""
        roles = self._roles
        role = roles[child]
        if role & (_DETACHED | _COMPACTION) or passed & _COPY or roles[node] & _META:
            return groups[-1]
        for group in self._open_groups.get(node, ()):
            if all(roles[other] & _DETACHED for other in group):
                return group
            if role & _TOOL and any(roles[other] & (_TOOL | _COMPACTION) for other in group):
                return group
        return None

    def _note_open_group(self, node: int, group: list[int], child: int) -> None:
        """Note that a group can be joined because of a child in it; most groups never can."""
        known = self._open_groups.setdefault(node, [])
        if self._roles[child] & (_DETACHED | _TOOL | _COMPACTION) and not any(other is group for other in known[-2:]):
            known.append(group)

    def _makes_forks(self, node: int) -> bool:
        """False for a node of a sub-agent inside its parent's file."""
        return self._leaf < 0 or not self._roles[node] & _SIDECHAIN

    # --- queries --------------------------------------------------------------------------------

    def branches(self) -> tuple[Branch, ...]:
        """The branches, numbered from 1 in the order in which they first appear; there is at least one."""
        return self._strands.branches

    @property
    def live_branch(self) -> Branch:
        """The branch that ends in the last turn of the file."""
        return next(branch for branch in self.branches() if branch.is_live)

    @property
    def live_strands(self) -> frozenset[int]:
        """The strands that the live branch consists of."""
        return self._strands.of_branch(self.live_branch.number)

    def is_on(self, number: int, line: int) -> bool:
        """True if a line belongs to the branch with this number. A line without uuid belongs to all."""
        strand = self.strand_of(line)
        return strand is None or strand in self._strands.of_branch(number)

    def strand_of(self, line: int) -> int | None:
        """The strand that a line lies on; `None` for a line without uuid."""
        node = self._copies.get(line)
        if node is None:
            node = bisect_right(self._lines, line) - 1
            if node < 0 or self._lines[node] != line:
                return None
        return self._strands.of_node[node]

    def strands(self) -> dict[int, Strand]:
        """The strands between forks, in the order in which they first appear."""
        return self._strands.strands

    @property
    def problems(self) -> list[TreeProblem]:
        """What is wrong with the tree, in the order of the lines."""
        lines = self._lines
        orphans = ((node, uuid) for uuid, nodes in self._orphans.items() for node in nodes)
        problems = [TreeProblem(lines[node], f"parent {uuid} is not in the file") for node, uuid in orphans]
        problems += [TreeProblem(line, f"has the uuid of line {lines[node]}") for line, node in self._copies.items()]
        if not all(role & _DETACHED for role in self._roles):  # in some dialects no line names its parent
            problems += [TreeProblem(lines[node], "has no parent, but is not the first line") for node in self._roots]
        problems += [TreeProblem(lines[node], "is its own ancestor") for node in self._cycles()]
        return sorted(problems)

    def _cycles(self) -> list[int]:
        """One node of every cycle of parents; only a node that came before its parent can close one."""
        visited: dict[int, int] = {}
        cycles = []
        for start in self._late_parents:
            node = start
            while node >= 0 and node not in visited:
                visited[node] = start
                node = self._late_parents.get(node, self._parents[node])
            if visited.get(node) == start and node >= 0:
                cycles.append(node)
        return cycles

    @property
    def _strands(self) -> Strands:
        if self._known_strands is None or len(self._known_strands.of_node) != len(self._uuids):
            turns = [node for node, role in enumerate(self._roles) if role & _TURN]
            tree = NodeTree(self._parents, self._lines, self._uuids, turns)
            leaf = self._leaf if self._leaf >= 0 else self._sidechain_leaf
            self._known_strands = cut_into_strands(tree, self._heads(), leaf)
        return self._known_strands

    def _heads(self) -> dict[int, int]:
        """The nodes at which strands begin, and the numbers of those strands."""
        forked = [groups for node, groups in self._groups.items() if len(groups) > 1 and self._makes_forks(node)]
        all_groups = (group for groups in forked for group in groups)
        return {node: strand for strand, group in enumerate(all_groups, 1) for node in group}


class LazyTree:
    """A tree that takes lines one by one, and adds them only when the conversation may have forked or the tree is used.

    While each line continues the one before it, which is almost always, a line costs no more than one tuple.
    """

    def __init__(self, shared_role: int = LineRole.PLAIN) -> None:
        self._tree = ConversationTree()
        self._shared_role = shared_role
        """The part of the role that all lines of the conversation share."""
        self._last_turn: str | None = None
        self._rows: list[TreeRow] = []
        """Lines that are not in the tree yet."""
        self._last_uuid: str | None = None
        self._is_straight = True
        """True if each of these lines continues the one before it."""

    @property
    def tree(self) -> ConversationTree:
        """The tree of all lines so far."""
        self._add_rows()
        return self._tree

    def add_response(self, event: Event, response: str | None) -> Fork | None:
        """Add a line of a response, by the id of its request or message; returns the place it went back to, if any."""
        return self._add(event, self._tree.response_role(response) | self._shared_role)

    def add_prompt(self, event: Event) -> Fork | None:
        """Add a person's prompt; returns the place it went back to, if any."""
        return self._add(event, _TURN | self._shared_role)

    def add_copy(self, event: Event) -> None:
        """Add a line that repeats an earlier one."""
        self._add(event, _COPY | self._shared_role)

    def add_plain(self, event: Event, role: int = LineRole.PLAIN) -> None:
        """Add a line that is not a turn: what `_add` does for it, in one step, because most lines are such."""
        uuid = event.uuid
        if uuid:
            parent = event.parent_uuid
            self._rows.append((uuid, parent, event.line, role | self._shared_role))
            if parent != self._last_uuid:
                self._is_straight = False
            self._last_uuid = uuid

    def add_other(self, event: Event) -> Fork | None:
        """Add a notice, or any line whose role the tree finds out itself."""
        _, parent, _, role = self._tree.row(event, is_prompt=False)
        return self._add(event, role, parent)

    def _add(self, event: Event, role: int, parent: str | None = None) -> Fork | None:
        uuid = event.uuid
        if not uuid:
            return None
        parent = parent or event.parent_uuid
        self._rows.append((uuid, parent, event.line, role))
        if parent != self._last_uuid:
            self._is_straight = False
        self._last_uuid = uuid
        if not role & _TURN:
            return None
        previous_turn, self._last_turn = self._last_turn, uuid
        if self._is_straight:
            return None
        fork = self._add_rows()
        if fork is None and self._tree.forks:  # it may continue the branch that it was on before a fork
            anchor = self._tree.anchor(uuid)
            has_moved = anchor is not None and previous_turn is not None and anchor.uuid != previous_turn
            return ReturnPoint(*anchor) if anchor is not None and has_moved else None
        return fork

    def _add_rows(self) -> Fork | None:
        rows, self._rows, self._is_straight = self._rows, [], True
        return self._tree.add_rows(rows)
