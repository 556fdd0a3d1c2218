"""Options of the full-screen player: its view, and its colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import click

from claude_session_player.models import RICH as RICH, SCREEN as SCREEN
from claude_session_player.util.settings import THEMES, using_theme

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_session_player.models import View

_F = TypeVar("_F", bound="Callable[..., object]")

VIEW_HELP: Final = "Show what happened, or what the terminal showed; v switches."


def view_name_option(function: _F) -> _F:
    """`--view` of the full-screen player, as the parameter `view_name`."""
    names = click.Choice([RICH, SCREEN])
    return click.option("--view", "view_name", type=names, default=RICH, show_default=True, help=VIEW_HELP)(function)


def named_view(name: str, view: View) -> View:
    """The view that the player begins with."""
    return view.as_rich() if name == RICH else view.with_queue()


def theme_option(function: _F) -> _F:
    """`--theme`: it takes effect until the command ends, and is remembered."""
    return click.option(
        "--theme",
        type=click.Choice(THEMES),
        expose_value=False,
        callback=_use_theme,
        metavar="NAME",
        help=f"Colours of the full screen: {', '.join(THEMES)}. Default: the last one used.",
    )(function)


def _use_theme(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.with_resource(using_theme(value))
