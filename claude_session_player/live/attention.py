"""Which sessions have begun to wait for the person, and how a terminal says so in its title."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claude_session_player.live.status import Phase
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import printable, truncate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.live.running import RunningSession

WAITING_MARK: Final = "❯"
_NAME_LENGTH: Final = 40
_WORKING: Final = (Phase.THINKING, Phase.RUNNING)


class WaitingSessions:
    """Notes when sessions begin to wait; those that wait from the start are not news."""

    def __init__(self) -> None:
        self._phases: dict[str, Phase] = {}
        self._waiting: dict[str, str] = {}
        """The names of those that have begun to wait, and still do, by path."""

    def update(self, rows: Sequence[RunningSession]) -> bool:
        """Take the present state of all sessions; true if one has begun to wait for the person."""
        before, rows = self._phases, [row for row in rows if not row.is_subagent]
        self._phases = {row.peek.file.path: row.status.phase for row in rows}
        waiting = {row.peek.file.path: row.peek.short_name for row in rows if row.status.phase is Phase.WAITING}
        new = {path: name for path, name in waiting.items() if before.get(path) in _WORKING}
        self._waiting = {path: waiting[path] for path in self._waiting if path in waiting} | new
        return bool(new)

    @property
    def title(self) -> str:
        """A title for the terminal; empty if no session has begun to wait."""
        if not self._waiting:
            return ""
        if len(self._waiting) > 1:
            return f"{WAITING_MARK} {plural(len(self._waiting), 'session')} wait for you"
        (name,) = self._waiting.values()
        return f"{WAITING_MARK} {truncate(printable(name), _NAME_LENGTH)} waits for you"
