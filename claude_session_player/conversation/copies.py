"""Which lines say again what was said before: copies are one event, and told once.

A resumed or forked session keeps the uuids of what it copies. Some programs write a resumed conversation anew, with
other uuids, and sometimes a line for each block: those are known by their time and content.
"""

from __future__ import annotations

from collections.abc import Container, Hashable

from claude_session_player.events import AnyBlock, Assistant, Event, Text, Thinking, ToolResult, ToolUse, User

_BEGINNING = 200


class Copies:
    """The lines that were seen so far; `known` are events of other sessions."""

    def __init__(self, known: Container[str] = ()) -> None:
        self._known = known
        self._uuids: set[str] = set()
        self._blocks: set[int] = set()

    def has(self, event: Event) -> bool:
        """True where an event was seen before; if not, it is from now on. One without uuid is always new."""
        uuid = event.uuid
        if uuid is None:
            return False
        if uuid in self._uuids or uuid in self._known:
            return True
        self._uuids.add(uuid)
        time = event.timestamp
        if time is None or not isinstance(event, User | Assistant):
            return False
        blocks = event.said
        marks = {hash((time, _mark(block))) for block in ([blocks] if isinstance(blocks, str) else blocks or ())}
        if marks and marks <= self._blocks:
            return True
        self._blocks |= marks
        return False


def _mark(block: AnyBlock | str) -> Hashable:
    """What tells a block from others of the same moment."""
    if isinstance(block, str):
        return block
    if isinstance(block, Text):
        return block.text
    if isinstance(block, ToolUse):
        return block.kind, block.id or id(block)
    if isinstance(block, ToolResult):
        return block.kind, block.tool_use_id or id(block)
    if isinstance(block, Thinking):
        return block.kind, len(block.thinking), bytes(memoryview(block.thinking)[:_BEGINNING])
    return block.kind
