"""Rows of a terminal as Textual draws them, and the texts that are highlighted in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from claude_session_player.export import drawing
from claude_session_player.export.drawing import markdown_rows, terminal_shade
from claude_session_player.export.element_rows import draw_element

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claude_session_player.export.drawing import Row
    from claude_session_player.models import ScreenElement, View

_MATCH: Final = Style(color="black", bgcolor="yellow", dim=False)
_ROW_MARKS: Final = r"▎▌┆"
"""What rows of a text that is set off begin with, on every row."""


def terminal_theme() -> str:
    """Textual's theme for this terminal. Both use its own colours, and avoid those that are hard to see."""
    return f"ansi-{terminal_shade()}"


def to_strips(rows: Iterable[Row]) -> list[Strip]:
    """Rows as Textual draws them."""
    return [Strip(row) for row in rows]


def element_rows(element: ScreenElement, view: View, width: int) -> list[Strip]:
    """The rows of one element."""
    return to_strips(draw_element(element, view, width))


def text_rows(text: Text, width: int) -> list[Strip]:
    """A text in rows."""
    return to_strips(drawing.text_rows(text, width))


@dataclass(frozen=True)
class DrawnMarkdown:
    """Markdown that any widget can show, in any width."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for row in markdown_rows(self.text, options.max_width):
            yield from row
            yield Segment.line()


def highlight_matches(strip: Strip, needle: str) -> Strip:
    """A row with every occurrence of a text highlighted, in upper or lower case.

    >>> [segment.text for segment in highlight_matches(Strip([Segment("One tea, two Teas")]), "tea")]
    ['One ', 'tea', ', two ', 'Tea', 's']
    """
    text, wanted = strip.text.lower(), needle.lower()
    if wanted not in text or len(text) != len(strip.text):  # some characters are longer in lower case
        return strip
    parts: list[Strip] = []
    end = 0
    while (start := text.find(wanted, end)) >= 0:
        left, right = strip.index_to_cell_position(start), strip.index_to_cell_position(start + len(wanted))
        parts += [strip.crop(strip.index_to_cell_position(end), left), _highlighted_strip(strip.crop(left, right))]
        end = start + len(wanted)
    return Strip.join([*parts, strip.crop(strip.index_to_cell_position(end))])


def find_match(rows: Sequence[Strip], needles: Iterable[str]) -> int | None:
    """The row in which one of some texts begins, in upper or lower case; it may go on in the rows below.

    >>> rows = [Strip([Segment(text)]) for text in ("▎ a needle   ", "▎ hay", "▎ stack")]
    >>> find_match(rows, ["Needle Haystack"]), find_match(rows, ["nee dle"])
    (0, None)
    """
    text = "\n".join(row.text.rstrip() for row in rows).lower()
    starts = [found.start() for needle in needles if (found := _wrapped_pattern(needle).search(text))]
    return text.count("\n", 0, min(starts)) if starts else None


@lru_cache(maxsize=16)
def _wrapped_pattern(needle: str) -> re.Pattern[str]:
    """Finds a text in rows: between words is any space, and a row may end anywhere."""
    words = ((re.escape(char) for char in word) for word in needle.lower().split())
    return re.compile(rf"\s[{_ROW_MARKS}\s]*+".join(rf"(?:\n[{_ROW_MARKS} ]*+)?".join(word) for word in words))


def _highlighted_strip(strip: Strip) -> Strip:
    return Strip([Segment(segment.text, (segment.style or Style()) + _MATCH) for segment in strip])
