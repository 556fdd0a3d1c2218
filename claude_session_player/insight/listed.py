"""The prices that ship with genai-prices, as tariffs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final, NamedTuple

from claude_session_player.insight import price_data
from claude_session_player.insight.rates import Period, Rates, Step, Tariff

PACKAGE: Final = "genai-prices"
_KEYS: Final = ("input_mtok", "output_mtok", "cache_write_mtok", "cache_write_1h_mtok", "cache_read_mtok")
_ONE_HOUR: Final = 2
"""Claude's documented price of an hour in the cache, in input tokens; for data that does not tell it."""
_FAMILY: Final = "claude"
_Find = Callable[[str], Any]
"""From the name of a model to what is known of it; raises where that is nothing."""


class Listed(NamedTuple):
    """What genai-prices knows: the tariff of each model that was asked for, its version, and the date of its data."""

    tariffs: dict[str, Tariff | None]
    version: str
    date: str | None
    """The day of the newest price in it: the data itself has no date."""


def look_up(models: Iterable[str]) -> Listed:
    """The tariffs of models: from the data alone where that is enough, else from the package."""
    wanted = list(models)
    tariffs: dict[str, Tariff | None] = {}
    version, day = None, None
    try:
        providers = price_data.providers()
        version, day = price_data.version(), _date(providers)
        tariffs = _tariffs(lambda model: price_data.find_model(providers, model), wanted)
    except Exception:  # the data is made in another way than this program knows
        tariffs = {}
    if rest := [model for model in wanted if tariffs.get(model) is None]:
        answer = _asked(rest)
        known = version if any(tariffs.values()) else None
        return Listed(tariffs | answer.tariffs, known or answer.version, day or answer.date)
    return Listed(tariffs, version or "(unknown version)", day)


def _asked(models: Sequence[str]) -> Listed:
    """What the package itself says."""
    try:
        import genai_prices
        from genai_prices.data_snapshot import get_snapshot

        snapshot = get_snapshot()
        version = str(genai_prices.__version__)
    except Exception:
        return Listed(dict.fromkeys(models), "(not usable)", None)

    def find(model: str) -> Any:
        return snapshot.find_provider_model(model, None, None, None)[1]

    def find_at_aws(model: str) -> Any:
        return snapshot.find_provider_model(model, None, "aws", None)[1]

    named_by_aws = [model for model in models if "anthropic." in model]
    return Listed(_tariffs(find, models) | _tariffs(find_at_aws, named_by_aws), version, _date(snapshot.providers))


def _tariffs(find: _Find, models: Sequence[str]) -> dict[str, Tariff | None]:
    return {model: _tariff(find, model) for model in models}


def _tariff(find: _Find, model: str) -> Tariff | None:
    """What is known of a model; `None` where it is not known exactly."""
    try:
        prices = find(model).prices
        if isinstance(prices, list):
            return Tariff(tuple(_period(price, model) for price in prices))
        return Tariff((Period(_steps(prices, model)),))
    except Exception:  # whatever a later version of the data says differently is not known
        return None


def _period(conditional: Any, model: str) -> Period:
    steps = _steps(conditional.prices, model)
    match _bounds(getattr(conditional, "constraint", None)):
        case None:
            return Period(steps)
        case date() as day:
            return Period(steps, since=day.isoformat())
        case (start, end):
            return Period(steps, between=(start, end))
    raise ValueError("a rule that is not understood")


def _bounds(constraint: Any) -> date | tuple[str, str] | None:
    """When a price holds. Raises `AttributeError` for a rule of a kind that is not known."""
    if constraint is None:
        return None
    if isinstance(day := getattr(constraint, "start_date", None), date):
        return day
    return _clock(constraint.start_time), _clock(constraint.end_time)


def _clock(moment: time) -> str:
    offset = moment.utcoffset()
    if offset:
        raise ValueError("the time of another zone")
    return f"{moment:%H:%M:%S}"


def _steps(price: Any, model: str) -> tuple[Step, ...]:
    """The rates by the size of a request. Each kind of tokens may have its own sizes."""
    if getattr(price, "requests_kcount", None):
        raise ValueError("a price for requests, beside that of tokens")
    given = [getattr(price, key, None) for key in _KEYS]
    starts = sorted({tier.start for value in given for tier in getattr(value, "tiers", ())})
    return tuple(Step(above, _rates([_at(value, above) for value in given], model)) for above in (-1, *starts))


def _at(value: Any, above: int) -> Decimal | None:
    """A price for requests that are just larger than this."""
    if value is None or isinstance(value, Decimal):
        return value
    reached = [tier.price for tier in value.tiers if tier.start <= above]
    price = reached[-1] if reached else value.base
    return price if isinstance(price, Decimal) else Decimal(str(price))


def _rates(given: list[Decimal | None], model: str) -> Rates:
    """Rates; kinds of tokens without a price of their own are charged as what they are a part of."""
    input, output, written, one_hour, read = given
    if input is None or output is None:
        raise ValueError("no price")
    if one_hour is None and written is not None and _FAMILY in model:
        one_hour = input * _ONE_HOUR
    short = input if written is None else written
    return Rates(input, output, short, short if one_hour is None else one_hour, input if read is None else read)


def _date(providers: Sequence[Any]) -> str | None:
    """The day of the newest price that is no announcement: none is newer than the files of the package."""
    try:
        written = os.stat(price_data.folder()).st_mtime
        latest = min(date.today(), datetime.fromtimestamp(written).date())
        return max(day for day in _days(providers) if day <= latest).isoformat()
    except (OSError, LookupError, ValueError, OverflowError, AttributeError, TypeError):
        return None


def _days(providers: Sequence[Any]) -> Iterator[date]:
    for provider in providers:
        for model in provider.models:
            prices = model.prices if isinstance(model.prices, list) else []
            for rule in (*prices, *(getattr(model, "price_variants", None) or ())):
                day = getattr(getattr(rule, "constraint", None), "start_date", None)
                if isinstance(day, date):
                    yield day
