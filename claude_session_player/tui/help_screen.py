"""All keys of a screen, under headings, in two columns where they fit."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from claude_session_player.tui.keys import Key, KeyGroup
from claude_session_player.tui.popups import TextPopup

if TYPE_CHECKING:
    from collections.abc import Sequence

_NARROWEST: Final = 50
"""Two columns are shown where each of them can be this wide."""
_GAP: Final = 3
_FRAME: Final = 5
"""Columns that the box takes around its text: border, padding and scrollbar."""
_LEAST_BESIDE: Final = 16
"""Where fewer columns of the screen below would be left, on both sides together, the box takes them, too."""


def group_keys(keys: Sequence[Key]) -> dict[KeyGroup, list[Key]]:
    """The keys under each heading, in the order of the headings, without headings that have none."""
    groups = {group: [key for key in keys if key.group is group] for group in KeyGroup}
    return {group: members for group, members in groups.items() if members}


def help_text(keys: Sequence[Key], width: int) -> Text:
    """All keys with what they do, in this width."""
    column = (width - _GAP) // 2
    if column < _NARROWEST:
        return Text("\n\n").join(Text("\n").join(lines) for lines in _group_lines(keys, width))
    blocks = _group_lines(keys, column)
    split = _even_split([len(block) + 1 for block in blocks])
    left, right = _stacked(blocks[:split]), _stacked(blocks[split:])
    text = Text()
    for row in range(max(len(left), len(right))):
        first = left[row] if row < len(left) else Text()
        text.append_text(first)
        if row < len(right) and right[row]:
            text.append(" " * (column + _GAP - first.cell_len))
            text.append_text(right[row])
        text.append("\n")
    return text[:-1]


def _group_lines(keys: Sequence[Key], width: int) -> list[list[Text]]:
    """The lines of each group: its heading, and its keys."""
    label_width = max(cell_len(key.label) for key in keys) + 2
    blocks = []
    for group, members in group_keys(keys).items():
        lines = [Text(group.value, "bold underline")]
        for key in members:
            first, *more = wrap(key.about, max(width - label_width, 1))
            lines.append(Text.assemble((set_cell_size(key.label, label_width), "bold cyan"), first))
            lines += [Text(" " * label_width + line) for line in more]
        blocks.append(lines)
    return blocks


def _even_split(heights: Sequence[int]) -> int:
    """How many blocks go into the left one of two columns, so that both are as short as possible."""
    return min(range(1, len(heights) + 1), key=lambda split: max(sum(heights[:split]), sum(heights[split:])))


def _stacked(blocks: Sequence[list[Text]]) -> list[Text]:
    """Blocks below each other, with an empty line between them."""
    return [line for number, block in enumerate(blocks) for line in ([Text()] if number else []) + block]


class HelpScreen(TextPopup):
    """Every key and what it does, over the present screen."""

    DEFAULT_CSS = """
    HelpScreen > #box { width: auto; }
    HelpScreen > #box > #text { width: auto; max-width: 100%; }
    """

    def __init__(self, title: str, keys: Sequence[Key], notes: str = "") -> None:
        super().__init__(title, Text())
        self._keys = keys
        self._notes = notes

    def on_resize(self) -> None:
        """Lay out the keys for the new width."""
        text = help_text(self._keys, self.size.width - _FRAME)
        text += Text(f"\n\n{self._notes}" if self._notes else "", style="dim")
        self.show(text)
        free = self.size.width - _FRAME - max(line.cell_len for line in text.split("\n"))
        self.query_one("#box").styles.width = "100%" if free < _LEAST_BESIDE else "auto"
