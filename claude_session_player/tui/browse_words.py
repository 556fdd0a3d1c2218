"""What the list of sessions says about itself."""

from __future__ import annotations

from typing import Final

from claude_session_player.humanize import many, model
from claude_session_player.store.session import Session
from claude_session_player.text import file_name, printable
from claude_session_player.tui.listing import IN_USE, STALE, Choice, project_of

_BETWEEN: Final = " · "
_SHORT_ID: Final = 8
NOTES: Final = (
    f"{IN_USE} somebody works with this session   {STALE} it has changed, and is being read\n"
    "A bare letter is a key: words that shall be found are typed behind /."
)
"""What the help says beside the keys."""


def status(choice: Choice, shown: int, total: int, waiting: int | None) -> str:
    """How many sessions there are, of which project, in which order, and whether more are to come."""
    count = f"{shown} of {many(total, 'session')}" if choice.is_narrow else many(total, "session")
    parts = (
        "" if waiting is None else count,
        printable(file_name(choice.project)) if choice.project else "",
        f"by {choice.order}" + (" ↑" if choice.is_reversed else ""),
        "" if waiting == 0 else "reading…" if waiting is None else f"{many(waiting, 'file')} to read",
    )
    return _BETWEEN.join(part for part in parts if part)


def about(session: Session) -> str:
    """What the table has no room for, in two lines: the first is what one would miss most."""
    facts = session.facts
    branch = facts.branches[-1] if facts.branches else ""
    name = model(session.speech.models[-1]) if session.speech.models else ""
    first = (session.id[:_SHORT_ID], branch, name, session.agent or "")
    return "\n".join((_BETWEEN.join(printable(part) for part in first if part), printable(project_of(session))))


def nothing(choice: Choice, waiting: int | None) -> str:
    """Why the table is empty."""
    if waiting != 0:
        return "reading…"
    return "no session is like this: Esc shows all" if choice.is_narrow else "there is no session here"
