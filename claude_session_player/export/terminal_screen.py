"""The rows that a terminal shows of a changing screen, and the output that brings it from one moment to the next.

The terminal shows the last rows of the screen. New rows are appended, so that it scrolls as usual; for a change above,
only the visible rows are rewritten. The cursor moves relative to the last row, so that a larger terminal shows the
same. Only as many rows are kept as fit on the terminal, and only what is on it at some moment is drawn.
"""

from __future__ import annotations

from itertools import chain, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.export.terminal import encode_segments, folded_rows
from claude_session_player.formatter import gap_between

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.models import ScreenElement, ScreenState, View

_CLEAR: Final = "\x1b[2J\x1b[H"
_ERASE_BELOW: Final = "\x1b[J"
_ERASE_ROW: Final = "\x1b[2K"
_LINE_BREAK: Final = "\r\n"


class ScreenEnd(NamedTuple):
    """The end of the screen at some moment, and what happened to the screen since the one before."""

    elements: Sequence[ScreenElement]
    """The last elements, at least as many as fit on the terminal, and the one before them."""
    total: int
    """The number of all elements."""
    is_cleared: bool = False
    """True if the screen was cleared."""
    is_moved: bool = False
    """True if elements were removed, so that others have moved up."""

    def after(self, earlier: ScreenEnd | None) -> ScreenEnd:
        """The same, with what happened since an earlier one that was not shown."""
        if earlier is None:
            return self
        is_cleared, is_moved = self.is_cleared or earlier.is_cleared, self.is_moved or earlier.is_moved
        return self._replace(is_cleared=is_cleared, is_moved=is_moved)


class _Block(NamedTuple):
    """The rows of one element, with the blank rows before it."""

    element: ScreenElement
    blank: int
    rows: list[str]
    """The last rows, as many as fit on the terminal."""
    height: int
    """The number of all rows."""


class TerminalScreen:
    """The rows that a terminal shows of a screen; `note` has to be called after every `render`."""

    def __init__(self, state: ScreenState, width: int, height: int) -> None:
        self.rows: list[str] = []
        """The visible rows, with escape sequences for their colours."""
        self.laid_out = 0
        """The number of rows laid out so far, for tests."""
        self.state = state
        self._width = width
        self._height = height
        self._is_cleared = self._is_moved = False
        self._count = 0
        """The number of elements that were shown, visible or not."""
        self._blocks: dict[int, _Block] = {}
        """The visible elements, by their positions."""

    def note(self) -> None:
        """Note what the last `render` changed."""
        self._is_cleared |= self.state.cleared
        self._is_moved |= bool(self.state.removed)

    def end(self) -> ScreenEnd:
        """The end of the screen now, to be shown at any time later."""
        state = self.state
        state.seal()  # from now on, an element that changes is replaced by another object
        end = ScreenEnd(
            state.elements[-self._height - 1 :], len(state.elements), self._is_cleared, is_moved=self._is_moved
        )
        self._is_cleared = self._is_moved = False
        return end

    def update(self) -> str:
        """The output that makes the terminal show what the last `render` changed."""
        self.note()
        return self.show(self.end())

    def show(self, end: ScreenEnd) -> str:
        """The output that makes the terminal show this end of the screen."""
        if end.is_cleared:
            self.rows, self._count = [], 0
            self._blocks.clear()
        elif end.is_moved:
            return self._rebuild(end)
        before = len(self.rows)
        hidden = sum(block.height for block in self._blocks.values()) - before
        self._draw_known(end)
        known = list(chain.from_iterable(block.rows for block in self._blocks.values()))
        visible = sum(block.height for block in self._blocks.values()) - hidden
        if visible < before:
            return self._rebuild(end)
        changed = self._replace_rows(known[len(known) - visible :])
        return (_CLEAR if end.is_cleared else "") + changed + self._append(end)

    def _draw_known(self, end: ScreenEnd) -> None:
        """Draw elements again that are visible and have changed."""
        for position in [*self._blocks]:
            if position >= self._first_drawable(end):
                self._blocks[position] = self._block(end, position)

    def _append(self, end: ScreenEnd) -> str:
        """Show new elements below the others."""
        new: list[str] = []
        for position in range(max(self._count, self._first_drawable(end)), end.total):
            block = self._blocks[position] = self._block(end, position)
            new += block.rows
            self._blocks[position] = self._trimmed(block)
        self._count = end.total
        if not new:
            return ""
        written = _LINE_BREAK.join(chain([""] if self.rows else [], new))
        self.rows = [*self.rows, *new][-self._height :]
        self._drop_hidden()
        return written

    def _rebuild(self, end: ScreenEnd) -> str:
        """Show the end of the screen, drawn from its last element upwards."""
        known = {} if end.is_moved else self._blocks
        self._blocks, self._count = {}, end.total
        blocks: list[_Block] = []
        position = end.total
        while position > self._first_drawable(end) and sum(block.height for block in blocks) < self._height:
            position -= 1
            blocks.insert(0, self._trimmed(self._block(end, position, known)))
        self._blocks = dict(enumerate(blocks, position))
        rows = list(chain.from_iterable(block.rows for block in blocks))
        return self._replace_rows(rows[-self._height :])

    def _replace_rows(self, rows: list[str]) -> str:
        """Replace the visible rows; rows that do not fit scroll away."""
        written = _rewrite_rows(self.rows, rows) if len(rows) == len(self.rows) else _rewrite_end(self.rows, rows)
        self.rows = rows[-self._height :]
        self._drop_hidden()
        return written

    def _drop_hidden(self) -> None:
        """Drop what is no longer visible."""
        total = sum(block.height for block in self._blocks.values())
        for position, block in [*self._blocks.items()]:
            if total - block.height < self._height:
                self._blocks[position] = self._trimmed(block)
                return
            total -= block.height
            del self._blocks[position]

    def _trimmed(self, block: _Block) -> _Block:
        return block._replace(rows=block.rows[-self._height :]) if len(block.rows) > self._height else block

    @staticmethod
    def _first_drawable(end: ScreenEnd) -> int:
        """The position of the first element whose predecessor is known."""
        start = end.total - len(end.elements)
        return start + bool(start)

    def _block(self, end: ScreenEnd, position: int, known: dict[int, _Block] | None = None) -> _Block:
        """The rows of an element; they are drawn only if they are not known."""
        number = position - end.total
        element = end.elements[number]
        blank = _blank_rows(end.elements[number - 1], element, self.state.view) if position else 0
        block = (self._blocks if known is None else known).get(position)
        if block is not None and block.element is element and block.blank == blank:
            return block
        rows = [""] * blank + _drawn_rows(element, self.state.view, self._width)
        self.laid_out += len(rows)
        return _Block(element, blank, rows, len(rows))


