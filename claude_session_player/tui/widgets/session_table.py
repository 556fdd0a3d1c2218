"""The table of sessions: which columns fit, what their cells say, and the line with the hit of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.strip import Strip

from claude_session_player.tui.folding import ListRow, SessionGroup, SessionRow
from claude_session_player.tui.keys import BROWSE_KEYS, NEXT_HIT, bindings
from claude_session_player.tui.listing import BY_BRANCH, BY_COST, BY_MODEL, IN_USE, STALE, git_branch, model_name
from claude_session_player.tui.widgets.table import CURSOR, PLAIN, RowTable
from claude_session_player.util.humanize import short_duration, short_time, size
from claude_session_player.util.tables import GAP, FittedColumn, TableColumn, cell_width, fit_marked
from claude_session_player.util.text import base_name, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from claude_session_player.store import Session
    from claude_session_player.tui.costs import SessionCosts
    from claude_session_player.tui.hit_list import HitList, HitText

_MARK, _STATE, _WHEN, _TITLE, _PROJECT = "", "STATE", "WHEN", "TITLE", "PROJECT"
_COST, _BRANCH, _MODEL, _LASTED = "COST", "BRANCH", "MODEL", "LASTED"
_EVENTS, _AGENTS, _SIZE, _HITS = "EVENTS", "AGENTS", "SIZE", "HITS"

_COLUMNS: Final = (
    TableColumn(_MARK, 1, 12, "yellow"),
    TableColumn(_STATE, 8, 8, "yellow", is_extra=True),
    TableColumn(_WHEN, 11, 11),
    TableColumn(_TITLE, 20, 13, grows=True),
    TableColumn(_PROJECT, 12, 10, "green"),
    TableColumn(_COST, 6, 9, is_right=True, is_extra=True),
    TableColumn(_BRANCH, 10, 7, "cyan", is_extra=True),
    TableColumn(_MODEL, 9, 6, is_extra=True),
    TableColumn(_LASTED, 7, 5, is_right=True, is_extra=True),
)
_LESS_WANTED: Final = (
    TableColumn(_EVENTS, 7, 4, is_right=True, is_extra=True),
    TableColumn(_AGENTS, 7, 3, is_right=True, is_extra=True),
    TableColumn(_SIZE, 8, 2, is_right=True, is_extra=True),
)
"""Shown one after the other, where no other column would be cut for them."""
_HIT_COLUMNS: Final = (
    TableColumn(_MARK, 1, 6, "yellow"),
    TableColumn(_WHEN, 11, 8),
    TableColumn(_TITLE, 20, 10, grows=True),
    TableColumn(_PROJECT, 12, 7, "green"),
    TableColumn(_HITS, 5, 9, is_right=True),
)
_MOST: Final = {_PROJECT: 16, _BRANCH: 18, _MODEL: 12}
"""The width beyond which a column is cut, whatever it says, for the sake of the title."""
_MOST_IF_ROOMY: Final = {_PROJECT: 30, _BRANCH: 30, _MODEL: 20}
"""The same where titles have room enough."""
_COST_WIDTH: Final = 12
_ROOMY_TITLE: Final = 50
ORDER_OF_COLUMN: Final = {
    _WHEN: "updated",
    _TITLE: "title",
    _PROJECT: "project",
    _COST: BY_COST,
    _BRANCH: BY_BRANCH,
    _MODEL: BY_MODEL,
    _LASTED: "duration",
    _EVENTS: "events",
    _AGENTS: "subagents",
    _SIZE: "size",
}
"""The order that a click on a heading sets."""
_COLUMN_OF_ORDER: Final = {order: column for column, order in ORDER_OF_COLUMN.items()}
_TEXT: Final = Style(dim=True)
_MATCH: Final = Style(bold=True, color="magenta")
_MATCH_AT_CURSOR: Final = CURSOR + Style(bold=True, underline=True)


def choose_columns(longest: Mapping[str, int], width: int) -> tuple[TableColumn, ...]:
    """The columns for a table of this width, by the width of the longest text in those with names.

    A column that says nothing in any row is left out. The rest is up to `fit_columns`.
    """
    columns = _fitted_to(longest, _MOST_IF_ROOMY)
    wanted = _wanted_width(columns)
    if wanted > width:
        columns = _fitted_to(longest, _MOST)
        wanted = _wanted_width(columns)
    for column in _LESS_WANTED:
        wanted += GAP + column.width
        if wanted <= width:
            columns.append(column)
    return tuple(columns)


def _fitted_to(longest: Mapping[str, int], most: Mapping[str, int]) -> list[TableColumn]:
    """The columns that say anything, as wide as their texts where there is room."""
    columns = [column for column in _COLUMNS if longest.get(column.name, 1)]
    widths = [max(min(longest.get(one.name, 0), most.get(one.name, _COST_WIDTH)), one.width) for one in columns]
    return [
        column._replace(width=width if column.name == _COST else column.width, most=width)
        for column, width in zip(columns, widths, strict=True)
    ]


def _wanted_width(columns: Sequence[TableColumn]) -> int:
    return sum(GAP + (_ROOMY_TITLE if column.grows else column.most) for column in columns) - GAP


def column_widths(rows: Sequence[SessionRow]) -> dict[str, int]:
    """The width of the longest text in the columns that are fitted to what they hold; zero for an empty one."""
    sessions = [row.session for row in rows]
    return {
        _STATE: max((len(row.state) for row in rows), default=0),
        _PROJECT: max((cell_width(name) for name in {base_name(row.project) for row in rows}), default=0),
        _BRANCH: max((cell_width(name) for name in set(map(git_branch, sessions))), default=0),
        _MODEL: max((cell_width(name) for name in set(map(model_name, sessions))), default=0),
        _COST: 1,
    }


class SessionTable(RowTable[ListRow]):
    """A line for each session or group; with hits, another one below it. The screen carries out the keys."""

    BINDINGS: ClassVar[list[BindingType]] = bindings([*BROWSE_KEYS, NEXT_HIT])
    columns: Sequence[TableColumn] = _COLUMNS

    def __init__(self, clock: Callable[[], datetime], costs: SessionCosts) -> None:
        super().__init__(id="table")
        self._clock = clock
        self._costs = costs
        self._longest: dict[str, int] = {}
        self._order, self._is_reversed = "", False
        self.hits: HitList | None = None
        """The hits of the sessions that are shown; `None` if nothing is searched for."""

    def fit_to(self, rows: Sequence[SessionRow]) -> None:
        """Choose columns by what these rows hold; the costs are known later."""
        self._longest = column_widths(rows) | {_COST: max(self._longest.get(_COST, 1), 1)}
        self._choose_columns()

    def show_costs(self, rows: Sequence[ListRow]) -> None:
        """The costs of these rows are known now."""
        longest = max((len(self._costs.text(row)) for row in rows), default=0)
        self._longest[_COST] = max(self._longest.get(_COST, 1), longest)
        self._choose_columns()
        self.refresh()

    def show_order(self, order: str, *, is_reversed: bool) -> None:
        """Mark the heading of the column that the rows are sorted by."""
        self._order, self._is_reversed = order, is_reversed

    def show_sessions(self, rows: Sequence[ListRow], cursor: int, hits: HitList | None = None) -> None:
        """Show sessions, with their hits if they were found by a search."""
        self.hits = hits
        self.row_height = 1 if hits is None else 2
        self._choose_columns()
        self.show(rows, cursor)

    def on_resize(self) -> None:
        """Choose other columns."""
        self._choose_columns()
        super().on_resize()

    def _choose_columns(self) -> None:
        width = self.scrollable_content_region.width
        if self.hits is None:
            self.columns = choose_columns(self._longest, width)
            return
        project = min(self._longest.get(_PROJECT, 0), _MOST_IF_ROOMY[_PROJECT])
        self.columns = [one._replace(most=project) if one.name == _PROJECT else one for one in _HIT_COLUMNS]

    def heading(self, column: TableColumn) -> str:
        """The name of a column, with an arrow if the rows are sorted by it."""
        if self.hits is not None or _COLUMN_OF_ORDER.get(self._order) != column.name:
            return column.name
        is_rising = (column.name in (_TITLE, _PROJECT, _BRANCH, _MODEL)) != self._is_reversed
        return f"{column.name}{'↑' if is_rising else '↓'}"

    def cells(self, row: ListRow) -> Sequence[str]:
        """The text for each column."""
        return [_CELLS[column.name](self, row) for column in self.columns]

    def when(self, row: ListRow) -> str:
        """The time of the last activity."""
        return short_time(row.session.updated_at, self._clock())

    def cost(self, row: ListRow) -> str:
        """The cost; empty until it is known."""
        return self._costs.text(row)

    def hit_count(self, row: ListRow) -> str:
        """How many hits a session has."""
        return str(self.hits.count_in(row.key)) if self.hits is not None else ""

    def title(self, row: ListRow) -> str:
        """The title, with a mark for a group, for its sessions, and for a sub-agent."""
        if isinstance(row, SessionGroup):
            return f"{_OPEN if row.is_open else _FOLDED} {row.title}"
        if row.label:
            return f"  {row.label}"
        return ("↳ " if row.session.is_subagent else "") + (row.session.title or "(no title)")

    def further_line(self, number: int, fitted: Sequence[FittedColumn], width: int, style: Style | None) -> Strip:
        """The text of a hit, below the title."""
        text = self.hits.text(number) if self.hits is not None else None
        place = next((one.position for one in fitted if one.column.name == _TITLE), 0)
        before = sum(column.width + GAP for column in fitted if column.position < place)
        segments = [Segment(" " * before, style or PLAIN)]
        if text is not None:
            segments += _hit_segments(text, width - before, is_at_cursor=style is not None)
        return Strip(segments).adjust_cell_length(width, style or PLAIN)


_OPEN, _FOLDED = "▾", "▸"


def _mark(table: SessionTable, row: ListRow) -> str:
    return IN_USE if row.in_use else STALE if any(member.session.is_stale for member in row.members) else ""


def _common(row: ListRow, text_of: Callable[[Session], str]) -> str:
    """A text of a session, or of all sessions of a group if it is the same."""
    texts = {text_of(member.session) for member in row.members}
    return texts.pop() if len(texts) == 1 else ""


def _count(row: ListRow, count_of: Callable[[Session], int]) -> str:
    return str(sum(count_of(member.session) for member in row.members) or "")


def _lasted(table: SessionTable, row: ListRow) -> str:
    return short_duration(sum(member.session.duration_seconds for member in row.members))


_CELLS: Final[dict[str, Callable[[SessionTable, ListRow], str]]] = {
    _MARK: _mark,
    _STATE: lambda table, row: row.state,
    _WHEN: SessionTable.when,
    _TITLE: SessionTable.title,
    _PROJECT: lambda table, row: base_name(row.project),
    _COST: SessionTable.cost,
    _BRANCH: lambda table, row: _common(row, git_branch),
    _MODEL: lambda table, row: _common(row, model_name),
    _LASTED: _lasted,
    _EVENTS: lambda table, row: _count(row, lambda session: session.conversation.events),
    _AGENTS: lambda table, row: _count(row, lambda session: session.subagent_count),
    _SIZE: lambda table, row: size(sum(member.session.file.stamp.size for member in row.members)),
    _HITS: SessionTable.hit_count,
}
"""What the cells of each column say."""


def _hit_segments(hit: HitText, width: int, *, is_at_cursor: bool) -> list[Segment]:
    """The source and the text of a hit on one line, with the words that match."""
    plain, match = (CURSOR, _MATCH_AT_CURSOR) if is_at_cursor else (_TEXT, _MATCH)
    source = f"{printable(hit.source)}: "
    text, spans = fit_marked(printable(hit.text), hit.spans, max(width - cell_width(source), 1))
    segments = [Segment(source, plain)]
    end = 0
    for start, stop in spans:
        segments += [Segment(text[end:start], plain), Segment(text[start:stop], match)]
        end = stop
    return [*segments, Segment(text[end:], plain)]
