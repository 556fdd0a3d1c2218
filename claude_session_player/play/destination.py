"""Where somebody wants to go: a line, a part of the film, a time into it, or a moment."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from claude_session_player.errors import BadFilter
from claude_session_player.play.film import Film
from claude_session_player.play.player import Player
from claude_session_player.times import parse_time

HOW: Final = "a line (120), a part (50%), a time into it (1:30), or a moment (2026-01-17 20:31:59)"


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
        return Moment(parse_time(words).timestamp())
    except (ValueError, OverflowError):
        raise BadFilter(f"{text!r} is no place: write {HOW}") from None


def seek(player: Player, film: Film, place: Destination) -> None:
    """Let a player that has loaded a film go somewhere."""
    match place:
        case Line(number):
            player.seek(film.frame_of(number))
        case Part(fraction):
            player.seek_fraction(fraction)
        case Elapsed(seconds):
            player.seek_elapsed(seconds)
        case Moment(seconds):
            player.seek_time(seconds)


def _elapsed(match: re.Match[str]) -> Destination:
    hours, minutes, seconds = match.groups()
    return Elapsed(int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds))


_KINDS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Destination]], ...]] = (
    (re.compile(r"([0-9]{1,12})"), lambda match: Line(int(match[1]))),
    (re.compile(r"([0-9]{1,3}(?:\.[0-9]+)?) ?%"), lambda match: Part(min(float(match[1]), 100.0) / 100)),
    (re.compile(r"(?:([0-9]+):)?([0-9]+):([0-9]+(?:\.[0-9]+)?)"), _elapsed),
)
