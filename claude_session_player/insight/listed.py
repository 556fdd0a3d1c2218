"""The prices that genai-prices lists, as tariffs: from a table that was made of it for this release.

A name leads to the same model as in genai-prices; tests compare both for every model. `make prices` makes the table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw, Struct

from claude_session_player.insight.rates import Tariff, read_tariff

PACKAGE: Final = "genai-prices"
AWS: Final = "aws"
_AWS_NAMES: Final = "anthropic."
"""What names of Claude's models hold at AWS, and nowhere else."""
_COMPACT_DATE: Final = re.compile(r"(-)(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
_PATH: Final = os.path.join(os.path.dirname(__file__), os.pardir, "data", "prices.json")


class Listed(NamedTuple):
    """What is listed: the tariff of each model that was asked for, the version of genai-prices, and a date."""

    tariffs: dict[str, Tariff | None]
    version: str
    date: str | None
    """The day of the newest price in it: the data itself has no date."""


class _Model(Struct, gc=False):
    match: dict[str, Any]
    tariff: Raw


class _Provider(Struct, gc=False):
    id: str
    match: dict[str, Any] | None
    fallbacks: list[str]
    models: list[_Model]


class _Table(Struct, gc=False):
    version: str
    newest_price: str
    providers: list[_Provider]


def look_up(models: Iterable[str]) -> Listed:
    """The tariffs of models; `None` for those that are not listed."""
    table = _table()
    return Listed({model: _tariff(table, model) for model in models}, table.version, table.newest_price)


@cache
def _table() -> _Table:
    with open(_PATH, "rb") as file:
        return msgspec.json.decode(file.read(), type=_Table)


def _tariff(table: _Table, name: str) -> Tariff | None:
    name = name.lower()
    provider = next((one for one in table.providers if one.match and _fits(one.match, name)), None)
    found = _of_provider(table, provider, name)
    if found is None and _AWS_NAMES in name:
        found = _of_provider(table, next((one for one in table.providers if one.id == AWS), None), name)
    record = msgspec.json.decode(found.tariff) if found is not None else None
    return None if record is None else read_tariff(record)


def _of_provider(table: _Table, provider: _Provider | None, name: str) -> _Model | None:
    """The model of a name: as it is, else with its date spelled as other names spell it."""
    if provider is None:
        return None
    for spelled in dict.fromkeys((name, _COMPACT_DATE.sub(_dashed, name))):
        for model in _models(table, provider):
            if _fits(model.match, spelled):
                return model
    return None


def _models(table: _Table, provider: _Provider) -> Iterator[_Model]:
    """The models of a provider, then those of the providers whose models it offers as well."""
    yield from provider.models
    by_id = {one.id: one for one in table.providers} if provider.fallbacks else {}
    for id in provider.fallbacks:
        if id in by_id:
            yield from by_id[id].models


def _dashed(match: re.Match[str]) -> str:
    """The date of a name like `gpt-5-20251211` as `-2025-12-11`; what is no date stays."""
    try:
        return f"{match[1]}{date(*map(int, match.groups()[1:]))}"
    except ValueError:
        return match[0]


def _fits(clause: dict[str, Any], name: str) -> bool:
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
