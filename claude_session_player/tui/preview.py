"""The end of a session's screen, as far as a glance needs it: only the end of a large file is read."""

from __future__ import annotations

import os
from typing import Final

from rich.text import Text
from textual.geometry import Size
from textual.strip import Strip

from claude_session_player.formatter import gap
from claude_session_player.line_reader import split_lines
from claude_session_player.models import ScreenState
from claude_session_player.playback import replay
from claude_session_player.regular_file import only_regular
from claude_session_player.store.session import Session
from claude_session_player.tui.rows import element_rows, text_rows
from claude_session_player.view import View

_ENDS: Final = (1 << 18, 1 << 21, 1 << 24)
"""How many bytes of the end are read: more, only where less of it shows nothing."""
_BLANK: Final = Strip([])


def preview_of(session: Session, size: Size) -> list[Strip]:
    """The last rows of a session's screen that fit into some space, or why there are none."""
    try:
        state = last_screen(session.path, is_subagent=session.is_subagent)
    except OSError as error:
        return text_rows(Text(f"cannot be read: {error.strerror or error}", style="red"), size.width)
    if not state.elements:
        return text_rows(Text("there is nothing to see on its screen", style="dim"), size.width)
    return last_rows(state, size)


def last_screen(path: str, *, is_subagent: bool = False) -> ScreenState:
    """What the end of a session file leaves on the screen. Raises `OSError`."""
    view = View(sidechains=is_subagent)
    state = ScreenState(view)
    size = os.path.getsize(path)
    for end in _ENDS:
        state = replay(_lines_at_end(path, end), view)
        if state.elements or end >= size:
            break
    return state


def last_rows(state: ScreenState, size: Size) -> list[Strip]:
    """The last rows of a screen, as the player shows them; only the elements that they belong to are laid out."""
    rows: list[Strip] = []
    following = None
    for element in reversed(state.elements):
        if len(rows) >= size.height:
            break
        blanks = 0 if following is None else len(gap(element, following)) - 1
        rows = [*element_rows(element, state.view, size.width), *[_BLANK] * blanks, *rows]
        following = element
    return rows[max(len(rows) - size.height, 0) :]


def _lines_at_end(path: str, count: int) -> list[bytes]:
    """The whole lines among the last bytes of a file."""
    with open(path, "rb", opener=only_regular) as file:
        start = max(file.seek(0, os.SEEK_END) - count, 0)
        file.seek(start)
        lines = split_lines(file.read(count))
    return lines[1:] if start else lines
