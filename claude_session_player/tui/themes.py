"""The themes: the terminal's own colours, and four of Textual's whose palettes colour the session, too."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.color import parse_rgb_hex
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.color import Color
from textual.filter import LineFilter

from claude_session_player.export.drawing import use_shade
from claude_session_player.tui.widgets.rows import terminal_theme
from claude_session_player.util.settings import TERMINAL_THEME, THEMES

if TYPE_CHECKING:
    from textual.app import App


class ThemePalette(NamedTuple):
    """What the sixteen colours of a terminal become in a theme, and its background and foreground."""

    background: str
    foreground: str
    normal: str
    """Black, red, green, yellow, blue, magenta, cyan, white."""
    bright: str

    def to_terminal_theme(self) -> TerminalTheme:
        """The palette as Textual and rich use it."""
        one = parse_rgb_hex
        normal, bright = ([tuple(one(colour)) for colour in line.split()] for line in (self.normal, self.bright))
        return TerminalTheme(tuple(one(self.background)), tuple(one(self.foreground)), normal, bright)  # type: ignore[arg-type]


PALETTES: Final = {
    "nord": ThemePalette(
        "2e3440",
        "d8dee9",
        "3b4252 d57780 a3be8c ebcb8b 81a1c1 b48ead 88c0d0 e5e9f0",
        "7b88a1 d57780 a3be8c ebcb8b 81a1c1 b48ead 8fbcbb eceff4",
    ),
    "gruvbox": ThemePalette(
        "282828",
        "fbf1c7",
        "3c3836 fb4934 b8bb26 fabd2f 83a598 d3869b 8ec07c d5c4a1",
        "928374 fb4934 b8bb26 fabd2f 83a598 d3869b 8ec07c fbf1c7",
    ),
    "catppuccin-mocha": ThemePalette(
        "181825",
        "cdd6f4",
        "45475a f38ba8 a6e3a1 f9e2af 89b4fa cba6f7 89dceb bac2de",
        "7f849c f38ba8 a6e3a1 f9e2af 89b4fa f5c2e7 94e2d5 cdd6f4",
    ),
    "solarized-light": ThemePalette(
        "fdf6e3",
        "586e75",
        "073642 dc322f 6a7a00 9a7300 1f78b8 c02a74 1c837b eee8d5",
        "6f8083 cb4b16 6a7a00 9a7300 1f78b8 6c71c4 1c837b 586e75",
    ),
}
"""Red, green and the other colours of the lighter or darker themes are shifted where text would be hard to read."""


def next_theme(name: str) -> str:
    """The theme after one, in turn.

    >>> next_theme("terminal"), next_theme("solarized-light")
    ('nord', 'terminal')
    """
    return THEMES[(THEMES.index(name) + 1) % len(THEMES)]


class GroundFilter(LineFilter):
    """Draws on the background of a theme what names no colours: rows of a session, tables, the timeline."""

    def __init__(self, foreground: str) -> None:
        super().__init__()
        self._foreground = Color.parse(foreground).rich_color

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments with both colours."""
        ground = Style.from_color(self._foreground, background.rich_color)
        return [
            segment if segment.control else Segment(segment.text, ground + segment.style if segment.style else ground)
            for segment in segments
        ]


def ground_filters(name: str) -> list[LineFilter]:
    """What has to be done first with each row that is drawn in a theme."""
    return [_GROUNDS[name]] if name in _GROUNDS else []


_GROUNDS: Final = {name: GroundFilter(f"#{palette.foreground}") for name, palette in PALETTES.items()}


def apply_theme(app: App[Any], name: str) -> str:
    """Draw a program in a theme; returns its name. Without colours there is only the terminal's own."""
    if name not in PALETTES or os.environ.get("NO_COLOR"):
        app.ansi_color = True
        use_shade(None)
        app.theme = terminal_theme()
        return TERMINAL_THEME
    theme = app.available_themes[name]
    app.ansi_color = False
    palette = PALETTES[name].to_terminal_theme()
    if theme.dark:
        app.ansi_theme_dark = palette
    else:
        app.ansi_theme_light = palette
    use_shade("dark" if theme.dark else "light")
    app.theme = name
    return name
