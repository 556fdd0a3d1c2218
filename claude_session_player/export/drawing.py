"""Texts, markdown and code as rows of a terminal: lists of segments that windows, recordings and pictures show.

The libraries for markdown and code are imported on first use: most sessions begin with a prompt.
"""

from __future__ import annotations

import os
import re
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from rich.theme import Theme

from claude_session_player.export.terminal import fold_lines
from claude_session_player.util.text import ELLIPSIS, mark_controls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.syntax import SyntaxTheme

Row = list[Segment]
"""A row of a terminal."""

MOST_DRAWN: Final = 20_000
"""Characters of a text that is drawn as markdown or highlighted as code; a longer one is shown as it is."""
NARROWEST: Final = 8
"""Columns that a row has at least, even on a terminal with fewer."""
TAB_WIDTH: Final = 8
_SIGNS_PER_COLUMN: Final = 4
"""How many characters are measured for each column of a row: some have no width."""
_LOOSE_JOINERS: Final = re.compile(r"(?<![^\s\u200d])\u200d+|\u200d+(?=[\s\u200d]|$)")
"""Joiners that join nothing; rich cannot measure a text with them."""
_LEXER_ERROR: Final = "Token.Error"
_LIGHT_BACKGROUNDS: Final = frozenset(("7", "15"))

_STYLES: Final = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.block_quote": "dim",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.table.header": "bold",
        "markdown.item.number": "bold",
        "markdown.h4": "bold italic",
        "markdown.item.bullet": "bold",
        "markdown.link": "blue",
        "markdown.link_url": "blue underline",
        "markdown.hr": "dim",
        "markdown.table.border": "dim",
    }
)
"""Only the terminal's own colours, and no backgrounds: the terminal may be dark or light."""


def is_light(colours: str) -> bool:
    """True for a terminal with a light background, by the value of `COLORFGBG`; without a value it is dark.

    >>> is_light("0;15"), is_light("15;0"), is_light("")
    (True, False, False)
    """
    return colours.rpartition(";")[2] in _LIGHT_BACKGROUNDS


def terminal_shade() -> str:
    """`light` or `dark`, as the terminal says."""
    return "light" if is_light(os.environ.get("COLORFGBG", "")) else "dark"


_shades: Final[list[str]] = []
"""The shade of the theme in use; empty for that of the terminal."""


def use_shade(shade: str | None) -> None:
    """Highlight code for a `light` or `dark` theme; `None` for that of the terminal."""
    _shades[:] = [] if shade is None else [shade]


def code_theme() -> str:
    """The theme for highlighted code: the terminal's own colours."""
    return f"ansi_{_shades[0] if _shades else terminal_shade()}"


# --- rows -------------------------------------------------------------------------------------------


def row_text(row: Row) -> str:
    """The text of a row."""
    return "".join(segment.text for segment in row)


def row_width(row: Row) -> int:
    """The number of columns of a row."""
    return sum(segment.cell_length for segment in row)


def crop_row(row: Row, width: int) -> Row:
    """A row of at most this width; a cut is marked."""
    if row_width(row) <= width:
        return row
    kept: Row = []
    room = max(width - 1, 0)
    for segment in row:
        text = _fitting_start(segment.text, room)
        kept.append(Segment(text, segment.style))
        room -= cell_len(text)
        if text != segment.text:
            break
    return [*kept, Segment(ELLIPSIS, row[-1].style)]


def _fitting_start(text: str, room: int) -> str:
    """The beginning of a text that has room, measured as a whole: joined signs are narrower than their parts."""
    if text.isascii():
        return text[:room]
    if cell_len(text) <= room:
        return text
    start = text[: room * _SIGNS_PER_COLUMN]
    while cell_len(start) > room:
        start = start[:-1]
    return start


def indent_rows(rows: Iterable[Row], first: str, style: Style | None = None, rest: str | None = None) -> list[Row]:
    """Rows with a text before the first of them, and another one before the others: as much space, unless given."""
    others = Segment(" " * cell_len(first)) if rest is None else Segment(rest, style)
    return [[others if number else Segment(first, style), *row] for number, row in enumerate(rows)]


