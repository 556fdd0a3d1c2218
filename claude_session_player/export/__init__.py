"""Output formats of sessions, one module each; `registry` is their table."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from claude_session_player.export.registry import (
    DRAWN,
    Format,
    OutputKind,
    TranscriptWriter,
    format_named,
    formats,
    register,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claude_session_player.export.asciicast import RecordingSetup
    from claude_session_player.format.events import Event
    from claude_session_player.models import ScreenState

__all__ = [
    "DRAWN",
    "Format",
    "OutputKind",
    "TranscriptWriter",
    "available_formats",
    "export_formats",
    "format_named",
    "formats",
    "register",
    "write_screen",
    "write_session",
]


def export_formats() -> list[Format]:
    """The formats of `export`: the final screen, and what is drawn."""
    return formats(OutputKind.SCREEN, *DRAWN)


def available_formats() -> list[Format]:
    """Those of them for which no program is missing."""
    return [format for format in export_formats() if format.is_available]


def write_screen(state: ScreenState, file: TextIO, format: str) -> None:
    """Write the screen to a text file in a format."""
    format_named(format, OutputKind.SCREEN).load()(state, file)


def write_session(
    format: Format,
    file: TextIO,
    screen: Callable[[], ScreenState],
    begin: Callable[[], tuple[ScreenState, Iterator[Event]]],
    setup: RecordingSetup | None = None,
) -> ScreenState:
    """Write a session to a file, and return its final screen; videos go to the binary file below the text file.

    `screen` replays the session; `begin` returns the empty screen and the events that fill it. Only one is called.
    """
    if format.writes is OutputKind.SCREEN:
        state = screen()
        format.load()(state, file)
        return state
    from claude_session_player.export.asciicast import RecordingSetup

    if format.writes is OutputKind.PICTURE:
        state = screen()
        format.load()(state, file, setup or RecordingSetup())
        return state
    state, events = begin()
    format.load()(events, state, file, setup or RecordingSetup())
    return state
