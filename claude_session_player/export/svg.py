"""One moment of a session as an SVG picture: the last rows of the screen in a terminal frame.

The picture loads nothing, uses the monospace font of whoever looks at it, and follows their light or dark colours.
What a session says is in it as text nodes only, escaped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TextIO

from claude_session_player.export.colour_runs import (
    DARK,
    LIGHT,
    PLAIN,
    ColourRun,
    Palette,
    RunStyle,
    colour_runs,
    run_colours,
)
from claude_session_player.export.terminal_screen import last_rows
from claude_session_player.util.text import mark_controls, printable, truncate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claude_session_player.export.asciicast import RecordingSetup
    from claude_session_player.models import ScreenState

_FONTS: Final = "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
_FONT_SIZE: Final = 14
_COLUMN: Final = 8.43
"""Pixels of a column: most monospace fonts have 0.602 of their size."""
_ROW: Final = 19
_BASELINE: Final = 14
_PADDING: Final = 16
_BAR: Final = 34
_BUTTONS: Final = ("#ff5f57", "#febc2e", "#28c840")
_NOT_XML: Final = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
"""What an XML document must not contain, even escaped."""
_ESCAPES: Final = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&quot;", ord("'"): "&#39;"}


def write_svg(state: ScreenState, file: TextIO, setup: RecordingSetup) -> None:
    """Write the end of the screen as a picture of a terminal of this size."""
    rows = last_rows(state, setup.width, setup.height)
    file.writelines(f"{line}\n" for line in _lines(rows, setup))


def _lines(rows: list[str], setup: RecordingSetup) -> Iterator[str]:
    width = round(setup.width * _COLUMN + 2 * _PADDING)
    height = setup.height * _ROW + _BAR + _PADDING
    title = truncate(printable(setup.title), max(setup.width - 20, 10))
    runs = [[*colour_runs(row)] for row in rows]
    styles = _numbered({run.style for row in runs for run in row})
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' xml:space="preserve" role="img">'
    )
    if title:
        yield f"<title>{_escape(title)}</title>"
    yield f"<style>{_style_sheet(styles)}</style>"
    yield f'<rect class="bar" width="{width}" height="{height}" rx="10"/>'
    yield f'<path class="screen" d="M0 {_BAR}H{width}V{height - 10}a10 10 0 0 1-10 10H10a10 10 0 0 1-10-10Z"/>'
    for number, colour in enumerate(_BUTTONS):
        yield f'<circle cx="{20 + 20 * number}" cy="{_BAR // 2}" r="6" fill="{colour}"/>'
    if title:
        yield f'<text class="title" x="{width // 2}" y="{_BAR // 2 + 5}">{_escape(title)}</text>'
    for number, row in enumerate(runs):
        if row:
            yield "".join(_drawn(run, _BAR + 6 + number * _ROW, styles) for run in row)
    yield (
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="9.5" fill="none" stroke="#888"'
        ' stroke-opacity=".4"/>'
    )
    yield "</svg>"


def _drawn(run: ColourRun, top: int, styles: dict[RunStyle, str]) -> str:
    left = round(_PADDING + run.column * _COLUMN, 2)
    length = round(run.width * _COLUMN, 2)
    name = styles[run.style]
    box = f'<rect class="{name}b" x="{left}" y="{top}" width="{length}" height="{_ROW}"/>' if _has_box(run) else ""
    if not run.text.strip(" "):
        return box
    fit = f' textLength="{length}" lengthAdjust="spacingAndGlyphs"' if len(run.text) > 1 and run.width else ""
    look = f' class="{name}"' if run.style != PLAIN else ""
    return f'{box}<text{look} x="{left}" y="{top + _BASELINE}"{fit}>{_escape(run.text)}</text>'


def _has_box(run: ColourRun) -> bool:
    return run.style.background is not None or run.style.reverse


def _escape(text: str) -> str:
    return _NOT_XML.sub("\ufffd", mark_controls(text)).translate(_ESCAPES)


# --- colours ------------------------------------------------------------------------------------------


def _numbered(styles: Iterable[RunStyle]) -> dict[RunStyle, str]:
    """A class for each style."""
    return {style: f"s{number}" for number, style in enumerate(sorted(styles, key=repr))}


def _style_sheet(styles: dict[RunStyle, str]) -> str:
    shared = (
        f"text{{font:{_FONT_SIZE}px {_FONTS};white-space:pre}}",
        ".title{text-anchor:middle;opacity:.7}",
        *(f".{name}{{{look}}}" for style, name in styles.items() if (look := _look(style))),
    )
    light = f"@media(prefers-color-scheme:light){{{_colours(LIGHT, styles)}}}"
    return "".join((*shared, _colours(DARK, styles), light))


def _look(style: RunStyle) -> str:
    lines = " ".join(
        name for name, is_set in (("underline", style.underline), ("line-through", style.strike)) if is_set
    )
    looks = (
        ("font-weight:bold", style.bold),
        ("font-style:italic", style.italic),
        ("opacity:.65", style.dim),
        (f"text-decoration:{lines}", lines),
    )
    return ";".join(look for look, is_set in looks if is_set)


def _colours(palette: Palette, styles: dict[RunStyle, str]) -> str:
    rules = [f".bar{{fill:{palette.bar}}}.screen{{fill:{palette.background}}}text{{fill:{palette.text}}}"]
    for style, name in styles.items():
        colour, background = run_colours(style, palette)
        if style.colour is not None or style.reverse:
            rules.append(f".{name}{{fill:{colour}}}")
        if background is not None:
            rules.append(f".{name}b{{fill:{background}}}")
    return "".join(rules)
