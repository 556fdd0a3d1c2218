"""Which sessions are listed, and in which order: everything about a list of sessions that needs no screen."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.store import SORT_KEYS
from claude_session_player.util.humanize import model, plural
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
    """All that words are looked for in, in small letters."""
    in_use: bool = False

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return self.session.file.name

    @property
    def project(self) -> str:
        """The project of the session, or of the one that a sub-agent belongs to."""
        return project_name(self.session)


class ProjectRow(NamedTuple):
    """A project in the list of projects."""

    name: str
    sessions: int
    updated_at: str


class ListFilter(NamedTuple):
    """What is wanted of a list. Each of the words has to be somewhere in a session."""

    words: str = ""
    project: str | None = None
    order: str = ORDERS[0]
    is_reversed: bool = False
    with_subagents: bool = False

    @property
    def is_narrow(self) -> bool:
        """True where something is left out that could be shown."""
        return bool(self.words.strip()) or self.project is not None

    def wider(self) -> ListFilter:
        """The same order, and nothing left out."""
        return self._replace(words="", project=None)

    def next_order(self) -> ListFilter:
        """The same sessions in the order that comes next."""
        following = (ORDERS.index(self.order) + 1) % len(ORDERS)
        return self._replace(order=ORDERS[following], is_reversed=False)

    def sort(self, entries: Iterable[SessionRow]) -> list[SessionRow]:
        """Entries in the wanted order."""
        key, largest_first = SORT_KEYS[self.order]
        ordered = sorted(entries, key=lambda entry: entry.key)
        ordered.sort(key=lambda entry: key(entry.session), reverse=largest_first != self.is_reversed)
        return ordered

    def select(self, entries: Iterable[SessionRow]) -> list[SessionRow]:
        """The entries that are wanted, in the order in which they come."""
        words = self.words.casefold().split()
        some = (entry for entry in entries if self.with_subagents or not entry.session.is_subagent)
        if self.project is not None:
            some = (entry for entry in some if entry.project == self.project)
        return [entry for entry in some if all(word in entry.haystack for word in words)]


def session_row(session: Session) -> SessionRow:
    """A session as an entry. Whether it is in use is not asked: that would take a look at its file."""
    facts = session.facts
    told = (session.title, project_name(session), session.id, session.parent_id, *facts.branches)
    texts = (*told, session.conversation.first_prompt, session.agent)
    haystack = "\n".join(text for text in texts if text).casefold()
    return SessionRow(session, haystack)


def with_use(entry: SessionRow) -> SessionRow:
    """The same entry, if one may look at its file: whether it is in use is known."""
    return entry._replace(in_use=entry.session.in_use)


def project_name(session: Session) -> str:
    """The project that a session belongs to; in brackets, where only the name of its directory is known."""
    head = session.head
    path = head.project or session.project
    return path or f"({display_path(session.file.project or session.file.kind)})"


def list_projects(entries: Iterable[SessionRow]) -> list[ProjectRow]:
    """The projects of some sessions, the last active first."""
    known: dict[str, list[str]] = {}
    for entry in entries:
        if not entry.session.is_subagent:
            known.setdefault(entry.project, []).append(entry.session.updated_at)
    projects = [ProjectRow(name, len(times), max(times)) for name, times in known.items()]
    return sorted(projects, key=lambda project: (project.updated_at, project.name), reverse=True)


def row_position(entries: Sequence[SessionRow], key: str | None, default: int) -> int:
    """Where an entry is now; if it is no more, the place where it was, or the last one."""
    found = next((number for number, entry in enumerate(entries) if entry.key == key), None)
    return max(min(default, len(entries) - 1), 0) if found is None else found


def resume_command(session: Session) -> str:
    """The command that goes on with a session, or with the one that a sub-agent belongs to.

    Claude Code finds a session only from the directory of its project.
    """
    resume = f"claude --resume {shlex.quote(session.parent_id or session.id)}"
    folder = session.head.project or session.project
    return f"cd {shlex.quote(folder)} && {resume}" if folder else resume


_BETWEEN: Final = " · "
_SHORT_ID: Final = 8
NOTES: Final = (
    f"{IN_USE} somebody works with this session   {STALE} it has changed, and is being read\n"
    "A bare letter is a key: words that shall be found are typed behind /."
)
"""What the help says beside the keys."""


def list_status(choice: ListFilter, shown: int, total: int, waiting: int | None) -> str:
    """How many sessions there are, of which project, in which order, and whether more are to come."""
    count = f"{shown} of {plural(total, 'session')}" if choice.is_narrow else plural(total, "session")
    parts = (
        "" if waiting is None else count,
        printable(base_name(choice.project)) if choice.project else "",
        f"by {choice.order}" + (" ↑" if choice.is_reversed else ""),
        "" if waiting == 0 else "reading…" if waiting is None else f"{plural(waiting, 'file')} to read",
    )
    return _BETWEEN.join(part for part in parts if part)


def session_about(session: Session) -> str:
    """What the table has no room for, in two lines: the first is what one would miss most."""
    facts = session.facts
    branch = facts.branches[-1] if facts.branches else ""
    name = model(session.conversation.models[-1]) if session.conversation.models else ""
    first = (session.id[:_SHORT_ID], branch, name, session.agent or "")
    return "\n".join((_BETWEEN.join(printable(part) for part in first if part), printable(project_name(session))))


def empty_reason(choice: ListFilter, waiting: int | None) -> str:
    """Why the table is empty."""
    if waiting != 0:
        return "reading…"
    return "no session is like this: Esc shows all" if choice.is_narrow else "there is no session here"
