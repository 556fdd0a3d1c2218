"""Events as flat dictionaries for scripts: a prompt, a response, thinking, a tool call, a tool result, progress.

A record with several blocks becomes several dictionaries, one without blocks becomes one, in the order of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from claude_session_player.format.blocks import (
    AnyBlock,
    RedactedThinking,
    ServerToolUse,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UnknownBlock,
    raw_as_text,
)
from claude_session_player.format.content import join_texts, result_text
from claude_session_player.format.events import (
    Assistant,
    Attachment,
    Blank,
    Event,
    Malformed,
    MessageEvent,
    Progress,
    System,
    Title,
    TooLong,
    UnknownRecord,
    User,
)
from claude_session_player.linking.prompts import human_prompt
from claude_session_player.util.text import strip_escapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def count_flat_events(event: Event) -> int:
    """The number of dictionaries that `flatten_event` returns for an event.

    >>> events = [User(content="Hi"), Assistant(content=[Text("a"), Text("b")]), Blank()]
    >>> [count_flat_events(event) for event in events]
    [1, 2, 0]
    """
    if isinstance(event, MessageEvent) and type(content := event.message_content) is list:
        return len(content) or 1
    return 0 if type(event) is Blank else 1


def flatten_event(event: Event) -> Iterator[dict[str, Any]]:
    """One event as dictionaries, one for each block.

    >>> [fact["type"] for fact in flatten_event(Assistant(content=[Text("Let me look."), ToolUse("t1", "Bash", {})]))]
    ['assistant', 'tool_use']
    """
    if type(event) is Blank:
        return
    envelope = {"line": event.line, "timestamp": event.timestamp, "uuid": event.uuid, "parent_uuid": event.parent_uuid}
    if event.is_sidechain or event.agent_call:
        envelope["sidechain"] = True
    for facts in _facts(event):
        yield {"type": facts.pop("type"), **envelope, **facts}


def _facts(event: Event) -> Iterator[dict[str, Any]]:
    if isinstance(event, MessageEvent):
        yield from _message_facts(event)
        return
    describe = _DESCRIPTIONS.get(type(event))
    if describe is None and isinstance(event, Title):
        describe = _title
    yield {"type": event.kind} if describe is None else describe(event)


def _message_facts(event: MessageEvent) -> Iterator[dict[str, Any]]:
    content = event.message_content
    blocks: list[AnyBlock] = content if isinstance(content, list) else [Text(content)]
    human = human_prompt(event) is not None
    for block in blocks or [Text()]:
        facts = _BLOCKS.get(type(block), _other)(block)
        if facts["type"] == "text":
            facts["type"] = event.kind
            if isinstance(event, User):
                facts["human"] = human
        if isinstance(event, Assistant):
            message = event.message
            facts["model"] = message.model if message else None
            facts["request_id"] = event.request_id or (message.id if message else None)
        yield facts


# --- blocks -----------------------------------------------------------------------------------


def _text(block: Text) -> dict[str, Any]:
    return {"type": "text", "text": block.text or ""}


def _thinking(block: Thinking) -> dict[str, Any]:
    return {"type": "thinking", "text": raw_as_text(block.thinking)}


def _redacted(block: RedactedThinking) -> dict[str, Any]:
    return {"type": "thinking", "text": "", "redacted": True}


def _tool_use(block: ToolUse) -> dict[str, Any]:
    return {"type": "tool_use", "tool_use_id": block.id, "name": block.name, "input": block.input}


def _tool_result(block: ToolResult) -> dict[str, Any]:
    text, _ = result_text(block, None)
    return {"type": "tool_result", "tool_use_id": block.tool_use_id, "text": text, "is_error": bool(block.is_error)}


def _other(block: Any) -> dict[str, Any]:
    return {"type": "block", "name": block.kind, "body": block.body if isinstance(block, UnknownBlock) else None}


_BLOCKS: Final[dict[type[Any], Callable[[Any], dict[str, Any]]]] = {
    Text: _text,
    Thinking: _thinking,
    RedactedThinking: _redacted,
    ToolUse: _tool_use,
    ServerToolUse: _tool_use,
    ToolResult: _tool_result,
}


# --- records without a message ------------------------------------------------------------------


def _progress(event: Progress) -> dict[str, Any]:
    data = event.data
    text = (
        next((t for t in (data.full_output, data.query, data.task_description, data.hook_name) if t), "")
        if data
        else ""
    )
    return {
        "type": "progress",
        "name": data.type if data else None,
        "tool_use_id": event.parent_call,
        "text": strip_escapes(text),
    }


def _system(event: System) -> dict[str, Any]:
    compaction = event.compact_metadata or event.stream_compaction
    facts = {
        "type": "system",
        "name": event.subtype,
        "text": raw_as_text(event.content),
        "duration_ms": event.duration_ms,
    }
    if compaction is not None:
        facts |= {"trigger": compaction.trigger, "tokens": compaction.pre_tokens}
    return facts


def _attachment(event: Attachment) -> dict[str, Any]:
    attached = event.attachment
    prompt = attached.prompt if attached else None
    return {
        "type": "attachment",
        "name": attached.type if attached else None,
        "text": join_texts(prompt) if isinstance(prompt, list) else prompt or "",
        "human": human_prompt(event) is not None,
    }


def _title(event: Title) -> dict[str, Any]:
    return {"type": event.kind, "text": event.title or ""}


def _unknown(event: UnknownRecord) -> dict[str, Any]:
    return {"type": "unknown", "name": event.kind}


def _malformed(event: Malformed) -> dict[str, Any]:
    return {"type": "malformed", "offset": event.offset, "reason": event.reason}


_DESCRIPTIONS: Final[dict[type[Event], Callable[[Any], dict[str, Any]]]] = {
    Progress: _progress,
    System: _system,
    Attachment: _attachment,
    UnknownRecord: _unknown,
    Malformed: _malformed,
    TooLong: _malformed,
}
