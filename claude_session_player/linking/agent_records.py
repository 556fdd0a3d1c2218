"""Reads the evidence for `subagents`: calls that start sub-agents, and results and progress that name them.

A module of its own, because `list` needs `subagents`, and would start later with the decoders that this one needs.
"""

from __future__ import annotations

import contextlib
import re
import zlib
from typing import TYPE_CHECKING, Any, Final

from msgspec import Raw

from claude_session_player.format.blocks import DECODE_ERRORS, Content, ToolResult, ToolUse
from claude_session_player.format.content import join_texts, result_text
from claude_session_player.format.results import decode_agent_identity, decode_agent_launch
from claude_session_player.linking.subagents import BY_RESULT, BY_TEXT, AgentCall, Naming
from claude_session_player.parser import decode_lines
from claude_session_player.util.text import to_title

if TYPE_CHECKING:
    from claude_session_player.format.events import Event, Progress

AGENT_PROGRESS: Final = "agent_progress"
"""The type of progress records that report on a sub-agent."""
_LAUNCHED: Final = b"Async agent launched"
"""What the result of a call says whose sub-agent works in the background, in dialects without structured results."""
_BEGINNING: Final = 200
_AGENT_ID: Final = re.compile(r"agentId:\s*([a-zA-Z0-9]+)")


def has_prompt(block: ToolUse) -> bool:
    """True for a call of any tool with a prompt in its input: it may start a sub-agent."""
    return isinstance(block.input, dict) and bool(_text(block.input.get("prompt")))


def to_agent_call(block: ToolUse) -> AgentCall:
    """The facts of a call that starts a sub-agent, or may start one."""
    given = block.input if isinstance(block.input, dict) else {}
    description = to_title(_text(given.get("description")) or "") or None
    return AgentCall(block.id, _text(given.get("subagent_type")), description, task_digest(_text(given.get("prompt"))))


def named_agents(structured: Raw, result: ToolResult, *, is_agent_tool: bool) -> list[Naming]:
    """The sub-agents that a result names, in its structured part or in its text.

    The text is only evidence if the tool wrote it itself: a tool that failed, or returned another object such as a
    file that was read, merely quotes it.
    """
    found: list[Naming] = []
    if may_name_agent(structured):
        with contextlib.suppress(*DECODE_ERRORS):
            if id := decode_agent_identity(structured).agent_id:
                found.append((id, BY_RESULT))
    is_own = is_agent_tool or not (result.is_error or bytes(memoryview(structured)[:1]) == b"{")
    if is_own and may_name_agent(result.content):
        found += [(match[1], BY_TEXT) for match in _AGENT_ID.finditer(result_text(result, None)[0])]
    return found


def runs_in_background(structured: Raw, result: ToolResult) -> bool:
    """True for a result that only says that a sub-agent was started."""
    with contextlib.suppress(*DECODE_ERRORS):
        if decode_agent_launch(structured).is_in_background:
            return True
    return _LAUNCHED in bytes(result.content)[:_BEGINNING]


def may_name_agent(raw: Raw) -> bool:
    """False if a result does not contain the key that names sub-agents: most need not be decoded."""
    return b"agentId" in bytes(raw)


def reported_events(event: Progress) -> list[Event]:
    """The events of a sub-agent in a progress record; they have the line number of that record."""
    data = event.data
    if data is None or not data.agent_id or not data.message:
        return []
    found = decode_lines((bytes(data.message),), event.line - 1, 0)
    for inner in found:
        inner.timestamp = inner.timestamp or event.timestamp
    return found


def task_digest(content: Content) -> str | None:
    """A hash of a sub-agent's task, for comparison.

    >>> task_digest("Look around ") == task_digest("Look around"), task_digest(None)
    (True, None)
    """
    text = join_texts(content) if isinstance(content, list) else content
    if not text:
        return None
    data = text.strip().encode(errors="replace")
    return f"{len(data)}-{zlib.crc32(data):08x}"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
