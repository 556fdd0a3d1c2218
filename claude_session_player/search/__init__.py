"""Full-text search: an index of words that is kept up to date, and exact scans that need none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.util.lazy import lazy_attributes

if TYPE_CHECKING:
    from claude_session_player.search.engine import StoreSearch as StoreSearch
    from claude_session_player.search.hits import (
        HITS_SHOWN as HITS_SHOWN,
        ORDERS as ORDERS,
        Hit as Hit,
        Hits as Hits,
        SearchOptions as SearchOptions,
        SearchReport as SearchReport,
        SessionHits as SessionHits,
    )
    from claude_session_player.search.index import IndexStatus as IndexStatus, SearchIndex as SearchIndex
    from claude_session_player.search.query import parse_query as parse_query
    from claude_session_player.search.scan import scan_store as scan_store

_HOMES = {
    "StoreSearch": "engine",
    "scan_store": "scan",
    "IndexStatus": "index",
    "SearchIndex": "index",
    "HITS_SHOWN": "hits",
    "ORDERS": "hits",
    "Hit": "hits",
    "Hits": "hits",
    "SearchOptions": "hits",
    "SearchReport": "hits",
    "SessionHits": "hits",
    "parse_query": "query",
}
"""The module of each public name, imported when the name is first used."""
_EXTRA_LIBRARY = "tantivy"

if not TYPE_CHECKING:  # else any name would do
    _get_attribute, __dir__ = lazy_attributes(__name__, _HOMES)

    def __getattr__(name: str) -> object:
        try:
            return _get_attribute(name)
        except ModuleNotFoundError as error:
            if error.name != _EXTRA_LIBRARY:
                raise
            from claude_session_player.errors import MissingExtra
            from claude_session_player.util.installing import install_command

            message = (
                f"search needs {_EXTRA_LIBRARY}: install it with {install_command(_EXTRA_LIBRARY)}, "
                "or use --exact TEXT or --regex RE, which work without it"
            )
            raise MissingExtra(message) from error
