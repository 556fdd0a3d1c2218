"""Which lines say again what was said before: copies are one event, and told once.

A resumed or forked session keeps the uuids of what it copies. Some programs write a resumed conversation anew, with
other uuids, and sometimes a line for each block: those are known by their time and content.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set
from typing import Any

from msgspec import Raw

from claude_session_player import rawjson
from claude_session_player.events import (
    AnyBlock,
    Content,
    Document,
    Image,
    Other,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)


class Copies:
    """The lines that were seen so far; `known` are events of other sessions."""

    def __init__(self, known: Set[str | None] = frozenset()) -> None:
        self._known = known
        self._contents: dict[str, int] = {}
        """What each event says, and when, by its uuid."""
        self._moments: set[int] = set()
        """What each block of a message says, and when."""

    def has(self, uuid: str | None, time: str | None, said: Content) -> bool:
        """True where a line was seen before, by its uuid, its time and what it says; if not, it is from now on.

        One without uuid is always new, and so is one that has the uuid of another, but other words.
        """
        if uuid is None:
            return False
        if self._known and uuid in self._known:
            return True
        if type(said) is list and len(said) == 1:
            content = hash((time, _mark(said[0])))
            moments: Iterable[int] = (content,)
        else:
            blocks = [said] if isinstance(said, str) else said or ()
            moments = [hash((time, _mark(block))) for block in blocks]
            content = hash(tuple(moments))
        before = self._contents.get(uuid)
        if before is not None:
            return before == content
        self._contents[uuid] = content
        if time is None or not moments:
            return False
        if self._moments.issuperset(moments):
            return True
        self._moments.update(moments)
        return False


def _mark(block: AnyBlock | str) -> Hashable:
    """What tells a block from others of the same moment."""
    kind = type(block)
    if kind is ToolResult:
        result: Any = block
        return result.tool_use_id or _digest(result.content)
    if kind is Text:
        return block.text  # type: ignore[union-attr]
    if kind is Thinking:
        return _digest(block.thinking)  # type: ignore[union-attr]
    if isinstance(block, ToolUse):
        return kind, block.id or rawjson.compact(block.input)
    if isinstance(block, Image | Document):
        return _digest(block.source)
    if isinstance(block, Other):
        return block.kind, rawjson.compact(block.body)
    return block if isinstance(block, str) else block.kind


def _digest(raw: Raw) -> int:
    return hash(bytes(raw))
