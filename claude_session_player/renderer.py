"""`render(state, line)`: one event changes the screen. A handler for each kind of event.

Each handler gives the outcome that the account books for the line.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from claude_session_player import tools
from claude_session_player.format.content import agent_text, joined, result_text, shortened
from claude_session_player.format.events import (
    CONVERSATION,
    NOTHING,
    QUEUED,
    QUIET_RECORDS,
    AnyBlock,
    Assistant,
    Attachment,
    Blank,
    Content,
    Event,
    Malformed,
    Other,
    Progress,
    ProgressData,
    QueueOperation,
    RedactedThinking,
    ServerToolUse,
    System,
    Text,
    Thinking,
    TooLong,
    ToolResult,
    ToolUse,
    Unknown,
    User,
    text_of,
)
from claude_session_player.format.prompts import classify
from claude_session_player.formatter import activity_text
from claude_session_player.line_audit import BLANK, MALFORMED, MERGED, SHOWN, Issue, Outcome, hidden, unknown
from claude_session_player.linking.prompts import PromptQueue
from claude_session_player.models import (
    Activity,
    AssistantText,
    CompactionRule,
    Orphan,
    ScreenElement,
    ScreenState,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    TurnDuration,
    UserMessage,
)
from claude_session_player.parser import parse_object
from claude_session_player.util.text import Cut, clean, last_line, trim_breaks, without_overwritten

if TYPE_CHECKING:
    from collections.abc import Callable

SIDECHAIN: Final = hidden("sidechain")
META: Final = hidden("isMeta")
COMPACT_SUMMARY: Final = hidden("isCompactSummary")
TRANSCRIPT_ONLY: Final = hidden("isVisibleInTranscriptOnly")
NO_ANSWER: Final = hidden("answer without text")
NO_DURATION: Final = hidden("turn_duration without a duration")
COMPACTED: Final = hidden("compact_boundary")
NO_CALL: Final = hidden("progress without a call")
LATE: Final = hidden("progress after the result")

_LOOK_BACK: Final = 1000
"""How many elements are searched for the call that a line names by its uuid."""

NO_CONTENT: Final = "(No content)"
EMPTY: Final = "(Empty)"


def render(state: ScreenState, line: Any) -> ScreenState:
    """Change the screen by one line, a parsed JSON value or an event; gives the same state back.

    >>> state = ScreenState()
    >>> line = {"type": "assistant", "message": {"content": "Good morning."}}
    >>> render(state, line) is state, state.to_markdown(), state.changes.added
    (True, '● Good morning.', range(0, 1))
    """
    handler = _HANDLERS.get(type(line))
    if handler is None:
        line = line if isinstance(line, Event) else parse_object(line)
        handler = _HANDLERS.get(type(line), _quiet)
    event: Event = line
    if not event.line:
        event.line = state.account.last_line + 1
    state.begin()
    if (event.is_sidechain or event.agent_call) and type(event) in CONVERSATION and not state.view.sidechains:
        state.account.add(event.line, SIDECHAIN)
    else:
        state.account.add(event.line, handler(state, event))
    return state


# --- people -----------------------------------------------------------------------------------


def _user(state: ScreenState, event: User) -> Outcome:
    if event.is_meta or event.is_compact_summary or event.is_visible_in_transcript_only:
        return META if event.is_meta else COMPACT_SUMMARY if event.is_compact_summary else TRANSCRIPT_ONLY
    message = event.message
    said = event.content if message is None else message.content
    if type(said) is list and len(said) == 1 and type(said[0]) is ToolResult:  # nine lines of ten
        return _result(state, event, said[0], alone=True)
    if not said or isinstance(said, str):
        return _said(state, event, said)
    rest = [block for block in said if type(block) is not ToolResult]
    is_alone = len(said) - len(rest) == 1
    outcomes = []
    for block in said:  # in the order of the file; the prompt stands where its first block does
        if type(block) is ToolResult:
            outcomes.append(_result(state, event, block, alone=is_alone))
        elif block is rest[0]:
            outcomes.append(_prompt(state, event, joined(rest)))
    return min(outcomes, key=lambda outcome: outcome.fate)


def _attachment(state: ScreenState, event: Attachment) -> Outcome:
    attached = event.attachment
    if attached is None or attached.type != QUEUED:
        return hidden(f"attachment {attached.type}" if attached else "attachment")
    if attached.is_meta:
        return META
    return _said(state, event, attached.prompt)


def _said(state: ScreenState, event: Event, said: Content) -> Outcome:
    """What a person typed, or that there is nothing."""
    if not said and said != "":
        return _show(state, event, UserMessage(EMPTY if said is None else NO_CONTENT))
    return _prompt(state, event, joined(said) if isinstance(said, list) else said)


def _prompt(state: ScreenState, event: Event, text: str) -> Outcome:
    said = classify(text)
    if state.queue is not None:
        _drop_queued(state, said.prompt)
    if said.prompt is not None:
        return _show(state, event, UserMessage(said.prompt))
    for output in said.outputs:
        kept = shortened(output, state.view.result_lines) if said.shorten else (output, Cut.NONE)
        _show(state, event, SystemOutput(*kept))
    return SHOWN if said.outputs else said.hidden_by


def _queue_operation(state: ScreenState, event: QueueOperation) -> Outcome:
    """What a person typed while the model worked, as soon as the model is given it."""
    if not state.view.queued:
        return hidden(event.kind)
    if state.queue is None:
        state.queue = PromptQueue()
    taken = state.queue.operate(event)
    if taken is None:
        return hidden(event.kind)
    return _show(state, event, UserMessage(taken.text or ""))


def _drop_queued(state: ScreenState, prompt: str | None) -> None:
    """Take a queued prompt off the screen, where a line of its own says the same."""
    queued = state.queue.note(prompt)
    if queued is None:
        return
    place = bisect_left(state.elements, queued.line, key=attrgetter("line"))
    if place < len(state.elements) and state.elements[place].line == queued.line:
        state.remove(state.serial(place))


# --- the model --------------------------------------------------------------------------------


def _assistant(state: ScreenState, event: Assistant) -> Outcome:
    message = event.message
    said = event.content if message is None else message.content
    if state.queue is not None:
        state.queue.settle()
    group = event.request_id or (message.id if message is not None else None) or None
    outcome = NO_ANSWER
    for block in [Text(said)] if isinstance(said, str) else said or ():
        element = _BLOCKS.get(type(block), _other)(state, block)
        if element is not None:
            element.request_id = group
            outcome = _show(state, event, element)
            if type(block) in _CALLS:
                _register(state, element)
    state.current_request_id = group
    return outcome


def _text(state: ScreenState, block: Text) -> ScreenElement | None:
    text = clean(block.text or "")
    return AssistantText(trim_breaks(text)) if text and not text.isspace() else None


def _thinking(state: ScreenState, block: Thinking) -> ScreenElement:
    return ThinkingIndicator(trim_breaks(clean(text_of(block.thinking))) if state.view.thinking else "")


def _redacted(state: ScreenState, block: RedactedThinking) -> ScreenElement:
    return ThinkingIndicator()


def _tool_use(state: ScreenState, block: ToolUse) -> ScreenElement:
    name = clean(block.name or "")
    return ToolCall(name, tools.label(name, block.input), id=block.id, input=block.input)


def _other(state: ScreenState, block: AnyBlock) -> ScreenElement:
    return ToolCall(block.kind, input=block.body if isinstance(block, Other) else None)


def _register(state: ScreenState, call: ScreenElement) -> None:
    """Make the last element, a call, findable for its result; give it the result that came too early."""
    assert isinstance(call, ToolCall)
    serial = state.next_serial - 1
    if not call.id:
        state.open_calls.add(serial, call.tool_name, serial)
        return
    if call.id in state.orphans:
        _adopt(state, call, state.orphans.pop(call.id))
    state.calls[call.id] = serial


def _adopt(state: ScreenState, call: ToolCall, orphan: Orphan) -> None:
    """Move a result that stands as a plain line to its call."""
    line = state.elements[state.position(orphan.serial)]
    assert isinstance(line, SystemOutput)
    if call.tool_name in tools.AGENTS:
        call.result, call.cut = orphan.summary, orphan.summary_cut
    else:
        call.result, call.cut = line.text, line.cut
    call.is_error, call.result_line, call.result_timestamp = line.is_error, line.line, line.timestamp
    state.account.rebook(orphan.booking)
    state.remove(orphan.serial)


# --- tools ------------------------------------------------------------------------------------


def _result(state: ScreenState, event: User, result: ToolResult, *, alone: bool) -> Outcome:
    serial = state.calls.get(result.tool_use_id) if result.tool_use_id else _unnamed_call(state, event, result)
    if serial is None:
        return _early_result(state, event, result, alone=alone)
    call = state.own_call(serial)
    if call.tool_name in tools.AGENTS:
        call.result, call.cut = _summary(state, event, result, alone=alone)
    else:
        call.result, call.cut = result_text(result, state.view.result_lines)
    call.is_error = result.is_error is True
    call.activity = None
    call.result_line = event.line
    call.result_timestamp = event.timestamp
    state.touch(serial)
    state.answered.append(serial)
    return MERGED


def _early_result(state: ScreenState, event: User, result: ToolResult, *, alone: bool) -> Outcome:
    """A result without its call stands as a plain line, and waits for the call to come."""
    text, cut = result_text(result, state.view.result_lines)
    if result.tool_use_id:
        if earlier := state.orphans.pop(result.tool_use_id, None):
            state.account.rebook(earlier.booking)
            state.remove(earlier.serial)
        summary = _summary(state, event, result, alone=alone)
        state.orphans[result.tool_use_id] = Orphan(state.next_serial, _booking(state, event), *summary)
    return _show(state, event, SystemOutput(text, cut, is_error=result.is_error is True))


def _booking(state: ScreenState, event: User) -> int | None:
    """The place that a line will have in the account, where it holds nothing but one result."""
    said = event.content if event.message is None else event.message.content
    alone = said is not None and len(said) == 1 and event.line != state.account.last_line
    return state.account.lines if alone else None


def _summary(state: ScreenState, event: User, result: ToolResult, *, alone: bool) -> tuple[str, Cut]:
    structured = event.tool_use_result if alone else NOTHING
    return agent_text(structured, result, state.view.summary_width)


def _unnamed_call(state: ScreenState, event: User, result: ToolResult) -> int | None:
    """The call that a result without a call id answers: the oldest open one of its name, or that of its source."""
    if (oldest := state.open_calls.pop_oldest(result.name)) is not None:
        return oldest
    if event.source_uuid:
        for position in range(max(0, len(state.elements) - _LOOK_BACK), len(state.elements)):
            element = state.elements[position]
            if isinstance(element, ToolCall) and element.uuid == event.source_uuid and element.result is None:
                serial = state.serial(position)
                state.open_calls.discard(serial)
                return serial
    return None


def _progress(state: ScreenState, event: Progress) -> Outcome:
    data = event.data or ProgressData()
    if (activity := _activity(data)) is None:
        return hidden(f"progress {data.type}")
    serial = state.calls.get(event.parent_call or "")
    if serial is None:
        if activity.kind == "waiting":
            return _show(state, event, SystemOutput(f"└ {activity_text(activity, None)}"))
        return NO_CALL
    call = state.elements[state.position(serial)]
    assert isinstance(call, ToolCall)  # only calls are registered
    if call.result is not None:
        return LATE
    if call.activity != activity:
        state.own_call(serial).activity = activity
        state.touch(serial)
    return MERGED


def _activity(data: ProgressData) -> Activity | None:
    """What a progress line reports, if it is of a kind that the screen shows."""
    reader = _ACTIVITIES.get(data.type or "")
    return reader(data) if reader else None


_ACTIVITIES: Final[dict[str, Callable[[ProgressData], Activity]]] = {
    "bash_progress": lambda data: Activity("bash", without_overwritten(last_line(clean(data.full_output or "")))),
    "agent_progress": lambda data: Activity("agent"),
    "hook_progress": lambda data: Activity("hook", clean(data.hook_name or "")),
    "query_update": lambda data: Activity("query", clean(data.query or "")),
    "search_results_received": lambda data: Activity("results", _number(data.result_count)),
    "waiting_for_task": lambda data: Activity("waiting", clean(data.task_description or "")),
}


def _number(value: float | str | None) -> str:
    return "" if value is None else str(value)


# --- the harness ------------------------------------------------------------------------------


def _system(state: ScreenState, event: System) -> Outcome:
    match event.subtype:
        case "turn_duration":
            if event.duration_ms is None:
                return NO_DURATION
            return _show(state, event, TurnDuration(max(int(event.duration_ms), 0)))
        case "compact_boundary":
            return _compaction(state, event)
    return hidden(f"system {event.subtype}" if event.subtype else "system")


def _compaction(state: ScreenState, event: System) -> Outcome:
    if not state.view.history:
        state.clear()
        return COMPACTED
    facts = event.compact_metadata or event.stream_compaction
    trigger, tokens = (facts.trigger, facts.pre_tokens) if facts else (None, None)
    return _show(state, event, CompactionRule(trigger, tokens))


def _quiet(state: ScreenState, event: Event) -> Outcome:
    """A record that has no look of its own on the screen."""
    return hidden(event.kind)


def _unknown(state: ScreenState, event: Unknown) -> Outcome:
    state.account.unknown_events[event.name] += 1
    state.account.first_seen.setdefault(event.name, event.line)
    return unknown(event.name)


def _malformed(state: ScreenState, event: Malformed) -> Outcome:
    state.account.issues.append(Issue(event.line, event.offset, event.reason))
    return MALFORMED


def _too_long(state: ScreenState, event: TooLong) -> Outcome:
    """A mark takes the place of the line, so that nobody misses it in silence."""
    _show(state, event, SystemOutput(f"Line {event.line}: {event.reason}", is_error=True))
    return _malformed(state, event)


def _blank(state: ScreenState, event: Blank) -> Outcome:
    return BLANK


def _show(state: ScreenState, event: Event, element: ScreenElement) -> Outcome:
    element.line, element.timestamp, element.uuid = event.line, event.timestamp, event.uuid
    state.elements.append(element)
    return SHOWN


_CALLS: Final = (ToolUse, ServerToolUse)

_BLOCKS: Final[dict[type, Callable[[ScreenState, Any], ScreenElement | None]]] = {
    Text: _text,
    Thinking: _thinking,
    RedactedThinking: _redacted,
    ToolUse: _tool_use,
    ServerToolUse: _tool_use,
}

_HANDLERS: Final[dict[type, Callable[[ScreenState, Any], Outcome]]] = {
    User: _user,
    Assistant: _assistant,
    System: _system,
    Progress: _progress,
    Attachment: _attachment,
    Unknown: _unknown,
    Malformed: _malformed,
    TooLong: _too_long,
    Blank: _blank,
    **dict.fromkeys(QUIET_RECORDS, _quiet),
    QueueOperation: _queue_operation,
}
