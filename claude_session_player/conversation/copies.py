"""Which lines say again what was said before: copies are one event, and told once.

A resumed or forked session keeps the uuids of what it copies. Some programs write a resumed conversation anew, with
other uuids, and sometimes a line for each block: those are known by their time and content.
"""

from __future__ import annotations

from collections.abc import Container, Hashable

from claude_session_player.events import AnyBlock, Event, Text, Thinking, ToolResult, ToolUse, Turn

_BEGINNING = 200


class Copies:
    """The lines that were seen so far; `known` are events of other sessions."""

    def __init__(self, known: Container[str | None] = ()) -> None:
        self._known = known
        self._contents: dict[str, int] = {}
        self._blocks: set[int] = set()

    def has(self, event: Event) -> bool:
        """True where an event was seen before; if not, it is from now on.

        One without uuid is always new, and so is one that has the uuid of another, but other words.
        """
        uuid = event.uuid
        if uuid is None:
            return False
        if uuid in self._known:
            return True
        marks = _marks(event)
        content = hash(marks)
        before = self._contents.get(uuid)
        if before is not None:
            return before == content
        self._contents[uuid] = content
        if not marks or not event.timestamp:
            return False
        moments = {hash((event.timestamp, mark)) for mark in marks}
        if moments <= self._blocks:
            return True
        self._blocks |= moments
        return False


def _marks(event: Event) -> tuple[Hashable, ...]:
    """What tells the blocks of a line from others of the same moment."""
    if not isinstance(event, Turn):
        return ()
    said = event.said
    if said is None or isinstance(said, str):
        return (said,) if said else ()
    return tuple(map(_mark, said))


def _mark(block: AnyBlock) -> Hashable:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, ToolUse):
        return block.kind, block.id or id(block)
    if isinstance(block, ToolResult):
        return block.kind, block.tool_use_id or id(block)
    if isinstance(block, Thinking):
        return block.kind, len(block.thinking), bytes(memoryview(block.thinking)[:_BEGINNING])
    return block.kind
