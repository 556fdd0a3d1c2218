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
from textual.widgets import Input

from claude_session_player.tui.keys import BROWSE_KEYS, FILTER_KEYS, MOVE, bindings
from claude_session_player.tui.listing import IN_USE, STALE, SessionRow
from claude_session_player.util.humanize import short_duration, short_time, size
from claude_session_player.util.tables import GAP, FittedColumn, TableColumn, fit_columns
from claude_session_player.util.text import base_name, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

_T = TypeVar("_T")
_PLAIN: Final = Style()
"""Without colours, Textual expects every segment to have a style."""
_HEADING: Final = Style(bold=True)
_CURSOR: Final = Style(reverse=True)


class RowTable(ScrollView, Generic[_T], can_focus=True):
    """A table with a heading and a cursor; subclasses define the columns and the text of the cells."""

    DEFAULT_CSS = "RowTable { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = bindings([MOVE])
    columns: ClassVar[Sequence[TableColumn]] = ()
    cursor: reactive[int] = reactive(0)

    class Moved(Message):
        """The cursor is on another row, or the table is empty."""

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
        self.virtual_size = Size(self.size.width, len(rows) + 1)
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
        self.cursor += pages * max(self.size.height - 2, 1)

    def action_first(self) -> None:
        """Go to the first row."""
        self.cursor = 0

    def action_last(self) -> None:
        """Go to the last row."""
        self.cursor = len(self.rows) - 1

    def on_resize(self) -> None:
        """Keep the cursor visible."""
        self.virtual_size = Size(self.size.width, len(self.rows) + 1)
        self._follow_cursor()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, a double click chooses the row."""
        number = event.y - 1 + self.scroll_offset.y
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
        number = y - 1 + self.scroll_offset.y
        if number >= len(self.rows):
            return Strip.blank(width, _PLAIN)
        style = _CURSOR if number == self.cursor else None
        return _strip(self.cells(self.rows[number]), fitted, width, style)

    def _follow_cursor(self) -> None:
        visible = max(self.size.height - 1, 1)
        top = self.scroll_offset.y
        wanted = min(max(top, self.cursor - visible + 1), self.cursor)
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, immediate=True)


def _strip(cells: Sequence[str], fitted: Sequence[FittedColumn], width: int, style: Style | None) -> Strip:
    """Cells side by side, in the styles of their columns or in the given style."""
    segments: list[Segment] = []
    for one in fitted:
        text = one.cell(printable(cells[one.position]))
        segments += [Segment(text, style or Style.parse(one.column.style)), Segment(" " * GAP, style or _PLAIN)]
    return Strip(segments).adjust_cell_length(width, style or _PLAIN)


class SessionTable(RowTable[SessionRow]):
    """A line for each session; the screen carries out the keys."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(BROWSE_KEYS)
    columns = (
        TableColumn("", 1, 8, "yellow"),
        TableColumn("WHEN", 11, 9),
        TableColumn("TITLE", 20, 10, grows=True),
        TableColumn("PROJECT", 12, 7, "green"),
        TableColumn("EVENTS", 6, 4, is_right=True, is_extra=True),
        TableColumn("SIZE", 7, 5, is_right=True, is_extra=True),
        TableColumn("LASTED", 7, 3, is_right=True, is_extra=True),
        TableColumn("AGENTS", 6, 2, is_right=True, is_extra=True),
    )

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__(id="table")
        self._clock = clock

    def cells(self, row: SessionRow) -> Sequence[str]:
        """The text for each column."""
        session = row.session
        return (
            IN_USE if row.in_use else STALE if session.is_stale else "",
            short_time(session.updated_at, self._clock()),
            ("↳ " if session.is_subagent else "") + (session.title or "(no title)"),
            base_name(row.project),
            str(session.conversation.events),
            size(session.file.stamp.size),
            short_duration(session.duration_seconds),
            str(session.subagent_count or ""),
        )


class FilterInput(Input):
    """The line in which the filter is typed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(FILTER_KEYS)

    def __init__(self, words: str) -> None:
        super().__init__(words, placeholder="/ to filter", compact=True, select_on_focus=False)
        self.cursor_blink = False
