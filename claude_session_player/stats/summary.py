"""What a session comes to: how long it took, how many prompts, tools, errors, forks, files."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.format.line_reader import read_batches
from claude_session_player.parser import open_session
from claude_session_player.stats.counters import CHANGED, READ, UNNAMED, EventCounter, LineCounter, SessionCounts
from claude_session_player.stats.prices import Prices
from claude_session_player.stats.tokens import TokenCount, session_usage, total_cost
from claude_session_player.util import gc_pause
from claude_session_player.util.text import display_path
from claude_session_player.util.times import format_time, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from decimal import Decimal

    from claude_session_player.store import Session

_LENGTH: Final = len("2026-01-17T20:31:59.197Z")
_TENS: Final = len("2026-01-17T20:3")
BREAK: Final = timedelta(minutes=10)
"""A longer gap is a break, in which nobody was at work."""


class TimeSpan(NamedTuple):
    """The first and the last moment, as session files write them, and the seconds between; without breaks, too."""

    started: str | None = None
    ended: str | None = None
    seconds: float = 0.0
    active: float = 0.0


def time_span(times: Iterable[str]) -> TimeSpan:
    """The span of some times, in whatever order they come; what is no time is passed over.

    They are put in order first: in a file they go back and forth, and a stretch that is there twice is lived once.

    >>> time_span(["2026-01-17T20:00:00.000Z", "2026-01-17T22:00:00.000Z", "2026-01-17T20:05:00.000Z"])[2:]
    (7200.0, 300.0)
    """
    moments = _corners(sorted(times))
    if not moments:
        return TimeSpan()
    breaks = (later - earlier for earlier, later in pairwise(moments) if later - earlier > BREAK)
    first, last = moments[0], moments[-1]
    whole = last - first
    active = whole - sum(breaks, timedelta())
    return TimeSpan(format_time(first), format_time(last), whole.total_seconds(), active.total_seconds())


def _corners(times: list[str]) -> list[datetime]:
    """The moments of some times in order, as many as are needed to see every break.

    Real files write all times alike: those that begin alike, up to the tens of minutes, have no break between them.
    """
    try:
        if set(map(len, times)) - {_LENGTH} or "".join(times).count("Z") != len(times):
            raise ValueError
        corners, start = [], 0
        while start < len(times):
            end = bisect_right(times, _beginning(times[start]), start, key=_beginning)
            corners += [times[start], times[end - 1]]
            start = end
        return list(map(datetime.fromisoformat, corners))
    except ValueError:
        return sorted(moment for moment in map(_moment, times) if moment is not None)


def _beginning(time: str) -> str:
    return time[:_TENS]


def _moment(text: str) -> datetime | None:
    try:
        moment = parse_time(text)
        format_time(moment)
    except (ValueError, OverflowError):
        return None
    return moment


_LINES: Final = 1000


class LinkedPullRequest(NamedTuple):
    """A pull request that a session worked on."""

    number: int | None
    repository: str | None
    url: str


class SessionSummary(NamedTuple):
    """What a session comes to. Numbers are those of its own file; sub-agents are counted, their work is not."""

    id: str
    path: str
    title: str | None
    project: str | None
    git_branches: tuple[str, ...]
    models: tuple[str, ...]
    """The last used first."""
    versions: tuple[str, ...]
    started_at: str | None
    ended_at: str | None
    duration_seconds: float
    active_seconds: float
    """Without gaps of more than 10 minutes."""
    events: int
    user_messages: int
    tool_calls: dict[str, int]
    """By tool, the most used first."""
    subagents: dict[str, int]
    """By kind, at any depth, the most frequent first."""
    errors: int
    """Results of tools that are errors, and requests that failed."""
    compactions: int
    forks: int
    files_read: int
    files_changed: int
    tokens: TokenCount
    """Of the session and its sub-agents, each response counted once."""
    cost: Decimal | None
    """In US dollars, without models that have no known price; `None` where tokens were spent and none has one."""
    unpriced_models: tuple[str, ...]
    pull_requests: tuple[LinkedPullRequest, ...] = ()
    """In the order of their first appearance."""


class Expense(NamedTuple):
    """What was used, and what it cost."""

    tokens: TokenCount
    cost: Decimal | None
    unpriced_models: tuple[str, ...]


def summarize(session: Session, prices: Prices | None = None) -> SessionSummary:
    """Read the file of a session once, and tell what it comes to, at these prices or the usual ones."""
    with gc_pause.paused():
        tally = _counted(session)
    span = time_span(tally.times)
    expense = _expense(session, prices or Prices.load())
    return SessionSummary(
        id=display_path(session.id),
        path=display_path(session.file.name),
        title=session.title,
        project=session.project,
        git_branches=session.facts.branches,
        models=tuple(session.conversation.models[::-1]),
        versions=tuple(tally.versions),
        started_at=span.started,
        ended_at=span.ended,
        duration_seconds=span.seconds,
        active_seconds=span.active,
        events=session.conversation.events,
        user_messages=tally.prompts,
        tool_calls=dict(Counter(tally.tools).most_common()),
        subagents=dict(Counter(_kinds(session)).most_common()),
        errors=tally.errors,
        compactions=tally.compactions,
        forks=tally.count_forks(),
        files_read=tally.count_files(READ),
        files_changed=tally.count_files(CHANGED),
        pull_requests=tuple(
            LinkedPullRequest(link.number, link.repository, url) for url, link in tally.pull_requests.items()
        ),
        **expense._asdict(),
    )


def _counted(session: Session) -> SessionCounts:
    """What the file of a session counts: by its lines, or by its events where lines are not enough."""
    tally = LineCounter(skips_sidechains=session.has_sidechains)
    tally.is_unsure = session.is_inline
    if not session.is_inline:
        with open_session(session.path) as file:
            for batch in read_batches(file):
                tally.take(batch)
                if tally.is_unsure:
                    break
    if not tally.is_unsure:
        return tally
    events = EventCounter(skips_sidechains=session.has_sidechains, is_agent=session.is_subagent)
    events.read(session.events())
    return events


def _expense(session: Session, prices: Prices) -> Expense:
    used = session_usage(session, prices)
    tokens = TokenCount()
    for usage in used:
        tokens = tokens.add(usage.tokens)
    unknown = [usage.model for usage in used if usage.model and usage.cost is None and usage.tokens.total]
    return Expense(tokens, total_cost((usage.tokens, usage.cost) for usage in used), tuple(unknown))


def _kinds(session: Session) -> Iterator[str]:
    waiting = list(session.subagents)
    while waiting:
        agent = waiting.pop()
        yield agent.agent or UNNAMED
        waiting += agent.subagents
