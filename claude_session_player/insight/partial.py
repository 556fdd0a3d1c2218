"""A text of which only some lines are known.

Lines are counted as Claude Code counts them: from 1, and the empty one behind a final line break is a line, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Stretch(NamedTuple):
    """Lines that follow each other, both ends included; without an end where nobody knows how many there are."""

    first: int
    last: int | None


class Partial:
    """The known lines by number, and how many there are in all, where that is known.

    A text of which everything is known is kept as it is: most edits need nothing else, and its lines are taken apart
    when somebody asks for them.
    """

    __slots__ = ("_lines", "_text", "total")

    def __init__(self, lines: dict[int, str], total: int | None = None) -> None:
        self._lines: dict[int, str] | None = lines
        self._text: str | None = None
        self.total = total

    @classmethod
    def whole(cls, text: str) -> Partial:
        """A text of which everything is known."""
        partial = cls({}, text.count("\n") + 1)
        partial._lines, partial._text = None, text
        return partial

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partial) and self.total == other.total and self.lines == other.lines

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Partial(lines={self.lines!r}, total={self.total!r})"

    @property
    def lines(self) -> dict[int, str]:
        """The known lines by number."""
        if self._lines is None:
            self._lines = dict(enumerate((self._text or "").split("\n"), 1))
        return self._lines

    @property
    def is_empty(self) -> bool:
        """True where nothing is known."""
        return self._text is None and not self._lines

    @property
    def complete(self) -> bool:
        """True where everything is known."""
        return self._text is not None or (self.total is not None and len(self.lines) == self.total)

    @property
    def text(self) -> str:
        """The known lines; the whole text where it is complete."""
        if self._text is not None:
            return self._text
        return "\n".join(map(self.lines.__getitem__, sorted(self.lines)))

    def runs(self) -> Iterator[tuple[int, list[str]]]:
        """The known lines that follow each other, with the number of the first."""
        start, run = 0, list[str]()
        for number in sorted(self.lines):
            if run and number != start + len(run):
                yield start, run
                run = []
            start = start if run else number
            run.append(self.lines[number])
        if run:
            yield start, run

    def unknown(self) -> list[Stretch]:
        """The stretches of unknown lines, and what may come behind the last known one."""
        gaps, at = list[Stretch](), 1
        for start, run in self.runs():
            if start > at:
                gaps.append(Stretch(at, start - 1))
            at = start + len(run)
        if self.total is None or at <= self.total:
            gaps.append(Stretch(at, self.total))
        return gaps

    def contradicts(self, other: Partial) -> bool:
        """True where both cannot be the same text."""
        if None not in (self.total, other.total) and self.total != other.total:
            return True
        if self._text is not None and self._text == other._text:
            return False
        if self.lines == other.lines:
            return False
        if any(self.lines.get(number, line) != line for number, line in other.lines.items()):
            return True
        return self._is_longer_than(other) or other._is_longer_than(self)

    def _is_longer_than(self, other: Partial) -> bool:
        return other.total is not None and max(self.lines, default=0) > other.total

    def joined(self, other: Partial) -> Partial:
        """What both know of the same text."""
        if other.complete:
            return other
        return Partial(self.lines | other.lines, self.total if other.total is None else other.total)

    def before(self, number: int) -> Partial:
        """What is known before a line; of that line and the ones behind it, nothing is."""
        return Partial({at: line for at, line in self.lines.items() if at < number})

    def spliced(self, start: int, removed: int, put: Sequence[str | None]) -> Partial:
        """The text with other lines in place of some; those behind them are numbered anew."""
        more = len(put) - removed
        lines = {}
        for number, line in self.lines.items():
            if number < start:
                lines[number] = line
            elif number >= start + removed:
                lines[number + more] = line
        lines.update((start + at, line) for at, line in enumerate(put) if line is not None)
        return Partial(lines, None if self.total is None else self.total + more)


NOTHING_KNOWN = Partial({})
