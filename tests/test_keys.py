"""Keys are said once: what is bound, what the footer shows, and what the help tells is the same."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.pilot import Pilot

from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.browse import BrowseScreen
from claude_session_player.tui.browse_search import QueryInput
from claude_session_player.tui.footer import MOST_KEYS, FooterState, footer_keys
from claude_session_player.tui.help_screen import HelpScreen, group_keys, help_text
from claude_session_player.tui.keys import (
    BROWSE_HELP,
    BROWSE_KEYS,
    FILTER_KEYS,
    HELP,
    HIT_KEYS,
    PLAYER_KEYS,
    PROMPT_KEYS,
    RUNNING_KEYS,
    SEARCH_KEYS,
    TIMELINE_KEYS,
    Key,
    bindings,
)
from claude_session_player.tui.live import RunningApp
from claude_session_player.tui.player import PlayerScreen
from claude_session_player.tui.widgets.key_bar import KeyBar, key_text, place_keys
from claude_session_player.tui.widgets.session_table import SessionTable
from claude_session_player.tui.widgets.timeline import TimelineBar
from tests.screens import run, text_of

ONE = Key(("a",), ("press('a')",), "a", "word", "about")
ARROWS = Key(("right", "left"), ("press('right')", "press('left')"), "→ ←", "walk", "about")


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
        (TIMELINE_KEYS, TimelineBar, PlayerScreen),
        (RUNNING_KEYS, RunningApp, RunningApp),
    ],
)
def test_every_key_does_something(keys: Sequence[Key], widget: type, screen: type) -> None:
    owners = {"": widget, "screen": screen, "app": TerminalApp}
    for action in actions(keys):
        owner, _, name = action.rpartition(".")
        assert hasattr(owners[owner], f"action_{name}"), action


ALL_TABLES = (BROWSE_KEYS, HIT_KEYS, FILTER_KEYS, SEARCH_KEYS, PLAYER_KEYS, RUNNING_KEYS)
STATES = [FooterState(*flags) for flags in itertools.product((False, True), repeat=len(FooterState._fields))]


def bar_text(keys: Sequence[Key], width: int) -> str:
    bar = Text()
    for key, column in place_keys(keys, width):
        bar.append(" " * (column - bar.cell_len)).append_text(key_text(key))
    return bar.plain


@pytest.mark.parametrize("width", [20, 33, 60, 78, 200])
@pytest.mark.parametrize("keys", [*ALL_TABLES, footer_keys(FooterState(is_playing=True)), PROMPT_KEYS])
def test_the_footer_names_whole_keys_only(keys: Sequence[Key], width: int) -> None:
    shown = bar_text(keys, width)
    assert Text(shown).cell_len <= width
    known = {f"{key.label} {key.word}" for key in keys}
    assert {word for word in map(str.strip, re.split("  +", shown)) if word} <= known
    assert shown.endswith("? all keys") == any(key is HELP or key.word == HELP.word for key in keys)


def test_the_footer_of_the_player_fits_into_eighty_columns_in_every_state() -> None:
    for state in STATES:
        keys = footer_keys(state)
        assert len(keys) <= MOST_KEYS + 1, "beside the one for all keys"
        assert len(place_keys(keys, 78)) >= min(len(keys), MOST_KEYS - 1), bar_text(keys, 200)


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        (FooterState(), "space pause  ⇧→ ⇧← prompt  c chapters  m highlights  / search"),
        (FooterState(is_on_folded=True), "space pause  Enter unfold  ⇧→ ⇧← prompt  c chapters  m highlights"),
        (FooterState(can_go_back=True), "space pause  Esc back  ⇧→ ⇧← prompt  c chapters  m highlights"),
    ],
)
def test_highlights_have_a_place_in_eighty_columns_while_playing(state: FooterState, shown: str) -> None:
    bar = bar_text(footer_keys(state._replace(is_playing=True)), 78)
    assert re.split("   +", bar)[0].removesuffix("  ? all keys") == shown
    assert bar.endswith("  ? all keys")


def test_every_key_of_the_list_is_in_its_help() -> None:
    told = {name for key in BROWSE_HELP for name in key.keys}
    assert {
        name for keys in (BROWSE_KEYS, HIT_KEYS, FILTER_KEYS, SEARCH_KEYS) for key in keys for name in key.keys
    } <= told


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (FooterState(is_playing=True), "space pause|⇧→ ⇧← prompt|c chapters|m highlights|/ search|q quit"),
        (FooterState(), "space play|→ ← frame|c chapters|/ search|q quit"),
        (FooterState(is_at_end=True), "Home start over|→ ← frame|c chapters|/ search|q quit"),
        (FooterState(is_live=True, is_at_end=True), "space pause|⇧→ ⇧← prompt|c chapters|/ search|q quit"),
        (
            FooterState(is_playing=True, is_scrolled=True),
            "space pause|End catch up|⇧→ ⇧← prompt|c chapters|m highlights|/ search",
        ),
        (FooterState(has_search=True), "space play|n N match|Esc end search|→ ← frame|c chapters|/ search"),
        (
            FooterState(is_on_agent=True, is_on_folded=True),
            "space play|s sub-agent|Enter unfold|→ ← frame|c chapters|/ search",
        ),
        (FooterState(is_on_unfolded=True), "space play|Enter fold|→ ← frame|c chapters|/ search|q quit"),
        (FooterState(can_go_back=True), "space play|Esc back|→ ← frame|c chapters|/ search|q quit"),
    ],
)
def test_the_footer_names_the_keys_that_matter_in_a_state(state: FooterState, words: str) -> None:
    *shown, last = (f"{key.label} {key.word}" for key in footer_keys(state))
    assert ("|".join(shown), last) == (words, "? all keys")


def test_a_typing_person_is_told_how_to_end() -> None:
    assert footer_keys(FooterState(is_typing=True, has_search=True)) == PROMPT_KEYS


@pytest.mark.parametrize("keys", [PLAYER_KEYS, BROWSE_HELP, RUNNING_KEYS])
@pytest.mark.parametrize("width", [40, 75, 115, 195])
def test_the_help_has_every_key_under_a_heading(keys: Sequence[Key], width: int) -> None:
    text = help_text(keys, width)
    assert all(line.cell_len <= width for line in text.split("\n"))
    told = " ".join(text.plain.split())
    for group, members in group_keys(keys).items():
        assert group.value in text.plain
        assert all(key.label in told for key in members)
    assert sum(map(len, group_keys(keys).values())) == len(keys)


def test_the_help_has_two_columns_where_they_fit() -> None:
    assert len(help_text(PLAYER_KEYS, 195).split("\n")) < len(help_text(PLAYER_KEYS, 75).split("\n")) * 2 / 3


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200, 320])
def test_the_help_leaves_no_scraps_of_the_screen_beside_it(width: int) -> None:
    app = TerminalApp[None]()

    async def script(pilot: Pilot[Any]) -> None:
        app.push_screen(HelpScreen("Player keys", PLAYER_KEYS))
        await pilot.pause()
        await pilot.pause()
        left = width - app.screen.query_one("#box").outer_size.width
        assert left == 0 or left >= 16

    run(app, script, (width, 24))


class PressedApp(TerminalApp[None]):
    """Counts what its keys do."""

    BINDINGS: ClassVar = bindings([ONE, ARROWS, HELP])

    def __init__(self) -> None:
        super().__init__()
        self.pressed: list[str] = []

    def compose(self) -> ComposeResult:
        """Nothing but the footer."""
        yield KeyBar([ONE, ARROWS, HELP])

    def action_press(self, name: str) -> None:
        """One key."""
        self.pressed.append(name)

    def action_help(self) -> None:
        """The key for all keys."""
        self.pressed.append("help")


def test_a_click_on_a_key_presses_it() -> None:
    app = PressedApp()

    async def script(pilot: Pilot[Any]) -> None:
        assert text_of(app) == " a word  → ← walk                      ? all keys"
        for column in (1, 9, 11, 8, 45):
            await pilot.click(KeyBar, offset=(column, 0))
            await pilot.pause()
        assert app.pressed == ["a", "right", "left", "help"]

    run(app, script, (50, 5))


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
