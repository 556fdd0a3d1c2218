"""Calls of tools that touch files, brought together with their results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from msgspec import Raw

from claude_session_player.events import NOTHING, Assistant, Event, ToolResult, ToolUse, Turn, User
from claude_session_player.insight.file_paths import absolute
from claude_session_player.linking.pairing import Pairing
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


class _Asked:
    """A call of any tool: the file that it touches, whether it has a result, and whether one says that it failed."""

    __slots__ = ("call", "has_failed", "is_answered")

    def __init__(self, call: Call | None) -> None:
        self.call = call
        self.is_answered = False
        self.has_failed = False

    def answer(self, line: int, found: _Result) -> Iterator[Answer]:
        """The answer that a result gives: the first one, and a later one that says that it failed after all."""
        if self.call is not None:
            answer = Answer(self.call, line, *found[1:])
            if not self.is_answered or (answer.failed and not self.has_failed):
                self.has_failed = answer.failed
                yield answer
        self.is_answered = True


class Answers:
    """Takes events in the order of the file, and gives the calls in them, and the answers that they complete."""

    def __init__(self) -> None:
        self.cwd: str | None = None
        self.home: str | None = None
        """The first directory that the session was in."""
        self._pairing: Pairing[_Asked, _Result] = Pairing()

    def take(self, event: Event) -> Iterator[Call | Answer]:
        """What one event tells; copies of earlier ones are not to be given."""
        if event.cwd:
            self.cwd = event.cwd
            self.home = self.home or event.cwd
        if not isinstance(event, Turn) or not isinstance(blocks := event.said, list):
            return
        if isinstance(event, Assistant):
            for block in blocks:
                if isinstance(block, ToolUse):
                    yield from self._called(event, block)
        elif isinstance(event, User):
            results = [block for block in blocks if type(block) is ToolResult]
            structured = event.tool_use_result if len(results) == 1 else NOTHING
            for result in results:
                yield from self._answered(event, _Result(event.line, event.timestamp, result, structured))

    def absolute(self, path: str) -> str:
        """A path as seen from the directory that the session is in."""
        return absolute(path, self.cwd)

    def unanswered(self) -> list[Call]:
        """The calls whose results are missing, in the order of the file."""
        asked = (asked.call for asked in self._pairing.unanswered())
        return sorted([call for call in asked if call is not None], key=lambda call: call.line)

    def _called(self, event: Event, block: ToolUse) -> Iterator[Call | Answer]:
        touched = touched_file(block.name, block.input)
        call = None
        if touched is not None:
            touch, path = touched
            call = Call(event.line, event.timestamp, block.name or "", touch, self.absolute(path), block.input)
            yield call
        asked = _Asked(call)
        early = self._pairing.add_call(asked, block.id, block.name or "", event.uuid)
        if early is not None:
            yield from asked.answer(event.line, early)

    def _answered(self, event: User, found: _Result) -> Iterator[Answer]:
        result = found.result
        asked = self._pairing.add_result(found, result.tool_use_id, result.name, event.source_uuid)
        if asked is not None:
            yield from asked.answer(found.line, found)
