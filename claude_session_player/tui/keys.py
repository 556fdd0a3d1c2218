"""Keys, said once: what they do, and how that is told in the footer and on the help screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widget import Widget

_WIDTH = 14


class Key(NamedTuple):
    """Keys that do one thing."""

    keys: tuple[str, ...]
    """As Textual names them."""
    actions: tuple[str, ...]
    """One for all keys, or one for each of them."""
    shown: str
    word: str
    about: str


def bindings(keys: Sequence[Key]) -> list[BindingType]:
    """What Textual needs to know of the keys."""
    return [
        Binding(name, key.actions[number if len(key.actions) > 1 else 0], key.word, show=False)
        for key in keys
        for number, name in enumerate(key.keys)
    ]


def footer_lines(keys: Sequence[Key], width: int) -> list[Text]:
    """All keys in a few words, over as many lines as needed; none is separated from what it does."""
    lines = [Text()]
    for key in keys:
        one = Text.assemble((key.shown, "bold"), (f" {key.word}", "dim"))
        if lines[-1] and lines[-1].cell_len + 2 + one.cell_len > width:
            lines.append(one)
        else:
            lines[-1] = Text("  ").join([lines[-1], one]) if lines[-1] else one
    return lines


def help_text(keys: Sequence[Key]) -> Text:
    """All keys, one a line, with what they do."""
    text = Text()
    for key in keys:
        text.append(f"  {key.shown:<{_WIDTH}}", style="bold")
        text.append(f"{key.about}\n")
    return text


class KeyBar(Widget):
    """The footer: every key, and a word for it."""

    DEFAULT_CSS = "KeyBar { height: auto; }"

    def __init__(self, keys: Sequence[Key]) -> None:
        super().__init__()
        self._keys = keys

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the keys need."""
        return len(footer_lines(self._keys, width))

    def render(self) -> Text:
        """The keys."""
        return Text("\n").join(footer_lines(self._keys, self.size.width))


class HelpScreen(ModalScreen[None]):
    """Every key and what it does, above whatever was there."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; background: ansi_default; }
    HelpScreen > _HelpText {
        width: auto; max-width: 100%; height: auto; max-height: 100%; border: round ansi_blue; padding: 0 1;
        background: ansi_default; overflow-y: auto;
    }
    """
    BINDINGS: ClassVar = [Binding("escape,q,question_mark,enter,space", "dismiss", "back", show=False)]

    def __init__(self, title: str, keys: Sequence[Key], notes: str = "") -> None:
        super().__init__()
        self._text = help_text(keys) + Text(f"\n{notes}" if notes else "", style="dim")
        self._title = title

    def compose(self) -> ComposeResult:
        """One box of text."""
        box = _HelpText(self._text)
        box.border_title = self._title
        yield box


class _HelpText(Widget, can_focus=True):
    def __init__(self, text: Text) -> None:
        super().__init__()
        self._text = text

    def render(self) -> Text:
        return self._text
