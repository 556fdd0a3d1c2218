"""What is new on a screen, as text that is only ever added to: for pipes, logs, and terminals that scroll.

An element is told when it appears, and a result when it arrives. Nothing that was told is taken back: a compaction
empties the screen, but here it is a rule between what was and what comes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from claude_session_player.formatter import element_text, gap, pieces
from claude_session_player.models import CompactionRule, ScreenElement, ScreenState, ToolCall
from claude_session_player.view import View


class Piece(NamedTuple):
    """A text of one or more lines, without a final line break."""

    element: ScreenElement
    """What it tells."""
    chunks: tuple[str, ...]
    """The text in parts: all of it may be too long to be copied."""
    is_apart: bool
    """True where a blank line stands before it."""
    is_result: bool = False
    """True where it is the result alone: the head of its call stands right above it."""

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.chunks)

    @property
    def lines(self) -> str:
        """The text with its line breaks, to be written behind the piece before it."""
        return "".join(self.parts)

    @property
    def parts(self) -> tuple[str, ...]:
        """The same, in parts."""
        return ("\n", *self.chunks, "\n") if self.is_apart else (*self.chunks, "\n")


class Appended:
    """Tells of each screen what was not told of the one before.

    >>> from claude_session_player import render
    >>> appended, state = Appended(), ScreenState()
    >>> _ = render(state, {"type": "user", "message": {"content": "Hello"}})
    >>> [piece.lines for piece in appended.after(state)], appended.after(state)
    (['❯ Hello\\n'], [])
    """

    def __init__(self, view: View | None = None) -> None:
        self._view = view or View()
        self._line = 0
        """The last line of which something was told."""
        self._last: ScreenElement | None = None
        """What was told last."""
        self._is_last = True
        """False where somebody else told something since then."""
        self._open: dict[int, ToolCall] = {}
        """The calls that were told and have no result yet, by their serial numbers."""
        self._first_serial = 0
        self._answered = 0
        """How many of the answers since the screen was last emptied were looked at."""

    def interrupt(self) -> None:
        """Something else was told meanwhile: a result that comes now is told with the head of its call."""
        self._is_last = False

    def after(self, state: ScreenState) -> list[Piece]:
        """What is new on a screen: asked for after a whole line, and of a screen that grows by whole lines.

        It takes no longer than what is new, however much is on the screen.
        """
        return [*self._compaction(state), *self._results(state), *self._elements(state)]

    def _compaction(self, state: ScreenState) -> Iterator[Piece]:
        """A rule where everything that was told is gone."""
        elements = state.elements
        is_all_new = not elements or elements[0].line > self._line
        if self._line and is_all_new and self._last is not _RULE and not state.removed:
            self._open.clear()
            yield self._piece(_RULE)

    def _results(self, state: ScreenState) -> Iterator[Piece]:
        for serial in self._newly_answered(state):
            call = state.elements[state.position(serial)]
            told = self._open.pop(serial)
            if self._is_last and self._last is told:
                self._last = call
                yield Piece(call, (element_text(call, self._view).partition("\n")[2],), False, is_result=True)
            else:  # it begins anew, and is no part of what was told last
                yield self._piece(call)._replace(is_apart=True)

    def _newly_answered(self, state: ScreenState) -> list[int]:
        """The calls that were told without a result, and have one now, in the order in which they were told."""
        if state.first_serial != self._first_serial:
            self._first_serial, self._answered = state.first_serial, 0
            self._open.clear()
        new = state.answered[self._answered :]
        self._answered = len(state.answered)
        return sorted(self._open.keys() & new)

    def _elements(self, state: ScreenState) -> Iterator[Piece]:
        elements = state.elements
        start = _after_line(elements, self._line)
        for position, element in enumerate(elements[start:], start):
            yield self._piece(element)
            if isinstance(element, ToolCall) and element.result is None:
                self._open[state.serial(position)] = element
        if elements:
            self._line = max(self._line, elements[-1].line)

    def _piece(self, element: ScreenElement) -> Piece:
        is_apart = self._last is not None and not (self._is_last and gap(self._last, element) == "\n")
        self._last, self._is_last = element, True
        return Piece(element, tuple(pieces([element], self._view)), is_apart)


_RULE: Final = CompactionRule()


def _after_line(elements: list[ScreenElement], line: int) -> int:
    """The place of the first element that a later line brought; elements stand in the order of their lines."""
    return bisect_right(elements, line, key=lambda element: element.line)
