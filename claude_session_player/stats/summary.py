"""The summary of a session: duration, prompts, tool calls, errors, forks, files, tokens and cost."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.format.line_reader import read_batches
from claude_session_player.parser import gc_paused, open_session
from claude_session_player.stats.counters import CHANGED, READ, UNNAMED, EventCounter, LineCounter, SessionCounts
from claude_session_player.stats.prices import Prices
from claude_session_player.stats.tokens import TokenCount, session_usage, total_cost
from claude_session_player.util.text import display_path
from claude_session_player.util.times import format_time, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from decimal import Decimal

    from claude_session_player.store import Session

_TIME_LENGTH: Final = len("2026-01-17T20:31:59.197Z")
_TEN_MINUTES_LENGTH: Final = len("2026-01-17T20:3")
MAX_ACTIVE_GAP: Final = timedelta(minutes=10)
"""Longer gaps between two lines do not count as active time."""


class TimeSpan(NamedTuple):
    """The first and the last time, as session files write them, with the seconds between in all and while active."""

    started: str | None = None
    ended: str | None = None
    seconds: float = 0.0
    active: float = 0.0


def time_span(times: Iterable[str]) -> TimeSpan:
    """The span of times in any order; invalid times are skipped.

    They are sorted first: times in a file go back and forth, and a period that occurs twice passed only once.

    >>> time_span(["2026-01-17T20:00:00.000Z", "2026-01-17T22:00:00.000Z", "2026-01-17T20:05:00.000Z"])[2:]
    (7200.0, 300.0)
    """
    moments = _corner_moments(sorted(times))
    if not moments:
        return TimeSpan()
    breaks = (later - earlier for earlier, later in pairwise(moments) if later - earlier > MAX_ACTIVE_GAP)
    first, last = moments[0], moments[-1]
    total = last - first
    active = total - sum(breaks, timedelta())
    return TimeSpan(format_time(first), format_time(last), total.total_seconds(), active.total_seconds())


def _corner_moments(times: list[str]) -> list[datetime]:
    """The moments that are needed to find every gap between sorted times, in order.

    Real files write all times in one form. Those with the same first characters, up to the tens of minutes, have no
    long gap between them, so that only the first and the last of them are parsed.
    """
    try:
        if set(map(len, times)) - {_TIME_LENGTH} or "".join(times).count("Z") != len(times):
            raise ValueError
        corners, start = [], 0
        while start < len(times):
            end = bisect_right(times, _ten_minutes(times[start]), start, key=_ten_minutes)
            corners += [times[start], times[end - 1]]
            start = end
        return list(map(datetime.fromisoformat, corners))
    except ValueError:
        return sorted(moment for moment in map(_moment, times) if moment is not None)


def _ten_minutes(time: str) -> str:
    return time[:_TEN_MINUTES_LENGTH]


def _moment(text: str) -> datetime | None:
    try:
        moment = parse_time(text)
        format_time(moment)
    except (ValueError, OverflowError):
        return None
    return moment


class LinkedPullRequest(NamedTuple):
    """A pull request that a session worked on."""

    number: int | None
    repository: str | None
    url: str


class SessionSummary(NamedTuple):
    """The facts of a session. Counts are those of its own file: sub-agents are counted, but not what they did."""

    id: str
    path: str
    title: str | None
    project: str | None
    git_branches: tuple[str, ...]
    models: tuple[str, ...]
    """The most recently used first."""
    versions: tuple[str, ...]
    started_at: str | None
    ended_at: str | None
    duration_seconds: float
    active_seconds: float
    """Without gaps of more than 10 minutes."""
    events: int
    user_messages: int
    tool_calls: dict[str, int]
    """By tool, the most frequent first."""
    subagents: dict[str, int]
    """By type, at any depth, the most frequent first."""
    errors: int
    """Tool results that are errors, and failed requests."""
    compactions: int
    forks: int
    files_read: int
    files_changed: int
    tokens: TokenCount
    """Of the session and its sub-agents, each response counted once."""
    cost: Decimal | None
    """In US dollars, excluding models without a known price; `None` if tokens were used and none has a price."""
    unpriced_models: tuple[str, ...]
    pull_requests: tuple[LinkedPullRequest, ...] = ()
    """In the order of their first appearance."""


class Expense(NamedTuple):
    """The tokens that were used, and their cost."""

    tokens: TokenCount
    cost: Decimal | None
    unpriced_models: tuple[str, ...]


def summarize(session: Session, prices: Prices | None = None) -> SessionSummary:
    """Summarize a session, reading its file once; without `prices`, at the default ones."""
    with gc_paused():
        counts = _count(session)
    span = time_span(counts.times)
    expense = session_expense(session, prices or Prices.load())
    return SessionSummary(
        id=display_path(session.id),
        path=display_path(session.file.name),
        title=session.title,
        project=session.project,
        git_branches=session.facts.branches,
        models=tuple(session.conversation.models[::-1]),
        versions=tuple(counts.versions),
        started_at=span.started,
        ended_at=span.ended,
        duration_seconds=span.seconds,
        active_seconds=span.active,
        events=session.conversation.events,
        user_messages=counts.prompts,
        tool_calls=dict(Counter(counts.tools).most_common()),
        subagents=dict(Counter(_subagent_types(session)).most_common()),
        errors=counts.errors,
        compactions=counts.compactions,
        forks=counts.count_forks(),
        files_read=counts.count_files(READ),
        files_changed=counts.count_files(CHANGED),
        pull_requests=tuple(
            LinkedPullRequest(link.number, link.repository, url) for url, link in counts.pull_requests.items()
        ),
        **expense._asdict(),
    )


def _count(session: Session) -> SessionCounts:
    """Count the lines of a session, or its events where lines are not enough."""
    if not session.is_inline:
        counter = LineCounter(skips_sidechains=session.has_sidechains)
        with open_session(session.path) as file:
            for batch in read_batches(file):
                counter.count_lines(batch)
                if counter.needs_events:
                    break
        if not counter.needs_events:
            return counter
    reference = EventCounter(skips_sidechains=session.has_sidechains, is_agent=session.is_subagent)
    reference.count_events(session.events())
    return reference


def session_expense(session: Session, prices: Prices) -> Expense:
    """The tokens and the cost of a session and its sub-agents."""
    usages = session_usage(session, prices)
    tokens = TokenCount()
    for usage in usages:
        tokens = tokens.add(usage.tokens)
    unpriced = [usage.model for usage in usages if usage.model and usage.cost is None and usage.tokens.total]
    return Expense(tokens, total_cost((usage.tokens, usage.cost) for usage in usages), tuple(unpriced))


def _subagent_types(session: Session) -> Iterator[str]:
    pending = list(session.subagents)
    while pending:
        subagent = pending.pop()
        yield subagent.agent or UNNAMED
        pending += subagent.subagents