def text_rows(text: Text, width: int) -> list[Row]:
    """A text in rows; a wrapped line continues below its words, not below its mark."""
    text.expand_tabs(TAB_WIDTH)
    rows = list(fold_lines(text.plain, max(width, NARROWEST)))
    # Every other piece lies between two rows.
    pieces = text.divide([place for row in rows for place in (row.start, row.end)])
    drawn = (text_row(piece) for piece in pieces[1::2])
    indented = ([Segment(" " * row.blanks), *one] if row.blanks else one for row, one in zip(rows, drawn, strict=True))
    if text.plain.isascii():
        return list(indented)
    return [crop_row(row, max(width, NARROWEST)) for row in indented]  # a style may end inside of joined signs


def text_row(text: Text) -> Row:
    """A text of one line as a row."""
    console = drawing_console()
    return list(Segment.apply_style(text.render(console, end=""), console.get_style(text.style)))


def draw_rows(renderable: RenderableType, width: int) -> list[Row]:
    """A renderable in rows of this width."""
    console = drawing_console()
    options = console.options.update(width=max(width, NARROWEST))
    return [strip_row(line) for line in console.render_lines(renderable, options, pad=False)]


def strip_row(line: Row) -> Row:
    """A row without trailing spaces, unless they have a background."""
    while line and not _has_background(line[-1]):
        last = line[-1]
        text = last.text.rstrip(" ")
        line = line[:-1]
        if text:
            return [*line, Segment(text, last.style)]
    return line


def _has_background(segment: Segment) -> bool:
    colour = segment.style.bgcolor if segment.style else None
    return colour is not None and not colour.is_default


# --- markdown and code ------------------------------------------------------------------------------


def markdown_rows(text: str, width: int) -> list[Row]:
    """Rendered markdown, in rows of this width; a text that is too long or too deep is shown as it is."""
    from claude_session_player.export.drawn_markdown import TerminalMarkdown

    text = _LOOSE_JOINERS.sub("", mark_controls(text))
    if len(text) <= MOST_DRAWN and (drawn := TerminalMarkdown(text)).fits(width):
        return _without_wide_gaps(draw_rows(drawn, width))
    return text_rows(Text(text), width)


def _without_wide_gaps(rows: list[Row]) -> list[Row]:
    """Rows without empty ones at both ends, and without several in a row: code blocks bring their own."""
    kept: list[Row] = []
    was_blank = True
    for row in rows:
        is_blank = not row_text(row).strip()
        if not (is_blank and was_blank):
            kept.append(row)
        was_blank = is_blank
    return kept[:-1] if kept and was_blank else kept


def code_text(code: str, language: str) -> Text:
    """Code in colours, if its language is known; `language` is a name or the suffix of a file."""
    code = mark_controls(code)
    if not language or len(code) > MOST_DRAWN:
        return Text(code)
    text = _highlight(code, language)
    return text if text is not None and text.plain == code else Text(code)


def _highlight(code: str, language: str) -> Text | None:
    from rich.syntax import Syntax

    syntax = Syntax(code, _lexer_name(language), theme=_syntax_theme(code_theme()), background_color="default")
    text = syntax.highlight(code)
    text.rstrip()
    missing = code[len(text.plain) :]
    return text.append(missing) if not missing.strip() else None


@cache
def _syntax_theme(name: str) -> SyntaxTheme:
    """A theme without the style for errors: a few lines of a file are hardly ever without one, and are no mistake.

    Nothing is underlined either: names of modules would look like links.
    """
    from rich.syntax import RICH_SYNTAX_THEMES, ANSISyntaxTheme

    styles = RICH_SYNTAX_THEMES[name].items()
    return ANSISyntaxTheme({token: _not_underlined(style) for token, style in styles if str(token) != _LEXER_ERROR})


def _not_underlined(style: Style) -> Style:
    if not style.underline:
        return style
    return Style(color=style.color, bgcolor=style.bgcolor, bold=style.bold, dim=style.dim, italic=style.italic)


@cache
def _lexer_name(language: str) -> str:
    """The lexer for a language or a suffix; a name that is no lexer's if there is none."""
    from rich.syntax import Syntax

    return language if Syntax("", language).lexer is not None else Syntax.guess_lexer(f"file.{language}")


@cache
def drawing_console() -> Console:
    """A console that draws in the terminal's own sixteen colours, and writes nothing."""
    return Console(
        file=StringIO(), force_terminal=True, color_system="standard", theme=_STYLES, legacy_windows=False, emoji=False
    )
