"""Formats that a screen can be written in: one module each, with a function `write(state, file)`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from claude_session_player.models import ScreenState

FORMATS: Final = {
    "markdown": "markdown",
    "json": "jsonlines",
    "text": "terminal",
}
"""Each format and the module that writes it, imported when it is asked for."""


def write(state: ScreenState, file: TextIO, format: str) -> None:
    """Write the screen to a text file in one of the formats."""
    import_module(f"{__name__}.{FORMATS[format]}").write(state, file)
