"""`render(state, line)` changes the screen by one event. Each type of event has a handler.

A handler returns the outcome of the line for the account of lines.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from claude_session_player import tools
from claude_session_player.format.blocks import (
    NOTHING,
    AnyBlock,
    Content,
    RedactedThinking,
    ServerToolUse,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UnknownBlock,
    raw_as_text,
)
from claude_session_player.format.content import (
    agent_text,
    join_texts,
    result_text,
    shorten_lines,
)
from claude_session_player.format.events import (
    CONVERSATION,
    QUEUED,
    QUIET_RECORDS,
    Assistant,
    Attachment,
    Blank,
    Event,
    Malformed,
    Progress,
    ProgressData,
    QueueOperation,
    System,
    TooLong,
    UnknownRecord,
    User,
)
from claude_session_player.format.prompts import classify_prompt
from claude_session_player.formatter import activity_text
from claude_session_player.line_audit import (
    BLANK,
    MALFORMED,
    MERGED,
    SHOWN,
    LineIssue,
    LineOutcome,
    hidden_by_rule,
    unknown_type,
)
from claude_session_player.linking.notices import RECORDS, SUBTYPES, NoticeRule
from claude_session_player.linking.prompts import PromptQueue, sender_of
from claude_session_player.models import (
    AssistantText,
    CompactionRule,
    Note,
    OrphanResult,
    PeerMessage,
    ScreenElement,
    ScreenState,
    SystemOutput,
    ThinkingIndicator,
    ToolActivity,
    ToolCall,
    TurnDuration,
    UserMessage,
)
from claude_session_player.parser import parse_object
from claude_session_player.renderer.details import (
    add_brief,
    add_hook,
    add_server_result,
    agent_step,
    attachment_rule,
    failed_request,
    notice_words,
    summary_note,
    system_note,
    whole_reply,
)
from claude_session_player.util.text import Cut, drop_overwritten, last_line, strip_escapes, trim_breaks

if TYPE_CHECKING:
    from collections.abc import Callable

SIDECHAIN: Final = hidden_by_rule("sidechain")
META: Final = hidden_by_rule("isMeta")
COMPACT_SUMMARY: Final = hidden_by_rule("isCompactSummary")
TRANSCRIPT_ONLY: Final = hidden_by_rule("isVisibleInTranscriptOnly")
NO_TEXT: Final = hidden_by_rule("answer without text")
NO_DURATION: Final = hidden_by_rule("turn_duration without a duration")
COMPACTED: Final = hidden_by_rule("compact_boundary")
NO_CALL: Final = hidden_by_rule("progress without a call")
LATE: Final = hidden_by_rule("progress after the result")

_LOOK_BACK: Final = 1000
"""The number of elements that are searched for a call by the uuid of its line."""

NO_CONTENT: Final = "(No content)"
EMPTY: Final = "(Empty)"


def render(state: ScreenState, line: Any) -> ScreenState:
    """Change the screen by one line, a parsed JSON value or an event; returns the same state.

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


# --- user records ------------------------------------------------------------------------------


def _user(state: ScreenState, event: User) -> LineOutcome:
    if event.is_compact_summary and state.view.notices and (note := summary_note(event)):
        return _show(state, event, note)
    if event.is_meta or event.is_compact_summary or event.is_visible_in_transcript_only:
        return META if event.is_meta else COMPACT_SUMMARY if event.is_compact_summary else TRANSCRIPT_ONLY
    message = event.message
    content = event.content if message is None else message.content
    if type(content) is list and len(content) == 1 and type(content[0]) is ToolResult:  # nine lines of ten
        return _result(state, event, content[0], alone=True)
    if not content or isinstance(content, str):
        return _user_content(state, event, content)
    rest = [block for block in content if type(block) is not ToolResult]
    is_alone = len(content) - len(rest) == 1
    outcomes = []
    for block in content:  # in the order of the file; the prompt takes the place of its first block
        if type(block) is ToolResult:
            outcomes.append(_result(state, event, block, alone=is_alone))
        elif block is rest[0]:
            outcomes.append(_prompt(state, event, join_texts(rest)))
    return min(outcomes, key=lambda outcome: outcome.status)


