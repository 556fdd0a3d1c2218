"""Scrolling while a session plays: the view stays where somebody reads, and says what they miss."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from textual.events import MouseScrollDown, MouseScrollUp
from textual.pilot import Pilot

from claude_session_player.tui.player import PlayerScreen
from claude_session_player.tui.widgets.timeline import TimelineBar
from tests.builder import START, SessionBuilder, text
from tests.players import Clock, followed, keys, played, player, recording, screen_of, until
from tests.screens import LARGE, SMALL, check_picture, run, text_of

PROMPTS = 60


def long_session(start: datetime = START) -> SessionBuilder:
    """More prompts than a screen has lines, one a second."""
    session = SessionBuilder(start=start)
    for number in range(1, PROMPTS + 1):
        session.prompt(f"Prompt {number}")
    return session


async def play_on(pilot: Pilot[Any], clock: Clock, frames: int) -> None:
    """Let the player go on by some frames."""
    screen = screen_of(pilot.app)  # type: ignore[arg-type]
    for _ in range(frames):
        clock.now += 1
        screen.tick()
    await pilot.pause()


async def scroll_away(pilot: Pilot[Any], clock: Clock) -> None:
    """Scroll up after 30 prompts, and let 12 more appear."""
    await play_on(pilot, clock, 29)
    await pilot.press("pageup")
    await play_on(pilot, clock, 12)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
def test_scrolling_away_keeps_playing_and_says_how_much_is_new(size: tuple[int, int]) -> None:
    app, clock = player(recording(long_session()))

    async def script(pilot: Pilot[Any]) -> None:
        await play_on(pilot, clock, 29)
        await pilot.press("pageup")
        await pilot.pause()
        before = text_of(app).splitlines()[1:10]
        await play_on(pilot, clock, 12)
        assert "↓ 12 new · End" in text_of(app)
        assert "line 42/60" in text_of(app)
        assert text_of(app).splitlines()[1:10] == before
        assert screen_of(app).player.is_playing
        check_picture(app, "scrolled")

    run(app, script, size)


@pytest.mark.parametrize(
    ("pressed", "shown"),
    [
        (["right"], "❯ Prompt 43"),
        (["left"], "❯ Prompt 41"),
        (["shift+right"], "❯ Prompt 43"),
        (["shift+left"], "❯ Prompt 41"),
        (["end"], "❯ Prompt 42"),
        (["end", "end"], "❯ Prompt 60"),
        (["home"], "❯ Prompt 1\n"),
        (["g", "5", "0", "enter"], "❯ Prompt 50"),
        (["space", "space"], "❯ Prompt 42"),
        (["pagedown"] * 4, "❯ Prompt 42"),
    ],
    ids=" ".join,
)
def test_steps_and_places_return_to_what_is_played(pressed: Sequence[str], shown: str) -> None:
    app, clock = player(recording(long_session()))

    async def script(pilot: Pilot[Any]) -> None:
        await scroll_away(pilot, clock)
        assert f"{shown.strip()}\n" not in text_of(app)
        for key in pressed:
            await pilot.press(key)
        await pilot.pause()
        assert shown in text_of(app)
        assert "· End" not in text_of(app)
        assert "↓ End" not in text_of(app)

    run(app, script)


def test_end_after_scrolling_plays_on() -> None:
    app, clock = player(recording(long_session()))

    async def script(pilot: Pilot[Any]) -> None:
        await scroll_away(pilot, clock)
        await pilot.press("end")
        assert screen_of(app).player.is_playing
        await play_on(pilot, clock, 1)
        assert "❯ Prompt 43" in text_of(app)

    run(app, script)


def test_a_click_on_the_timeline_and_a_search_return_as_well() -> None:
    app, clock = player(recording(long_session()))

    async def script(pilot: Pilot[Any]) -> None:
        await scroll_away(pilot, clock)
        await pilot.click(TimelineBar, offset=(79, 1))
        await until(pilot, "❯ Prompt 60")
        await pilot.press("pageup", "pageup", "slash", *"Prompt", "space", *"7", "enter")
        await until(pilot, "/Prompt 7 1/1")
        assert "↓" not in text_of(app).replace("↑ ↓ cursor", "")

    run(app, script)


def test_a_pause_leaves_the_view_where_somebody_reads() -> None:
    app, clock = player(recording(long_session()))

    async def script(pilot: Pilot[Any]) -> None:
        await scroll_away(pilot, clock)
        before = text_of(app).splitlines()[1:15]
        await pilot.press("space")
        await pilot.pause()
        assert text_of(app).splitlines()[1:15] == before
        assert "❚❚" in text_of(app)
        assert "↓ 12 new · End" in text_of(app)

    run(app, script)


def test_what_was_scrolled_to_is_not_new_any_more() -> None:
    app, clock = player(recording(long_session()))

    async def script(pilot: Pilot[Any]) -> None:
        await scroll_away(pilot, clock)
        await pilot.press("pagedown", "pagedown")
        await until(pilot, "new · End")
        assert 0 < screen_of(app).pane.unseen < 12

    run(app, script)


def test_with_nothing_new_the_hint_names_the_key_alone() -> None:
    shown = played(keys("end", "pageup"), recording(long_session()))
    assert "↓ End" in shown
    assert "new" not in shown


def test_at_the_last_frame_end_returns_to_it() -> None:
    assert "❯ Prompt 60" in played(keys("end", "pageup", "pageup", "end"), recording(long_session()))


def wheel(kind: type[MouseScrollUp | MouseScrollDown], screen: PlayerScreen) -> None:
    """One notch."""
    screen.pane.post_message(kind(screen.pane, 5, 5, 0, 0, 0, False, False, False))


def test_the_wheel_leaves_the_end_and_comes_back_to_it() -> None:
    app, clock = player(recording(long_session()))

    async def script(pilot: Pilot[Any]) -> None:
        await play_on(pilot, clock, 29)
        wheel(MouseScrollUp, screen_of(app))
        await until(pilot, "↓ End")
        await play_on(pilot, clock, 1)
        assert "↓ 1 new · End" in text_of(app)
        for _ in range(2):
            wheel(MouseScrollDown, screen_of(app))
        await until(pilot, "❯ Prompt 31")
        assert "End" not in text_of(app).replace("Home End", "")

    run(app, script)


def test_where_nothing_is_above_the_wheel_leaves_nothing() -> None:
    app, clock = player(recording(long_session()))

    async def script(pilot: Pilot[Any]) -> None:
        wheel(MouseScrollUp, screen_of(app))
        await pilot.press("pageup")
        await play_on(pilot, clock, 29)
        assert "❯ Prompt 30" in text_of(app)

    run(app, script)


def test_the_cursor_stays_in_sight_while_it_plays_on() -> None:
    app, clock = player(recording(long_session()))

    async def script(pilot: Pilot[Any]) -> None:
        await play_on(pilot, clock, 29)
        wheel(MouseScrollUp, screen_of(app))
        await until(pilot, "↓ End")
        await play_on(pilot, clock, 12)
        assert "▌❯ Prompt" in text_of(app)

    run(app, script)


def test_a_compaction_does_not_take_away_what_somebody_reads() -> None:
    session = long_session().compaction().prompt("After it").response(text("And on."))
    app, clock = player(recording(session))

    async def script(pilot: Pilot[Any]) -> None:
        await play_on(pilot, clock, PROMPTS - 1)
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        before = text_of(app).splitlines()[1:15]
        assert "❯ Prompt 40" in text_of(app)
        await play_on(pilot, clock, 8)
        assert text_of(app).splitlines()[1:15] == before
        assert "↓ 2 new · End" in text_of(app)
        await pilot.press("end")
        await until(pilot, "● And on.")
        assert "❯ Prompt 40" not in text_of(app)

    run(app, script)


def test_who_scrolls_down_past_a_compaction_sees_what_came_after_it() -> None:
    app, clock = player(recording(long_session().compaction().prompt("After it")))

    async def script(pilot: Pilot[Any]) -> None:
        await play_on(pilot, clock, PROMPTS - 1)
        await pilot.press("pageup")
        await play_on(pilot, clock, 8)
        assert "❯ After it" not in text_of(app)
        await pilot.press("pagedown", "pagedown")
        await until(pilot, "▌❯ After it")

    run(app, script)


def test_an_element_that_vanishes_above_moves_nothing() -> None:
    session = SessionBuilder().result("early", "A result before its call")
    for number in range(PROMPTS):
        session.prompt(f"Prompt {number}")
    app, clock = player(recording(session))

    async def script(pilot: Pilot[Any]) -> None:
        await play_on(pilot, clock, PROMPTS)
        pane = screen_of(app).pane
        await pilot.press("pageup")
        await pilot.pause()
        before = text_of(app).splitlines()[1:15]
        pane.show(pane.elements[1:])
        await pilot.pause()
        assert text_of(app).splitlines()[1:15] == before

    run(app, script)


# --- sessions that are followed ---------------------------------------------------------------------


def test_end_returns_to_the_present_of_a_followed_session(tmp_path: Path) -> None:
    session = long_session(datetime.now(UTC))
    path = session.write(tmp_path / "s.jsonl")
    session.flush()

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, "❯ Prompt 60")
        await pilot.press("pageup", "pageup")
        with path.open("ab") as file:
            file.write(session.prompt("Prompt 61").prompt("Prompt 62").flush())
        await until(pilot, "↓ 2 new · End")
        assert "❯ Prompt 62" not in text_of(pilot.app)
        await pilot.press("end")
        await until(pilot, "❯ Prompt 62")
        with path.open("ab") as file:
            file.write(session.prompt("Prompt 63").flush())
        await until(pilot, "❯ Prompt 63")
        await pilot.press("left", "pageup", "end")  # one key, from wherever somebody was
        await until(pilot, "❯ Prompt 63")
        await until(pilot, "● live")

    followed(path, script)


def test_a_file_that_is_replaced_is_shown_although_somebody_reads_the_old_one(tmp_path: Path) -> None:
    path = long_session().write(tmp_path / "s.jsonl")

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, "❯ Prompt 60")
        await pilot.press("pageup", "pageup")
        SessionBuilder().prompt("New").write(tmp_path / "new").replace(path)
        await until(pilot, "❯ New")

    followed(path, script)
