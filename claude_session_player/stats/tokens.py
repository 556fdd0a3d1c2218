"""The tokens of sessions: each response counts once, in however many files it appears.

Responses come as parallel columns of numbers. A file with one model, one day and one rate is summed by column, others
response by response, which is the reference that a property test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.stats.prices import RatePeriod, RateTier, Tariff, TokenCount
from claude_session_player.store import Session, SessionKind, load_responses
from claude_session_player.util.humanize import day_of
from claude_session_player.util.times import parse_time

if TYPE_CHECKING:
    from claude_session_player.stats.prices import Prices
    from claude_session_player.store import Responses, TokenCounts

MAIN_AGENT: Final = "main"
"""The agent of a session's own responses."""
UNKNOWN_AGENT: Final = "(unknown type)"
"""The agent of responses by a sub-agent of unknown type."""

_AFTER_ALL_TIMES: Final = "~"
_OUTSIDE: Final = "outside"
"""Instead of a day: the response is outside the time window."""
_DAY, _HOUR, _MINUTE = 10, 13, 16
"""Where the parts of a time end."""
_TierFinder = Callable[[str, int], RateTier]
"""From the time and the context size of a request to its rate."""
_GroupKey = tuple[int, int, str | None, RateTier | None]
"""The numbers of the model and of the agent, the day, and the rate where the model has several."""
_Numbers = tuple[int, ...]
"""Tokens: input, output, written to the cache, read from it, and how many of the written ones stay for an hour."""

__all__ = [
    "MAIN_AGENT",
    "UNKNOWN_AGENT",
    "ModelUsage",
    "ResponseCost",
    "TimeWindow",
    "TokenCount",
    "UsageShare",
    "cost_responses",
    "count_tokens",
    "session_usage",
    "total_cost",
]


class TimeWindow(NamedTuple):
    """The time in which responses count: from `start` to just before `end`; either may be open.

    The time of a response is known to the minute and counts as the start of that minute, so that each response is in
    exactly one of several windows that follow each other without a gap.
    """

    start: datetime | None = None
    end: datetime | None = None

    def has(self, minute: str) -> bool:
        """True if a time is in the window; an invalid time is in none."""
        try:
            moment = parse_time(minute).astimezone(UTC).replace(second=0, microsecond=0)
        except (ValueError, OverflowError):
            return False
        return (self.start is None or moment >= self.start) and (self.end is None or moment < self.end)


class UsageShare(NamedTuple):
    """The sum of responses that share model, day, agent and session."""

    model: str | None
    day: str | None
    """In the time zone of the output; `None` if the responses have no time."""
    agent: str
    session: Session
    """The session of the responses; one of the sub-agents where the session has no file."""
    project: str | None
    responses: int
    tokens: TokenCount
    cost: Decimal | None
    """In US dollars; `None` if the price is unknown."""


class ModelUsage(NamedTuple):
    """What one model used in a session and its sub-agents; `cost` is `None` if the price is unknown."""

    model: str | None
    responses: int
    tokens: TokenCount
    cost: Decimal | None


def session_usage(session: Session, prices: Prices | None = None) -> list[ModelUsage]:
    """The tokens of a session and its sub-agents by model, most tokens first; each response counts once."""
    by_model: dict[str | None, ModelUsage] = {}
    for share in count_tokens([session], prices, by_day=False):
        before = by_model.get(share.model) or ModelUsage(share.model, 0, TokenCount(), Decimal())
        cost = None if share.cost is None or before.cost is None else before.cost + share.cost
        tokens = before.tokens.add(share.tokens)
        by_model[share.model] = ModelUsage(share.model, before.responses + share.responses, tokens, cost)
    return sorted(by_model.values(), key=lambda usage: -usage.tokens.total)


def total_cost(parts: Iterable[tuple[TokenCount, Decimal | None]]) -> Decimal | None:
    """The cost of all parts with a known price; `None` if tokens were used and no part has a price.

    >>> spent = TokenCount(1, 2, 0, 0, 0)
    >>> total_cost([]), total_cost([(spent, None)]), total_cost([(TokenCount(), None)])
    (Decimal('0'), None, Decimal('0'))
    """
    used = [(tokens, cost) for tokens, cost in parts if cost or tokens.total]  # `cost` first: most parts have one
    known = [cost for _, cost in used if cost is not None]
    return sum(known, Decimal()) if known or not used else None


