"""From a list of sessions to one of them."""

from __future__ import annotations

import os
from typing import Any

from textual.app import App

from claude_session_player.store.session import Session


def play(app: App[Any], session: Session, *, live: bool) -> None:
    """Play a session, or follow it, in a window over the present one. If its file is gone, say so."""
    if not os.path.exists(session.path):
        app.notify("This session is no more. r reads the store again.", severity="error", markup=False)
        return
    app.notify("The player is not there yet.", severity="warning", markup=False)
