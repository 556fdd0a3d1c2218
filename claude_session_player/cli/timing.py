"""The options that say how long frames are waited for."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from claude_session_player.play.forward import Timing
from claude_session_player.play.timeline import IDLE, Pace

_R = TypeVar("_R")
_NO_LIMIT: Final = "none"
_SLOWEST: Final = 0.01
_FASTEST: Final = 1000.0


def _idle(ctx: click.Context, param: click.Parameter, value: str) -> float | None:
    return None if value == _NO_LIMIT else _number(value, f"a number of seconds, or {_NO_LIMIT}")


def _speed(ctx: click.Context, param: click.Parameter, value: str) -> float:
    speed = _number(value, "a number like 2 or 0.5")
    if not _SLOWEST <= speed <= _FASTEST:
        reach = f"from {_SLOWEST:g} to {_FASTEST:g}"
        raise click.BadParameter(f"{value} is not {reach}; with --idle 0 nothing is waited for")
    return speed


def _number(value: str, what: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise click.BadParameter(f"{value!r} is not {what}")
    return number


_OPTIONS: Final = (
    click.option(
        "--speed",
        default="1",
        callback=_speed,
        metavar="N",
        show_default=True,
        help=f"N times as fast, from {_SLOWEST:g} to {_FASTEST:g}.",
    ),
    click.option(
        "--idle",
        default=f"{IDLE:g}",
        callback=_idle,
        metavar="SECONDS",
        show_default=True,
        help=f"The longest pause; 0 waits for nothing, {_NO_LIMIT} keeps all pauses as they were.",
    ),
    click.option("--paced", is_flag=True, help="Wait as long as it takes to read what has appeared."),
    click.option("--real-time", is_flag=True, help="Exactly as it was, with all pauses."),
)
_RULED_OUT: Final = {"paced": ("idle", "real_time"), "real_time": ("idle", "speed")}
"""Options, and those that have no meaning beside them."""


def timing_options(function: Callable[..., _R]) -> Callable[..., _R]:
    """The options as one parameter: `timing`, a `Timing`."""

    @wraps(function)
    def with_timing(speed: float, idle: float | None, paced: bool, real_time: bool, **given: Any) -> _R:
        _refuse_others()
        pace = Pace.PACED if paced else Pace.REAL if real_time else Pace.CAPPED
        return function(timing=Timing(pace, idle, speed), **given)

    for option in reversed(_OPTIONS):
        with_timing = option(with_timing)
    return with_timing


def _refuse_others() -> None:
    """What has no meaning beside another option is a mistake."""
    ctx = click.get_current_context()
    for name, others in _RULED_OUT.items():
        for other in others:
            if _is_given(ctx, name) and _is_given(ctx, other):
                raise click.UsageError(f"{_option(other)} has no meaning with {_option(name)}")


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
