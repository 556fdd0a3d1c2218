"""What only richer views keep: notices, hooks, failed requests, the steps of sub-agents, and results at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from claude_session_player import tools
from claude_session_player.format.blocks import NOTHING, Content, ToolResult, ToolUse, UnknownBlock, raw_as_text
from claude_session_player.format.content import join_texts, message_content, shorten_lines
from claude_session_player.format.events import FAILED_REQUESTS, Assistant, Progress, System, User
from claude_session_player.linking.agent_records import reported_events
from claude_session_player.linking.notices import ATTACHMENTS, PASSING_HOOKS, NoticeRule, Notices, failure_reason
from claude_session_player.linking.task_list import TASK_TOOLS, TaskList
from claude_session_player.models import AssistantText, Note, ScreenState, ToolActivity, ToolCall
from claude_session_player.tools.brief import DONE_ITEMS, LIST_ITEMS
from claude_session_player.tools.parts import ToolReply
from claude_session_player.util.text import strip_escapes, trim_breaks

if TYPE_CHECKING:
    from collections.abc import Iterator


_SERVER_RESULT: Final = "_tool_result"
"""How the types of blocks end that hold the results of tools that ran on the server."""
_VISIBLE_LEVELS: Final = frozenset(("warning", "error"))
"""The levels of system records that are shown."""

# --- results at a glance ------------------------------------------------------------------------


def whole_reply(name: str, event: User, result: ToolResult, *, alone: bool) -> ToolReply:
    """The whole result of a tool, for what it shows of it."""
    return tools.read_reply(name, result, event.tool_use_result if alone else NOTHING)[0]


def add_brief(state: ScreenState, call: ToolCall, reply: ToolReply) -> None:
    """Keep what the tool of a call shows of its result; of a task, the whole list as it stands now."""
    if call.tool_name not in TASK_TOOLS or reply.is_error:
        call.brief = tools.call_brief(call.tool_name, call.input, reply)
        return
    if state.tasks is None:
        state.tasks = TaskList()
    state.tasks.note(call.tool_name, call.input, reply.structured, reply.text)
    tasks, above, below = state.tasks.around_work(DONE_ITEMS, LIST_ITEMS)
    items = [{"content": f"#{number} {task.subject}", "status": task.status} for number, task in tasks]
    call.brief = tools.list_brief(items, above, below, reply)


def add_server_result(state: ScreenState, event: Assistant, block: UnknownBlock) -> bool:
    """Add the result of a tool that ran on the server to its call; false if it is none, or its call is unknown."""
    body = block.body
    if not block.kind.endswith(_SERVER_RESULT) or not isinstance(body, dict):
        return False
    serial = state.calls.get(str(body.get("tool_use_id")))
    if serial is None:
        return False
    content = body.get("content")
    is_error = isinstance(content, dict) and str(content.get("type", "")).endswith("_error")
    call = state.mutable_call(serial)
    text = "\n".join(_server_texts(content))
    call.result, call.cut = shorten_lines(text, state.view.result_lines)
    call.is_error, call.activity = is_error, None
    call.brief = tools.call_brief(call.tool_name, call.input, ToolReply(text, is_error))
    call.result_line, call.result_timestamp = event.line, event.timestamp
    state.touch(serial)
    state.answered.append(serial)
    return True


def _server_texts(content: Any) -> Iterator[str]:
    """What a person can read of the content: texts, pages with their addresses, error codes; nothing encrypted."""
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, dict):
            said = [item.get(key) for key in ("title", "url", "text", "error_code")]
            words = "  ".join(strip_escapes(one) for one in said if isinstance(one, str) and one)
            if words:
                yield words
        elif isinstance(item, str):
            yield strip_escapes(item)


# --- sub-agents ---------------------------------------------------------------------------------


def agent_step(state: ScreenState, event: Progress) -> ToolActivity:
    """The tool that a sub-agent uses now, and how many it has used."""
    serial = state.calls.get(event.parent_call or "")
    call = None if serial is None else state.elements[state.position(serial)]
    activity = call.activity if isinstance(call, ToolCall) else None
    activity = activity or ToolActivity("agent")
    for inner in reported_events(event):
        for block in (message_content(inner) or ()) if isinstance(inner, Assistant) else ():
            if isinstance(block, ToolUse):
                name = strip_escapes(block.name or "")
                words = f"{tools.display_name(name)} {tools.label(name, block.input)}".strip()
                activity = ToolActivity("agent", words, activity.steps + 1)
    return activity


# --- notices ------------------------------------------------------------------------------------


def attachment_rule(kind: str | None) -> NoticeRule | None:
    """How an attachment is shown; `None` if it is not."""
    return ATTACHMENTS.get(kind) or PASSING_HOOKS.get(kind)


def notice_words(state: ScreenState, source: Any, rule: NoticeRule) -> str:
    """The words of a notice; empty if there is nothing new to say."""
    if state.notices is None:
        state.notices = Notices()
    return rule.words(state.notices, source) if rule.is_shown(source) else ""


def add_hook(state: ScreenState, call_id: str | None, words: str) -> bool:
    """Add what a hook said to the call that it ran for; false if that call is not on the screen."""
    serial = state.calls.get(call_id or "")
    if serial is None:
        return False
    call = state.mutable_call(serial)
    call.hooks = (*call.hooks, words)
    state.touch(serial)
    return True


def system_note(event: System) -> Note | None:
    """A failed request, a recap or a warning; `None` for records that say nothing."""
    if event.subtype in FAILED_REQUESTS:
        return Note(f"Request failed: {failure_reason(event.content, event.error)}", is_error=True)
    text = trim_breaks(strip_escapes(raw_as_text(event.content)))
    if not text.strip() or (event.subtype != "away_summary" and event.level not in _VISIBLE_LEVELS):
        return None
    return Note(text, is_error=event.level == "error")


def summary_note(event: User) -> Note | None:
    """What the model is told of the conversation before a compaction."""
    content = message_content(event)
    text = trim_breaks(strip_escapes(join_texts(content) if isinstance(content, list) else content or ""))
    return Note(text, is_summary=True) if text.strip() else None


def failed_request(event: Assistant, content: Content) -> AssistantText:
    """The message that Claude Code wrote because a request failed."""
    text = join_texts(content) if isinstance(content, list) else content or failure_reason(NOTHING, event.error)
    return AssistantText(trim_breaks(strip_escapes(text)), is_error=True)
