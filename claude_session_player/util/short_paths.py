"""Paths for people: the home directory as `~`, and what does not fit left out in the middle."""

from __future__ import annotations

import os
import re
from typing import Final

from claude_session_player.util.tables import cell_width, fit_cell
from claude_session_player.util.text import ELLIPSIS

_PARTS: Final = r"[^/\\]*[/\\]+|[^/\\]+"
"""The parts of a path of any operating system, each with the separator behind it."""


def short_path(path: str, width: int, home: str | None = None) -> str:
    """A path in at most this many cells: `~` for the home directory, and the middle left out if it is too long.

    The last part says most, and then the first ones: those are kept longest.

    >>> [short_path("/home/ada/work/tea/kettle", width, "/home/ada") for width in (19, 16, 11, 8, 6, 4)]
    ['~/work/tea/kettle', '~/work/…/kettle', '~/…/kettle', '…/kettle', 'kettle', 'ket…']
    """
    path = tilde_path(path, os.path.expanduser("~") if home is None else home)
    if cell_width(path) <= width:
        return path
    parts = re.findall(_PARTS, path.rstrip("/\\"))
    last = parts[-1] if parts else path
    separator = "\\" if "/" not in path and "\\" in path else "/"
    best = last if cell_width(last) <= width else fit_cell(last, max(width, 0)).rstrip()
    first, end = 0, len(parts) - 1
    while first < end:
        shorter = f"{''.join(parts[:first])}{ELLIPSIS}{separator}{''.join(parts[end:])}"
        if cell_width(shorter) > width:
            break
        best = shorter
        if first <= len(parts) - end:
            first += 1
        else:
            end -= 1
    return best


def tilde_path(path: str, home: str) -> str:
    """A path with `~` for the home directory.

    >>> [tilde_path(path, "/home/ada") for path in ("/home/ada/tea", "/home/ada", "/home/adam")]
    ['~/tea', '~', '/home/adam']
    """
    folder = home.rstrip("/\\")
    rest = path.removeprefix(folder) if folder else path
    return f"~{rest}" if rest != path and (not rest or rest[0] in "/\\") else path
