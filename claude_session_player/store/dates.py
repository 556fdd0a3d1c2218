"""Words for dates, as people type them: each is a span of time, from its first moment to its last."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final, NamedTuple

from claude_session_player.errors import BadFilter
from claude_session_player.times import local_now

UNDERSTOOD: Final = "2026-01-17, 2026-01, 2026, today, yesterday, 7d, 12h, 2w, or a time like 2026-01-17T20:31"


class Span(NamedTuple):
    """From a moment to just before another."""

    start: datetime
    end: datetime


_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}
_DAYS_AGO: Final = {"today": 0, "yesterday": 1}
_AGO: Final = re.compile(r"(\d{1,6})([hdw])")
_DAY: Final = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")


def parse_span(text: str, now: datetime | None = None) -> Span:
    """The span that a word stands for, in local time; raises `BadFilter`.

    >>> noon = datetime.fromisoformat("2026-03-01T12:00:00+01:00")
    >>> [str(moment) for moment in parse_span("yesterday", noon)]
    ['2026-02-28 00:00:00+01:00', '2026-03-01 00:00:00+01:00']
    >>> str(parse_span("12h", noon).start)
    '2026-03-01 00:00:00+01:00'
    """
    zone = now.tzinfo if now else None
    if now is None:
        now = local_now()
        zone = UTC if now.tzinfo is UTC else None
    word = text.strip().lower()
    try:
        if match := _AGO.fullmatch(word):
            moment = _local(now - timedelta(**{_UNITS[match[2]]: int(match[1])}), zone)
            return Span(moment, moment)
        if (span := _named(word, now.date()) or _calendar(word)) is not None:
            return Span(*(_local(datetime.combine(day, time()), zone) for day in span))
        moment = _local(datetime.fromisoformat(text.strip()), zone)
    except (ValueError, OverflowError) as error:
        raise BadFilter(f"{text!r} is no date or time that is understood: write {UNDERSTOOD}") from error
    return Span(moment, moment)


def _named(word: str, today: date) -> tuple[date, date] | None:
    if word not in _DAYS_AGO:
        return None
    day = today - timedelta(days=_DAYS_AGO[word])
    return day, day + timedelta(days=1)


def _calendar(word: str) -> tuple[date, date] | None:
    if not (match := _DAY.fullmatch(word)):
        return None
    year, month, day = match.groups()
    start = date(int(year), int(month or 1), int(day or 1))
    if day:
        return start, start + timedelta(days=1)
    if month:
        return start, (start + timedelta(days=32)).replace(day=1)
    return start, start.replace(year=start.year + 1)


def _local(moment: datetime, zone: tzinfo | None) -> datetime:
    """A moment of the wall clock in a zone; without one, in that of the system, summer time and all."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone) if zone else moment.astimezone()
    moment.astimezone(UTC)  # fails here, where it is caught, and not later
    return moment