def _attachment(state: ScreenState, event: Attachment) -> LineOutcome:
    attached = event.attachment
    if attached is None:
        return hidden_by_rule("attachment")
    if attached.type != QUEUED:
        rule = attachment_rule(attached.type) if state.view.notices else None
        outcome = _notice(state, event, attached, rule) if rule else None
        return outcome or hidden_by_rule(f"attachment {attached.type}")
    if attached.is_meta:
        return META
    return _user_content(state, event, attached.prompt)


def _user_content(state: ScreenState, event: Event, content: Content) -> LineOutcome:
    """What a person typed, or a placeholder for nothing."""
    if not content and content != "":
        return _show(state, event, UserMessage(EMPTY if content is None else NO_CONTENT))
    return _prompt(state, event, join_texts(content) if isinstance(content, list) else content)


def _prompt(state: ScreenState, event: Event, text: str) -> LineOutcome:
    classified = classify_prompt(text)
    if state.queue is not None:
        _remove_queued(state, classified.prompt)
    if classified.prompt is not None:
        sender = sender_of(event, text) if state.view.notices else None
        element = UserMessage(classified.prompt) if sender is None else PeerMessage(classified.prompt, sender)
        return _show(state, event, element)
    for output in classified.outputs:
        shortened = shorten_lines(output, state.view.result_lines) if classified.shorten else (output, Cut.NONE)
        _show(state, event, SystemOutput(*shortened))
    return SHOWN if classified.outputs else classified.hidden_by


def _queue_operation(state: ScreenState, event: QueueOperation) -> LineOutcome:
    """What a person typed while the model worked, shown as soon as the model receives it."""
    if not state.view.queued:
        return hidden_by_rule(event.kind)
    if state.queue is None:
        state.queue = PromptQueue()
    prompt = state.queue.operate(event)
    if prompt is None:
        return hidden_by_rule(event.kind)
    return _show(state, event, UserMessage(prompt.text or ""))


def _remove_queued(state: ScreenState, prompt: str | None) -> None:
    """Remove a queued prompt from the screen, if a line of its own holds the same."""
    queued = state.queue.note(prompt)
    if queued is None:
        return
    position = bisect_left(state.elements, queued.line, key=attrgetter("line"))
    if position < len(state.elements) and state.elements[position].line == queued.line:
        state.remove(state.serial(position))


# --- assistant records -------------------------------------------------------------------------


def _assistant(state: ScreenState, event: Assistant) -> LineOutcome:
    message = event.message
    content = event.content if message is None else message.content
    if state.queue is not None:
        state.queue.settle()
    group = event.request_id or (message.id if message is not None else None) or None
    if event.is_api_error and state.view.notices:
        return _show(state, event, failed_request(event, content))
    outcome = NO_TEXT
    for block in [Text(content)] if isinstance(content, str) else content or ():
        if state.view.briefs and type(block) is UnknownBlock and add_server_result(state, event, block):
            outcome = MERGED
            continue
        element = _BLOCKS.get(type(block), _other_block)(state, block)
        if element is not None:
            element.request_id = group
            outcome = _show(state, event, element)
            if type(block) in _CALLS:
                _register(state, element)
    state.current_request_id = group
    return outcome


def _text(state: ScreenState, block: Text) -> ScreenElement | None:
    text = strip_escapes(block.text or "")
    return AssistantText(trim_breaks(text)) if text and not text.isspace() else None


def _thinking(state: ScreenState, block: Thinking) -> ScreenElement:
    return ThinkingIndicator(trim_breaks(strip_escapes(raw_as_text(block.thinking))) if state.view.thinking else "")


def _redacted(state: ScreenState, block: RedactedThinking) -> ScreenElement:
    return ThinkingIndicator()


def _tool_use(state: ScreenState, block: ToolUse) -> ScreenElement:
    name = strip_escapes(block.name or "")
    return ToolCall(name, tools.label(name, block.input), id=block.id, input=block.input)


def _other_block(state: ScreenState, block: AnyBlock) -> ScreenElement:
    return ToolCall(block.kind, input=block.body if isinstance(block, UnknownBlock) else None)


