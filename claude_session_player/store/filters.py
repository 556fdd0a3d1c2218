"""Filters: which sessions are wanted, and in which order."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.errors import BadFilter
from claude_session_player.util.text import display_path
from claude_session_player.util.times import format_time, local_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.store.session import Session

SORT_KEYS: Final[dict[str, tuple[Callable[[Session], Any], bool]]] = {
    "updated": (lambda session: session.updated_at, True),
    "created": (lambda session: session.created_at or "", True),
    "duration": (lambda session: session.duration_seconds, True),
    "events": (lambda session: session.conversation.events, True),
    "size": (lambda session: session.file.stamp.size, True),
    "tokens": (lambda session: sum(session.conversation.usage), True),
    "subagents": (lambda session: session.subagent_count, True),
    "title": (lambda session: (session.title or "").casefold(), False),
    "project": (lambda session: (session.project or "").casefold(), False),
}
"""What sessions can be sorted by, and whether the largest comes first."""
_CONDITIONS: Final = ("project", "cwd", "since", "before", "model", "branch", "title")


class Filter(NamedTuple):
    """Selects and sorts sessions of a store. Texts match anywhere and ignore case.

    A session is between `since` and `before` if any part of it is.
    """

    project: str | None = None
    cwd: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    model: str | None = None
    branch: str | None = None
    title: str | None = None
    include_subagents: bool = False
    sort: str = "updated"
    reverse: bool = False
    limit: int | None = None
    offset: int = 0
    include_orphans: bool = False
    """Whether sub-agents whose session has no file are included."""
    include_headless: bool = True
    """Whether sessions are included that no person sat at."""

    @property
    def conditions(self) -> list[tuple[str, str | datetime]]:
        """The conditions on a session itself, by name; the order and the number of sessions do not count."""
        values = [(name, getattr(self, name)) for name in _CONDITIONS]
        return [(name, value) for name, value in values if value is not None]

    def includes(self, time: str | None) -> bool:
        """True for a time, as session files write it, between `since` and `before`; an unknown one is not excluded."""
        since, before = self.since, self.before
        if time is None:
            return True
        return (since is None or time >= format_time(since)) and (before is None or time < format_time(before))

    @property
    def is_narrow(self) -> bool:
        """True if there is any condition on a session itself."""
        return bool(self.conditions)

    def apply(self, sessions: Iterable[Session]) -> list[Session]:
        """The selected sessions, sorted. Raises `BadFilter`."""
        if self.sort not in SORT_KEYS:
            raise BadFilter(f"cannot sort by {self.sort!r}: use {', '.join(SORT_KEYS)}")
        if self.offset < 0 or (self.limit is not None and self.limit < 0):
            raise BadFilter("limit and offset cannot be negative")
        key, largest_first = SORT_KEYS[self.sort]
        rules = list(self._rules())
        wanted = [session for session in sessions if all(rule(session) for rule in rules)]
        wanted.sort(key=lambda session: (session.id, session.path))
        wanted.sort(key=key, reverse=largest_first != self.reverse)
        end = None if self.limit is None else self.offset + self.limit
        return wanted[self.offset : end]

    def _rules(self) -> Iterator[Callable[[Session], bool]]:
        """The rules that a session must meet, one for each condition."""
        if not self.include_subagents:
            orphans = self.include_orphans
            yield lambda session: not session.is_subagent or (orphans and session.is_orphan)
        if not self.include_headless:
            yield lambda session: not session.ran_headless
        if (project := self.project) is not None:
            yield lambda session: _in(project, session.project, session.file.project)
        if (cwd := self.cwd) is not None:
            yield lambda session: _in(cwd, *session.facts.cwds)
        if (model := self.model) is not None:
            yield lambda session: _in(model, *session.conversation.models)
        if (branch := self.branch) is not None:
            yield lambda session: _in(branch, *session.facts.branches)
        if (title := self.title) is not None:
            yield lambda session: _in(title, session.title)
        if self.since is not None:
            since = format_time(self.since)
            yield lambda session: session.updated_at >= since
        if self.before is not None:
            before = format_time(self.before)
            yield lambda session: (session.created_at or session.updated_at) < before


def _in(word: str, *texts: str | None) -> bool:
    wanted = word.casefold()
    return any(text and wanted in display_path(text).casefold() for text in texts)


DATE_EXAMPLES: Final = (
    "2026-01-17, 2026-01, 2026, today, yesterday, 7d, 12h, 2w, week, month, year, "
    "last month, or a time like 2026-01-17T20:31"
)


class DateSpan(NamedTuple):
    """A time span: `end` is not part of it."""

    start: datetime
    end: datetime


_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}
_DAYS_AGO: Final = {"today": 0, "yesterday": 1}
_AGO: Final = r"(\d{1,6})([hdw])"
_DAY: Final = r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?"
_PERIOD: Final = r"(?:(this|last)\s+)?(week|month|year)"
"""Patterns of what may be typed, compiled on first use: most commands never need them."""


def parse_date_span(text: str, now: datetime | None = None) -> DateSpan:
    """The span that a text stands for, in the zone in which times are shown; raises `BadFilter`.

    >>> noon = datetime.fromisoformat("2026-03-01T12:00:00+01:00")
    >>> [str(moment) for moment in parse_date_span("yesterday", noon)]
    ['2026-02-28 00:00:00+01:00', '2026-03-01 00:00:00+01:00']
    >>> [f"{moment:%m-%d}" for word in ("week", "this month", "last month") for moment in parse_date_span(word, noon)]
    ['02-23', '03-02', '03-01', '04-01', '02-01', '03-01']
    >>> str(parse_date_span("12h", noon).start)
    '2026-03-01 00:00:00+01:00'
    """
    now = now or local_now()
    zone = now.tzinfo
    word = text.strip().lower()
    try:
        if match := re.fullmatch(_AGO, word):
            elapsed = timedelta(**{_UNITS[match[2]]: int(match[1])})
            moment = (now.astimezone(UTC) - elapsed).astimezone(zone)  # elapsed hours, not those of the wall clock
            return DateSpan(moment, moment)
        if (span := _named(word, now.date()) or _calendar(word)) is not None:
            return DateSpan(*(_local(datetime.combine(day, time()), zone) for day in span))
        moment = _local(datetime.fromisoformat(text.strip()), zone)
    except (ValueError, OverflowError) as error:
        raise BadFilter(f"{text!r} is not a known date or time: write {DATE_EXAMPLES}") from error
    return DateSpan(moment, moment)


def _named(word: str, today: date) -> tuple[date, date] | None:
    if word in _DAYS_AGO:
        day = today - timedelta(days=_DAYS_AGO[word])
        return day, day + timedelta(days=1)
    if match := re.fullmatch(_PERIOD, word):
        start, end = _period(match[2], today)
        return (_period(match[2], start - timedelta(days=1))[0], start) if match[1] == "last" else (start, end)
    return None


def _period(kind: str, day: date) -> tuple[date, date]:
    """The first day of the week (from Monday), month or year of a day, and the first day after it."""
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
    """A moment, by the wall clock of a zone if it has none."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    moment.astimezone(UTC)  # fails here, where the error is caught
    return moment
