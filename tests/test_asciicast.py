"""Recordings of sessions: the format, its times and markers, and what players show."""

from __future__ import annotations

import json
import os
import re
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pexpect
import pytest

from claude_session_player import View
from claude_session_player.export import asciicast
from claude_session_player.export.asciicast import RecordingSetup
from claude_session_player.playback import replay, start_replay
from claude_session_player.player.stream import Timing
from claude_session_player.player.timeline import Pace
from claude_session_player.util.text import mark_controls
from tests import corpus
from tests.builder import SessionBuilder, call, text
from tests.hostile import sessions
from tests.hostile.effort import sample
from tests.hostile.payloads import PAYLOADS
from tests.program import PATIENCE, export_as_is
from tests.recordings import expected_terminal, play_back, record

DEMO = Path(__file__).parents[1] / "claude_session_player" / "data" / "demo.jsonl"


def session() -> SessionBuilder:
    """A session of 6 lines, one second each."""
    builder = SessionBuilder().prompt("Make tea,\nplease").response(text("Gladly."), call("Bash", command="boil"))
    return builder.result("toolu_1", "hot").prompt("Thank you").response(text("It was nothing."))


def at(*seconds: float) -> list[bytes]:
    """Prompts at these seconds."""
    moments = [f"2026-01-17T20:{int(second) // 60:02}:{second % 60:06.3f}Z" for second in seconds]
    lines = [{"type": "user", "timestamp": moment, "message": {"content": "Hi"}} for moment in moments]
    return [json.dumps(line).encode() + b"\n" for line in lines]


def times(lines: list[bytes], **setup: Any) -> list[float]:
    """When markers are set in a recording."""
    return [time for time, _ in record(lines, RecordingSetup(**setup)).of("m")]


def test_the_header_of_version_2_says_how_large_the_terminal_is_and_when_it_began() -> None:
    header = {"version": 2, "width": 100, "height": 30, "env": {"TERM": "xterm-256color"}, "timestamp": 1768681919}
    assert record(session().lines, RecordingSetup(width=100, height=30)).header == header


def test_the_header_of_version_3_describes_the_terminal() -> None:
    recording = record(session().lines, RecordingSetup(version=3))
    term = {"cols": 80, "rows": 24, "type": "xterm-256color"}
    assert recording.header == {"version": 3, "term": term, "timestamp": 1768681919}
    assert recording.events[-1] == (0.0, "x", "0")


def test_the_times_of_version_3_are_those_of_version_2_from_one_event_to_the_next() -> None:
    lines = at(0, 0.001, 1.5, 7, 7, 7.25)
    moment, sums = 0.0, []
    for time, _, _ in record(lines, RecordingSetup(version=3)).events:
        moment += time
        sums.append(round(moment, 6))
    two = record(lines)
    assert sums[:-1] == [time for time, _, _ in two.events]


def test_pauses_are_cut_and_speed_is_applied_afterwards() -> None:
    lines = at(0, 1, 61)
    assert times(lines) == [0.0, 1.0, 3.0]
    assert times(lines, timing=Timing(idle=10, speed=2)) == [0.0, 0.5, 5.5]
    assert times(lines, timing=Timing(idle=None)) == [0.0, 1.0, 61.0]
    assert times(lines, timing=Timing(Pace.REAL)) == [0.0, 1.0, 61.0]
    assert times(lines, timing=Timing(idle=0)) == [0.0, 0.0, 0.0]


def test_a_session_without_times_is_paced() -> None:
    lines = [json.dumps({"type": "user", "message": {"content": "x" * 80}}).encode() + b"\n"] * 3
    assert times(lines) == [0.0, 1.3, 2.6]
    assert "timestamp" not in record(lines).header


def test_a_prompt_is_a_marker_with_its_first_words_and_stands_behind_it() -> None:
    recording = record(session().lines)
    assert recording.of("m") == [(0.0, "Make tea, please"), (4.0, "Thank you")]
    kinds = [(time, kind) for time, kind, _ in recording.events]
    assert kinds[:2] == [(0.0, "o"), (0.0, "m")]


def test_prompts_of_one_line_are_markers_in_their_order() -> None:
    lines = SessionBuilder().prompt("One").prompt("Two").lines
    glued = lines[0].rstrip(b"\n") + lines[1]
    assert [label for _, label in record([glued]).of("m")] == ["One", "Two"]


