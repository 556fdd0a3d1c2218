"""What records say about sub-agents: which of them a call asks for, a result names, and a line of progress reports."""

from __future__ import annotations

import contextlib
import re
import zlib
from typing import TYPE_CHECKING, Any, Final

from msgspec import Raw

from claude_session_player.format.blocks import DECODE_ERRORS, Content, ToolResult, ToolUse
from claude_session_player.format.content import join_texts, result_text
from claude_session_player.format.results import decode_agent_identity
from claude_session_player.linking.subagents import BY_RESULT, BY_TEXT, AgentCall, Naming
from claude_session_player.parser import decode_lines
from claude_session_player.util.text import to_title

if TYPE_CHECKING:
    from claude_session_player.format.events import Event, Progress

AGENT_PROGRESS: Final = "agent_progress"
"""The type of progress that a sub-agent reports."""
_AGENT_ID: Final = re.compile(r"agentId:\s*([a-zA-Z0-9]+)")


def has_prompt(block: ToolUse) -> bool:
    """True for a call of any tool that gives a prompt: it may start a sub-agent with that."""
    return isinstance(block.input, dict) and bool(_text(block.input.get("prompt")))


def to_agent_call(block: ToolUse) -> AgentCall:
    """A call that starts a sub-agent, or may start one."""
    given = block.input if isinstance(block.input, dict) else {}
    description = to_title(_text(given.get("description")) or "") or None
    return AgentCall(block.id, _text(given.get("subagent_type")), description, task_digest(_text(given.get("prompt"))))


def named_agents(structured: Raw, result: ToolResult, *, is_agent_tool: bool) -> list[Naming]:
    """The sub-agents that a result names, beside its text or in it.

    The output of a tool that gave back an object of its own, such as a file that was read, or that failed, only quotes
    what it says.
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


def may_name_agent(raw: Raw) -> bool:
    """False if the word by which sub-agents are named is nowhere: most results need no closer look."""
    return b"agentId" in bytes(raw)


def reported_events(event: Progress) -> list[Event]:
    """What a sub-agent says in a line that reports its progress, on that line."""
    data = event.data
    if data is None or not data.agent_id or not data.message:
        return []
    found = decode_lines((bytes(data.message),), event.line - 1, 0)
    for inner in found:
        inner.timestamp = inner.timestamp or event.timestamp
    return found


def task_digest(content: Content) -> str | None:
    """A digest of a sub-agent's task, for comparison.

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
