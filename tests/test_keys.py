"""Keys are said once: what is bound, what the footer shows, and what the help tells is the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.binding import Binding
from textual.pilot import Pilot

from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.browse import BrowseScreen
from claude_session_player.tui.browse_search import QueryInput
from claude_session_player.tui.keys import (
    BROWSE_HELP,
    BROWSE_KEYS,
    FILTER_KEYS,
    HIT_KEYS,
    PLAYER_KEYS,
    RUNNING_KEYS,
    SEARCH_KEYS,
    Key,
    KeyBar,
    bindings,
    footer_keys,
    footer_lines,
)
from claude_session_player.tui.live import RunningApp
from claude_session_player.tui.player import PlayerScreen
from claude_session_player.tui.popups import HelpScreen
from claude_session_player.tui.widgets.session_table import SessionTable
from tests.screens import run, text_of

ONE, TWO = (Key((name,), ("none",), name, "word", "about") for name in "ab")


def actions(keys: Sequence[Key]) -> list[str]:
    return [binding.action.partition("(")[0] for binding in Binding.make_bindings(bindings(keys))]


@pytest.mark.parametrize(
    ("keys", "widget", "screen"),
    [
        (BROWSE_KEYS, SessionTable, BrowseScreen),
        (HIT_KEYS, SessionTable, BrowseScreen),
        (FILTER_KEYS, QueryInput, BrowseScreen),
        (SEARCH_KEYS, QueryInput, BrowseScreen),
        (PLAYER_KEYS, PlayerScreen, PlayerScreen),
        (RUNNING_KEYS, RunningApp, RunningApp),
    ],
)
def test_every_key_does_something(keys: Sequence[Key], widget: type, screen: type) -> None:
    owners = {"": widget, "screen": screen, "app": TerminalApp}
    for action in actions(keys):
        owner, _, name = action.rpartition(".")
        assert hasattr(owners[owner], f"action_{name}"), action


@pytest.mark.parametrize(
    ("keys", "lines"), [(BROWSE_KEYS, 3), (HIT_KEYS, 3), (FILTER_KEYS, 1), (SEARCH_KEYS, 1), (PLAYER_KEYS, 3)]
)
def test_the_footer_has_a_place_for_all_keys(keys: Sequence[Key], lines: int) -> None:
    footer = footer_lines(keys, 80)
    assert len(footer) == lines
    assert all(line.cell_len <= 80 for line in footer)
    shown = "  ".join(line.plain for line in footer)
    assert shown == "  ".join(f"{key.label} {key.word}" for key in keys)


def test_every_key_of_the_list_is_in_its_help() -> None:
    told = {name for key in BROWSE_HELP for name in key.keys}
    assert {
        name for keys in (BROWSE_KEYS, HIT_KEYS, FILTER_KEYS, SEARCH_KEYS) for key in keys for name in key.keys
    } <= told


@pytest.mark.parametrize("has_search", [False, True])
@pytest.mark.parametrize("can_go_back", [False, True])
def test_the_footer_of_the_player_has_three_lines_whatever_escape_does(has_search: bool, can_go_back: bool) -> None:
    assert len(footer_lines(footer_keys(has_search=has_search, can_go_back=can_go_back), 80)) == 3


def test_the_footer_keeps_its_height_when_other_keys_are_shown() -> None:
    class App(TerminalApp[None]):
        def compose(self) -> ComposeResult:
            yield KeyBar([ONE, TWO], [TWO])

    async def script(pilot: Pilot[Any]) -> None:
        bar = pilot.app.query_one(KeyBar)
        assert text_of(pilot.app) == "a word\nb word"
        bar.show([TWO])
        await pilot.pause()
        assert text_of(pilot.app) == "b word"
        assert bar.size.height == 2

    run(App(), script, (10, 5))


def test_a_help_that_is_longer_than_the_terminal_can_be_scrolled() -> None:
    async def script(pilot: Pilot[Any]) -> None:
        pilot.app.push_screen(HelpScreen("Keys", PLAYER_KEYS, "and more"))
        await pilot.pause()
        assert "and more" not in text_of(pilot.app)
        pilot.app.screen.query_one("#box").scroll_end(animate=False)
        await pilot.pause()
        assert "and more" in text_of(pilot.app)
        await pilot.press("escape")
        assert len(pilot.app.screen_stack) == 1

    run(TerminalApp(), script, (60, 8))
