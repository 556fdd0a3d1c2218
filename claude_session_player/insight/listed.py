"""The prices that genai-prices lists, as tariffs: from a table that was made of it for this release.

A name leads to the same model as in genai-prices; tests compare both for every model. `make prices` makes the table.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import cache
from typing import Any, Final, NamedTuple

from claude_session_player.insight.rates import Tariff, read_tariff

PACKAGE: Final = "genai-prices"
AWS: Final = "aws"
_AWS_NAMES: Final = "anthropic."
"""What names of Claude's models hold at AWS, and nowhere else."""
_COMPACT_DATE: Final = re.compile(r"(-)(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
_Part = dict[str, Any]
"""A part of the table: a provider, a model, or a rule about names. Plain JSON, because to load msgspec takes longer."""
_PATH: Final = os.path.join(os.path.dirname(__file__), os.pardir, "data", "prices.jsonl")


class Listed(NamedTuple):
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


def look_up(models: Iterable[str]) -> Listed:
    """The tariffs of models; `None` for those that are not listed."""
    table = _table()
    return Listed({model: table.tariff(model) for model in models}, table.version, table.date)


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
