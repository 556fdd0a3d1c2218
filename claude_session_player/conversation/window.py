"""The window of a conversation: entries are held back until the first of them has its result.

So the beginning of a long session is told without reading the rest. A result that comes too late is an entry of its
own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from msgspec import Raw

from claude_session_player.account import MERGED, SHOWN, Outcome
from claude_session_player.content import result_parts
from claude_session_player.conversation.cast import Cast
from claude_session_player.conversation.entries import Call, Entry, Kind, Result
from claude_session_player.events import REFUSALS, Event, ToolResult, ToolUse, User
from claude_session_player.results import decode_task_made
from claude_session_player.text import clean

_WINDOW: Final = 200
"""So many entries are held back while a call waits for its result."""
_PATIENCE: Final = 30
"""So many, while a result waits for its call."""
_CALL: Final = Kind.CALL  # a member of an Enum is slow to be had, and here it is for each of many calls
_RESULT: Final = Kind.RESULT
_TASK_LISTS: Final = frozenset(("TaskCreate", "TaskUpdate"))


class Window:
    """Brings calls and results together, and calls with the sub-agents that they started."""

    def __init__(self, cast: Cast) -> None:
        self.waiting: deque[Entry] = deque()
        self._cast = cast
        self._calls: dict[str, Call] = {}
        self._told: dict[str, tuple[int | None, str]] = {}
        """Of the calls that have left, their lines and names."""
        self._early: dict[str, Call] = {}
        self._tasks: dict[str, str] = {}

    def ready(self) -> list[Entry]:
        """The entries at the front that need not wait any longer; they leave the window."""
        waiting, ready = self.waiting, []
        while waiting:
            entry = waiting[0]
            if type(entry) is Call:
                if not self._is_ready(entry):
                    break
                self._settle(entry)
            ready.append(waiting.popleft())
        return ready

    def rest(self) -> Iterator[Entry]:
        """All that is left when nothing more comes."""
        while self.waiting:
            entry = self.waiting.popleft()
            if type(entry) is Call:
                self._settle(entry)
            yield entry

    def _is_ready(self, call: Call) -> bool:
        """True for a call or a result that needs not wait for the other."""
        if call.kind is _RESULT:
            return call.id not in self._early or len(self.waiting) > _PATIENCE
        return call.result is not None or len(self.waiting) > _WINDOW

    def _settle(self, call: Call) -> None:
        """A call or a result leaves the window."""
        id = call.id
        if call.kind is _RESULT:
            self._early.pop(id or "", None)
            return
        if not self._cast.is_alone:
            call.actors = self._cast.called_by(call)
        if id and self._calls.get(id) is call:  # what it holds is not needed any more
            del self._calls[id]
            self._told[id] = call.line, call.name

    def result(self, event: User, block: ToolResult, structured: Raw) -> Outcome:
        """A result goes to its call, or waits for it, or is told by itself."""
        result = Result(block, structured, event.line, event.timestamp, event.uuid)
        id = block.tool_use_id
        call = self._calls.get(id) if id else self._unnamed(event, block)
        if call is not None and call.result is None:
            call.result = result
            if call.name in _TASK_LISTS:
                self._remember(call)
            return MERGED
        line, name = (call.line, call.name) if call else self._told.get(id or "", (None, block.name or ""))
        late = Call(_RESULT, event.line, event.timestamp, event.uuid, body=line, name=name, id=id, result=result)
        if line is None and id:
            self._early[id] = late
        self.waiting.append(late)
        return SHOWN

    def _unnamed(self, event: User, block: ToolResult) -> Call | None:
        """The call that a result without a call id answers: the first open one of its name, or that of its source."""
        open_calls = [
            entry for entry in self.waiting if isinstance(entry, Call) and not entry.id and entry.result is None
        ]
        for call in open_calls:
            if block.name in (None, call.name):
                return call
        return next(
            (e for e in self.waiting if isinstance(e, Call) and event.source_uuid and e.uuid == event.source_uuid),
            None,
        )

    def _remember(self, call: Call) -> None:
        """Of a task list, only the first call says what a task is; later ones have its number."""
        if not isinstance(call.input, dict) or call.result is None:
            return
        try:
            number = str(decode_task_made(call.result.structured).task.id)
        except REFUSALS:
            words = result_parts(call.result.block)[0].split()
            number = next((word.strip("#:") for word in words if word.startswith("#")), "")
        if isinstance(subject := call.input.get("subject"), str):
            self._tasks.setdefault(number, subject)

    def call(self, event: Event, block: ToolUse) -> Outcome:
        """A call, which may have its result already."""
        name = clean(block.name or "")
        id = block.id or None
        call = Call(_CALL, event.line, event.timestamp, event.uuid, name=name, id=id, input=block.input)
        if name in _TASK_LISTS and isinstance(block.input, dict):
            call.subject = self._tasks.get(str(block.input.get("taskId")))
        if id:
            self._calls[id] = call
            if self._early and (early := self._early.pop(id, None)) is not None:
                call.result = early.result
                self.waiting.remove(early)
        self.waiting.append(call)
        return SHOWN
