"""The player's window: keys go in, and the screen says what they did. The clock is the test's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from claude_session_player.errors import CannotRead
from claude_session_player.models import UserMessage, View
from claude_session_player.player.frame_index import Frame, FrameMark
from claude_session_player.player.player import Player
from claude_session_player.player.recording import MemorySource, Recording
from claude_session_player.player.timeline import FractionPosition, LinePosition, parse_position
from claude_session_player.tui.copying import MOST_CHARACTERS
from claude_session_player.tui.jobs import FramesChanged
from claude_session_player.tui.player import PlayerScreen
from claude_session_player.tui.player_search import HitLines
from claude_session_player.tui.widgets.timeline import TimelineBar
from claude_session_player.util.times import using_zone
from tests.builder import SessionBuilder, call, text
from tests.players import (
    Clock,
    keys,
    notice,
    played,
    player,
    recording,
    screen_of,
    shown_on,
    teapot,
    to_agent,
)
from tests.screens import LARGE, SMALL, check_picture, run, text_of, until as until_true

# --- pictures -------------------------------------------------------------------------------------------


async def _playing(pilot: Pilot[Any], clock: Clock) -> None:
    for _ in range(4):
        clock.now += 1
        screen_of(pilot.app).tick()  # type: ignore[arg-type]
        await pilot.pause()


def _press(*names: str) -> Callable[[Pilot[Any], Clock], Awaitable[None]]:
    async def script(pilot: Pilot[Any], clock: Clock) -> None:
        await pilot.press(*names)
        await pilot.pause()

    return script


async def _search(pilot: Pilot[Any], clock: Clock) -> None:
    await pilot.press("slash", *"kettle", "enter")
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


PICTURES = {
    "playing": _playing,
    "paused": _press("space", "right", "right"),
    "unfolded-diff": _press("g", *"5", "enter", "enter"),
    "help": _press("question_mark"),
    "search": _search,
    "sub-agent": to_agent,
    "thinking": _press("end", "t", "home", "right", "right"),
}


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
@pytest.mark.parametrize("name", PICTURES)
def test_the_player_looks_as_it_did(name: str, size: tuple[int, int]) -> None:
    app, clock = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        await PICTURES[name](pilot, clock)
        players = [screen for screen in app.screen_stack if isinstance(screen, PlayerScreen)]
        await until_true(pilot, lambda: all(screen.costs.curve is not None for screen in players))
        await pilot.pause()
        check_picture(app, name)

    run(app, script, size)


# --- what keys do -----------------------------------------------------------------------------------------


def test_it_begins_to_play_with_the_first_frame() -> None:
    shown = played(keys())
    assert "❯ The bell of my tea timer rings too early." in shown
    assert "▶ 1×  0:00 / 0:" in shown


def test_frames_appear_as_time_goes_by() -> None:
    app, clock = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        assert "✱ Thinking…" not in text_of(app)
        clock.now += 1
        screen_of(app).tick()
        await pilot.pause()
        assert "✱ Thinking…" in text_of(app)

    run(app, script)


def test_space_pauses_and_goes_on() -> None:
    assert "❚❚ 1×" in played(keys("space"))
    assert "▶ 1×" in played(keys("space", "space"))


def test_arrows_go_to_the_next_and_the_previous_frame() -> None:
    assert "line 3/" in played(keys("right", "right"))
    assert "line 2/" in played(keys("right", "right", "left"))


def test_shift_and_arrows_go_to_prompts() -> None:
    assert "❯ Thank you." in played(keys("shift+right"))
    assert "line 1/" in played(keys("shift+right", "shift+left"))
    assert "No later prompt." in played(keys("shift+right", "shift+right"))


@pytest.mark.parametrize(
    ("key", "speed"), [("1", "0.25×"), ("3", "1×"), ("9", "64×"), ("plus", "2×"), ("minus", "0.5×")]
)
def test_keys_change_the_speed(key: str, speed: str) -> None:
    assert f"▶ {speed}  " in played(keys(key))


def test_real_time_and_pace_are_switched_on_and_off() -> None:
    assert "▶ real time  " in played(keys("r"))
    assert "▶ paced 1×  " in played(keys("p"))
    assert "▶ 1×  " in played(keys("p", "p"))


def test_home_and_end_go_to_the_first_and_the_last_frame() -> None:
    assert "● You are welcome." in played(keys("end"))
    assert "line 1/" in played(keys("end", "home"))


@pytest.mark.parametrize(
    ("typed", "line"), [("6", 6), ("100%", 13), ("0:04", 5), ("2026-01-17 20:32:03", 4), ("99999", 13)]
)
def test_g_goes_to_a_line_a_part_a_time_or_a_moment(typed: str, line: int) -> None:
    names = {" ": "space", "%": "percent_sign", ":": "colon", "-": "minus"}
    assert f"line {line}/" in played(keys("g", *(names.get(sign, sign) for sign in typed), "enter"))


def test_g_says_what_can_be_typed_where_it_is_something_else() -> None:
    assert "'soon' is not a position" in played(keys("g", *"soon", "enter"), size=LARGE)


def test_who_gives_up_a_question_is_where_they_were() -> None:
    assert "line 1/" in played(keys("g", "5", "escape"))


def test_a_search_finds_what_is_cut_off_and_shows_it() -> None:
    async def search(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("slash", *"test", "space", *"8", "enter")
        await pilot.app.workers.wait_for_complete()

    shown = played(search)
    assert "test 8 of the kettle passed" in shown
    assert "/test 8 1/1" in shown


def test_n_goes_round_the_hits() -> None:
    async def search(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("slash", *"minutes", "enter")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        await pilot.press("n")
        assert screen.player.position == 2
        await pilot.press("N")

    assert "1/1" in played(search)


def test_what_is_nowhere_is_said_to_be_nowhere() -> None:
    async def search(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("slash", *"coffee", "enter")
        await pilot.app.workers.wait_for_complete()

    assert "No match for 'coffee'." in played(search)


@pytest.mark.parametrize("words", ["Crunched for", "Searching: short", "Thinking", "Read(cup"])
def test_whatever_the_screen_shows_is_found(words: str) -> None:
    session = teapot().response(call("WebSearch", "w", query="poems")).progress("query_update", "w", query="short")
    session.system("turn_duration", durationMs=184_000)

    async def search(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        screen.search_bar.start(words)
        await pilot.app.workers.wait_for_complete()

    assert "No match" not in played(search, recording(session))


def test_what_was_said_is_taken_back_when_something_else_is_asked_for() -> None:
    async def search(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        for words in ("coffee", "minutes"):
            await pilot.press("slash", *(["end", "shift+home", "delete"]), *words, "enter")
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()

    shown = played(search)
    assert "No match" not in shown
    assert "/minutes 1/1" in shown


def test_escape_forgets_a_search() -> None:
    async def search(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("slash", *"minutes", "enter")
        await pilot.app.workers.wait_for_complete()
        await pilot.press("escape")

    assert "/minutes" not in played(search)


def test_t_shows_thoughts() -> None:
    assert "It must be the unit." in played(keys("right", "t"))
    assert "It must be the unit." not in played(keys("right", "t", "t"))


def test_enter_shows_the_whole_result_of_the_call_at_the_cursor_and_folds_it_again() -> None:
    at_result = keys("g", "7", "enter", "enter")
    assert "test 8 of the kettle passed" in played(at_result)
    assert "test 8 of the kettle passed" not in played(keys("g", "7", "enter", "enter", "enter"))


def test_enter_on_a_thought_shows_it() -> None:
    assert "It must be the unit." in played(keys("right", "enter"))


def test_s_steps_into_a_sub_agent_and_back() -> None:
    async def in_and_out(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await to_agent(pilot, Clock())
        assert "A tea timer › Find the temperature" in text_of(pilot.app)
        assert "● Between 70 and 80 degrees." in text_of(pilot.app)
        await pilot.press("s")

    assert "● You are welcome." in played(in_and_out)


def test_the_own_time_in_the_status_is_that_of_summary_and_never_goes_back() -> None:
    session = SessionBuilder()
    for time in ("20:00:00", "08:00:00", "08:05:00", "20:00:10", "09:00:00", "20:10:00"):
        session.prompt(f"At {time}", timestamp=f"2026-01-17T{time}.000Z")
    session.line({"type": "system", "subtype": "away_summary", "timestamp": "2026-01-17T20:20:00.000Z"})

    async def step(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await until_true(pilot, lambda: screen.playback.is_complete)
        await pilot.press("space", "home")
        for so_far in ("0s", "12h", "12h", "12h", "12h", "12h 20m"):
            assert f"  {so_far} of 12h 20m" in text_of(pilot.app)
            await pilot.press("right")

    played(step, recording(session), LARGE)


@pytest.mark.parametrize(
    ("place", "speed", "says"),
    [
        ("1:30:00", "3", "1:30:00 is beyond the end: the session plays for 0:12."),
        ("0:13", "4", "0:13 is beyond the end: at 1× the session plays for 0:12."),
        ("9000", "3", "Line 9000 is beyond the end: the session has 13 lines."),
        ("2026-02-01T00:00Z", "3", "2026-02-01 00:00:00 is beyond the end: the session ends at 2026-01-17 20:32:11."),
        ("0:12", "3", ""),
        ("13", "3", ""),
        ("2026-01-17T20:32:11.197Z", "3", ""),
    ],
)
@pytest.mark.parametrize("is_start", [False, True])
def test_a_position_beyond_the_end_is_said_to_be(place: str, speed: str, says: str, is_start: bool) -> None:
    async def go(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await until_true(pilot, lambda: screen.playback.is_complete)
        await pilot.pause()
        if not is_start:
            await pilot.press("space", speed, "g", *place, "enter")
            await pilot.pause()
        expected = says.replace("at 1× ", "") if is_start else says
        assert notice(pilot.app) == expected
        assert screen.player.position == screen.player.count - 1

    with using_zone(UTC):
        played(go, start=parse_position(place) if is_start else None)


@pytest.mark.parametrize("is_playing", [False, True])
def test_a_sub_agent_is_played_if_its_caller_was(is_playing: bool) -> None:
    async def step_in(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await until_true(pilot, lambda: screen.playback.is_complete)
        screen.player.seek(screen.player.count - 3)
        screen.show_here()
        assert screen.player.is_playing
        await pilot.press(*([] if is_playing else ["space"]), "s")
        await until_true(pilot, lambda: pilot.app.screen is not screen and pilot.app.screen.is_mounted)
        nested = pilot.app.screen
        assert isinstance(nested, PlayerScreen)
        await until_true(pilot, lambda: nested.playback.is_complete)
        assert nested.player.is_playing == is_playing
        assert nested.player.position == 0

    played(step_in)


def test_escape_leads_back_from_a_sub_agent_and_q_out_of_all() -> None:
    app, clock = player()

    async def out(pilot: Pilot[Any]) -> None:
        first = screen_of(app)
        await to_agent(pilot, clock)
        assert "Esc back" in text_of(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is first
        await to_agent(pilot, clock)
        await pilot.press("q")
        await pilot.pause()
        assert app._exit

    run(app, out)
    assert app.return_code == 0


def test_the_footer_names_escape_only_where_it_does_something() -> None:
    async def look(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        assert "Esc" not in text_of(pilot.app)
        await pilot.press("slash")
        await pilot.pause()
        assert "Enter go  Esc cancel" in text_of(pilot.app)
        assert "q quit" not in text_of(pilot.app)  # it is a letter now
        await pilot.press(*"minutes", "enter")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert "Esc end search" in text_of(pilot.app)
        await pilot.press("escape")
        await pilot.pause()
        assert "Esc" not in text_of(pilot.app)
        await pilot.press("escape")

    shown = played(look)
    assert "Nothing to go back to; press q to quit." in shown
    assert "q quit" in shown


def test_a_search_in_a_sub_agent_ends_before_the_sub_agent_is_left() -> None:
    async def search(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await to_agent(pilot, Clock())
        await pilot.press("slash", *"degrees", "enter")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert "› Find the temperature" in text_of(pilot.app)
        assert "Esc back" in text_of(pilot.app)
        await pilot.press("escape")
        await pilot.pause()
        assert pilot.app.screen is screen

    played(search)


def test_q_quits_from_the_help() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("question_mark", "q")
        await pilot.pause()
        assert app._exit

    run(app, script)


def test_in_a_sub_agent_its_name_is_seen_however_long_that_of_its_caller_is() -> None:
    async def step_in(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await to_agent(pilot, Clock())

    assert "› Find the temperature" in played(step_in, replace(recording(), title="A long title " * 20))


def test_a_sub_agent_of_which_nothing_is_known_is_said_to_be_unknown() -> None:
    async def step_in(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("end", "s")
        await pilot.app.workers.wait_for_complete()

    assert "Only the result of this sub-agent was recorded." in played(
        step_in, replace(recording(), find_subagents=dict)
    )


def test_any_call_that_started_a_sub_agent_can_be_stepped_into() -> None:
    session = SessionBuilder().prompt("Plan it").response(call("DelegateToAgent", "t", mode="plan")).result("t", "On")

    async def step_in(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await to_agent(pilot, Clock())

    assert "› Find the temperature" in played(step_in, recording(session.response(call("Bash", "b")).result("b")))


def test_a_store_that_cannot_be_read_is_said_and_the_player_goes_on() -> None:
    def refuse() -> dict[str, list[Recording]]:
        raise CannotRead("the store is gone")

    async def step_in(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("end", "s")
        await pilot.app.workers.wait_for_complete()

    assert "the store is gone" in played(step_in, replace(recording(), find_subagents=refuse))


def test_h_keeps_what_was_before_a_compaction_at_the_same_place() -> None:
    session = SessionBuilder().prompt("Before").compaction().prompt("After")

    async def toggled(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("end")
        assert "❯ Before" not in text_of(pilot.app)
        await pilot.press("h")
        await pilot.app.workers.wait_for_complete()

    shown = played(toggled, recording(session))
    assert "❯ Before" in shown
    assert "compacted" in shown
    assert "❯ After" in shown
    assert "history" in shown


def test_y_copies_all_of_the_element_at_the_cursor() -> None:
    async def copy(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("g", "7", "enter", "y")
        assert pilot.app.clipboard.startswith("$ pytest\ntest 0 of the kettle passed\n")
        assert pilot.app.clipboard.endswith("test 8 of the kettle passed")

    assert "Copied " in played(copy)


def test_y_copies_the_diff_of_an_edit() -> None:
    async def copy(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("g", "5", "enter", "y")
        assert "\n-def steep(minutes):\n" in pilot.app.clipboard
        assert "\n+def steep(minutes, sleep):" in pilot.app.clipboard

    played(copy)


def test_y_copies_an_output_that_is_stored_elsewhere() -> None:
    async def copy(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("g", "7", "enter", "y")
        assert pilot.app.clipboard == "$ pytest\nthe whole output"

    played(copy, replace(recording(), resolve=lambda text: "the whole output"))


def test_y_copies_no_more_than_a_clipboard_should_hold_and_says_so() -> None:
    async def copy(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("g", "7", "enter", "y")
        assert len(pilot.app.clipboard) == MOST_CHARACTERS

    shown = played(copy, replace(recording(), resolve=lambda text: "x" * 1_234_567), size=LARGE)
    assert "Copied only the first 1,000,000 of 1,234,576 characters." in shown


def test_y_says_why_what_cannot_be_read_any_more_is_not_copied() -> None:
    async def copy(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("g", "7", "enter")
        await pilot.pause()

        def refuse(offset: int, size: int) -> bytes:
            raise CannotRead("the disk is gone")

        screen.playback.frame_index.source.read = refuse  # type: ignore[method-assign]
        await pilot.press("y")
        assert pilot.app.clipboard == ""

    assert "the disk is gone" in played(copy)


def test_a_click_on_the_timeline_seeks() -> None:
    async def click(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.click(TimelineBar, offset=(79, 1))

    assert "100%" in played(click)


def test_the_wheel_scrolls_and_a_click_moves_the_cursor() -> None:
    async def use_the_mouse(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("end", "pageup", "pageup")
        await pilot.click(screen.pane, offset=(5, 0))

    assert "▌❯ The bell" in played(use_the_mouse)


def test_the_cursor_does_not_stay_behind_when_somebody_scrolls() -> None:
    shown = played(keys("end", "pageup", "pageup", "y"))
    assert "❯ The bell" in shown
    assert "▌" in shown


def test_who_scrolls_back_to_the_end_goes_on_with_it() -> None:
    async def scroll(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("end", "pageup", "pageup", "pagedown", "pagedown", "pagedown")
        screen.pane.show([*screen.pane.elements, UserMessage("More")])

    assert "▌❯ More" in played(scroll)


def test_a_search_that_was_faster_than_the_film_is_decided_when_the_film_is_over() -> None:
    async def search(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        screen.playback.is_complete = False
        screen.search_bar.start("coffee")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert "No match" not in shown_on(pilot.app)
        await pilot.press("n")
        assert "so far." in shown_on(pilot.app)
        screen.playback.finish()
        screen.post_message(FramesChanged())

    assert "No match for 'coffee'." in played(search)


def test_a_mark_far_behind_the_rest_is_on_the_timeline_at_once() -> None:
    frames = [Frame(number + 1, float(number), 1, FrameMark.NONE) for number in range(1000)]
    player_of_frames = Player(lambda: 0.0, idle=None)
    player_of_frames.is_growing = True
    player_of_frames.load(frames)
    bar = TimelineBar(player_of_frames)
    bar._frames = frames
    bar._drawn(80)
    frames.append(Frame(1001, 9000.0, 1, FrameMark.PROMPT))
    player_of_frames.load(frames)
    drawn = bar._drawn(80)
    assert drawn.marks[-1] == FrameMark.PROMPT
    assert sum(1 for height in drawn.heights if height) < 15


def test_a_film_that_begins_at_its_end_does_not_play() -> None:
    assert "■ 1×" in played(keys(), start=FractionPosition(1.0))


def test_what_a_running_tool_reports_is_there_when_it_is_unfolded() -> None:
    session = SessionBuilder().response(call("WebSearch", "w", query="poems"))
    session.progress("query_update", "w", query="short poems")
    assert "Searching: short poems" in played(keys("end", "enter"), recording(session))


def test_who_goes_elsewhere_is_not_pulled_to_a_place_that_was_asked_for_before() -> None:
    async def go(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        screen.player.is_growing, screen.playback.is_complete = True, False
        screen.playback.go_to(FractionPosition(0.5))
        await pilot.press("home")
        screen.playback.finish()

    assert "line 1/" in played(go)


def test_s_pressed_twice_steps_in_once() -> None:
    """The first look-up ends after the player has stepped in and back: its answer is dropped."""
    made = recording()
    asked, late, answered = threading.Event(), threading.Event(), threading.Event()

    def find_subagents() -> dict[str, list[Recording]]:
        if not asked.is_set():
            asked.set()
            late.wait()
            answered.set()
        return made.find_subagents()

    async def step_in(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        try:
            await pilot.press("end", "s")
            await until_true(pilot, asked.is_set)
            await pilot.press("s")
            await until_true(pilot, lambda: pilot.app.screen is not screen and pilot.app.screen.is_mounted)
            await pilot.press("escape")
            await until_true(pilot, lambda: pilot.app.screen is screen)
        finally:
            late.set()  # the app waits for all threads when it ends
        await until_true(pilot, answered.is_set)
        await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        await pilot.pause()
        assert pilot.app.screen is screen

    played(step_in, replace(made, find_subagents=find_subagents))


def test_there_is_one_question_at_a_time() -> None:
    async def ask_twice(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("g", "7")
        await pilot.click(screen.pane)
        await pilot.press("g")
        await pilot.pause()
        assert len(screen.search_bar.query(Input)) == 1

    played(ask_twice)


def test_a_file_that_cannot_be_read_any_more_does_not_end_the_player() -> None:
    class Broken(MemorySource):
        is_broken = False

        def read(self, offset: int, size: int) -> bytes:
            if self.is_broken:
                raise CannotRead("the disk is gone")
            return super().read(offset, size)

    tape = Broken(teapot().lines)

    async def break_it(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        tape.is_broken = True
        await pilot.press("end", "enter", "slash", *"tea", "enter", "home", "h")

    assert "the disk is gone" in played(break_it, replace(recording(), open_source=lambda: tape))


# --- hits of a search of the stores -----------------------------------------------------------------------

HITS = HitLines(3, (1, 3, 8), ("kettle", "tea"))


async def _lines_at(pilot: Pilot[Any], screen: PlayerScreen, *names: str) -> list[int]:
    """The lines at which the player is after each of some keys."""
    lines = []
    for name in names:
        await pilot.press(name)
        await pilot.pause()
        assert screen.playback.frame is not None
        lines.append(screen.playback.frame.line)
    return lines


def test_n_goes_through_the_hits_with_which_the_player_was_opened() -> None:
    async def step(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await until_true(pilot, lambda: screen.playback.is_complete)
        assert await _lines_at(pilot, screen, "n", "n", "n", "N") == [3, 8, 1, 8]
        assert not screen.player.is_playing

    shown = played(step, hits=HITS)
    assert "hit 3/3" in shown
    assert "Esc end search" not in shown


def test_the_truncated_text_of_a_hit_is_unfolded() -> None:
    async def step(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await until_true(pilot, lambda: screen.playback.is_complete)
        await pilot.press("n")

    assert "test 8 of the kettle passed" in played(step, hits=HitLines(7, (7,), ("test 8",)))


def test_a_player_that_is_opened_at_a_hit_waits_there_with_the_hit_in_sight() -> None:
    summary = "This session is being continued.\n\n" + "\n".join(f"{number}. Step" for number in range(60)) + " tea"
    session = SessionBuilder().prompt("Go").response(text("Gone.")).compaction()
    session.prompt(summary, isCompactSummary=True).prompt("On").response(text("Came."))
    options = {"view": View.rich(), "hits": HitLines(4, (4,), ("tea",)), "start": LinePosition(4)}
    app, clock = player(recording(session), **options)

    async def script(pilot: Pilot[Any]) -> None:
        await until_true(pilot, lambda: "59. Step tea" in text_of(app))
        clock.now += 1000
        screen_of(app).tick()
        await pilot.pause()
        assert screen_of(app).playback.line == 4
        assert "hit 1/1" in text_of(app)
        await pilot.press("space")
        clock.now += 1000
        screen_of(app).tick()
        await until_true(pilot, lambda: "Came." in text_of(app))

    run(app, script)


def test_a_hit_in_what_is_not_shown_is_said_to_be_there() -> None:
    session = SessionBuilder().prompt("Go").attachment("file", filename="tea.txt", content="kettle")
    session.response(text("Gone."))
    assert "is not shown" in played(keys(), recording(session), hits=HitLines(2, (2,), ("kettle",)))


def test_a_search_in_the_player_takes_the_place_of_the_hits_until_it_ends() -> None:
    async def step(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("slash", *"welcome", "enter")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert "/welcome 1/1" in shown_on(pilot.app)
        assert screen.pane.needles == ("welcome",)
        await pilot.press("escape")
        await pilot.pause()
        assert "hit -/3" in shown_on(pilot.app)
        assert screen.pane.needles == HITS.words
        assert await _lines_at(pilot, screen, "N") == [8]

    played(step, hits=HITS)


def test_a_line_that_changes_nothing_counts_for_the_frame_before_it_and_frames_count_once() -> None:
    session = SessionBuilder().prompt("One").attachment("file", filename="/x").prompt("Two").prompt("Three")

    async def step(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await until_true(pilot, lambda: screen.playback.is_complete)
        assert await _lines_at(pilot, screen, "n", "n") == [4, 1]

    assert "hit 1/2" in played(step, recording(session), hits=HitLines(1, (1, 2, 4, 99), ()))


def test_hits_stay_when_messages_before_compactions_are_included() -> None:
    session = SessionBuilder().prompt("One").compaction().prompt("Two").prompt("Three")

    async def step(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("h")
        await until_true(pilot, lambda: screen.playback.is_complete)
        await pilot.press("home", "n")

    assert "hit 2/2" in played(step, recording(session), hits=HitLines(1, (1, 4), ()))


def test_a_session_without_anything_to_see_has_no_hits() -> None:
    async def step(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await until_true(pilot, lambda: screen.playback.is_complete)
        await pilot.press("n", "N")

    session = SessionBuilder().attachment("file", filename="/x")
    assert "No hit." in played(step, recording(session), hits=HitLines(1, (1,), ()))
