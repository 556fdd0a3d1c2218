"""Themes: each colours the whole screen, the choice is remembered, and a damaged file of settings does no harm."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from rich.terminal_theme import TerminalTheme
from textual.pilot import Pilot

from claude_session_player.export.drawing import code_theme, use_shade
from claude_session_player.tui.themes import PALETTES, next_theme
from claude_session_player.util.settings import THEMES, remember_theme, remembered_theme, settings_path, using_theme
from tests.builder import SessionBuilder
from tests.players import player, shown_on
from tests.program import csp
from tests.screens import _rows, run

_LEGIBLE = 3.0
"""The contrast of coloured words; that of the text itself is higher."""


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLORFGBG", raising=False)
    path = settings_path()
    assert path is not None
    return Path(path)


# --- settings ---------------------------------------------------------------------------------------------


def test_there_are_as_many_palettes_as_themes_beside_the_terminals_own() -> None:
    assert ("terminal", *PALETTES) == THEMES


def test_a_theme_is_remembered_in_a_private_file(own_settings: Path) -> None:
    assert remembered_theme() == "terminal"
    assert remember_theme("nord")
    assert remembered_theme() == "nord"
    assert stat.S_IMODE(own_settings.stat().st_mode) == 0o600
    assert os.listdir(own_settings.parent) == [own_settings.name]


def test_other_settings_stay_when_a_theme_is_remembered(own_settings: Path) -> None:
    own_settings.parent.mkdir(parents=True)
    own_settings.write_text('{"speed": 4, "theme": "gruvbox"}')
    remember_theme("terminal")
    assert json.loads(own_settings.read_text()) == {"speed": 4, "theme": "terminal"}


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"theme": 7}', '{"theme": "no such"}', '{"theme": []}', "[" * 99_999, "\xff"]
)
def test_damaged_settings_mean_the_default(own_settings: Path, content: str) -> None:
    own_settings.parent.mkdir(parents=True)
    own_settings.write_text(content, encoding="latin-1")
    assert remembered_theme() == "terminal"
    assert remember_theme("nord")
    assert remembered_theme() == "nord"


def test_settings_that_cannot_be_written_hold_for_this_run(own_settings: Path) -> None:
    own_settings.parent.parent.joinpath(own_settings.parent.name).write_text("a file where the directory should be")
    with using_theme("nord"):
        assert remembered_theme() == "nord"
    assert remembered_theme() == "terminal"
    assert not remember_theme("nord")


@pytest.mark.parametrize("name", ["play", "follow", "browse"])
def test_the_option_knows_the_themes(name: str) -> None:
    ran = csp(name, "--theme", "no-such")
    assert ran.returncode == 2
    assert b"solarized-light" in ran.stderr


def test_the_option_is_remembered(own_settings: Path, tmp_path: Path) -> None:
    path = SessionBuilder().prompt("Tea?").write(tmp_path / "tea.jsonl")
    csp("play", path, "--plain", "--idle", "0", "--theme", "gruvbox", XDG_CONFIG_HOME=str(tmp_path))
    assert remembered_theme() == "gruvbox"


# --- what is drawn ----------------------------------------------------------------------------------------


def _is_coloured(app: Any) -> bool:
    """True if every cell has both of its colours from the theme."""
    styles = [segment.style for row in _rows(app) for segment in row if segment.text]
    return all(
        style is not None
        and style.color is not None
        and style.bgcolor is not None
        and style.color.triplet is not None
        and style.bgcolor.triplet is not None
        and not style.dim
        for style in styles
    )


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize("keys", [("end",), ("question_mark",), ("ctrl+p",), ("end", "up", "enter", "slash")])
def test_a_theme_colours_every_cell(name: str, keys: tuple[str, ...]) -> None:
    remember_theme(name)
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press(*keys)
        await pilot.pause()
        assert _is_coloured(app)

    run(app, script, (170, 40))


def test_the_key_goes_through_the_themes_and_back_to_the_terminals_own() -> None:
    app, _ = player()
    seen = []

    async def script(pilot: Pilot[Any]) -> None:
        for _ in THEMES:
            await pilot.press("T")
            await pilot.pause()
            await pilot.pause()
            assert f"Theme: {app.theme_name}" in shown_on(app)
            assert _is_coloured(app) == (app.theme_name != "terminal")
            assert remembered_theme() == app.theme_name
            seen.append(app.theme_name)

    run(app, script)
    assert seen == [*THEMES[1:], "terminal"]


def test_without_colours_there_are_no_themes(monkeypatch: pytest.MonkeyPatch) -> None:
    remember_theme("nord")
    monkeypatch.setenv("NO_COLOR", "1")
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("T")
        await pilot.pause()
        assert app.theme_name == "terminal"
        assert "NO_COLOR is set" in shown_on(app)
        assert all(
            segment.style is None or segment.style.color is None or segment.style.color.is_default
            for row in _rows(app)
            for segment in row
        )

    run(app, script)
    assert remembered_theme() == "nord"


def test_code_is_highlighted_for_the_shade_of_the_theme() -> None:
    try:
        for name, shade in (("solarized-light", "ansi_light"), ("nord", "ansi_dark"), ("terminal", "ansi_dark")):
            remember_theme(name)
            player()
            assert code_theme() == shade
    finally:
        use_shade(None)


def test_every_theme_is_followed_by_another() -> None:
    name, seen = THEMES[0], set()
    for _ in THEMES:
        seen.add(name := next_theme(name))
    assert seen == set(THEMES)


def _contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """The contrast of two colours, as the guidelines for web pages define it."""

    def luminance(colour: tuple[int, int, int]) -> float:
        parts = [part / 255 for part in colour]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("name", PALETTES)
def test_the_colours_of_a_theme_can_be_read_on_its_background(name: str) -> None:
    theme: TerminalTheme = PALETTES[name].to_terminal_theme()
    ground = theme.background_color
    assert _contrast(theme.foreground_color, ground) >= 4.5
    for number in (*range(1, 7), *range(8, 15)):
        assert _contrast(theme.ansi_colors[number], ground) >= _LEGIBLE, number
