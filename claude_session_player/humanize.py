"""Times, sizes, durations and counts, as people read them."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from claude_session_player.times import parse_time

if TYPE_CHECKING:
    from decimal import Decimal

UNKNOWN: Final = "unknown"
_STEPS: Final = ((60, "s"), (60, "min"), (24, "h"), (7, "d"))
_HOUR_SECONDS: Final = 60 * 60
_YEAR_DAYS: Final = 365
_SIZES: Final = ("B", "KB", "MB", "GB", "TB")
_THOUSANDS: Final = ("", " k", " M", " G", " T")
_EIGHTHS: Final = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_is_usual = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").fullmatch
"""True for a time that is written as almost all are."""


def ago(time: str, now: datetime) -> str:
    """How long ago a time was, or its local date where that is more than a week.

    >>> ago("2026-01-17T20:00:00Z", parse_time("2026-01-17T22:30:00Z"))
    '2 h ago'
    >>> ago("2026-01-17T20:00:00Z", parse_time("2026-01-17T20:00:10Z"))
    'just now'
    """
    try:
        moment = parse_time(time).astimezone(now.tzinfo)
    except (ValueError, OverflowError):
        return time[:10]
    left = (now - moment).total_seconds()
    if left < 0:
        return f"{moment:%Y-%m-%d %H:%M}"
    if left < _STEPS[0][0]:
        return "just now"
    for step, unit in _STEPS:
        if left < step:
            return f"{int(left)} {unit} ago"
        left /= step
    return f"{moment:%Y-%m-%d}"


def when(time: str, now: datetime) -> str:
    """A local time in 11 characters that tell two times of one day apart; of more than a year ago, its date alone.

    >>> now = parse_time("2026-01-17T22:30:00Z")
    >>> [when(time, now) for time in ("2026-01-17T22:18:00Z", "2026-01-17T20:00:00Z", "2025-08-20T15:29:31Z")]
    ['12 min ago', 'today 20:00', '08-20 15:29']
    >>> when("2024-11-19T15:29:31Z", now), when("2026-01-17T22:30:01Z", now)
    ('2024-11-19', '2026-01-17')
    """
    try:
        moment = parse_time(time).astimezone(now.tzinfo)
    except (ValueError, OverflowError):
        return time[:10]
    left, days = (now - moment).total_seconds(), (now.date() - moment.date()).days
    if 0 <= left < _HOUR_SECONDS:
        return ago(time, now)
    if left < 0 or days >= _YEAR_DAYS:
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%m-%d %H:%M}" if days else f"today {moment:%H:%M}"


def aside(words: str) -> str:
    """Words in brackets, where they say more than a date does.

    >>> aside("2 h ago"), aside("2026-01-17")
    (' (2 h ago)', '')
    """
    return "" if words[:1].isdigit() and "-" in words else f" ({words})"


def local(time: str | None, now: datetime) -> str:
    """A time on the clock of the wall.

    >>> local("2026-01-17T20:31:59.197Z", parse_time("2026-01-18T00:00:00+01:00"))
    '2026-01-17 21:31:59'
    """
    try:
        return f"{parse_time(time or '').astimezone(now.tzinfo):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError):
        return UNKNOWN


def shown_time(text: str | None) -> str:
    """A time as a conversation shows it: in UTC, as session files write it.

    >>> shown_time("2026-01-17T20:31:59.197Z"), shown_time("2026-01-17T21:31:59+01:00"), shown_time(None)
    ('2026-01-17 20:31:59', '2026-01-17 20:31:59', 'Unknown time')
    """
    if not text:
        return "Unknown time"
    if _is_usual(text):
        return f"{text[:10]} {text[11:19]}"
    try:
        return parse_time(text).astimezone(UTC).isoformat(" ", "seconds")[:19]
    except (ValueError, OverflowError):
        return "Unknown time"


def span(seconds: float) -> str:
    """A duration in its two largest units.

    >>> span(0), span(75), span(7500), span(200000)
    ('0s', '1m 15s', '2h 5m', '2d 7h')
    """
    whole = int(seconds)
    parts = (("d", whole // 86400), ("h", whole // 3600 % 24), ("m", whole // 60 % 60), ("s", whole % 60))
    first = next((number for number, (_, value) in enumerate(parts) if value), len(parts) - 1)
    return " ".join(f"{value}{unit}" for unit, value in parts[first : first + 2] if value or whole == 0)


def size(count: int) -> str:
    """A number of bytes.

    >>> size(0), size(1500), size(2_340_000)
    ('0 B', '1.5 KB', '2.3 MB')
    """
    number = float(count)
    for unit in _SIZES:
        if number < 999.5 or unit == _SIZES[-1]:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 99.95 else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError


def number(count: int) -> str:
    """A number in three digits or so.

    >>> number(0), number(999), number(12_345), number(99_960), number(2_340_000)
    ('0', '999', '12.3 k', '100 k', '2.3 M')
    """
    value = float(count)
    for unit in _THOUSANDS:
        if value < 999.5 or unit == _THOUSANDS[-1]:
            return f"{value:.0f}{unit}" if not unit or value >= 99.95 else f"{value:.1f}{unit}"
        value /= 1000
    raise AssertionError


def many(count: int, thing: str) -> str:
    """So many things.

    >>> many(1, "session"), many(0, "session"), many(12_000, "response")
    ('1 session', '0 sessions', '12000 responses')
    """
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def dollars(cost: Decimal | None, unpriced: int = 0) -> str:
    """What something cost; a sign tells where a part of it has no price.

    >>> from decimal import Decimal
    >>> dollars(Decimal("1234.5")), dollars(Decimal("0.004")), dollars(None), dollars(Decimal(3), unpriced=9)
    ('$1,234.50', '<$0.01', '?', '≥$3.00')
    """
    if cost is None:
        return "?"
    least = "≥" if unpriced else ""
    return "<$0.01" if 0 < cost * 100 < 1 and not unpriced else f"{least}${cost:,.2f}"


def bar(share: float, width: int) -> str:
    """A bar of a share of a width; what is there at all can be seen.

    >>> bar(1, 4), bar(0.4, 4), bar(0.0001, 4), bar(0, 4)
    ('████', '█▋', '▏', '')
    """
    eighths = max(round(share * width * 8), 1) if share > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8]


def model(name: str | None) -> str:
    """A model's name without what all of them share.

    >>> model("claude-opus-4-5-20251101"), model("glm-4.6"), model(None)
    ('opus-4-5', 'glm-4.6', '')
    """
    short = (name or "").removeprefix("claude-")
    head, dash, date = short.rpartition("-")
    return head if dash and len(date) == 8 and date.isdigit() else short


def near(path: str) -> str:
    """A path as seen from here, where it is below.

    >>> near("/nowhere/else")
    '/nowhere/else'
    """
    return path.removeprefix(os.path.join(os.getcwd(), ""))


def below(path: str, folder: str | None) -> str:
    """A path as seen from a directory, where it is below; of any system.

    >>> below("/home/ada/kettle.py", "/home/ada"), below("/home/adam", "/home/ada")
    ('kettle.py', '/home/adam')
    """
    parent = (folder or "").rstrip("/\\")
    rest = path.removeprefix(parent) if parent else path
    return rest[1:] if parent and len(rest) > 1 and rest != path and rest[0] in "/\\" else path
