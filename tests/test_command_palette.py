"""The command palette offers every key of the present screen, the speeds and the themes; it does what the keys do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandList
from textual.pilot import Pilot

from claude_session_player.player import SPEEDS
from claude_session_player.tui.commands import KeyPalette, commands_of, key_names
from claude_session_player.tui.keys import BROWSE_HELP, MOTION, PALETTE, PLAYER_KEYS, RUNNING_KEYS, THEME, Key
from claude_session_player.tui.popups import TextPopup
from claude_session_player.util.settings import THEMES, remembered_theme
from tests.players import notice, player, screen_of
from tests.screens import LARGE, check_picture, run, text_of, until

ABOUT_CURSOR = (
    "copy the element at the cursor",
    "open the sub-agent at or above the cursor, or go back",
    "first frame",
)


async def _choose(pilot: Pilot[Any], words: str) -> None:
    """Find a command by its words, and run it."""
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(pilot.app.screen, KeyPalette))
    palette = pilot.app.screen
    await pilot.press(*("space" if sign == " " else sign for sign in words))
    options = palette.query_one(CommandList)
    await until(pilot, lambda: words in str(options.options[0].prompt) if options.option_count else False)
    await pilot.press("enter")
    await until(pilot, lambda: pilot.app.screen is not palette)
    await pilot.pause()


@pytest.mark.parametrize("keys", [PLAYER_KEYS, BROWSE_HELP, RUNNING_KEYS])
def test_every_key_has_a_command(keys: tuple[Key, ...]) -> None:
    for key in keys:
        names = key_names(key)
        assert names
        assert all(pressed in ",".join(key.keys) for _, _, pressed in names)


def test_what_only_moves_the_cursor_or_scrolls_is_no_command() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        names = [command.name for command in commands_of(app.screen)]
        assert not [name for name in names if re.search("scroll|cursor|: e error", name) and name not in ABOUT_CURSOR]

    run(app, script)


@pytest.mark.parametrize("what", [what for _, what in MOTION.second_keys])
def test_what_two_keys_go_to_is_a_command_in_either_direction(what: str) -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(app)
        await pilot.press("space", "home")
        await _choose(pilot, f"next {what}")
        position = screen.player.position
        assert position > 0
        await pilot.press("end")
        await _choose(pilot, f"previous {what}")
        assert position <= screen.player.position < screen.player.count - 1

    run(app, script)


def test_the_palette_offers_every_key_every_speed_and_every_theme() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        names = [command.name for command in commands_of(app.screen)]
        assert len(names) == len(set(names))
        assert {f"theme {theme}" for theme in THEMES} <= set(names)
        assert {f"speed {speed:g}×" for speed in SPEEDS} <= set(names)
        offered = [key for key in PLAYER_KEYS if key is not PALETTE and key.is_command]
        assert {name for key in offered for name, _, _ in key_names(key)} <= set(names)

    run(app, script)


def test_speeds_and_themes_come_after_what_is_done_more_often() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        names = [command.name for command in commands_of(app.screen)]
        kinds = ["theme" if "theme " in name else "speed" if "×" in name else "key" for name in names]
        assert kinds == sorted(kinds, key=["key", "speed", "theme"].index)

    run(app, script)


def test_a_command_does_what_its_key_does() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(app)
        await _choose(pilot, "speed 16")
        assert screen.player.speed == 16
        await _choose(pilot, "last frame")
        assert screen.player.is_at_end
        await _choose(pilot, "show all keys")
        assert isinstance(app.screen, TextPopup)

    run(app, script)


def test_a_theme_can_be_chosen_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await _choose(pilot, "theme gruvbox")
        assert app.theme == remembered_theme() == "gruvbox"
        assert notice(app) == "Theme: gruvbox"
        await _choose(pilot, "copy the element")
        assert notice(app).startswith("Copied ")

    run(app, script)


def test_a_command_chosen_while_something_is_typed_is_not_typed_too() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("slash", "x")
        await _choose(pilot, "show or hide thinking")
        assert screen_of(app).pane.view.thinking
        assert screen_of(app).search_bar.is_typing

    run(app, script)


def test_over_a_popup_only_the_themes_are_offered() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("question_mark")
        assert {command.name for command in commands_of(app.screen)} == {f"theme {theme}" for theme in THEMES}
        assert THEME in PLAYER_KEYS

    run(app, script)


@pytest.mark.parametrize("key", ["c", "question_mark", "ctrl+p"])
def test_keys_that_close_a_popup_twice_close_nothing_below_it(key: str) -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press(key)
        popup = pilot.app.screen
        await until(pilot, lambda: popup.is_mounted)
        popup.dismiss()
        popup.dismiss()
        await pilot.pause()
        assert app.screen is screen_of(app)

    run(app, script)


def test_the_palette_looks_as_it_did() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+p", *"sea")
        await until(pilot, lambda: "including truncated text" in text_of(app) and "speed" not in text_of(app))
        check_picture(app, "palette")

    run(app, script, LARGE)


def test_paging_in_a_palette_without_room_does_nothing() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+p", "pagedown", "pageup", "escape")
        assert app.is_running

    run(app, script, (20, 1))
