"""The player's views: what happened, and what the terminal showed; folding and unfolding."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path
from typing import Any, Final

import pytest
from textual.app import App
from textual.events import Key
from textual.pilot import Pilot

from claude_session_player.export import element_rows
from claude_session_player.export.drawing import Row, markdown_rows
from claude_session_player.models import View
from claude_session_player.player.frame_index import READ_SIZE
from claude_session_player.player.timeline import LinePosition, parse_position
from claude_session_player.tui.jobs import FramesChanged
from claude_session_player.tui.player import PlayerApp, PlayerScreen
from claude_session_player.tui.player_search import HitLines
from tests.builder import SessionBuilder, call, text
from tests.players import Clock, followed, keys, played, recording, to_agent
from tests.screens import LARGE, run, text_of, until

RICH: Final[dict[str, Any]] = {"view": View.rich()}


def test_the_rich_view_is_the_default() -> None:
    app = PlayerApp(lambda: PlayerScreen(recording()))
    seen = []

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("end")
        await pilot.pause()
        seen.append(text_of(app))

    run(app, script, LARGE)
    assert "● Edit  timer.py  +1  −2" in seen[0]
    assert "5 + def steep(minutes, sleep):" in seen[0]


def test_v_switches_to_the_screen_and_back_at_the_same_line() -> None:
    screen = played(keys("end", "v"), size=LARGE, **RICH)
    assert "● Edit(timer.py)" in screen
    assert "screen" in screen
    assert "● Edit  timer.py" in played(keys("end", "v", "v"), size=LARGE, **RICH)


@pytest.mark.parametrize("key", ["v", "h", "m"])
def test_another_view_keeps_the_place_that_was_scrolled_to(key: str) -> None:
    session = SessionBuilder()
    for number in range(60):
        session.prompt(f"Prompt {number}").response(text(f"Response {number}"))

    async def scroll(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await until(pilot, lambda: screen.playback.is_complete)
        await pilot.press("end", *["pageup"] * 3)
        line = screen.pane.scrolled_line
        assert line is not None
        for _ in range(2):
            await pilot.press(key)
            await until(pilot, lambda: screen.playback.is_complete)
            await pilot.pause()
            assert screen.pane.scrolled_line == line
        await pilot.press("end")
        assert screen.pane.scrolled_line is None

    played(scroll, recording(session), **RICH)


def long_session() -> SessionBuilder:
    """A session whose frames take several portions to load."""
    session = SessionBuilder()
    for number in range(900):
        session.prompt(f"Prompt {number} " + "tea " * 300).response(text(f"Response {number}"))
    assert len(session.data()) > 4 * READ_SIZE
    return session


def press_at_once(app: App[Any], *names: str) -> None:
    """Press keys as a terminal does that sends them together: nothing is done between them."""
    for name in names:
        app.post_message(Key(name, name))


@pytest.mark.parametrize("names", [("v", "v"), ("h", "h"), ("v", "h", "v", "h"), ("v", "v", "v")])
@pytest.mark.parametrize("is_scrolled", [False, True])
def test_views_that_change_one_after_the_other_keep_the_place(names: tuple[str, ...], is_scrolled: bool) -> None:
    async def change(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await until(pilot, lambda: screen.playback.is_complete)
        await pilot.press("g", *"1500", "enter")
        await until(pilot, lambda: screen.playback.line == 1500)
        await pilot.press("space", *["pageup"] * (3 if is_scrolled else 0))
        scrolled = screen.pane.scrolled_line
        assert (scrolled is not None) == is_scrolled
        before = screen.playback.frame_index
        press_at_once(pilot.app, *names)
        await until(pilot, lambda: screen.playback.frame_index is not before and screen.playback.is_complete)
        await pilot.pause()
        assert screen.playback.line == 1500
        assert screen.pane.scrolled_line == scrolled

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        played(change, recording(long_session()), **RICH)
        gc.collect()
    assert not [one for one in caught if "never awaited" in str(one.message)]


def test_a_view_that_changes_before_a_position_is_reached_still_leads_there() -> None:
    async def change(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await until(pilot, lambda: screen.playback.is_complete)
        screen.action_view()
        screen.playback.go_to(parse_position("1500"))
        screen.action_view()
        await until(pilot, lambda: screen.playback.is_complete)
        assert screen.playback.line == 1500

    played(change, recording(long_session()), **RICH)


def test_who_goes_elsewhere_while_a_view_loads_stays_there() -> None:
    async def change(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await until(pilot, lambda: screen.playback.is_complete)
        await pilot.press("end", *["pageup"] * 3)
        screen.action_view()
        screen.action_end()
        await until(pilot, lambda: screen.playback.is_complete)
        await pilot.pause()
        assert screen.pane.scrolled_line is None

    played(change, recording(long_session()), **RICH)


def test_a_followed_session_keeps_the_place_that_was_scrolled_to_while_a_view_loads(tmp_path: Path) -> None:
    path = long_session().write(tmp_path / "s.jsonl")

    async def change(pilot: Pilot[Any]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, PlayerScreen)
        await until(pilot, lambda: screen.playback.is_complete)
        await pilot.press(*["pageup"] * 3)
        line = screen.pane.scrolled_line
        assert line is not None
        screen.action_view()
        screen.playback.read_more()
        screen.post_message(FramesChanged())  # slow loading reports what it has so far
        await until(pilot, lambda: screen.playback.is_complete)
        await pilot.pause()
        assert screen.pane.scrolled_line == line

    followed(path, change, **RICH)


@pytest.mark.parametrize(
    ("words", "is_offered"),
    [("Make tea", False), ("Make tea\n" * 60, True), ("tea " * 9000, True)],
)
@pytest.mark.parametrize("is_from_agent", [False, True])
def test_the_footer_offers_to_unfold_what_has_more_to_show(words: str, is_offered: bool, is_from_agent: bool) -> None:
    words = f'<agent-message from="ada">{words}</agent-message>' if is_from_agent else words
    shown = played(keys("end"), recording(SessionBuilder().prompt(words)), **RICH)
    assert ("Enter unfold" in shown) == is_offered


@pytest.mark.parametrize("is_from_agent", [False, True])
def test_the_screen_of_the_terminal_offers_to_unfold_no_prompt(is_from_agent: bool) -> None:
    words = "tea " * 9000
    words = f'<agent-message from="ada">{words}</agent-message>' if is_from_agent else words
    assert "Enter unfold" not in played(keys("end"), recording(SessionBuilder().prompt(words)))


def test_a_prompt_that_is_too_long_by_the_column_of_the_cursor_can_be_unfolded() -> None:
    """The rows are as wide as the pane without the column of the cursor."""
    words = "\n".join([*(f"line {number}" for number in range(24)), "x" * 78])
    shown = played(keys("end", "home"), recording(SessionBuilder().prompt(words)), **RICH)
    assert ("+2 lines" in shown, "Enter unfold" in shown) == (True, True)


def test_a_message_under_the_cursor_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "\n\n".join(f"```py\nx = {number}\n```" for number in range(20))
    session = SessionBuilder().prompt("Go").prompt(f'<agent-message from="ada">{said}</agent-message>')
    drawn: list[str] = []

    def draw(text: str, width: int) -> list[Row]:
        drawn.append(text)
        return markdown_rows(text, width)

    monkeypatch.setattr(element_rows, "markdown_rows", draw)

    async def press(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await keys("end")(pilot, screen)
        assert screen.pane.is_cursor_folded
        drawn.clear()
        await keys("plus", "minus", "r", "r", "up", "down", "end", "end")(pilot, screen)
        for _ in range(3):
            screen.tick()
        assert screen.pane.is_cursor_folded

    played(press, recording(session), **RICH)
    assert drawn == []


@pytest.mark.parametrize("width", range(76, 81))
@pytest.mark.parametrize("is_code", [False, True])
def test_a_hit_in_plain_sight_is_not_said_to_be_out_of_sight(width: int, is_code: bool) -> None:
    words = "alpha " * 11 + "needle haystack " + "omega " * 20
    session = SessionBuilder().prompt(f"{words}\n" * (not is_code) + "line\n" * 40)
    if is_code:
        session.response(text("```\n" + "x" * 70 + "needle haystack\n```"))
    line = 2 if is_code else 1

    async def look(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        assert not screen.pane.is_element_unfolded(line - 1)

    there: dict[str, Any] = {"hits": HitLines(line, (line,), ("needle haystack",)), "start": LinePosition(line)}
    assert "is not shown" not in played(look, recording(session), (width, 24), **there, **RICH)


def test_the_footer_offers_to_unfold_an_edit_that_is_not_done_yet() -> None:
    given = {"file_path": "a.py", "old_string": "", "new_string": "x = 1\n" * 40}
    assert "Enter unfold" in played(
        keys("end"), recording(SessionBuilder().response(call("Edit", "e", **given))), **RICH
    )


def test_e_unfolds_all_and_capital_e_folds_all() -> None:
    folded, unfolded = played(keys("end", *["pageup"] * 3), **RICH), played(keys("end", "e", *["up"] * 4), **RICH)
    assert "test 8 of the kettle passed" not in folded
    assert "test 8 of the kettle passed" in unfolded
    assert "test 8 of the kettle passed" not in played(keys("end", "e", "E", *["up"] * 4), **RICH)


def test_enter_folds_one_of_the_unfolded() -> None:
    up_to_command = ["up"] * 4
    assert "test 8" in played(keys("end", "e", *up_to_command), **RICH)
    assert "test 8" not in played(keys("end", "e", *up_to_command, "enter"), **RICH)


@pytest.mark.parametrize("given", [View.full().as_rich(), View.full().with_queue()], ids=["rich", "screen"])
def test_both_views_have_the_limits_that_were_given(given: View) -> None:
    async def switch(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        names = []
        for _ in range(3):
            view = screen.playback.frame_index.view
            assert (view.result_lines, view.label_width, screen.pane.view.result_lines) == (None, None, None)
            names.append(screen.view_name)
            await pilot.press("v")
            await pilot.pause()
        assert names[0] == names[2] != names[1]

    played(switch, view=given)


def test_a_sub_agent_opens_in_the_present_view() -> None:
    async def step_in(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("v")
        await until(pilot, lambda: screen.playback.is_complete)
        await to_agent(pilot, Clock())
        nested = pilot.app.screen
        assert isinstance(nested, PlayerScreen)
        assert nested is not screen
        assert nested.view_name == screen.view_name == "screen"
        assert nested.playback.frame_index.view.sidechains

    played(step_in, **RICH)


def test_a_match_in_what_is_folded_unfolds_it() -> None:
    assert "test 8 of the kettle" in played(keys("slash", *"test", "space", "8", "enter"), **RICH)
