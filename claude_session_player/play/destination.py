"""Where somebody wants to go: a line, a part of the film, a time into it, or a moment."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from claude_session_player.errors import BadFilter
from claude_session_player.times import parse_typed_time

HOW: Final = "a line (120), a part (50%), a time into it (1:30), or a moment (2026-01-17 20:31:59)"

BRIEFLY: Final = "a line: 120, a part: 50%, a time: 1:30, a moment: 2026-01-17 20:31:59"
"""The same, where there is little room."""


class Line(NamedTuple):
    """A line of the file, counted from 1."""

    number: int


class Part(NamedTuple):
    """A part of the film's time, from 0 to 1."""

    fraction: float


class Elapsed(NamedTuple):
    """Seconds from the beginning of the film."""

    seconds: float


class Moment(NamedTuple):
    """A moment, in seconds since 1970."""

    seconds: float


Destination = Line | Part | Elapsed | Moment


def destination(text: str) -> Destination:
    """What somebody typed; raises `BadFilter`, which says what can be typed.

    >>> destination("120"), destination("50%"), destination("1:02:03"), destination("0:30")
    (Line(number=120), Part(fraction=0.5), Elapsed(seconds=3723.0), Elapsed(seconds=30.0))
    >>> destination("2026-01-17T20:31:59Z")
    Moment(seconds=1768681919.0)
    """
    words = text.strip()
    for pattern, read in _KINDS:
        if match := pattern.fullmatch(words):
            return read(match)
    try:
        return Moment(parse_typed_time(words).timestamp())
    except (ValueError, OverflowError):
        raise BadFilter(f"{text!r} is no place; write {BRIEFLY}") from None


def _elapsed(match: re.Match[str]) -> Destination:
    hours, minutes, seconds = match.groups()
    return Elapsed(int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds))


_KINDS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Destination]], ...]] = (
    (re.compile(r"([0-9]{1,12})"), lambda match: Line(int(match[1]))),
    (re.compile(r"(100|[0-9]{1,2}(?:\.[0-9]+)?) ?%"), lambda match: Part(float(match[1]) / 100)),
    (re.compile(r"(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-5]?[0-9](?:\.[0-9]+)?)"), _elapsed),
)
