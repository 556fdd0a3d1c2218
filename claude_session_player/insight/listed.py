"""The prices that ship with genai-prices, as tariffs.

The package takes long to be imported, so this module is asked only for models that are not known yet.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from decimal import Decimal
from importlib.machinery import PathFinder
from typing import Any, Final, NamedTuple

from claude_session_player.insight.rates import Period, Rates, Step, Tariff

PACKAGE: Final = "genai-prices"
_MODULE: Final = "genai_prices"
_DATA: Final = ("__init__.py", "data.py")
_KEYS: Final = ("input_mtok", "output_mtok", "cache_write_mtok", "cache_write_1h_mtok", "cache_read_mtok")
_ONE_HOUR: Final = 2
"""Claude's documented price of an hour in the cache, in input tokens; for data that does not tell it."""
_FAMILY: Final = "claude"


class Listed(NamedTuple):
    """What genai-prices knows: the tariff of each model that was asked for, its version, and the date of its data."""

    tariffs: dict[str, Tariff | None]
    version: str
    date: str | None
    """The day of the newest price in it: the data itself has no date."""


def stamp() -> str | None:
    """What tells the installed data from any other, found without importing it."""
    spec = PathFinder.find_spec(_MODULE)
    if spec is None or spec.origin is None:
        return None
    try:
        files = [os.stat(os.path.join(os.path.dirname(spec.origin), name)) for name in _DATA]
    except OSError:
        return None
    return " ".join(f"{file.st_size}-{file.st_mtime_ns}" for file in files)


def look_up(models: Iterable[str]) -> Listed:
    """The tariffs of models; `None` for what is not known exactly, and for everything where the package is broken."""
    try:
        import genai_prices
        from genai_prices.data_snapshot import get_snapshot

        snapshot = get_snapshot()
        version = str(genai_prices.__version__)
    except Exception:
        return Listed(dict.fromkeys(models), "(not usable)", None)
    return Listed({model: _tariff(snapshot, model) for model in models}, version, _date(snapshot))


def _tariff(snapshot: Any, model: str) -> Tariff | None:
    """What the data says of a model: by the provider of its name, or by AWS, where it is named as AWS does."""
    for provider in (None, "aws") if "anthropic." in model else (None,):
        try:
            _, info = snapshot.find_provider_model(model, None, provider, None)
            conditional = info.prices if isinstance(info.prices, list) else None
            if conditional is None:
                return Tariff((Period(_steps(info.prices, model)),))
            return Tariff(tuple(_period(price, model) for price in conditional))
        except Exception:  # whatever a later version of the data says differently is not known
            continue
    return None


def _period(conditional: Any, model: str) -> Period:
    steps = _steps(conditional.prices, model)
    match _bounds(conditional.constraint):
        case None:
            return Period(steps)
        case date() as day:
            return Period(steps, since=day.isoformat())
        case (start, end):
            return Period(steps, between=(start, end))
    raise ValueError(f"{conditional.constraint} is not understood")


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


def _date(snapshot: Any) -> str | None:
    """The day of the newest price that is no announcement: none is newer than the files of the package."""
    spec = PathFinder.find_spec(_MODULE)
    try:
        written = os.stat(spec.origin).st_mtime if spec and spec.origin else None
        latest = date.today() if written is None else min(date.today(), datetime.fromtimestamp(written).date())
        return max(day for day in _days(snapshot) if day <= latest).isoformat()
    except (OSError, ValueError, OverflowError, AttributeError, TypeError):
        return None


def _days(snapshot: Any) -> Iterator[date]:
    for provider in snapshot.providers:
        for model in provider.models:
            rules = [*(model.prices if isinstance(model.prices, list) else ()), *(model.price_variants or ())]
            days = (getattr(rule.constraint, "start_date", None) for rule in rules)
            yield from (day for day in days if isinstance(day, date))
