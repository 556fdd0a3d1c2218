"""What responses cost: by prices of the user's own, else by those that genai-prices lists.

Nothing is guessed: a model that is not known has no price.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from claude_session_player.insight import listed
from claude_session_player.insight.own_prices import read_own, usual_place
from claude_session_player.insight.rates import Tariff, TokenCount


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
        path = own if own is not None else usual_place()
        return cls(read_own(path) if path is not None else {}, path)

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

    def _listed(self, models: Iterable[str]) -> dict[str, Tariff | None]:
        unknown = [model for model in models if model not in self._known]
        if unknown:
            answer = listed.look_up(unknown)
            self.version, self.date = answer.version, answer.date
            self._known |= answer.tariffs
        return {model: self._known[model] for model in models}
