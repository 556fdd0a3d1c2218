"""The window of all sessions that run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from claude_session_player.errors import BadPrices
from claude_session_player.stats import Prices
from claude_session_player.tui.jobs import StoreOpener
from claude_session_player.tui.live import RunningApp, RunningList
from claude_session_player.tui.player import PlayerScreen
from tests.builder import text
from tests.players import notice
from tests.running_sessions import KETTLE, NOW, Sessions, session, write
from tests.screens import check_picture, drawn_in, each_shade, each_size, run, text_of, until, until_shown
from tests.stores import ONE, StoreBuilder


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sessions:
    sessions = Sessions(tmp_path / "store")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(sessions.store.root))
    return sessions


@each_size
@each_shade
def test_every_session_is_shown_with_its_state_and_how_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shade: str, size: tuple[int, int]
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "store"))

    async def script(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "4 sessions")
        await until(pilot, lambda: text_of(pilot.app).count("$") == 3)
        check_picture(pilot.app, f"follow-all-{shade}")

    with drawn_in(shade):
        sessions = Sessions(tmp_path / "store")
        sessions.fill()
        run(sessions.app, script, size)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_project_name_that_is_cut_is_marked(tmp_path: Path, width: int) -> None:
    sessions = Sessions(tmp_path / "store")
    cwd = "/home/ada/steam-engine-with-a-whistle"
    write(sessions.file(KETTLE, cwd), session(KETTLE, 0, cwd).prompt("Oil it"))

    async def script(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, " steam-engine-wi…  Oil it")

    run(sessions.app, script, (width, 40))


def test_what_is_appended_is_shown_at_once_and_new_sessions_appear(sessions: Sessions) -> None:
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "Task: Look around  no result for")
        write(
            sessions.path, sessions.main.result("t").response(text("All done.")).system("turn_duration", durationMs=1)
        )
        await until_shown(pilot, "turn ended")
        await until_shown(pilot, "All done.")
        sessions.fill()
        await until_shown(pilot, "4 sessions")
        sessions.path.unlink()
        await until_shown(pilot, "3 sessions")

    run(app, script)


def test_the_cursor_stays_on_its_session_when_others_move(sessions: Sessions) -> None:
    sessions.fill()
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "4 sessions")
        await pilot.press("end")
        assert app._list.current is not None
        assert app._list.current.peek.title == "Old thing"
        write(sessions.file(KETTLE), session(KETTLE, 0).prompt("New thing"))
        await until_shown(pilot, "New thing")
        assert app._list.current.peek.title == "Old thing"
        await pilot.press("home", "down")
        assert app._list.current.peek.file.path != str(sessions.file(KETTLE))

    run(app, script)


def test_enter_follows_a_session_in_the_player_and_escape_comes_back(sessions: Sessions) -> None:
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PlayerScreen) and "I send somebody." in text_of(app))
        write(sessions.path, sessions.main.result("t", "Steam everywhere."))
        await until_shown(pilot, "Steam everywhere.")
        assert "Esc back" in text_of(app)
        await pilot.press("j", "escape")
        await until_shown(pilot, "1 session ")
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


def test_a_double_click_opens_a_session(sessions: Sessions) -> None:
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "Start the engine")
        await pilot.double_click(RunningList, offset=(5, 0))
        await until(pilot, lambda: isinstance(app.screen, PlayerScreen) and "I send somebody." in text_of(app))

    run(app, script)


def test_r_shows_the_command_that_resumes_a_session_and_y_copies_it(sessions: Sessions) -> None:
    app = sessions.app
    command = f"cd /home/ada/engine && claude --resume {ONE}"

    async def script(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "Start the engine")
        await pilot.press("R")
        await until_shown(pilot, command)
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard == command)
        await pilot.press("R", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)

    run(app, script)


def test_r_names_the_store_if_claude_code_would_look_into_another(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "Start the engine")
        await pilot.press("R")
        await until_shown(pilot, "CLAUDE_CONFIG_DIR=")
        await pilot.press("y")
        root = sessions.store.root
        command = f"cd /home/ada/engine && CLAUDE_CONFIG_DIR={root} claude --resume {ONE}"
        await until(pilot, lambda: app.clipboard == command)

    run(app, script)


def test_r_resumes_the_session_of_a_subagent(sessions: Sessions) -> None:
    sessions.fill()
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "└ ● Explore")
        while app._list.current is None or not app._list.current.is_subagent:
            await pilot.press("down")
        await pilot.press("R")
        await until_shown(pilot, f"claude --resume {ONE}")

    run(app, script)


def test_the_cost_grows_with_the_session(sessions: Sessions) -> None:
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "$0.08")
        write(sessions.path, sessions.main.result("t").response(text("All done.")))
        await until_shown(pilot, "$0.12")

    run(app, script)


def test_invalid_prices_are_reported_and_no_cost_is_shown(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> Prices:
        raise BadPrices("prices.json is not valid JSON")

    monkeypatch.setattr(Prices, "load", load)
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "No costs are shown: prices.json" in notice(app))
        assert "$" not in text_of(app)

    run(app, script)


def test_a_session_that_is_gone_is_not_opened(sessions: Sessions) -> None:
    app = sessions.app

    async def script(pilot: Pilot[Any]) -> None:
        app.open_session(str(sessions.path) + "gone")
        await until(pilot, lambda: "No such file" in notice(app))

    run(app, script)


def test_help_names_every_key(sessions: Sessions) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("question_mark")
        await until_shown(pilot, "looks the same as one that is running")

    run(sessions.app, script)


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (200, 60)])
def test_any_window_will_do(sessions: Sessions, size: tuple[int, int]) -> None:
    sessions.fill()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("down", "down", "end")
        await pilot.resize_terminal(80, 24)
        await until_shown(pilot, "Start the engine")

    run(sessions.app, script, size)


def test_an_empty_store_says_what_will_come(tmp_path: Path) -> None:
    app = RunningApp(StoreOpener((str(StoreBuilder(tmp_path / "store").root),), None), clock=lambda: NOW)

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("down", "enter")
        await until_shown(pilot, "No running sessions.")

    run(app, script)


def test_ctrl_c_ends_it_as_an_interruption(sessions: Sessions) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+c")

    run(sessions.app, script)
    assert sessions.app.return_code == 130
