"""What the list of sessions shows at the moment: its sessions, filter, order, costs, and which groups are unfolded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.tui import listing
from claude_session_player.tui.costs import SessionCost, SessionCosts
from claude_session_player.tui.folding import ListRow, SessionGroup, SessionRow, fold_rows, open_groups
from claude_session_player.tui.listing import ListFilter, session_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from claude_session_player.store import Session


class SessionList:
    """The sessions that are known so far. Whoever changes anything selects the rows anew."""

    def __init__(self, words: str = "") -> None:
        self.filter = ListFilter(words)
        self.costs = SessionCosts()
        self.waiting: int | None = None
        """How many files are still to be read; `None` before that is known."""
        self.rows: list[SessionRow] = []
        """All sessions in the wanted order."""
        self._by_key: dict[str, SessionRow] = {}
        self._opened: set[str] = set()
        """The keys of the groups that are unfolded."""
        self._selected = 0
        """How many sessions the filter lets through, folded ones included."""

    def take(self, rows: Sequence[SessionRow], waiting: int) -> None:
        """There are other sessions, or more is known of them."""
        self.rows = self.filter.sort(rows, self.costs)
        self._by_key = {row.key: row for row in rows}
        self.waiting = waiting

    def take_costs(self, costs: Mapping[str, SessionCost]) -> list[SessionRow]:
        """More costs are known; returns the rows of the sessions."""
        self.costs.update(costs)
        if self.filter.order == listing.BY_COST:
            self.rows = self.filter.sort(self.rows, self.costs)
        return [self._by_key[key] for key in costs if key in self._by_key]

    def change(self, wanted: ListFilter) -> None:
        """Use another filter or order."""
        if (wanted.order, wanted.is_reversed) != (self.filter.order, self.filter.is_reversed):
            self.rows = wanted.sort(self.rows, self.costs)
        self.filter = wanted

    def select(self) -> list[ListRow]:
        """The rows to show: the sessions that the filter lets through, with those that look alike folded."""
        selected = self.filter.select(self.rows)
        self._selected = len(selected)
        return open_groups(self.filter.place_groups(fold_rows(selected), self.costs), self._opened)

    def row_of(self, session: Session) -> SessionRow:
        """The row of a session that a search found."""
        return self._by_key.get(session.file.name) or session_row(session)

    def toggle(self, group: SessionGroup) -> None:
        """Unfold a group, or fold it."""
        self._opened ^= {group.key}

    def toggle_all(self, rows: Iterable[ListRow]) -> None:
        """Unfold all groups among some rows, or fold all if they are unfolded."""
        groups = {row.key for row in rows if isinstance(row, SessionGroup)}
        self._opened = set() if groups <= self._opened else groups

    def sessions_from(self, rows: Iterable[ListRow]) -> list[Session]:
        """All sessions, first those of some rows."""
        first = (member.session for row in rows for member in row.members)
        return list(dict.fromkeys((*first, *(row.session for row in self.rows))))

    @property
    def status(self) -> str:
        """How many sessions are listed, of which project, and in which order."""
        total = len(self.filter.wider().select(self.rows))
        return listing.list_status(self.filter, self._selected, total, self.waiting)

    @property
    def empty_reason(self) -> str:
        """Why there are no rows."""
        return listing.empty_reason(self.filter, self.waiting)
