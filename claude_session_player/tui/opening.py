"""From a list of sessions to one of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from textual.app import App

from claude_session_player.errors import CannotRead
from claude_session_player.store.session import Session
from claude_session_player.store.store import Store


def play(app: App[Any], session: Session, *, live: bool, open_store: Callable[[], Store]) -> None:
    """Play a session, or follow it, in a window over the present one. Raises `SessionError`, also where it is gone."""
    if not os.path.exists(session.path):
        raise CannotRead("this session is no more")
    from claude_session_player.play.recording import of_session  # a list is there sooner than the player
    from claude_session_player.tui.player_screen import PlayerScreen

    recording = of_session(session, open_store)
    app.push_screen(PlayerScreen(recording, is_followed=live and not session.is_inline, has_list=True))
