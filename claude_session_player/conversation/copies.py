"""Which lines say again what was said before: copies are one event, and told once.

A resumed or forked session keeps the uuids of what it copies. Some programs write a resumed conversation anew, with
other uuids, and sometimes a line for each block: those are known by their time and content.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Set
from operator import attrgetter
from typing import Any, Final

from claude_session_player import rawjson
from claude_session_player.events import (
    AnyBlock,
    Content,
    Document,
    Image,
    Other,
    RedactedThinking,
    ServerToolUse,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)


class Copies:
    """The lines that were seen so far; `known` are events of other sessions."""

    def __init__(self, known: Set[str | None] = frozenset()) -> None:
        self._known = known
        self._seen: set[int] = set()
        """What was said when, block by block. A line without time, or without a word, is known by its uuid instead."""

    def has(self, uuid: str | None, time: str | None, said: Content) -> bool:
        """True where a line was seen before, by its uuid, its time and what it says; if not, it is from now on.

        One without uuid is always new, and so is one that has the uuid of another, but other words.
        """
        if uuid is None:
            return False
        if self._known and uuid in self._known:
            return True
        if type(said) is not list or len(said) != 1:
            return self._has_all(uuid, time, [Text(said)] if isinstance(said, str) else said or [])
        (block,) = said  # almost always
        mark = hash((time or uuid, _MARKS[type(block)](block)))
        if mark in self._seen:
            return True
        self._seen.add(mark)
        return False

    def has_remark(self, uuid: str | None, *said: Hashable) -> bool:
        """The same of a line that is no message: it is known by its uuid and what it says, whenever that was."""
        if uuid is None:
            return False
        mark = hash((uuid, *said))
        if mark in self._seen or uuid in self._known:
            return True
        self._seen.add(mark)
        return False

    def _has_all(self, uuid: str, time: str | None, blocks: list[AnyBlock]) -> bool:
        marks = {hash((time or uuid, _MARKS[type(block)](block))) for block in blocks} or {hash(uuid)}
        if marks <= self._seen:
            return True
        self._seen |= marks
        return False


def _of_call(block: ToolUse) -> Hashable:
    return type(block), block.id or rawjson.compact(block.input)


def _of_picture(block: Image | Document) -> Hashable:
    return hash(bytes(block.source))


_MARKS: Final[dict[type[AnyBlock], Callable[[Any], Hashable]]] = {
    Text: attrgetter("text"),
    Thinking: lambda block: hash(bytes(block.thinking)),
    RedactedThinking: attrgetter("kind"),
    ToolUse: _of_call,
    ServerToolUse: _of_call,
    ToolResult: lambda block: block.tool_use_id or hash(bytes(block.content)),
    Image: _of_picture,
    Document: _of_picture,
    Other: lambda block: (block.kind, rawjson.compact(block.body)),
}
"""What tells a block from others of the same moment."""
