"""The window of all sessions that run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from claude_session_player.tui.jobs import StoreOpener
from claude_session_player.tui.live import RunningApp
from claude_session_player.tui.player import PlayerScreen
from claude_session_player.util.times import to_epoch
from tests.builder import START, SessionBuilder, call, text, timestamp
from tests.players import notice
from tests.screens import LARGE, SMALL, check_picture, run, text_of
from tests.stores import AGENT, ONE, THREE, TWO, StoreBuilder

NOW = (to_epoch(timestamp(1)) or 0) + 3600
PATIENCE = 20
KETTLE = "b7c6d5e4-0004-4000-8000-000000000004"


def write(path: Path, session: SessionBuilder) -> Path:
    """Append to a file, as if it were now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(session.flush())
    os.utime(path, (NOW, NOW))
    return path


def session(id: str, minutes_ago: float, cwd: str = "/home/ada/engine", **how: Any) -> SessionBuilder:
    start = START + timedelta(hours=1) - timedelta(minutes=minutes_ago)
    return SessionBuilder(session_id=id, cwd=cwd, start=start, **how)


class Sessions:
    """A store with a session in each state."""

    def __init__(self, root: Path) -> None:
        self.store = StoreBuilder(root)
        self.app = RunningApp(StoreOpener((str(root),), None), clock=lambda: NOW)
        self.main = session(ONE, 2).prompt("Start the engine").response(text("I send somebody."))
        self.main.response(call("Task", "t", description="Look around", prompt="Look around"))
        self.path = write(self.file(ONE), self.main)

    def file(self, id: str, cwd: str = "/home/ada/engine") -> Path:
        """Where a session is."""
        return self.store.home(cwd) / f"{id}.jsonl"

    def fill(self) -> None:
        """All other states, and a sub-agent."""
        agent = session(ONE, 1, sidechain=True).prompt("Look around").response(call("Grep", "g", pattern="steam"))
        path = write(self.store.home() / ONE / "subagents" / f"agent-{AGENT}.jsonl", agent)
        self.store.meta(path, agentType="Explore", description="Look for steam")
        kettle = session(TWO, 4, "/home/ada/kettle").prompt("Boil the water")
        kettle.response(text("It boils. Shall I pour it?")).system("turn_duration", durationMs=5000)
        write(self.file(TWO, "/home/ada/kettle"), kettle)
        write(self.file(THREE), session(THREE, 0.2).prompt("Oil [bold]everything[/bold] that squeaks 🫖"))
        idle = write(self.file(KETTLE), session(KETTLE, 20).prompt("Old thing").response(text("Done.")))
        os.utime(idle, (NOW - 1200, NOW - 1200))


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path / "store")


async def until(pilot: Pilot[Any], is_so: Callable[[], bool]) -> None:
    """Wait until something is so; the system's notifications come in their own time."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await pilot.pause(0.01)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_every_session_is_shown_with_its_state_and_how_it_is_known(sessions: Sessions, size: tuple[int, int]) -> None:
    sessions.fill()

    async def script(pilot: Pilot[Any]) -> None:
        check_picture(sessions.app, "follow-all")

    run(sessions.app, script, size)


def test_what_is_appended_is_shown_at_once_and_new_sessions_appear(sessions: Sessions) -> None:
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        assert "a call of Task has no result" in text_of(app)
        write(
            sessions.path, sessions.main.result("t").response(text("All done.")).system("turn_duration", durationMs=1)
        )
        await until(pilot, lambda: "the turn was over" in text_of(app))
        assert "All done." in text_of(app)
        sessions.fill()
        await until(pilot, lambda: "4 sessions" in text_of(app))
        sessions.path.unlink()
        await until(pilot, lambda: "3 sessions" in text_of(app))

    run(app, script)


def test_the_cursor_stays_on_its_session_when_others_move(sessions: Sessions) -> None:
    sessions.fill()
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("end")
        assert app._list.current is not None
        assert app._list.current.glimpse.title == "Old thing"
        write(sessions.file(KETTLE), session(KETTLE, 0).prompt("New thing"))
        await until(pilot, lambda: "New thing" in text_of(app))
        assert app._list.current.glimpse.title == "Old thing"
        await pilot.press("home", "down")
        assert app._list.current.glimpse.found.path != str(sessions.file(KETTLE))

    run(app, script)


def test_enter_follows_a_session_in_the_player_and_escape_comes_back(sessions: Sessions) -> None:
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PlayerScreen) and "I send somebody." in text_of(app))
        write(sessions.path, sessions.main.result("t", "Steam everywhere."))
        await until(pilot, lambda: "Steam everywhere." in text_of(app))
        assert "Esc back" in text_of(app)
        await pilot.press("j", "escape")
        await until(pilot, lambda: "1 session " in text_of(app))
        assert "Esc" not in text_of(app)

    run(app, script)


def test_q_quits_from_the_player_and_from_the_help(sessions: Sessions) -> None:
    for keys in (("enter",), ("question_mark",)):
        app = RunningApp(StoreOpener((str(sessions.store.root),), None), clock=lambda: NOW)

        async def script(pilot: Pilot[Any], app: RunningApp = app, keys: tuple[str, ...] = keys) -> None:
            await pilot.press(*keys)
            await until(pilot, lambda: len(app.screen_stack) == 2)
            await pilot.press("q")
            await until(pilot, lambda: app._exit)

        run(app, script)
        assert app.return_code == 0


def test_a_session_that_is_gone_is_not_opened(sessions: Sessions) -> None:
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        app.open_session(str(sessions.path) + "gone")
        await until(pilot, lambda: "No such file" in notice(app))

    run(app, script)


def test_help_names_every_key(sessions: Sessions) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("question_mark")
        assert "looks the same as one that is running" in text_of(sessions.app)

    run(sessions.app, script)


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (200, 60)])
def test_any_window_will_do(sessions: Sessions, size: tuple[int, int]) -> None:
    sessions.fill()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("down", "down", "end")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "Start the engine" in text_of(sessions.app)

    run(sessions.app, script, size)


def test_an_empty_store_says_what_will_come(tmp_path: Path) -> None:
    app = RunningApp(StoreOpener((str(StoreBuilder(tmp_path / "store").root),), None), clock=lambda: NOW)

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("down", "enter")
        assert "No running sessions." in text_of(app)

    run(app, script)


def test_ctrl_c_ends_it_as_an_interruption(sessions: Sessions) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+c")

    run(sessions.app, script)
    assert sessions.app.return_code == 130
