"""The player as a program, and as a screen over others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from textual.app import App

from claude_session_player.errors import CannotRead
from claude_session_player.player import Destination, PositionStore, Timing, parse_position
from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.player_screen import PlayerScreen as PlayerScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_session_player.line_audit import LineAudit
    from claude_session_player.models import View
    from claude_session_player.player import Recording
    from claude_session_player.store import Session, Store
    from claude_session_player.tui.player_search import HitLines

CONTINUE_OPTION: Final = "--resume-here"
"""The option of `play` that begins where the session was left."""


class PlayerApp(TerminalApp[None]):
    """Shows one player."""

    def __init__(self, make_screen: Callable[[], PlayerScreen]) -> None:
        """Raises `CannotRead`, before the terminal is taken over."""
        super().__init__()
        self._first = make_screen()

    @property
    def account(self) -> LineAudit:
        """What became of the lines that were read."""
        return self._first.playback.frame_index.audit

    def on_mount(self) -> None:
        """Show the player."""
        self.push_screen(self._first)


def run_player(
    recording: Recording,
    view: View,
    timing: Timing,
    start: Destination | None = None,
    *,
    is_followed: bool = False,
    positions: PositionStore | None = None,
    continues: bool = False,
) -> tuple[int, LineAudit]:
    """Play a recording on the whole terminal; gives the exit code and the line audit. Raises `CannotRead`.

    With `positions`, the player remembers where it is left; with `continues`, it begins there.
    """

    def make_screen() -> PlayerScreen:
        screen = PlayerScreen(recording, view, timing=timing, start=start, is_followed=is_followed)
        if positions is not None:
            screen.use_positions(positions, continues=continues, mentions=start is None, option=CONTINUE_OPTION)
        return screen

    app = PlayerApp(make_screen)
    app.run()
    return app.return_code or 0, app.account


def open_player(
    app: App[Any], session: Session, *, live: bool, open_store: Callable[[], Store], hits: HitLines | None = None
) -> None:
    """Play or follow a session over the present screen, from a hit on if there are any. Raises `SessionError`."""
    if not os.path.exists(session.path):
        raise CannotRead("The session file no longer exists.")
    from claude_session_player.player import recording_of_session

    recording = recording_of_session(session, open_store)
    follow = live and not session.is_inline
    start = parse_position(str(hits.start)) if hits else None
    screen = PlayerScreen(recording, start=start, is_followed=follow, has_list=True, hits=hits)
    screen.use_positions(PositionStore.of_user(session.path), mentions=hits is None)
    app.push_screen(screen)
