"""What a terminal shows of a screen, and what is to be written to it when the screen changes.

The terminal shows the last rows of the screen. New rows are written below, so that it scrolls as it always does; where
something changes above, only what is visible of it is written anew. Where the cursor goes is said relative to the last
row, so that a larger terminal shows the same. No more rows are kept than fit on the terminal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import chain, takewhile
from typing import Final, NamedTuple

from claude_session_player.export.rows import element_rows
from claude_session_player.formatter import gap
from claude_session_player.models import ScreenState

BEGIN: Final = "\x1b[?7l"
"""Before updates: no row goes over into the next one, whatever the terminal thinks of a sign's width."""
END: Final = "\x1b[?7h"
"""Behind updates: rows do so again, so that a player that is stopped leaves the terminal as it was."""
_CLEAR: Final = "\x1b[2J\x1b[H"
_ERASE_BELOW: Final = "\x1b[J"
_ERASE_ROW: Final = "\x1b[2K"
_BREAK: Final = "\r\n"


class _Block(NamedTuple):
    """The rows of one element, and the blank ones before it."""

    rows: list[str]
    """The last of them, as many as fit on the terminal."""
    height: int
    """How many there are."""


class Picture:
    """A terminal of some size that shows a screen; `update` is to be called after every `render`."""

    def __init__(self, state: ScreenState, width: int, height: int) -> None:
        self.rows: list[str] = []
        """What the terminal shows."""
        self.laid_out = 0
        """How many rows were laid out so far."""
        self.state = state
        self._width = width
        self._height = height
        self._blocks: deque[_Block] = deque()
        """The last elements, as many as are visible."""
        self._total = 0
        """The rows of these elements."""

    def update(self) -> str:
        """What is to be written so that the terminal shows what the last `render` changed."""
        state = self.state
        if state.cleared:
            self.rows, self._total = [], 0
            self._blocks.clear()
            return _CLEAR + self._append()
        if state.removed:
            return self._rebuild() + self._append()
        return self._change() + self._append() if state.touched else self._append()

    def _append(self) -> str:
        """Show new elements below all others."""
        if self.state.settled == len(self.state.elements):
            return ""
        new: list[str] = []
        for position in range(self.state.settled, len(self.state.elements)):
            rows = self._lay_out(position)
            new += rows
            self._blocks.append(self._block(rows))
            self._total += len(rows)
        written = _BREAK.join(chain([""] if self.rows else [], new))
        self.rows = [*self.rows, *new][-self._height :]
        self._forget()
        return written

    def _change(self) -> str:
        """Show what became of elements that are visible; what stands below them moves."""
        first = self.state.settled - len(self._blocks)
        above = self._total - len(self.rows)
        for position in self.state.touched:
            if first <= position < self.state.settled:
                self._total -= self._blocks[position - first].height
                rows = self._lay_out(position)
                self._total += len(rows)
                self._blocks[position - first] = _Block(rows, len(rows))
        known = list(chain.from_iterable(block.rows for block in self._blocks))
        if self._total - above < len(self.rows):
            return self._rebuild()
        return self._show(known[len(known) - (self._total - above) :])

    def _rebuild(self) -> str:
        """Show the end of the screen, whatever was visible before."""
        self._blocks.clear()
        self._total = 0
        position = self.state.settled
        while position and self._total < self._height:
            position -= 1
            rows = self._lay_out(position)
            self._blocks.appendleft(self._block(rows))
            self._total += len(rows)
        known = list(chain.from_iterable(block.rows for block in self._blocks))
        return self._show(known[-self._height :])

    def _show(self, rows: list[str]) -> str:
        """Let the terminal show these rows where it shows others now; those that do not fit scroll away."""
        written = _in_place(self.rows, rows) if len(rows) == len(self.rows) else _from_difference(self.rows, rows)
        self.rows = rows[-self._height :]
        self._forget()
        return written

    def _forget(self) -> None:
        """Let go of what is no longer visible."""
        while self._blocks and self._total - self._blocks[0].height >= self._height:
            self._total -= self._blocks.popleft().height
        if self._blocks and len(self._blocks[0].rows) > self._height:
            self._blocks[0] = self._block(self._blocks[0].rows)

    def _block(self, rows: list[str]) -> _Block:
        return _Block(rows[-self._height :], len(rows))

    def _lay_out(self, position: int) -> list[str]:
        elements = self.state.elements
        element = elements[position]
        blank = gap(elements[position - 1], element).count("\n") - 1 if position else 0
        rows = [""] * blank + element_rows(element, self.state.view, self._width)
        self.laid_out += len(rows)
        return rows


def _in_place(before: Sequence[str], after: Sequence[str]) -> str:
    """Write the rows that are other ones than before; the cursor stands on the last row, before and afterwards."""
    written = []
    cursor = last = len(before) - 1
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new:
            written.append(f"{_move(number - cursor)}{_ERASE_ROW}{new}")
            cursor = number
    return "".join(written) + (_move(last - cursor) if cursor != last else "")


def _from_difference(before: Sequence[str], after: Sequence[str]) -> str:
    """Write all rows from the first one on that is another one than before."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    if same == len(before):
        return _BREAK * bool(before) + _BREAK.join(after[same:])
    start = min(same, max(len(after) - 1, 0))
    return _move(start - len(before) + 1) + _ERASE_BELOW + _BREAK.join(after[start:])


def _move(rows: int) -> str:
    """Go to the beginning of a row, so many rows below this one."""
    return f"\x1b[{-rows}A\r" if rows < 0 else f"\x1b[{rows}B\r" if rows else "\r"
