"""From a list of sessions to one of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from textual.app import App

from claude_session_player.errors import SessionError
from claude_session_player.store.session import Session
from claude_session_player.store.store import Store


def play(app: App[Any], session: Session, *, live: bool, open_store: Callable[[], Store]) -> None:
    """Play a session, or follow it, in a window over the present one. If its file is gone, say so."""
    if not os.path.exists(session.path):
        app.notify("This session is no more.", severity="error", markup=False)
        return
    from claude_session_player.play.recording import of_session  # a list is there sooner than the player
    from claude_session_player.tui.player_screen import PlayerScreen

    try:
        app.push_screen(PlayerScreen(of_session(session, open_store), is_followed=live and not session.is_inline))
    except SessionError as error:
        app.notify(str(error), severity="error", markup=False)
