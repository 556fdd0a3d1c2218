"""Pictures in a terminal: two of their points in each sign, in 24-bit colour."""

from __future__ import annotations

import base64
import binascii
import os
from io import BytesIO
from typing import Any, Final

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from claude_session_player.events import text_of
from claude_session_player.parts import Picture
from claude_session_player.text import printable
from claude_session_player.tui.rows import drawn

_HIGHEST: Final = 20
_UPPER: Final = "▀"
_LARGEST: Final = 50_000_000
"""Points of a picture that is still opened."""


def picture_rows(picture: Picture, width: int) -> list[Strip]:
    """A picture in rows of this width, or a word about it where it cannot be shown."""
    image = None if os.environ.get("NO_COLOR") else _opened(picture)
    if image is None:
        return drawn(Text(_about(picture), style="dim"), width)
    wide, high = _fitted(image.size, width)
    points = image.convert("RGB").resize((wide, high * 2)).load()
    rows = [[_sign(points[x, 2 * y], points[x, 2 * y + 1]) for x in range(wide)] for y in range(high)]
    return [*map(Strip, rows), *drawn(Text(_about(picture), style="dim"), width)]


def _about(picture: Picture) -> str:
    """What a picture is, in a few words.

    >>> _about(Picture("image", "image/png")), _about(Picture("document", url="file.pdf"))
    ('[image image/png]', '[document file.pdf]')
    """
    return printable(f"[{' '.join(filter(None, (picture.kind, picture.media_type, picture.url)))}]")


def _fitted(size: tuple[int, int], width: int) -> tuple[int, int]:
    """Columns and rows of a picture of some points; a sign is twice as high as wide.

    >>> _fitted((100, 100), 80), _fitted((1000, 10), 80), _fitted((4, 4), 80)
    ((40, 20), (80, 1), (4, 2))
    """
    wide, high = size
    scale = min(width / wide, 2 * _HIGHEST / high, 1.0)
    return max(round(wide * scale), 1), max(round(high * scale / 2), 1)


def _sign(upper: Any, lower: Any) -> Segment:
    return Segment(_UPPER, Style.parse(f"rgb({','.join(map(str, upper))}) on rgb({','.join(map(str, lower))})"))


def _opened(picture: Picture) -> Any:
    """The picture, where its data is here and understood."""
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(BytesIO(base64.b64decode(text_of(picture.data), validate=False)))
        if image.width * image.height > _LARGEST:
            return None
        image.load()
    except (binascii.Error, UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    return image if image.width and image.height else None
