"""Draws the rows of a terminal as pictures, frame by frame, with a monospace font of this machine.

Most rows of a frame are those of the frame before: each is drawn once and kept for a while.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from PIL import Image, ImageDraw, ImageFont
from rich.cells import cell_len

from claude_session_player.errors import NotInstalled
from claude_session_player.export.colour_runs import DARK, ColourRun, colour_runs, run_colours
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SIZE: Final = 16
"""Pixels of a font."""
_PADDING: Final = 12
_ROWS_KEPT: Final = 512
_DIMMED: Final = 0.65
"""How much is left of a dim colour."""
_STEPS: Final = 15
"""Shades from the background to each colour, in a picture with a palette: 17 colours have room in 256."""
_FONTS: Final = (
    ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"),
    ("Menlo.ttc", "Menlo.ttc"),
    ("consola.ttf", "consolab.ttf"),
    ("LiberationMono-Regular.ttf", "LiberationMono-Bold.ttf"),
    ("NotoSansMono-Regular.ttf", "NotoSansMono-Bold.ttf"),
    ("UbuntuMono-R.ttf", "UbuntuMono-B.ttf"),
    ("FreeMono.ttf", "FreeMonoBold.ttf"),
    ("cour.ttf", "courbd.ttf"),
)
"""Files of monospace fonts, regular and bold; the first that is installed is used."""
_FALLBACKS: Final = (
    *("DejaVuSans.ttf", "NotoSansSymbols2-Regular.ttf", "NotoSansCJK-Regular.ttc", "NotoSansMonoCJK-VF.ttf.ttc"),
    *("Apple Symbols.ttf", "Arial Unicode.ttf", "PingFang.ttc", "seguisym.ttf", "msgothic.ttc", "unifont.otf"),
)
"""Fonts for signs that the monospace font does not have."""
_WIDE_FONT: Final = "Noto Sans CJK (package fonts-noto-cjk)"
_NARROW_FONT: Final = "GNU Unifont (package unifont)"
"""What to install for characters that no font has: for Chinese, Japanese and Korean, and for others."""
_MOST_EXAMPLES: Final = 8
_NO_SIGN: Final = "\U0010ffff"
"""A character that no font has: what is drawn for it is drawn for all that are missing."""
_BLOCK: Final = 256
"""Characters that are looked for in one font."""
_Colour = tuple[int, int, int]


class _Fonts(NamedTuple):
    regular: ImageFont.FreeTypeFont
    bold: ImageFont.FreeTypeFont
    others: tuple[ImageFont.FreeTypeFont, ...]


class FrameArtist:
    """Draws frames of a terminal of some size. Raises `NotInstalled` if there is no font."""

    def __init__(self, width: int, height: int) -> None:
        self._fonts = _load_fonts()
        ascent, descent = self._fonts.regular.getmetrics()
        self._column = self._fonts.regular.getlength("M" * 100) / 100
        self._row = ascent + descent + 1
        self._row_width = round(width * self._column)
        self.size: tuple[int, int] = (
            _even(self._row_width + 2 * _PADDING),
            _even(height * self._row + 2 * _PADDING),
        )
        """Pixels; even, because videos need it."""
        self._missing: dict[str, None] = {}
        """The characters that no font has, in the order in which they were drawn."""
        self._draw_row = lru_cache(_ROWS_KEPT)(self._drawn_row)

    def draw(self, rows: Sequence[str]) -> Image.Image:
        """A frame that shows these rows."""
        image = Image.new("RGB", self.size, _rgb(DARK.background))
        for number, row in enumerate(rows):
            if row:
                image.paste(self._draw_row(row), (_PADDING, _PADDING + number * self._row))
        return image

    def missing_glyphs(self) -> str:
        """A warning about the characters that were drawn as boxes, and what to install; empty if there are none."""
        if not (missing := list(self._missing)):
            return ""
        font = _WIDE_FONT if any(cell_len(sign) > 1 for sign in missing) else _NARROW_FONT
        examples = "".join(missing[:_MOST_EXAMPLES]) + ("…" if len(missing) > _MOST_EXAMPLES else "")
        has = "has" if len(missing) == 1 else "have"
        name, _ = self._fonts.regular.getname()
        return (
            f"{plural(len(missing), 'character')} {has} no glyph in the font {name or 'that is used'}, nor in another: "
            f"{printable(examples)}; install {font}"
        )

    def _drawn_row(self, row: str) -> Image.Image:
        image = Image.new("RGB", (self._row_width, self._row), _rgb(DARK.background))
        draw = ImageDraw.Draw(image)
        for run in colour_runs(row):
            self._draw_run(draw, run)
        return image

    def _draw_run(self, draw: ImageDraw.ImageDraw, run: ColourRun) -> None:
        colour, background = run_colours(run.style, DARK)
        left, right = round(run.column * self._column), round((run.column + run.width) * self._column)
        if background is not None:
            draw.rectangle((left, 0, right - 1, self._row), fill=_rgb(background))
        ink = _mixed(_rgb(background or DARK.background), _rgb(colour), _DIMMED if run.style.dim else 1)
        font = self._fonts.bold if run.style.bold else self._fonts.regular
        if run.text.isspace():
            pass  # a font may have no wide space
        elif run.text.isascii():
            draw.text((left, 0), run.text, font=font, fill=ink)
        else:
            sign = run.text[0]  # what joins or changes it is left out: fonts of one colour have no joined signs
            own = next((one for one in self._candidates(font, sign) if _has_sign(one, sign)), None)
            if own is None:
                self._missing[sign] = None
            font = own or font
            draw.text((max((left + right - font.getlength(sign)) / 2, left), 0), sign, font=font, fill=ink)
        if run.style.underline or run.style.strike:
            y = self._row - 3 if run.style.underline else self._row // 2
            draw.line((left, y, right - 1, y), fill=ink)

    def _candidates(self, font: ImageFont.FreeTypeFont, sign: str) -> Iterator[ImageFont.FreeTypeFont]:
        yield from (font, *self._fonts.others)
        if found := _font_for_block(ord(sign) // _BLOCK):
            yield found


def frame_palette() -> Image.Image:
    """A picture of 16 by 16 pixels with the colours of all frames, for formats with a palette."""
    ground = _rgb(DARK.background)
    inks = dict.fromkeys(_rgb(colour) for colour in (DARK.text, *DARK.colours))
    colours = [ground, *(_mixed(ground, ink, step / _STEPS) for ink in inks for step in range(1, _STEPS + 1))]
    image = Image.new("RGB", (16, 16), ground)
    image.putdata(colours[:256])
    return image


# --- fonts --------------------------------------------------------------------------------------------


@cache
def _load_fonts() -> _Fonts:
    for regular, bold in _FONTS:
        if font := _font(regular):
            return _Fonts(font, _font(bold) or font, tuple(filter(None, map(_font, _FALLBACKS))))
    names = "DejaVu Sans Mono (package fonts-dejavu-core), Menlo or Consolas"
    raise NotInstalled(f"no monospace font to draw with is installed: install {names}")


def _font(name: str) -> ImageFont.FreeTypeFont | None:
    try:
        return ImageFont.truetype(name, _SIZE, layout_engine=ImageFont.Layout.BASIC)
    except OSError:
        return None


@cache
def _font_for_block(block: int) -> ImageFont.FreeTypeFont | None:
    """The font that fontconfig has for a block of characters; `None` if there is no fontconfig."""
    if (program := shutil.which("fc-match")) is None:
        return None
    command = (program, "--format=%{file}", f"monospace:charset={block * _BLOCK:x}-{block * _BLOCK + _BLOCK - 1:x}")
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return _font(done.stdout) if done.stdout else None


@lru_cache(4096)
def _has_sign(font: ImageFont.FreeTypeFont, sign: str) -> bool:
    return _pixels(font, sign) != _pixels(font, _NO_SIGN)


def _pixels(font: ImageFont.FreeTypeFont, sign: str) -> tuple[Iterable[int], bytes]:
    mask = font.getmask(sign)
    return mask.size, bytes(mask)


# --- colours ------------------------------------------------------------------------------------------


def _rgb(colour: str) -> _Colour:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _mixed(ground: _Colour, ink: _Colour, share: float) -> _Colour:
    red, green, blue = (round(below + (above - below) * share) for below, above in zip(ground, ink, strict=True))
    return red, green, blue


def _even(number: int) -> int:
    return number + number % 2
