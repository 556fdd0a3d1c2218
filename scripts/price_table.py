"""Write claude_session_player/data/prices.jsonl from the installed genai-prices (`make prices`, before a release).

Importing genai-prices takes a quarter of a second, a lookup in this table less than a millisecond. The table has the
tariffs and context windows of all providers that genai-prices finds by the name of a model alone, of their fallbacks,
and of AWS.
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
"""The documented price of an hour in the cache as a multiple of the input price; used where the data has none."""
_FAMILY = "claude"
_LICENCE = "MIT, Copyright (c) Pydantic Services Inc. 2025 to present"


def price_table(day: date) -> str:
    """The table as of a day: a line about all providers, then a line with the models of each."""
    providers = _reachable(get_snapshot().providers)
    head = {
        "source": f"{PACKAGE} {genai_prices.__version__} ({_LICENCE}); made by 'make prices'",
        "version": genai_prices.__version__,
        "made_on": day.isoformat(),
        "newest_price": max(start for start in _start_days(providers) if start <= day).isoformat(),
    }
    lines = [head | {"providers": list(map(_provider, providers))}, *map(_models, providers)]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def _reachable(providers: Sequence[Any]) -> list[Any]:
    """The providers that the name of a model alone can lead to; the first match wins, so the order is kept."""
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
    return [
        {"match": clause(model.match), "tariff": _record(model), "window": model.context_window}
        for model in provider.models
    ]


def clause(logic: Any) -> dict[str, Any]:
    """A name clause as JSON: its kind and its operand."""
    ((name, value),) = vars(logic).items()
    return {name.rstrip("_"): [clause(inner) for inner in value] if isinstance(value, list) else value}


def _record(model: Any) -> list[Any] | None:
    rates = tariff(model)
    return None if rates is None else tariff_record(rates)


def tariff(model: Any) -> Tariff | None:
    """The rates of a model of genai-prices; `None` if they cannot be expressed exactly."""
    try:
        if isinstance(model.prices, list):
            return Tariff(tuple(_period(price, model.id) for price in model.prices))
        return Tariff((RatePeriod(_tiers(model.prices, model.id)),))
    except (ValueError, AttributeError, TypeError):  # a constraint of an unknown kind
        return None


def _period(conditional: Any, model: str) -> RatePeriod:
    tiers, constraint = _tiers(conditional.prices, model), getattr(conditional, "constraint", None)
    if constraint is None:
        return RatePeriod(tiers)
    if isinstance(day := getattr(constraint, "start_date", None), date):
        return RatePeriod(tiers, since=day.isoformat())
    return RatePeriod(tiers, between=(_clock(constraint.start_time), _clock(constraint.end_time)))


def _clock(moment: time) -> str:
    if moment.utcoffset():
        raise ValueError("a time that is not in UTC")
    return f"{moment:%H:%M:%S}"


def _tiers(price: Any, model: str) -> tuple[RateTier, ...]:
    """The rates by the size of a request; each kind of tokens may have its own tiers."""
    if getattr(price, "requests_kcount", None):
        raise ValueError("requests have a price of their own")
    prices = [getattr(price, key, None) for key in _KEYS]
    starts = sorted({tier.start for value in prices for tier in getattr(value, "tiers", ())})
    return tuple(
        RateTier(above, _rates([_price_above(value, above) for value in prices], model)) for above in (-1, *starts)
    )


def _price_above(value: Any, above: int) -> Decimal | None:
    """The price of requests that are just larger than this."""
    if value is None or isinstance(value, Decimal):
        return value
    reached = [tier.price for tier in value.tiers if tier.start <= above]
    price = reached[-1] if reached else value.base
    return price if isinstance(price, Decimal) else Decimal(str(price))


def _rates(prices: list[Decimal | None], model: str) -> Rates:
    """Rates; without prices of their own, cached tokens cost as much as input, and an hour as much as five minutes."""
    input, output, written, one_hour, read = prices
    if input is None or output is None:
        raise ValueError("no price")
    if one_hour is None and written is not None and _FAMILY in model:
        one_hour = input * _ONE_HOUR
    short = input if written is None else written
    return Rates(input, output, short, short if one_hour is None else one_hour, input if read is None else read)


def _start_days(providers: Sequence[Any]) -> Iterator[date]:
    """The days on which prices start to apply."""
    for provider in providers:
        for model in provider.models:
            prices = model.prices if isinstance(model.prices, list) else []
            for rule in (*prices, *(model.price_variants or ())):
                day = getattr(getattr(rule, "constraint", None), "start_date", None)
                if isinstance(day, date):
                    yield day


def main() -> None:
    """Write the table, and print its source."""
    PATH.write_text(price_table(datetime.now(UTC).date()), encoding="utf-8")
    print(f"{PATH}: {PACKAGE} {genai_prices.__version__}", file=sys.stderr)


if __name__ == "__main__":
    main()
