"""The tokens of sessions: one count per response, whatever files it stands in, and whose it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.stats.prices import RatePeriod, RateStep, Tariff, TokenCount
from claude_session_player.store import Session, SessionKind, load_responses
from claude_session_player.util.humanize import day_of
from claude_session_player.util.times import parse_time

if TYPE_CHECKING:
    from claude_session_player.stats.prices import Prices
    from claude_session_player.store import Responses

MAIN: Final = "main"
"""The agent of what a session says itself."""
OTHER: Final = "(unknown type)"
"""The agent of what a sub-agent says whose type is not known."""

_LATE: Final = "~"
_OUTSIDE: Final = "outside"
"""Stands for the day of responses that do not count."""
_DAY, _HOUR, _MINUTE = 10, 13, 16
"""Where the parts of a time end."""
_Choice = Callable[[str, int], RateStep]
_Group = tuple[int, int, str | None, RateStep | None]
_Numbers = tuple[int, ...]
"""Input, output, written into the cache, read from it, and of the written those for an hour."""

__all__ = [
    "MAIN",
    "OTHER",
    "ModelUsage",
    "TimeWindow",
    "TokenCount",
    "UsageShare",
    "count_tokens",
    "session_usage",
    "total_cost",
]


class TimeWindow(NamedTuple):
    """The time in which responses count: from a moment to just before another, either of them open.

    The time of a response is known to the minute, and counts as the beginning of that minute: whichever bounds
    several windows have, each response lies in one of those that follow each other without a gap.
    """

    start: datetime | None = None
    end: datetime | None = None

    def has(self, minute: str) -> bool:
        """True for a time that lies in it; what is no time lies in no window."""
        try:
            moment = parse_time(minute).astimezone(UTC).replace(second=0, microsecond=0)
        except (ValueError, OverflowError):
            return False
        return (self.start is None or moment >= self.start) and (self.end is None or moment < self.end)


class UsageShare(NamedTuple):
    """Responses that have everything in common but their numbers, which are added up."""

    model: str | None
    day: str | None
    """In the zone in which times are shown; `None` where the responses have no time."""
    agent: str
    session: Session
    """The session that they belong to; for sub-agents of a session without a file, one of them."""
    project: str | None
    responses: int
    tokens: TokenCount
    cost: Decimal | None
    """In US dollars; `None` where nobody knows the price."""


class ModelUsage(NamedTuple):
    """What one model did in a session and its sub-agents; without a price there is no cost."""

    model: str | None
    responses: int
    tokens: TokenCount
    cost: Decimal | None


def session_usage(session: Session, prices: Prices | None = None) -> list[ModelUsage]:
    """The tokens of a session and its sub-agents by model, each response counted once; the most first."""
    by_model: dict[str | None, ModelUsage] = {}
    for share in count_tokens([session], prices, by_day=False):
        before = by_model.get(share.model) or ModelUsage(share.model, 0, TokenCount(), Decimal())
        cost = None if share.cost is None or before.cost is None else before.cost + share.cost
        tokens = before.tokens.add(share.tokens)
        by_model[share.model] = ModelUsage(share.model, before.responses + share.responses, tokens, cost)
    return sorted(by_model.values(), key=lambda usage: -usage.tokens.total)


def total_cost(parts: Iterable[tuple[TokenCount, Decimal | None]]) -> Decimal | None:
    """The cost of all that has a known price; `None` where tokens were spent, and none of them has one.

    >>> spent = TokenCount(1, 2, 0, 0, 0)
    >>> total_cost([]), total_cost([(spent, None)]), total_cost([(TokenCount(), None)])
    (Decimal('0'), None, Decimal('0'))
    """
    spent = [(tokens, cost) for tokens, cost in parts if cost or tokens.total]  # most cost something
    known = [cost for _, cost in spent if cost is not None]
    return sum(known, Decimal()) if known or not spent else None


def count_tokens(
    sessions: Iterable[Session], prices: Prices | None = None, *, by_day: bool = True, window: TimeWindow | None = None
) -> list[UsageShare]:
    """The responses of sessions and their sub-agents, those of each day by themselves, unless nobody asks for days.

    A response that stands in several of their files, as copies do, counts once: with the largest numbers of all, and as
    that of the file which is the original. Where a window is given, only the responses in it count.
    """
    parts = _by_age(_parts(sessions))
    files = [(part, part.responses) for part in parts]
    models = dict.fromkeys(model for _, responses in files for model in responses.models)
    tariffs = prices.tariffs(model for model in models if model is not None) if prices else {}
    counter = _Counter(tariffs, _shared(files), _Days(window) if by_day else _NoDays())
    return [share for part, responses in files for share in counter.shares(part, responses)]


def _parts(sessions: Iterable[Session]) -> list[Session]:
    """The files of sessions, and the sub-agents inside of files that are asked for by themselves, each once."""
    parts = list({(part.path, part.id): part for session in sessions for part in session.parts}.values())
    load_responses(parts)
    return parts


def _by_age(parts: list[Session]) -> list[Session]:
    """Originals before their copies: a copy begins when its original does, but ends later."""
    return sorted(
        parts,
        key=lambda part: (
            part.file.kind == SessionKind.PRE_COMPACT,
            part.created_at or _LATE,
            part.is_subagent,
            part.updated_at,
            part.path,
        ),
    )


def _shared(files: Sequence[tuple[Session, Responses]]) -> dict[str, _Numbers]:
    """The responses that stand in several files, each with the largest of its numbers."""
    seen: set[str] = set()
    several: set[str] = set()
    for _, responses in files:
        if not seen.isdisjoint(responses.keys):
            several |= seen.intersection(responses.keys)
        seen.update(responses.keys)
    most: dict[str, _Numbers] = {}
    for _, responses in files if several else ():
        for key, *numbers in zip(responses.keys, *_columns(responses), strict=True):
            if key in several:
                most[key] = tuple(map(max, numbers, most[key])) if key in most else tuple(numbers)
    return most


def _tokens(input: int, output: int, written: int, read: int, hour: int) -> tuple[int, int, int, int, int]:
    """The numbers as `TokenCount` has them: what is not told to stay for an hour stays for five minutes."""
    return input, output, written - hour if written > hour else 0, hour, read


def _columns(responses: Responses) -> tuple[Sequence[int], ...]:
    return (
        responses.input,
        responses.output,
        responses.cache_written,
        responses.cache_read,
        responses.one_hour,
    )


class _Counter:
    """Adds up the responses of files, one file after the other."""

    def __init__(
        self, tariffs: Mapping[str, Tariff | None], shared: dict[str, _Numbers], days: Mapping[str, str | None]
    ) -> None:
        self._tariffs = tariffs
        self._shared = shared
        self._counted: set[str] = set()
        self._days = days
        self._choices: dict[str | None, _Choice | None] = {}
        self._projects: dict[str, str | None] = {}

    def shares(self, part: Session, responses: Responses) -> Iterator[UsageShare]:
        """What the responses of one file come to."""
        if not responses.keys:
            return
        head = part.head
        if head.path not in self._projects:
            self._projects[head.path] = head.project
        project = self._projects[head.path]
        names = [_agent(part, id) for id in responses.agents]
        for (number, agent, day, step), (*numbers, count) in self._sums(part, responses).items():
            if day == _OUTSIDE:
                continue
            model, tokens = responses.models[number], TokenCount(*numbers)
            tariff = self._tariffs.get(model or "")
            cost = (step or tariff.first).rates.cost(tokens) if tariff else None
            yield UsageShare(model, day, names[agent], head, project, count, tokens, cost)

    def _sums(self, part: Session, responses: Responses) -> Mapping[_Group, Sequence[int]]:
        """The sums of a file. Most have one model, one price and one day, and need no look at each response."""
        choices = [self._choice(model) for model in responses.models]
        if not part.is_inline and (group := self._only_group(responses, choices)) is not None:
            return {group: (*_tokens(*map(sum, _columns(responses))), len(responses.keys))}
        return self._sums_one_by_one(part, responses, choices)

    def _only_group(self, responses: Responses, choices: Sequence[_Choice | None]) -> _Group | None:
        """What all responses of a file have in common, where that is everything."""
        is_plain = len(responses.models) == 1 and len(responses.agents) == 1
        if not is_plain or not self._shared.keys().isdisjoint(responses.keys):
            return None
        minutes = set(responses.times)
        days = set(map(self._days.__getitem__, minutes))
        if len(days) > 1 or not all(map(int.__ge__, responses.cache_written, responses.one_hour)):
            return None
        steps: set[RateStep | None] = {None}
        if (choose := choices[0]) is not None:
            contexts = list(map(sum, zip(responses.input, responses.cache_written, responses.cache_read, strict=True)))
            steps = {choose(minute, context) for minute in minutes for context in (min(contexts), max(contexts))}
        return (0, 0, days.pop(), steps.pop()) if len(steps) == 1 else None

    def _sums_one_by_one(
        self, part: Session, responses: Responses, choices: Sequence[_Choice | None]
    ) -> Mapping[_Group, Sequence[int]]:
        groups: dict[_Group, list[_Numbers]] = {}
        days, own, shared = self._days, part.id if part.is_inline else None, self._shared
        numbers = zip(*_columns(responses), strict=True)
        rows = zip(responses.keys, responses.times, responses.model, responses.agent, numbers, strict=True)
        for key, time, model, agent, told in rows:
            if own is not None and responses.agents[agent] != own:
                continue
            if key in shared:
                if key in self._counted:
                    continue
                self._counted.add(key)
                told = shared[key]
            tokens = _tokens(*told)
            choose = choices[model]
            group = (model, agent, days[time], choose and choose(time, sum(tokens) - tokens[1]))
            groups.setdefault(group, []).append(tokens)
        return {group: (*map(sum, zip(*some, strict=True)), len(some)) for group, some in groups.items()}

    def _choice(self, model: str | None) -> _Choice | None:
        """How the price of a model's responses is found, where there is more than one."""
        if model not in self._choices:
            tariff = self._tariffs.get(model or "")
            self._choices[model] = None if tariff is None or tariff.is_flat else _choice(tariff)
        return self._choices[model]


