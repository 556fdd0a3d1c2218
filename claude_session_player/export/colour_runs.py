"""Rows of a terminal as runs of characters in one style, for pictures of it; and the colours of those pictures."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len, split_graphemes

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEQUENCE: Final = re.compile(r"\x1b\[([0-9;]*)m")
_NARROW: Final = re.compile(r"[ -~]+(?![^ -~])|[ -~]?[^ -~]+")
"""Characters that have one column in every font, and others, which are placed one by one."""
_BRIGHT: Final = 8
_LAST_BASIC, _FIRST_BRIGHT = 7, 60


@dataclass(frozen=True, slots=True)
class RunStyle:
    """How characters look; a colour is one of the terminal's sixteen, or `None` for its own."""

    colour: int | None = None
    background: int | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    reverse: bool = False


PLAIN: Final = RunStyle()
_SWITCHES: Final = {"1": "bold", "2": "dim", "3": "italic", "4": "underline", "7": "reverse", "9": "strike"}


class ColourRun(NamedTuple):
    """Characters side by side in one style."""

    column: int
    width: int
    """The number of columns."""
    text: str
    style: RunStyle


def colour_runs(row: str) -> Iterator[ColourRun]:
    """The runs of a row, as `TerminalScreen` encodes it; spaces at the ends of a run without background are left out.

    >>> for run in colour_runs("a \\x1b[1;36mb c\\x1b[0m"):
    ...     print(run.column, run.width, repr(run.text), run.style.colour, run.style.bold)
    0 1 'a' None False
    2 3 'b c' 6 True
    """
    column, style = 0, PLAIN
    for number, part in enumerate(_SEQUENCE.split(row)):
        if number % 2:
            style = _changed(style, part)
            continue
        for text in _pieces(part):
            width = cell_len(text)
            if run := _without_spaces(ColourRun(column, width, text, style)):
                yield run
            column += width


def _pieces(text: str) -> Iterator[str]:
    for piece in _NARROW.findall(text):
        if piece.isascii():
            yield piece
        else:
            yield from (piece[start:end] for start, end, _ in split_graphemes(piece)[0])


def _without_spaces(run: ColourRun) -> ColourRun | None:
    style = run.style
    if not run.text.isascii() or style.background is not None or style.reverse or style.underline or style.strike:
        return run
    text = run.text.lstrip(" ")
    column = run.column + len(run.text) - len(text)
    text = text.rstrip(" ")
    return ColourRun(column, len(text), text, style) if text else None


def _changed(style: RunStyle, codes: str) -> RunStyle:
    """The style after an escape sequence for colours."""
    for code in codes.split(";"):
        if code in ("", "0"):
            style = PLAIN
        elif name := _SWITCHES.get(code):
            style = replace(style, **{name: True})
        elif (colour := _colour(int(code) - 30)) is not None:
            style = replace(style, colour=colour)
        elif (colour := _colour(int(code) - 40)) is not None:
            style = replace(style, background=colour)
    return style


def _colour(code: int) -> int | None:
    if 0 <= code <= _LAST_BASIC:
        return code
    return code - _FIRST_BRIGHT + _BRIGHT if 0 <= code - _FIRST_BRIGHT <= _LAST_BASIC else None


class Palette(NamedTuple):
    """The colours of a terminal, as `#rrggbb`."""

    background: str
    bar: str
    """The bar above the terminal."""
    text: str
    colours: tuple[str, ...]
    """Sixteen, in the order of the terminal's own."""


DARK: Final = Palette(
    "#16181d",
    "#20232a",
    "#d9dce3",
    (
        *("#5c6370", "#ee7b82", "#8fcf78", "#e0be70", "#74b2f5", "#cb98ef", "#5bc9c7", "#d9dce3"),
        *("#7f8694", "#ff9aa0", "#a9e394", "#f3d68e", "#97c9ff", "#dfb6ff", "#84e1df", "#ffffff"),
    ),
)
LIGHT: Final = Palette(
    "#fbfbf9",
    "#ececea",
    "#24292f",
    (
        *("#24292f", "#bc2f38", "#26763a", "#855c00", "#0b5cbd", "#833bb0", "#0a6b7d", "#57606a"),
        *("#57606a", "#a32029", "#1c6330", "#6d4b00", "#094a9a", "#6d2b96", "#075866", "#24292f"),
    ),
)


def run_colours(style: RunStyle, palette: Palette) -> tuple[str, str | None]:
    """The colours of characters, and of what is behind them, if that is not the terminal."""
    colour = palette.text if style.colour is None else palette.colours[style.colour]
    background = None if style.background is None else palette.colours[style.background]
    return (background or palette.background, colour) if style.reverse else (colour, background)
