"""Formats times, sizes, durations and counts for people."""

from __future__ import annotations

import os
import re
import time as clocks
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final

from claude_session_player.errors import BadFilter
from claude_session_player.util.times import display_zone, parse_time, to_zone

if TYPE_CHECKING:
    from decimal import Decimal

UNKNOWN: Final = "unknown"
_STEPS: Final = ((60, "s"), (60, "min"), (24, "h"), (7, "d"))
_HOUR_SECONDS: Final = 60 * 60
_YEAR_DAYS: Final = 365
_SIZES: Final = ("B", "KB", "MB", "GB", "TB")
_THOUSANDS: Final = ("", " k", " M", " G", " T")
_EIGHTHS: Final = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_UNITS: Final = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
_SPANS: Final = (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1))
_KILO: Final = 1024
"""KB, MB and GB are powers of 1024, in what is printed and in what is typed."""
_TYPED_SIZE: Final = r"(\d{1,15}(?:\.\d{1,9})?) ?(?:([kmgt])i?b?|b)?"
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
UNDERSTOOD_SIZES: Final = "500KB, 10MB, 1.5GB, or a number of bytes"
UNKNOWN_TIME: Final = "Unknown time"
_ends_as_usual = re.compile(r"\d:[0-5]\d\.\d{3}Z", re.ASCII).fullmatch
"""Matches the usual end of a time, from the last digit of its minutes."""
_DAY, _TENS, _MINUTE, _SECOND = 10, 15, 16, 19
"""The positions where the parts of a time end; the tens are those of minutes."""


def ago(time: str, now: datetime) -> str:
    """How long ago a time was, or its local date if that is more than a week.

    >>> ago("2026-01-17T20:00:00Z", parse_time("2026-01-17T22:30:00Z"))
    '2 h ago'
    >>> ago("2026-01-17T20:00:00Z", parse_time("2026-01-17T20:00:10Z"))
    'just now'
    """
    try:
        moment = to_zone(parse_time(time), now.tzinfo)
    except (ValueError, OverflowError):
        return time[:10]
    left = now.timestamp() - moment.timestamp()
    if left < 0:
        return f"{moment.date()} {moment:%H:%M}"
    if left < _STEPS[0][0]:
        return "just now"
    for step, unit in _STEPS:
        if left < step:
            return f"{int(left)} {unit} ago"
        left /= step
    return str(moment.date())


def short_time(time: str, now: datetime) -> str:
    """A local time in 11 characters, with time of day; only the date if it is more than a year ago.

    >>> now = parse_time("2026-01-17T22:30:00Z")
    >>> [short_time(time, now) for time in ("2026-01-17T22:18:00Z", "2026-01-17T20:00:00Z", "2025-08-20T15:29:31Z")]
    ['12 min ago', 'today 20:00', '08-20 15:29']
    >>> short_time("2024-11-19T15:29:31Z", now), short_time("2026-01-17T22:30:01Z", now)
    ('2024-11-19', '2026-01-17')
    """
    try:
        moment = to_zone(parse_time(time), now.tzinfo)
    except (ValueError, OverflowError):
        return time[:10]
    left, days = now.timestamp() - moment.timestamp(), (now.date() - moment.date()).days
    if 0 <= left < _HOUR_SECONDS:
        return ago(time, now)
    if left < 0 or days >= _YEAR_DAYS:
        return str(moment.date())
    return f"{moment:%m-%d %H:%M}" if days else f"today {moment:%H:%M}"


def in_brackets(words: str) -> str:
    """Words in brackets, unless they are only a date.

    >>> in_brackets("2 h ago"), in_brackets("2026-01-17")
    (' (2 h ago)', '')
    """
    return "" if words[:1].isdigit() and "-" in words else f" ({words})"


def local_time(time: str | None, now: datetime) -> str:
    """A time in the zone of `now`.

    >>> now = parse_time("2026-01-18T00:00:00+01:00")
    >>> local_time("2026-01-17T20:31:59.197Z", now), local_time("0001-01-02T03:04:05Z", now)
    ('2026-01-17 21:31:59', '0001-01-02 04:04:05')
    """
    try:
        moment = to_zone(parse_time(time or ""), now.tzinfo)
    except (ValueError, OverflowError):
        return UNKNOWN
    return f"{moment.date()} {moment:%H:%M:%S}"


