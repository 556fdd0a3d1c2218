"""Fits the columns of a table into a width and cuts their cells; used by printed tables and by those on screen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len, set_cell_size

from claude_session_player.util.text import ELLIPSIS

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP: Final = 2
"""Cells between two columns."""


class TableColumn(NamedTuple):
    """How wide a column is, and how important; the one with the highest rank is kept longest."""

    name: str
    width: int
    """The least width in which it is shown."""
    rank: int
    style: str = ""
    most: int = 0
    """The width beyond which it gains nothing, where that is more than `width`."""
    is_right: bool = False
    keeps_end: bool = False
    """Too long a cell loses its beginning: the end of a path says more."""
    grows: bool = False
    """It shares what the other columns leave."""
    is_extra: bool = False
    """It is shown only if the columns that grow have twice their least width."""


class FittedColumn(NamedTuple):
    """A column that is shown: its position in a row of cells, and its width."""

    position: int
    column: TableColumn
    width: int

    def cell(self, text: str) -> str:
        """A text in exactly this column's width."""
        return fit_cell(text, self.width, is_right=self.column.is_right, keeps_end=self.column.keeps_end)


def fit_columns(columns: Sequence[TableColumn], width: int) -> list[FittedColumn]:
    """The columns that fit into a width; those of the lowest rank are left out first.

    What is left goes to columns with a larger `most`, the smallest wish first, and then in equal parts to those that
    grow. The last column of a very narrow table has the whole width.
    """
    kept = [FittedColumn(position, column, column.width) for position, column in enumerate(columns)]
    while len(kept) > 1 and _least_width(kept) > width:
        kept.remove(min(kept, key=lambda one: one.column.rank))
    left = width - sum(one.width + GAP for one in kept) + GAP
    if left < 0:
        return [one._replace(width=max(one.width + left, 0)) for one in kept]
    extra: dict[int, int] = {}
    for one in sorted(kept, key=_wish):
        extra[one.position] = min(_wish(one), left)
        left -= extra[one.position]
    growing = [one.position for one in kept if one.column.grows]
    share, remainder = divmod(left, len(growing)) if growing else (0, 0)
    for number, position in enumerate(growing):
        extra[position] += share + (number < remainder)
    return [one._replace(width=one.width + extra[one.position]) for one in kept]


def _wish(one: FittedColumn) -> int:
    return max(one.column.most - one.width, 0)


def _least_width(kept: Sequence[FittedColumn]) -> int:
    """The least width in which all of these columns fit."""
    has_extra = any(one.column.is_extra for one in kept)
    doubled = sum(one.width for one in kept if one.column.grows) if has_extra else 0
    return sum(one.width + GAP for one in kept) - GAP + doubled


def cell_width(text: str) -> int:
    """The number of terminal cells that a text takes; plain ASCII needs no table of widths."""
    return len(text) if text.isascii() and text.isprintable() else cell_len(text)


_WORD: Final = r"\(?'[^\s'][^']*'\S*|\S+"


def wrap_words(line: str, width: int) -> list[str]:
    """A line as rows that fit into a width. What is in quotes stays together: it may be a command to be typed.

    Further rows of an indented line are indented.

    >>> wrap_words("sessions are lines", 12), wrap_words("  a kettle whistles", 12)
    (['sessions are', 'lines'], ['  a kettle', '    whistles'])
    >>> wrap_words("type 'delete it':", 14)
    ['type', "'delete it':"]
    """
    if cell_width(line) <= width:
        return [line]
    text = line.lstrip(" ")
    indent = line[: len(line) - len(text)]
    first, *words = re.findall(_WORD, text) or [""]
    rows = [indent + first]
    for word in words:
        if cell_width(rows[-1]) + 1 + cell_width(word) <= width:
            rows[-1] += f" {word}"
        else:
            rows.append(f"{indent}{'  ' if indent else ''}{word}")
    return rows


def fit_cell(text: str, width: int, *, is_right: bool = False, keeps_end: bool = False) -> str:
    """A text in exactly this many terminal cells; a cut is marked.

    >>> fit_cell("kettle", 4), fit_cell("tea", 4), fit_cell("tea", 4, is_right=True), fit_cell("茶茶茶", 4)
    ('ket…', 'tea ', ' tea', '茶 …')
    >>> fit_cell("/home/ada", 4, keeps_end=True), fit_cell("茶茶茶", 4, keeps_end=True), fit_cell("tea", 0)
    ('…ada', '…茶 ', '')
    """
    size = cell_width(text)
    if size > width:
        if width <= 0:
            return ""
        if not keeps_end:
            return (text[: width - 1] if text.isascii() else set_cell_size(text, width - 1)) + ELLIPSIS
        text = ELLIPSIS + _end_of(text, width - 1)
        size = cell_width(text)
    padding = " " * (width - size)
    return padding + text if is_right else text + padding


def _end_of(text: str, width: int) -> str:
    """As much of the end of a text as fits into a width."""
    end = text[len(text) - width :]
    while cell_width(end) > width:
        end = end[1:]
    return end


def fit_marked(text: str, spans: Sequence[tuple[int, int]], width: int) -> tuple[str, list[tuple[int, int]]]:
    """As much of a text as fits into a width, with its first match in view, and the spans of its matches in it.

    >>> fit_marked("Put the kettle on", [(8, 14)], 99)
    ('Put the kettle on', [(8, 14)])
    >>> fit_marked("Put the kettle on", [(8, 14)], 10)
    ('…e kettle…', [(3, 9)])
    """
    if cell_width(text) <= width:
        return text, list(spans)
    shift = 0
    if spans and cell_width(text[: spans[0][1]]) >= width:
        shift = max(spans[0][0] - width // 3, 0)
        text = ELLIPSIS + text[shift + 1 :]
    text = fit_cell(text, width).rstrip()
    first, last = int(shift > 0), len(text) - text.endswith(ELLIPSIS)
    moved = [(max(start - shift, first), min(end - shift, last)) for start, end in spans]
    return text, [(start, end) for start, end in moved if start < end]
