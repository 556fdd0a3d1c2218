"""The entries of a transcript: their types, and how calls wait for their results.

Entries are held back until the first of them has its result, so that the beginning of a long session is shown without
reading the rest.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Raw, Struct

from claude_session_player import tools
from claude_session_player.format.blocks import NOTHING, ToolResult, ToolUse
from claude_session_player.format.content import CallParts, Picture, result_parts
from claude_session_player.line_audit import MERGED, SHOWN, LineOutcome
from claude_session_player.linking.pairing import Pairing
from claude_session_player.linking.task_list import TASK_TOOLS, TaskList
from claude_session_player.util.text import strip_escapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.format.events import Event, User
    from claude_session_player.tools.parts import ToolReply
    from claude_session_player.transcript.subagents import Subagent, SubagentFinder


class EntryKind(Enum):
    """Who or what an entry comes from."""

    __hash__ = object.__hash__  # kinds are looked up for every entry, and Enum's own hash is slow

    PROMPT = "prompt"
    """What a person typed."""
    TASK = "task"
    """What a sub-agent was asked to do."""
    MESSAGE = "message"
    """A `user` record of another agent, or of something else than a person."""
    OUTPUT = "output"
    """The output of a command that a person ran, or a notification."""
    INJECTED = "injected"
    """Text that Claude Code injected as a `user` record."""
    RESPONSE = "answer"
    THINKING = "thought"
    CALL = "call"
    RESULT = "result"
    """A result whose call is not nearby."""
    BLOCK = "block"
    """A content block of an unknown type."""
    ERROR = "error"
    SUMMARY = "summary"
    COMPACTION = "compaction"
    FORK = "fork"
    """The conversation went back, and took another path."""
    RETURN = "return"
    """It continues where it was before a fork."""
    NOTE = "note"
    """A notice of Claude Code. `body` is the type of its record, if the notice is one line."""
    RECORD = "record"
    """A record without a notice; `body` is its type."""
    AGENT = "agent"
    """The beginning of a sub-agent that does not follow its call directly."""
    SECTION = "section"


class Entry(Struct):
    """One item of a transcript. `full_only` is true for what only the full transcript shows."""

    kind: EntryKind
    line: int = 0
    timestamp: str | None = None
    uuid: str | None = None
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    body: Any = None
    full_only: bool = False


class CallResult(Struct):
    """A tool result, and its line."""

    block: ToolResult
    structured: Raw = NOTHING
    line: int = 0
    timestamp: str | None = None
    uuid: str | None = None

    @property
    def is_error(self) -> bool:
        """True if the tool failed."""
        return self.block.is_error is True


class TranscriptCall(Entry):
    """A tool call, with its result once there is one, and the sub-agents that it started.

    As an entry of kind RESULT, it is a result that comes late, or without a call; then `line` is that of the result.
    """

    name: str = ""
    id: str | None = None
    input: Any = None
    result: CallResult | None = None
    subagents: tuple[Subagent, ...] = ()
    subject: str | None = None
    """The subject of a task that the input names only by its number."""
    position: int = 0
    """Its number among the entries."""

    @property
    def is_agent(self) -> bool:
        """True if it calls a sub-agent, even if the sub-agent's conversation is not available."""
        return bool(self.subagents) or self.name in tools.AGENTS

    @property
    def is_error(self) -> bool:
        """True if the tool failed."""
        return self.result is not None and self.result.block.is_error is True

    def reply(self) -> ToolReply | None:
        """The result as text."""
        result = self.result
        if result is None:
            return None
        reply, self.pictures = tools.read_reply(self.name, result.block, result.structured)
        return reply

    def to_parts(self, reply: ToolReply | None) -> CallParts:
        """The call as format-neutral parts."""
        tool_input = {"subject": self.subject, **self.input} if self.subject else self.input
        return tools.call_parts(self.name, tool_input, reply)


# --- pending entries ------------------------------------------------------------------------------


_MAX_DISTANCE: Final = 200
"""How many entries after its call a result may come to be attached to it."""
_MAX_EARLY_DISTANCE: Final = 30
"""The same for a result that comes before its call."""
_CALL: Final = EntryKind.CALL  # looking up a member of an Enum for each of many calls is slow
_RESULT: Final = EntryKind.RESULT


