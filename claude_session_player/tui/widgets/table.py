"""A table of any number of rows. Only those that are in sight are drawn, so that thousands of them cost nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Generic, NamedTuple, TypeVar

from rich.cells import cell_len, set_cell_size
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

from claude_session_player.tui.keys import Key, bindings
from claude_session_player.tui.listing import IN_USE, STALE, SessionRow
from claude_session_player.util.humanize import size, span, when
from claude_session_player.util.text import ELLIPSIS, base_name, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

_T = TypeVar("_T")
_GAP: Final = 2
_PLAIN: Final = Style()
"""Without colours, Textual asks every piece of a line for its style."""
_HEADING: Final = Style(bold=True)
_CURSOR: Final = Style(reverse=True)
MOVE: Final = Key(
    ("up,k", "down,j", "pageup", "pagedown", "home", "end"),
    ("move(-1)", "move(1)", "page(-1)", "page(1)", "first", "last"),
    "↑ ↓",
    "move",
    "move; so do k, j, PgUp, PgDn, Home, End and the mouse",
)


class TableColumn(NamedTuple):
    """A column: how wide it is, and how dear; the dearest stays longest."""

    name: str
    width: int
    """The least width, for a column that takes what the others leave."""
    rank: int
    style: str = ""
    is_right: bool = False
    grows: bool = False
    is_extra: bool = False
    """It has a place only where those that grow have twice their least width."""


class FittedColumn(NamedTuple):
    """A column that has its place: the number of its cell in a row, and its width."""

    number: int
    column: TableColumn
    width: int


class RowTable(ScrollView, Generic[_T], can_focus=True):
    """A table with a heading and a cursor. What its cells say is told by whoever derives from it."""

    DEFAULT_CSS = "RowTable { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = bindings([MOVE])
    columns: ClassVar[Sequence[TableColumn]] = ()
    cursor: reactive[int] = reactive(0)

    class Moved(Message):
        """The cursor is on another row, or on none."""

    class Chosen(Message):
        """Somebody clicked twice on a row."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: Sequence[_T] = ()

    def cells(self, row: _T) -> Sequence[str]:
        """What a row says, a text for each column."""
        raise NotImplementedError

    @property
    def current(self) -> _T | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.rows else None

    def show(self, rows: Sequence[_T], cursor: int) -> None:
        """Show other rows, with the cursor on one of them."""
        self.rows = rows
        self.virtual_size = Size(self.size.width, len(rows) + 1)
        self.set_reactive(RowTable.cursor, cursor)
        self.watch_cursor()

    def validate_cursor(self, cursor: int) -> int:
        """The cursor stays inside of the table."""
        return max(min(cursor, len(self.rows) - 1), 0)

    def watch_cursor(self) -> None:
        """The cursor stays in sight."""
        self._follow_cursor()
        self.refresh()
        self.post_message(self.Moved())

    def action_move(self, rows: int) -> None:
        """Go some rows down."""
        self.cursor += rows

    def action_page(self, pages: int) -> None:
        """Go some pages down."""
        self.cursor += pages * max(self.size.height - 2, 1)

    def action_first(self) -> None:
        """Go to the first row."""
        self.cursor = 0

    def action_last(self) -> None:
        """Go to the last row."""
        self.cursor = len(self.rows) - 1

    def on_resize(self) -> None:
        """The heading and the cursor stay in sight, whatever the size."""
        self.virtual_size = Size(self.size.width, len(self.rows) + 1)
        self._follow_cursor()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, two of them choose the row."""
        number = event.y - 1 + self.scroll_offset.y
        if event.y > 0 and number < len(self.rows):
            self.cursor = number
            if event.chain > 1:
                self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the heading, or a row."""
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


def fit_columns(columns: Sequence[TableColumn], width: int) -> list[FittedColumn]:
    """The columns that have a place in a width, the cheapest left out first; what is left goes to those that grow."""
    kept = [FittedColumn(number, column, column.width) for number, column in enumerate(columns)]
    while len(kept) > 1 and _needed(kept) > width:
        kept.remove(min(kept, key=lambda one: one.column.rank))
    left = width - sum(one.width + _GAP for one in kept) + _GAP
    growing = [one for one in kept if one.column.grows] or kept[:1]
    share, more = divmod(left, len(growing)) if growing else (0, 0)
    extra = {one.number: share + (place < more) for place, one in enumerate(growing)}
    return [one._replace(width=max(one.width + extra.get(one.number, 0), 0)) for one in kept]


