"""Times as session files write them, and the time zone in which people read and type them."""

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
"""The first second of the calendar, and the first one after it: time zones and rounding can lead out of it."""
_IANA: Final = r"[A-Za-z]+(?:/[A-Za-z0-9_+-]+)++"
_SYSTEM_ZONE: Final = "/etc/localtime"
_UTC_NAMES: Final = ("UTC", "UTC0", "GMT0", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu")


class _SystemZone(tzinfo):
    """The zone that TZ names, else that of the machine, with summer time: that of `astimezone()` has a fixed offset."""

    _last: tuple[datetime | None, timedelta | None] = None, None
    """The last moment and its offset: one "now" is compared with thousands of times."""

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


class _DisplayZone:
    """The display zone of this process: that of the system, unless --utc is given."""

    zone: tzinfo = LOCAL
    known: tuple[str, str] | None = None
    """`time.tzname` when the system's zone was last checked; `time.tzset` makes a new object."""
    is_valid = True


def display_zone() -> tzinfo:
    """The zone in which times are shown and typed; UTC if the zone of the system is invalid."""
    if _DisplayZone.known is not time.tzname:
        _check_system_zone()
    return _DisplayZone.zone if _DisplayZone.is_valid else UTC


def _check_system_zone() -> None:
    _DisplayZone.known, _DisplayZone.is_valid = time.tzname, True
    try:
        utc_now().astimezone()
    except (ValueError, OverflowError):
        _DisplayZone.is_valid = False


def to_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    """A moment in a zone, for display; the zone of the system is left to the C library, which is faster."""
    return moment.astimezone(None if zone is LOCAL else zone)


@contextmanager
def using_zone(chosen: tzinfo) -> Iterator[None]:
    """Show and read times in this zone within the context."""
    before, _DisplayZone.zone = _DisplayZone.zone, chosen
    try:
        yield
    finally:
        _DisplayZone.zone = before


def zone_name() -> str:
    """The display zone by its name in the time zone database, or by its present offset if the name is unknown."""
    if display_zone() is UTC:
        return "UTC"
    variable = os.environ.get("TZ")  # UTC if it is empty
    name = os.path.realpath(_SYSTEM_ZONE).rpartition("zoneinfo/")[2] if variable is None else variable.lstrip(":")
    if name in _UTC_NAMES:
        return "UTC"
    if re.fullmatch(_IANA, name) and not name.startswith(time.tzname[0]):  # the C library takes an unknown name for UTC
        return name
    now = local_now()
    return f"UTC{str(now)[-6:]}" if now.utcoffset() else "UTC"


def parse_time(text: str) -> datetime:
    """An ISO 8601 time; without a zone it is UTC, as in session files. Raises `ValueError`.

    >>> parse_time("2026-01-17T20:31:59Z") == parse_time("2026-01-17 20:31:59")
    True
    """
    moment = datetime.fromisoformat(text.strip())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def parse_typed_time(text: str) -> datetime:
    """An ISO 8601 time as a person types it: without a zone, in the display zone. Raises `ValueError`.

    >>> with using_zone(UTC):
    ...     print(parse_typed_time("2026-01-17 20:31"))
    2026-01-17 20:31:00+00:00
    """
    moment = datetime.fromisoformat(text.strip())
    moment = moment if moment.tzinfo else moment.replace(tzinfo=display_zone())
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is outside the calendar") from error


def local_now() -> datetime:
    """The present moment in the display zone."""
    return utc_now().astimezone(display_zone())


def utc_now() -> datetime:
    """The present moment in UTC."""
    return datetime.fromtimestamp(wall_clock(), UTC)


def wall_clock() -> float:
    """Seconds since 1970; 0 if the clock shows a time that Python cannot represent, before 1677 or after 2262.

    Then every file is newer than now, which counts as in use, and none is old enough to be removed.
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
    """A time in any ISO 8601 form as session files write it; `None` if it is invalid.

    >>> normalize_time("2026-01-17 20:31:59"), normalize_time("soon"), normalize_time(None)
    ('2026-01-17T20:31:59.000Z', None, None)
    """
    try:
        return format_time(parse_time(text)) if text else None
    except (ValueError, OverflowError):
        return None


def to_epoch(text: str | None) -> float | None:
    """A time in seconds since 1970; `None` if it is invalid, or in UTC before the year 1 or after 9999.

    >>> to_epoch("1970-01-01T00:01:00Z"), to_epoch("soon"), to_epoch(None), to_epoch("9999-12-31T23:59:59-14:00")
    (60.0, None, None, None)
    """
    try:
        seconds = parse_time(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None
    return seconds if seconds is not None and _FIRST <= seconds < _BEHIND else None


def file_time(mtime_ns: int) -> str:
    """A time of the file system as session files write it; 1970 if it is outside the calendar."""
    try:
        return format_time(datetime.fromtimestamp(mtime_ns / 1e9, UTC))
    except (ValueError, OverflowError, OSError):
        return format_time(datetime.fromtimestamp(0, UTC))
