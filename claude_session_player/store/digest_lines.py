"""What a digest takes from each kind of line: at a glance, or from the event where that is worth it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from claude_session_player.events import (
    QUEUED,
    TITLES,
    Assistant,
    Attachment,
    Blank,
    CallLine,
    Event,
    LegacyMessage,
    Malformed,
    Metadata,
    Progress,
    QueueOperation,
    ResultLine,
    System,
    Title,
    TooLong,
    ToolResult,
    ToolUse,
    UsageLine,
    User,
    tag_of,
)
from claude_session_player.glances import (
    Glance,
    GlancedBlock,
    GlancedInput,
    GlancedOutcome,
)
from claude_session_player.linking.agent_records import (
    AGENT_PROGRESS,
    agent_call,
    gives_prompt,
    named_agents,
)
from claude_session_player.linking.copies import response_id
from claude_session_player.linking.titles import note_title
from claude_session_player.store.responses import LINE
from claude_session_player.tools import AGENTS

if TYPE_CHECKING:
    from claude_session_player.store.digest import Digest

_TOOL_RESULT: Final = tag_of(ToolResult)
_MENTION: Final = b"agentId:"
"""What a result holds that names a sub-agent in its text."""


# --- at a glance: takes in what there is, and tells whether it is worth to look closer ----------------


def _look_at_answer(digest: Digest, seen: Glance, line: bytes) -> bool:
    message, request, voice = seen.message, seen.request_id, digest.main
    if digest.queue.taken and digest.owns(seen):
        digest.settle_queue()
    if voice.repeats:
        digest.look_for_copies(message.id if message is not None else None, request)
    if message is None or not (message.id or request):
        return True
    blocks = message.content
    is_worth_more = type(blocks) is list and (len(blocks) != 1 or _may_start_agent(blocks[0]))
    if not is_worth_more and voice.last != (message.id, request, message.model, message.usage):  # most say the same
        digest.answers[response_id(message.id, request) or ""] = None
        voice.answer(message, request, seen.timestamp, with_model=digest.owns(seen))
    return is_worth_more


def _may_start_agent(block: GlancedBlock) -> bool:
    """True for a call of a tool that starts sub-agents, or that is given a prompt."""
    given = block.input
    return block.name in AGENTS or (type(given) is GlancedInput and len(given.prompt) > 0)


def _look_at_user(digest: Digest, seen: Glance, line: bytes) -> bool:
    """Nine lines of ten are results of tools; few of them name a sub-agent."""
    blocks = seen.message.content if seen.message is not None else None
    if type(blocks) is not list or len(blocks) != 1 or blocks[0].type != _TOOL_RESULT:
        return True
    outcome = seen.tool_use_result
    if type(outcome) is GlancedOutcome:
        return outcome.agent_id is not None or blocks[0].tool_use_id in digest.call_ids
    return _MENTION in line


def _look_at_attachment(digest: Digest, seen: Glance, line: bytes) -> bool:
    return seen.attachment is not None and seen.attachment.type == QUEUED


def look_at_progress(digest: Digest, seen: Glance, line: bytes) -> bool:
    """True where a sub-agent reports."""
    return seen.data is not None and seen.data.type == AGENT_PROGRESS


def _look_at_remark(digest: Digest, seen: Glance, line: bytes) -> bool:
    return seen.model is not None


def _look_closer(digest: Digest, seen: Glance, line: bytes) -> bool:
    return True


LOOKS: Final[dict[str | None, Callable[[Digest, Glance, bytes], bool]]] = {
    tag_of(Assistant): _look_at_answer,
    tag_of(User): _look_at_user,
    tag_of(Attachment): _look_at_attachment,
    tag_of(System): _look_at_remark,
    tag_of(Progress): look_at_progress,
    **{tag_of(kind): _look_closer for kind in (*TITLES, Metadata, UsageLine, LegacyMessage, CallLine, ResultLine)},
    tag_of(QueueOperation): _look_closer,
}


# --- one event at a time --------------------------------------------------------------------------


def _take_user(digest: Digest, event: User) -> None:
    content = event.said
    if type(content) is list:
        digest.main.events += max(len(content) - 1, 0)
        for block in content:
            if type(block) is ToolResult and block.tool_use_id:
                is_agent_tool = block.tool_use_id in digest.call_ids
                for naming in named_agents(event.tool_use_result, block, is_agent_tool=is_agent_tool):
                    digest.note_agent(block.tool_use_id, naming)


def _take_assistant(digest: Digest, event: Assistant) -> None:
    content = event.said
    if type(content) is list:
        digest.main.events += max(len(content) - 1, 0)
        for block in content:
            if type(block) is ToolUse and (block.name in AGENTS or gives_prompt(block)):
                digest.calls.append(agent_call(block))
                if block.name in AGENTS:
                    digest.call_ids[block.id or ""] = None
    if digest.owns(event):
        digest.settle_queue()
    if digest.main.repeats:
        digest.look_for_copies(event.message.id if event.message is not None else None, event.request_id)
    digest.answers[response_id(event.message.id if event.message is not None else None, event.request_id) or ""] = None
    if event.message is not None:
        is_own, place = digest.owns(event), place_of(event)
        digest.main.answer(event.message, event.request_id, event.timestamp, place, with_model=is_own)


def _take_progress(digest: Digest, event: Progress) -> None:
    if event.data is not None and event.data.agent_id:
        digest.take_report(event, event.data.agent_id)


def _take_title(digest: Digest, event: Title) -> None:
    note_title(digest.titles, event.kind, event.title)


def _take_queue(digest: Digest, event: QueueOperation) -> None:
    digest.queue.operate(event)


def _take_model(digest: Digest, event: System | Metadata) -> None:
    if event.model:
        digest.main.use(event.model)


def _take_usage(digest: Digest, event: UsageLine) -> None:
    tokens = (
        event.input_tokens or 0,
        event.output_tokens or 0,
        event.cache_creation_tokens or 0,
        event.cache_read_tokens or 0,
        0,
    )
    model = next(reversed(digest.main.models), None)
    digest.main.count(place_of(event), tokens, model, event.timestamp)


def _take_malformed(digest: Digest, event: Malformed) -> None:
    digest.malformed += 1


def _take_blank(digest: Digest, event: Blank) -> None:
    digest.main.events -= 1


TAKERS: Final[dict[type[Event], Callable[[Digest, Any], None]]] = {
    User: _take_user,
    Assistant: _take_assistant,
    Progress: _take_progress,
    QueueOperation: _take_queue,
    System: _take_model,
    Metadata: _take_model,
    UsageLine: _take_usage,
    Malformed: _take_malformed,
    TooLong: _take_malformed,
    Blank: _take_blank,
    **dict.fromkeys(TITLES, _take_title),
}


def place_of(event: Event) -> str:
    """What a line is known by: in copies of a file too, where it has a uuid."""
    return f"\0uuid {event.uuid}" if event.uuid else f"{LINE}{event.line}"
