"""The screen of a session in a window: scrolled by rows, with a cursor that stands on one of its elements."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from claude_session_player.formatter import gap_between
from claude_session_player.models import ScreenElement, View
from claude_session_player.tui.widgets.rows import element_rows


class RowPlace(NamedTuple):
    """A row: the element that it belongs to, and its number in it."""

    element: int
    row: int


class Viewport:
    """A window of some rows. It sticks to the end of the list until somebody scrolls away from it."""

    def __init__(self, height_of: Callable[[int], int]) -> None:
        self._height_of = height_of
        self.count = 0
        """How many elements there are."""
        self.height = 0
        """How many rows are in sight."""
        self.is_at_end = True
        self._top = RowPlace(0, 0)

    @property
    def top(self) -> RowPlace:
        """The first row in sight."""
        return self._top

    def shift(self, elements: int) -> None:
        """Keep the same rows in sight where their elements have other numbers now."""
        self._top = self._top._replace(element=self._top.element + elements)

    def rows(self) -> list[RowPlace]:
        """The rows in sight, from the top down; fewer than the height where there are no more."""
        if self.is_at_end:
            self._top = self._up(RowPlace(self.count, 0), self.height)
        rows = self._down(self._top, self.height)
        if len(rows) < self.height and self._top > (0, 0):  # there is less than before
            self.is_at_end = True
            self._top = self._up(RowPlace(self.count, 0), self.height)
            rows = self._down(self._top, self.height)
        return rows

    def scroll(self, rows: int) -> None:
        """Move the window down, or up with a negative number, as far as there are rows."""
        self.rows()
        if rows < 0:
            before, self._top = self._top, self._up(self._top, -rows)
            self.is_at_end = self.is_at_end and self._top == before  # with nothing above, the end is not left
            return
        self.is_at_end = False
        height = max(self.height, 1)
        below = self._down(self._top, height + rows + 1)
        if len(below) <= height + rows:  # nothing is left below
            self.is_at_end = True
        else:
            self._top = below[rows]

    def reveal_head(self, element: int) -> None:
        """Have an element in sight, from its beginning on."""
        self.reveal(element)
        if RowPlace(element, 0) not in self.rows():
            self._top = RowPlace(element, 0)
            self.is_at_end = len(self._down(self._top, self.height + 1)) <= self.height

    def reveal(self, element: int) -> None:
        """Move the window as little as needed to have an element in sight; its beginning, where it is too large."""
        rows = self.rows()
        seen = [place.row for place in rows if place.element == element]
        if len(seen) >= min(self._height_of(element), self.height):
            return
        self.is_at_end = False
        if element < rows[0].element or (seen and seen[0] > 0) or self._height_of(element) >= self.height:
            self._top = RowPlace(element, 0)
        else:
            self._top = self._up(RowPlace(element + 1, 0), self.height)
        self.is_at_end = len(self._down(self._top, self.height + 1)) <= self.height

    def _down(self, start: RowPlace, count: int) -> list[RowPlace]:
        """So many rows from one on."""
        rows: list[RowPlace] = []
        element, row = start
        while element < self.count and len(rows) < count:
            height = self._height_of(element)
            rows += [RowPlace(element, number) for number in range(row, min(height, row + count - len(rows)))]
            element, row = element + 1, 0
        return rows

    def _up(self, start: RowPlace, count: int) -> RowPlace:
        """The row that is so many rows above one; the first of all where there are not so many."""
        element, row = start
        while count > row:
            if element == 0:
                return RowPlace(0, 0)
            count -= row
            element -= 1
            row = self._height_of(element)
        return RowPlace(element, row - count)


_CURSOR: Final = Segment("▌", Style(color="blue"))
_NO_CURSOR: Final = Segment(" ")
_HIT: Final = Style(color="black", bgcolor="yellow", dim=False)
_NO_STYLE: Final = Style()
"""Terminals without colours need a style for everything, be it none."""
_HINT: Final = Style(reverse=True)
_BLANK: Final = Strip([])
_MOST_KEPT: Final = 2000
_WHEEL: Final = 3

Key = tuple[int, int]
"""What an element is known by on every screen: its line, and its number among those of this line."""
Details = Callable[[ScreenElement, int], list[Strip]]
"""The rows of an element with all that is known of it, in some width."""


class _Kept(NamedTuple):
    """The rows of an element, and what they depend on."""

    element: ScreenElement
    is_expanded: bool
    has_gap: bool
    rows: list[Strip]


class ScreenPane(Widget, can_focus=True):
    """Shows the elements of a screen; whoever owns it says which, and what is done with the one at the cursor."""

    DEFAULT_CSS = "ScreenPane { height: 1fr; width: 1fr; }"

    def __init__(self, view: View, details: Details) -> None:
        super().__init__()
        self.view = view
        self.needle = ""
        """What is searched for, and therefore shown in another colour."""
        self._details = details
        self._elements: Sequence[ScreenElement] = ()
        """What is shown."""
        self._latest: Sequence[ScreenElement] = ()
        """What there is now."""
        self._is_held = False
        """True where what is shown is older, because a compaction took away what somebody reads."""
        self._known_line = 0
        """The line of the last element that was there when the end was left, or that was scrolled to since."""
        self._cursor: int | None = None
        """The element at the cursor; `None` for the last one, whichever it is."""
        self._expanded: set[Key] = set()
        self._kept: dict[int, _Kept] = {}
        self._viewport = Viewport(lambda element: len(self._rows(element)))
        self._places: list[RowPlace] | None = None

    # --- what is shown ----------------------------------------------------------------------------------

    def show(self, elements: Sequence[ScreenElement]) -> None:
        """Show these elements, up to the last one; where somebody has scrolled away from it, the view stays there."""
        self._latest = elements
        moved = 0 if self._viewport.is_at_end else self._moved_by(elements)
        self._is_held = moved is None
        if self._viewport.is_at_end:
            self._elements = elements
            self._known_line = elements[-1].line if elements else 0
        elif moved is not None:
            self._elements = list(elements)  # the player goes on with its own list
            self._viewport.shift(moved)
            self._cursor = None if self._cursor is None else max(self._cursor + moved, 0)
        self._viewport.count = len(self._elements)
        if self._cursor is not None and self._cursor >= len(self._elements):
            self._cursor = None
        self.redraw()

    def _moved_by(self, elements: Sequence[ScreenElement]) -> int | None:
        """By how many places the first element in sight has moved among others; `None` where it is gone."""
        number = self._viewport.top.element
        if number >= len(self._elements):
            return None
        line, place = self.key(number)
        if number < len(elements) and _key(elements, number) == (line, place):
            return 0
        found = next((other for other, element in enumerate(elements) if element.line == line), None)
        if found is None or found + place >= len(elements) or elements[found + place].line != line:
            return None
        return found + place - number

    @property
    def is_at_end(self) -> bool:
        """True where the view goes along with the end; false where somebody has scrolled away from it."""
        return self._viewport.is_at_end

    @property
    def unseen(self) -> int:
        """How many elements have appeared below since somebody scrolled away."""
        return len(self._latest) - bisect_right(self._latest, self._known_line, key=lambda element: element.line)

    def go_to_end(self) -> None:
        """Go back to the end, and stay there; the cursor comes along. What there is now is shown by `show`."""
        if not self._viewport.is_at_end:
            self._viewport.is_at_end, self._cursor = True, None

    def redraw(self, *, anew: bool = False) -> None:
        """Draw what is in sight; with `anew`, no row that was drawn before is used again."""
        if anew:
            self._kept.clear()
        self._places = None
        self.refresh()

    @property
    def elements(self) -> Sequence[ScreenElement]:
        """What is shown."""
        return self._elements

    def render_line(self, y: int) -> Strip:
        """One row of the window."""
        if self._places is None:
            self._viewport.height = self.size.height
            self._places = self._viewport.rows()
        if y == self.size.height - 1 and not self._viewport.is_at_end:
            return self._with_hint(self._row(y))
        return self._row(y)

    def _with_hint(self, strip: Strip) -> Strip:
        """The last row in sight, and at its right side what is below it, with the key that leads there."""
        hint = Strip([Segment(f" {scroll_hint(self.unseen)} ", _HINT)])
        left = max(self.size.width - hint.cell_length, 0)
        return Strip.join([strip.crop(0, left), hint]).crop(0, self.size.width)

    def _row(self, y: int) -> Strip:
        if self._places is None or y >= len(self._places):
            return Strip.blank(self.size.width, _NO_STYLE)
        element, row = self._places[y]
        strip = self._rows(element)[row]
        if self.needle:
            strip = highlight_matches(strip, self.needle)
        mark = _CURSOR if element == self.cursor and row >= self._gap(element) else _NO_CURSOR
        return Strip([mark, *strip]).adjust_cell_length(self.size.width).apply_style(_NO_STYLE)

    def _rows(self, number: int) -> list[Strip]:
        element = self._elements[number]
        has_gap = self._gap(number) > 0
        is_expanded = self.key(number) in self._expanded if self._expanded else False
        kept = self._kept.get(id(element))
        if kept is not None and kept.element is element and kept[1:3] == (is_expanded, has_gap):
            return kept.rows
        width = self.size.width - 1
        rows = self._details(element, width) if is_expanded else element_rows(element, self.view, width)
        rows = [_BLANK, *rows] if has_gap else rows
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[id(element)] = _Kept(element, is_expanded, has_gap, rows)
        return rows

    def _gap(self, number: int) -> int:
        """How many empty rows stand before an element."""
        return len(gap_between(self._elements[number - 1], self._elements[number])) - 1 if number else 0

    # --- the cursor ---------------------------------------------------------------------------------------

    @property
    def cursor(self) -> int:
        """The number of the element at the cursor; -1 where there is none."""
        return len(self._elements) - 1 if self._cursor is None else self._cursor

    @property
    def element(self) -> ScreenElement | None:
        """The element at the cursor."""
        return self._elements[self.cursor] if self._elements else None

    def key(self, number: int) -> Key:
        """What an element is known by, on this screen and on others."""
        return _key(self._elements, number)

    def move(self, step: int) -> None:
        """Move the cursor; beyond the last element it stays with whichever is the last."""
        if self._elements:
            self.stand(min(max(self.cursor + step, 0), len(self._elements) - 1))

    def stand(self, number: int) -> None:
        """Put the cursor on an element, and have it in sight."""
        self._cursor = None if number == len(self._elements) - 1 else number
        self._viewport.reveal(number)
        self._settle()

    def fold(self) -> None:
        """Show all that is known of the element at the cursor, or no longer."""
        if self._elements:
            self._expanded ^= {self.key(self.cursor)}
            self._viewport.reveal_head(self.cursor)
            self._settle()

    def unfold(self, number: int) -> None:
        """Show all that is known of an element."""
        self._expanded.add(self.key(number))
        self.redraw()

    # --- scrolling ------------------------------------------------------------------------------------------

    def scroll_rows(self, rows: int) -> None:
        """Scroll down, or up."""
        self._viewport.scroll(rows)
        self._take_along()
        self._settle()

    def _take_along(self) -> None:
        """The cursor does not stay behind, out of sight."""
        seen = [element for element, row in self._viewport.rows() if row >= self._gap(element)]
        if self._viewport.is_at_end:  # it goes on with the end, wherever that will be
            self._cursor = None
        elif seen and not seen[0] <= self.cursor <= seen[-1]:
            self._cursor = seen[0] if self.cursor < seen[0] else seen[-1]

    def _settle(self) -> None:
        """Draw the view where it is now: what is in sight is not new any more."""
        if self._viewport.is_at_end and self._is_held:
            self._cursor = None
            self.show(self._latest)
        elif self._viewport.is_at_end:
            self._known_line = self._elements[-1].line if self._elements else 0
        elif rows := self._viewport.rows():
            self._elements = list(self._elements)  # the player goes on with its own list
            self._cursor = self.cursor  # a cursor that goes on with the end would leave the view
            self._known_line = max(self._known_line, self._elements[rows[-1].element].line)
        self.redraw()

    def scroll_page(self, direction: int) -> None:
        """Scroll down, or up, by almost all that is in sight."""
        self.scroll_rows(direction * max(self.size.height - 2, 1))

    def on_resize(self) -> None:
        """Another width makes other rows, and more of them may be in sight."""
        self._kept.clear()
        self._viewport.height = self.size.height
        self._viewport.rows()
        self._settle()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel scrolls."""
        event.stop()
        self.scroll_rows(_WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel scrolls."""
        event.stop()
        self.scroll_rows(-_WHEEL)

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor on an element; a second one expands it."""
        if self._places and event.y < len(self._places):
            number = self._places[event.y].element
            if number == self.cursor and event.chain > 1:
                self.fold()
            else:
                self.stand(number)


def _key(elements: Sequence[ScreenElement], number: int) -> Key:
    line = elements[number].line
    first = number
    while first and elements[first - 1].line == line:
        first -= 1
    return line, number - first


def scroll_hint(unseen: int) -> str:
    """What is said where the end is out of sight.

    >>> scroll_hint(12), scroll_hint(0)
    ('↓ 12 new · End', '↓ End')
    """
    return f"↓ {unseen} new · End" if unseen else "↓ End"


def highlight_matches(strip: Strip, needle: str) -> Strip:
    """A row with every occurrence of a text, in capitals or not, in another colour.

    >>> [segment.text for segment in highlight_matches(Strip([Segment("One tea, two Teas")]), "tea")]
    ['One ', 'tea', ', two ', 'Tea', 's']
    """
    text, wanted = strip.text.lower(), needle.lower()
    if wanted not in text or len(text) != len(strip.text):  # some signs are longer in lower case
        return strip
    parts: list[Strip] = []
    end = 0
    while (start := text.find(wanted, end)) >= 0:
        left, right = strip.index_to_cell_position(start), strip.index_to_cell_position(start + len(wanted))
        parts += [strip.crop(strip.index_to_cell_position(end), left), _coloured(strip.crop(left, right))]
        end = start + len(wanted)
    return Strip.join([*parts, strip.crop(strip.index_to_cell_position(end))])


def _coloured(strip: Strip) -> Strip:
    """The same row, in the colour of what was searched for."""
    return Strip([Segment(segment.text, (segment.style or Style()) + _HIT) for segment in strip])
