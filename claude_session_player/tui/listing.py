"""The list of sessions without its screen: rows, filter, order, and the texts about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.store import SORT_KEYS
from claude_session_player.util.humanize import plural, short_model_name
from claude_session_player.util.text import base_name, display_path, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claude_session_player.store import Session

ORDERS: Final = tuple(SORT_KEYS)

IN_USE: Final = "●"
STALE: Final = "…"


class SessionRow(NamedTuple):
    """A session in the list."""

    session: Session
    haystack: str
    """The text that is filtered, in lower case."""
    in_use: bool = False

    @property
    def key(self) -> str:
        """Identifies the session in the list."""
        return self.session.file.name

    @property
    def project(self) -> str:
        """The project of the session, or of a sub-agent's session."""
        return project_name(self.session)


class ProjectRow(NamedTuple):
    """A project in the list of projects."""

    name: str
    sessions: int
    updated_at: str


class ListFilter(NamedTuple):
    """Which sessions are listed, and in which order. Each word must occur in a session."""

    words: str = ""
    project: str | None = None
    order: str = ORDERS[0]
    is_reversed: bool = False
    with_subagents: bool = False

    @property
    def is_narrow(self) -> bool:
        """True if words or a project are set."""
        return bool(self.words.strip()) or self.project is not None

    def wider(self) -> ListFilter:
        """The same order, without words and project."""
        return self._replace(words="", project=None)

    def next_order(self) -> ListFilter:
        """The same sessions in the next order."""
        following = (ORDERS.index(self.order) + 1) % len(ORDERS)
        return self._replace(order=ORDERS[following], is_reversed=False)

    def sort(self, rows: Iterable[SessionRow]) -> list[SessionRow]:
        """Rows in the wanted order."""
        key, largest_first = SORT_KEYS[self.order]
        ordered = sorted(rows, key=lambda row: row.key)
        ordered.sort(key=lambda row: key(row.session), reverse=largest_first != self.is_reversed)
        return ordered

    def select(self, rows: Iterable[SessionRow]) -> list[SessionRow]:
        """The rows that match, in the order in which they come."""
        words = self.words.casefold().split()
        matching = (row for row in rows if self.with_subagents or not row.session.is_subagent)
        if self.project is not None:
            matching = (row for row in matching if row.project == self.project)
        return [row for row in matching if all(word in row.haystack for word in words)]


def session_row(session: Session) -> SessionRow:
    """The row of a session. Whether it is in use is left open, because finding out opens its file."""
    names = (session.title, project_name(session), session.id, session.parent_id, *session.facts.branches)
    texts = (*names, session.conversation.first_prompt, session.agent)
    haystack = "\n".join(text for text in texts if text).casefold()
    return SessionRow(session, haystack)


def with_use(row: SessionRow) -> SessionRow:
    """The same row with the mark of a session in use; this opens its file."""
    return row._replace(in_use=row.session.in_use)


def project_name(session: Session) -> str:
    """The project of a session; in brackets if only the name of its directory in the store is known."""
    head = session.head
    path = head.project or session.project
    return path or f"({display_path(session.file.project or session.file.kind)})"


def is_project_path(name: str) -> bool:
    """True if the name of a project is its path; see `project_name`."""
    return not name.startswith("(")


def list_projects(rows: Iterable[SessionRow]) -> list[ProjectRow]:
    """The projects of some sessions, the last active first."""
    known: dict[str, list[str]] = {}
    for row in rows:
        if not row.session.is_subagent:
            known.setdefault(row.project, []).append(row.session.updated_at)
    projects = [ProjectRow(name, len(times), max(times)) for name, times in known.items()]
    return sorted(projects, key=lambda project: (project.updated_at, project.name), reverse=True)


def row_position(rows: Sequence[SessionRow], key: str | None, default: int) -> int:
    """The position of a row; if it is gone, the default, or the last row if there are fewer."""
    found = next((number for number, row in enumerate(rows) if row.key == key), None)
    return max(min(default, len(rows) - 1), 0) if found is None else found


_SEPARATOR: Final = " · "
_SHORT_ID: Final = 8
NOTES: Final = (
    f"{IN_USE} session in use   {STALE} changed, being read\nLetters are keys; press / or ctrl+f to type words."
)
"""The notes below the keys in the help."""


def list_status(filter: ListFilter, shown: int, total: int, waiting: int | None) -> str:
    """How many sessions are listed, of which project, in which order, and how many files are still to be read."""
    count = f"{shown} of {plural(total, 'session')}" if filter.is_narrow else plural(total, "session")
    parts = (
        "" if waiting is None else count,
        printable(base_name(filter.project)) if filter.project else "",
        f"by {filter.order}" + (" ↑" if filter.is_reversed else ""),
        "" if waiting == 0 else "reading…" if waiting is None else f"{plural(waiting, 'file')} to read",
    )
    return join_parts(*parts)


def join_parts(*parts: str) -> str:
    """The parts of a status that are not empty."""
    return _SEPARATOR.join(part for part in parts if part)


def session_about(session: Session) -> str:
    """Facts that the table has no room for, in two lines; in a small preview only the first is visible."""
    branch = session.facts.branches[-1] if session.facts.branches else ""
    name = short_model_name(session.conversation.models[-1]) if session.conversation.models else ""
    first = (session.id[:_SHORT_ID], branch, name, session.agent or "")
    return "\n".join((_SEPARATOR.join(printable(part) for part in first if part), printable(project_name(session))))


NO_HITS: Final = "No hits; press Esc to clear the search."


def empty_reason(filter: ListFilter, waiting: int | None) -> str:
    """Why the table is empty."""
    if waiting != 0:
        return "reading…"
    return "No sessions match this filter; press Esc to clear it." if filter.is_narrow else "No sessions in this store."
