"""Unfolded elements in rows: the whole input and result, and images with two pixels per character."""

from __future__ import annotations

import base64
import os
import struct
import warnings
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from claude_session_player.export.drawing import indent_rows
from claude_session_player.export.part_rows import PartLook, part_rows
from claude_session_player.format.blocks import raw_as_text
from claude_session_player.format.content import (
    GIF,
    JPEG,
    PNG,
    WEBP,
    Code,
    ImageType,
    Part,
    Picture,
    image_type,
)
from claude_session_player.tui.widgets.rows import text_rows, to_strips
from claude_session_player.util.text import mark_controls, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL.Image import Image

    from claude_session_player.player import ElementDetails

_PNG_HEADER: Final = 8
_PNG_CHUNKS: Final = frozenset((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"))
_JPEG_SCAN: Final = 0xDA
_JPEG_FRAMES: Final = frozenset((0xC0, 0xC1, 0xC2))
"""Baseline, extended, progressive."""
_JPEG_NEEDED: Final = _JPEG_FRAMES | {0xC4, 0xDB, 0xDD, 0xE0, 0xEE}
"""Besides frames: tables, intervals, and the two application segments that define the colour encoding."""
_JPEG_IGNORED: Final = frozenset((*range(0xE0, 0xF0), 0xFE))
"""Application segments and comments."""
MOST_SCANS: Final = 32
"""Scans of a JPEG, each of which decodes the whole image. Encoders write about ten."""


def bare_png(data: bytes) -> bytes:
    """A PNG without the chunks that its pixels do not need."""
    kept, at = [data[:_PNG_HEADER]], _PNG_HEADER
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if kind in _PNG_CHUNKS:
            kept.append(data[at:end])
        if kind == b"IEND":
            break
        at = end
    return b"".join(kept)


def bare_jpeg(data: bytes) -> bytes:
    """One frame of a JPEG, its tables and its scans. Raises `ValueError` or `struct.error` for anything else."""
    kept, at, frames = [data[:2]], 2, 0
    while (marker := _marker(data, at)) != _JPEG_SCAN:
        end = at + 2 + struct.unpack_from(">H", data, at + 2)[0]
        if marker in _JPEG_NEEDED:
            frames += marker in _JPEG_FRAMES
            kept.append(data[at:end])
        elif marker not in _JPEG_IGNORED:
            raise ValueError(f"marker {marker:02x} before the first scan of a JPEG")
        at = end
    scans = data[at:]
    if frames != 1 or scans.count(bytes((0xFF, _JPEG_SCAN))) > MOST_SCANS:
        raise ValueError("a JPEG without a frame, with several, or with too many scans")
    return b"".join((*kept, scans))


def _marker(data: bytes, at: int) -> int:
    first, marker = struct.unpack_from("BB", data, at)
    if first != 0xFF:
        raise ValueError("no marker where a JPEG must have one")
    return int(marker)


_MOST_ROWS: Final = 20
_UPPER_HALF: Final = "▀"
_MOST_DATA: Final = 16 << 20
"""Base64 characters of an image that is opened: more than the API accepts."""
MOST_PIXELS: Final = 1 << 25
"""Pixels of all images of an element, about one 8K screen, so that it is drawn in a second or two."""


class PixelBudget:
    """How many pixels may still be decoded for an element."""

    def __init__(self) -> None:
        self._left = MOST_PIXELS

    def take(self, pixels: int) -> None:
        """Raises `ValueError` if fewer pixels are left."""
        if pixels > self._left:
            raise ValueError("too many pixels")
        self._left -= pixels


def picture_rows(picture: Picture, width: int, budget: PixelBudget | None = None) -> list[Strip]:
    """An image in rows of this width and a label; the label alone if the image cannot be shown."""
    rows = [] if os.environ.get("NO_COLOR") else _pixel_rows(picture, width, budget or PixelBudget())
    is_refused = not rows and bool(picture.data) and not os.environ.get("NO_COLOR")
    about = f"{_about(picture)} (cannot be shown)" if is_refused else _about(picture)
    return [*rows, *text_rows(Text(about, style="dim"), width)]


def _pixel_rows(picture: Picture, width: int, budget: PixelBudget) -> list[Strip]:
    """The pixels of an image in rows; no rows if it is damaged, too large, or of an unsupported type.

    Crafted data makes decoders raise any exception, even `MemoryError`; no image may end the player.
    """
    try:
        image = _open_image(picture, budget)
        wide, high = _fit_size(image.size, width)
        pixels = image.convert("RGB").resize((wide, high * 2)).load()
        assert pixels is not None
        rows = [[_cell(pixels[x, 2 * y], pixels[x, 2 * y + 1]) for x in range(wide)] for y in range(high)]
    except Exception:
        return []
    return list(map(Strip, rows))


def _about(picture: Picture) -> str:
    """A label for an image: its kind, type and address.

    >>> _about(Picture("image", "image/png")), _about(Picture("document", url="file.pdf"))
    ('[image image/png]', '[document file.pdf]')
    """
    return printable(f"[{' '.join(filter(None, (picture.kind, picture.media_type, picture.url)))}]")


def _fit_size(size: tuple[int, int], width: int) -> tuple[int, int]:
    """The columns and rows for an image of some pixels; a terminal cell is twice as high as wide.

    >>> _fit_size((100, 100), 80), _fit_size((1000, 10), 80), _fit_size((4, 4), 80)
    ((40, 20), (80, 1), (4, 2))
    """
    wide, high = size
    scale = min(width / wide, 2 * _MOST_ROWS / high, 1.0)
    return max(round(wide * scale), 1), max(round(high * scale / 2), 1)


def _cell(upper: Any, lower: Any) -> Segment:
    """Two pixels in one terminal cell."""
    return Segment(_UPPER_HALF, Style.parse(f"rgb({','.join(map(str, upper))}) on rgb({','.join(map(str, lower))})"))


def _open_image(picture: Picture, budget: PixelBudget) -> Image:
    """The first frame of an image, decoded. Raises any exception."""
    if len(picture.data) > _MOST_DATA:
        raise ValueError("too much data")
    data = base64.b64decode(raw_as_text(picture.data), validate=False)
    kind = image_type(data)
    if kind is None:
        raise ValueError("unsupported image type")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they would be written across the screen
        image = _DECODERS[kind](data)
        budget.take(image.width * image.height)
        image.load()
    return image


# `PIL.Image.open` is not used: to recognise WebP it loads the plugins of all formats, one of which starts Ghostscript,
# and it mistakes some JPEGs for MPO.


def _png(data: bytes) -> Image:
    from PIL.PngImagePlugin import PngImageFile

    return PngImageFile(BytesIO(bare_png(data)))


def _jpeg(data: bytes) -> Image:
    from PIL.JpegImagePlugin import JpegImageFile

    return JpegImageFile(BytesIO(bare_jpeg(data)))


def _gif(data: bytes) -> Image:
    from PIL.GifImagePlugin import GifImageFile

    _limit_pixels()
    return GifImageFile(BytesIO(data))


def _webp(data: bytes) -> Image:
    from PIL.WebPImagePlugin import WebPImageFile

    _limit_pixels()
    return WebPImageFile(BytesIO(data))


def _limit_pixels() -> None:
    """Limit Pillow itself, which allocates the pixels of GIF and WebP before their size is known.

    It refuses images with more than twice this limit.
    """
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = MOST_PIXELS // 2


_DECODERS: Final[dict[ImageType, Callable[[bytes], Image]]] = {PNG: _png, JPEG: _jpeg, GIF: _gif, WEBP: _webp}


_INDENT: Final = "    "


def details_rows(head: list[Strip], details: ElementDetails, width: int) -> list[Strip]:
    """An unfolded element: its first row, the whole input, and the whole result."""
    rows = head[:1]
    inner, budget = width - len(_INDENT), PixelBudget()
    said = rows[0].text if rows else ""
    about = " ".join(one for one in (details.words, details.name) if one and one not in said)
    if about:
        rows += _indented(_text_strips(about, inner), _INDENT)
    for part in details.given:
        is_command = isinstance(part, Code) and part.is_command
        drawn = part_strips(part, inner - 2 * is_command, details.name, budget)
        rows += _indented(_indented(drawn, "$ ", Style(dim=True)) if is_command else drawn, _INDENT)
    if details.outcome:
        rows += _indented(_text_strips(details.outcome, inner), "  └ ", Style(dim=True))
    mark, style = ("  ✗ ", Style(color="red")) if details.is_error else ("  └ ", Style(dim=True))
    for part in details.returned:
        rows += _indented(part_strips(part, inner, details.name, budget), mark, style)
        mark = _INDENT
    return rows


def part_strips(part: Part, width: int, name: str = "", budget: PixelBudget | None = None) -> list[Strip]:
    """One part in rows of this width; `name` is the file that it is about, `budget` limits its images."""
    if isinstance(part, Picture):
        return picture_rows(part, width, budget)
    return to_strips(part_rows(part, PartLook(width, name)))


def _text_strips(text: str, width: int) -> list[Strip]:
    return text_rows(Text(mark_controls(text), style="dim"), width)


def _indented(rows: list[Strip], first: str, style: Style | None = None) -> list[Strip]:
    return to_strips(indent_rows((list(row) for row in rows), first, style))
