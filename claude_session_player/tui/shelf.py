"""Which stores a window looks at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from claude_session_player.insight.prices import Prices
from claude_session_player.store.layout import Found
from claude_session_player.store.library import Progress
from claude_session_player.store.session import Session
from claude_session_player.store.store import DEFAULT_CACHE, Store


class Shelf(NamedTuple):
    """The stores as they were named, and where the catalogue is kept; see `Store.open`.

    Whoever works in a thread opens the store anew: what cannot be read there is not mixed with what others look at.
    """

    roots: tuple[str, ...] = ()
    cache: str | None = DEFAULT_CACHE

    @contextmanager
    def opened(self, progress: Progress | None = None) -> Iterator[Store]:
        """The stores, for the thread that asks. Raises `NoStore`."""
        store = self.open(progress)
        try:
            yield store
        finally:
            store.close()

    def open(self, progress: Progress | None = None) -> Store:
        """The same, for whoever closes it, or lets it go. Raises `NoStore`."""
        return Store.open(*self.roots, cache=self.cache, progress=progress)

    def session(self, found: Found) -> Session:
        """What the stores know of a file. Raises `SessionError`."""
        with self.opened() as store:
            return store.of(found)

    def prices(self) -> Prices:
        """The usual prices. Raises `BadPrices`."""
        return Prices.load()