def count_tokens(
    sessions: Iterable[Session], prices: Prices | None = None, *, by_day: bool = True, window: TimeWindow | None = None
) -> list[UsageShare]:
    """Sum the responses of sessions and their sub-agents, separately for each day unless `by_day` is false.

    A response that appears in several of their files, because it was copied, counts once: with the largest of each
    number, for the file that is the original. With a window, only responses in it count.
    """
    parts = _originals_first(_load_parts(sessions))
    files = [(part, part.responses) for part in parts]
    models = dict.fromkeys(model for _, responses in files for model in responses.models)
    tariffs = prices.tariffs(model for model in models if model is not None) if prices else {}
    counter = _Counter(tariffs, _shared_responses(files), _Days(window) if by_day else _NoDays())
    return [share for part, responses in files for share in counter.shares(part, responses)]


class ResponseCost(NamedTuple):
    """A response of a session or of one of its sub-agents."""

    key: str
    """What identifies it; see `Responses`."""
    part: Session
    """The session or sub-agent whose file counts it."""
    tokens: TokenCount
    cost: Decimal | None
    """In US dollars; `None` if the price is unknown."""


def cost_responses(session: Session, prices: Prices) -> list[ResponseCost]:
    """The cost of each response of a session and its sub-agents; they add up to what `count_tokens` gives."""
    found: dict[str, ResponseCost] = {}
    files = [(part, part.responses) for part in _originals_first(_load_parts([session]))]
    shared = _shared_responses(files)
    for part, responses in files:
        columns = zip(*_columns(responses), strict=True)
        rows = zip(responses.keys, responses.times, responses.model, responses.agent, columns, strict=True)
        for key, time, model, agent, numbers in rows:
            if key in found or (part.is_inline and responses.agents[agent] != part.id):
                continue
            tokens = TokenCount(*_token_fields(*shared.get(key, numbers)))
            found[key] = ResponseCost(key, part, tokens, response_cost(prices, responses.models[model], tokens, time))
    return list(found.values())


def response_cost(prices: Prices, model: str | None, tokens: TokenCount, time: str | None) -> Decimal | None:
    """The cost of one response in US dollars; `None` if the price is unknown."""
    return None if model is None else prices.cost(model, tokens, time)


def token_count(counts: TokenCounts) -> TokenCount:
    """The tokens of a response as its lines name them, by how they are priced."""
    return TokenCount(*_token_fields(*counts))


def _load_parts(sessions: Iterable[Session]) -> list[Session]:
    """The files of sessions, and inline sub-agents that were selected on their own, each once."""
    parts = list({(part.path, part.id): part for session in sessions for part in session.parts}.values())
    load_responses(parts)
    return parts


def _originals_first(parts: list[Session]) -> list[Session]:
    """Originals before their copies: a copy starts when its original does, but ends later."""
    return sorted(
        parts,
        key=lambda part: (
            part.file.kind == SessionKind.PRE_COMPACT,
            part.created_at or _AFTER_ALL_TIMES,
            part.is_subagent,
            part.updated_at,
            part.path,
        ),
    )


def _shared_responses(files: Sequence[tuple[Session, Responses]]) -> dict[str, _Numbers]:
    """The responses that appear in several files, with the largest of each number."""
    seen: set[str] = set()
    shared: set[str] = set()
    for _, responses in files:
        if not seen.isdisjoint(responses.keys):
            shared |= seen.intersection(responses.keys)
        seen.update(responses.keys)
    largest: dict[str, _Numbers] = {}
    for _, responses in files if shared else ():
        for key, *numbers in zip(responses.keys, *_columns(responses), strict=True):
            if key in shared:
                largest[key] = tuple(map(max, numbers, largest[key])) if key in largest else tuple(numbers)
    return largest


