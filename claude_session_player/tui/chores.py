"""What is done for a list of sessions beside its screen, in threads of their own: nothing here touches a window."""

from __future__ import annotations

from claude_session_player.errors import CannotWrite, NotASession
from claude_session_player.export import write_session
from claude_session_player.export.summary import summary_markdown
from claude_session_player.export.target import whole_file
from claude_session_player.insight.summary import summarize
from claude_session_player.playback import begun, replay
from claude_session_player.store.layout import Found
from claude_session_player.store.session import Session
from claude_session_player.text import display_path
from claude_session_player.tui.export_popup import Target
from claude_session_player.tui.shelf import Shelf
from claude_session_player.view import View


def summary_text(shelf: Shelf, found: Found) -> str:
    """What `summary` prints of a session. Raises `SessionError` or `OSError`."""
    with shelf.opened() as store:
        summary = summarize(store.of(found), shelf.prices())
    return summary_markdown(summary, summary.id, shelf.roots)


def write_export(session: Session, target: Target) -> None:
    """Write a whole session into a file. Raises `SessionError`, and then there is no such file."""
    view = View(history=True)
    view = view.of_subagent() if session.is_subagent else view
    try:
        with whole_file(target.path, may_replace=target.may_replace) as file:
            state = write_session(
                target.format, file, lambda: replay(session.path, view), lambda: begun(session.path, view)
            )
            if not state.account.is_session:
                raise NotASession(f"{display_path(session.path)} holds no session any more")
    except OSError as error:
        raise CannotWrite(f"{target.path} is not written: {error.strerror or error}") from error
