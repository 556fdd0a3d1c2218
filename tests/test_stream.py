"""The stream of a session: its frames and their delays, in one pass."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from claude_session_player import View
from claude_session_player.playback import start_replay
from claude_session_player.player.stream import Timing, fit_timing, stream_frames, text_frames
from claude_session_player.player.timeline import Pace
from tests.builder import SessionBuilder, call, text
from tests.test_frame_index import RECORDS, build_index, lines_of, prompt


@given(st.lists(RECORDS, max_size=40), st.booleans())
def test_its_frames_are_those_of_its_film(records: list[Any], history: bool) -> None:
    lines, view = lines_of(*records), View(history=history)
    state, events = start_replay(lines, view)
    assert list(stream_frames(events, state)) == build_index(lines, view).frames


def test_two_records_on_one_line_are_one_frame() -> None:
    glued = json.dumps(prompt("a")).encode() + json.dumps(prompt("b")).encode() + b"\n"
    state, events = start_replay([glued, *lines_of(prompt("c"))])
    calls: list[int] = []
    frames = list(stream_frames(events, state, lambda: calls.append(len(state.elements))))
    assert [frame.line for frame in frames] == [1, 2]
    assert calls == [1, 2, 3]


def test_no_more_is_read_than_was_asked_for() -> None:
    state, events = start_replay(SessionBuilder().prompt("a").prompt("b").prompt("c").prompt("d").lines)
    timed = Timing().with_delays(stream_frames(events, state), lambda frame: frame)
    next(timed)
    assert [element.line for element in state.elements] == [1]


def test_only_a_session_without_any_time_is_paced() -> None:
    without = lines_of(prompt("a"), prompt("b"))
    assert fit_timing(start_replay(without)[1], Timing())[1].pace is Pace.PACED
    assert fit_timing(start_replay(without)[1], Timing(idle=0))[1].pace is Pace.CAPPED
    mixed = [*without, *SessionBuilder().prompt("c").lines]
    events, timing = fit_timing(start_replay(mixed)[1], Timing())
    assert timing.pace is Pace.CAPPED
    assert len(list(events)) == 3


def told(builder: SessionBuilder, timing: Timing | None = None, start: int = 0) -> list[tuple[float, str]]:
    state, events = start_replay(builder.lines)
    frames = text_frames(events, state, timing or Timing(), start)
    return [(wait, "".join(piece.lines for piece in pieces)) for wait, pieces in frames]


def test_a_result_is_told_when_it_arrives_and_progress_is_not() -> None:
    builder = SessionBuilder().prompt("Go").response(call("Bash", command="ls")).progress("bash_progress", "toolu_1")
    builder.result("toolu_1", "done").response(text("There."))
    assert told(builder) == [
        (0.0, "❯ Go\n"),
        (1.0, "\n● Bash(ls)\n"),
        (2.0, "  └ done\n"),
        (1.0, "\n● There.\n"),
    ]


def test_what_is_not_told_adds_no_pause_longer_than_the_longest() -> None:
    builder = SessionBuilder().response(call("Bash", command="ls"))
    for number in range(60):
        builder.progress("bash_progress", "toolu_1", fullOutput=str(number))
    assert told(builder.result("toolu_1"))[-1] == (2.0, "  └ ok\n")
    assert told(builder, Timing(idle=None, speed=2))[1][0] == 30.5


def test_from_a_line_on_the_whole_screen_is_told_first() -> None:
    builder = SessionBuilder().prompt("one").prompt("two").prompt("three")
    assert told(builder, start=2) == [(0.0, "❯ one\n\n❯ two\n"), (1.0, "\n❯ three\n")]