def _token_fields(input: int, output: int, written: int, read: int, hour: int) -> tuple[int, int, int, int, int]:
    """The fields of `TokenCount`: tokens in the cache that are not marked as staying for an hour stay five minutes."""
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
    """Sums the responses of files, one file after the other."""

    def __init__(
        self, tariffs: Mapping[str, Tariff | None], shared: dict[str, _Numbers], days: Mapping[str, str | None]
    ) -> None:
        self._tariffs = tariffs
        self._shared = shared
        self._counted: set[str] = set()
        """The shared responses that have been counted."""
        self._days = days
        self._tier_finders: dict[str | None, _TierFinder | None] = {}
        self._projects: dict[str, str | None] = {}

    def shares(self, part: Session, responses: Responses) -> Iterator[UsageShare]:
        """The sums of one file."""
        if not responses.keys:
            return
        head = part.head
        if head.path not in self._projects:
            self._projects[head.path] = head.project
        project = self._projects[head.path]
        names = [_agent_name(part, id) for id in responses.agents]
        for (number, agent, day, tier), (*numbers, count) in self._sums(part, responses).items():
            if day == _OUTSIDE:
                continue
            model, tokens = responses.models[number], TokenCount(*numbers)
            tariff = self._tariffs.get(model or "")
            cost = (tier or tariff.first).rates.cost(tokens) if tariff else None
            yield UsageShare(model, day, names[agent], head, project, count, tokens, cost)

    def _sums(self, part: Session, responses: Responses) -> Mapping[_GroupKey, Sequence[int]]:
        """The sums of a file by group, each followed by the number of its responses."""
        finders = [self._tier_finder(model) for model in responses.models]
        if not part.is_inline and (group := self._only_group(responses, finders)) is not None:
            return {group: (*_token_fields(*map(sum, _columns(responses))), len(responses.keys))}
        return self._sums_by_response(part, responses, finders)

    def _only_group(self, responses: Responses, finders: Sequence[_TierFinder | None]) -> _GroupKey | None:
        """The group of all responses of a file, if there is only one: so it is for most files."""
        is_plain = len(responses.models) == 1 and len(responses.agents) == 1
        if not is_plain or not self._shared.keys().isdisjoint(responses.keys):
            return None
        minutes = set(responses.times)
        days = set(map(self._days.__getitem__, minutes))
        if len(days) > 1 or not all(map(int.__ge__, responses.cache_written, responses.one_hour)):
            return None
        tiers: set[RateTier | None] = {None}
        if (find_tier := finders[0]) is not None:
            contexts = list(map(sum, zip(responses.input, responses.cache_written, responses.cache_read, strict=True)))
            tiers = {find_tier(minute, context) for minute in minutes for context in (min(contexts), max(contexts))}
        return (0, 0, days.pop(), tiers.pop()) if len(tiers) == 1 else None

    def _sums_by_response(
        self, part: Session, responses: Responses, finders: Sequence[_TierFinder | None]
    ) -> Mapping[_GroupKey, Sequence[int]]:
        groups: dict[_GroupKey, list[_Numbers]] = {}
        days, inline_id, shared = self._days, part.id if part.is_inline else None, self._shared
        columns = zip(*_columns(responses), strict=True)
        rows = zip(responses.keys, responses.times, responses.model, responses.agent, columns, strict=True)
        for key, time, model, agent, numbers in rows:
            if inline_id is not None and responses.agents[agent] != inline_id:
                continue
            if key in shared:
                if key in self._counted:
                    continue
                self._counted.add(key)
                numbers = shared[key]
            tokens = _token_fields(*numbers)
            find_tier = finders[model]
            group = (model, agent, days[time], find_tier and find_tier(time, sum(tokens) - tokens[1]))
            groups.setdefault(group, []).append(tokens)
        return {group: (*map(sum, zip(*members, strict=True)), len(members)) for group, members in groups.items()}

    def _tier_finder(self, model: str | None) -> _TierFinder | None:
        """How to find the rate of a response by a model; `None` if the model has no price, or only one rate."""
        if model not in self._tier_finders:
            tariff = self._tariffs.get(model or "")
            self._tier_finders[model] = None if tariff is None or tariff.is_flat else _tier_finder(tariff)
        return self._tier_finders[model]