def test_what_appears_at_one_moment_is_one_event() -> None:
    lines = SessionBuilder().response(*(text(str(n)) for n in range(5)), timestamp="2026-01-17T20:00:00Z").lines
    assert len(record(lines).of("o")) == 1


def test_a_label_holds_nothing_that_a_terminal_obeys() -> None:
    (marker,) = record(SessionBuilder().prompt("\x07Ring " + "x" * 5000).lines).of("m")
    assert marker[1].isprintable()
    assert len(marker[1]) <= 61


def test_a_compaction_clears_the_terminal() -> None:
    lines = session().compaction().response(text("Where were we?")).lines
    assert [row for row in play_back(record(lines)).rows if row] == ["● Where were we?"]
    history = play_back(record(lines, view=View(history=True))).rows
    assert "── compacted (auto, 167503 tokens) ──" in history


def test_a_session_in_which_nothing_is_shown_is_a_recording_of_an_empty_terminal() -> None:
    recording = record([b'{"type":"mode","mode":"plan"}\n'])
    assert not any(play_back(recording).rows)


@pytest.mark.parametrize("view", [View(), View.rich()], ids=["screen", "rich"])
def test_the_screen_at_any_moment_is_that_of_the_replay(view: View) -> None:
    lines = session().lines
    recording = record(lines, RecordingSetup(width=40, height=6), view)
    for second in range(6):
        state = replay(lines, view, until=second + 1)
        assert play_back(recording, second).rows == expected_terminal(state, 40, 6).rows


def test_events_are_written_while_the_session_is_read() -> None:
    state, events = start_replay(at(*range(3000)))
    file = StringIO()
    written: list[int] = []

    def watched() -> Any:
        for event in events:
            written.append(file.tell())
            yield event

    asciicast.write_asciicast(watched(), state, file, RecordingSetup())
    assert written[1500] > 0
    assert written[-1] > written[1500]


@pytest.mark.parametrize("view", [View(), View.rich()], ids=["screen", "rich"])
@pytest.mark.parametrize("path", corpus.session_files()[::8], ids=lambda path: path.name[:20])
def test_real_sessions_end_with_the_screen_of_their_replay(path: Path, view: View) -> None:
    recording = record(path, RecordingSetup(width=100, height=30), view)
    assert play_back(recording).cells == expected_terminal(replay(path, view), 100, 30).cells


_OURS = re.compile(r"\x1b\[(?:\?7[lh]|[0-9;]*m|2K|2J|H|J|[0-9]+[AB])|\r\n|\r")


@pytest.mark.parametrize("payload", sample(list(PAYLOADS), 5))
def test_a_recording_of_the_rich_view_has_nothing_of_a_session_that_a_terminal_obeys(
    tmp_path: Path, payload: str
) -> None:
    path = sessions.write(sessions.everywhere(sessions.records(), PAYLOADS[payload]), tmp_path / "s.jsonl")
    written = "".join(data for _, data in record(path, view=View.rich()).of("o"))
    shown = _OURS.sub("", written)
    assert mark_controls(shown) == shown
    assert not {"\t", "\n"} & set(shown)
    assert not [sequence for sequence in _OURS.findall(written) if "9953" in sequence]
    assert "PWN" in shown


def test_asciinema_plays_it(tmp_path: Path) -> None:
    cast = tmp_path / "demo.cast"
    assert export_as_is(DEMO, "--format", "asciicast", "-o", cast, "--idle", "0.01").returncode == 0
    player = pexpect.spawn(
        sys.executable,
        ["-m", "asciinema", "play", str(cast)],
        timeout=PATIENCE,
        encoding="utf-8",
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    player.setwinsize(24, 80)
    player.expect("tea timer rings too early")
    player.expect("Thank you. The tea is ready.")
    player.expect(pexpect.EOF)
    player.close()
    assert player.exitstatus == 0


def test_a_player_that_is_stopped_between_two_events_leaves_the_terminal_as_it_was() -> None:
    for _, data in record(session().lines).of("o"):
        assert data.startswith("\x1b[?7l")
        assert data.endswith("\x1b[?7h")
        assert "\x1b[?25l" not in data
