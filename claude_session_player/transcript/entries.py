"""Remarks: records of the harness that a person wants to know of, each told as one line.

The tables at the end say which records these are. A record that is in none of them is not a remark, and costs no
more than looking its type up.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Raw, Struct

from claude_session_player import tools
from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import DECODE_ERRORS, NOTHING, ToolResult, ToolUse
from claude_session_player.format.content import CallParts, Picture, agent_response, result_parts
from claude_session_player.format.events import AttachmentData, Event, PermissionMode, PullRequest, System
from claude_session_player.format.results import decode_task_result, diagnosed_files, hook_commands, hook_reason
from claude_session_player.line_audit import MERGED, SHOWN, LineOutcome
from claude_session_player.linking.pairing import Pairing
from claude_session_player.tools.parts import ToolReply
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import one_line, strip_escapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claude_session_player.format.events import User
    from claude_session_player.transcript.subagents import Subagent, SubagentFinder


class EntryKind(Enum):
    """Who or what an entry comes from."""

    __hash__ = object.__hash__  # kinds are looked up for every entry, and that of Enum is slow

    PROMPT = "prompt"
    """A person."""
    TASK = "task"
    """Whoever called a sub-agent."""
    MESSAGE = "message"
    """Another agent, or something else that stands in a user's place."""
    OUTPUT = "output"
    """A command that a person ran, or a notice."""
    INJECTED = "injected"
    """The harness, in a user's place."""
    ANSWER = "answer"
    THOUGHT = "thought"
    CALL = "call"
    RESULT = "result"
    """A result whose call is not near."""
    BLOCK = "block"
    """A part of a message that is not known."""
    ERROR = "error"
    SUMMARY = "summary"
    COMPACTION = "compaction"
    FORK = "fork"
    """The conversation went back, and took another way."""
    RETURN = "return"
    """It goes on where it was before a fork."""
    NOTE = "note"
    """A remark of the harness. `body` is the type of its record, where the remark is one line."""
    RECORD = "record"
    """A record that nobody has words for; `body` is its type."""
    AGENT = "agent"
    """The beginning of a sub-agent that does not follow its call."""
    SECTION = "section"


class Entry(Struct):
    """One thing that was said or done. `aside` is true for what only a full telling has."""

    kind: EntryKind
    line: int = 0
    timestamp: str | None = None
    uuid: str | None = None
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    body: Any = None
    aside: bool = False


class CallResult(Struct):
    """What a tool gave back, and where that stands."""

    block: ToolResult
    structured: Raw = NOTHING
    line: int = 0
    timestamp: str | None = None
    uuid: str | None = None

    @property
    def is_error(self) -> bool:
        """True if the tool says that it failed."""
        return self.block.is_error is True


class TranscriptCall(Entry):
    """A call of a tool, with its result once there is one, and the sub-agents that it started.

    As an entry of kind RESULT it is a result that comes late, or alone: then `line` is the result's.
    """

    name: str = ""
    id: str | None = None
    input: Any = None
    result: CallResult | None = None
    actors: tuple[Subagent, ...] = ()
    subject: str | None = None
    """Of a task that is named only by its number: what it is."""
    place: int = 0
    """Its number among the entries."""

    @property
    def is_agent(self) -> bool:
        """True if a sub-agent was called, be its conversation at hand or not."""
        return bool(self.actors) or self.name in tools.AGENTS

    @property
    def is_error(self) -> bool:
        """True if the tool failed."""
        return self.result is not None and self.result.block.is_error is True

    def reply(self) -> ToolReply | None:
        """What came back, as text."""
        result = self.result
        if result is None:
            return None
        text, self.pictures = result_parts(result.block)
        if self.name in tools.AGENTS:
            text = agent_response(result.structured) or text
        return ToolReply(text, result.block.is_error is True, result.structured)

    def sketch(self, reply: ToolReply | None) -> CallParts:
        """How the call is told."""
        given = {"subject": self.subject, **self.input} if self.subject else self.input
        return tools.call_parts(self.name, given, reply)


# --- pending entries ------------------------------------------------------------------------------


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
            number = str(decode_task_result(call.result.structured).task.id)
        except DECODE_ERRORS:
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


# --- notices --------------------------------------------------------------------------------------


_FIRST_MODE: Final = "default"
"""The permission mode that a session begins with where nothing else is said."""
_MOST_FILES: Final = 3


