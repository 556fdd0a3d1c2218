"""The prices that commands reckon with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from claude_session_player.insight.prices import Prices

_F = TypeVar("_F", bound=Callable[..., Any])


def prices_option(function: _F) -> _F:
    """`--prices`, as the parameter `own`."""
    option = click.option(
        "--prices",
        "own",
        type=click.Path(),
        metavar="FILE",
        help="Prices of your own, as JSON: dollars for a million tokens, by model. They go before all others.",
    )
    return option(function)


def load_prices(own: str | None = None) -> Prices:
    """The prices that genai-prices lists, and the user's own."""
    from claude_session_player.insight.prices import Prices

    return Prices.load(own=own)
