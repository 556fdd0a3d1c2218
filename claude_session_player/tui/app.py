"""What all full-screen programs have in common: the colours of the terminal, and nothing that is not asked for."""

from __future__ import annotations

import gc
import os
from typing import ClassVar

from textual.app import App, ReturnType

_LIGHT_BACKGROUNDS = frozenset(("7", "15"))


class TerminalApp(App[ReturnType]):
    """A full-screen program in the terminal's own sixteen colours, on its own background."""

    ENABLE_COMMAND_PALETTE: ClassVar = False
    BINDING_GROUP_TITLE = "Everywhere"

    def __init__(self) -> None:
        super().__init__(ansi_color=True)
        gc.enable()  # whoever looks may stay for hours
        self.theme = terminal_theme(os.environ.get("COLORFGBG", ""))


def terminal_theme(colours: str) -> str:
    """The theme that fits a terminal, by what it says of its colours in `COLORFGBG`.

    Both themes use the terminal's own colours; they differ in a few that would be hard to see on light paper.

    >>> terminal_theme("0;15"), terminal_theme("15;0"), terminal_theme("")
    ('ansi-light', 'ansi-dark', 'ansi-dark')
    """
    return "ansi-light" if colours.rpartition(";")[2] in _LIGHT_BACKGROUNDS else "ansi-dark"
