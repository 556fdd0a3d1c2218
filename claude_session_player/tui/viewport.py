"""Which rows of a long list of elements are in sight. Only the elements that are looked at are measured.

It knows heights and nothing of widgets. A row is named by its element and by its number in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Place(NamedTuple):
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
        self._top = Place(0, 0)

    @property
    def top(self) -> Place:
        """The first row in sight."""
        return self._top

    def shift(self, elements: int) -> None:
        """Keep the same rows in sight where their elements have other numbers now."""
        self._top = self._top._replace(element=self._top.element + elements)

    def rows(self) -> list[Place]:
        """The rows in sight, from the top down; fewer than the height where there are no more."""
        if self.is_at_end:
            self._top = self._up(Place(self.count, 0), self.height)
        rows = self._down(self._top, self.height)
        if len(rows) < self.height and self._top > (0, 0):  # there is less than before
            self.is_at_end = True
            self._top = self._up(Place(self.count, 0), self.height)
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
        if Place(element, 0) not in self.rows():
            self._top = Place(element, 0)
            self.is_at_end = len(self._down(self._top, self.height + 1)) <= self.height

    def reveal(self, element: int) -> None:
        """Move the window as little as needed to have an element in sight; its beginning, where it is too large."""
        rows = self.rows()
        seen = [place.row for place in rows if place.element == element]
        if len(seen) >= min(self._height_of(element), self.height):
            return
        self.is_at_end = False
        if element < rows[0].element or (seen and seen[0] > 0) or self._height_of(element) >= self.height:
            self._top = Place(element, 0)
        else:
            self._top = self._up(Place(element + 1, 0), self.height)
        self.is_at_end = len(self._down(self._top, self.height + 1)) <= self.height

    def _down(self, start: Place, count: int) -> list[Place]:
        """So many rows from one on."""
        rows: list[Place] = []
        element, row = start
        while element < self.count and len(rows) < count:
            height = self._height_of(element)
            rows += [Place(element, number) for number in range(row, min(height, row + count - len(rows)))]
            element, row = element + 1, 0
        return rows

    def _up(self, start: Place, count: int) -> Place:
        """The row that is so many rows above one; the first of all where there are not so many."""
        element, row = start
        while count > row:
            if element == 0:
                return Place(0, 0)
            count -= row
            element -= 1
            row = self._height_of(element)
        return Place(element, row - count)
