"""Tokens and their cost, grouped by what people ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any, Final, NamedTuple

from claude_session_player.insight.rates import TokenCount
from claude_session_player.insight.tokens import Share, total_cost

DAY: Final = "day"
WEEK: Final = "week"
MONTH: Final = "month"
PERIODS: Final = (DAY, WEEK, MONTH)
SESSION: Final = "session"


class Group(NamedTuple):
    """Responses that have something in common."""

    name: str | None
    """What that is; `None` where it is not known."""
    first: Share | None
    """Some of them."""
    responses: int
    tokens: TokenCount
    cost: Decimal | None
    """Of those that have a price, in US dollars; `None` where tokens were spent and none has one."""
    unpriced: int
    """How many tokens have no price."""


def session_id(share: Share) -> str:
    """The session that responses belong to, also where it has no file of its own."""
    head = share.session
    return (head.parent_id or head.id) if head.is_subagent else head.id


@cache
def week_of(day: str) -> str:
    """The ISO week of a day: from Monday on, in the year that has most of its days.

    >>> week_of("2026-01-17"), week_of("2027-01-01")
    ('2026-W03', '2026-W53')
    """
    year, week, _ = date.fromisoformat(day).isocalendar()
    return f"{year:04}-W{week:02}"


BY: Final[dict[str, Callable[[Share], str | None]]] = {
    "model": lambda share: share.model,
    "project": lambda share: share.project,
    DAY: lambda share: share.day,
    WEEK: lambda share: share.day and week_of(share.day),
    MONTH: lambda share: share.day and share.day[:7],
    SESSION: session_id,
    "agent": lambda share: share.agent,
}
"""What tokens can be grouped by."""


def grouped(shares: Iterable[Share], by: str) -> list[Group]:
    """Groups: days, weeks and months in their order, anything else by cost, then by tokens, the most first."""
    name = BY[by]
    members: dict[Any, list[Share]] = {}
    for share in shares:
        key = name(share)
        members.setdefault((share.session.found.home, key) if by == SESSION else key, []).append(share)
    groups = [summed(some, name(some[0])) for some in members.values()]
    if by in PERIODS:
        return sorted(groups, key=lambda group: group.name or "")
    return sorted(groups, key=lambda group: (-(group.cost or 0), -group.tokens.total, group.name or ""))


def summed(shares: Sequence[Share], name: str | None = None) -> Group:
    """Everything together."""
    return Group(
        name,
        shares[0] if shares else None,
        sum(share.responses for share in shares),
        TokenCount(*map(sum, zip(TokenCount(), *(share.tokens for share in shares), strict=True))),
        total_cost((share.tokens, share.cost) for share in shares),
        sum(share.tokens.total for share in shares if share.cost is None),
    )


def count_sessions(shares: Iterable[Share]) -> tuple[int, int]:
    """How many sessions there are, and how many of them have no file, only sub-agents."""
    orphans = {(share.session.found.home, session_id(share)): share.session.is_orphan for share in shares}
    return len(orphans), sum(orphans.values())


def unpriced_models(shares: Iterable[Share]) -> list[Group]:
    """The models whose price nobody knows, as far as they took any tokens."""
    return [group for group in grouped((s for s in shares if s.cost is None), "model") if group.unpriced]
