"""Whether the records of a file fit together: uuids and parents, calls and results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from claude_session_player.care import findings as kinds
from claude_session_player.care.findings import Kind
from claude_session_player.care.lines import Checked, CheckedBlock
from claude_session_player.linking.pairing import Pairing

_SAID: Final = frozenset(("user", "assistant", "system", "attachment", "progress"))
"""Records that others follow: each has a uuid, wherever it names its session."""
_CALL: Final = "tool_use"
_RESULT: Final = "tool_result"
"""A result on a line of its own; where it names no call, it stands behind the line of the call."""
_CALLS: Final = frozenset((_CALL, "server_tool_use", "mcp_tool_use"))


class Place(NamedTuple):
    """A record's line, and its offset in the file."""

    line: int
    offset: int


class Loose(NamedTuple):
    """An end that is loose, and where it is."""

    kind: Kind
    place: Place
    detail: str


_Called = tuple[str, str, Place]
"""The id of a call, its kind, and its place."""


class Threads:
    """Follows the threads of a file from record to record. Of records that fit, only their ids are kept."""

    def __init__(self) -> None:
        self._uuids: set[str] = set()
        self._parents: list[tuple[str, Place]] = []
        """Parents that have not been seen yet."""
        self._pairing: Pairing[_Called, Place] = Pairing()
        self._results: list[tuple[str, Place]] = []
        """Results that stand before their calls, or have none."""
        self._loose: list[Loose] = []

    def add(self, record: Checked, line: int, offset: int) -> None:
        """The next record of the file."""
        uuid, parent = record.uuid, record.parent_uuid
        if uuid:
            if uuid in self._uuids:
                self._loose.append(Loose(kinds.SAME_UUID, Place(line, offset), uuid))
            self._uuids.add(uuid)
        elif record.type in _SAID and record.session_id:
            self._loose.append(Loose(kinds.NO_UUID, Place(line, offset), record.type or ""))
        if parent and parent not in self._uuids:
            self._parents.append((parent, Place(line, offset)))
        content = record.message.content if record.message is not None else None
        if type(content) is list:
            for block in content:
                self._add_block(block, uuid, line, offset)
        elif record.type == _RESULT:
            self._pairing.add_result(Place(line, offset), record.call, source=parent)

    def _add_block(self, block: CheckedBlock, uuid: str | None, line: int, offset: int) -> None:
        if call := block.tool_use_id:
            place = Place(line, offset)
            if self._pairing.add_result(place, call) is None:
                self._results.append((call, place))
        elif (call := block.id) and block.type in _CALLS and self._pairing.call_with(call) is None:
            self._pairing.add_call((call, block.type or _CALL, Place(line, offset)), call, "", uuid)

    def loose_ends(self) -> Iterator[Loose]:
        """Everything that does not fit, in the end."""
        yield from self._loose
        for uuid, place in self._parents:
            if uuid not in self._uuids:
                yield Loose(kinds.NO_PARENT, place, uuid)
        for call, place in self._results:
            if self._pairing.call_with(call) is None:
                yield Loose(kinds.NO_CALL, place, call)
        for call, kind, place in self._pairing.unanswered():
            if kind == _CALL:
                yield Loose(kinds.NO_RESULT, place, call)
