"""One line of text."""

from __future__ import annotations

from rich.text import Text
from textual.widget import Widget


class TextLine(Widget):
    """One line of text; what does not fit is cut off, and marked."""

    DEFAULT_CSS = "TextLine { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = Text()

    def show(self, text: Text) -> None:
        """Show this text."""
        self._text = text
        self.refresh()

    def render(self) -> Text:
        """The text."""
        return self._text
