"""Elements of a screen as rows of a terminal: wrapped, coloured, responses with their markdown rendered.

The libraries for markdown and code are imported on first use: most sessions begin with a prompt.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from rich.theme import Theme
from textual.strip import Strip

from claude_session_player.export.terminal import fold_lines, style_element
from claude_session_player.models import AssistantText, ScreenElement, ToolCall, View
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import mark_controls

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIGHT_BACKGROUNDS: Final = frozenset(("7", "15"))


def is_light(colours: str) -> bool:
    """True for a terminal with a light background, by the value of `COLORFGBG`; without a value it is dark.

    >>> is_light("0;15"), is_light("15;0"), is_light("")
    (True, False, False)
    """
    return colours.rpartition(";")[2] in _LIGHT_BACKGROUNDS


def terminal_theme() -> str:
    """Textual's theme for this terminal. Both use its own colours, and avoid those that are hard to see."""
    return f"ansi-{_terminal_shade()}"


def code_theme() -> str:
    """The theme for highlighted code."""
    return f"ansi_{_shades[0] if _shades else _terminal_shade()}"


_shades: Final[list[str]] = []
"""The shade of the theme in use; empty for that of the terminal."""


def use_shade(shade: str | None) -> None:
    """Highlight code for a `light` or `dark` theme; `None` for that of the terminal."""
    _shades[:] = [] if shade is None else [shade]


def _terminal_shade() -> str:
    return "light" if is_light(os.environ.get("COLORFGBG", "")) else "dark"


MOST_DRAWN: Final = 20_000
"""Characters of a response that is rendered as markdown; a longer one is shown as it is."""
MOST_SHOWN: Final = 50_000
"""Characters that are shown of an element that is not expanded."""
_NARROWEST: Final = 8

_STYLES: Final = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.block_quote": "dim",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.h4": "bold italic",
        "markdown.item.bullet": "bold",
        "markdown.link": "blue",
        "markdown.link_url": "blue underline",
        "markdown.hr": "dim",
        "markdown.table.border": "dim",
    }
)
"""Only the terminal's own colours, and no backgrounds: the terminal may be dark or light."""


def element_rows(element: ScreenElement, view: View, width: int) -> list[Strip]:
    """The rows of one element."""
    width = max(width, _NARROWEST)
    if isinstance(element, AssistantText) and len(element.text) <= MOST_DRAWN:
        return indent_rows(markdown_rows(element.text, width - 2) or [Strip.blank(0)], "● ", Style(bold=True))
    text = style_element(_shortened(element), view)
    return text_rows(text, width)


def markdown_rows(text: str, width: int) -> list[Strip]:
    """Rendered markdown, in rows of this width."""
    return _without_wide_gaps(draw_rows(_markdown(text), width))


@dataclass(frozen=True)
class DrawnMarkdown:
    """Markdown that any widget can show, in any width."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for row in markdown_rows(self.text, options.max_width):
            yield from row
            yield Segment.line()


def text_rows(text: Text, width: int) -> list[Strip]:
    """A text in rows; a wrapped line continues below its words, not below its mark."""
    text.expand_tabs(8)
    rows = list(fold_lines(text.plain, max(width, _NARROWEST)))
    # Every other piece lies between two rows.
    pieces = text.divide([place for row in rows for place in (row.start, row.end)])
    return [Strip(_segments(piece, row.blanks)) for row, piece in zip(rows, pieces[1::2], strict=True)]


def _segments(text: Text, blanks: int) -> list[Segment]:
    console = _console()
    segments = list(Segment.apply_style(text.render(console, end=""), console.get_style(text.style)))
    return [Segment(" " * blanks), *segments] if blanks else segments


def draw_rows(renderable: RenderableType, width: int) -> list[Strip]:
    """A renderable in rows of this width."""
    console = _console()
    options = console.options.update(width=max(width, _NARROWEST))
    lines = console.render_lines(renderable, options, pad=False)
    return [Strip(_without_spaces(line)) for line in lines]


def indent_rows(rows: Iterable[Strip], first: str, style: Style | None = None) -> list[Strip]:
    """Rows with a text before the first of them, and as much space before the others."""
    space = Segment(" " * len(first))
    return [Strip([space if n else Segment(first, style), *row]) for n, row in enumerate(rows)]


def _shortened(element: ScreenElement) -> ScreenElement:
    """The element without the end of a text that is too long to be shown."""
    name = "result" if isinstance(element, ToolCall) else "text"
    text = getattr(element, name, None)
    if not isinstance(text, str) or len(text) <= MOST_SHOWN:
        return element
    more = f"… ({plural(len(text) - MOST_SHOWN, 'more character')})"
    changed: dict[str, Any] = {name: f"{text[:MOST_SHOWN]}\n{more}"}
    return replace(element, **changed)


def _markdown(text: str) -> RenderableType:
    from rich.markdown import Markdown

    return Markdown(mark_controls(text), code_theme=code_theme(), hyperlinks=False)


def _without_wide_gaps(rows: list[Strip]) -> list[Strip]:
    """Rows without empty ones at both ends, and without several in a row: code blocks bring their own."""
    kept: list[Strip] = []
    for row in rows:
        if row.text.strip() or (kept and kept[-1].text.strip()):
            kept.append(row)
    return kept[:-1] if kept and not kept[-1].text.strip() else kept


def _without_spaces(line: list[Segment]) -> list[Segment]:
    """A row without trailing spaces, unless they have a background."""
    while line and not (line[-1].style and line[-1].style.bgcolor):
        last = line[-1]
        text = last.text.rstrip(" ")
        line = line[:-1]
        if text:
            return [*line, Segment(text, last.style)]
    return line


@cache
def _console() -> Console:
    return Console(
        file=StringIO(), force_terminal=True, color_system="standard", theme=_STYLES, legacy_windows=False, emoji=False
    )
