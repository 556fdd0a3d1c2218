"""Draw docs/demo.svg: the demo session on a terminal."""

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
_REMOVED = re.compile(r"@font-face \{\{.*?\}\}|<!--.*?-->", re.DOTALL)  # web fonts and a comment of rich


def draw_demo() -> str:
    """The screen of the demo as SVG, with the fonts of the viewer."""
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
    template = _REMOVED.sub("", CONSOLE_SVG_FORMAT)
    return console.export_svg(title="claude-session-player demo", code_format=template, unique_id="demo")


if __name__ == "__main__":
    PATH.write_text(draw_demo(), encoding="utf-8")
