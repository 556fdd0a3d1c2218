"""Draws docs/player.svg: the demo in the player, and docs/browse.svg: the sessions of the example store."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from textual.app import App

from claude_session_player.tui.browse import BrowseApp
from claude_session_player.tui.jobs import StoreOpener
from claude_session_player.tui.player import PlayerApp, PlayerScreen
from tests.players import of_file

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
_SIZE: Final = (104, 30)
_NOT_OURS: Final = re.compile(r"@font-face \{.*?\}|<!--.*?-->", re.DOTALL)  # fonts from the web, and a greeting
_TO_THE_TESTS: Final = ("g", "2", "4", "enter", *["up"] * 3, "enter")
_NOW: Final = datetime(2026, 1, 17, 14, tzinfo=UTC)


def player() -> str:
    """The demo in the player, paused, with an edit unfolded."""
    demo = replace(of_file(str(ROOT / "claude_session_player" / "data" / "demo.jsonl")), title="A tea timer", place="")
    return _drawn(lambda: PlayerApp(lambda: PlayerScreen(demo, clock=lambda: 0.0)), _TO_THE_TESTS)


def browse() -> str:
    """The sessions of the example store, and the first of them beside the list."""
    opener = StoreOpener((str(ROOT / "tests" / "fixtures" / "store"),), None)
    return _drawn(lambda: BrowseApp(opener, clock=lambda: _NOW, rest=0.001), ())


PICTURES: Final[dict[str, Callable[[], str]]] = {"player.svg": player, "browse.svg": browse}


def _drawn(make: Callable[[], App[Any]], keys: tuple[str, ...]) -> str:
    """A full-screen program after some keys, as SVG with the fonts of whoever looks at it."""

    async def body() -> str:
        app = make()
        async with app.run_test(size=_SIZE) as pilot:
            await pilot.pause()
            await app.workers.wait_for_complete()
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            await pilot.pause(0.5)
            return _NOT_OURS.sub("", app.export_screenshot(title="claude-session-player", simplify=True))

    return asyncio.run(body())


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (DOCS / name).write_text(draw(), encoding="utf-8")
