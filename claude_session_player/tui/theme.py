"""Whether the terminal is light or dark, and what follows from that. All colours are the terminal's own."""

from __future__ import annotations

import os
from typing import Final

_LIGHT_BACKGROUNDS: Final = frozenset(("7", "15"))


def is_light(colours: str) -> bool:
    """Whether a terminal is light, by what it says of its colours in `COLORFGBG`; where it says nothing, it is dark.

    >>> is_light("0;15"), is_light("15;0"), is_light("")
    (True, False, False)
    """
    return colours.rpartition(";")[2] in _LIGHT_BACKGROUNDS


def terminal_theme() -> str:
    """The theme of windows. Both use the colours of the terminal; they differ in those that are hard to see on one."""
    return f"ansi-{_shade()}"


def code_theme() -> str:
    """The colours of code."""
    return f"ansi_{_shade()}"


def _shade() -> str:
    return "light" if is_light(os.environ.get("COLORFGBG", "")) else "dark"