class _Beginnings(dict[str, str]):
    """Beginnings of times in UTC, and the same in a zone: converting every time would slow `show` down.

    All times with the same beginning, up to the tens of minutes or else to the minute, have the same beginning in the
    zone, unless the offset changes meanwhile, or is not a multiple of ten minutes or one: then it is empty. A property
    compares the result with plain conversion.
    """

    def __init__(self, zone: tzinfo, tzname: tuple[str, str]) -> None:
        self.zone = zone
        self.tzname = tzname

    def __missing__(self, beginning: str) -> str:
        """Convert a beginning that was not converted before."""
        length = len(beginning)
        reach = timedelta(minutes=10 if length == _TENS else 1)
        try:
            first = parse_time(f"{beginning}{'0:00Z' if length == _TENS else ':00Z'}")
            local = to_zone(first, self.zone)
            offset = local.utcoffset() or timedelta()
            last = to_zone(first + reach - timedelta(seconds=1), self.zone)
            is_same = last.utcoffset() == offset and not offset % reach
        except (ValueError, OverflowError):
            is_same = False
        self[beginning] = found = local.isoformat(" ")[:length] if is_same else ""
        return found


_beginnings = _Beginnings(UTC, clocks.tzname)


def _known_beginnings(zone: tzinfo) -> _Beginnings:
    """The beginnings of a zone; they are discarded if the zone, or TZ of the process, has changed."""
    global _beginnings
    if _beginnings.zone is not zone or _beginnings.tzname is not clocks.tzname:
        _beginnings = _Beginnings(zone, clocks.tzname)
    return _beginnings


def transcript_time(text: str | None, given: tzinfo | None = None) -> str:
    """A time as a transcript shows it: to the second, in the display zone or a given one.

    >>> [transcript_time(time, UTC) for time in ("2026-01-17T20:31:59.197Z", "2026-01-17T21:31:59+01:00", None)]
    ['2026-01-17 20:31:59', '2026-01-17 20:31:59', 'Unknown time']
    """
    if not text:
        return UNKNOWN_TIME
    target = given or display_zone()
    if _ends_as_usual(text, _TENS):
        beginnings = _beginnings
        if beginnings.zone is not target or beginnings.tzname is not clocks.tzname:
            beginnings = _known_beginnings(target)
        if beginning := beginnings[text[:_TENS]]:
            return beginning + text[_TENS:_SECOND]
        if beginning := beginnings[text[:_MINUTE]]:
            return beginning + text[_MINUTE:_SECOND]
    try:
        return to_zone(parse_time(text), target).isoformat(" ", "seconds")[:_SECOND]
    except (ValueError, OverflowError):
        return UNKNOWN_TIME


def day_of(text: str) -> str | None:
    """The day of a time in the display zone; `None` if the time is invalid.

    >>> day_of("2026-01-17T20:31"), day_of("soon")
    ('2026-01-17', None)
    """
    if len(text) == _MINUTE and (beginning := _known_beginnings(display_zone())[text[:_TENS]]):
        return beginning[:_DAY]
    try:
        return to_zone(parse_time(text), display_zone()).date().isoformat()
    except (ValueError, OverflowError):
        return None


def short_duration(seconds: float) -> str:
    """A duration in its two largest units.

    >>> short_duration(0), short_duration(75), short_duration(7500), short_duration(200000)
    ('0s', '1m 15s', '2h 5m', '2d 7h')
    """
    whole = int(seconds)
    for unit, length, lesser, lesser_length in _SPANS:
        if whole >= length:
            rest = whole % length // lesser_length
            return f"{whole // length}{unit} {rest}{lesser}" if rest else f"{whole // length}{unit}"
    return f"{whole}s"


def minutes_duration(seconds: float) -> str:
    """A duration of a minute or more without its seconds.

    >>> minutes_duration(2599), minutes_duration(7500), minutes_duration(59)
    ('43m', '2h 5m', '59s')
    """
    return short_duration(seconds if seconds < 60 else seconds - seconds % 60)


