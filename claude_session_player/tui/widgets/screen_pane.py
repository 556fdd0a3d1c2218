"""The screen of a session: scrolled by rows, with a cursor on one of its elements."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from claude_session_player.export.element_rows import blank_rows, is_shortened
from claude_session_player.models import (
    Note,
    PeerMessage,
    ScreenElement,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    UserMessage,
    View,
)
from claude_session_player.tui.widgets.rows import element_rows, find_match, highlight_matches


class RowPlace(NamedTuple):
    """A row: the number of its element, and its number in this element."""

    element: int
    row: int


class Viewport:
    """The visible rows of a list of elements. It stays at the end of the list until it is scrolled back."""

    def __init__(self, height_of: Callable[[int], int]) -> None:
        self._height_of = height_of
        self.count = 0
        """How many elements there are."""
        self.height = 0
        """How many rows are visible."""
        self.is_at_end = True
        self._top = RowPlace(0, 0)

    @property
    def top(self) -> RowPlace:
        """The first visible row."""
        return self._top

    def shift(self, elements: int) -> None:
        """Keep the same rows visible after their elements were renumbered."""
        self._top = self._top._replace(element=self._top.element + elements)

    def rows(self) -> list[RowPlace]:
        """The visible rows from the top down; fewer than the height if there are no more."""
        if self.is_at_end:
            self._top = self._up(RowPlace(self.count, 0), self.height)
        rows = self._down(self._top, self.height)
        if len(rows) < self.height and self._top > (0, 0):  # the list has become shorter
            self.is_at_end = True
            self._top = self._up(RowPlace(self.count, 0), self.height)
            rows = self._down(self._top, self.height)
        return rows

    def scroll(self, rows: int) -> None:
        """Scroll down, or up with a negative number, as far as there are rows."""
        self.rows()
        if rows < 0:
            before, self._top = self._top, self._up(self._top, -rows)
            self.is_at_end = self.is_at_end and self._top == before  # with nothing above, it stays at the end
            return
        self.is_at_end = False
        height = max(self.height, 1)
        below = self._down(self._top, height + rows + 1)
        if len(below) <= height + rows:  # nothing more is below
            self.is_at_end = True
        else:
            self._top = below[rows]

    def reveal_head(self, element: int) -> None:
        """Scroll until the first row of an element is visible."""
        self.reveal(element)
        if RowPlace(element, 0) not in self.rows():
            self._top = RowPlace(element, 0)
            self.is_at_end = len(self._down(self._top, self.height + 1)) <= self.height

    def reveal_row(self, element: int, row: int) -> None:
        """Scroll until a row of an element is visible, together with the first one if both fit."""
        self.reveal_head(element)
        if RowPlace(element, row) not in self.rows():
            self._top = self._up(RowPlace(element, row), self.height // 3)
            self.is_at_end = len(self._down(self._top, self.height + 1)) <= self.height

    def reveal(self, element: int) -> None:
        """Scroll as little as needed to make an element visible; if it is too high, its beginning."""
        rows = self.rows()
        visible = [place.row for place in rows if place.element == element]
        if len(visible) >= min(self._height_of(element), self.height):
            return
        self.is_at_end = False
        if element < rows[0].element or (visible and visible[0] > 0) or self._height_of(element) >= self.height:
            self._top = RowPlace(element, 0)
        else:
            self._top = self._up(RowPlace(element + 1, 0), self.height)
        self.is_at_end = len(self._down(self._top, self.height + 1)) <= self.height

    def _down(self, start: RowPlace, count: int) -> list[RowPlace]:
        """Up to `count` rows, from `start` down."""
        rows: list[RowPlace] = []
        element, row = start
        while element < self.count and len(rows) < count:
            height = self._height_of(element)
            rows += [RowPlace(element, number) for number in range(row, min(height, row + count - len(rows)))]
            element, row = element + 1, 0
        return rows

    def _up(self, start: RowPlace, count: int) -> RowPlace:
        """The row `count` rows above `start`, or the first row of all."""
        element, row = start
        while count > row:
            if element == 0:
                return RowPlace(0, 0)
            count -= row
            element -= 1
            row = self._height_of(element)
        return RowPlace(element, row - count)


CURSOR: Final = Segment("▌", Style(color="blue"))
NO_CURSOR: Final = Segment(" ")
"""What is before the rows of an element."""
_NO_STYLE: Final = Style()
"""Without colours, Textual expects every segment to have a style."""
_HINT: Final = Style(reverse=True)
_BLANK: Final = Strip([])
_CACHE_SIZE: Final = 2000
_WHEEL_ROWS: Final = 3

ElementKey = tuple[int, int]
"""Identifies an element across frames: its line, and its number among the elements of this line."""
DetailRows = Callable[[ScreenElement, int], list[Strip]]
"""Draws an unfolded element in a width."""


class _CachedRows(NamedTuple):
    """The rows of an element, and what they depend on."""

    element: ScreenElement
    is_unfolded: bool
    has_gap: bool
    rows: list[Strip]
    is_shortened: bool
    """True if it is a prompt or message that is not unfolded, and of which these rows leave out some."""


class ScreenPane(Widget, can_focus=True):
    """Shows the elements of a screen. Scrolling back pauses following: the view stays while more is appended."""

    DEFAULT_CSS = "ScreenPane { height: 1fr; width: 1fr; }"

    class CursorMoved(Message):
        """The cursor, or what is shown of its element, may have changed."""

    def __init__(self, view: View, detail_rows: DetailRows) -> None:
        super().__init__()
        self.view = view
        self.needles: Sequence[str] = ()
        """The texts to highlight."""
        self._detail_rows = detail_rows
        self._elements: Sequence[ScreenElement] = ()
        """The elements that are shown."""
        self._latest: Sequence[ScreenElement] = ()
        """The elements of the current frame."""
        self._is_held = False
        """True if older elements are shown, because a compaction removed those in view."""
        self._known_line = 0
        """The line of the last element that was visible at the end, or that was scrolled to since."""
        self._cursor: int | None = None
        """The number of the element at the cursor; `None` for the last one, also when more are appended."""
        self.is_unfolded = False
        """True if all elements are unfolded, but for the exceptions."""
        self._exceptions: set[ElementKey] = set()
        """The elements that are unfolded while the others are not, or the other way round."""
        self._cache: dict[int, _CachedRows] = {}
        self._viewport = Viewport(lambda element: len(self._rows(element)))
        self._places: list[RowPlace] | None = None
        """The visible rows; `None` until they are laid out."""

    # --- what is shown ----------------------------------------------------------------------------------

    def show(self, elements: Sequence[ScreenElement]) -> None:
        """Show the elements of a frame up to the last one; after scrolling back, the view stays where it is."""
        self._latest = elements
        moved = 0 if self._viewport.is_at_end else self._moved_by(elements)
        self._is_held = moved is None
        if self._viewport.is_at_end:
            self._elements = elements
            self._known_line = elements[-1].line if elements else 0
        elif moved is not None:
            self._elements = list(elements)  # the player changes its own list
            self._viewport.shift(moved)
            self._cursor = None if self._cursor is None else max(self._cursor + moved, 0)
        self._viewport.count = len(self._elements)
        if self._cursor is not None and self._cursor >= len(self._elements):
            self._cursor = None
        self.redraw()

    def _moved_by(self, elements: Sequence[ScreenElement]) -> int | None:
        """By how many places the first visible element has moved in these elements; `None` if it is gone."""
        number = self._viewport.top.element
        if number >= len(self._elements):
            return None
        line, place = _key(self._elements, number)
        if number < len(elements) and _key(elements, number) == (line, place):
            return 0
        found = next((other for other, element in enumerate(elements) if element.line == line), None)
        if found is None or found + place >= len(elements) or elements[found + place].line != line:
            return None
        return found + place - number

    @property
    def is_at_end(self) -> bool:
        """True if the view follows the end; false after scrolling back."""
        return self._viewport.is_at_end

    @property
    def unseen(self) -> int:
        """How many elements were appended since the view was scrolled back."""
        return len(self._latest) - bisect_right(self._latest, self._known_line, key=lambda element: element.line)

    def go_to_end(self) -> None:
        """Follow the end again, with the cursor on the last element; `show` draws it."""
        if not self._viewport.is_at_end:
            self._viewport.is_at_end, self._cursor = True, None

    @property
    def scrolled_line(self) -> int | None:
        """The line of the element at the cursor, after scrolling back; `None` at the end."""
        return None if self.is_at_end or self.element is None else self.element.line

    def scroll_to_line(self, line: int) -> None:
        """Put the cursor on the last element up to a line, with its head in view."""
        number = bisect_right(self._elements, line, key=lambda element: element.line) - 1
        if number >= 0:
            self.move_to_head(number)

    def redraw(self, *, is_stale: bool = False) -> None:
        """Draw the visible rows; with `is_stale`, without rows that were laid out before."""
        if is_stale:
            self._cache.clear()
        self._places = None
        self.refresh()

    @property
    def elements(self) -> Sequence[ScreenElement]:
        """The elements that are shown."""
        return self._elements

    def find_line(self, line: int) -> int | None:
        """The number of the last element that a line of the file shows, or whose result it is."""
        numbers = range(len(self._elements) - 1, -1, -1)
        return next((number for number in numbers if line in element_lines(self._elements[number])), None)

    def render_line(self, y: int) -> Strip:
        """One row of the terminal."""
        if self._places is None:
            self._viewport.height = self.size.height
            self._places = self._viewport.rows()
        if y == self.size.height - 1 and not self._viewport.is_at_end:
            return self._with_hint(self._row(y))
        return self._row(y)

    def _with_hint(self, strip: Strip) -> Strip:
        """The last visible row, with the number of new elements and the key that leads to them at its right end."""
        hint = Strip([Segment(f" {scroll_hint(self.unseen)} ", _HINT)])
        left = max(self.size.width - hint.cell_length, 0)
        return Strip.join([strip.crop(0, left), hint]).crop(0, self.size.width)

    def _row(self, y: int) -> Strip:
        if self._places is None or y >= len(self._places):
            return Strip.blank(self.size.width, _NO_STYLE)
        element, row = self._places[y]
        strip = self._rows(element)[row]
        for needle in self.needles:
            strip = highlight_matches(strip, needle)
        mark = CURSOR if element == self.cursor and row >= self._gap(element) else NO_CURSOR
        return Strip([mark, *strip]).adjust_cell_length(self.size.width).apply_style(_NO_STYLE)

    def _rows(self, number: int) -> list[Strip]:
        return self._drawn(number).rows

    def _drawn(self, number: int) -> _CachedRows:
        element = self._elements[number]
        has_gap = self._gap(number) > 0
        is_unfolded = self.is_element_unfolded(number)
        cached = self._cache.get(id(element))
        if cached is not None and cached.element is element and cached[1:3] == (is_unfolded, has_gap):
            return cached
        width = self.size.width - 1
        rows = self._detail_rows(element, width) if is_unfolded else element_rows(element, self.view, width)
        rows = [_BLANK, *rows] if has_gap else rows
        if len(self._cache) >= _CACHE_SIZE:
            self._cache.clear()
        is_short = (
            isinstance(element, UserMessage | PeerMessage)
            and not is_unfolded
            and is_shortened(element, self.view, rows)
        )
        drawn = self._cache[id(element)] = _CachedRows(element, is_unfolded, has_gap, rows, is_short)
        return drawn

    def _gap(self, number: int) -> int:
        """How many empty rows are above an element."""
        return blank_rows(self._elements[number - 1], self._elements[number], self.view) if number else 0

    # --- the cursor ---------------------------------------------------------------------------------------

    @property
    def cursor(self) -> int:
        """The number of the element at the cursor; -1 if there are no elements."""
        return len(self._elements) - 1 if self._cursor is None else self._cursor

    @property
    def element(self) -> ScreenElement | None:
        """The element at the cursor."""
        return self._elements[self.cursor] if self._elements else None

    @property
    def is_cursor_folded(self) -> bool:
        """True if the element at the cursor is not unfolded, and may have more to show than its first rows."""
        element = self.element
        if isinstance(element, UserMessage | PeerMessage):
            return bool(self.size) and self._drawn(self.cursor).is_shortened
        is_foldable = isinstance(element, ToolCall | ThinkingIndicator | SystemOutput | Note)
        return is_foldable and not self.is_cursor_unfolded

    @property
    def is_cursor_unfolded(self) -> bool:
        """True if the element at the cursor is unfolded."""
        return bool(self._elements) and self.is_element_unfolded(self.cursor)

    def move(self, step: int) -> None:
        """Move the cursor; from the last element on, it follows the end."""
        if self._elements:
            self.move_to(min(max(self.cursor + step, 0), len(self._elements) - 1))

    def move_to(self, number: int) -> None:
        """Put the cursor on an element, and make it visible."""
        self._set_cursor(number)
        self._viewport.reveal(number)
        self._settle()

    def move_to_head(self, number: int) -> None:
        """Put the cursor on an element, and make its first row visible."""
        self._set_cursor(number)
        self._viewport.reveal_head(number)
        self._settle()

    def move_to_match(self, number: int) -> None:
        """Put the cursor on an element, and make the first row with a text that is highlighted visible."""
        self._set_cursor(number)
        self._viewport.reveal_row(number, find_match(self._rows(number), self.needles) or 0)
        self._settle()

    def has_match(self, number: int) -> bool:
        """True if a text that is highlighted is in an element as it is shown now."""
        return not self.needles or find_match(self._rows(number), self.needles) is not None

    def _set_cursor(self, number: int) -> None:
        self._cursor = None if number == len(self._elements) - 1 else number

    def is_element_unfolded(self, number: int) -> bool:
        """True if an element is shown with its whole input and result."""
        if not self._exceptions:
            return self.is_unfolded
        return self.is_unfolded != (_key(self._elements, number) in self._exceptions)

    def toggle_element(self) -> None:
        """Unfold or fold the element at the cursor."""
        if self._elements:
            self._exceptions ^= {_key(self._elements, self.cursor)}
            self._viewport.reveal_head(self.cursor)
            self._settle()

    def unfold_element(self, number: int) -> None:
        """Unfold an element."""
        if not self.is_element_unfolded(number):
            self._exceptions ^= {_key(self._elements, number)}
            self.redraw()

    def fold_all(self, is_unfolded: bool) -> None:
        """Unfold all elements, or fold them; the element at the cursor stays in view."""
        self.is_unfolded, self._exceptions = is_unfolded, set()
        if self._elements:
            self._viewport.reveal_head(self.cursor)
            self._settle()

    # --- scrolling ------------------------------------------------------------------------------------------

    def scroll_rows(self, rows: int) -> None:
        """Scroll down, or up with a negative number."""
        self._viewport.scroll(rows)
        self._keep_cursor_visible()
        self._settle()

    def _keep_cursor_visible(self) -> None:
        visible = [element for element, row in self._viewport.rows() if row >= self._gap(element)]
        if self._viewport.is_at_end:  # the cursor follows the end, too
            self._cursor = None
        elif visible and not visible[0] <= self.cursor <= visible[-1]:
            self._cursor = visible[0] if self.cursor < visible[0] else visible[-1]

    def _settle(self) -> None:
        """Draw the view where it is now; visible elements no longer count as new."""
        if self._viewport.is_at_end and self._is_held:
            self._cursor = None
            self.show(self._latest)
        elif self._viewport.is_at_end:
            self._known_line = self._elements[-1].line if self._elements else 0
        elif rows := self._viewport.rows():
            self._elements = list(self._elements)  # the player changes its own list
            self._cursor = self.cursor  # a cursor that follows the end would leave the view
            self._known_line = max(self._known_line, self._elements[rows[-1].element].line)
        self.redraw()
        self.post_message(self.CursorMoved())

    def scroll_page(self, direction: int) -> None:
        """Scroll by almost one screen."""
        self.scroll_rows(direction * max(self.size.height - 2, 1))

    def on_resize(self) -> None:
        """Lay out the rows for the new size."""
        self._cache.clear()
        self._viewport.height = self.size.height
        self._viewport.rows()
        self._settle()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel scrolls."""
        event.stop()
        self.scroll_rows(_WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel scrolls."""
        event.stop()
        self.scroll_rows(-_WHEEL_ROWS)

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, a double click unfolds or folds the element."""
        if self._places and event.y < len(self._places):
            number = self._places[event.y].element
            if number == self.cursor and event.chain > 1:
                self.toggle_element()
            else:
                self.move_to(number)


def element_lines(element: ScreenElement) -> tuple[int | None, int | None]:
    """The line that shows an element, and that of its result."""
    return element.line, getattr(element, "result_line", None)


def _key(elements: Sequence[ScreenElement], number: int) -> ElementKey:
    line = elements[number].line
    first = number
    while first and elements[first - 1].line == line:
        first -= 1
    return line, number - first


def scroll_hint(unseen: int) -> str:
    """What is shown while the end is out of view.

    >>> scroll_hint(12), scroll_hint(0)
    ('↓ 12 new · End', '↓ End')
    """
    return f"↓ {unseen} new · End" if unseen else "↓ End"
