"""Pictures in a terminal: two of their points in each sign, in 24-bit colour."""

from __future__ import annotations

import base64
import os
import struct
import warnings
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import raw_as_text
from claude_session_player.format.content import (
    GIF,
    JPEG,
    PNG,
    WEBP,
    Checklist,
    Code,
    Data,
    Diff,
    ImageType,
    Part,
    Picture,
    Prose,
    image_type,
)
from claude_session_player.tui.widgets.rows import MOST_DRAWN, code_theme, draw_rows, indent_rows
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import base_name, mark_controls, printable

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
"""Besides frames: tables, intervals, and the two notes that tell how colours are coded."""
_JPEG_NOTES: Final = frozenset((*range(0xE0, 0xF0), 0xFE))
MOST_SCANS: Final = 32
"""Scans of a JPEG, each of which goes over the whole picture. Encoders write ten or so."""


def bare_png(data: bytes) -> bytes:
    """The chunks of a PNG that its points are made of."""
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
        elif marker not in _JPEG_NOTES:
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
    return [*rows, *draw_rows(Text(about, style="dim"), width)]


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
    data = base64.b64decode(raw_as_text(picture.data), validate=False)
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


_MOST, _MOST_LINES = 200_000, 3000
"""Characters and lines of a part that are shown: a hundred screens."""
_DIFF_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}
_DONE, _OPEN = "☑ ", "☐ "
_INDENT: Final = "    "


def details_rows(head: list[Strip], details: ElementDetails, width: int) -> list[Strip]:
    """An element with everything that is known of it: its first row, what was given, and what came back."""
    rows = head[:1]
    inner, allowance = width - len(_INDENT), Allowance()
    about = " ".join(filter(None, (details.words, details.name)))
    if about:
        rows += indent_rows(draw_rows(Text(_plain(about), style="dim"), inner), _INDENT)
    for part in details.given:
        rows += indent_rows(part_rows(part, inner, details.name, allowance), _INDENT)
    if details.outcome:
        rows += indent_rows(draw_rows(Text(details.outcome, style="dim"), inner), "  └ ", Style(dim=True))
    mark, style = ("  ✗ ", Style(color="red")) if details.is_error else ("  └ ", Style(dim=True))
    for part in details.returned:
        rows += indent_rows(part_rows(part, inner, details.name, allowance), mark, style)
        mark = _INDENT
    return rows


def part_rows(part: Part, width: int, name: str = "", allowance: Allowance | None = None) -> list[Strip]:
    """One part in rows of this width; `name` is the file that it is about, `allowance` bounds its pictures."""
    if isinstance(part, Picture):
        return picture_rows(part, width, allowance)
    return draw_rows(_DRAWINGS[type(part)](part, name), width)


def _prose(part: Prose, name: str) -> RenderableType:
    if len(part.text) > MOST_DRAWN:
        return Text(_cut(part.text))
    from rich.markdown import Markdown

    return Markdown(_plain(part.text), code_theme=code_theme(), hyperlinks=False)


def _code(part: Code, name: str) -> RenderableType:
    language = part.language or os.path.splitext(base_name(name))[1].lstrip(".")
    if not language or len(part.text) > MOST_DRAWN:
        return Text(_cut(part.text))
    return _highlighted(part.text, language)


def _highlighted(text: str, language: str) -> RenderableType:
    from rich.syntax import Syntax

    return Syntax(_cut(text), language, theme=code_theme(), word_wrap=True, background_color="default")


def _diff(part: Diff, name: str) -> RenderableType:
    text = Text()
    for line in _cut(part.text).split("\n"):
        text.append(line + "\n", style=_DIFF_STYLES.get(line[:1], "dim" if line.startswith(" ") else ""))
    text.right_crop()
    return text


def _checklist(part: Checklist, name: str) -> RenderableType:
    text = Text()
    for item in part.items:
        text.append(f"{_DONE if item.done else _OPEN}{_plain(item.text)}\n", style="dim" if item.done else "")
    text.right_crop()
    return text


def _data(part: Data, name: str) -> RenderableType:
    return _highlighted(lenient_json.pretty(part.value), "json")


_DRAWINGS: Final[dict[type, Callable[[Any, str], RenderableType]]] = {
    Prose: _prose,
    Code: _code,
    Diff: _diff,
    Checklist: _checklist,
    Data: _data,
}


def _plain(text: str) -> str:
    return mark_controls(text)


def _cut(text: str) -> str:
    """A text without what a terminal would obey, and without what nobody could read here."""
    kept = "\n".join(text[:_MOST].split("\n", _MOST_LINES)[:_MOST_LINES])
    more = len(text) - len(kept)
    return f"{_plain(kept)}\n… ({plural(more, 'more character')}: 'show --full' has them all)" if more else _plain(kept)
