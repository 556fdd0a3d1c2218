"""Words for dates, as people type them: each is a span of time, from its first moment to its last."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final, NamedTuple

from claude_session_player.errors import BadFilter
from claude_session_player.times import local_now

UNDERSTOOD: Final = (
    "2026-01-17, 2026-01, 2026, today, yesterday, 7d, 12h, 2w, week, month, year, "
    "last month, or a time like 2026-01-17T20:31"
)


class Span(NamedTuple):
    """From a moment to just before another."""

    start: datetime
    end: datetime


_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}
_DAYS_AGO: Final = {"today": 0, "yesterday": 1}
_AGO: Final = r"(\d{1,6})([hdw])"
_DAY: Final = r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?"
_PERIOD: Final = r"(?:(this|last)\s+)?(week|month|year)"
"""Patterns of what may be typed; most commands never need them, so they are compiled when they are first used."""


def parse_span(text: str, now: datetime | None = None) -> Span:
    """The span that a word stands for, in the zone in which times are shown; raises `BadFilter`.

    >>> noon = datetime.fromisoformat("2026-03-01T12:00:00+01:00")
    >>> [str(moment) for moment in parse_span("yesterday", noon)]
    ['2026-02-28 00:00:00+01:00', '2026-03-01 00:00:00+01:00']
    >>> [f"{moment:%m-%d}" for word in ("week", "this month", "last month") for moment in parse_span(word, noon)]
    ['02-23', '03-02', '03-01', '04-01', '02-01', '03-01']
    >>> str(parse_span("12h", noon).start)
    '2026-03-01 00:00:00+01:00'
    """
    now = now or local_now()
    zone = now.tzinfo
    word = text.strip().lower()
    try:
        if match := re.fullmatch(_AGO, word):
            passed = timedelta(**{_UNITS[match[2]]: int(match[1])})
            moment = (now.astimezone(UTC) - passed).astimezone(zone)  # hours that passed, not those of the wall clock
            return Span(moment, moment)
        if (span := _named(word, now.date()) or _calendar(word)) is not None:
            return Span(*(_local(datetime.combine(day, time()), zone) for day in span))
        moment = _local(datetime.fromisoformat(text.strip()), zone)
    except (ValueError, OverflowError) as error:
        raise BadFilter(f"{text!r} is no date or time that is understood: write {UNDERSTOOD}") from error
    return Span(moment, moment)


def _named(word: str, today: date) -> tuple[date, date] | None:
    if word in _DAYS_AGO:
        day = today - timedelta(days=_DAYS_AGO[word])
        return day, day + timedelta(days=1)
    if match := re.fullmatch(_PERIOD, word):
        start, end = _period(match[2], today)
        return (_period(match[2], start - timedelta(days=1))[0], start) if match[1] == "last" else (start, end)
    return None


def _period(kind: str, day: date) -> tuple[date, date]:
    """The week, from Monday on, the month or the year of a day, and the first day behind it."""
    if kind == "week":
        start = day - timedelta(days=day.weekday())
        return start, start + timedelta(days=7)
    if kind == "month":
        start = day.replace(day=1)
        return start, (start + timedelta(days=32)).replace(day=1)
    start = day.replace(month=1, day=1)
    return start, start.replace(year=start.year + 1)


def _calendar(word: str) -> tuple[date, date] | None:
    if not (match := re.fullmatch(_DAY, word)):
        return None
    year, month, day = match.groups()
    start = date(int(year), int(month or 1), int(day or 1))
    return (start, start + timedelta(days=1)) if day else _period("month" if month else "year", start)


def _local(moment: datetime, zone: tzinfo | None) -> datetime:
    """A moment of the wall clock in a zone."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    moment.astimezone(UTC)  # fails here, where it is caught, and not later
    return moment
