"""Full-screen programs, run without a terminal: keys go in, the text and the styles of the screen come out."""

from __future__ import annotations

import asyncio
import difflib
import html
import itertools
import os
import re
import string
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import textual.app
import textual.pilot
from rich.color import Color, ColorType
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.pilot import Pilot

from claude_session_player.export.drawing import use_shade
from claude_session_player.util.settings import remember_theme
from tests.program import PATIENCE

SCREENS = Path(__file__).parent / "fixtures" / "screens"
SMALL, LARGE = (80, 24), (120, 40)
SIZES = ((60, 16), SMALL, LARGE, (200, 60))
SHADES = {"plain": "terminal", "dark": "nord", "light": "solarized-light"}
"""Which themes the pictures of a window are drawn in, by what the pictures are called."""

each_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
each_shade = pytest.mark.parametrize("shade", SHADES)

IS_LOWEST = "LOWEST" in os.environ
"""On the lowest versions of what the program needs, help texts are wrapped differently."""

Script = Callable[[Pilot[Any]], Awaitable[None]]

_ANSI: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ATTRIBUTES: Final = ("bold", "dim", "italic", "underline", "reverse", "strike")
_SEEN_ON_BLANKS: Final = ("underline", "reverse", "strike")
_PLAIN: Final = "default"
_LETTERS: Final = string.ascii_letters + string.digits


async def _idle(min_sleep: float = 0, max_sleep: float = 0) -> None:
    """Wait until nothing is left to do for the event loop but to wait for timers, files and threads.

    Textual's own waits until the process takes little processor time: at least 20 ms for each key, and too short
    where other processes have the processor.
    """
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    while ready:
        await asyncio.sleep(0)


textual.app.wait_for_idle = textual.pilot.wait_for_idle = _idle  # type: ignore[attr-defined]


def run(app: App[Any], script: Script, size: tuple[int, int] = SMALL) -> None:
    """Run a program on a screen of this size, and do with it what the script does."""

    async def body() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(pilot)

    asyncio.run(body())


async def until(pilot: Pilot[Any], holds: Callable[[], bool]) -> None:
    """Wait until something holds: what threads and the system's notifications bring comes in its own time."""
    try:
        async with asyncio.timeout(PATIENCE):
            await pilot.pause()
            while not holds():
                await pilot.pause(0.01)
    except TimeoutError:
        raise AssertionError(f"what was waited for did not come:\n{text_of(pilot.app)}") from None


async def until_shown(pilot: Pilot[Any], words: str) -> None:
    """Wait for words to appear on the screen."""
    await until(pilot, lambda: words in text_of(pilot.app))


def text_of(app: App[Any]) -> str:
    """What is on the screen, as plain text."""
    return "\n".join("".join(segment.text for segment in row).rstrip() for row in _rows(app)).rstrip()


def picture_of(app: App[Any]) -> str:
    """The screen as rows of text, the same rows with a letter for the style of each cell, and what the letters mean.

    Styles are what a terminal is asked for, so that a new version of Textual or Rich that draws the same in other
    pieces makes the same picture.
    """
    letters = {_PLAIN: "."}
    unused = iter(_LETTERS)
    styles = []
    for row in _rows(app):
        cells = itertools.chain.from_iterable(map(_cells, row))
        styles.append("".join(letters.get(cell) or letters.setdefault(cell, next(unused)) for cell in cells))
    key = [f"{letter}  {style}" for style, letter in letters.items() if letter != "."]
    shown = [line.rstrip(".") for line in styles]
    return "\n".join((*_padded(text_of(app).split("\n"), app.size.height), _rule(app), *shown, _rule(app), *key, ""))


@contextmanager
def drawn_in(shade: str) -> Iterator[None]:
    """Windows that open in here are drawn in the theme of this shade; it is remembered nowhere else."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", folder)
        remember_theme(SHADES[shade])
        try:
            yield
        finally:
            use_shade(None)


def check_picture(app: App[Any], name: str) -> None:
    """Compare the screen with the picture of this name; with `NEW_SCREENS=1`, make it anew."""
    path = SCREENS / f"{name}-{app.size.width}x{app.size.height}.txt"
    drawn = picture_of(app)
    if os.environ.get("NEW_SCREENS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawn, encoding="utf-8")
    expected = path.read_text(encoding="utf-8")
    changes = difflib.unified_diff(expected.splitlines(), drawn.splitlines(), path.name, "drawn", lineterm="", n=1)
    assert expected == drawn, "\n".join(("NEW_SCREENS=1 makes it anew; then look at it", *changes))


def _rows(app: App[Any]) -> list[list[Segment]]:
    strips = app.screen._compositor.render_strips()
    return [list(strip) for strip in strips[: app.size.height]] if app.size.width else []


def _rule(app: App[Any]) -> str:
    return "─" * app.size.width


def _padded(lines: list[str], height: int) -> Iterable[str]:
    return itertools.islice(itertools.chain(lines, itertools.repeat("")), height)


def _cells(segment: Segment) -> Iterable[str]:
    """The style of each cell of a piece of a row."""
    if segment.text.isspace():
        return itertools.repeat(_described(segment.style, is_blank=True), segment.cell_length)
    return itertools.chain.from_iterable(
        itertools.repeat(_described(segment.style, is_blank=sign.isspace()), Segment(sign).cell_length)
        for sign in segment.text
    )


def _described(style: Style | None, is_blank: bool) -> str:
    """A style in words, without what cannot be seen: the colour of a blank, for example."""
    if style is None:
        return _PLAIN
    names = _SEEN_ON_BLANKS if is_blank else _ATTRIBUTES
    words = [name for name in names if getattr(style, name)]
    if not is_blank or words:
        words.append(_colour(style.color))
    if (background := _colour(style.bgcolor)) != _PLAIN:
        words.append(f"on {background}")
    return " ".join(word for word in words if word != _PLAIN) or _PLAIN


def _colour(colour: Color | None) -> str:
    if colour is None or colour.type is ColorType.DEFAULT:
        return _PLAIN
    if colour.number is not None and colour.number < 2 * len(_ANSI):
        return ("bright_" if colour.number >= len(_ANSI) else "") + _ANSI[colour.number % len(_ANSI)]
    return f"colour {colour.number}" if colour.triplet is None else colour.triplet.hex


def svg_text(svg: str) -> str:
    """The words of a picture for the docs, row by row, without blanks: those depend on how a row is cut into pieces."""
    rows: dict[float, list[str]] = {}
    for y, words in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        rows.setdefault(float(y), []).append(html.unescape(words))
    return "\n".join("".join("".join(row).split()) for _, row in sorted(rows.items()))
