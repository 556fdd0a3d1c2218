"""Tables on screen. Only visible rows are drawn, so that thousands of rows cost nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from claude_session_player.tui.keys import BROWSE_KEYS, MOVE, NEXT_HIT, bindings
from claude_session_player.tui.listing import IN_USE, STALE, SessionRow
from claude_session_player.util.humanize import short_duration, short_time, size
from claude_session_player.util.tables import GAP, FittedColumn, TableColumn, cell_width, fit_columns, fit_marked
from claude_session_player.util.text import base_name, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from claude_session_player.tui.hit_list import HitList, HitText

_T = TypeVar("_T")
_PLAIN: Final = Style()
"""Without colours, Textual expects every segment to have a style."""
_HEADING: Final = Style(bold=True)
_CURSOR: Final = Style(reverse=True)


class RowTable(ScrollView, Generic[_T], can_focus=True):
    """A table with a heading and a cursor; subclasses define the columns and the text of the cells."""

    DEFAULT_CSS = "RowTable { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = bindings([MOVE])
    columns: Sequence[TableColumn] = ()
    row_height = 1
    """How many lines a row has; subclasses draw those after the first."""
    cursor: reactive[int] = reactive(0)

    class Moved(Message):
        """The cursor is on another row, or the table is empty."""

    class Scrolled(Message):
        """Other rows are in view."""

    class Chosen(Message):
        """A row was double-clicked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: Sequence[_T] = ()

    def cells(self, row: _T) -> Sequence[str]:
        """The text of a row for each column."""
        raise NotImplementedError

    @property
    def current(self) -> _T | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.rows else None

    def show(self, rows: Sequence[_T], cursor: int) -> None:
        """Show these rows, with the cursor on one of them."""
        self.rows = rows
        self._measure_rows()
        self.set_reactive(RowTable.cursor, cursor)
        self.watch_cursor()

    def validate_cursor(self, cursor: int) -> int:
        """The cursor stays inside the table."""
        return max(min(cursor, len(self.rows) - 1), 0)

    def watch_cursor(self) -> None:
        """Scroll to the cursor."""
        self._follow_cursor()
        self.refresh()
        self.post_message(self.Moved())

    def action_move(self, rows: int) -> None:
        """Move the cursor down, or up with a negative number."""
        self.cursor += rows

    def action_page(self, pages: int) -> None:
        """Move the cursor by pages."""
        self.cursor += pages * max((self.size.height - 2) // self.row_height, 1)

    def action_first(self) -> None:
        """Go to the first row."""
        self.cursor = 0

    def action_last(self) -> None:
        """Go to the last row."""
        self.cursor = len(self.rows) - 1

    @property
    def visible_rows(self) -> range:
        """The numbers of the rows that are in view, also in part; there may be fewer rows."""
        top, height = self.scroll_offset.y, max(self.size.height - 1, 0)
        return range(top // self.row_height, -(-(top + height) // self.row_height))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say so."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Scrolled())

    def on_resize(self) -> None:
        """Keep the cursor visible."""
        self._measure_rows()
        self._follow_cursor()
        self.post_message(self.Scrolled())

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, a double click chooses the row."""
        number = (event.y - 1 + self.scroll_offset.y) // self.row_height
        if event.y > 0 and number < len(self.rows):
            self.cursor = number
            if event.chain > 1:
                self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        """One line of the terminal: the heading, or a row."""
        width = self.scrollable_content_region.width
        fitted = fit_columns(self.columns, width)
        if y == 0:
            return _strip([column.name for column in self.columns], fitted, width, _HEADING)
        number, part = divmod(y - 1 + self.scroll_offset.y, self.row_height)
        if number >= len(self.rows):
            return Strip.blank(width, _PLAIN)
        style = _CURSOR if number == self.cursor else None
        if part:
            return self.further_line(number, fitted, width, style)
        return _strip(self.cells(self.rows[number]), fitted, width, style)

    def further_line(self, number: int, fitted: Sequence[FittedColumn], width: int, style: Style | None) -> Strip:
        """A line of a row after the first; with a style, in that style."""
        return Strip.blank(width, style or _PLAIN)

    def _measure_rows(self) -> None:
        self.virtual_size = Size(self.size.width, len(self.rows) * self.row_height + 1)

    def _follow_cursor(self) -> None:
        visible = max(self.size.height - 1, 1)
        top = self.scroll_offset.y
        first = self.cursor * self.row_height
        wanted = min(max(top, first + self.row_height - visible), first)
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, immediate=True)


def _strip(cells: Sequence[str], fitted: Sequence[FittedColumn], width: int, style: Style | None) -> Strip:
    """Cells side by side, in the styles of their columns or in the given style."""
    segments: list[Segment] = []
    for one in fitted:
        text = one.cell(printable(cells[one.position]))
        segments += [Segment(text, style or Style.parse(one.column.style)), Segment(" " * GAP, style or _PLAIN)]
    return Strip(segments).adjust_cell_length(width, style or _PLAIN)


_SESSION_COLUMNS: Final[Sequence[TableColumn]] = (
    TableColumn("", 1, 8, "yellow"),
    TableColumn("WHEN", 11, 9),
    TableColumn("TITLE", 20, 10, grows=True),
    TableColumn("PROJECT", 12, 7, "green"),
    TableColumn("EVENTS", 6, 4, is_right=True, is_extra=True),
    TableColumn("SIZE", 7, 5, is_right=True, is_extra=True),
    TableColumn("LASTED", 7, 3, is_right=True, is_extra=True),
    TableColumn("AGENTS", 6, 2, is_right=True, is_extra=True),
)
_HIT_COLUMNS: Final[Sequence[TableColumn]] = (
    TableColumn("", 1, 6, "yellow"),
    TableColumn("WHEN", 11, 8),
    TableColumn("TITLE", 20, 10, grows=True),
    TableColumn("PROJECT", 12, 7, "green"),
    TableColumn("HITS", 5, 9, is_right=True),
)
_TITLE: Final = 2
"""The position of the title among the columns."""
_TEXT: Final = Style(dim=True)
_MATCH: Final = Style(bold=True, color="magenta")
_MATCH_AT_CURSOR: Final = _CURSOR + Style(bold=True, underline=True)


class SessionTable(RowTable[SessionRow]):
    """A line for each session; with hits of a search, another one below it. The screen carries out the keys."""

    BINDINGS: ClassVar[list[BindingType]] = bindings([*BROWSE_KEYS, NEXT_HIT])
    columns = _SESSION_COLUMNS

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__(id="table")
        self._clock = clock
        self.hits: HitList | None = None
        """The hits of the sessions that are shown; `None` if nothing is searched for."""

    def show_sessions(self, rows: Sequence[SessionRow], cursor: int, hits: HitList | None = None) -> None:
        """Show sessions, with their hits if they were found by a search."""
        self.hits = hits
        self.columns, self.row_height = (_SESSION_COLUMNS, 1) if hits is None else (_HIT_COLUMNS, 2)
        self.show(rows, cursor)

    def cells(self, row: SessionRow) -> Sequence[str]:
        """The text for each column."""
        session = row.session
        named = (
            IN_USE if row.in_use else STALE if session.is_stale else "",
            short_time(session.updated_at, self._clock()),
            ("↳ " if session.is_subagent else "") + (session.title or "(no title)"),
            base_name(row.project),
        )
        if self.hits is not None:
            return (*named, str(self.hits.count_in(row.key)))
        return (
            *named,
            str(session.conversation.events),
            size(session.file.stamp.size),
            short_duration(session.duration_seconds),
            str(session.subagent_count or ""),
        )

    def further_line(self, number: int, fitted: Sequence[FittedColumn], width: int, style: Style | None) -> Strip:
        """The text of a hit, below the title."""
        text = self.hits.text(number) if self.hits is not None else None
        before = sum(column.width + GAP for column in fitted if column.position < _TITLE)
        segments = [Segment(" " * before, style or _PLAIN)]
        if text is not None:
            segments += _hit_segments(text, width - before, is_at_cursor=style is not None)
        return Strip(segments).adjust_cell_length(width, style or _PLAIN)


def _hit_segments(hit: HitText, width: int, *, is_at_cursor: bool) -> list[Segment]:
    """The source and the text of a hit on one line, with the words that match."""
    plain, match = (_CURSOR, _MATCH_AT_CURSOR) if is_at_cursor else (_TEXT, _MATCH)
    source = f"{printable(hit.source)}: "
    text, spans = fit_marked(printable(hit.text), hit.spans, max(width - cell_width(source), 1))
    segments = [Segment(source, plain)]
    end = 0
    for start, stop in spans:
        segments += [Segment(text[end:start], plain), Segment(text[start:stop], match)]
        end = stop
    return [*segments, Segment(text[end:], plain)]
