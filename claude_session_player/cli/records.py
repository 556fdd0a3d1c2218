"""Sessions and other things of a store as JSON, described in docs/schema.json."""

from __future__ import annotations

from typing import Any, Final, Protocol

from claude_session_player.store.session import Session

SCHEMA_VERSION: Final = 2
"""The version of docs/schema.json; it goes up where a field changes its name, its type or its meaning."""
EVENT_LIST: Final = "event_list"
"""The key of a session's events in `get --json`; `events` is their number, there as everywhere."""


class Fields(Protocol):
    """A named tuple."""

    def _asdict(self) -> dict[str, Any]: ...


def record(thing: Fields) -> dict[str, Any]:
    """A session in one look, a project, a todo, a memory or a settings file: all of its fields."""
    return thing._asdict()


def detailed_record(session: Session) -> dict[str, Any]:
    """A session with its sub-agents, workflows and tool outputs."""
    return _with_subagents(session) | {"workflows": session.workflows, "tool_results": session.tool_results}


def _with_subagents(session: Session) -> dict[str, Any]:
    return record(session.summary) | {"subagents": [_with_subagents(child) for child in session.subagents]}
