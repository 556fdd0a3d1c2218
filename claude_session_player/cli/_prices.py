"""`--prices`, and the prices that a cost is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from claude_session_player.stats import Prices

_F = TypeVar("_F", bound=Callable[..., object])


def prices_option(function: _F) -> _F:
    """`--prices`, as the parameter `prices_path`."""
    return click.option(
        "--prices",
        "prices_path",
        type=click.Path(),
        metavar="FILE",
        help="Use these prices first: a JSON file of dollars per million tokens, by model.",
    )(function)


def load_prices(path: str | None = None) -> Prices:
    """The prices that genai-prices lists, and before them those of the user."""
    from claude_session_player.stats import Prices

    return Prices.load(own=path)
