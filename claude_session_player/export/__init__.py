"""Formats that a session can be written in, one module each; `registry` is the table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from claude_session_player.export.registry import Format, TranscriptWriter, Writes, format_named, formats, register

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claude_session_player.export.asciicast import Setup
    from claude_session_player.format.events import Event
    from claude_session_player.models import ScreenState

__all__ = [
    "Format",
    "TranscriptWriter",
    "Writes",
    "exported",
    "format_named",
    "formats",
    "register",
    "write",
    "write_session",
]


def exported() -> list[Format]:
    """The formats of an export: the screen in the end, and the session as it unfolded."""
    return formats(Writes.SCREEN, Writes.RECORDING)


def write(state: ScreenState, file: TextIO, format: str) -> None:
    """Write the screen to a text file in one of the formats."""
    format_named(format, Writes.SCREEN).load()(state, file)


def write_session(
    format: Format,
    file: TextIO,
    screen: Callable[[], ScreenState],
    unfolding: Callable[[], tuple[ScreenState, Iterator[Event]]],
    setup: Setup | None = None,
) -> ScreenState:
    """Write a session to a text file, and give its screen in the end.

    `screen` replays it; `unfolding` gives the empty screen and the events that fill it. Only one of them is called.
    """
    if format.writes is Writes.SCREEN:
        state = screen()
        format.load()(state, file)
        return state
    from claude_session_player.export.asciicast import Setup

    state, events = unfolding()
    format.load()(events, state, file, setup or Setup())
    return state