def _register(state: ScreenState, call: ScreenElement) -> None:
    """Note the last element as a call that awaits its result, or give it the result that came before it."""
    assert isinstance(call, ToolCall)
    serial = state.next_serial - 1
    if not call.id:
        state.open_calls.add(serial, call.tool_name, serial)
        return
    if call.id in state.orphans:
        _adopt(state, call, state.orphans.pop(call.id))
    state.calls[call.id] = serial


def _adopt(state: ScreenState, call: ToolCall, orphan: OrphanResult) -> None:
    """Move a result that is shown as plain lines to its call."""
    line = state.elements[state.position(orphan.serial)]
    assert isinstance(line, SystemOutput)
    if call.tool_name in tools.AGENTS:
        call.result, call.cut = orphan.summary, orphan.summary_cut
    else:
        call.result, call.cut = line.text, line.cut
    if orphan.reply is not None:
        add_brief(state, call, orphan.reply)
    call.is_error, call.result_line, call.result_timestamp = line.is_error, line.line, line.timestamp
    state.account.mark_merged(orphan.audit_position)
    state.remove(orphan.serial)


# --- tool results and progress ----------------------------------------------------------------


def _result(state: ScreenState, event: User, result: ToolResult, *, alone: bool) -> LineOutcome:
    serial = state.calls.get(result.tool_use_id) if result.tool_use_id else _unnamed_call(state, event, result)
    if serial is None:
        return _early_result(state, event, result, alone=alone)
    call = state.mutable_call(serial)
    if call.tool_name in tools.AGENTS:
        call.result, call.cut = _summary(state, event, result, alone=alone)
    else:
        call.result, call.cut = result_text(result, state.view.result_lines)
    if state.view.briefs:
        add_brief(state, call, whole_reply(call.tool_name, event, result, alone=alone))
    call.is_error = result.is_error is True
    call.activity = None
    call.result_line = event.line
    call.result_timestamp = event.timestamp
    state.touch(serial)
    state.answered.append(serial)
    return MERGED


def _early_result(state: ScreenState, event: User, result: ToolResult, *, alone: bool) -> LineOutcome:
    """A result without its call is shown as plain lines, until its call comes."""
    text, cut = result_text(result, state.view.result_lines)
    if result.tool_use_id:
        if earlier := state.orphans.pop(result.tool_use_id, None):
            state.account.mark_merged(earlier.audit_position)
            state.remove(earlier.serial)
        summary = _summary(state, event, result, alone=alone)
        reply = whole_reply(result.name or "", event, result, alone=alone) if state.view.briefs else None
        position = _audit_position(state, event)
        state.orphans[result.tool_use_id] = OrphanResult(state.next_serial, position, *summary, reply)
    return _show(state, event, SystemOutput(text, cut, is_error=result.is_error is True))


def _audit_position(state: ScreenState, event: User) -> int | None:
    """The position that a line will have in the account of lines, if it holds nothing but one result."""
    content = event.content if event.message is None else event.message.content
    is_alone = content is not None and len(content) == 1 and event.line != state.account.last_line
    return state.account.lines if is_alone else None


def _summary(state: ScreenState, event: User, result: ToolResult, *, alone: bool) -> tuple[str, Cut]:
    structured = event.tool_use_result if alone else NOTHING
    return agent_text(structured, result, state.view.summary_width)


def _unnamed_call(state: ScreenState, event: User, result: ToolResult) -> int | None:
    """The call of a result without a call id: the oldest open one of its tool, or the one of its source line."""
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


def _progress(state: ScreenState, event: Progress) -> LineOutcome:
    data = event.data or ProgressData()
    activity = _activity(data)
    if state.view.notices and activity is not None and activity.kind == "agent":
        activity = agent_step(state, event)
    if activity is None:
        return hidden_by_rule(f"progress {data.type}")
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
        state.mutable_call(serial).activity = activity
        state.touch(serial)
    return MERGED


def _activity(data: ProgressData) -> ToolActivity | None:
    """What a progress line reports, if the screen shows progress of this type."""
    reader = _ACTIVITIES.get(data.type or "")
    return reader(data) if reader else None