def _needed(kept: Sequence[FittedColumn]) -> int:
    """The least width in which all of these have a place."""
    has_extra = any(one.column.is_extra for one in kept)
    more = sum(one.width for one in kept if one.column.grows) if has_extra else 0
    return sum(one.width + _GAP for one in kept) - _GAP + more


def fit_cell(text: str, width: int, is_right: bool = False) -> str:
    """A text in exactly so many cells of a terminal; what is cut off is marked.

    >>> fit_cell("kettle", 4), fit_cell("tea", 4), fit_cell("tea", 4, is_right=True), fit_cell("茶茶茶", 4)
    ('ket…', 'tea ', ' tea', '茶 …')
    """
    size = cell_len(text)
    if size > width:
        return set_cell_size(text, width - 1) + ELLIPSIS if width > 0 else ""
    return " " * (width - size) + text if is_right else text + " " * (width - size)


def _strip(cells: Sequence[str], fitted: Sequence[FittedColumn], width: int, style: Style | None) -> Strip:
    """Cells side by side; where a style is given it is that of all of them."""
    segments: list[Segment] = []
    for one in fitted:
        text = fit_cell(printable(cells[one.number]), one.width, one.column.is_right)
        segments += [Segment(text, style or Style.parse(one.column.style)), Segment(" " * _GAP, style or _PLAIN)]
    return Strip(segments).adjust_cell_length(width, style or _PLAIN)


_PLAY: Final = Key(("enter",), ("screen.play(False)",), "Enter", "play", "play the session")
_ALL: Final = Key(("escape",), ("screen.widen",), "Esc", "all", "show all sessions again")

KEYS: Final = (
    _PLAY,
    Key(("f",), ("screen.play(True)",), "f", "follow", "follow it: what happens now, as it happens"),
    Key(("v",), ("screen.summary",), "v", "summary", "what it comes to: time, tools, files, tokens, cost"),
    Key(("e",), ("screen.export",), "e", "export", "write it into a file"),
    Key(("y",), ("screen.copy",), "y", "copy", "copy the command that goes on with it"),
    Key(("slash",), ("screen.filter",), "/", "find", "find: type words, each has to be in it", is_first=True),
    Key(("s", "S"), ("screen.sort", "screen.reverse"), "s S", "sort", "sort by what comes next; turn the order around"),
    Key(("p",), ("screen.projects",), "p", "project", "choose a project"),
    Key(("a",), ("screen.subagents",), "a", "sub-agents", "show sub-agents as well, or not"),
    Key(("r",), ("screen.reload",), "r", "reload", "read the stores again"),
    _ALL,
    MOVE,
    Key(("question_mark",), ("screen.help",), "?", "help", "this help"),
    Key(("q",), ("app.quit",), "q", "quit", "quit"),
)
"""Those of the table."""
FILTER_KEYS: Final = (
    _PLAY,
    Key(("down,up",), ("screen.table",), "↑ ↓", "to the table", "while words are typed: back to the table"),
    _ALL,
)
"""Those of the line in which words are typed."""


class SessionTable(RowTable[SessionRow]):
    """A line for each session. What is done with one of them is up to the screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(KEYS)
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
        """When something happened last, what it is about, where, and how much it is."""
        session = row.session
        return (
            IN_USE if row.in_use else STALE if session.is_stale else "",
            when(session.updated_at, self._clock()),
            ("↳ " if session.is_subagent else "") + (session.title or "(no title)"),
            base_name(row.project),
            str(session.conversation.events),
            size(session.file.stamp.size),
            span(session.duration_seconds),
            str(session.subagent_count or ""),
        )


class FilterInput(Input):
    """The words that sessions are filtered by."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(FILTER_KEYS)

    def __init__(self, words: str) -> None:
        super().__init__(words, placeholder="/ to find", compact=True, select_on_focus=False)
        self.cursor_blink = False
