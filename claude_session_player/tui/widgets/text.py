"""A line of text, and a popup with a text that can be scrolled."""

from __future__ import annotations

from typing import ClassVar

from rich.console import RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static


class TextLine(Widget):
    """One line of text; if it does not fit, it is truncated and the cut is marked."""

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


class TextPopup(ModalScreen[None]):
    """A text that can be scrolled; it may arrive after the popup is open."""

    DEFAULT_CSS = """
    TextPopup { align: center middle; background: transparent; }
    TextPopup > #box {
        width: 84; max-width: 100%; height: auto; max-height: 100%;
        border: round ansi_cyan; background: ansi_default; padding: 0 1; scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,enter,space", "dismiss", "back"),
        Binding("q", "app.quit", "quit"),
    ]

    def __init__(self, title: str, text: str | Text) -> None:
        super().__init__()
        self._heading = title
        self._text = text

    def compose(self) -> ComposeResult:
        """A box with a title."""
        with VerticalScroll(id="box") as box:
            box.border_title, box.border_subtitle = self._heading, "Esc back · q quit"
            yield Static(self._text, id="text", markup=False)

    def show(self, text: RenderableType) -> None:
        """Show another text."""
        self.query_one("#text", Static).update(text)
