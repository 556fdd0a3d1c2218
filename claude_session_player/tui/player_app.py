"""The full-screen player as a program of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from claude_session_player.account import Account
from claude_session_player.play.destination import Destination
from claude_session_player.play.forward import Timing
from claude_session_player.play.recording import Recording
from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.player_screen import PlayerScreen
from claude_session_player.view import View


class PlayerApp(TerminalApp[None]):
    """Shows one player."""

    def __init__(self, make_screen: Callable[[], PlayerScreen]) -> None:
        """Raises `CannotRead`, before the terminal is taken."""
        super().__init__()
        self._first = make_screen()

    @property
    def account(self) -> Account:
        """What became of the lines that were read."""
        return self._first.projection.film.account

    def on_mount(self) -> None:
        """Show the player."""
        self.push_screen(self._first)


def run_player(
    recording: Recording, view: View, timing: Timing, start: Destination | None = None, *, is_followed: bool = False
) -> tuple[int, Account]:
    """Play a recording on the whole terminal until somebody has seen enough; gives the exit code and the account.

    Raises `CannotRead`.
    """
    app = PlayerApp(partial(PlayerScreen, recording, view, timing=timing, start=start, is_followed=is_followed))
    app.run()
    return app.return_code or 0, app.account
