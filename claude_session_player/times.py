"""Times as session files write them."""

from __future__ import annotations

from datetime import UTC, datetime

_FIRST = datetime.min.replace(tzinfo=UTC).timestamp()
_BEHIND = datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp() + 1
"""The first second of the calendar, and the first one behind it: a zone, or rounding, may lead out of it."""


def parse_time(text: str) -> datetime:
    """An ISO 8601 time; without a zone it is UTC, as session files write it. Raises `ValueError`.

    >>> parse_time("2026-01-17T20:31:59Z") == parse_time("2026-01-17 20:31:59")
    True
    """
    moment = datetime.fromisoformat(text.strip())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def local_now() -> datetime:
    """The moment on the clock of the wall; on that of Greenwich where the system's zone is nonsense."""
    try:
        return datetime.now().astimezone()
    except (ValueError, OverflowError):
        return datetime.now(UTC)


def format_time(moment: datetime) -> str:
    """A moment as session files write it.

    >>> format_time(parse_time("2026-01-17T21:31:59+01:00"))
    '2026-01-17T20:31:59.000Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(text: str | None) -> str | None:
    """A time as session files write it, whatever it is written like; `None` where it is none.

    >>> moment("2026-01-17 20:31:59"), moment("soon"), moment(None)
    ('2026-01-17T20:31:59.000Z', None, None)
    """
    try:
        return format_time(parse_time(text)) if text else None
    except (ValueError, OverflowError):
        return None


def epoch(text: str | None) -> float | None:
    """A time in seconds since 1970; `None` where it is none, or lies in UTC before the year 1 or after 9999.

    >>> epoch("1970-01-01T00:01:00Z"), epoch("soon"), epoch(None), epoch("9999-12-31T23:59:59-14:00")
    (60.0, None, None, None)
    """
    try:
        seconds = parse_time(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None
    return seconds if seconds is not None and _FIRST <= seconds < _BEHIND else None
