"""`play --plain`, as people run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from claude_session_player.cli.play import print_frames
from claude_session_player.models import UserMessage
from claude_session_player.player.stream import TextPiece
from tests.builder import SessionBuilder, call, text
from tests.program import PATIENCE, PROGRAM, csp, export_as_is, on_terminal
from tests.stores import ONE, StoreBuilder

AT_ONCE = ("--idle", "0")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    builder = SessionBuilder().prompt("Make tea").response(call("Bash", command="boil"))
    return builder.result("toolu_1", "hot").compaction().response(text("Here.")).write(tmp_path / "s.jsonl")


TOLD = "❯ Make tea\n\n● Bash(boil)\n  └ hot\n\n── compacted ──\n\n● Here.\n"


def test_what_was_told_can_be_seen_while_the_next_is_waited_for() -> None:
    done: list[object] = []
    pieces = [[TextPiece(UserMessage(word), (word,), False)] for word in ("one", "two", "three")]
    print_frames(
        zip((0.0, 0.0, 1.5), pieces, strict=True),
        lambda shown: done.extend(piece.text for piece in shown),
        lambda: done.append("flush"),
        done.append,
    )
    assert done == ["one", "two", "flush", 1.5, "three", "flush"]


def test_a_pause_of_thousands_of_years_is_slept_by_the_hour() -> None:
    slept: list[float] = []
    print_frames([(2.5 * 3600, [])], lambda shown: None, lambda: None, slept.append)
    assert slept == [3600, 3600, 1800]


@pytest.mark.parametrize("speed", ["0", "1e-300", "0.009", "1001", "1e300"])
def test_a_speed_that_nobody_can_watch_is_refused_in_one_line(speed: str, path: Path) -> None:
    done = csp("play", "--plain", path, "--speed", speed)
    assert f"{speed} is not from 0.01 to 1000" in done.stderr.decode()
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)


def test_a_pipe_gets_everything_that_appeared_in_order(path: Path) -> None:
    done = csp("play", path, *AT_ONCE)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, TOLD, b"")
    assert csp("play", "-", "--plain", *AT_ONCE, stdin=path.read_bytes()).stdout.decode() == TOLD


def test_the_default_is_the_latest_session(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.session(ONE)
    assert csp("play", *AT_ONCE, "--root", store.root).stdout.decode() == "❯ Start the engine\n\n● It runs.\n"


def test_without_a_store_it_is_said_that_there_is_none(tmp_path: Path) -> None:
    assert csp("play", "--root", tmp_path / "none").returncode == 6


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("2", "❯ Make tea\n\n● Bash(boil)\n  └ hot\n\n── compacted ──\n\n● Here.\n"),
        ("3", "❯ Make tea\n\n● Bash(boil)\n  └ hot\n\n── compacted ──\n\n● Here.\n"),
        ("100%", "● Here.\n"),
        ("0:04", "● Here.\n"),
        ("2026-01-17T20:32:03.200Z", "● Here.\n"),
        ("999", "● Here.\n"),
    ],
)
def test_it_begins_with_the_screen_of_a_place(place: str, told: str, path: Path) -> None:
    assert csp("play", path, *AT_ONCE, "--from", place).stdout.decode() == told
    assert csp("play", "-", *AT_ONCE, "--from", place, stdin=path.read_bytes()).stdout.decode() == told


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("1:30", "note: 1:30 is beyond the end: the session plays for 0:04"),
        ("999", "note: line 999 is beyond the end: the session has 5 lines"),
        ("0:01", ""),
        ("5", ""),
    ],
)
def test_a_place_beyond_the_end_is_said_to_be(place: str, says: str, path: Path) -> None:
    assert csp("play", path, *AT_ONCE, "--from", place).stderr.decode().strip() == says
    picture = export_as_is(path, "--format", "svg", "--at", place)
    assert (picture.returncode, picture.stderr.decode().strip()) == (0, says)


def test_a_place_that_is_none_is_refused(path: Path) -> None:
    done = csp("play", path, "--from", "somewhere")
    assert done.returncode == 2
    assert "'somewhere' is not a position" in done.stderr.decode()


def test_a_terminal_gets_colours_and_nothing_that_it_would_obey(tmp_path: Path) -> None:
    path = SessionBuilder().prompt("\x1b[2JMake\x07 tea").response(call("Bash", command="boil")).write(tmp_path / "s")
    output = on_terminal("play", "--plain", path, *AT_ONCE)
    assert "\x1b[1;36m❯\x1b[0m\x1b[1m Make� tea\x1b[0m\n" in output
    assert "\x07" not in output
    assert "\x1b[2J" not in output


def test_a_terminal_without_colour_gets_the_text_alone(path: Path) -> None:
    assert on_terminal("play", "--plain", path, *AT_ONCE, NO_COLOR="1", TERM="dumb") == TOLD


def test_a_session_that_shows_nothing_is_no_failure(tmp_path: Path) -> None:
    done = csp("play", SessionBuilder().line({"type": "mode", "mode": "plan"}).write(tmp_path / "s.jsonl"))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"note: the screen is empty at this point\n"


def test_a_reader_that_leaves_ends_it_quietly(tmp_path: Path) -> None:
    builder = SessionBuilder()
    for number in range(5000):
        builder.prompt(f"Prompt {number} " + "x" * 100)
    path = builder.write(tmp_path / "s.jsonl")
    with subprocess.Popen(
        [*PROGRAM, "play", path, *AT_ONCE], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.wait(PATIENCE), process.stderr.read()) == (0, b"")


def test_it_is_interrupted_while_it_waits(path: Path) -> None:
    arguments = ["-m", "claude_session_player", "play", "--plain", str(path), "--speed", "0.01"]
    environment = {**os.environ, "NO_COLOR": "1"}
    player = pexpect.spawn(sys.executable, arguments, timeout=PATIENCE, encoding="utf-8", env=environment)
    player.expect("Make tea")
    player.sendintr()
    player.expect(pexpect.EOF)
    player.close()
    assert player.exitstatus == 130