def _tier_finder(tariff: Tariff) -> _TierFinder:
    """How to find a rate. Most depend on the day alone, and a time to the minute starts with its day in UTC."""
    periods: dict[str, RatePeriod] = {}
    has_hours = any(period.between for period in tariff.periods)

    def find_tier(time: str, context: int) -> RateTier:
        is_minute = len(time) == _MINUTE and time[_HOUR] == ":"
        moment = time[:_DAY] if is_minute and not has_hours else time
        if moment not in periods:
            periods[moment] = tariff.period(moment)
        return periods[moment].tier(context)

    return find_tier


def _agent_name(part: Session, inline_id: str | None) -> str:
    if inline_id is not None:
        return part.inline_types.get(inline_id) or UNKNOWN_AGENT
    return part.agent or UNKNOWN_AGENT if part.is_subagent else MAIN_AGENT


class _NoDays(dict[str, str | None]):
    """`None` as the day of any time."""

    def __missing__(self, minute: str) -> None:
        return None


class _Days(dict[str, str | None]):
    """The day of each time in the time zone of the output; `_OUTSIDE` for times outside the window."""

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
    """The sum of responses that share a grouping key, such as a model or a day."""

    name: str | None
    """The key; `None` if it is unknown."""
    first: UsageShare | None
    """The first share of the group."""
    responses: int
    tokens: TokenCount
    cost: Decimal | None
    """In US dollars, excluding models without a known price; `None` if tokens were used and none has a price."""
    unpriced: int
    """The number of tokens without a known price."""


def usage_session_id(share: UsageShare) -> str:
    """The id of the session of responses, even if the session has no file."""
    head = share.session
    return (head.parent_id or head.id) if head.is_subagent else head.id


@cache
def iso_week(day: str) -> str:
    """The ISO week of a day: weeks start on Monday and belong to the year that has most of their days.

    >>> iso_week("2026-01-17"), iso_week("2027-01-01")
    ('2026-W03', '2026-W53')
    """
    year, week, _ = date.fromisoformat(day).isocalendar()
    return f"{year:04}-W{week:02}"


GROUP_KEYS: Final[dict[str, Callable[[UsageShare], str | None]]] = {
    "model": lambda share: share.model,
    "project": lambda share: share.project,
    DAY: lambda share: share.day,
    WEEK: lambda share: share.day and iso_week(share.day),
    MONTH: lambda share: share.day and share.day[:7],
    SESSION: usage_session_id,
    "agent": lambda share: share.agent,
}
"""The keys by which tokens can be grouped."""


def group_usage(shares: Iterable[UsageShare], by: str) -> list[UsageGroup]:
    """Group shares: days, weeks and months in order, anything else by cost, then by tokens, largest first."""
    name_of = GROUP_KEYS[by]
    members: dict[Any, list[UsageShare]] = {}
    for share in shares:
        name = name_of(share)
        members.setdefault((share.session.file.home, name) if by == SESSION else name, []).append(share)
    groups = [sum_usage(group, name_of(group[0])) for group in members.values()]
    if by in PERIODS:
        return sorted(groups, key=lambda group: group.name or "")
    return sorted(groups, key=lambda group: (-(group.cost or 0), -group.tokens.total, group.name or ""))


def sum_usage(shares: Sequence[UsageShare], name: str | None = None) -> UsageGroup:
    """The sum of all shares."""
    return UsageGroup(
        name,
        shares[0] if shares else None,
        sum(share.responses for share in shares),
        TokenCount(*map(sum, zip(TokenCount(), *(share.tokens for share in shares), strict=True))),
        total_cost((share.tokens, share.cost) for share in shares),
        sum(share.tokens.total for share in shares if share.cost is None),
    )


def count_sessions(shares: Iterable[UsageShare]) -> tuple[int, int]:
    """The number of sessions, and how many of them have no file of their own, only sub-agents."""
    orphans = {(share.session.file.home, usage_session_id(share)): share.session.is_orphan for share in shares}
    return len(orphans), sum(orphans.values())


def unpriced_models(shares: Iterable[UsageShare]) -> list[UsageGroup]:
    """The models that used tokens and have no known price."""
    return [group for group in group_usage((s for s in shares if s.cost is None), "model") if group.unpriced]
