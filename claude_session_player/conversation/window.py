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
"""So many entries are held back at most while a call waits for its result."""
_PATIENCE: Final = 30
"""So many, while a result waits for its call."""
_TASK_LISTS: Final = frozenset(("TaskCreate", "TaskUpdate"))


class Window:
    """Brings calls and results together, and calls with the sub-agents that they started."""

    def __init__(self, cast: Cast) -> None:
        self.waiting: deque[Entry] = deque()
        self._cast = cast
        self._calls: dict[str, Call] = {}
        self._early: dict[str, Call] = {}
        self._tasks: dict[str, str] = {}

    def ready(self) -> Iterator[Entry]:
        """The entries at the front that need not wait any longer."""
        waiting = self.waiting
        while waiting:
            if type(waiting[0]) is Entry:
                yield waiting.popleft()
            elif self._is_ready(waiting[0]):
                yield self._settled(waiting.popleft())
            else:
                return

    def rest(self) -> Iterator[Entry]:
        """All that is left when nothing more comes."""
        while self.waiting:
            yield self._settled(self.waiting.popleft())

    def _is_ready(self, entry: Entry) -> bool:
        """True for a call or a result that needs not wait for the other."""
        assert isinstance(entry, Call)
        if entry.kind is Kind.RESULT:
            return entry.id not in self._early or len(self.waiting) > _PATIENCE
        return entry.result is not None or len(self.waiting) > _WINDOW

    def _settled(self, entry: Entry) -> Entry:
        """An entry as it leaves the window."""
        if not isinstance(entry, Call):
            return entry
        if entry.kind is Kind.RESULT:
            self._early.pop(entry.id or "", None)
            return entry
        if not self._cast.is_alone:
            entry.actors = self._cast.called_by(entry)
        if entry.id and self._calls.get(entry.id) is entry:  # what it holds is not needed any more
            self._calls[entry.id] = Call(Kind.CALL, entry.line, name=entry.name, is_told=True)
        return entry

    def result(self, event: User, block: ToolResult, structured: Raw) -> Outcome:
        """A result goes to its call, or waits for it, or is told by itself."""
        result = Result(block, structured, event.line, event.timestamp, event.uuid)
        call = self._calls.get(block.tool_use_id) if block.tool_use_id else self._unnamed(event, block)
        if call is not None and call.result is None and not call.is_told:
            call.result = result
            if call.name in _TASK_LISTS:
                self._remember(call)
            return MERGED
        name = call.name if call else block.name or ""
        late = Call(
            Kind.RESULT, event.line, event.timestamp, event.uuid, name=name, id=block.tool_use_id, result=result
        )
        if call is not None:
            late.body = call.line
        elif block.tool_use_id:
            self._early[block.tool_use_id] = late
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
        call = Call(
            Kind.CALL, event.line, event.timestamp, event.uuid, name=name, id=block.id or None, input=block.input
        )
        if name in _TASK_LISTS and isinstance(block.input, dict):
            call.subject = self._tasks.get(str(block.input.get("taskId")))
        if block.id:
            self._calls[block.id] = call
            early = self._early.pop(block.id, None)
            if early is not None:
                call.result = early.result
                self.waiting.remove(early)
        self.waiting.append(call)
        return SHOWN
