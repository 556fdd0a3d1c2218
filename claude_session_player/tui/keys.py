"""Keys, said once: what they do, and how that is told in the footer and on the help screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.widget import Widget

from claude_session_player.tui.text_popup import TextPopup

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
    is_first: bool = False
    """It goes before all others, so that what is typed behind it, however fast, is meant for what it opens."""


def bindings(keys: Sequence[Key]) -> list[BindingType]:
    """What Textual needs to know of the keys."""
    return [
        Binding(name, key.actions[number if len(key.actions) > 1 else 0], key.word, show=False, priority=key.is_first)
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
    """The footer: every key, and a word for it. Where the keys change, its height does not."""

    DEFAULT_CSS = "KeyBar { height: auto; }"

    def __init__(self, *tables: Sequence[Key]) -> None:
        """The keys that may be shown; at first it is the first table of them."""
        super().__init__()
        self._tables = tables
        self._keys = tables[0]

    def show(self, keys: Sequence[Key]) -> None:
        """Show another table of keys."""
        self._keys = keys
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the keys need."""
        return max(len(footer_lines(keys, width)) for keys in self._tables)

    def render(self) -> Text:
        """The keys."""
        return Text("\n").join(footer_lines(self._keys, self.size.width))


class HelpScreen(TextPopup):
    """Every key and what it does, above whatever was there."""

    DEFAULT_CSS = """
    HelpScreen > #box { width: auto; }
    HelpScreen > #box > #text { width: auto; max-width: 100%; }
    """

    def __init__(self, title: str, keys: Sequence[Key], notes: str = "") -> None:
        super().__init__(title, help_text(keys) + Text(f"\n{notes}" if notes else "", style="dim"))
