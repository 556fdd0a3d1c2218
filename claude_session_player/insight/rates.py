"""What tokens cost: rates, which may depend on the size of a request and on its time. All arithmetic is exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from claude_session_player.times import parse_time, utc_now

MILLION: Final = 1_000_000


class TokenCount(NamedTuple):
    """How many tokens there are of each kind that has a price of its own."""

    input: int = 0
    output: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_read: int = 0

    def add(self, other: TokenCount) -> TokenCount:
        """Both together."""
        return TokenCount(*map(int.__add__, self, other))

    @property
    def context(self) -> int:
        """All that a request sent: it decides about the rate, where that depends on the size."""
        return self.input + self.cache_write_5m + self.cache_write_1h + self.cache_read

    @property
    def total(self) -> int:
        """All tokens."""
        return self.context + self.output


class Rates(NamedTuple):
    """US dollars for a million tokens of each kind."""

    input: Decimal
    output: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    cache_read: Decimal

    def cost(self, tokens: TokenCount) -> Decimal:
        """What tokens cost in US dollars."""
        return sum((rate * count for rate, count in zip(self, tokens, strict=True)), Decimal()) / MILLION


@dataclass(frozen=True, eq=False)
class Step:
    """The rates of all tokens of a request that sends more than so many."""

    above: int
    rates: Rates


class Period(NamedTuple):
    """The rates of a time: from a day on, or between two moments of every day, both in UTC."""

    steps: tuple[Step, ...]
    """The largest last; the first is for every request."""
    since: str | None = None
    between: Sequence[str] | None = None

    def holds(self, moment: datetime) -> bool:
        """True where these rates are those of a moment."""
        if self.since is not None and str(moment.date()) < self.since:
            return False
        if self.between is None:
            return True
        (start, end), clock = self.between, f"{moment:%H:%M:%S}"
        return start <= clock < end if start <= end else clock >= start or clock < end

    def step(self, context: int) -> Step:
        """The rates of a request of this size."""
        for step in reversed(self.steps):
            if context > step.above:
                return step
        return self.steps[0]


class Tariff(NamedTuple):
    """All rates of a model. Of several periods that hold, the last one counts; where none does, the first."""

    periods: tuple[Period, ...]

    @property
    def is_flat(self) -> bool:
        """True where the rates are always the same."""
        return len(self.periods) == 1 and len(self.periods[0].steps) == 1

    @property
    def first(self) -> Step:
        """The only rates, where it is flat."""
        return self.periods[0].steps[0]

    def period(self, time: str | None) -> Period:
        """The period of a time; without one, that of this moment."""
        if len(self.periods) == 1:
            return self.periods[0]
        try:
            moment = parse_time(time).astimezone(UTC) if time else utc_now()
        except (ValueError, OverflowError):
            moment = utc_now()
        return next((period for period in reversed(self.periods) if period.holds(moment)), self.periods[0])

    def rates(self, context: int, time: str | None) -> Rates:
        """The rates of one request."""
        return self.period(time).step(context).rates


def flat(rates: Rates) -> Tariff:
    """A tariff that never changes."""
    return Tariff((Period((Step(-1, rates),)),))


def tariff_record(tariff: Tariff) -> list[Any]:
    """A tariff as JSON."""
    return [
        [[[step.above, list(map(str, step.rates))] for step in period.steps], period.since, period.between]
        for period in tariff.periods
    ]


def read_tariff(record: list[Any]) -> Tariff:
    """The tariff of its JSON form; raises `ValueError`, `TypeError` or `ArithmeticError` where it is none."""
    periods = [
        Period(tuple(Step(above, Rates(*map(Decimal, rates))) for above, rates in steps), since, between)
        for steps, since, between in record
    ]
    if not periods or not all(period.steps for period in periods):
        raise ValueError("no rates")
    return Tariff(tuple(periods))
