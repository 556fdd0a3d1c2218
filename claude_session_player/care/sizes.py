"""Sizes as people type them."""

from __future__ import annotations

import re
from typing import Final

from claude_session_player.errors import BadFilter

UNDERSTOOD: Final = "500KB, 10MB, 1.5GB, 10MiB, or a number of bytes"
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?(?:([kmgt])(i?)b?|b)?", re.IGNORECASE | re.ASCII)
_POWERS: Final = {"k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """A number of bytes; raises `BadFilter`.

    >>> parse_size("10MB"), parse_size("1.5 kb"), parse_size("2GiB"), parse_size("512")
    (10000000, 1500, 2147483648, 512)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise BadFilter(f"{text!r} is no size that is understood: write {UNDERSTOOD}")
    number, unit, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** _POWERS.get((unit or "").lower(), 0))
