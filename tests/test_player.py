"""The player, with a clock that the test turns, and without a screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from claude_session_player.errors import BadFilter
from claude_session_player.player.frame_index import Frame, FrameMark
from claude_session_player.player.player import Player
from claude_session_player.player.timeline import (
    SPEEDS,
    ElapsedPosition,
    FractionPosition,
    LinePosition,
    Pace,
    TimePosition,
    parse_position,
)


class Clock:
    """A clock that stands still until somebody turns it."""

    now = 1000.0

    def __call__(self) -> float:
        """What the clock shows."""
        return self.now


def frames(*times: float | None, prompts: tuple[int, ...] = (0,)) -> list[Frame]:
    marks = dict.fromkeys(prompts, FrameMark.PROMPT)
    return [Frame(number + 1, time, 80, marks.get(number, FrameMark.NONE)) for number, time in enumerate(times)]


def loaded(*times: float | None, idle: float | None = 2.0, prompts: tuple[int, ...] = (0,)) -> tuple[Player, Clock]:
    clock = Clock()
    player = Player(clock, idle=idle)
    player.load(frames(*times, prompts=prompts))
    return player, clock


def test_a_new_player_shows_the_first_frame_and_waits() -> None:
    player, clock = loaded(0.0, 1.0)
    clock.now += 100
    assert (player.tick(), player.position, player.seconds_to_next()) == (False, 0, None)


def test_frames_appear_when_they_are_due() -> None:
    player, clock = loaded(0.0, 1.0, 1.5)
    player.play()
    assert player.seconds_to_next() == 1.0
    clock.now += 0.9
    assert not player.tick()
    clock.now += 0.1
    assert player.tick()
    assert (player.position, player.seconds_to_next()) == (1, 0.5)


def test_long_pauses_are_cut_to_the_idle_time() -> None:
    player, _ = loaded(0.0, 3600.0, 3601.0)
    assert (player.total, list(player.starts)) == (3.0, [0.0, 2.0, 3.0])


def test_without_an_idle_time_pauses_are_as_they_were() -> None:
    player, _ = loaded(0.0, 3600.0, idle=None)
    assert player.total == 3600.0


def test_times_that_are_missing_or_go_backwards_are_not_waited_for() -> None:
    player, clock = loaded(5.0, None, 4.0, 6.0)
    player.play()
    assert player.seconds_to_next() == 0.0
    player.tick()
    assert (player.position, player.seconds_to_next()) == (2, 1.0)
    clock.now += 1
    player.tick()
    assert (player.position, player.is_playing) == (3, False)


def test_time_that_has_passed_does_not_pass_again() -> None:
    player, _ = loaded(0.0, 100.0, 0.5, 99.0, 100.0, 101.0, idle=None)
    assert list(player.starts) == [0.0, 100.0, 100.0, 100.0, 100.0, 101.0]
    assert [cut.frame for cut in loaded(0.0, 100.0, 0.5, 99.0, 101.0)[0].cuts] == [1]
    grown, _ = loaded(0.0, 100.0, 0.5)
    grown.load(frames(0.0, 100.0, 0.5, 99.0, 101.0))
    assert list(grown.starts) == [0.0, 2.0, 2.0, 2.0, 3.0]
    assert grown.latest_time == 101.0


def test_the_film_stops_at_its_end_and_begins_again_from_there() -> None:
    player, clock = loaded(0.0, 1.0)
    player.play()
    clock.now += 5
    player.tick()
    assert (player.is_at_end, player.is_playing) == (True, False)
    player.play()
    assert (player.position, player.is_playing) == (0, True)


def test_a_film_that_may_grow_does_not_stop_at_its_last_frame() -> None:
    player, clock = loaded(0.0, 1.0)
    player.is_growing = True
    player.play()
    clock.now += 5
    player.tick()
    assert (player.position, player.is_playing) == (1, True)
    player.load(frames(0.0, 1.0, 2.0))
    player.tick()
    assert player.position == 2


def test_a_computer_that_slept_goes_on_where_it_was() -> None:
    player, clock = loaded(*(float(second) for second in range(100)))
    player.play()
    clock.now += 3600
    player.tick()
    assert player.position <= 2


def test_speed_divides_the_time_that_is_waited() -> None:
    player, _ = loaded(0.0, 2.0)
    player.play()
    player.set_speed(4.0)
    assert player.seconds_to_next() == 0.5


def test_the_part_of_a_wait_that_is_over_stays_over_when_the_speed_changes() -> None:
    player, clock = loaded(0.0, 2.0)
    player.play()
    clock.now += 1.5
    player.set_speed(2.0)
    assert player.seconds_to_next() == pytest.approx(0.25)
    player.set_speed(1.0)
    assert player.seconds_to_next() == pytest.approx(0.5)
    clock.now += 0.4
    assert not player.tick()
    clock.now += 0.2
    assert player.tick()


def test_the_part_of_a_wait_that_is_over_stays_over_when_the_pace_changes() -> None:
    player, clock = loaded(0.0, 3600.0)
    player.play()
    clock.now += 1
    player.set_pace(Pace.REAL)
    assert player.seconds_to_next() == pytest.approx(1800.0)
    player.set_pace(Pace.CAPPED)
    assert player.seconds_to_next() == pytest.approx(1.0)


def test_a_frame_that_was_due_before_the_speed_changes_is_shown_at_its_time() -> None:
    player, clock = loaded(0.0, 1.0, 3.0)
    player.play()
    clock.now += 1.5
    player.set_speed(0.5)
    assert (player.position, player.seconds_to_next()) == (1, 3.0)


def test_a_paused_player_waits_from_when_it_goes_on_whatever_the_speed_was_before() -> None:
    player, clock = loaded(0.0, 2.0)
    clock.now += 100
    player.set_speed(2.0)
    player.play()
    assert player.seconds_to_next() == 1.0


def test_at_the_end_of_a_film_that_grows_speed_changes_no_more_than_what_comes() -> None:
    player, clock = loaded(0.0, 1.0)
    player.is_growing = True
    player.seek(1)
    player.play()
    clock.now += 5
    player.set_speed(2.0)
    player.load(frames(0.0, 1.0, 2.0))
    assert player.seconds_to_next() == 0.5


def test_whoever_looks_elsewhere_in_a_live_film_stays_there() -> None:
    player, _ = loaded(0.0, 1.0)
    player.is_growing = True
    player.end()
    player.seek(0)
    player.load(frames(0.0, 1.0, 2.0))
    assert (player.position, player.is_live) == (0, False)


def test_a_film_that_begins_anew_knows_no_time_of_the_one_before() -> None:
    player, _ = loaded(0.0, 1.0)
    player.restart()
    player.load(frames(1.5, 2.0))
    assert (list(player.starts), player.chapters) == ([0.0, 0.5], [0])


def test_a_change_of_speed_leaves_real_time() -> None:
    player, _ = loaded(0.0, 3600.0)
    player.set_pace(Pace.REAL)
    player.change_speed(+1)
    assert (player.pace, player.speed) == (Pace.CAPPED, 2.0)
    player.set_pace(Pace.PACED)
    player.change_speed(+1)
    assert (player.pace, player.speed) == (Pace.PACED, 4.0)


def test_speed_is_changed_by_steps_from_a_quarter_to_64() -> None:
    player, _ = loaded(0.0)
    player.change_speed(-20)
    assert player.speed == 0.25
    player.change_speed(+1)
    assert player.speed == 0.5
    player.change_speed(+20)
    assert player.speed == 64.0 == SPEEDS[-1]


def test_real_time_has_all_pauses_at_normal_speed() -> None:
    player, _ = loaded(0.0, 3600.0)
    player.set_speed(8.0)
    player.set_pace(Pace.REAL)
    player.play()
    assert (player.seconds_to_next(), player.speed) == (3600.0, 1.0)


def test_a_paced_film_takes_time_for_what_appears_whatever_the_session_says() -> None:
    player, _ = loaded(None, None, None)
    assert (player.total, player.has_times) == (0.0, False)
    player.set_pace(Pace.PACED)
    assert player.total == pytest.approx(2 * 1.3)


def test_steps_pause_the_player_and_stay_within_the_film() -> None:
    player, _ = loaded(0.0, 1.0, 2.0)
    player.play()
    player.step(+1)
    assert (player.position, player.is_playing) == (1, False)
    player.step(+9)
    assert player.position == 2
    player.step(-9)
    assert player.position == 0


def test_chapters_are_prompts_and_a_player_that_plays_goes_on() -> None:
    player, _ = loaded(*map(float, range(6)), prompts=(0, 3))
    player.play()
    assert player.chapter(+1)
    assert (player.position, player.is_playing) == (3, True)
    assert not player.chapter(+1)
    assert player.chapter(-1)
    assert player.position == 0


def test_a_place_is_found_by_time_by_part_and_by_moment() -> None:
    player, _ = loaded(100.0, 101.0, 102.0, 104.0)
    player.seek_elapsed(1.5)
    assert player.position == 1
    player.seek_fraction(1.0)
    assert player.position == 3
    player.seek_time(102.5)
    assert player.position == 2
    player.seek_time(0.0)
    assert player.position == 0


def test_in_a_film_without_time_a_part_is_one_of_its_frames() -> None:
    player, _ = loaded(None, None, None, None, None)
    player.seek_fraction(0.5)
    assert player.position == 2


def test_a_live_player_goes_to_each_new_frame_until_somebody_looks_elsewhere() -> None:
    player, _ = loaded(0.0, 1.0)
    player.is_growing = True
    player.end()
    player.load(frames(0.0, 1.0, 2.0))
    assert player.position == 2
    player.step(-1)
    player.load(frames(0.0, 1.0, 2.0, 3.0))
    assert player.position == 1


def test_the_end_of_a_film_that_cannot_grow_is_just_its_last_frame() -> None:
    player, _ = loaded(0.0, 1.0)
    player.end()
    assert (player.position, player.is_live) == (1, False)


def test_a_player_without_frames_does_nothing() -> None:
    player, _ = loaded()
    for act in (player.play, player.tick, player.end, player.toggle, lambda: player.step(1)):
        act()
    player.seek_fraction(0.5)
    player.seek_time(1.0)
    assert (player.position, player.is_playing, player.total, player.elapsed) == (-1, False, 0.0, 0.0)


_TIMES = st.lists(st.one_of(st.none(), st.floats(0, 100)), max_size=20)


@given(_TIMES, st.integers(0, 20))
def test_it_does_not_matter_in_how_many_portions_a_film_is_loaded(times: list[float | None], cut: int) -> None:
    whole, _ = loaded(*times)
    parts, _ = loaded(*times[:cut])
    parts.load(frames(*times))
    for pace in Pace:
        whole.set_pace(pace)
        parts.set_pace(pace)
        assert list(whole.starts) == list(parts.starts)
    assert whole.chapters == parts.chapters


@given(_TIMES, st.lists(st.tuples(st.integers(0, 5), st.floats(0, 5))))
def test_whatever_is_done_the_position_is_in_the_film(times: list[float | None], acts: list[tuple[int, float]]) -> None:
    player, clock = loaded(*times)
    deeds: list[Callable[[float], object]] = [
        lambda amount: player.toggle(),
        lambda amount: player.tick(),
        lambda amount: player.step(round(amount) - 2),
        player.seek_fraction,
        lambda amount: player.set_pace(list(Pace)[round(amount) % 3]),
        lambda amount: player.end(),
    ]
    for number, amount in acts:
        clock.now += amount
        deeds[number](amount)
        assert -1 <= player.position < max(player.count, 1)
        assert player.position >= 0 or not times


@pytest.mark.parametrize(
    "text", ["", "soon", "50 percent", "-3", "1:2:3:4", "101%", "9:99", "9" * 400 + ":00:00", "1:" + "9" * 5000 + ":00"]
)
def test_what_is_no_place_is_answered_with_what_is_one(text: str) -> None:
    with pytest.raises(BadFilter, match="is not a position; use line"):
        parse_position(text)


@pytest.mark.parametrize("digits", [1, 12, 13, 400, 5000])
@pytest.mark.parametrize(
    "shape", ["{}", "{}%", "{}:00", "{}:00:00", "1:{}:00", "1:{}", "50.{}%", "1:30.{}", "{}-01-01"]
)
def test_a_place_of_any_number_of_digits_can_be_gone_to_or_is_refused(shape: str, digits: int) -> None:
    player, _ = loaded(0.0, 1.0)
    try:
        place = parse_position(shape.format("9" * digits))
    except BadFilter:
        return
    deeds = {
        LinePosition: player.seek,
        FractionPosition: player.seek_fraction,
        ElapsedPosition: player.seek_elapsed,
        TimePosition: player.seek_time,
    }
    deeds[type(place)](*place)
    assert 0 <= player.position <= 1
