"""The list of sessions for tests: a store to look at, keys, and what is on the screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from claude_session_player.tui.browse import BrowseApp
from claude_session_player.tui.jobs import StoreOpener
from claude_session_player.tui.widgets.session_table import SessionTable
from tests.builder import SessionBuilder, call, text
from tests.screens import SMALL, run, until
from tests.stores import AGENT, ONE, THREE, TWO, StoreBuilder, settle

NOW = datetime(2026, 1, 19, 12, 0, tzinfo=UTC)
KETTLE = "/home/ada/kettle"
Script = Callable[[BrowseApp, Pilot[Any]], Awaitable[None]]


def kettles(tmp_path: Path) -> StoreBuilder:
    """A store with three sessions and a sub-agent."""
    builder = StoreBuilder(tmp_path / "store")
    builder.session(ONE, "Start the engine")
    builder.agent(AGENT, ONE, task="Look around")
    builder.session(TWO, "Boil water", cwd=KETTLE, days=-30)
    session = SessionBuilder(session_id=THREE, branch="oil").prompt("Oil [the] wheels")
    session.response(text("I will look first."), call("Bash", "t1", command="ls wheels"))
    session.result("t1", "front\nrear").response(call("Read", "t2", file_path="rear"))
    session.result("t2", "File does not exist.", error=True).response(text("The rear wheel is *missing*."))
    session.write(builder.home() / f"{THREE}.jsonl")
    settle(builder.root)
    return builder


def browse(builder: StoreBuilder, script: Script, size: tuple[int, int] = SMALL, words: str = "") -> None:
    """Browse a store when all of it is on the screen."""
    app = BrowseApp(
        StoreOpener((str(builder.root),), str(builder.root.parent / "cache")), words, clock=lambda: NOW, rest=0.001
    )

    async def body(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.screen._list.waiting == 0)  # type: ignore[attr-defined]
        await settled(pilot)
        await script(app, pilot)

    run(app, body, size)


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until no thread has anything to tell."""
    await until(pilot, lambda: all(worker.is_finished for worker in pilot.app.workers))
    await pilot.pause()
    await until(pilot, lambda: all(worker.is_finished for worker in pilot.app.workers))
    await pilot.pause()


def titles(app: BrowseApp) -> list[str | None]:
    return [entry.session.title for entry in table(app).rows]


def export_message(app: BrowseApp) -> str:
    """What the export popup says about the path that was typed."""
    return str(app.screen.query_one("#message", Static).content)


def table(app: BrowseApp) -> SessionTable:
    return app.screen_stack[0].query_one(SessionTable)
