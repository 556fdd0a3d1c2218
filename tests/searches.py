"""Searches for tests: in built stores and in the corpus, with an index in a directory of the test's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from claude_session_player import Session, Store
from claude_session_player.format.line_reader import read_lines
from claude_session_player.parser import decode_lines
from claude_session_player.search import Hits, SearchOptions, StoreSearch
from claude_session_player.search.texts import EventText, event_texts

ALL = SearchOptions(all_matches=True)
WORD = re.compile(r"[^\W_]+")


def open_search(root: Path, cache: Path, **options: bool) -> StoreSearch:
    """A search of a store, brought up to date."""
    search = StoreSearch(Store.open(root, cache=str(cache)), cache=str(cache))
    search.refresh(**options)
    return search


def found_ids(hits: Hits) -> list[str]:
    """The ids of the sessions that were found, in order."""
    return [group.session.id for group in hits]


def places(hits: Hits) -> set[tuple[str, int, str]]:
    """File, line and field of every hit."""
    return {(match.name, match.line, match.field) for group in hits for match in group.matches}


def texts_of(path: Path) -> Iterator[tuple[int, EventText]]:
    """What can be searched in a file, with the number of its line: no index, no queue, no copies."""
    with path.open("rb") as file:
        for number, line in enumerate(read_lines(file)):
            for event in decode_lines((line,), number, 0):
                for text in event_texts(event, line):
                    yield event.line, text


def titles(sessions: list[Session]) -> list[str | None]:
    """The titles of sessions."""
    return [session.title for session in sessions]
