"""Formats that a session can be written in, one module each; `registry` is the table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from claude_session_player.export.registry import Format, OutputKind, TranscriptWriter, format_named, formats, register

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claude_session_player.export.asciicast import RecordingSetup
    from claude_session_player.format.events import Event
    from claude_session_player.models import ScreenState

__all__ = [
    "Format",
    "OutputKind",
    "TranscriptWriter",
    "export_formats",
    "format_named",
    "formats",
    "register",
    "write_screen",
    "write_session",
]


def export_formats() -> list[Format]:
    """The formats of an export: the screen in the end, and the session as it unfolded."""
    return formats(OutputKind.SCREEN, OutputKind.RECORDING)


def write_screen(state: ScreenState, file: TextIO, format: str) -> None:
    """Write the screen to a text file in one of the formats."""
    format_named(format, OutputKind.SCREEN).load()(state, file)


def write_session(
    format: Format,
    file: TextIO,
    screen: Callable[[], ScreenState],
    unfolding: Callable[[], tuple[ScreenState, Iterator[Event]]],
    setup: RecordingSetup | None = None,
) -> ScreenState:
    """Write a session to a text file, and give its screen in the end.

    `screen` replays it; `unfolding` gives the empty screen and the events that fill it. Only one of them is called.
    """
    if format.writes is OutputKind.SCREEN:
        state = screen()
        format.load()(state, file)
        return state
    from claude_session_player.export.asciicast import RecordingSetup

    state, events = unfolding()
    format.load()(events, state, file, setup or RecordingSetup())
    return state
