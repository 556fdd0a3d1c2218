"""The timeline of a session: the delays of frames, chapters, a histogram, and positions that a person can type.

These are pure functions without a clock. All times are in seconds. The first frame has no delay. Neither has a frame
whose time is missing, or not later than that of all frames before it: a session has the order of its lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.errors import BadFilter
from claude_session_player.util.humanize import clock_time, plural, transcript_time
from claude_session_player.util.times import parse_typed_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

DEFAULT_IDLE: Final = 2.0
"""The default for the longest pause."""
SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

_MIN_PACED: Final = 0.3
_MAX_PACED: Final = 5.0
_CHARACTERS_PER_SECOND: Final = 80
"""How fast a person reads, roughly."""
_LEAST_CUT: Final = 60.0
"""Seconds that a pause has to lose before the timeline says so."""


class Pace(Enum):
    """How the delay before a frame is determined."""

    CAPPED = "capped"
    """The session's own time, with long pauses shortened."""
    REAL = "real time"
    """The session's own time, with all pauses."""
    PACED = "paced"
    """The time that it takes to read what appears."""
    HIGHLIGHTS = "highlights"
    """The same for prompts, responses, edits and errors; all other frames take no time."""


def frame_delays(times: Iterable[float | None]) -> Iterator[float]:
    """The time that passes until each frame, from the latest time so far: what has passed does not pass again.

    >>> list(frame_delays([10.0, 12.5, None, 13.0, 9.0, 12.0, 14.0]))
    [0.0, 2.5, 0.0, 0.5, 0.0, 0.0, 1.0]
    """
    latest: float | None = None
    for time in times:
        yield 0.0 if time is None or latest is None else max(time - latest, 0.0)
        if time is not None:
            latest = time if latest is None else max(latest, time)


def cap_delays(delays: Iterable[float], idle: float | None) -> Iterator[float]:
    """The same delays, none of them longer than `idle`; with `None` all are kept.

    >>> list(cap_delays([0.5, 3600.0], 2.0)), list(cap_delays([3600.0], None))
    ([0.5, 2.0], [3600.0])
    """
    return iter(delays) if idle is None else (min(delay, idle) for delay in delays)


class CutPause(NamedTuple):
    """A pause that is played much shorter than it was."""

    frame: int
    """The frame that follows it."""
    seconds: float
    """How much of it is left out."""


def find_cuts(real: Iterable[float], played: Iterable[float], first: int = 0) -> Iterator[CutPause]:
    """The pauses that lose at least a minute, from the delays of frames and those that are played.

    >>> list(find_cuts([0.0, 3600.0, 61.0, 70.0], [0.0, 2.0, 2.0, 2.0], first=10))
    [CutPause(frame=11, seconds=3598.0), CutPause(frame=13, seconds=68.0)]
    """
    for frame, (delay, shown) in enumerate(zip(real, played, strict=True), first):
        if delay - shown >= _LEAST_CUT:
            yield CutPause(frame, delay - shown)


def frame_in_column(starts: Sequence[float], column: int, columns: int) -> int:
    """The first frame that appears within one of several equal spans of time; if none does, the one shown there.

    >>> starts = [0.0, 1.0, 2.0, 9.0]
    >>> [frame_in_column(starts, column, 5) for column in range(5)]
    [0, 2, 2, 2, 3]
    """
    total = starts[-1] if starts else 0.0
    frame = bisect_left(starts, column, key=lambda start: column_of(start, total, columns))
    is_there = frame < len(starts) and column_of(starts[frame], total, columns) == column
    return frame if is_there else max(frame - 1, 0)


def scale_delays(delays: Iterable[float], speed: float) -> Iterator[float]:
    """The same delays at a multiple of the normal speed.

    >>> list(scale_delays([1.0, 3.0], 2.0))
    [0.5, 1.5]
    """
    return (delay / speed for delay in delays)


def pace_delays(sizes: Iterable[int]) -> Iterator[float]:
    """Delays by the length of what appears: each frame follows when a person could have read the previous one.

    >>> list(pace_delays([80, 0, 100_000, 5]))
    [0.0, 1.3, 0.3, 5.0]
    """
    delay = 0.0
    for size in sizes:
        yield delay
        delay = min(_MIN_PACED + size / _CHARACTERS_PER_SECOND, _MAX_PACED)


def frame_at(starts: Sequence[float], time: float) -> int:
    """The frame that is shown at a time, by the time at which each starts; the first one before that.

    >>> frame_at([0.0, 2.0, 2.0, 5.0], 2.0), frame_at([0.0, 2.0], 1.9), frame_at([0.0, 2.0], -1.0)
    (2, 0, 0)
    """
    return max(bisect_right(starts, time) - 1, 0)


def chapter_before(chapters: Sequence[int], frame: int) -> int | None:
    """The last chapter that begins before a frame.

    >>> chapter_before([0, 5, 9], 9), chapter_before([0, 5, 9], 0)
    (5, None)
    """
    index = bisect_left(chapters, frame)
    return chapters[index - 1] if index else None


def chapter_after(chapters: Sequence[int], frame: int) -> int | None:
    """The first chapter that begins after a frame.

    >>> chapter_after([0, 5, 9], 0), chapter_after([0, 5, 9], 9)
    (5, None)
    """
    index = bisect_right(chapters, frame)
    return chapters[index] if index < len(chapters) else None


