"""Work that goes on while somebody looks. Each part of it is told; no widget is touched here."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from claude_session_player.errors import CannotRead
from claude_session_player.play.following import News
from claude_session_player.play.projection import Projection
from claude_session_player.play.search import Search
from claude_session_player.store.layout import SUFFIX
from claude_session_player.store.watch import Folder, Noticed, changes

_USUAL: Final = (News.NOTHING, News.GREW)
_OFTEN: Final = 0.1
"""Seconds between two pictures of something that is not complete."""

Tell = Callable[[str], None]
"""Is told that something is new, and what there is to be said about it."""


async def develop(projection: Projection, tell: Tell) -> None:
    """Take in all of a film that there is now, and let everything else happen after each portion of it."""
    news, told = News.GREW, time.monotonic()
    try:
        while news is News.GREW or news.is_new_film:
            news = projection.develop()
            words = "" if news in _USUAL else f"the session file: {news.value}"
            if words or time.monotonic() - told >= _OFTEN:
                tell(words)
                told = time.monotonic()
            await asyncio.sleep(0)
        projection.finish()
    except CannotRead as error:
        tell(str(error))
    else:
        tell("")


async def follow(projection: Projection, tell: Tell, notice: Callable[[Noticed], None]) -> None:
    """Take in what is there, and whatever is appended to it; all files that change are noticed."""
    path = os.path.abspath(projection.recording.path or "")
    folders = (Folder(os.path.dirname(path), files=(path,)), Folder(path.removesuffix(SUFFIX), is_deep=True))
    await develop(projection, tell)
    async with aclosing(changes(folders)) as stream:
        async for noticed in stream:
            if path in noticed.files:
                await develop(projection, tell)
            notice(noticed)


async def search_through(search: Search, is_wanted: Callable[[], bool], tell: Tell) -> None:
    """Look through a whole film, for as long as somebody wants to know."""
    while is_wanted() and not search.is_over:
        try:
            search.go_on()
        except CannotRead as error:
            tell(str(error))
            return
        tell("")
        await asyncio.sleep(0)
    tell("")
