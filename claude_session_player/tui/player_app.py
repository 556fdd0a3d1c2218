"""The full-screen player as a program of its own."""

from __future__ import annotations

from collections.abc import Callable

from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.player_screen import PlayerScreen


class PlayerApp(TerminalApp[None]):
    """Shows one player, and ends with it."""

    def __init__(self, make_screen: Callable[[], PlayerScreen]) -> None:
        super().__init__()
        self._make_screen = make_screen

    def on_mount(self) -> None:
        """Show the player."""
        self.push_screen(self._make_screen(), lambda _: self.exit())
