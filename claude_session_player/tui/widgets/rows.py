"""Rows of a terminal as Textual draws them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text
from textual.strip import Strip

from claude_session_player.export import drawing
from claude_session_player.export.drawing import markdown_rows, terminal_shade
from claude_session_player.export.element_rows import draw_element

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claude_session_player.export.drawing import Row
    from claude_session_player.models import ScreenElement, View


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
