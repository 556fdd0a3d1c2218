"""A store with a session in each state that `follow --all` knows, and the window that shows it."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from claude_session_player.tui.jobs import StoreOpener
from claude_session_player.tui.live import RunningApp
from claude_session_player.util.times import to_epoch
from tests.builder import START, SessionBuilder, call, text, timestamp
from tests.stores import AGENT, ONE, THREE, TWO, StoreBuilder

NOW = (to_epoch(timestamp(1)) or 0) + 3600
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

    def fill(self, prompt: str = "Oil [bold]everything[/bold] that squeaks 🫖") -> None:
        """All other states, and a sub-agent."""
        agent = session(ONE, 1, sidechain=True).prompt("Look around").response(call("Grep", "g", pattern="steam"))
        path = write(self.store.home() / ONE / "subagents" / f"agent-{AGENT}.jsonl", agent)
        self.store.meta(path, agentType="Explore", description="Look for steam")
        kettle = session(TWO, 4, "/home/ada/kettle").prompt("Boil the water")
        kettle.response(text("It boils. Shall I pour it?")).system("turn_duration", durationMs=5000)
        write(self.file(TWO, "/home/ada/kettle"), kettle)
        write(self.file(THREE), session(THREE, 0.2).prompt(prompt))
        idle = write(self.file(KETTLE), session(KETTLE, 20).prompt("Old thing").response(text("Done.")))
        os.utime(idle, (NOW - 1200, NOW - 1200))
