"""How long it takes from a key to the painted result of a search, as a query is typed in `browse`."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from textual import events
from textual._compositor import CompositorUpdate
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from claude_session_player.tui.browse import BrowseApp
from claude_session_player.tui.browse_search import QueryBar
from claude_session_player.tui.jobs import StoreOpener
from claude_session_player.tui.widgets.session_table import SessionTable

SIZE: Final = (140, 40)
_PATIENCE: Final = 600.0
"""Seconds for everything; most of it is for the index."""
_NAMES: Final = {" ": "space"}


class _PaintedApp(BrowseApp):
    """Makes what would be sent to a terminal, and notes what the table showed then."""

    def __init__(self, opener: StoreOpener) -> None:
        super().__init__(opener, rest=1e9)  # the preview follows when typing pauses
        self.drawn: object = None
        """What the table showed when it was drawn last."""
        self.is_painted: Callable[[], bool] = lambda: False
        self.painted = asyncio.Event()

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        super()._display(screen, renderable)
        if isinstance(renderable, CompositorUpdate):  # a terminal would get it now; without one, Textual stops here
            renderable.render_segments(self.console)
        if self.is_painted():
            self.painted.set()


def measure_key_to_paint(
    store_root: str | os.PathLike[str], keys: Iterable[str], size: tuple[int, int] = SIZE
) -> list[float]:
    """The seconds from each key to its painted result, typed one after the other as one query.

    The window runs without a terminal, with the index in the platform's cache directory, which is brought up to date
    first. Everything else is real: the keys, the threads, the query, the texts in view, and what would be sent to a
    terminal.
    """
    return asyncio.run(_measure(os.fspath(store_root), keys, size))


async def _measure(store_root: str, keys: Iterable[str], size: tuple[int, int]) -> list[float]:
    app = _PaintedApp(StoreOpener((store_root,)))
    seconds = []
    async with asyncio.timeout(_PATIENCE), app.run_test(size=size):
        bar, table = app.screen.query_one(QueryBar), app.screen.query_one(SessionTable)
        _note_drawings(app, table)
        await _until(lambda: app.screen._list.waiting == 0)  # type: ignore[attr-defined]
        app.post_message(events.Key("ctrl+f", None))
        await _until(lambda: bar._search is not None and not bar._is_indexing)
        for key in keys:
            app.is_painted = partial(_is_painted, app, bar, bar.words + key, bar.hits)
            app.painted.clear()
            start = time.perf_counter()
            app.post_message(events.Key(_NAMES.get(key, key), key))
            await app.painted.wait()
            seconds.append(time.perf_counter() - start)
    return seconds


def _is_painted(app: _PaintedApp, bar: QueryBar, words: str, before: object) -> bool:
    """True if the answer to these words is drawn; a query that is not valid yet leaves what was there before."""
    is_answered = bar.words == words and not bar.is_waiting
    return is_answered and app.drawn is bar.hits and (bar.hits is not before or bool(bar.status()))


def _note_drawings(app: _PaintedApp, table: SessionTable) -> None:
    draw = table.render_lines

    def render_lines(crop: Region) -> list[Strip]:
        app.drawn = table.hits
        return draw(crop)

    table.render_lines = render_lines  # type: ignore[method-assign]


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


if __name__ == "__main__":
    root, *queries = sys.argv[1:]
    for query in queries:
        print(query, *(f"{1000 * second:.0f}" for second in measure_key_to_paint(root, query)), "ms")
