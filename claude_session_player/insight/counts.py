"""What is counted in a session, when all of its lines have been read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from claude_session_player import collector
from claude_session_player.insight.durations import Span, span_of
from claude_session_player.insight.tally import CHANGED, READ, Tally
from claude_session_player.parser import open_session

_BATCH: Final = 1 << 18
_LINES: Final = 1000


class Counts(NamedTuple):
    """What was counted; see `SessionSummary`."""

    span: Span
    versions: tuple[str, ...]
    prompts: int
    tools: dict[str, int]
    errors: int
    compactions: int
    forks: int
    files_read: int
    files_changed: int


def counts_of_file(path: str, *, skips_sidechains: bool = False) -> Counts:
    """What is counted in a file, with or without the lines of sub-agents; raises `CannotRead`."""
    with open_session(path) as file:
        return _counts(iter(lambda: file.readlines(_BATCH), []), Tally(skips_sidechains=skips_sidechains))


def counts_of_lines(lines: Iterable[bytes]) -> Counts:
    """What is counted in some lines."""
    rest = iter(lines)
    return _counts(iter(lambda: list(islice(rest, _LINES)), []), Tally())


def _counts(batches: Iterator[list[bytes]], tally: Tally) -> Counts:
    with collector.paused():
        for batch in batches:
            tally.take(batch)
        return Counts(
            span_of(tally.times),
            tuple(tally.versions),
            tally.prompts,
            dict(Counter(tally.tools).most_common()),
            tally.errors,
            tally.compactions,
            tally.count_forks(),
            tally.count_files(READ),
            tally.count_files(CHANGED),
        )
