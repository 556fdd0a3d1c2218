"""What responses cost: by prices of the user's own, else by those that ship with genai-prices.

The tariffs of models that were seen are kept in the cache directory, because it takes a while to find them. They hold
for the very data that they were taken from. Nothing is guessed: a model that is not known has no price.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from claude_session_player.insight import listed, price_data
from claude_session_player.insight.own_prices import read_own, usual_place
from claude_session_player.insight.rates import Tariff, TokenCount, read_tariff, tariff_record

_FILE: Final = "prices-1.json"
_DAMAGE: Final = (OSError, ValueError, TypeError, KeyError, ArithmeticError, AttributeError)


class Prices:
    """The prices of models. `cache` is the directory in which they are kept; with `None` they are not."""

    def __init__(self, cache: str | None, own: dict[str, Tariff], own_path: str | None) -> None:
        self.version: str | None = None
        """That of genai-prices, as soon as it was asked."""
        self.date: str | None = None
        """The day of the newest price that it knows."""
        self.own_path = own_path
        self.own_models: set[str] = set()
        """Those whose price is the user's own."""
        self._own = own
        self._path = os.path.join(cache, _FILE) if cache is not None else None
        self._known: dict[str, Tariff | None] | None = None

    @classmethod
    def load(cls, cache: str | None, own: str | None = None) -> Prices:
        """The prices, with those of a file of the user's own: `own`, else the one in the settings directory.

        Raises `BadPrices` where that file cannot be understood.
        """
        path = own if own is not None else usual_place()
        return cls(cache, read_own(path) if path is not None else {}, path)

    def prepare(self) -> None:
        """Load the price data where nothing is kept of it, so that it is at hand when it is asked for."""
        if self._path is None or not os.path.exists(self._path):
            price_data.providers()

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
        listed_prices = f"{listed.PACKAGE} {self.version}{newest}" if self.version else ""
        own = self.own_path if self.own_models else None
        return "; else ".join(filter(None, (own, listed_prices))) or "none needed"

    def _of_own(self, model: str) -> Tariff | None:
        """By its name, else by the longest beginning of it."""
        fitting = [name for name in self._own if model.startswith(name)]
        return self._own[max(fitting, key=len)] if fitting else None

    def _listed(self, models: list[str]) -> dict[str, Tariff | None]:
        stamp = price_data.stamp() if self._path is not None else None
        if self._known is None:
            self._known = {}
            if stamp is not None:
                self._recall(stamp)
        if unknown := [model for model in models if model not in self._known]:
            answer = listed.look_up(unknown)
            self.version, self.date = answer.version, answer.date
            self._known |= answer.tariffs
            if stamp is not None:
                self._keep(stamp)
        return {model: self._known[model] for model in models}

    def _recall(self, stamp: str) -> None:
        """Take up what was kept, where it is of the same data."""
        assert self._path is not None
        with contextlib.suppress(*_DAMAGE), open(self._path, encoding="utf-8") as file:
            kept = json.load(file)
            if kept["stamp"] == stamp:
                known = {model: _tariff(record) for model, record in kept["models"].items()}
                self.version, self.date, self._known = kept["version"], kept["date"], known

    def _keep(self, stamp: str) -> None:
        assert self._path is not None
        assert self._known is not None
        models = {model: tariff_record(tariff) if tariff else None for model, tariff in self._known.items()}
        kept: dict[str, Any] = {"stamp": stamp, "version": self.version, "date": self.date, "models": models}
        draft = f"{self._path}.{os.getpid()}"
        with contextlib.suppress(*_DAMAGE):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with open(draft, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            os.replace(draft, self._path)


def _tariff(record: Any) -> Tariff | None:
    return None if record is None else read_tariff(record)
