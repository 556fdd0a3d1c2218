"""Times as session files write them, and the zone in which people read and type them."""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIRST = datetime.min.replace(tzinfo=UTC).timestamp()
_BEHIND = datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp() + 1
"""The first second of the calendar, and the first one behind it: a zone, or rounding, may lead out of it."""
_IANA: Final = r"[A-Za-z]+(?:/[A-Za-z0-9_+-]+)++"
_SYSTEM_ZONE: Final = "/etc/localtime"
_UTC_NAMES: Final = ("UTC", "UTC0", "GMT0", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu")


class _SystemZone(tzinfo):
    """The zone that TZ names, else that of the machine, with its summer time: `astimezone()` has one fixed offset."""

    _last: tuple[datetime | None, timedelta | None] = None, None
    """The moment that was asked for last, and its offset: one "now" is compared with thousands of times."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        last, offset = self._last
        if moment is not last and moment is not None:
            offset = moment.replace(tzinfo=None).astimezone().utcoffset()
            self._last = moment, offset
        return None if moment is None else offset

    def dst(self, moment: datetime | None) -> timedelta | None:
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return None if moment is None else moment.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, moment: datetime) -> datetime:
        seconds = int(moment.replace(tzinfo=UTC, microsecond=0).timestamp())
        try:
            local = datetime.fromtimestamp(seconds)
        except OSError as error:  # Windows refuses times before 1970
            raise OverflowError(str(error)) from error
        return local.replace(microsecond=moment.microsecond, tzinfo=self)


LOCAL: Final = _SystemZone()


class _Choice:
    """The zone of this process: that of the system, unless --utc is given."""

    zone: tzinfo = LOCAL
    known: tuple[str, str] | None = None
    """`time.tzname` when the system's zone was last looked at; `time.tzset` makes another."""
    is_sound = True


def display_zone() -> tzinfo:
    """The zone in which times are shown, and typed times are read; UTC where that of the system is nonsense."""
    if _Choice.known is not time.tzname:
        _look_at_system()
    return _Choice.zone if _Choice.is_sound else UTC


def _look_at_system() -> None:
    _Choice.known, _Choice.is_sound = time.tzname, True
    try:
        utc_now().astimezone()
    except (ValueError, OverflowError):
        _Choice.is_sound = False


def to_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    """A moment on the clock of a zone, to be shown; that of the system is left to the C library, which is faster."""
    return moment.astimezone(None if zone is LOCAL else zone)


@contextmanager
def using_zone(chosen: tzinfo) -> Iterator[None]:
    """Show and read times in this zone until the end."""
    before, _Choice.zone = _Choice.zone, chosen
    try:
        yield
    finally:
        _Choice.zone = before


def zone_name() -> str:
    """The zone by its name in the database of zones, or, where nothing tells that, by its present offset."""
    if display_zone() is UTC:
        return "UTC"
    told = os.environ.get("TZ")  # empty, it stands for UTC
    name = os.path.realpath(_SYSTEM_ZONE).rpartition("zoneinfo/")[2] if told is None else told.lstrip(":")
    if name in _UTC_NAMES:
        return "UTC"
    if re.fullmatch(_IANA, name) and not name.startswith(time.tzname[0]):  # the C library makes UTC of an unknown name
        return name
    now = local_now()
    return f"UTC{str(now)[-6:]}" if now.utcoffset() else "UTC"


def parse_time(text: str) -> datetime:
    """An ISO 8601 time; without a zone it is UTC, as session files write it. Raises `ValueError`.

    >>> parse_time("2026-01-17T20:31:59Z") == parse_time("2026-01-17 20:31:59")
    True
    """
    moment = datetime.fromisoformat(text.strip())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def parse_typed_time(text: str) -> datetime:
    """An ISO 8601 time as a person types it: without a zone, in the one that is shown. Raises `ValueError`.

    >>> with using_zone(UTC):
    ...     print(parse_typed_time("2026-01-17 20:31"))
    2026-01-17 20:31:00+00:00
    """
    moment = datetime.fromisoformat(text.strip())
    moment = moment if moment.tzinfo else moment.replace(tzinfo=display_zone())
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is out of the calendar") from error


def local_now() -> datetime:
    """The present moment, in the zone in which times are shown."""
    return utc_now().astimezone(display_zone())


def utc_now() -> datetime:
    """The present moment."""
    return datetime.fromtimestamp(wall_clock(), UTC)


def wall_clock() -> float:
    """Seconds since 1970. A clock that Python cannot read, before 1677 or after 2262, stands for none: it is 1970.

    Then every file is one of the future, which counts as in use, and nothing is old enough to be removed.
    """
    try:
        return time.time()
    except OverflowError:
        return 0.0


def format_time(moment: datetime) -> str:
    """A moment as session files write it.

    >>> format_time(parse_time("2026-01-17T21:31:59+01:00"))
    '2026-01-17T20:31:59.000Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def normalize_time(text: str | None) -> str | None:
    """A time as session files write it, whatever it is written like; `None` if it is none.

    >>> normalize_time("2026-01-17 20:31:59"), normalize_time("soon"), normalize_time(None)
    ('2026-01-17T20:31:59.000Z', None, None)
    """
    try:
        return format_time(parse_time(text)) if text else None
    except (ValueError, OverflowError):
        return None


def to_epoch(text: str | None) -> float | None:
    """A time in seconds since 1970; `None` if it is none, or lies in UTC before the year 1 or after 9999.

    >>> to_epoch("1970-01-01T00:01:00Z"), to_epoch("soon"), to_epoch(None), to_epoch("9999-12-31T23:59:59-14:00")
    (60.0, None, None, None)
    """
    try:
        seconds = parse_time(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None
    return seconds if seconds is not None and _FIRST <= seconds < _BEHIND else None


def file_time(mtime_ns: int) -> str:
    """A time of the file system as session files write it; one beyond reason is the earliest there is."""
    try:
        return format_time(datetime.fromtimestamp(mtime_ns / 1e9, UTC))
    except (ValueError, OverflowError, OSError):
        return format_time(datetime.fromtimestamp(0, UTC))