def _choice(tariff: Tariff) -> _Choice:
    """How a price is found. Most depend on the day alone, and a time to the minute begins with its day in UTC."""
    periods: dict[str, RatePeriod] = {}
    has_hours = any(period.between for period in tariff.periods)

    def choose(time: str, context: int) -> RateStep:
        is_minute = len(time) == _MINUTE and time[_HOUR] == ":"
        moment = time[:_DAY] if is_minute and not has_hours else time
        if moment not in periods:
            periods[moment] = tariff.period(moment)
        return periods[moment].step(context)

    return choose


def _agent(part: Session, inline: str | None) -> str:
    if inline is not None:
        return part.inline_types.get(inline) or OTHER
    return part.agent or OTHER if part.is_subagent else MAIN


class _NoDays(dict[str, str | None]):
    """No day for any time."""

    def __missing__(self, minute: str) -> None:
        return None


class _Days(dict[str, str | None]):
    """The day of each time, in the zone in which times are shown; for all outside of the window it is `_OUTSIDE`."""

    def __init__(self, window: TimeWindow | None = None) -> None:
        self._window = window

    def __missing__(self, minute: str) -> str | None:
        is_inside = self._window is None or self._window.has(minute)
        self[minute] = day = day_of(minute) if is_inside else _OUTSIDE
        return day


