"""Options of the full-screen player and of recordings: view, colours, and how fast they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeVar

import click

from claude_session_player.cli._options import Decorator, Function, collect_options, is_given
from claude_session_player.models import RICH as RICH, SCREEN as SCREEN
from claude_session_player.util.settings import THEMES, using_theme

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_session_player.models import View
    from claude_session_player.player import Timing

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


# --- how fast -----------------------------------------------------------------------------------------

_NO_LIMIT: Final = "none"
_SLOWEST: Final = 0.01
_FASTEST: Final = 1000.0
TIMING_FIELDS: Final = ("speed", "idle", "paced", "real_time")
_EXCLUSIVE: Final = {"paced": ("idle", "real_time"), "real_time": ("idle", "speed")}
"""Options, and those that cannot be combined with them."""


def timing_options(function: Function) -> Function:
    """`--speed`, `--idle`, `--paced` and `--real-time`, as the parameter `timing`."""
    from claude_session_player.player import DEFAULT_IDLE

    options: tuple[Decorator, ...] = (
        click.option(
            "--speed",
            default="1",
            callback=_speed,
            metavar="N",
            show_default=True,
            help=f"Play N times as fast, from {_SLOWEST:g} to {_FASTEST:g}.",
        ),
        click.option(
            "--idle",
            default=f"{DEFAULT_IDLE:g}",
            callback=_idle,
            metavar="SECONDS",
            show_default=True,
            help=f"Shorten pauses to this; 0 does not wait at all, {_NO_LIMIT} keeps every pause.",
        ),
        click.option("--paced", is_flag=True, help="Wait as long as it takes to read what has appeared."),
        click.option("--real-time", is_flag=True, help="Keep the original timing, with all pauses."),
    )
    return collect_options("timing", _timing, TIMING_FIELDS, options)(function)


def _timing(speed: float, idle: float | None, paced: bool, real_time: bool) -> Timing:
    from claude_session_player.player import Pace, Timing

    ctx = click.get_current_context()
    for name, others in _EXCLUSIVE.items():
        for other in others:
            if is_given(ctx, name) and is_given(ctx, other):
                both = " and ".join(f"--{one.replace('_', '-')}" for one in (name, other))
                raise click.UsageError(f"{both} are mutually exclusive")
    return Timing(Pace.PACED if paced else Pace.REAL if real_time else Pace.CAPPED, idle, speed)


def _idle(ctx: click.Context, param: click.Parameter, value: str) -> float | None:
    return None if value == _NO_LIMIT else _number(value, f"a number of seconds, or {_NO_LIMIT}")


def _speed(ctx: click.Context, param: click.Parameter, value: str) -> float:
    speed = _number(value, "a number like 2 or 0.5")
    if not _SLOWEST <= speed <= _FASTEST:
        limits = f"from {_SLOWEST:g} to {_FASTEST:g}"
        raise click.BadParameter(f"{value} is not {limits}; to skip all pauses, use --idle 0")
    return speed


def _number(value: str, expected: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise click.BadParameter(f"{value!r} is not {expected}")
    return number