class _PendingCall(Struct):
    """What is kept of a call after it was passed on: its result may still come."""

    call: TranscriptCall | None
    line: int
    name: str


class PendingEntries:
    """Pairs calls with results, and with the sub-agents that they started.

    What belongs together depends on the entries between, never on what was passed on already.
    """

    def __init__(self, subagents: SubagentFinder) -> None:
        self.waiting: deque[Entry] = deque()
        self._subagents = subagents
        self._pairing: Pairing[_PendingCall, CallResult] = Pairing()
        self._early: dict[str, TranscriptCall] = {}
        """Entries of results that wait for their calls."""
        self._pending_calls: dict[int, _PendingCall] = {}
        """The calls that were not passed on yet, by position."""
        self._tasks: TaskList | None = None
        """The task list, once there is one."""
        self._left = 0
        """The number of entries that were passed on."""

    def ready(self) -> list[Entry]:
        """Remove and return the entries at the front that need not wait any longer."""
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
        """Remove and return all entries, at the end of the file."""
        while self.waiting:
            entry = self.waiting.popleft()
            if type(entry) is TranscriptCall:
                self._settle(entry)
            yield entry

    def is_waiting(self, id: str | None) -> bool:
        """True for a call that was not passed on yet."""
        pending = self._pairing.call_with(id) if id else None
        return pending is not None and pending.call is not None

    def _is_ready(self, call: TranscriptCall) -> bool:
        """True for a call or a result that need not wait for the other."""
        if call.kind is _RESULT:
            return self._early.get(call.id or "") is not call or len(self.waiting) > _MAX_EARLY_DISTANCE
        return call.result is not None or len(self.waiting) > _MAX_DISTANCE

    def _settle(self, call: TranscriptCall) -> None:
        """Finish a call or a result that is passed on."""
        id = call.id or ""
        if call.kind is _RESULT:
            if self._early.get(id) is call:
                del self._early[id]
            return
        if not self._subagents.is_empty:
            call.subagents = self._subagents.take_called_by(call)
        if (pending := self._pending_calls.pop(call.position, None)) is not None:
            pending.call = None

    def result(self, event: User, block: ToolResult, structured: Raw) -> LineOutcome:
        """Add a result to its call, or let it wait for its call, or make it an entry of its own."""
        result = CallResult(block, structured, event.line, event.timestamp, event.uuid)
        id, position = block.tool_use_id or None, self._left + len(self.waiting)
        pending = self._pairing.add_result(result, id, block.name, event.source_uuid)
        call = pending.call if pending is not None else None
        if call is not None and call.result is None and position - call.position <= _MAX_DISTANCE:
            call.result = result
            if call.name in TASK_TOOLS:
                self._tasks = self._tasks or TaskList()
                self._tasks.note(call.name, call.input, structured, result_parts(block)[0])
            return MERGED
        alone = TranscriptCall(
            _RESULT, event.line, event.timestamp, event.uuid, name=block.name or "", id=id, result=result
        )
        alone.position = position
        if pending is not None:
            alone.body, alone.name = pending.line, pending.name
        elif id:
            self._early[id] = alone
        self.waiting.append(alone)
        return SHOWN

    def call(self, event: Event, block: ToolUse) -> LineOutcome:
        """Add a call, whose result may have come already."""
        name = strip_escapes(block.name or "")
        id = block.id or None
        call = TranscriptCall(_CALL, event.line, event.timestamp, event.uuid, name=name, id=id, input=block.input)
        call.position = self._left + len(self.waiting)
        if name in TASK_TOOLS and self._tasks is not None and isinstance(block.input, dict):
            call.subject = self._tasks.subject(block.input.get("taskId"))
        pending = self._pending_calls[call.position] = _PendingCall(call, call.line, name)
        result = self._pairing.add_call(pending, id, name, event.uuid)
        if result is not None:
            early = self._early.pop(id or "", None)  # `None` if it waited too long and was passed on
            if early is not None and call.position - early.position <= _MAX_EARLY_DISTANCE:
                call.result = result
                self.waiting.remove(early)
        self.waiting.append(call)
        return SHOWN
