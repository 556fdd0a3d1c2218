"""Screen elements as rows of a terminal: folded to its width, with escape sequences for their colours."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len, chop_cells
from rich.color import ColorSystem
from rich.style import Style

from claude_session_player.export.terminal import style_element

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from claude_session_player.models import ScreenElement, View

_MARKERS: Final = " ❯●✱└✗"
"""Characters before the text of a line, one column each; continuation rows are indented to the text."""
_MIN_INDENTED_WIDTH: Final = 20
"""Narrower terminals have no columns to spare for the indent."""
_CHARACTERS_PER_COLUMN: Final = 4
"""How many characters are measured for each column of a row: some characters have no width."""


class _StyledSpan(NamedTuple):
    """A part of a text in one style, with the escape sequences before and after it."""

    start: int
    end: int
    prefix: str
    suffix: str


class TerminalRow(NamedTuple):
    """The part of a text that one row shows, after an indent of some columns."""

    start: int
    end: int
    blanks: int = 0


def folded_rows(element: ScreenElement, view: View, width: int) -> list[str]:
    """One element as the rows of a terminal of this width, in its colours."""
    text = style_element(element, view)
    if "\t" in text.plain:
        text.expand_tabs(8)
    plain, spans = text.plain, _styled_spans(text)
    return [_encode_row(plain, row, spans) for row in fold_lines(plain, width)]


def fold_lines(plain: str, width: int) -> Iterator[TerminalRow]:
    """The rows of a text of several lines without tabs."""
    start = 0
    for line in plain.split("\n"):
        if len(line) <= width and _is_narrow(line):
            yield TerminalRow(start, start + len(line))
        else:
            yield from (TerminalRow(start + row.start, start + row.end, row.blanks) for row in fold_line(line, width))
        start += len(line) + 1


def fold_line(line: str, width: int) -> Iterator[TerminalRow]:
    """The rows of a line, broken between words where possible; continuation rows are indented to the text.

    >>> list(fold_line("● one two three, and four", 20))
    [TerminalRow(start=0, end=20, blanks=0), TerminalRow(start=21, end=25, blanks=2)]
    """
    if cell_len(line) <= width:
        yield TerminalRow(0, len(line))
        return
    head = line[:width]
    indent = len(head) - len(head.lstrip(_MARKERS)) if width >= _MIN_INDENTED_WIDTH else 0
    indent = indent if indent <= width // 2 else 0
    start = blanks = 0
    while start < len(line):
        end = start + _fitting_length(line[start : start + width * _CHARACTERS_PER_COLUMN], width - blanks)
        row_end = _row_end(line, start + (0 if blanks else indent), end)
        yield TerminalRow(start, row_end, blanks)
        start = row_end + (line[row_end : row_end + 1] == " ")
        blanks = indent


def _fitting_length(text: str, width: int) -> int:
    """How many characters of a text fit into a row; at least one."""
    if _is_narrow(text):
        return min(len(text), width)
    chunks = chop_cells(text, width)
    return max(len(chunks[0]), 1) if chunks else len(text)


def _is_narrow(text: str) -> bool:
    """True if each character certainly has one column: true of most texts, and faster than measuring."""
    return text.isascii() or text.lstrip(_MARKERS).isascii()


def _row_end(line: str, start: int, end: int) -> int:
    """Where a row ends that has room up to `end`: after a word, unless that leaves the row half empty."""
    if end >= len(line):
        return len(line)
    space = line.rfind(" ", start, end + 1)
    return space if space - start > (end - start) // 2 else end


def _styled_spans(text: Text) -> list[_StyledSpan]:
    """The text split wherever a style begins or ends."""
    length = len(text.plain)
    if not text.spans:
        return [_StyledSpan(0, length, *_style_codes(str(text.style)))]
    starting, ending = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for number, span in enumerate(text.spans):
        starting[span.start].append(number)
        ending[span.end].append(number)
    offsets = sorted({0, length, *(offset for offset in (*starting, *ending) if offset < length)})
    spans: list[_StyledSpan] = []
    active: set[int] = set()
    for start, end in pairwise(offsets):  # linear in the spans: expanding tabs makes one of each word
        active.update(starting[start])
        active.difference_update(ending[start])
        names = [str(text.style), *(str(text.spans[number].style) for number in sorted(active))]
        spans.append(_StyledSpan(start, end, *_style_codes(" ".join(filter(None, names)))))
    return spans


@lru_cache(maxsize=64)
def _style_codes(style: str) -> tuple[str, str]:
    """The escape sequences before and after a text of this style."""
    prefix, _, suffix = Style.parse(style).render("\0", color_system=ColorSystem.STANDARD).partition("\0")
    return prefix, suffix


def _encode_row(plain: str, row: TerminalRow, spans: list[_StyledSpan]) -> str:
    parts = [" " * row.blanks]
    first = bisect_right(spans, row.start, key=lambda span: span.end)
    for number in range(first, len(spans)):
        start, end, prefix, suffix = spans[number]
        if start >= row.end:
            break
        parts.append(f"{prefix}{plain[max(start, row.start) : min(end, row.end)]}{suffix}")
    return "".join(parts)