class Notices:
    """Words for the remarks of one conversation. A state that stays as it is, and a link, are told once."""

    def __init__(self) -> None:
        self._permission_mode = _FIRST_MODE
        self._is_planning = False
        self._links: set[str] = set()
        self._reasons: set[str] = set()
        """Why hooks failed since the last summary of hooks, which says it again."""

    # --- hooks --------------------------------------------------------------------------------------

    def blocking_hook(self, attached: AttachmentData) -> str:
        """A hook that did not let the model go on as it wanted."""
        return self._hook(attached, "blocked", hook_reason(attached.blocking_error))

    def failing_hook(self, attached: AttachmentData) -> str:
        """A hook that failed, and kept nothing from going on."""
        code = f" (exit code {attached.exit_code})" if attached.exit_code else ""
        return self._hook(attached, f"failed{code}", hook_reason(attached.stderr) or hook_reason(attached.content))

    def stopping_hook(self, attached: AttachmentData) -> str:
        """A hook that ended the turn."""
        return self._hook(attached, "stopped the turn", hook_reason(attached.message))

    def _hook(self, attached: AttachmentData, outcome: str, reason: str) -> str:
        self._reasons.add(_words(reason))
        return _sentence(f"{attached.hook_name or 'A'} hook {outcome}", reason)

    def stop_hooks(self, event: System) -> str:
        """What hooks had to say when the model stopped."""
        told, self._reasons = self._reasons, set()
        reasons = _stop_reasons(event)
        if reasons or event.prevented_continuation:
            new = [reason for reason in reasons if _words(reason) not in told]
            outcome = "Stop hook stopped the turn" if event.prevented_continuation else "Stop hook failed"
            return _sentence(outcome, "; ".join(new)) if new or not told else ""
        if context := hook_reason(event.hook_context):
            return _sentence("Stop hook", context)
        commands = hook_commands(event.hooks)
        return _sentence("Stop hook ran", ", ".join(commands)) if event.has_output and commands else ""

    # --- state --------------------------------------------------------------------------------------

    def permission_mode(self, mode: str | None) -> str:
        """What tools are allowed to do, where that changes."""
        if not mode or mode == self._permission_mode:
            return ""
        self._permission_mode = mode
        return f"Permission mode: {mode}"

    def plan_mode_on(self, attached: AttachmentData) -> str:
        """The model shall plan; it is reminded of that again and again."""
        is_new, self._is_planning = not self._is_planning, True
        return "Plan mode on" if is_new else ""

    def plan_mode_off(self, attached: AttachmentData) -> str:
        """The model may work again."""
        self._is_planning = False
        return "Plan mode off"

    # --- files and links ----------------------------------------------------------------------------

    def attached_path(self, attached: AttachmentData) -> str:
        """A file or a directory that a person named with `@`."""
        return _sentence(f"Attached {attached.type}", _path(attached))

    def edited_file(self, attached: AttachmentData) -> str:
        """A file that somebody else changed."""
        return _sentence("File changed outside the session", _path(attached))

    def diagnostics(self, attached: AttachmentData) -> str:
        """What a language server found."""
        files = diagnosed_files(attached.files)
        total = sum(count for _, count in files)
        named = [f"{path} ({count})" for path, count in files[:_MOST_FILES]]
        named += [f"{len(files) - _MOST_FILES} more files"] if len(files) > _MOST_FILES else []
        return _sentence(plural(total, "diagnostic"), ", ".join(named)) if total else ""

    def pull_request(self, event: PullRequest) -> str:
        """A pull request; every push links it again."""
        if not event.url or event.url in self._links:
            return ""
        self._links.add(event.url)
        number = f" #{event.number}" if event.number is not None else ""
        place = f" in {event.repository}" if event.repository else ""
        return _sentence(f"Pull request{number}{place}", event.url)


def _stop_reasons(event: System) -> list[str]:
    errors = lenient_json.load_raw(event.hook_errors)
    reasons = [hook_reason(lenient_json.dump(error)) for error in errors] if isinstance(errors, list) else []
    if event.prevented_continuation and event.stop_reason:
        reasons.append(event.stop_reason)
    return list(dict.fromkeys(reasons))


def _path(attached: AttachmentData) -> str:
    return attached.display_path or attached.filename or attached.path or ""


def _words(text: str) -> str:
    return one_line(strip_escapes(text)).strip()


def _sentence(subject: str, about: str) -> str:
    words = _words(about)
    return f"{subject}: {words}" if words else subject


def _always(record: Any) -> bool:
    return True


def _in_full_only(record: Any) -> bool:
    return False


def _with_words(event: System) -> bool:
    """True if hooks said something, and did not merely run."""
    return bool(event.prevented_continuation or hook_reason(event.hook_context) or _stop_reasons(event))


class NoticeRule(NamedTuple):
    """How a record is told."""

    words: Callable[[Notices, Any], str]
    """One line; nothing where there is nothing new."""
    is_told: Callable[[Any], bool] = _in_full_only
    """Whether it is told by default, or only in full."""
    kind: EntryKind = EntryKind.NOTE


ATTACHMENTS: Final[dict[str | None, NoticeRule]] = {
    "hook_blocking_error": NoticeRule(Notices.blocking_hook, _always),
    "hook_non_blocking_error": NoticeRule(Notices.failing_hook, _always),
    "hook_error_during_execution": NoticeRule(Notices.failing_hook, _always),
    "hook_stopped_continuation": NoticeRule(Notices.stopping_hook, _always),
    "plan_mode": NoticeRule(Notices.plan_mode_on),
    "plan_mode_reentry": NoticeRule(Notices.plan_mode_on),
    "plan_mode_exit": NoticeRule(Notices.plan_mode_off),
    "file": NoticeRule(Notices.attached_path),
    "directory": NoticeRule(Notices.attached_path),
    "edited_text_file": NoticeRule(Notices.edited_file),
    "diagnostics": NoticeRule(Notices.diagnostics),
}
"""By the type of the attachment."""

SUBTYPES: Final[dict[str | None, NoticeRule]] = {
    "stop_hook_summary": NoticeRule(Notices.stop_hooks, _with_words),
}
"""By the subtype of a system record."""

RECORDS: Final[dict[type[Event], NoticeRule]] = {
    PullRequest: NoticeRule(Notices.pull_request, _always),
    PermissionMode: NoticeRule(lambda remarks, event: remarks.permission_mode(event.mode)),
}
"""By the type of any other record."""
