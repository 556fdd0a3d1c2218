"""Finds Claude Code sessions, tells what happened in them, and replays them as the terminal screen they were.

>>> from claude_session_player import ScreenState, render
>>> state = render(ScreenState(), {"type": "user", "message": {"content": "Hello"}})
>>> print(state.to_markdown())
❯ Hello
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claude_session_player.errors import SessionError, SessionInUse
    from claude_session_player.models import ScreenState, View
    from claude_session_player.parser import read_events, validate_event
    from claude_session_player.playback import replay
    from claude_session_player.renderer import render
    from claude_session_player.stats.summary import summarize
    from claude_session_player.store.filters import Filter
    from claude_session_player.store.roots import normalize_project_path
    from claude_session_player.store.session import Session, require_unused
    from claude_session_player.store.store import Store
    from claude_session_player.transcript.walk import Conversation

__version__ = "0.7.0"

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
    "Conversation": "transcript.walk",
    "Filter": "store.filters",
    "Session": "store.session",
    "Store": "store.store",
    "ScreenState": "models",
    "SessionError": "errors",
    "SessionInUse": "errors",
    "View": "models",
    "normalize_project_path": "store.roots",
    "read_events": "parser",
    "render": "renderer",
    "replay": "playback",
    "require_unused": "store.session",
    "summarize": "stats.summary",
    "validate_event": "parser",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing the package costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
