"""What is done for a list of sessions beside its screen, in threads of their own: nothing here touches a window."""

from __future__ import annotations

import io

from claude_session_player import export
from claude_session_player.errors import CannotRead
from claude_session_player.export.summary import summary_markdown
from claude_session_player.insight.summary import summarize
from claude_session_player.playback import replay
from claude_session_player.store.layout import Found
from claude_session_player.store.record import shown
from claude_session_player.store.session import Session
from claude_session_player.tui.export_popup import Target
from claude_session_player.tui.shelf import Shelf
from claude_session_player.view import View


def summary_text(shelf: Shelf, found: Found) -> str:
    """What `summary` prints of a session. Raises `SessionError` or `OSError`."""
    with shelf.opened() as store:
        summary = summarize(store.of(found), shelf.prices())
    return summary_markdown(summary, summary.id, shelf.roots)


def write_export(session: Session, target: Target) -> None:
    """Write the whole screen of a session into a file. Raises `SessionError` or `OSError`.

    Nothing is written before all is known, so that a session that cannot be read costs no file.
    """
    written = io.StringIO()
    try:
        state = replay(session.path, View(sidechains=session.is_subagent))
    except OSError as error:
        raise CannotRead(f"{shown(session.path)}: {error.strerror or error}") from error
    export.write(state, written, target.format)
    with open(target.path, "w" if target.may_replace else "x", encoding="utf-8", newline="\n") as file:
        file.write(written.getvalue())
