"""The last screen of a session, as far as a glance needs it: only the end of a large file is read."""

from __future__ import annotations

import os
from typing import Final

from rich.text import Text

from claude_session_player.export.terminal import styled
from claude_session_player.formatter import gap
from claude_session_player.models import ScreenState
from claude_session_player.playback import replay
from claude_session_player.store.session import Session
from claude_session_player.view import View

_ENDS: Final = (1 << 18, 1 << 21, 1 << 24)
"""How many bytes of the end are read: more, only where less of it shows nothing."""
_MOST_LINES: Final = 200
_MOST_CHARACTERS: Final = 1 << 14


def preview_of(session: Session) -> Text:
    """The end of a session's screen in colour, or why it cannot be shown."""
    try:
        text = last_lines(last_screen(session.path, is_subagent=session.is_subagent))
    except OSError as error:
        return Text(f"cannot be read: {error.strerror or error}", style="red")
    return text if text.plain else Text("there is nothing to see on its screen", style="dim")


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


def last_lines(state: ScreenState) -> Text:
    """The last lines of a screen, in colour; of a long text its end."""
    pieces: list[Text] = []
    lines = 0
    following = None
    for element in reversed(state.elements):
        if lines > _MOST_LINES:
            break
        if following is not None:
            pieces.append(Text(gap(element, following)))
        text = styled(element, state.view)
        pieces.append(text[-_MOST_CHARACTERS:] if len(text) > _MOST_CHARACTERS else text)
        lines += pieces[-1].plain.count("\n") + 2  # its last line, and the gap
        following = element
    return Text().join(reversed(pieces))


def _lines_at_end(path: str, count: int) -> list[bytes]:
    """The whole lines among the last bytes of a file."""
    with open(path, "rb") as file:
        start = max(file.seek(0, os.SEEK_END) - count, 0)
        file.seek(start)
        lines = file.read(count).splitlines(keepends=True)
    return lines[1:] if start else lines
