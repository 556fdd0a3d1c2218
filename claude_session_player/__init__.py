"""Search, replay, inspect and share Claude Code sessions.

>>> from claude_session_player import ScreenState, render
>>> state = render(ScreenState(), {"type": "user", "message": {"content": "Hello"}})
>>> print(state.to_markdown())
❯ Hello
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.util.lazy import lazy_attributes

if TYPE_CHECKING:
    from claude_session_player.errors import SessionError, SessionInUse
    from claude_session_player.models import ScreenState, View
    from claude_session_player.parser import read_events, validate_event
    from claude_session_player.playback import replay
    from claude_session_player.renderer import render
    from claude_session_player.stats import summarize
    from claude_session_player.store import Filter, Session, Store, normalize_project_path, require_unused
    from claude_session_player.transcript import Conversation

__version__ = "0.11.0"

__all__ = [
    "Conversation",
    "Filter",
    "ScreenState",
    "Session",
    "SessionError",
    "SessionInUse",
    "Store",
    "View",
    "__version__",
    "normalize_project_path",
    "read_events",
    "render",
    "replay",
    "require_unused",
    "summarize",
    "validate_event",
]

_HOMES = {
    "Conversation": "transcript",
    "Filter": "store",
    "Session": "store",
    "Store": "store",
    "ScreenState": "models",
    "SessionError": "errors",
    "SessionInUse": "errors",
    "View": "models",
    "normalize_project_path": "store",
    "read_events": "parser",
    "render": "renderer",
    "replay": "playback",
    "require_unused": "store",
    "summarize": "stats",
    "validate_event": "parser",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
