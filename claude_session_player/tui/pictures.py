"""Pictures in a terminal: two of their points in each sign, in 24-bit colour."""

from __future__ import annotations

import base64
import os
import warnings
from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from claude_session_player.events import text_of
from claude_session_player.image_types import GIF, JPEG, PNG, WEBP, ImageType, image_type
from claude_session_player.parts import Picture
from claude_session_player.text import printable
from claude_session_player.tui.picture_data import bare_jpeg, bare_png
from claude_session_player.tui.rows import drawn

if TYPE_CHECKING:
    from PIL.Image import Image

_HIGHEST: Final = 20
_UPPER: Final = "▀"
_MOST_DATA: Final = 16 << 20
"""Characters of base64 of a picture that is still opened: more than the API takes."""
MOST_POINTS: Final = 1 << 25
"""Points of all pictures of an element together, so that it is drawn in a second or two: those of one 8K screen."""


class Allowance:
    """How many points may still be decoded for an element."""

    def __init__(self) -> None:
        self._left = MOST_POINTS

    def take(self, points: int) -> None:
        """Raises `ValueError` where there are more points than are left."""
        if points > self._left:
            raise ValueError("too many points")
        self._left -= points


def picture_rows(picture: Picture, width: int, allowance: Allowance | None = None) -> list[Strip]:
    """A picture in rows of this width, and a word about it; the word alone where the picture cannot be shown."""
    rows = [] if os.environ.get("NO_COLOR") else _points(picture, width, allowance or Allowance())
    is_refused = not rows and bool(picture.data) and not os.environ.get("NO_COLOR")
    about = f"{_about(picture)} (cannot be shown)" if is_refused else _about(picture)
    return [*rows, *drawn(Text(about, style="dim"), width)]


def _points(picture: Picture, width: int, allowance: Allowance) -> list[Strip]:
    """The points of a picture in rows; none where it is damaged, too large, or of another type than these four.

    Decoders raise anything on data that is made for it, also `MemoryError`, and a picture is not worth the player.
    """
    try:
        image = _opened(picture, allowance)
        wide, high = _fitted(image.size, width)
        points = image.convert("RGB").resize((wide, high * 2)).load()
        assert points is not None
        rows = [[_sign(points[x, 2 * y], points[x, 2 * y + 1]) for x in range(wide)] for y in range(high)]
    except Exception:
        return []
    return list(map(Strip, rows))


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


def _opened(picture: Picture, allowance: Allowance) -> Image:
    """The first frame of a picture, decoded. Raises anything."""
    if len(picture.data) > _MOST_DATA:
        raise ValueError("too much data")
    data = base64.b64decode(text_of(picture.data), validate=False)
    kind = image_type(data)
    if kind is None:
        raise ValueError("no picture of a type that is opened")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they would be written across the screen
        image = _DECODERS[kind](data)
        allowance.take(image.width * image.height)
        image.load()
    return image


# `PIL.Image.open` is not used: to find WebP it loads the plugins of all formats, one of which starts Ghostscript,
# and it takes some JPEGs for MPO.


def _png(data: bytes) -> Image:
    from PIL.PngImagePlugin import PngImageFile

    return PngImageFile(BytesIO(bare_png(data)))


def _jpeg(data: bytes) -> Image:
    from PIL.JpegImagePlugin import JpegImageFile

    return JpegImageFile(BytesIO(bare_jpeg(data)))


def _gif(data: bytes) -> Image:
    from PIL.GifImagePlugin import GifImageFile

    _limit_points()
    return GifImageFile(BytesIO(data))


def _webp(data: bytes) -> Image:
    from PIL.WebPImagePlugin import WebPImageFile

    _limit_points()
    return WebPImageFile(BytesIO(data))


def _limit_points() -> None:
    """GIF and WebP take memory for their points before they tell their size; Pillow refuses twice this limit."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = MOST_POINTS // 2


_DECODERS: Final[dict[ImageType, Callable[[bytes], Image]]] = {PNG: _png, JPEG: _jpeg, GIF: _gif, WEBP: _webp}
