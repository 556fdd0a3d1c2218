"""What tokens cost: rates, which may depend on the size of a request and on its time. All arithmetic is exact."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.errors import BadPrices
from claude_session_player.util.dirs import config_dir
from claude_session_player.util.fsutil import NOT_REGULAR
from claude_session_player.util.times import parse_time, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
class RateStep:
    """The rates of all tokens of a request that sends more than so many."""

    above: int
    rates: Rates


class RatePeriod(NamedTuple):
    """The rates of a time: from a day on, or between two moments of every day, both in UTC."""

    steps: tuple[RateStep, ...]
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

    def step(self, context: int) -> RateStep:
        """The rates of a request of this size."""
        for step in reversed(self.steps):
            if context > step.above:
                return step
        return self.steps[0]


class Tariff(NamedTuple):
    """All rates of a model. Of several periods that hold, the last one counts; where none does, the first."""

    periods: tuple[RatePeriod, ...]

    @property
    def is_flat(self) -> bool:
        """True where the rates are always the same."""
        return len(self.periods) == 1 and len(self.periods[0].steps) == 1

    @property
    def first(self) -> RateStep:
        """The only rates, where it is flat."""
        return self.periods[0].steps[0]

    def period(self, time: str | None) -> RatePeriod:
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


def flat_tariff(rates: Rates) -> Tariff:
    """A tariff that never changes."""
    return Tariff((RatePeriod((RateStep(-1, rates),)),))


def tariff_record(tariff: Tariff) -> list[Any]:
    """A tariff as JSON."""
    return [
        [[[step.above, list(map(str, step.rates))] for step in period.steps], period.since, period.between]
        for period in tariff.periods
    ]


def read_tariff(record: list[Any]) -> Tariff:
    """The tariff of its JSON form; raises `ValueError`, `TypeError` or `ArithmeticError` where it is none."""
    periods = [
        RatePeriod(tuple(RateStep(above, Rates(*map(Decimal, rates))) for above, rates in steps), since, between)
        for steps, since, between in record
    ]
    if not periods or not all(period.steps for period in periods):
        raise ValueError("no rates")
    return Tariff(tuple(periods))


NAME: Final = "prices.json"
_NEEDED: Final = ("input", "output")
_EXAMPLE: Final = '{"claude-opus-4-5": {"input": 5, "output": 25, "cache_write_5m": 6.25, …}}'
_MOST: Final = 1_000_000
_DIGITS: Final = 9


def user_prices_path() -> str | None:
    """The file in the platform's directory for settings, where there is one. Raises `BadPrices` for anything else."""
    if (folder := config_dir()) is None:
        return None
    path = os.path.join(folder, NAME)
    if os.path.lexists(path) and not os.path.isfile(path):
        raise BadPrices(f"{path}: {NOT_REGULAR}")
    return path if os.path.isfile(path) else None


