"""How long it takes from a key to the painted frame in the player of a large session."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path
from typing import Any, Final

from textual import events
from textual._compositor import CompositorUpdate
from textual.screen import Screen

from claude_session_player.player.recording import FileSource, Recording
from claude_session_player.tui.player import PlayerApp, PlayerScreen

SIZE: Final = (140, 40)
KEYS: Final = (
    *("home", "shift+right", "shift+right", "right", "right", "left", "up", "up", "enter", "enter", "pageup", "pageup"),
    *("end", "end", "shift+left", "left", "up", "e", "E", "t", "t", "home", "end", "left", "left", "up", "enter"),
)
"""Each changes what is shown."""
_PATIENCE: Final = 600.0


class _PaintedPlayer(PlayerApp):
    """Makes what would be sent to a terminal, and notes when it was sent after a key was acted upon."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(lambda: PlayerScreen(recording))
        self.has_acted = False
        self.painted = asyncio.Event()

    async def run_action(self, *arguments: Any, **options: Any) -> bool:
        done = await super().run_action(*arguments, **options)
        self.has_acted = True
        return done

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        super()._display(screen, renderable)
        if isinstance(renderable, CompositorUpdate):  # a terminal would get it now; without one, Textual stops here
            renderable.render_segments(self.console)
            if self.has_acted:
                self.painted.set()


def measure_player_keys(path: Path, size: tuple[int, int] = SIZE) -> list[tuple[str, float]]:
    """The seconds from each key to the painted frame. The window runs without a terminal; all else is real."""
    return asyncio.run(_measure(path, size))


async def _measure(path: Path, size: tuple[int, int]) -> list[tuple[str, float]]:
    app = _PaintedPlayer(Recording(path.name, str(path), partial(FileSource, str(path)), False, str(path)))
    seconds = []
    async with asyncio.timeout(_PATIENCE), app.run_test(size=size):
        screen = app.screen
        assert isinstance(screen, PlayerScreen)
        while not screen.playback.is_complete:
            await asyncio.sleep(0.01)
        screen.player.pause()
        await asyncio.sleep(0.5)  # what was begun before has been painted
        for key in KEYS:
            app.has_acted = False
            app.painted.clear()
            start = time.perf_counter()
            app.post_message(events.Key(key, None))
            await app.painted.wait()
            seconds.append((key, time.perf_counter() - start))
            await asyncio.sleep(0.05)
    return seconds