_ACTIVITIES: Final[dict[str, Callable[[ProgressData], ToolActivity]]] = {
    "bash_progress": lambda data: ToolActivity(
        "bash", drop_overwritten(last_line(strip_escapes(data.full_output or "")))
    ),
    "agent_progress": lambda data: ToolActivity("agent"),
    "hook_progress": lambda data: ToolActivity("hook", strip_escapes(data.hook_name or "")),
    "query_update": lambda data: ToolActivity("query", strip_escapes(data.query or "")),
    "search_results_received": lambda data: ToolActivity(
        "results", "" if data.result_count is None else str(data.result_count)
    ),
    "waiting_for_task": lambda data: ToolActivity("waiting", strip_escapes(data.task_description or "")),
}


# --- other records ----------------------------------------------------------------------------


def _system(state: ScreenState, event: System) -> LineOutcome:
    match event.subtype:
        case "turn_duration":
            if event.duration_ms is None:
                return NO_DURATION
            return _show(state, event, TurnDuration(max(int(event.duration_ms), 0)))
        case "compact_boundary":
            return _compaction(state, event)
    if state.view.notices and (outcome := _system_notice(state, event)):
        return outcome
    return hidden_by_rule(f"system {event.subtype}" if event.subtype else "system")


def _compaction(state: ScreenState, event: System) -> LineOutcome:
    if not state.view.history:
        state.clear()
        return COMPACTED
    facts = event.compact_metadata or event.stream_compaction
    trigger, tokens = (facts.trigger, facts.pre_tokens) if facts else (None, None)
    return _show(state, event, CompactionRule(trigger, tokens))


def _system_notice(state: ScreenState, event: System) -> LineOutcome | None:
    """What views with notices show of a system record: failed requests, hooks, commands, recaps and warnings."""
    if rule := SUBTYPES.get(event.subtype):
        return _notice(state, event, event, rule)
    if event.subtype == "local_command":
        return _prompt(state, event, raw_as_text(event.content))
    note = system_note(event)
    return None if note is None else _show(state, event, note)


def _notice(state: ScreenState, event: Event, source: Any, rule: NoticeRule) -> LineOutcome | None:
    """Show the notice of a record, or add it to the call that a hook ran for; `None` if there is nothing to say."""
    words = notice_words(state, source, rule)
    if not words:
        return None
    if not rule.is_error and add_hook(state, getattr(source, "call_id", None), words):
        return MERGED
    last = state.elements[-1] if state.elements else None
    if isinstance(last, Note) and last.text == words:  # each hook that ran says the same
        return MERGED
    return _show(state, event, Note(words, is_error=rule.is_error))


def _quiet(state: ScreenState, event: Event) -> LineOutcome:
    """A record that the screen does not show, unless it has a notice."""
    rule = RECORDS.get(type(event)) if state.view.notices else None
    return (_notice(state, event, event, rule) if rule else None) or hidden_by_rule(event.kind)


def _unknown(state: ScreenState, event: UnknownRecord) -> LineOutcome:
    state.account.unknown_events[event.kind] += 1
    state.account.first_seen.setdefault(event.kind, event.line)
    return unknown_type(event.kind)


def _malformed(state: ScreenState, event: Malformed) -> LineOutcome:
    state.account.issues.append(LineIssue(event.line, event.offset, event.reason))
    return MALFORMED


def _too_long(state: ScreenState, event: TooLong) -> LineOutcome:
    """A message takes the place of the line, so that it is not lost silently."""
    _show(state, event, SystemOutput(f"Line {event.line}: {event.reason}", is_error=True))
    return _malformed(state, event)


def _blank(state: ScreenState, event: Blank) -> LineOutcome:
    return BLANK


def _show(state: ScreenState, event: Event, element: ScreenElement) -> LineOutcome:
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

_HANDLERS: Final[dict[type, Callable[[ScreenState, Any], LineOutcome]]] = {
    User: _user,
    Assistant: _assistant,
    System: _system,
    Progress: _progress,
    Attachment: _attachment,
    UnknownRecord: _unknown,
    Malformed: _malformed,
    TooLong: _too_long,
    Blank: _blank,
    **dict.fromkeys(QUIET_RECORDS, _quiet),
    QueueOperation: _queue_operation,
}
