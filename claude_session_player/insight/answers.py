"""Calls of tools that touch files, brought together with their results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from msgspec import Raw

from claude_session_player.conversation.copies import Copies
from claude_session_player.events import NOTHING, Assistant, Event, ToolResult, ToolUse, Turn, User
from claude_session_player.insight.file_paths import absolute
from claude_session_player.tools import Touch, touched_file

_REFUSED: Final = b'"<tool_use_error>'


class Call(NamedTuple):
    """A call that touches a file."""

    line: int
    time: str | None
    tool: str
    touch: Touch
    path: str
    """Absolute, where the session tells the directory that it was in."""
    input: Any


class Answer(NamedTuple):
    """A call whose result is known as well."""

    call: Call
    line: int
    """Where both are known: as a rule, the line of the result."""
    time: str | None
    result: ToolResult
    structured: Raw
    """What the tool gave back beside what the model saw; nothing where it cannot be told whose it is."""

    @property
    def failed(self) -> bool:
        """True where the tool did nothing."""
        return bool(self.result.is_error) or bytes(memoryview(self.result.content)[: len(_REFUSED)]) == _REFUSED


class _Result(NamedTuple):
    line: int
    time: str | None
    result: ToolResult
    structured: Raw


class Answers:
    """Takes events in the order of the file, and gives the calls in them, and the answers that they complete.

    A result may stand before its call. Where there is no id, it answers the oldest open call of its tool.
    """

    def __init__(self) -> None:
        self.cwd: str | None = None
        self.home: str | None = None
        """The first directory that the session was in."""
        self._open: dict[str, Call] = {}
        self._nameless: list[Call] = []
        self._early: dict[str, _Result] = {}
        self._seen: set[str] = set()
        self._copies = Copies()

    def take(self, event: Event) -> Iterator[Call | Answer]:
        """What one event tells."""
        if event.cwd:
            self.cwd = event.cwd
            self.home = self.home or event.cwd
        if not isinstance(event, Turn) or not isinstance(blocks := event.said, list):
            return
        if self._copies.has(event.uuid, event.timestamp, blocks):
            return
        if isinstance(event, Assistant):
            for block in blocks:
                if isinstance(block, ToolUse):
                    yield from self._called(event, block)
        elif isinstance(event, User):
            results = [block for block in blocks if type(block) is ToolResult]
            structured = event.tool_use_result if len(results) == 1 else NOTHING
            for result in results:
                yield from self._answered(_Result(event.line, event.timestamp, result, structured))

    def absolute(self, path: str) -> str:
        """A path as seen from the directory that the session is in."""
        return absolute(path, self.cwd)

    def unanswered(self) -> list[Call]:
        """The calls whose results are missing, in the order of the file."""
        return sorted([*self._open.values(), *self._nameless], key=lambda call: call.line)

    def _called(self, event: Event, block: ToolUse) -> Iterator[Call | Answer]:
        early = self._early.pop(block.id, None) if block.id else None
        if block.id:
            self._seen.add(block.id)
        touched = touched_file(block.name, block.input)
        if touched is None:
            return
        touch, path = touched
        call = Call(event.line, event.timestamp, block.name or "", touch, self.absolute(path), block.input)
        yield call
        if early is not None:
            yield Answer(call, event.line, *early[1:])
        elif block.id:
            self._open[block.id] = call
        else:
            self._nameless.append(call)

    def _answered(self, found: _Result) -> Iterator[Answer]:
        id = found.result.tool_use_id
        if id in self._open:
            yield Answer(self._open.pop(id), *found)
        elif id is None:
            for number, call in enumerate(self._nameless):
                if found.result.name in (None, call.tool):
                    yield Answer(self._nameless.pop(number), *found)
                    return
        elif id not in self._seen:
            self._early[id] = found
