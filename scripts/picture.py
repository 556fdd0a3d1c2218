"""Draws docs/demo.svg: the demo session as a terminal shows it."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from claude_session_player import replay
from claude_session_player.export.terminal import style_element
from claude_session_player.formatter import gap_between

ROOT = Path(__file__).parents[1]
PATH = ROOT / "docs" / "demo.svg"
_COLUMNS = 94
_NOT_OURS = re.compile(r"@font-face \{\{.*?\}\}|<!--.*?-->", re.DOTALL)  # fonts from the web, and a greeting


def picture() -> str:
    """The screen of the demo as SVG, with the fonts of whoever looks at it."""
    state = replay(ROOT / "claude_session_player" / "data" / "demo.jsonl")
    console = Console(
        record=True, file=io.StringIO(), width=_COLUMNS, force_terminal=True, color_system="truecolor", highlight=False
    )
    screen = Text()
    for number, element in enumerate(state.elements):
        if number:
            screen.append(gap_between(state.elements[number - 1], element))
        screen.append_text(style_element(element, state.view))
    console.print(screen)
    look = _NOT_OURS.sub("", CONSOLE_SVG_FORMAT)
    return console.export_svg(title="claude-session-player demo", code_format=look, unique_id="demo")


if __name__ == "__main__":
    PATH.write_text(picture(), encoding="utf-8")
