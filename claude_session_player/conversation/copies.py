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
        self._moments: set[int] = set()

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
        before = self._contents.get(uuid)
        if before is not None:
            return before == hash(marks)
        self._contents[uuid] = hash(marks)
        time = event.timestamp
        if not marks or time is None:
            return False
        seen = self._moments
        if len(marks) == 1:
            moment = hash((time, marks[0]))
            if moment in seen:
                return True
            seen.add(moment)
            return False
        moments = {hash((time, mark)) for mark in marks}
        if moments <= seen:
            return True
        seen |= moments
        return False


def _marks(event: Event) -> tuple[Hashable, ...]:
    """What tells the blocks of a line from others of the same moment."""
    if not isinstance(event, Turn):
        return ()
    said = event.said
    if not said:
        return ()
    if isinstance(said, str):
        return (said,)
    return (_mark(said[0]),) if len(said) == 1 else tuple(map(_mark, said))


def _mark(block: AnyBlock) -> Hashable:
    kind = type(block)
    if kind is ToolResult:
        return block.tool_use_id or id(block)  # type: ignore[union-attr]
    if kind is Text:
        return block.text  # type: ignore[union-attr]
    if kind is Thinking:
        thinking = block.thinking  # type: ignore[union-attr]
        return len(thinking), bytes(memoryview(thinking)[:_BEGINNING])
    if isinstance(block, ToolUse):
        return kind, block.id or id(block)
    return block.kind