DAY: Final = "day"
WEEK: Final = "week"
MONTH: Final = "month"
PERIODS: Final = (DAY, WEEK, MONTH)
SESSION: Final = "session"


class UsageGroup(NamedTuple):
    """Responses that have something in common."""

    name: str | None
    """What that is; `None` where it is not known."""
    first: UsageShare | None
    """Some of them."""
    responses: int
    tokens: TokenCount
    cost: Decimal | None
    """Of those that have a price, in US dollars; `None` where tokens were spent and none has one."""
    unpriced: int
    """How many tokens have no price."""


def usage_session_id(share: UsageShare) -> str:
    """The session that responses belong to, also where it has no file of its own."""
    head = share.session
    return (head.parent_id or head.id) if head.is_subagent else head.id


@cache
def iso_week(day: str) -> str:
    """The ISO week of a day: from Monday on, in the year that has most of its days.

    >>> iso_week("2026-01-17"), iso_week("2027-01-01")
    ('2026-W03', '2026-W53')
    """
    year, week, _ = date.fromisoformat(day).isocalendar()
    return f"{year:04}-W{week:02}"


BY: Final[dict[str, Callable[[UsageShare], str | None]]] = {
    "model": lambda share: share.model,
    "project": lambda share: share.project,
    DAY: lambda share: share.day,
    WEEK: lambda share: share.day and iso_week(share.day),
    MONTH: lambda share: share.day and share.day[:7],
    SESSION: usage_session_id,
    "agent": lambda share: share.agent,
}
"""What tokens can be grouped by."""


def group_usage(shares: Iterable[UsageShare], by: str) -> list[UsageGroup]:
    """Groups: days, weeks and months in their order, anything else by cost, then by tokens, the most first."""
    name = BY[by]
    members: dict[Any, list[UsageShare]] = {}
    for share in shares:
        key = name(share)
        members.setdefault((share.session.file.home, key) if by == SESSION else key, []).append(share)
    groups = [sum_usage(some, name(some[0])) for some in members.values()]
    if by in PERIODS:
        return sorted(groups, key=lambda group: group.name or "")
    return sorted(groups, key=lambda group: (-(group.cost or 0), -group.tokens.total, group.name or ""))


def sum_usage(shares: Sequence[UsageShare], name: str | None = None) -> UsageGroup:
    """Everything together."""
    return UsageGroup(
        name,
        shares[0] if shares else None,
        sum(share.responses for share in shares),
        TokenCount(*map(sum, zip(TokenCount(), *(share.tokens for share in shares), strict=True))),
        total_cost((share.tokens, share.cost) for share in shares),
        sum(share.tokens.total for share in shares if share.cost is None),
    )


def count_sessions(shares: Iterable[UsageShare]) -> tuple[int, int]:
    """How many sessions there are, and how many of them have no file, only sub-agents."""
    orphans = {(share.session.file.home, usage_session_id(share)): share.session.is_orphan for share in shares}
    return len(orphans), sum(orphans.values())


def unpriced_models(shares: Iterable[UsageShare]) -> list[UsageGroup]:
    """The models whose price nobody knows, as far as they took any tokens."""
    return [group for group in group_usage((s for s in shares if s.cost is None), "model") if group.unpriced]
