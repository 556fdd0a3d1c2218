"""The prices of tokens, which may depend on the size and the time of a request. All arithmetic is exact."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.errors import BadPrices
from claude_session_player.util.dirs import config_dir
from claude_session_player.util.fsutil import NOT_REGULAR
from claude_session_player.util.times import parse_time, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

MILLION: Final = 1_000_000


class TokenCount(NamedTuple):
    """The number of tokens of each kind that has its own price."""

    input: int = 0
    output: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_read: int = 0

    def add(self, other: TokenCount) -> TokenCount:
        """The sum of two counts."""
        return TokenCount(*map(int.__add__, self, other))

    @property
    def context(self) -> int:
        """The tokens that a request sent: the size that decides its rate, where rates depend on the size."""
        return self.input + self.cache_write_5m + self.cache_write_1h + self.cache_read

    @property
    def total(self) -> int:
        """All tokens."""
        return self.context + self.output


class Rates(NamedTuple):
    """US dollars per million tokens of each kind."""

    input: Decimal
    output: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    cache_read: Decimal

    def cost(self, tokens: TokenCount) -> Decimal:
        """The cost of tokens in US dollars."""
        return sum((rate * count for rate, count in zip(self, tokens, strict=True)), Decimal()) / MILLION


@dataclass(frozen=True, eq=False)
class RateTier:
    """The rates of requests with a context of more than `above` tokens."""

    above: int
    rates: Rates


class RatePeriod(NamedTuple):
    """The rates of a period in UTC: from a day on, or between two times of every day."""

    tiers: tuple[RateTier, ...]
    """From small to large contexts; the first applies to every request."""
    since: str | None = None
    between: Sequence[str] | None = None

    def applies(self, moment: datetime) -> bool:
        """True if these rates apply at a moment."""
        if self.since is not None and str(moment.date()) < self.since:
            return False
        if self.between is None:
            return True
        (start, end), clock = self.between, f"{moment:%H:%M:%S}"
        return start <= clock < end if start <= end else clock >= start or clock < end

    def tier(self, context: int) -> RateTier:
        """The rates of a request with a context of this size."""
        for tier in reversed(self.tiers):
            if context > tier.above:
                return tier
        return self.tiers[0]


class Tariff(NamedTuple):
    """All rates of a model. The last period that applies counts; if none applies, the first."""

    periods: tuple[RatePeriod, ...]

    @property
    def is_flat(self) -> bool:
        """True if the rates never change."""
        return len(self.periods) == 1 and len(self.periods[0].tiers) == 1

    @property
    def first(self) -> RateTier:
        """The first rates; the only ones of a flat tariff."""
        return self.periods[0].tiers[0]

    def period(self, time: str | None) -> RatePeriod:
        """The period of a time; the current one without a valid time."""
        if len(self.periods) == 1:
            return self.periods[0]
        try:
            moment = parse_time(time).astimezone(UTC) if time else utc_now()
        except (ValueError, OverflowError):
            moment = utc_now()
        return next((period for period in reversed(self.periods) if period.applies(moment)), self.periods[0])

    def rates(self, context: int, time: str | None) -> Rates:
        """The rates of one request."""
        return self.period(time).tier(context).rates


def flat_tariff(rates: Rates) -> Tariff:
    """A tariff that never changes."""
    return Tariff((RatePeriod((RateTier(-1, rates),)),))


def tariff_record(tariff: Tariff) -> list[Any]:
    """A tariff as JSON."""
    return [
        [[[tier.above, list(map(str, tier.rates))] for tier in period.tiers], period.since, period.between]
        for period in tariff.periods
    ]


def parse_tariff(record: list[Any]) -> Tariff:
    """The tariff of a JSON value; raises `ValueError`, `TypeError` or `ArithmeticError` if the value is invalid."""
    periods = [
        RatePeriod(tuple(RateTier(above, Rates(*map(Decimal, rates))) for above, rates in tiers), since, between)
        for tiers, since, between in record
    ]
    if not periods or not all(period.tiers for period in periods):
        raise ValueError("no rates")
    return Tariff(tuple(periods))


FILE_NAME: Final = "prices.json"
_REQUIRED: Final = ("input", "output")
_EXAMPLE: Final = '{"claude-opus-4-5": {"input": 5, "output": 25, "cache_write_5m": 6.25, …}}'
_MAX_PRICE: Final = 1_000_000
_MAX_DIGITS: Final = 9


def user_prices_path() -> str | None:
    """The user's price file in the platform's settings directory, if it exists; `BadPrices` if it is not a file."""
    if (folder := config_dir()) is None:
        return None
    path = os.path.join(folder, FILE_NAME)
    if os.path.lexists(path) and not os.path.isfile(path):
        raise BadPrices(f"{path}: {NOT_REGULAR}")
    return path if os.path.isfile(path) else None


def read_user_prices(path: str) -> dict[str, Tariff]:
    """The tariffs of a price file, by the name of a model or its prefix; raises `BadPrices`."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            content = json.load(file, parse_float=Decimal, parse_int=Decimal)
    except OSError as error:
        raise BadPrices(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise BadPrices(f"{path} is not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise BadPrices(f"{path} is not an object of models; write {_EXAMPLE}")
    return {model: flat_tariff(_parse_rates(f"{path}: {model!r}", rates)) for model, rates in content.items()}


def _parse_rates(where: str, rates: Any) -> Rates:
    """Rates of a price file; missing cache rates default to the input rate."""
    if not isinstance(rates, dict):
        raise BadPrices(f"{where} is not an object of rates; write {_EXAMPLE}")
    for name, value in rates.items():
        if name not in Rates._fields:
            raise BadPrices(f"{where} has an unknown rate {name!r}; use {', '.join(Rates._fields)}")
        if not isinstance(value, Decimal) or not _is_price(value):
            raise BadPrices(f"{where}: {name} is not a price; write US dollars per million tokens")
    for name in _REQUIRED:
        if name not in rates:
            raise BadPrices(f"{where} has no {name!r} rate; add it in US dollars per million tokens")
    return Rates(**{name: rates[name if name in rates else "input"] for name in Rates._fields})


def _is_price(value: Decimal) -> bool:
    """True for a number in the range of prices with a limited number of digits."""
    return value.is_finite() and 0 <= value <= _MAX_PRICE and value == round(value, _MAX_DIGITS)


PACKAGE: Final = "genai-prices"
AWS: Final = "aws"
_AWS_NAMES: Final = "anthropic."
"""A part of the names of Claude models at AWS, and nowhere else."""
_COMPACT_DATE: Final = re.compile(r"(-)(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
_TableRecord = dict[str, Any]
"""A provider, a model or a name clause of the table. Plain JSON: importing msgspec would take longer."""
_TABLE_PATH: Final = os.path.join(os.path.dirname(__file__), os.pardir, "data", "prices.jsonl")


class ListedPrices(NamedTuple):
    """The listed tariffs of some models, with the version and the date of the list."""

    tariffs: dict[str, Tariff | None]
    version: str
    date: str | None
    """The day of the newest price; the data of genai-prices has no date of its own."""


class _Table:
    """The price table: a line about all providers, then a line of models for each, which is decoded on demand."""

    def __init__(self) -> None:
        with open(_TABLE_PATH, encoding="utf-8") as file:
            head, *lines = file
        about: _TableRecord = json.loads(head)
        self.version: str = about["version"]
        self.date: str = about["newest_price"]
        self._providers: list[_TableRecord] = about["providers"]
        self._lines = {provider["id"]: line for provider, line in zip(self._providers, lines, strict=True)}
        self._models: dict[str, list[_TableRecord]] = {}

    def tariff(self, name: str) -> Tariff | None:
        """The tariff of a model at the first provider that uses such names, or else at AWS."""
        model = self._model(name)
        record = model["tariff"] if model is not None else None
        return None if record is None else parse_tariff(record)

    def window(self, name: str) -> int | None:
        """The context window of a model, found like its tariff."""
        model = self._model(name)
        window: int | None = model["window"] if model is not None else None
        return window

    def _model(self, name: str) -> _TableRecord | None:
        name = name.lower()
        model = self._find(lambda provider: provider["match"] and _matches(provider["match"], name), name)
        if model is None and _AWS_NAMES in name:
            model = self._find(lambda provider: provider["id"] == AWS, name)
        return model

    def _find(self, is_wanted: Callable[[_TableRecord], bool], name: str) -> _TableRecord | None:
        """The model of this name at a provider: as given, or else with its date in the other spelling."""
        provider = next((provider for provider in self._providers if is_wanted(provider)), None)
        if provider is None:
            return None
        for spelling in dict.fromkeys((name, _COMPACT_DATE.sub(_dashed_date, name))):
            for model in self._offered_models(provider):
                if _matches(model["match"], spelling):
                    return model
        return None

    def _offered_models(self, provider: _TableRecord) -> Iterator[_TableRecord]:
        """The models of a provider, then those of its fallback providers."""
        for id in (provider["id"], *provider["fallbacks"]):
            if id not in self._models:
                self._models[id] = json.loads(self._lines[id]) if id in self._lines else []
            yield from self._models[id]


_table: Final = cache(_Table)


def look_up_prices(models: Iterable[str]) -> ListedPrices:
    """The listed tariffs of models; `None` for models that are not listed."""
    table = _table()
    return ListedPrices({model: table.tariff(model) for model in models}, table.version, table.date)


@lru_cache
def listed_window(model: str) -> int | None:
    """The context window of a model in tokens; `None` if it is not listed."""
    return _table().window(model)


def _dashed_date(match: re.Match[str]) -> str:
    """The date in a name like `gpt-5-20251211` as `-2025-12-11`; unchanged if it is not a valid date."""
    try:
        return f"{match[1]}{date(*map(int, match.groups()[1:]))}"
    except ValueError:
        return match[0]


def _matches(clause: _TableRecord, name: str) -> bool:
    ((kind, value),) = clause.items()
    return _CLAUSES[kind](name, value)


_CLAUSES: Final[Mapping[str, Callable[[str, Any], bool]]] = {
    "equals": lambda name, value: name == value.lower(),
    "starts_with": lambda name, value: name.startswith(value.lower()),
    "ends_with": lambda name, value: name.endswith(value.lower()),
    "contains": lambda name, value: value.lower() in name,
    "regex": lambda name, value: re.search(value, name) is not None,
    "or": lambda name, value: any(_matches(clause, name) for clause in value),
    "and": lambda name, value: all(_matches(clause, name) for clause in value),
}


class Prices:
    """The prices of models: the user's own where given, or else the listed ones."""

    def __init__(self, own: dict[str, Tariff], own_path: str | None) -> None:
        self.version: str | None = None
        """The version of genai-prices, once a listed price was looked up."""
        self.date: str | None = None
        """The day of the newest listed price, likewise."""
        self.own_path = own_path
        self.own_models: set[str] = set()
        """The models that were priced by the user's own file."""
        self._own = own
        self._listed: dict[str, Tariff | None] = {}

    @classmethod
    def load(cls, *, own: str | None = None) -> Prices:
        """Load the user's own prices from `own`, or else from the settings directory, if there are any.

        Raises `BadPrices` if that file is invalid.
        """
        path = own if own is not None else user_prices_path()
        return cls(read_user_prices(path) if path is not None else {}, path)

    def cost(self, model: str, tokens: TokenCount, time: str | None) -> Decimal | None:
        """The cost of one response in US dollars; `None` if the price is unknown.

        Prices may depend on the size of a response, so that the costs of several have to be added up.
        """
        tariff = self.tariff(model)
        return tariff.rates(tokens.context, time).cost(tokens) if tariff else None

    def tariff(self, model: str) -> Tariff | None:
        """The rates of a model; `None` if they are unknown."""
        return self.tariffs([model])[model]

    def tariffs(self, models: Iterable[str]) -> dict[str, Tariff | None]:
        """The rates of models; `None` for those with unknown rates."""
        tariffs: dict[str, Tariff | None] = {}
        others = []
        for model in models:
            if (own := self._own_tariff(model)) is not None:
                tariffs[model] = own
                self.own_models.add(model)
            else:
                others.append(model)
        return tariffs | self._listed_tariffs(others) if others else tariffs

    @property
    def source(self) -> str:
        """Where the prices come from, for people."""
        newest = f", newest price of {self.date}" if self.date else ""
        listed = f"{PACKAGE} {self.version}{newest}" if self.version else ""
        own = self.own_path if self.own_models else None
        return "; else ".join(filter(None, (own, listed))) or "none needed"

    def _own_tariff(self, model: str) -> Tariff | None:
        """The user's own rates of a model: those of the longest prefix of its name."""
        prefixes = [name for name in self._own if model.startswith(name)]
        return self._own[max(prefixes, key=len)] if prefixes else None

    def _listed_tariffs(self, models: Iterable[str]) -> dict[str, Tariff | None]:
        missing = [model for model in models if model not in self._listed]
        if missing:
            listed = look_up_prices(missing)
            self.version, self.date = listed.version, listed.date
            self._listed |= listed.tariffs
        return {model: self._listed[model] for model in models}