def duration_words(seconds: float) -> str:
    """A duration in its two largest units, in words.

    >>> duration_words(2700), duration_words(3660), duration_words(1), duration_words(0), duration_words(200000)
    ('45 minutes', '1 hour 1 minute', '1 second', '0 seconds', '2 days 7 hours')
    """
    left, parts = int(seconds), []
    for unit, length in _UNITS:
        parts.append((left // length, unit))
        left %= length
    first = next((number for number, (value, _) in enumerate(parts) if value), len(parts) - 1)
    return " ".join(plural(value, unit) for value, unit in parts[first : first + 2] if value or first == len(parts) - 1)


def clock_time(seconds: float) -> str:
    """A position in a recording, as players show it.

    >>> clock_time(5.9), clock_time(754), clock_time(3725)
    ('0:05', '12:34', '1:02:05')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(count: int) -> str:
    """A number of bytes.

    >>> size(0), size(1536), size(2_340_000), size(10 * 1024 * 1024), size(1024 * 1024 - 1)
    ('0 B', '1.5 KB', '2.2 MB', '10 MB', '1.0 MB')
    """
    value = float(count)
    for unit in _SIZES:
        if value < _KILO - 0.5 or unit == _SIZES[-1]:
            return f"{value:.0f} {unit}" if value.is_integer() or value >= 99.95 else f"{value:.1f} {unit}"
        value /= _KILO
    raise AssertionError


def parse_size(text: str) -> int:
    """Parse a number of bytes as people type it; raises `BadFilter`.

    >>> parse_size("10MB"), parse_size("1.5 kb"), parse_size("2GiB"), parse_size("512")
    (10485760, 1536, 2147483648, 512)
    """
    match = re.fullmatch(_TYPED_SIZE, text.strip(), re.IGNORECASE | re.ASCII)
    if match is None:
        raise BadFilter(f"{text!r} is not a size: write {UNDERSTOOD_SIZES}")
    number, unit = match.groups()
    return int(float(number) * _KILO ** _POWERS[(unit or "").lower()])


def short_number(count: int) -> str:
    """A number in about three digits.

    >>> short_number(0), short_number(999), short_number(12_345), short_number(99_960), short_number(2_340_000)
    ('0', '999', '12.3 k', '100 k', '2.3 M')
    """
    value = float(count)
    for unit in _THOUSANDS:
        if value < 999.5 or unit == _THOUSANDS[-1]:
            return f"{value:.0f}{unit}" if not unit or value >= 99.95 else f"{value:.1f}{unit}"
        value /= 1000
    raise AssertionError


def plural(count: int, thing: str, things: str = "") -> str:
    """A count of things; `things` is their plural if it is irregular.

    >>> plural(1, "session"), plural(0, "entry"), plural(12_000, "response"), plural(2, "branch")
    ('1 session', '0 entries', '12,000 responses', '2 branches')
    """
    return f"{count:,} {noun_for(count, thing, things)}"


def noun_for(count: int, thing: str, things: str = "") -> str:
    """The singular or plural of a noun, as a count needs it: with -s, with -es after a hiss, with -ies for -y.

    >>> noun_for(1, "Branch"), noun_for(2, "Branch"), noun_for(2, "query"), noun_for(0, "day"), noun_for(2, "is", "are")
    ('Branch', 'Branches', 'queries', 'days', 'are')
    """
    if count == 1:
        return thing
    if thing.endswith("y") and thing[-2:-1] not in "aeiou":
        return things or f"{thing[:-1]}ies"
    return things or (f"{thing}es" if thing.endswith(("s", "x", "z", "ch", "sh")) else f"{thing}s")


def dollars(cost: Decimal | None, unpriced: int = 0) -> str:
    """A cost; `≥` if the price of a part of it is unknown.

    >>> from decimal import Decimal
    >>> dollars(Decimal("1234.5")), dollars(Decimal("0.004")), dollars(None), dollars(Decimal(3), unpriced=9)
    ('$1,234.50', '<$0.01', '?', '≥$3.00')
    """
    if cost is None:
        return "?"
    least = "≥" if unpriced else ""
    return "<$0.01" if 0 < cost * 100 < 1 and not unpriced else f"{least}${cost:,.2f}"


def cost_so_far(cost: Decimal | None, unpriced: int = 0) -> str:
    """The same for what may not have begun yet: nothing as long as nothing was used, `?` if no price is known.

    >>> from decimal import Decimal
    >>> cost_so_far(Decimal()), cost_so_far(Decimal(3), 2), cost_so_far(Decimal(), 2), cost_so_far(None)
    ('', '≥$3.00', '?', '')
    """
    return dollars(cost or None, unpriced) if cost or unpriced else ""


def share_bar(share: float, width: int) -> str:
    """A bar for a share of a width; it is empty only for zero.

    >>> share_bar(1, 4), share_bar(0.4, 4), share_bar(0.0001, 4), share_bar(0, 4)
    ('████', '█▋', '▏', '')
    """
    eighths = max(round(share * width * 8), 1) if share > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8]


def short_model_name(name: str | None) -> str:
    """A model's name without its usual prefix and its date.

    >>> short_model_name("claude-opus-4-5-20251101"), short_model_name("glm-4.6"), short_model_name(None)
    ('opus-4-5', 'glm-4.6', '')
    """
    short = (name or "").removeprefix("claude-")
    head, dash, date = short.rpartition("-")
    return head if dash and len(date) == 8 and date.isdigit() else short


def path_from_cwd(path: str) -> str:
    """A path relative to the working directory, if it is below it.

    >>> path_from_cwd("/nowhere/else")
    '/nowhere/else'
    """
    return path.removeprefix(os.path.join(os.getcwd(), ""))


def path_from(path: str, folder: str | None) -> str:
    """A path relative to a directory, if it is below it; of any operating system.

    >>> path_from("/home/ada/kettle.py", "/home/ada"), path_from("/home/adam", "/home/ada")
    ('kettle.py', '/home/adam')
    """
    parent = (folder or "").rstrip("/\\")
    rest = path.removeprefix(parent) if parent else path
    return rest[1:] if parent and len(rest) > 1 and rest != path and rest[0] in "/\\" else path
