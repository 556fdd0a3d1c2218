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


def load_prices(no_cache: bool, own: str | None = None) -> Prices:
    """The prices that ship with genai-prices, and the user's own; what was found is kept, unless nothing shall be."""
    from claude_session_player.insight.prices import Prices
    from claude_session_player.store.catalogue import default_folder

    return Prices.load(None if no_cache else default_folder(), own)
