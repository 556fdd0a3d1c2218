"""Highlights: only prompts, responses, edits and errors are played."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from textual.pilot import Pilot

from claude_session_player.models import AssistantText, Note, SystemOutput, ThinkingIndicator, ToolCall, UserMessage
from claude_session_player.player import highlights as player_highlights
from claude_session_player.player.frame_index import Frame, FrameMark
from claude_session_player.player.highlights import LONGEST, HighlightFilter, has_highlight, is_highlight
from claude_session_player.player.player import Player
from claude_session_player.player.timeline import Pace
from tests.players import keys, notice, played, player, screen_of
from tests.screens import run, text_of
from tests.test_player import Clock

FRAMES = st.lists(
    st.builds(
        Frame,
        st.integers(1, 9),
        st.none() | st.floats(0, 100),
        st.integers(0, 1000),
        st.sampled_from((FrameMark.NONE, FrameMark.AGENT, FrameMark.PROMPT, FrameMark.RESPONSE, FrameMark.ERROR)),
    ),
    min_size=1,
    max_size=30,
)


def highlighting(frames: list[Frame]) -> tuple[Player, Clock]:
    clock = Clock()
    player = Player(clock)
    player.load(frames)
    player.set_highlights(True)
    return player, clock


@given(FRAMES, st.lists(st.integers(-3, 3).filter(bool), max_size=10))
def test_steps_lead_to_highlights_only(frames: list[Frame], steps: list[int]) -> None:
    player, _ = highlighting(frames)
    for step in steps:
        before = player.position
        player.step(step)
        assert player.position == before or has_highlight(frames[player.position])
        assert (player.position - before) * step >= 0


@given(FRAMES)
def test_steps_forward_visit_every_highlight(frames: list[Frame]) -> None:
    player, _ = highlighting(frames)
    visited = {player.position}
    for _ in frames:
        player.step(1)
        visited.add(player.position)
    assert sorted(at for at in visited if has_highlight(frames[at])) == player.highlights


@given(FRAMES, st.integers(0, 29))
def test_the_total_is_the_sum_of_the_delays_and_every_frame_has_its_moment(frames: list[Frame], cut: int) -> None:
    whole, _ = highlighting(frames)
    assert whole.total == pytest.approx(sum(whole._delay(number) for number in range(whole.count)))
    assert list(whole.starts) == sorted(whole.starts)
    assert len(whole.starts) == len(frames)
    assert whole.total <= LONGEST + 1e-6
    parts = Player(Clock())
    parts.set_highlights(True)
    parts.load(frames[:cut])
    parts.load(frames)
    assert list(parts.starts) == pytest.approx(list(whole.starts))


@given(FRAMES, st.integers(0, 29), st.sampled_from(list(Pace)))
def test_switching_on_and_off_keeps_the_position_and_the_pace(frames: list[Frame], at: int, pace: Pace) -> None:
    player = Player(Clock())
    player.load(frames)
    if pace is not Pace.HIGHLIGHTS:
        player.set_pace(pace)
    player.seek(at)
    before = player.position, player.pace
    player.set_highlights(True)
    assert (player.position, player.pace) == (before[0], Pace.HIGHLIGHTS)
    player.set_highlights(False)
    assert (player.position, player.pace) == before


@given(FRAMES)
def test_while_they_are_played_the_player_rests_at_highlights(frames: list[Frame]) -> None:
    player, clock = highlighting(frames)
    player.play()
    player.tick()
    for _ in frames:
        if player.is_at_end:
            break
        assert has_highlight(frames[player.position])
        clock.now += player.seconds_to_next() or 0.0
        player.tick()
    assert player.is_at_end


def many(count: int) -> list[Frame]:
    return [Frame(number + 1, 3.0 * number, 400, FrameMark.RESPONSE) for number in range(count)]


def test_many_highlights_are_sped_up_to_three_minutes_and_few_are_not() -> None:
    assert highlighting(many(3600))[0].total == pytest.approx(LONGEST)
    assert highlighting(many(11))[0].total == pytest.approx(50)
    assert Player(Clock()).total == 0


def test_the_speed_changes_highlights_and_another_pace_ends_them() -> None:
    player, _ = highlighting(many(3))
    player.play()
    player.set_speed(2.0)
    assert (player.pace, player.seconds_to_next()) == (Pace.HIGHLIGHTS, 2.5)
    player.set_pace(Pace.REAL)
    assert not player.has_highlights_only


def test_seeking_goes_to_the_highlight_that_is_shown_then() -> None:
    silence = Frame(1, None, 80, FrameMark.NONE)
    said = Frame(2, None, 80, FrameMark.RESPONSE)
    player, _ = highlighting([silence, said, silence, silence, said, silence])
    player.seek_fraction(0.4)
    assert player.position == 1
    player.seek_fraction(1.0)
    assert player.position == 4


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (UserMessage(), True),
        (AssistantText(), True),
        (ThinkingIndicator(), False),
        (ToolCall("Bash"), False),
        (ToolCall("Bash", is_error=True), True),
        (ToolCall("Edit", input={"file_path": "/a"}), True),
        (ToolCall("Read", input={"file_path": "/a"}), False),
        (Note(), False),
        (Note(is_error=True), True),
        (SystemOutput(), False),
        (SystemOutput(is_error=True), True),
    ],
)
def test_prompts_responses_edits_and_errors_are_highlights(element: Any, expected: bool) -> None:
    assert is_highlight(element) is expected


ELEMENTS = [UserMessage(), AssistantText(), ToolCall("Bash"), ToolCall("Bash", is_error=True), Note(), ToolCall("Read")]


@given(st.lists(st.lists(st.sampled_from(ELEMENTS), max_size=8), max_size=8))
def test_the_highlights_of_a_screen_are_those_among_its_elements(screens: list[list[Any]]) -> None:
    highlights = HighlightFilter()
    for elements in screens:
        assert [id(one) for one in highlights.of(elements)] == [id(one) for one in elements if is_highlight(one)]


def test_only_elements_that_are_new_are_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    examined = []

    def counted(element: Any) -> bool:
        examined.append(element)
        return is_highlight(element)

    monkeypatch.setattr(player_highlights, "is_highlight", counted)
    highlights = HighlightFilter()
    elements: list[Any] = [ToolCall("Bash") for _ in range(1000)]
    highlights.of(elements)
    elements[500] = ToolCall("Bash", is_error=True)
    elements.append(Note(is_error=True))
    assert len(highlights.of(elements)) == 2
    assert len(examined) == 1002


def test_a_motion_in_highlights_goes_only_to_what_they_show() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("space", "home", "m", "right_square_bracket", "a")
        await pilot.pause()
        assert screen_of(app).player.position == 0
        assert notice(app) == "No later sub-agent in highlights."
        await pilot.press("right_square_bracket", "e")
        assert screen_of(app).player.position > 0

    run(app, script)


# --- in the player --------------------------------------------------------------------------------------


def test_m_shows_highlights_only_and_m_again_everything() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        screen = screen_of(app)
        await pilot.press("end", "m")
        await pilot.pause()
        line = screen.playback.frame
        shown = text_of(app)
        assert "pytest" not in shown
        assert "Run the tests" not in shown
        assert "Read(cup.py)" in shown  # it failed
        assert "Thank you." in shown
        await pilot.press("left", "left")
        await pilot.pause()
        assert screen.playback.frame is not None
        assert has_highlight(screen.playback.frame)
        await pilot.press("end", "m")
        await pilot.pause()
        assert screen.playback.frame == line
        assert "Run the tests" in text_of(app)

    run(app, script, (120, 60))


def test_the_status_says_highlights() -> None:
    assert "highlights" in played(keys("m"), size=(120, 24)).partition("pause")[0]
