"""The timeline: what it draws, what it names, where it leads, and how much work that is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rich.cells import cell_len
from textual import events
from textual.pilot import Pilot

from claude_session_player.player.frame_index import Frame, FrameMark
from claude_session_player.player.player import Player
from claude_session_player.player.progress import Lasted
from claude_session_player.player.timeline import Pace, find_cuts
from claude_session_player.tui.player import PlayerScreen
from claude_session_player.tui.widgets import timeline
from claude_session_player.tui.widgets.status import status_text
from claude_session_player.tui.widgets.timeline import TimelineBar
from claude_session_player.tui.widgets.timeline_columns import TimelineColumns, columns_of
from tests.builder import START, SessionBuilder, call, text, timestamp
from tests.players import Script, keys, played, player, recording, screen_of
from tests.screens import SMALL, run, text_of, until


def _at(seconds: float) -> dict[str, Any]:
    """The time of a line, in seconds from the beginning."""
    return {"timestamp": timestamp(1, START + timedelta(seconds=seconds))}


def paused() -> SessionBuilder:
    """A session with a pause of 43 minutes between a response and a prompt."""
    session = SessionBuilder().prompt("Boil the water", **_at(0))
    for number in range(1, 40):
        session.response(text(f"Step {number}"), **_at(number))
    session.prompt("Is it done?", **_at(39 + 43 * 60))
    return session.response(text("It is"), **_at(40 + 43 * 60))


def crowded(agents: int = 5) -> SessionBuilder:
    """A session with sub-agents that work at the same time."""
    session = SessionBuilder().prompt("Look around")
    session.response(*(call("Task", f"t{n}", description=f"Look {n}", subagent_type="Explore") for n in range(agents)))
    for _ in range(20):
        session.response(text("Waiting"))
    for number in range(agents):
        session.result(f"t{number}", "Nothing")
    return session.response(text("Nothing there"))


def _bar(screen: PlayerScreen) -> TimelineBar:
    return screen.query_one(TimelineBar)


def _rows(shown: str) -> list[str]:
    return shown.split("\n")


def _marks_row(shown: str) -> str:
    return next(row for row in _rows(shown) if "─" in row or ("━" in row and "┃" in row))


# --- cuts -------------------------------------------------------------------------------------------------


def test_only_pauses_that_lose_a_minute_are_cuts() -> None:
    assert [cut.frame for cut in find_cuts([0, 61, 62, 4000], [0, 2, 2, 3990])] == [2]


@pytest.mark.parametrize(("pace", "count"), [(Pace.CAPPED, 1), (Pace.REAL, 0), (Pace.PACED, 1)])
def test_each_pace_has_its_own_cuts(pace: Pace, count: int) -> None:
    frames = [Frame(n + 1, time, 80, FrameMark.NONE) for n, time in enumerate((0.0, 1.0, 3601.0, 3602.0))]
    fresh = Player(lambda: 0.0)
    fresh.load(frames[:2])
    fresh.load(frames)
    fresh.set_pace(pace)
    assert len(fresh.cuts) == count
    assert all(cut.frame == 2 for cut in fresh.cuts)


def test_a_cut_is_marked_with_its_length() -> None:
    assert "┄42m┄" in played(keys("space"), recording(paused()))


def test_without_a_limit_for_pauses_nothing_is_cut() -> None:
    assert "┄" not in played(keys("space", "r"), recording(paused()))


def test_playing_across_a_cut_says_how_much_is_left_out() -> None:
    app, clock = player(recording(paused()))

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(app)
        screen.player.seek(39)
        screen.player.play()
        clock.now += 2
        screen.tick()
        await pilot.pause()
        assert "⋯ 42m cut" in text_of(app)
        clock.now += 10
        screen.show_status()
        await pilot.pause()
        assert "cut" not in text_of(app)

    run(app, script)


def test_a_seek_across_a_cut_says_nothing() -> None:
    assert "cut" not in played(keys("end"), recording(paused()))


def _columns(
    marks: dict[int, FrameMark], pauses: dict[int, float], count: int = 50, width: int = 80
) -> TimelineColumns:
    frames, time = [], 0.0
    for number in range(count):
        time += pauses.get(number, 1.0)
        frames.append(Frame(number + 1, time, 10, marks.get(number, FrameMark.NONE)))
    fresh = Player(lambda: 0.0)
    fresh.load(frames)
    return columns_of(frames, fresh.starts, width, fresh.cuts)


def test_no_label_of_a_cut_covers_a_mark_or_another_label() -> None:
    marks = dict.fromkeys(range(0, 50, 3), FrameMark.PROMPT)
    pauses = {number: 60.0 * number + 100 for number in range(0, 50, 2)}
    columns = _columns(marks, pauses)
    assert columns.signs
    assert not any(columns.marks[column] for column in columns.signs)
    assert len(columns.cuts) >= len(columns.signs)


def test_only_the_longest_cuts_are_labelled() -> None:
    columns = _columns({}, {number: 100.0 * number for number in range(2, 200, 4)}, count=200, width=160)
    drawn = "".join(columns.signs.get(column, " ") for column in range(160))
    assert len(drawn.split()) > drawn.count("┄") // 2 > 0
    assert "┄5h29m┄" in drawn
    assert "⋯" in drawn


# --- names ------------------------------------------------------------------------------------------------


def _hover(column: int, row: int) -> Script:
    async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("space")
        await pilot.hover(TimelineBar, offset=(column, row))
        await pilot.pause()

    return script


def test_hovering_over_the_timeline_names_what_is_there() -> None:
    shown = played(_hover(0, 1))
    assert 'line 1  ◆ prompt "The bell of my tea timer rings too early."' in shown
    assert "0:00" in shown


def test_hovering_over_a_cut_names_its_length() -> None:
    async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        bar = _bar(screen)
        column = next(iter(bar._drawn(bar.size.width).cuts))
        await pilot.hover(TimelineBar, offset=(column, 1))
        await pilot.pause()

    assert "⋯ 42m cut" in played(script, recording(paused()))


def test_hovering_over_a_lane_names_the_sub_agent_and_how_long_it_worked() -> None:
    assert "◇ Explore: Look 0  21s" in played(_hover(40, 1), recording(crowded(1)))


def test_when_the_mouse_leaves_the_status_is_back() -> None:
    async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.hover(TimelineBar, offset=(0, 0))
        await pilot.pause()
        assert "❚❚" not in text_of(pilot.app)
        await pilot.press("space")
        await pilot.hover(screen.pane, offset=(3, 3))
        await pilot.pause()

    assert "❚❚ 1×" in played(script)


def test_a_long_name_is_cut_to_one_line_in_a_small_terminal() -> None:
    session = SessionBuilder().prompt("A very long prompt " * 50).response(text("Fine"))
    shown = played(_hover(0, 1), recording(session), size=(60, 16))
    line = next(row for row in _rows(shown) if "◆ prompt" in row)
    assert line.endswith("…")
    assert cell_len(line) == 60
    assert "20:31:59" in line


def test_hovering_decodes_only_the_line_that_is_named() -> None:
    session = SessionBuilder()
    for number in range(2000):
        session.response(call("Bash", f"b{number}", command="ls")).result(f"b{number}", "no", error=number % 7 == 0)

    async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("space")
        index, bar = screen.playback.frame_index, _bar(screen)
        drawn = bar._drawn(bar.size.width)
        for column in (3, 40, 70):
            before = index.lines_decoded
            await pilot.hover(TimelineBar, offset=(column, 0))
            await pilot.pause()
            assert 1 <= index.lines_decoded - before <= 2
            assert bar._drawn(bar.size.width) is drawn

    played(script, recording(session))


def test_the_columns_are_computed_once_while_a_long_session_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(*given: Any) -> TimelineColumns:
        made.append(len(given[0]))
        return columns_of(*given)

    monkeypatch.setattr(timeline, "columns_of", counted)
    frames = [Frame(n + 1, float(n), 10, FrameMark.NONE if n % 9 else FrameMark.PROMPT) for n in range(50_000)]
    fresh = Player(lambda: 0.0)
    fresh.load(frames)
    bar = TimelineBar(fresh)
    bar._frames = frames
    for frame in range(0, 50_000, 500):
        fresh.seek(frame)
        bar._drawn(200)
    assert made == [50_000]


# --- keys -------------------------------------------------------------------------------------------------


def test_tab_moves_over_the_timeline_and_escape_leaves_it() -> None:
    shown = played(keys("space", "tab", "end"))
    assert "line 13  · response: You are welcome." in shown
    assert "Esc leave" in shown
    shown = played(keys("space", "tab", "end", "escape"))
    assert "❚❚ 1×" in shown
    assert "Esc leave" not in shown


def test_arrows_move_by_column_and_shift_moves_by_mark() -> None:
    assert "line 1  " in played(keys("tab", "right"))
    assert "✗ Read failed: no such file" in played(keys("tab", *["shift+right"] * 2))
    assert 'prompt "Thank you."' in played(keys("tab", *["shift+right"] * 9))
    assert "✗ Read failed" in played(keys("tab", "end", "shift+left", "shift+left"))


def test_up_reaches_the_lanes() -> None:
    shown = played(keys("tab", "up", "end", "shift+left"), recording(crowded(1)))
    assert "◇ Explore: Look 0" in shown


def test_enter_goes_to_what_is_pointed_at() -> None:
    shown = played(keys("space", "tab", "end", "shift+left", "enter", "escape"))
    assert "❯ Thank you." in shown
    assert "line 12/13" in shown


def test_other_keys_still_work_on_the_timeline() -> None:
    async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("tab", "space")
        assert not screen.player.is_playing

    played(script)


# --- the mouse --------------------------------------------------------------------------------------------


def _click(column: int, row: int) -> Script:
    async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.click(TimelineBar, offset=(column, row))
        await pilot.hover(screen.pane, offset=(3, 3))
        await pilot.pause()

    return script


@pytest.mark.parametrize("beside", [-1, 0, 1])
def test_a_click_beside_a_mark_goes_to_it(beside: int) -> None:
    async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        bar = _bar(screen)
        drawn = bar._drawn(bar.size.width)
        column = max(n for n, mark in enumerate(drawn.marks) if mark)
        await _click(column + beside, bar.size.height - 1)(pilot, screen)

    assert "line 12/13" in played(script)


def test_a_click_on_a_lane_goes_to_the_call() -> None:
    assert "line 2/" in played(_click(60, 1), recording(crowded(1)))


def test_the_wheel_steps_frames() -> None:
    async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        bar = _bar(screen)
        for kind in (events.MouseScrollDown, events.MouseScrollDown, events.MouseScrollUp):
            bar.post_message(kind(bar, 3, 0, 0, 0, 0, False, False, False))
            await pilot.pause()

    assert "line 2/" in played(script)


def test_dragging_scrubs_and_the_click_at_its_end_does_not_snap() -> None:
    async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        bar = _bar(screen)
        seen = []
        await pilot.mouse_down(TimelineBar, offset=(2, 0))
        for column in (20, 50, 79):
            await pilot.hover(TimelineBar, offset=(column, 0))
            await pilot.pause()
            seen.append(screen.player.position)
        await pilot.mouse_up(TimelineBar, offset=(79, bar.size.height - 1))
        await pilot.pause()
        assert seen == sorted(seen)
        assert seen[0] > 0
        assert seen[-1] == screen.player.position == screen.player.count - 1
        await pilot.hover(TimelineBar, offset=(10, 0))
        await pilot.pause()
        assert screen.player.position == screen.player.count - 1

    played(script)


# --- lanes ------------------------------------------------------------------------------------------------


def _height_in(session: SessionBuilder, size: tuple[int, int]) -> int:
    found = []

    async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.pause()
        found.append(_bar(screen).size.height)

    played(script, recording(session), size)
    return found[0]


def test_lanes_take_rows_only_if_there_are_sub_agents_and_room() -> None:
    assert _height_in(paused(), SMALL) == 2
    assert _height_in(crowded(1), SMALL) == 3
    assert _height_in(crowded(2), SMALL) == 4
    assert _height_in(crowded(9), SMALL) == 5
    assert _height_in(crowded(9), (80, 16)) == 3
    assert _height_in(crowded(9), (80, 10)) == 2


def test_sub_agents_without_a_lane_are_counted_and_named() -> None:
    shown = played(keys("space"), recording(crowded(5)))
    assert "+2" in shown
    column = next(row.index("+2") for row in _rows(shown) if "+2" in row)
    assert "◇ 2 more: Explore: Look 3, Explore: Look 4" in played(_hover(column, 3), recording(crowded(5)))


def test_a_lane_has_the_task_in_place_if_there_is_room() -> None:
    assert "━ Look 0 ━" in played(keys("space"), recording(crowded(1)))


def test_what_a_task_says_cannot_control_the_terminal() -> None:
    session = SessionBuilder().response(call("Task", "t", description="\x1b[2JLook")).response(text("Hm")).result("t")
    assert "\x1b" not in played(_hover(10, 1), recording(session))


# --- the status -------------------------------------------------------------------------------------------


def _status(width: int, **given: Any) -> str:
    times = [0.0, 1.0, 11_520.0, 11_530.0]
    frames = [Frame(n + 1, 1_768_681_919 + time, 80, FrameMark.NONE) for n, time in enumerate(times)]
    fresh = Player(lambda: 0.0)
    fresh.load(frames)
    fresh.set_speed(0.5)
    fresh.step(2)
    return str(status_text(fresh, frames[2], 4000, Lasted(11_520.0, 11_530.0), width=width, **given))


@pytest.mark.parametrize("width", range(20, 201))
@pytest.mark.parametrize("flags", ["", "history thinking match 3/17"])
def test_the_status_fits_and_cuts_no_word(width: int, flags: str) -> None:
    shown, whole = _status(width, flags=flags), _status(999, flags=flags)
    assert cell_len(shown) <= width or shown.count("  ") == 0
    assert set(shown.split()) <= set(whole.split())
    assert shown.startswith("❚❚ 0.5×")


def test_the_status_has_played_time_own_time_and_time_of_day() -> None:
    whole = _status(200)
    assert "0:06 / 0:10" in whole
    assert "3h 12m of 3h 12m" in whole
    assert "line 3/4000" in whole
    assert "20:31:59" in _status_of_day([0.0])
    assert "0:06 / 0:10" in _status(60)
    assert "line 3/4000" in _status(60)


def _status_of_day(times: list[float]) -> str:
    frames = [Frame(n + 1, 1_768_681_919 + time, 80, FrameMark.NONE) for n, time in enumerate(times)]
    fresh = Player(lambda: 0.0)
    fresh.load(frames)
    return str(status_text(fresh, frames[0], 4, Lasted(), width=50))


def test_the_date_is_there_early_if_the_session_has_several_days() -> None:
    assert "2026-01-17" not in _status_of_day([0.0, 1.0])
    assert "2026-01-17" in _status_of_day([0.0, 100_000.0])


def test_a_session_without_pauses_has_one_pair_of_times() -> None:
    assert "s of " not in played(keys("space"))


def test_the_status_follows_the_width_of_the_terminal() -> None:
    app, _ = player(recording(paused()))

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("space")
        await pilot.resize_terminal(50, 24)
        await until(pilot, lambda: "line 1/" in text_of(app) and "s of " not in text_of(app))
        await pilot.resize_terminal(160, 24)
        await until(pilot, lambda: "0s of 43m 40s" in text_of(app))

    run(app, script)
