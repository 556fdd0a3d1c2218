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

from claude_session_player.tui.keys import MOVE, bindings
from claude_session_player.util.tables import GAP, FittedColumn, TableColumn, fit_columns
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

_T = TypeVar("_T")
PLAIN: Final = Style()
"""Without colours, Textual expects every segment to have a style."""
_QUIET: Final = Style(dim=True)
_HEADING: Final = Style(bold=True)
CURSOR: Final = Style(reverse=True)
"""The style of the row with the cursor."""


class RowTable(ScrollView, Generic[_T], can_focus=True):
    """A table with a heading and a cursor; subclasses define the columns and the text of the cells."""

    DEFAULT_CSS = "RowTable { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = bindings([MOVE])
    columns: Sequence[TableColumn] = ()
    row_height = 1
    """How many lines a row has; subclasses draw those after the first."""
    without_rows = ""
    """What is shown in place of rows."""
    cursor: reactive[int] = reactive(0)

    class Moved(Message):
        """The cursor is on another row, or the table is empty."""

    class Scrolled(Message):
        """Other rows are in view."""

    class Chosen(Message):
        """A row was double-clicked."""

    class HeadingClicked(Message):
        """The name of a column was clicked."""

        def __init__(self, column: str) -> None:
            super().__init__()
            self.column = column

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: Sequence[_T] = ()

    def heading(self, column: TableColumn) -> str:
        """What stands above a column."""
        return column.name

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
        """A click moves the cursor, a double click chooses the row, and one on a heading is reported."""
        if (place := event.get_content_offset(self)) is None:
            return
        number = (place.y - 1 + self.scroll_offset.y) // self.row_height
        if place.y == 0:
            self._click_heading(place.x)
        elif number < len(self.rows):
            self.cursor = number
            if event.chain > 1:
                self.post_message(self.Chosen())

    def _click_heading(self, x: int) -> None:
        end = 0
        for one in fit_columns(self.columns, self.scrollable_content_region.width):
            end += one.width + GAP
            if x < end:
                self.post_message(self.HeadingClicked(one.column.name))
                return

    def render_line(self, y: int) -> Strip:
        """One line of the terminal: the heading, or a row."""
        width = self.scrollable_content_region.width
        fitted = fit_columns(self.columns, width)
        if y == 0:
            return _strip([self.heading(column) for column in self.columns], fitted, width, _HEADING)
        number, part = divmod(y - 1 + self.scroll_offset.y, self.row_height)
        if number >= len(self.rows):
            words = self.without_rows if y == 1 and not self.rows else ""
            return Strip([Segment(words, _QUIET)]).adjust_cell_length(width, PLAIN)
        style = CURSOR if number == self.cursor else None
        if part:
            return self.further_line(number, fitted, width, style)
        return _strip(self.cells(self.rows[number]), fitted, width, style)

    def further_line(self, number: int, fitted: Sequence[FittedColumn], width: int, style: Style | None) -> Strip:
        """A line of a row after the first; with a style, in that style."""
        return Strip.blank(width, style or PLAIN)

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
        segments += [Segment(text, style or Style.parse(one.column.style)), Segment(" " * GAP, style or PLAIN)]
    return Strip(segments).adjust_cell_length(width, style or PLAIN)
