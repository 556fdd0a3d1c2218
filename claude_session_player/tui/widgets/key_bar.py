"""The footer: one line with the keys that matter now. A click on one of them presses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text
from textual import events
from textual.widget import Widget

from claude_session_player.tui.footer import MOST_KEYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.tui.keys import Key

_HELP_KEY: Final = "question_mark"
_GAP: Final = 2


class PlacedKey(NamedTuple):
    """A key of the footer, and the column where it begins."""

    key: Key
    column: int

    @property
    def width(self) -> int:
        """How many columns it takes."""
        return key_text(self.key).cell_len

    def key_at(self, column: int) -> str:
        """What to press for a click at a column: of `→ ←`, the arrow that was clicked."""
        names, labels = self.key.keys, self.key.label.split(" ")
        end = self.column
        for name, label in zip(names, labels, strict=False):
            end += Text(label).cell_len
            if column <= end and len(names) == len(labels):
                return name.partition(",")[0]
            end += 1
        return names[0].partition(",")[0]


def key_text(key: Key) -> Text:
    """A key and the word for it."""
    return Text.assemble((key.label, "bold cyan"), f" {key.word}")


def place_keys(keys: Sequence[Key], width: int) -> list[PlacedKey]:
    """The keys that fit into a width, from the left on; the one for all keys is at the right end, and always there."""
    last = [key for key in keys if key.keys == (_HELP_KEY,)][:1]
    others = [key for key in keys if key.keys != (_HELP_KEY,)][:MOST_KEYS]
    right = width - sum(key_text(key).cell_len for key in last)
    placed: list[PlacedKey] = []
    column = 0
    for key in others:
        end = column + key_text(key).cell_len
        if end + (_GAP if last else 0) > right:
            break
        placed.append(PlacedKey(key, column))
        column = end + _GAP
    return placed + [PlacedKey(key, max(right, 0)) for key in last]


class KeyBar(Widget):
    """The footer."""

    DEFAULT_CSS = "KeyBar { height: 1; padding: 0 1; background: $panel; }"

    def __init__(self, keys: Sequence[Key]) -> None:
        """The keys that are shown first."""
        super().__init__()
        self._keys = keys

    def show(self, keys: Sequence[Key]) -> None:
        """Show other keys."""
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def render(self) -> Text:
        """The keys that fit."""
        text = Text(no_wrap=True, overflow="ellipsis")
        for key, column in place_keys(self._keys, self.size.width):
            text.append(" " * (column - text.cell_len))
            text.append_text(key_text(key))
        return text

    def on_click(self, event: events.Click) -> None:
        """Press the key under the mouse."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        for placed in place_keys(self._keys, self.size.width):
            if placed.column <= offset.x < placed.column + placed.width:
                event.stop()
                self.app.simulate_key(placed.key_at(offset.x))