def last_rows(state: ScreenState, width: int, height: int) -> list[str]:
    """What a terminal of this size shows of the screen."""
    screen = TerminalScreen(state, width, height)
    screen.show(screen.end()._replace(is_moved=True))
    return screen.rows


def _drawn_rows(element: ScreenElement, view: View, width: int) -> list[str]:
    """One element in rows: drawn for the rich view, else as the screen of the specification has it."""
    if not view.briefs:
        return folded_rows(element, view, width)
    from claude_session_player.export.element_rows import draw_element

    return [encode_segments(row) for row in draw_element(element, view, width)]


def _blank_rows(previous: ScreenElement, element: ScreenElement, view: View) -> int:
    """The number of blank rows between two neighbours."""
    if not view.briefs:
        return gap_between(previous, element).count("\n") - 1
    from claude_session_player.export.element_rows import blank_rows

    return blank_rows(previous, element, view)


def _rewrite_rows(before: Sequence[str], after: Sequence[str]) -> str:
    """Rewrite the rows that differ; the cursor is on the last row before and after."""
    output = []
    cursor = last = len(before) - 1
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new:
            output.append(f"{_move(number - cursor)}{_ERASE_ROW}{new}")
            cursor = number
    return "".join(output) + (_move(last - cursor) if cursor != last else "")


def _rewrite_end(before: Sequence[str], after: Sequence[str]) -> str:
    """Rewrite all rows from the first one that differs."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    if same == len(before):
        return _LINE_BREAK * bool(before) + _LINE_BREAK.join(after[same:])
    start = min(same, max(len(after) - 1, 0))
    return _move(start - len(before) + 1) + _ERASE_BELOW + _LINE_BREAK.join(after[start:])


def _move(rows: int) -> str:
    """Move to the start of a row, given relative to the current one."""
    return f"\x1b[{-rows}A\r" if rows < 0 else f"\x1b[{rows}B\r" if rows else "\r"
