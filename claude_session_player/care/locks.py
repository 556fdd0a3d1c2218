"""Which sessions are in use, asked at this moment; the rule itself is in `store.inuse`."""

from __future__ import annotations

from collections.abc import Sequence

from claude_session_player.errors import SessionInUse
from claude_session_player.store.inuse import InUse
from claude_session_player.store.session import Session
from claude_session_player.text import display_path


def look_at(sessions: Sequence[Session]) -> InUse:
    """A new look at all processes, for sessions of one store."""
    return sessions[0].use.anew() if sessions else InUse()


def require_unused(session: Session) -> None:
    """Raise `SessionInUse` where a session, or a sub-agent of it, is in use."""
    if signs := look_at([session]).uses(session.paths):
        what = ", ".join(dict.fromkeys(sign.words for sign in signs))
        raise SessionInUse(
            f"session {display_path(session.id)} is in use ({what}): try again when nobody works with it"
        )
