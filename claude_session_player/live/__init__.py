"""Running sessions: which there are, and what each does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.util.lazy import lazy_attributes

if TYPE_CHECKING:
    from claude_session_player.live.attention import WaitingSessions as WaitingSessions
    from claude_session_player.live.costs import RunningCosts as RunningCosts, cost_words as cost_words
    from claude_session_player.live.running import (
        RunningSession as RunningSession,
        RunningSessions as RunningSessions,
        SessionLookup as SessionLookup,
        SessionPeek as SessionPeek,
    )
    from claude_session_player.live.status import (
        Phase as Phase,
        SessionStatus as SessionStatus,
        phase_word as phase_word,
    )

_HOMES = {
    "RunningCosts": "costs",
    "SessionLookup": "running",
    "Phase": "status",
    "RunningSession": "running",
    "RunningSessions": "running",
    "SessionPeek": "running",
    "SessionStatus": "status",
    "WaitingSessions": "attention",
    "cost_words": "costs",
    "phase_word": "status",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
