"""Formats that a session can be written in, one module each.

For the screen in the end, the module has a function `write(state, file)`; for the session as it unfolded,
`write(events, state, file, how)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claude_session_player.events import Event
    from claude_session_player.export.asciicast import Setup
    from claude_session_player.models import ScreenState

FORMATS: Final = {
    "markdown": "markdown",
    "json": "jsonlines",
    "text": "terminal",
}
"""Each format of a screen and the module that writes it, imported when it is asked for."""
RECORDINGS: Final = {
    "asciicast": "asciicast",
}
"""The same for a session as it unfolded."""
ALL: Final = (*FORMATS, *RECORDINGS)


def write(state: ScreenState, file: TextIO, format: str) -> None:
    """Write the screen to a text file in one of the formats."""
    import_module(f"{__name__}.{FORMATS[format]}").write(state, file)


def record(events: Iterable[Event], state: ScreenState, file: TextIO, format: str, how: Setup) -> None:
    """Write a session as it unfolded to a text file, while it is read; `state` is the empty screen that it fills."""
    import_module(f"{__name__}.{RECORDINGS[format]}").write(events, state, file, how)