def read_user_prices(path: str) -> dict[str, Tariff]:
    """The tariffs of a file, by the name of a model or its beginning; raises `BadPrices`."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            told = json.load(file, parse_float=Decimal, parse_int=Decimal)
    except OSError as error:
        raise BadPrices(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise BadPrices(f"{path} is not JSON: {error}") from error
    if not isinstance(told, dict):
        raise BadPrices(f"{path} is no object of models: write {_EXAMPLE}")
    return {model: flat_tariff(_rates(f"{path}: {model!r}", rates)) for model, rates in told.items()}


def _rates(where: str, told: Any) -> Rates:
    """Rates; those of the cache are those of input where they are not told."""
    if not isinstance(told, dict):
        raise BadPrices(f"{where} is no object of rates: write {_EXAMPLE}")
    for name, value in told.items():
        if name not in Rates._fields:
            raise BadPrices(f"{where} has {name!r}: the rates are {', '.join(Rates._fields)}")
        if not isinstance(value, Decimal) or not _is_price(value):
            raise BadPrices(f"{where}: {name} is no number of dollars for a million tokens")
    for name in _NEEDED:
        if name not in told:
            raise BadPrices(f"{where} has no {name!r}")
    return Rates(**{name: told[name if name in told else "input"] for name in Rates._fields})


def _is_price(value: Decimal) -> bool:
    """True for a number that can be a price: it is finite, and so are its digits."""
    return value.is_finite() and 0 <= value <= _MOST and value == round(value, _DIGITS)


PACKAGE: Final = "genai-prices"
AWS: Final = "aws"
_AWS_NAMES: Final = "anthropic."
"""What names of Claude's models hold at AWS, and nowhere else."""
_COMPACT_DATE: Final = re.compile(r"(-)(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
_Part = dict[str, Any]
"""A part of the table: a provider, a model, or a rule about names. Plain JSON, because to load msgspec takes longer."""
_PATH: Final = os.path.join(os.path.dirname(__file__), os.pardir, "data", "prices.jsonl")


class ListedPrices(NamedTuple):
    """What is listed: the tariff of each model that was asked for, the version of genai-prices, and a date."""

    tariffs: dict[str, Tariff | None]
    version: str
    date: str | None
    """The day of the newest price in it: the data itself has no date."""


class _Table:
    """The table: a line about all providers, then a line with the models of each. It is decoded when it is needed."""

    def __init__(self) -> None:
        with open(_PATH, encoding="utf-8") as file:
            head, *lines = file
        told: _Part = json.loads(head)
        self.version: str = told["version"]
        self.date: str = told["newest_price"]
        self._providers: list[_Part] = told["providers"]
        self._lines = {one["id"]: line for one, line in zip(self._providers, lines, strict=True)}
        self._decoded: dict[str, list[_Part]] = {}

    def tariff(self, name: str) -> Tariff | None:
        """The tariff of the model that a name means at the first provider that has such names, else at AWS."""
        name = name.lower()
        found = self._find(lambda one: one["match"] and _fits(one["match"], name), name)
        if found is None and _AWS_NAMES in name:
            found = self._find(lambda one: one["id"] == AWS, name)
        record = found["tariff"] if found is not None else None
        return None if record is None else read_tariff(record)

    def _find(self, is_meant: Callable[[_Part], bool], name: str) -> _Part | None:
        """The model of a name: as it is, else with its date spelled as other names spell it."""
        provider = next((one for one in self._providers if is_meant(one)), None)
        if provider is None:
            return None
        for spelled in dict.fromkeys((name, _COMPACT_DATE.sub(_dashed, name))):
            for model in self._offered(provider):
                if _fits(model["match"], spelled):
                    return model
        return None

    def _offered(self, provider: _Part) -> Iterator[_Part]:
        """The models of a provider, then those of the providers whose models it offers as well."""
        for id in (provider["id"], *provider["fallbacks"]):
            yield from self._models(id)

    def _models(self, id: str) -> list[_Part]:
        if id not in self._decoded:
            self._decoded[id] = json.loads(self._lines[id]) if id in self._lines else []
        return self._decoded[id]


_table: Final = cache(_Table)


def look_up_prices(models: Iterable[str]) -> ListedPrices:
    """The tariffs of models; `None` for those that are not listed."""
    table = _table()
    return ListedPrices({model: table.tariff(model) for model in models}, table.version, table.date)


def _dashed(match: re.Match[str]) -> str:
    """The date of a name like `gpt-5-20251211` as `-2025-12-11`; what is no date stays."""
    try:
        return f"{match[1]}{date(*map(int, match.groups()[1:]))}"
    except ValueError:
        return match[0]


def _fits(clause: _Part, name: str) -> bool:
    ((kind, value),) = clause.items()
    return _CLAUSES[kind](name, value)


_CLAUSES: Final[Mapping[str, Callable[[str, Any], bool]]] = {
    "equals": lambda name, value: name == value.lower(),
    "starts_with": lambda name, value: name.startswith(value.lower()),
    "ends_with": lambda name, value: name.endswith(value.lower()),
    "contains": lambda name, value: value.lower() in name,
    "regex": lambda name, value: re.search(value, name) is not None,
    "or": lambda name, value: any(_fits(clause, name) for clause in value),
    "and": lambda name, value: all(_fits(clause, name) for clause in value),
}


class Prices:
    """The prices of models."""

    def __init__(self, own: dict[str, Tariff], own_path: str | None) -> None:
        self.version: str | None = None
        """That of genai-prices, as soon as it was asked."""
        self.date: str | None = None
        """The day of the newest price that it knows."""
        self.own_path = own_path
        self.own_models: set[str] = set()
        """Those whose price is the user's own."""
        self._own = own
        self._known: dict[str, Tariff | None] = {}

    @classmethod
    def load(cls, *, own: str | None = None) -> Prices:
        """The prices, with those of a file of the user's own: `own`, else the one in the settings directory.

        Raises `BadPrices` where that file cannot be understood.
        """
        path = own if own is not None else user_prices_path()
        return cls(read_user_prices(path) if path is not None else {}, path)

    def cost(self, model: str, tokens: TokenCount, time: str | None) -> Decimal | None:
        """What one response cost in US dollars; `None` where nobody knows.

        It is for one response, because prices may depend on its size: sums of responses have to be added up.
        """
        tariff = self.tariff(model)
        return tariff.rates(tokens.context, time).cost(tokens) if tariff else None

    def tariff(self, model: str) -> Tariff | None:
        """The rates of a model."""
        return self.tariffs([model])[model]

    def tariffs(self, models: Iterable[str]) -> dict[str, Tariff | None]:
        """The rates of models; `None` for those that nobody knows."""
        found: dict[str, Tariff | None] = {}
        rest = []
        for model in models:
            if (own := self._of_own(model)) is not None:
                found[model] = own
                self.own_models.add(model)
            else:
                rest.append(model)
        return found | self._listed(rest) if rest else found

    @property
    def source(self) -> str:
        """Where the prices come from."""
        newest = f", newest price of {self.date}" if self.date else ""
        listed_prices = f"{PACKAGE} {self.version}{newest}" if self.version else ""
        own = self.own_path if self.own_models else None
        return "; else ".join(filter(None, (own, listed_prices))) or "none needed"

    def _of_own(self, model: str) -> Tariff | None:
        """By its name, else by the longest beginning of it."""
        fitting = [name for name in self._own if model.startswith(name)]
        return self._own[max(fitting, key=len)] if fitting else None

    def _listed(self, models: Iterable[str]) -> dict[str, Tariff | None]:
        unknown = [model for model in models if model not in self._known]
        if unknown:
            answer = look_up_prices(unknown)
            self.version, self.date = answer.version, answer.date
            self._known |= answer.tariffs
        return {model: self._known[model] for model in models}
