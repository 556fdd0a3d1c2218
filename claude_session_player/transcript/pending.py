"""The window of a conversation: entries are held back until the first of them has its result.

So the beginning of a long session is told without reading the rest. A result that comes too late is an entry of its
own. What belongs together is decided by the entries between, never by who has left the window already.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct

from claude_session_player.format.blocks import REFUSALS, ToolResult, ToolUse
from claude_session_player.format.content import result_parts
from claude_session_player.format.results import decode_task_made
from claude_session_player.line_audit import MERGED, SHOWN, LineOutcome
from claude_session_player.linking.pairing import Pairing
from claude_session_player.transcript.entries import CallResult, Entry, EntryKind, TranscriptCall
from claude_session_player.util.text import strip_escapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.format.events import Event, User
    from claude_session_player.transcript.subagents import SubagentFinder

_WINDOW: Final = 200
"""So many entries later, counted from the call itself, a result still goes to its call."""
_PATIENCE: Final = 30
"""So many, where the result comes first."""
_CALL: Final = EntryKind.CALL  # a member of an Enum is slow to be had, and here it is for each of many calls
_RESULT: Final = EntryKind.RESULT
_TASK_LISTS: Final = frozenset(("TaskCreate", "TaskUpdate"))


class _Ticket(Struct):
    """What is kept of a call after it has left: its result may still come."""

    call: TranscriptCall | None
    line: int
    name: str


class PendingEntries:
    """Brings calls and results together, and calls with the sub-agents that they started."""

    def __init__(self, cast: SubagentFinder) -> None:
        self.waiting: deque[Entry] = deque()
        self._cast = cast
        self._pairing: Pairing[_Ticket, CallResult] = Pairing()
        self._early: dict[str, TranscriptCall] = {}
        """The results that wait for their calls, as entries."""
        self._tickets: dict[int, _Ticket] = {}
        """Of the calls that have not left, by their places."""
        self._tasks: dict[str, str] = {}
        self._left = 0
        """How many entries have left."""

    def ready(self) -> list[Entry]:
        """The entries at the front that need not wait any longer; they leave the window."""
        waiting, ready = self.waiting, []
        while waiting:
            entry = waiting[0]
            if type(entry) is TranscriptCall:
                if not self._is_ready(entry):
                    break
                self._settle(entry)
            ready.append(waiting.popleft())
        self._left += len(ready)
        return ready

    def rest(self) -> Iterator[Entry]:
        """All that is left when nothing more comes."""
        while self.waiting:
            entry = self.waiting.popleft()
            if type(entry) is TranscriptCall:
                self._settle(entry)
            yield entry

    def is_waiting(self, id: str | None) -> bool:
        """True for a call that has not left yet."""
        ticket = self._pairing.call_with(id) if id else None
        return ticket is not None and ticket.call is not None

    def _is_ready(self, call: TranscriptCall) -> bool:
        """True for a call or a result that needs not wait for the other."""
        if call.kind is _RESULT:
            return self._early.get(call.id or "") is not call or len(self.waiting) > _PATIENCE
        return call.result is not None or len(self.waiting) > _WINDOW

    def _settle(self, call: TranscriptCall) -> None:
        """A call or a result leaves the window."""
        id = call.id or ""
        if call.kind is _RESULT:
            if self._early.get(id) is call:
                del self._early[id]
            return
        if not self._cast.is_alone:
            call.actors = self._cast.called_by(call)
        if (ticket := self._tickets.pop(call.place, None)) is not None:
            ticket.call = None

    def result(self, event: User, block: ToolResult, structured: Raw) -> LineOutcome:
        """A result goes to its call, or waits for it, or is told by itself."""
        result = CallResult(block, structured, event.line, event.timestamp, event.uuid)
        id, place = block.tool_use_id or None, self._left + len(self.waiting)
        ticket = self._pairing.add_result(result, id, block.name, event.source_uuid)
        call = ticket.call if ticket is not None else None
        if call is not None and call.result is None and place - call.place <= _WINDOW:
            call.result = result
            if call.name in _TASK_LISTS:
                self._remember(call)
            return MERGED
        alone = TranscriptCall(
            _RESULT, event.line, event.timestamp, event.uuid, name=block.name or "", id=id, result=result
        )
        alone.place = place
        if ticket is not None:
            alone.body, alone.name = ticket.line, ticket.name
        elif id:
            self._early[id] = alone
        self.waiting.append(alone)
        return SHOWN

    def _remember(self, call: TranscriptCall) -> None:
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

    def call(self, event: Event, block: ToolUse) -> LineOutcome:
        """A call, which may have its result already."""
        name = strip_escapes(block.name or "")
        id = block.id or None
        call = TranscriptCall(_CALL, event.line, event.timestamp, event.uuid, name=name, id=id, input=block.input)
        call.place = self._left + len(self.waiting)
        if name in _TASK_LISTS and isinstance(block.input, dict):
            call.subject = self._tasks.get(str(block.input.get("taskId")))
        ticket = self._tickets[call.place] = _Ticket(call, call.line, name)
        result = self._pairing.add_call(ticket, id, name, event.uuid)
        if result is not None:
            early = self._early.pop(id or "", None)  # it has left where it had to wait for too long
            if early is not None and call.place - early.place <= _PATIENCE:
                call.result = result
                self.waiting.remove(early)
        self.waiting.append(call)
        return SHOWN
