"""Replaying a session to its end, to a line, to a moment."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from claude_session_player import View, parser, replay
from claude_session_player.format.events import Event, decode
from claude_session_player.util.times import parse_time
from tests.builder import SessionBuilder, call, text, timestamp


def conversation() -> SessionBuilder:
    """Five lines, one second apart."""
    session = SessionBuilder().prompt("one").response(call("Bash", "a")).progress("bash_progress", "a", fullOutput="…")
    return session.result("a", "out").response(text("two"))


@pytest.mark.parametrize(
    ("line", "screen"),
    [
        (0, ""),
        (1, "❯ one"),
        (2, "❯ one\n\n● Bash(…)"),
        (3, "❯ one\n\n● Bash(…)\n  └ …"),
        (4, "❯ one\n\n● Bash(…)\n  └ out"),
        (5, "❯ one\n\n● Bash(…)\n  └ out\n\n● two"),
        (99, "❯ one\n\n● Bash(…)\n  └ out\n\n● two"),
    ],
)
def test_until_gives_the_screen_as_it_was_after_a_line(line: int, screen: str) -> None:
    assert replay(conversation().lines, until=line).to_markdown() == screen


@pytest.mark.parametrize("line", range(1, 6))
def test_at_the_time_of_a_line_is_the_screen_after_that_line(line: int) -> None:
    lines = conversation().lines
    at = parse_time(timestamp(line))
    assert replay(lines, at=at).to_markdown() == replay(lines, until=line).to_markdown()


def test_before_the_first_line_the_screen_is_empty() -> None:
    assert replay(conversation().lines, at=parse_time("2020-01-01")).to_markdown() == ""


def test_a_moment_has_passed_as_soon_as_one_line_is_later() -> None:
    session = SessionBuilder().prompt("one", timestamp="x")
    session.line({"type": "user", "timestamp": "2026-01-01T00:00:00Z", "message": {"content": "a"}})
    session.line({"type": "user", "timestamp": "2026-01-01T00:00:09Z", "message": {"content": "b"}})
    session.line({"type": "user", "timestamp": "2026-01-01T00:00:01Z", "message": {"content": "c"}})
    assert replay(session.lines[1:], at=parse_time("2026-01-01T00:00:05Z")).to_markdown() == "❯ a"


def test_lines_without_time_or_with_none_that_can_be_read_do_not_stop_the_clock() -> None:
    session = SessionBuilder().line({"type": "user", "message": {"content": "a"}})
    session.line({"type": "user", "timestamp": "soon", "message": {"content": "b"}})
    assert replay(session.lines, at=parse_time("1999-01-01")).to_markdown() == "❯ a\n\n❯ b"


def test_a_time_without_zone_is_utc() -> None:
    lines = conversation().lines
    assert replay(lines, at=datetime(2026, 1, 17, 20, 32, 0)).to_markdown() == "❯ one"


@pytest.mark.parametrize("words", ["", "soon", "25:00", "2026-13-01", "12"])
def test_what_is_no_time_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|month"):
        parse_time(words)


def test_reading_stops_where_the_replay_stops() -> None:
    read = 0

    def counted() -> Iterator[bytes]:
        nonlocal read
        for line in conversation().lines:
            read += 1
            yield line

    replay(counted(), until=2)
    assert read == 3


def test_every_line_is_decoded_once_but_for_those_that_tell_whose_file_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[bytes] = []

    def counted(line: bytes) -> Event:
        decoded.append(line)
        event: Event = decode(line)
        return event

    monkeypatch.setattr(parser, "decode", counted)
    session = conversation()
    replay(session.write(tmp_path / "s.jsonl"))
    assert decoded == [session.lines[0], *session.lines]


def test_the_view_of_a_sub_agent_is_kept_where_the_caller_asks_for_it() -> None:
    session = SessionBuilder(sidechain=True).prompt("inside").line({"type": "user", "message": {"content": "main"}})
    assert replay(session.lines).to_markdown() == "❯ main"
    assert replay(session.lines, View(sidechains=True)).to_markdown() == "❯ inside\n\n❯ main"
