"""What goes on in a session that is followed, and in the sub-agents that run for it: a line for each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.geometry import Size
from textual.widget import Widget

from claude_session_player.play.running import Row
from claude_session_player.tui.running_rows import agent_head, state_line


class CompanyBar(Widget):
    """Nothing, where nothing is known; else the session's state, and a line for each sub-agent at work."""

    DEFAULT_CSS = "CompanyBar { height: auto; max-height: 4; }"

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[Row] = ()
        self._now = 0.0

    def show(self, rows: Sequence[Row], now: float) -> None:
        """Show what these do at a moment."""
        is_same_height = len(rows) == len(self._rows)
        self._rows, self._now = rows, now
        self.refresh(layout=not is_same_height)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A line for each."""
        return len(self._rows)

    def render(self) -> Text:
        """The lines."""
        width = self.size.width
        draw = (agent_head(row, self._now, width) if row.is_subagent else state_line(row, width) for row in self._rows)
        return Text("\n").join(draw)
