"""Time as data: how long each frame of a session is waited for. Pure functions, and nothing of a clock.

All times are in seconds. The first frame is never waited for. A time that is missing, or that goes backwards, gives no
delay at all: the order of a session is that of its lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.errors import BadFilter
from claude_session_player.util.times import parse_typed_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

DEFAULT_IDLE: Final = 2.0
"""The longest pause that is kept, unless somebody asks for another."""
SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

_SHORTEST: Final = 0.3
_LONGEST: Final = 5.0
_READING: Final = 80
"""Characters that somebody reads in a second, roughly."""


class Pace(Enum):
    """What decides how long a frame is waited for."""

    CAPPED = "capped"
    """The session's own time, without its long pauses."""
    REAL = "real time"
    """The session's own time, with all its pauses."""
    PACED = "paced"
    """A time that fits the length of what appears."""


def frame_delays(times: Iterable[float | None]) -> Iterator[float]:
    """How long after the one before each frame comes.

    >>> list(frame_delays([10.0, 12.5, None, 13.0, 9.0, 10.0]))
    [0.0, 2.5, 0.0, 0.5, 0.0, 1.0]
    """
    before: float | None = None
    for time in times:
        yield 0.0 if time is None or before is None else max(time - before, 0.0)
        before = before if time is None else time


def cap_delays(waits: Iterable[float], idle: float | None) -> Iterator[float]:
    """The same delays, none of them longer than `idle`; with `None` all are as they were.

    >>> list(cap_delays([0.5, 3600.0], 2.0)), list(cap_delays([3600.0], None))
    ([0.5, 2.0], [3600.0])
    """
    return iter(waits) if idle is None else (min(wait, idle) for wait in waits)


def scale_delays(waits: Iterable[float], speed: float) -> Iterator[float]:
    """The same delays, so many times as fast.

    >>> list(scale_delays([1.0, 3.0], 2.0))
    [0.5, 1.5]
    """
    return (wait / speed for wait in waits)


def pace_delays(sizes: Iterable[int]) -> Iterator[float]:
    """Delays that fit the length of what appears: each frame is waited for until the one before could be read.

    >>> list(pace_delays([80, 0, 100_000, 5]))
    [0.0, 1.3, 0.3, 5.0]
    """
    wait = 0.0
    for size in sizes:
        yield wait
        wait = min(_SHORTEST + size / _READING, _LONGEST)


def frame_at(moments: Sequence[float], moment: float) -> int:
    """The last frame that has appeared at a moment; the first one where none has.

    >>> frame_at([0.0, 2.0, 2.0, 5.0], 2.0), frame_at([0.0, 2.0], 1.9), frame_at([0.0, 2.0], -1.0)
    (2, 0, 0)
    """
    return max(bisect_right(moments, moment) - 1, 0)


def chapter_before(chapters: Sequence[int], frame: int) -> int | None:
    """The last chapter that begins before a frame.

    >>> chapter_before([0, 5, 9], 9), chapter_before([0, 5, 9], 0)
    (5, None)
    """
    place = bisect_left(chapters, frame)
    return chapters[place - 1] if place else None


def chapter_after(chapters: Sequence[int], frame: int) -> int | None:
    """The first chapter that begins after a frame.

    >>> chapter_after([0, 5, 9], 0), chapter_after([0, 5, 9], 9)
    (5, None)
    """
    place = bisect_right(chapters, frame)
    return chapters[place] if place < len(chapters) else None


def histogram(moments: Sequence[float], weights: Sequence[int], columns: int) -> list[int]:
    """How much happens in each of some equal stretches of time.

    >>> histogram([0.0, 1.0, 4.0], [1, 2, 5], 2), histogram([0.0, 3.0], [1, 2], 4), histogram([], [], 2)
    ([3, 5], [1, 1, 1, 1], [0, 0])
    """
    heights = [0] * columns
    total = moments[-1] if moments else 0.0
    if 0 < len(moments) < columns and total > 0:  # each frame is to be seen as long as it stands
        return [weights[frame_at(moments, total * column / columns)] for column in range(columns)]
    for moment, weight in zip(moments, weights, strict=True):
        heights[column_of(moment, total, columns)] += weight
    return heights


def column_of(moment: float, total: float, columns: int) -> int:
    """In which of some equal stretches a moment lies.

    >>> column_of(0.0, 10.0, 5), column_of(10.0, 10.0, 5), column_of(3.0, 0.0, 5)
    (0, 4, 0)
    """
    return min(int(moment / total * columns), columns - 1) if total > 0 else 0


POSITION_HELP: Final = "a line (120), a part (50%), a time into it (1:30), or a moment (2026-01-17 20:31:59)"

POSITION_HINT: Final = "a line: 120, a part: 50%, a time: 1:30, a moment: 2026-01-17 20:31:59"
"""The same, where there is little room."""


class LinePosition(NamedTuple):
    """A line of the file, counted from 1."""

    number: int


class FractionPosition(NamedTuple):
    """A part of the film's time, from 0 to 1."""

    fraction: float


class ElapsedPosition(NamedTuple):
    """Seconds from the beginning of the film."""

    seconds: float


class TimePosition(NamedTuple):
    """A moment, in seconds since 1970."""

    seconds: float


Destination = LinePosition | FractionPosition | ElapsedPosition | TimePosition


def parse_position(text: str) -> Destination:
    """What somebody typed; raises `BadFilter`, which says what can be typed.

    >>> parse_position("120"), parse_position("50%")
    (LinePosition(number=120), FractionPosition(fraction=0.5))
    >>> parse_position("1:02:03"), parse_position("0:30")
    (ElapsedPosition(seconds=3723.0), ElapsedPosition(seconds=30.0))
    >>> parse_position("2026-01-17T20:31:59Z")
    TimePosition(seconds=1768681919.0)
    """
    words = text.strip()
    for pattern, read in _KINDS:
        if match := pattern.fullmatch(words):
            return read(match)
    try:
        return TimePosition(parse_typed_time(words).timestamp())
    except (ValueError, OverflowError):
        raise BadFilter(f"{text!r} is no place; write {POSITION_HINT}") from None


def _elapsed(match: re.Match[str]) -> Destination:
    hours, minutes, seconds = match.groups()
    return ElapsedPosition(int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds))


_KINDS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Destination]], ...]] = (
    (re.compile(r"([0-9]{1,12})"), lambda match: LinePosition(int(match[1]))),
    (re.compile(r"(100|[0-9]{1,2}(?:\.[0-9]+)?) ?%"), lambda match: FractionPosition(float(match[1]) / 100)),
    (re.compile(r"(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-5]?[0-9](?:\.[0-9]+)?)"), _elapsed),
)
