"""The screen as markdown, element by element."""

from __future__ import annotations

from typing import TextIO

from claude_session_player.formatter import pieces
from claude_session_player.models import ScreenState


def write_markdown(state: ScreenState, file: TextIO) -> None:
    """Write what `to_markdown` gives, and a final line break where there is anything."""
    file.writelines(pieces(state.elements, state.view))
    if state.elements:
        file.write("\n")
