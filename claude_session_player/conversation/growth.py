"""A tree that grows as late as possible.

Most conversations go straight on: each line continues the one before it, and then nothing can be a fork. Lines are set
aside until one continues another line than the last, or until somebody asks for the tree.
"""

from __future__ import annotations

from claude_session_player.conversation.branches import PLAIN, REPEATED, WEIGHT, Branches, Row
from claude_session_player.conversation.strands import Fork, Return
from claude_session_player.events import Event


class Growth:
    """The tree of a conversation, line by line."""

    def __init__(self, side: int = PLAIN) -> None:
        self._tree = Branches()
        self._side = side
        """The part of the role that all lines of a conversation share."""
        self._last: str | None = None
        """The last line with weight."""
        self._rows: list[Row] = []
        self._tip: str | None = None
        self._is_straight = True

    @property
    def tree(self) -> Branches:
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
            return Return(*anchor) if anchor is not None and has_moved else None
        return fork

    def _grow(self) -> Fork | None:
        rows, self._rows, self._is_straight = self._rows, [], True
        return self._tree.grow(rows)
