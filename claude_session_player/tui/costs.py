"""What the sessions of the list cost: the numbers of `stats` and `summary`, worked out behind the screen."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.util.humanize import dollars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.store import Session
    from claude_session_player.tui.folding import ListRow

_BATCH: Final = 50
"""How many sessions are priced at a time."""


class SessionCost(NamedTuple):
    """What a session and its sub-agents cost."""

    versions: tuple[str, ...]
    """Those of its files: with others, the cost is out of date."""
    is_used: bool
    """False if no tokens were used, so that there is nothing to show."""
    cost: Decimal | None
    """In US dollars; `None` if no price is known."""
    unpriced: int
    """The number of tokens without a known price."""

    @property
    def amount(self) -> Decimal:
        """A number to sort by."""
        return self.cost or Decimal()


class SessionCosts(dict[str, SessionCost]):
    """The costs that are known so far, by the keys of the rows."""

    def missing(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """The sessions whose cost is unknown, or out of date."""
        for session in sessions:
            known = self.get(session.file.name)
            if known is None or known.versions != file_versions(session):
                yield session

    def text(self, row: ListRow) -> str:
        """The cost of a session or a group; empty until it is known, or if there is none."""
        known = [self.get(member.key) for member in row.members]
        costs = [cost for cost in known if cost is not None and cost.is_used]
        if None in known or not costs:
            return ""
        priced = [cost.cost for cost in costs if cost.cost is not None]
        return dollars(sum(priced, Decimal()) if priced else None, sum(cost.unpriced for cost in costs))


def file_versions(session: Session) -> tuple[str, ...]:
    """The versions of a session's files and of those of its sub-agents."""
    return tuple(part.file.version for part in session.parts)


def price_sessions(sessions: Sequence[Session], is_wanted: Callable[[], bool]) -> Iterator[dict[str, SessionCost]]:
    """The costs of some sessions, a few at a time. Raises `SessionError` if the user's own prices are wrong."""
    from claude_session_player.stats import Prices, count_tokens, sum_usage
    from claude_session_player.store import load_responses

    prices = Prices.load()
    for start in range(0, len(sessions), _BATCH):
        if not is_wanted():
            return
        batch = sessions[start : start + _BATCH]
        load_responses([part for session in batch for part in session.parts])
        costs: dict[str, SessionCost] = {}
        for session in batch:
            total = sum_usage(count_tokens([session], prices, by_day=False))
            costs[session.file.name] = SessionCost(
                file_versions(session), total.tokens.total > 0, total.cost, total.unpriced
            )
        yield costs
