"""Elements as rows of a terminal: folded to its width, with the colours of `export/terminal`."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from rich.cells import cell_len, chop_cells
from rich.color import ColorSystem
from rich.style import Style
from rich.text import Text

from claude_session_player.export.terminal import styled
from claude_session_player.models import ScreenElement
from claude_session_player.view import View

_MARKS: Final = " ❯●✱└✗"
"""What stands before the text of a line, one column each; rows that a line goes on in begin below its text."""
_NARROW: Final = 20
"""Terminals of fewer columns have none to spare for that."""
_LOOK_AHEAD: Final = 4
"""Signs for each column that are looked at: some have no width."""


class _Stretch(NamedTuple):
    """A part of a text that is in one colour, and what a terminal is told before and behind it."""

    start: int
    end: int
    before: str
    behind: str


class Row(NamedTuple):
    """A part of a text that stands on a row of its own, behind some blanks."""

    start: int
    end: int
    blanks: int = 0


def element_rows(element: ScreenElement, view: View, width: int) -> list[str]:
    """One element as a terminal of this width shows it: a text for each row, with its colours."""
    text = styled(element, view)
    if "\t" in text.plain:
        text.expand_tabs(8)
    plain, stretches = text.plain, _stretches(text)
    return [_coloured(plain, row, stretches) for row in fold_all(plain, width)]


def fold_all(plain: str, width: int) -> Iterator[Row]:
    """The rows of a text of several lines, which has no tabs."""
    start = 0
    for line in plain.split("\n"):
        if len(line) <= width and _is_narrow(line):
            yield Row(start, start + len(line))
        else:
            yield from (Row(start + row.start, start + row.end, row.blanks) for row in fold(line, width))
        start += len(line) + 1


def fold(line: str, width: int) -> Iterator[Row]:
    """The rows of a line. Words stay whole where they can; a row that goes on begins below the first one's text.

    >>> list(fold("● one two three, and four", 20))
    [Row(start=0, end=20, blanks=0), Row(start=21, end=25, blanks=2)]
    """
    if cell_len(line) <= width:
        yield Row(0, len(line))
        return
    head = line[:width]
    hanging = len(head) - len(head.lstrip(_MARKS)) if width >= _NARROW else 0
    hanging = hanging if hanging <= width // 2 else 0
    start = blanks = 0
    while start < len(line):
        end = start + _fitting(line[start : start + width * _LOOK_AHEAD], width - blanks)
        row_end = _word_end(line, start + (0 if blanks else hanging), end)
        yield Row(start, row_end, blanks)
        start = row_end + (line[row_end : row_end + 1] == " ")
        blanks = hanging


def _fitting(text: str, width: int) -> int:
    """How many signs of a text fit into a row; at least one."""
    if _is_narrow(text):
        return min(len(text), width)
    chunks = chop_cells(text, width)
    return max(len(chunks[0]), 1) if chunks else len(text)


def _is_narrow(text: str) -> bool:
    """True where each sign surely has one column; that is so for most texts, and measuring takes long."""
    return text.isascii() or text.lstrip(_MARKS).isascii()


def _word_end(line: str, start: int, end: int) -> int:
    """Where a row ends that could hold the line up to here: behind a word, unless that leaves it half empty."""
    if end >= len(line):
        return len(line)
    space = line.rfind(" ", start, end + 1)
    return space if space - start > (end - start) // 2 else end


def _stretches(text: Text) -> list[_Stretch]:
    """A text by its colours; between two places where any of them begins or ends there is one."""
    length = len(text.plain)
    if not text.spans:
        return [_Stretch(0, length, *_codes(str(text.style)))]
    opened, closed = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for number, span in enumerate(text.spans):
        opened[span.start].append(number)
        closed[span.end].append(number)
    places = sorted({0, length, *(place for place in (*opened, *closed) if place < length)})
    stretches: list[_Stretch] = []
    current: set[int] = set()
    for start, end in pairwise(places):  # each span is looked at where it begins and ends: tabs make one of each word
        current.update(opened[start])
        current.difference_update(closed[start])
        names = [str(text.style), *(str(text.spans[number].style) for number in sorted(current))]
        stretches.append(_Stretch(start, end, *_codes(" ".join(filter(None, names)))))
    return stretches


@lru_cache(maxsize=64)
def _codes(style: str) -> tuple[str, str]:
    """What a terminal is told before and behind a text of this style."""
    before, _, behind = Style.parse(style).render("\0", color_system=ColorSystem.STANDARD).partition("\0")
    return before, behind


def _coloured(plain: str, row: Row, stretches: list[_Stretch]) -> str:
    parts = [" " * row.blanks]
    first = bisect_right(stretches, row.start, key=lambda stretch: stretch.end)
    for place in range(first, len(stretches)):
        start, end, before, behind = stretches[place]
        if start >= row.end:
            break
        parts.append(f"{before}{plain[max(start, row.start) : min(end, row.end)]}{behind}")
    return "".join(parts)
