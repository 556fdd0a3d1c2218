"""How long something took: from its first moment to its last, and how much of that somebody was at work."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, NamedTuple

from claude_session_player.times import format_time, parse_time

_LENGTH: Final = len("2026-01-17T20:31:59.197Z")
_TENS: Final = len("2026-01-17T20:3")
BREAK: Final = timedelta(minutes=10)
"""A longer gap is a break, in which nobody was at work."""


class Span(NamedTuple):
    """The first and the last moment, as session files write them, and the seconds between; without breaks, too."""

    started: str | None = None
    ended: str | None = None
    seconds: float = 0.0
    active: float = 0.0


def span_of(times: Iterable[str]) -> Span:
    """The span of some times, in whatever order they come; what is no time is passed over.

    They are put in order first: in a file they go back and forth, and a stretch that is there twice is lived once.

    >>> span_of(["2026-01-17T20:00:00.000Z", "2026-01-17T22:00:00.000Z", "2026-01-17T20:05:00.000Z"])[2:]
    (7200.0, 300.0)
    """
    moments = _corners(sorted(times))
    if not moments:
        return Span()
    breaks = (later - earlier for earlier, later in pairwise(moments) if later - earlier > BREAK)
    first, last = moments[0], moments[-1]
    whole = last - first
    active = whole - sum(breaks, timedelta())
    return Span(format_time(first), format_time(last), whole.total_seconds(), active.total_seconds())


def _corners(times: list[str]) -> list[datetime]:
    """The moments of some times in order, as many as are needed to see every break.

    Real files write all times alike: those that begin alike, up to the tens of minutes, have no break between them.
    """
    try:
        if set(map(len, times)) - {_LENGTH} or "".join(times).count("Z") != len(times):
            raise ValueError
        corners, start = [], 0
        while start < len(times):
            end = bisect_right(times, _beginning(times[start]), start, key=_beginning)
            corners += [times[start], times[end - 1]]
            start = end
        return list(map(datetime.fromisoformat, corners))
    except ValueError:
        return sorted(moment for moment in map(_moment, times) if moment is not None)


def _beginning(time: str) -> str:
    return time[:_TENS]


def _moment(text: str) -> datetime | None:
    try:
        moment = parse_time(text)
        format_time(moment)
    except (ValueError, OverflowError):
        return None
    return moment
