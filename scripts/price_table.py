"""Writes claude_session_player/data/prices.jsonl from the installed genai-prices: `make prices`, before a release.

Importing genai-prices takes a quarter of a second, a look into this table less than a millisecond. It holds the tariffs
of the providers that genai-prices finds by the name of a model alone, of those that they fall back to, and of AWS.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import genai_prices
from genai_prices.data_snapshot import get_snapshot

from claude_session_player.stats.prices import AWS, PACKAGE, RatePeriod, Rates, RateTier, Tariff, tariff_record

PATH = Path(__file__).parents[1] / "claude_session_player" / "data" / "prices.jsonl"

_KEYS = ("input_mtok", "output_mtok", "cache_write_mtok", "cache_write_1h_mtok", "cache_read_mtok")
_ONE_HOUR = 2
"""Claude's documented price of an hour in the cache, in input tokens; for data that does not tell it."""
_FAMILY = "claude"
_LICENCE = "MIT, Copyright (c) Pydantic Services Inc. 2025 to present"


def table(day: date) -> str:
    """The table as it is made on a day: a line about all providers, then a line with the models of each."""
    providers = _reachable(get_snapshot().providers)
    head = {
        "source": f"{PACKAGE} {genai_prices.__version__} ({_LICENCE}); made by 'make prices'",
        "version": genai_prices.__version__,
        "made_on": day.isoformat(),
        "newest_price": max(one for one in _days(providers) if one <= day).isoformat(),
    }
    lines = [head | {"providers": list(map(_provider, providers))}, *map(_models, providers)]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def _reachable(providers: Sequence[Any]) -> list[Any]:
    """The providers that a name alone may lead to, in their order, which decides."""
    chosen = [provider for provider in providers if provider.model_match is not None or provider.id == AWS]
    ids = {provider.id for provider in chosen}
    ids |= {id for provider in chosen for id in provider.fallback_model_providers or ()}
    return [provider for provider in providers if provider.id in ids]


def _provider(provider: Any) -> dict[str, Any]:
    return {
        "id": provider.id,
        "match": clause(provider.model_match) if provider.model_match is not None else None,
        "fallbacks": list(provider.fallback_model_providers or ()),
    }


def _models(provider: Any) -> list[dict[str, Any]]:
    return [{"match": clause(model.match), "tariff": _record(model)} for model in provider.models]


def clause(logic: Any) -> dict[str, Any]:
    """A rule about names as JSON: its kind, and what it asks for."""
    ((name, value),) = vars(logic).items()
    return {name.rstrip("_"): [clause(one) for one in value] if isinstance(value, list) else value}


def _record(model: Any) -> list[Any] | None:
    found = tariff(model)
    return None if found is None else tariff_record(found)


def tariff(model: Any) -> Tariff | None:
    """The rates of a model of the package; `None` where they cannot be told exactly."""
    try:
        if isinstance(model.prices, list):
            return Tariff(tuple(_period(price, model.id) for price in model.prices))
        return Tariff((RatePeriod(_steps(model.prices, model.id)),))
    except (ValueError, AttributeError, TypeError):  # a rule of a kind that is not known
        return None


def _period(conditional: Any, model: str) -> RatePeriod:
    steps, constraint = _steps(conditional.prices, model), getattr(conditional, "constraint", None)
    if constraint is None:
        return RatePeriod(steps)
    if isinstance(day := getattr(constraint, "start_date", None), date):
        return RatePeriod(steps, since=day.isoformat())
    return RatePeriod(steps, between=(_clock(constraint.start_time), _clock(constraint.end_time)))


def _clock(moment: time) -> str:
    if moment.utcoffset():
        raise ValueError("the time of another zone")
    return f"{moment:%H:%M:%S}"


def _steps(price: Any, model: str) -> tuple[RateTier, ...]:
    """The rates by the size of a request. Each kind of tokens may have its own sizes."""
    if getattr(price, "requests_kcount", None):
        raise ValueError("a price for requests, beside that of tokens")
    given = [getattr(price, key, None) for key in _KEYS]
    starts = sorted({tier.start for value in given for tier in getattr(value, "tiers", ())})
    return tuple(RateTier(above, _rates([_at(value, above) for value in given], model)) for above in (-1, *starts))


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


def _days(providers: Sequence[Any]) -> Iterator[date]:
    """The days from which on prices hold."""
    for provider in providers:
        for model in provider.models:
            prices = model.prices if isinstance(model.prices, list) else []
            for rule in (*prices, *(model.price_variants or ())):
                day = getattr(getattr(rule, "constraint", None), "start_date", None)
                if isinstance(day, date):
                    yield day


def main() -> None:
    """Write the table, and say what it is made from."""
    PATH.write_text(table(datetime.now(UTC).date()), encoding="utf-8")
    print(f"{PATH}: {PACKAGE} {genai_prices.__version__}", file=sys.stderr)


if __name__ == "__main__":
    main()