def histogram(starts: Sequence[float], weights: Sequence[int], columns: int) -> list[int]:
    """The total weight of the frames in each of several equal spans of time.

    >>> histogram([0.0, 1.0, 4.0], [1, 2, 5], 2), histogram([0.0, 3.0], [1, 2], 4), histogram([], [], 2)
    ([3, 5], [1, 1, 1, 1], [0, 0])
    """
    heights = [0] * columns
    total = starts[-1] if starts else 0.0
    if 0 < len(starts) < columns and total > 0:  # each frame fills all columns in which it is shown
        return [weights[frame_at(starts, total * column / columns)] for column in range(columns)]
    first = 0
    for column in range(columns):
        behind = bisect_right(starts, column, first, key=lambda start: column_of(start, total, columns))
        heights[column] = sum(weights[first:behind])
        first = behind
    return heights


def column_of(time: float, total: float, columns: int) -> int:
    """The number of the span that contains a time, among equal spans of the total.

    >>> column_of(0.0, 10.0, 5), column_of(10.0, 10.0, 5), column_of(3.0, 0.0, 5)
    (0, 4, 0)
    """
    return min(int(time / total * columns), columns - 1) if total > 0 else 0


POSITION_HELP: Final = (
    "a line (120), a percentage (50%), a playing time (1:30) or a date and time (2026-01-17 20:31:59)"
)
POSITION_HINT: Final = "line: 120, percentage: 50%, playing time: 1:30, time: 2026-01-17 20:31:59"
"""The same in fewer characters."""


class LinePosition(NamedTuple):
    """A line of the file, counted from 1."""

    number: int


def line_position(number: int) -> Destination:
    """A line of the file as a place to go to."""
    return LinePosition(number)


class FractionPosition(NamedTuple):
    """A fraction of the total time, from 0 to 1."""

    fraction: float


class ElapsedPosition(NamedTuple):
    """Seconds of playing from the beginning, at normal speed: pauses count as far as they are played."""

    seconds: float


class TimePosition(NamedTuple):
    """A point in time, in seconds since 1970."""

    seconds: float


Destination = LinePosition | FractionPosition | ElapsedPosition | TimePosition


class Overshoot(NamedTuple):
    """A destination beyond the end, and the end."""

    destination: Destination
    end: Destination
    """Of the same kind."""

    def notice(self, speed: float = 1.0) -> str:
        """What to say to a person who plays at this speed.

        >>> Overshoot(ElapsedPosition(5400.0), ElapsedPosition(343.6)).notice()
        '1:30:00 is beyond the end: the session plays for 5:43'
        >>> Overshoot(ElapsedPosition(60.0), ElapsedPosition(7.0)).notice(speed=4.0)
        '1:00 is beyond the end: at 1× the session plays for 0:07'
        >>> Overshoot(LinePosition(9000), LinePosition(1)).notice()
        'line 9000 is beyond the end: the session has 1 line'
        """
        match self.end:
            case LinePosition(lines):
                fact = f"the session has {plural(lines, 'line')}"
            case TimePosition():
                fact = f"the session ends at {_position_words(self.end)}"
            case _:
                fact = f"{'' if speed == 1 else 'at 1× '}the session plays for {_position_words(self.end)}"
        return f"{_position_words(self.destination)} is beyond the end: {fact}"


def _position_words(position: Destination) -> str:
    match position:
        case LinePosition(number):
            return f"line {number}"
        case FractionPosition(fraction):
            return f"{fraction:.0%}"
        case ElapsedPosition(seconds):
            return clock_time(seconds)
        case TimePosition(seconds):
            return transcript_time(datetime.fromtimestamp(seconds, UTC).isoformat())


def parse_position(text: str) -> Destination:
    """Parse a position that a person typed. Raises `BadFilter`, whose message names what can be typed.

    >>> parse_position("120"), parse_position("50%")
    (LinePosition(number=120), FractionPosition(fraction=0.5))
    >>> parse_position("1:02:03"), parse_position("0:30")
    (ElapsedPosition(seconds=3723.0), ElapsedPosition(seconds=30.0))
    >>> parse_position("2026-01-17T20:31:59Z")
    TimePosition(seconds=1768681919.0)
    """
    stripped = text.strip()
    for pattern, convert in _PATTERNS:
        if match := pattern.fullmatch(stripped):
            return convert(match)
    try:
        return TimePosition(parse_typed_time(stripped).timestamp())
    except (ValueError, OverflowError):
        raise BadFilter(f"{text!r} is not a position; use {POSITION_HINT}") from None


def _elapsed(match: re.Match[str]) -> Destination:
    hours, minutes, seconds = match.groups()
    return ElapsedPosition(int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds))


_PATTERNS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Destination]], ...]] = (
    (re.compile(r"([0-9]{1,12})"), lambda match: LinePosition(int(match[1]))),
    (re.compile(r"(100|[0-9]{1,2}(?:\.[0-9]+)?) ?%"), lambda match: FractionPosition(float(match[1]) / 100)),
    (re.compile(r"(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-5]?[0-9](?:\.[0-9]+)?)"), _elapsed),
)
