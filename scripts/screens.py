"""Draw the pictures of full-screen programs for the docs: the player, the list of sessions, and running sessions."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from textual.app import App

from claude_session_player.tui.browse import BrowseApp
from claude_session_player.tui.jobs import StoreOpener
from claude_session_player.tui.player import PlayerApp, PlayerScreen
from scripts.example_store import NOW, build_example_store
from tests.players import of_file
from tests.running_sessions import Sessions
from tests.screens import text_of, until

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
_SIZE: Final = (104, 30)
_REMOVED: Final = re.compile(r"@font-face \{.*?\}|<!--.*?-->", re.DOTALL)  # web fonts and a comment of rich
_WIDE: Final = (180, 40)
_LIST: Final = (120, 32)
_KEYS_TO_EDIT: Final = ("g", "2", "4", "enter", "space")
_COSTS: Final = 3
"""How many of the running sessions have a cost, which is counted after they are shown."""


def player() -> str:
    """The demo in the player, paused, at an edit."""
    return _draw(_demo, "A tea timer", keys=_KEYS_TO_EDIT, then="$")


def chapters() -> str:
    """The same in a wide terminal, with the chapters beside it."""
    return _draw(_demo, "A tea timer", "LASTED", keys=("end",), then="$", size=_WIDE)


def _demo() -> App[Any]:
    demo = of_file(str(ROOT / "claude_session_player" / "data" / "demo.jsonl"))
    named = replace(demo, title="A tea timer", location="/home/ada/teapot")
    return PlayerApp(lambda: PlayerScreen(named, clock=lambda: 0.0))


def browse() -> str:
    """A list of sessions, with a preview of the first one."""
    with tempfile.TemporaryDirectory() as folder:
        build_example_store(Path(folder))
        opener = StoreOpener((folder,), None)
        return _draw(lambda: BrowseApp(opener, clock=lambda: NOW, rest=0.001), "❯ ", "$0.0", size=_LIST)


def follow() -> str:
    """Running sessions, each in another state."""
    with tempfile.TemporaryDirectory() as folder:
        sessions = Sessions(Path(folder, "store"))
        sessions.fill("Oil everything that squeaks")
        return _draw(lambda: sessions.app, "$", size=(104, 18), times=_COSTS)


PICTURES: Final[dict[str, Callable[[], str]]] = {
    "player.svg": player,
    "chapters.svg": chapters,
    "browse.svg": browse,
    "follow.svg": follow,
}


def _draw(
    make: Callable[[], App[Any]],
    *words: str,
    keys: tuple[str, ...] = (),
    size: tuple[int, int] = _SIZE,
    times: int = 1,
    then: str = "",
) -> str:
    """Draw a full-screen program as SVG with the fonts of the viewer.

    Keys are pressed when it shows all these words, and it is drawn when it shows what it shows `then`.
    """

    async def body() -> str:
        app = make()
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: all(text_of(app).count(word) >= times for word in words))
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            await until(pilot, lambda: then in text_of(app))
            return _REMOVED.sub("", app.export_screenshot(title="claude-session-player", simplify=True))

    return asyncio.run(body())


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (DOCS / name).write_text(draw(), encoding="utf-8")
