"""Searches for tests: in built stores and in the corpus, with an index in a directory of the test's own."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from claude_session_player import Store
from claude_session_player.format.line_reader import read_lines
from claude_session_player.parser import decode_lines
from claude_session_player.search import Hits, SearchOptions, StoreSearch
from claude_session_player.search.texts import EventText, event_texts
from claude_session_player.store import extract

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


@contextmanager
def bytes_read() -> Iterator[list[int]]:
    """How many bytes of session files each read returns, whichever index reads them."""
    sizes: list[int] = []

    class CountingFile(io.FileIO):
        def readinto(self, buffer: Any, /) -> int:
            size = super().readinto(buffer) or 0
            sizes.append(size)
            return size

        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(-1 if size is None else size) or b""
            sizes.append(len(data))
            return data

        def readall(self) -> bytes:
            data = super().readall() or b""
            sizes.append(len(data))
            return data

    with patch.object(io, "FileIO", CountingFile), patch.object(extract, "_open", CountingFile):
        yield sizes
