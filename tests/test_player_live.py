"""The player and a session that is written to while somebody looks."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from textual.message import Message
from textual.pilot import Pilot

from claude_session_player.models import View
from claude_session_player.player.frame_index import READ_SIZE
from claude_session_player.player.playback import Playback
from claude_session_player.player.stream import Timing
from claude_session_player.tui.jobs import FramesChanged, build_frames
from claude_session_player.tui.player import PlayerApp
from tests.builder import START, SessionBuilder, call, text
from tests.players import (
    followed,
    of_file,
    player,
    teapot,
    until,
)
from tests.screens import LARGE, SMALL, check_picture, run, text_of


def test_what_is_appended_to_a_followed_session_is_shown(tmp_path: Path) -> None:
    session = SessionBuilder(start=datetime.now(UTC)).prompt("Hi")
    path = session.write(tmp_path / "s.jsonl")
    session.flush()

    async def append(pilot: Pilot[Any]) -> None:
        await until(pilot, "❯ Hi")
        assert "● live" in text_of(pilot.app)
        with path.open("ab") as file:
            file.write(session.response(text("Hello, as it happens.")).flush())
        await until(pilot, "● Hello, as it happens.")
        check = text_of(pilot.app)
        assert "● live" in check

    followed(path, append)


def test_who_looks_back_is_not_torn_away_by_what_is_new(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("One").prompt("Two")
    path = session.write(tmp_path / "s.jsonl")
    session.flush()

    async def append(pilot: Pilot[Any]) -> None:
        await until(pilot, "❯ Two")
        await pilot.press("left")
        with path.open("ab") as file:
            file.write(session.prompt("Three").flush())
        await until(pilot, "line 1/3")
        assert "❯ Three" not in text_of(pilot.app)
        await pilot.press("end")
        await until(pilot, "❯ Three")

    followed(path, append)


def test_a_followed_session_that_is_replaced_or_deleted_is_said_to_be(tmp_path: Path) -> None:
    path = SessionBuilder().prompt("Old").write(tmp_path / "s.jsonl")

    async def replace_and_delete(pilot: Pilot[Any]) -> None:
        await until(pilot, "❯ Old")
        SessionBuilder().prompt("New").write(tmp_path / "new").replace(path)
        await until(pilot, "❯ New")
        await until(pilot, "it was replaced by another file")
        assert "❯ Old" not in text_of(pilot.app)
        path.unlink()
        await until(pilot, "it was deleted")
        await until(pilot, "● deleted")
        assert "❯ New" in text_of(pilot.app)

    followed(path, replace_and_delete)


@pytest.mark.parametrize(
    ("key", "says"), [("v", "Showing what happened."), ("h", "history"), ("t", "thinking"), ("e", "line 3/3")]
)
def test_a_followed_session_that_was_deleted_can_still_be_shown_in_another_view(
    tmp_path: Path, key: str, says: str
) -> None:
    path = SessionBuilder().prompt("One").response(text("Two.")).prompt("Three").write(tmp_path / "s.jsonl")

    async def delete(pilot: Pilot[Any]) -> None:
        await until(pilot, "❯ Three")
        path.unlink()
        await until(pilot, "● deleted")
        await pilot.press(key)
        await until(pilot, says)
        await until(pilot, "line 3/3")
        assert "Three" in text_of(pilot.app)
        assert "● deleted" in text_of(pilot.app)
        await pilot.press(key)
        await until(pilot, "❯ Three")

    followed(path, delete, LARGE)


def test_all_of_a_deleted_file_is_read(tmp_path: Path) -> None:
    session = SessionBuilder()
    for _ in range(3):
        session.prompt("tea " * READ_SIZE)
    path = session.write(tmp_path / "s.jsonl")
    playback = Playback(of_file(str(path)), View.rich(), lambda: 0.0, Timing(), is_followed=True)
    path.unlink()
    posted: list[Message] = []
    asyncio.run(build_frames(playback, posted.append))
    assert playback.frame_index.line_count == 3
    assert FramesChanged("Session file: it was deleted") in posted


class Wall:
    """The time of day; it stands still until a test turns it."""

    now = START.timestamp() + 20

    def __call__(self) -> float:
        """What time it is."""
        return self.now


def test_a_session_is_live_only_while_it_is_written_to_or_may_be(tmp_path: Path) -> None:
    session = teapot()
    path = session.write(tmp_path / "s.jsonl")
    session.flush()
    wall = Wall()
    os.utime(path, (wall.now, wall.now))
    app, _ = player(of_file(str(path)), is_followed=True, wall=wall)

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, "● live")
        await until(pilot, "waits for you")
        wall.now += 439 * 24 * 3600
        await until(pilot, "○ idle  0:12")
        await until(pilot, "○ idle  nothing written for 439d")
        assert "● live" not in text_of(app)
        with path.open("ab") as file:
            then = datetime.fromtimestamp(wall.now, UTC).isoformat()
            file.write(session.prompt("Still there?", timestamp=then).flush())
        os.utime(path, (wall.now, wall.now))
        await until(pilot, "● live")

    run(app, script)


def test_an_old_session_is_idle_from_the_first_picture_on(tmp_path: Path) -> None:
    path = teapot().write(tmp_path / "s.jsonl")
    os.utime(path, (START.timestamp(), START.timestamp()))
    app, _ = player(of_file(str(path)), is_followed=True)

    async def script(pilot: Pilot[Any]) -> None:
        assert "○ idle" in text_of(app)
        assert "● live" not in text_of(app)

    run(app, script)


def test_a_session_is_live_while_a_sub_agent_of_it_is_written_to(tmp_path: Path) -> None:
    path = SessionBuilder(session_id="s").prompt("Hi").response(text("Wait.")).write(tmp_path / "s.jsonl")
    os.utime(path, (START.timestamp(), START.timestamp()))
    app, _ = player(of_file(str(path)), is_followed=True)

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, "○ idle")
        agent = SessionBuilder(session_id="s", sidechain=True, start=datetime.now(UTC))
        agent.prompt("Measure.").write(agent_file(path, 1))
        await until(pilot, "● live")

    run(app, script)


def test_a_followed_sub_agent_that_is_over_is_idle(tmp_path: Path) -> None:
    path = agent_file(tmp_path / "s.jsonl", 1)
    SessionBuilder(session_id="s", sidechain=True).prompt("Measure.").response(text("Hot.")).write(path)
    os.utime(path, (START.timestamp(), START.timestamp()))
    app, _ = player(of_file(str(path)), is_followed=True)

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, "○ idle")

    run(app, script)


async def search_for(pilot: Pilot[Any], words: str) -> None:
    await pilot.press("slash", *words, "enter")
    await until(pilot, f"/{words}")


def test_a_search_goes_on_in_what_is_appended(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("tea")
    path = session.write(tmp_path / "s.jsonl")
    session.flush()

    async def append(pilot: Pilot[Any]) -> None:
        await until(pilot, "❯ tea")
        await search_for(pilot, "tea")
        await until(pilot, "/tea 1/1")
        with path.open("ab") as file:
            file.write(session.prompt("more tea").flush())
        await until(pilot, "/tea 1/2")

    followed(path, append)


@pytest.mark.parametrize("new", [b"", SessionBuilder().prompt("New").data()])
def test_a_search_ends_with_the_film_that_it_was_made_for(tmp_path: Path, new: bytes) -> None:
    path = SessionBuilder().prompt("tea").prompt("tea").write(tmp_path / "s.jsonl")

    async def replace_file(pilot: Pilot[Any]) -> None:
        await until(pilot, "❯ tea")
        await search_for(pilot, "tea")
        path.write_bytes(new)
        await until(pilot, "Session file:")
        await pilot.press("n", "n", "N")
        await until(pilot, "press / first")

    followed(path, replace_file)


def agent_file(path: Path, number: int) -> Path:
    return path.with_suffix("") / "subagents" / f"agent-a{number}.jsonl"


def test_a_sub_agent_appears_when_it_starts(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    session = (
        SessionBuilder(session_id="s", start=now).prompt("How hot?").response(call("Task", "t", description="Measure"))
    )
    path = session.write(tmp_path / "s.jsonl")
    helper = SessionBuilder(session_id="s", sidechain=True, start=now).prompt("Measure the water.")

    async def start_agent(pilot: Pilot[Any]) -> None:
        await until(pilot, "● running")
        assert "Measure the water" not in text_of(pilot.app)
        SessionBuilder(session_id="other", sidechain=True).prompt("Not ours.").write(tmp_path / "agent-a2.jsonl")
        helper.response(call("Bash", "b", command="thermometer")).write(agent_file(path, 1))
        await until(pilot, "Measure the water.")
        await until(pilot, "Bash: thermometer  no result")
        assert "Not ours." not in text_of(pilot.app)

    followed(path, start_agent)


def test_a_followed_session_looks_as_it_did(tmp_path: Path) -> None:
    path = teapot().write(tmp_path / "s.jsonl")
    what = replace(of_file(str(path)), title="A tea timer", location="/home/ada/teapot")
    now = START.timestamp() + 20

    for size in (SMALL, LARGE):
        app, _ = player(what, is_followed=True, wall=lambda: now)

        async def script(pilot: Pilot[Any], app: PlayerApp = app) -> None:
            await until(pilot, "waits for you")
            check_picture(app, "follow")

        run(app, script, size)
