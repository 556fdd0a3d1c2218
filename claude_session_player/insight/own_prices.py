"""Prices of the user's own: a JSON file with dollars for a million tokens, by model."""

from __future__ import annotations

import json
import os
import sys
from decimal import Decimal
from typing import Any, Final

from claude_session_player.errors import BadPrices
from claude_session_player.insight.rates import Rates, Tariff, flat
from claude_session_player.names import PROGRAM
from claude_session_player.regular_file import NOT_REGULAR

NAME: Final = "prices.json"
_NEEDED: Final = ("input", "output")
_EXAMPLE: Final = '{"claude-opus-4-5": {"input": 5, "output": 25, "cache_write_5m": 6.25, …}}'
_MOST: Final = 1_000_000
_DIGITS: Final = 9
_IS_LINUX: Final[bool] = sys.platform == "linux"


def usual_place() -> str | None:
    """The file in the platform's directory for settings, where there is one. Raises `BadPrices` for anything else."""
    if _IS_LINUX:  # the same as platformdirs says, without the time that it takes to be loaded
        folder = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
        path = os.path.join(folder, PROGRAM, NAME)
    else:
        import platformdirs

        try:
            path = os.path.join(platformdirs.user_config_dir(PROGRAM, appauthor=False), NAME)
        except (OSError, RuntimeError, KeyError):
            return None
    if os.path.lexists(path) and not os.path.isfile(path):
        raise BadPrices(f"{path}: {NOT_REGULAR}")
    return path if os.path.isfile(path) else None


def read_own(path: str) -> dict[str, Tariff]:
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
    return {model: flat(_rates(f"{path}: {model!r}", rates)) for model, rates in told.items()}


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
