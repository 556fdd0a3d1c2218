"""From what was asked for to something that can be played full screen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from claude_session_player.cli.refs import Source
from claude_session_player.cli.source import check_file, check_head, kept
from claude_session_player.play.recording import Recording, of_found, of_lines, of_session
from claude_session_player.store.layout import found_at
from claude_session_player.store.store import Store


@contextmanager
def recording_of(source: Source, **where: Any) -> Iterator[Recording]:
    """What is played; in the end, what was unpacked for it is removed. Raises where it is no session file."""
    with ExitStack() as stack:
        yield _recording(kept(source), partial(_store, stack, **where))


def lone_recording(source: Source) -> Recording:
    """What is played of a session that is kept, without its sub-agents."""
    return _recording(source, partial(Store.open, cache=None, required=False))


def _recording(source: Source, open_store: Callable[[], Store]) -> Recording:
    if source.path is None:
        check_head(source.head, source.name)
        return of_lines(source.lines, source.name)
    check_file(source.path, source.name)
    if source.inline is not None:
        return of_session(source.inline, open_store)
    return of_found(source.found or found_at(os.path.abspath(source.path)), open_store)


def _store(
    stack: ExitStack,
    roots: tuple[str, ...] = (),
    no_cache: bool = False,
    archived: bool = False,
    archive: str | None = None,
) -> Store:
    """The store that is meant, opened in whichever thread asks for it."""
    from claude_session_player.store.store import DEFAULT_CACHE

    cache = None if no_cache else DEFAULT_CACHE
    if not archived and archive is None:
        return Store.open(*roots, cache=cache, required=False)
    from claude_session_player.care.archived import ArchivedStore
    from claude_session_player.care.vault import existing

    store = ArchivedStore.at_vault(existing(archive), cache)
    stack.callback(store.close)
    return store
