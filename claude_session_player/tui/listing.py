"""The list of sessions without its screen: filter, order, and the texts about them; see `folding` for its rows."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.store import SORT_KEYS
from claude_session_player.tui.folding import ListRow, SessionGroup, SessionRow, fold_key
from claude_session_player.util.humanize import plural, short_model_name
from claude_session_player.util.short_paths import short_path
from claude_session_player.util.tables import cell_width
from claude_session_player.util.text import base_name, display_path, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from claude_session_player.store import Session
    from claude_session_player.tui.costs import SessionCost

BY_COST: Final = "cost"
BY_BRANCH: Final = "git branch"
BY_MODEL: Final = "model"
"""What sessions can be sorted by here and nowhere else."""
ORDERS: Final = (*SORT_KEYS, BY_COST)
"""The orders that one key goes through."""

IN_USE: Final = "●"
STALE: Final = "…"


class ProjectRow(NamedTuple):
    """A project in the list of projects."""

    name: str
    sessions: int
    updated_at: str


_NO_COSTS: Final[Mapping[str, SessionCost]] = {}


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
        following = (ORDERS.index(self.order) + 1) % len(ORDERS) if self.order in ORDERS else 0
        return self._replace(order=ORDERS[following], is_reversed=False)

    def ordered_by(self, order: str) -> ListFilter:
        """The same sessions in an order; in the reverse one, if that is their order already."""
        return self._replace(order=order, is_reversed=order == self.order and not self.is_reversed)

    def sort(self, rows: Iterable[SessionRow], costs: Mapping[str, SessionCost] = _NO_COSTS) -> list[SessionRow]:
        """Rows in the wanted order."""
        key, largest_first = _sort_key(self.order, costs)
        ordered = sorted(rows, key=lambda row: row.key)
        ordered.sort(key=key, reverse=largest_first != self.is_reversed)
        return ordered

    def place_groups(
        self, rows: Sequence[SessionRow | SessionGroup], costs: Mapping[str, SessionCost] = _NO_COSTS
    ) -> list[SessionRow | SessionGroup]:
        """Sorted rows, among them groups, with each group where its sum, or its latest session, belongs."""
        key, largest_first = _sort_key(self.order, costs)
        is_descending = largest_first != self.is_reversed
        placed: list[SessionRow | SessionGroup] = [row for row in rows if isinstance(row, SessionRow)]
        if is_descending:
            placed.reverse()

        def group_key(row: SessionRow | SessionGroup) -> Any:
            if isinstance(row, SessionRow):
                return key(row)
            values = [key(member) for member in row.members]
            return max(values) if isinstance(values[0], str) else sum(values)

        for row in rows:
            if isinstance(row, SessionGroup):
                insort(placed, row, key=group_key)
        return placed[::-1] if is_descending else placed

    def select(self, rows: Iterable[SessionRow]) -> list[SessionRow]:
        """The rows that match, in the order in which they come."""
        words = self.words.casefold().split()
        matching = (row for row in rows if self.with_subagents or not row.session.is_subagent)
        if self.project is not None:
            matching = (row for row in matching if row.project == self.project)
        return [row for row in matching if all(word in row.haystack for word in words)]


def _sort_key(order: str, costs: Mapping[str, SessionCost]) -> tuple[Callable[[SessionRow], Any], bool]:
    """What rows are sorted by, and whether the largest comes first."""
    if order == BY_COST:
        return lambda row: costs[row.key].amount if row.key in costs else 0, True
    if order == BY_BRANCH:
        return lambda row: git_branch(row.session).casefold(), False
    if order == BY_MODEL:
        return lambda row: model_name(row.session), False
    key, largest_first = SORT_KEYS[order]
    return lambda row: key(row.session), largest_first


def session_row(session: Session) -> SessionRow:
    """The row of a session. Whether it is in use is left open, because finding out opens its file."""
    names = (session.title, project_name(session), session.id, session.parent_id, *session.facts.branches)
    texts = (*names, session.conversation.first_prompt, session.agent)
    haystack = "\n".join(text for text in texts if text).casefold()
    return SessionRow(session, project_name(session), haystack, fold_key(session, project_name(session)))


def git_branch(session: Session) -> str:
    """The git branch that a session was on last; empty if unknown."""
    return session.facts.branches[-1] if session.facts.branches else ""


def model_name(session: Session) -> str:
    """The short name of the model that responded last; empty if unknown."""
    return short_model_name(session.conversation.models[-1]) if session.conversation.models else ""


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


def row_position(rows: Sequence[ListRow], key: str | None, default: int) -> int:
    """The position of a row, or of the group that it is folded into; if it is gone, the default, or the last row."""
    found = next((number for number, row in enumerate(rows) if row.key == key), None)
    if found is None and key is not None:
        groups = ((number, row) for number, row in enumerate(rows) if isinstance(row, SessionGroup))
        found = next((number for number, row in groups if any(member.key == key for member in row.members)), None)
    return max(min(default, len(rows) - 1), 0) if found is None else found


_SEPARATOR: Final = " · "
_SHORT_ID: Final = 8
_LEAST_PATH: Final = 12
"""A path with less room than this says nothing."""
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


def session_about(session: Session, width: int, lines: int = 1, part: str = "") -> str:
    """Facts about a session: its id, git branch and model, where it ran, and which part of it is shown below.

    The path has a line of its own if there is one, else what is left of the first.
    """
    facts = (session.id[:_SHORT_ID], git_branch(session), model_name(session), session.agent or "", part)
    first = printable(_SEPARATOR.join(fact for fact in facts if fact))
    path = printable(project_name(session))
    if lines > 1:
        return f"{first}\n{short_path(path, width)}"
    left = width - cell_width(first) - len(_SEPARATOR)
    return first + _SEPARATOR + short_path(path, left) if left >= _LEAST_PATH else first


NO_HITS: Final = "No hits; press Esc to clear the search."


def empty_reason(filter: ListFilter, waiting: int | None) -> str:
    """Why the table is empty."""
    if waiting != 0:
        return "reading…"
    return "No sessions match this filter; press Esc to clear it." if filter.is_narrow else "No sessions in this store."
