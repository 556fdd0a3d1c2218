"""The options that say how long frames are waited for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from claude_session_player import export
from claude_session_player.cli._output import stdout
from claude_session_player.export import Format, OutputKind, formats
from claude_session_player.models import ScreenState, View
from claude_session_player.player import DEFAULT_IDLE, Pace, Timing

_F = TypeVar("_F", bound=Callable[..., Any])


def view_options(function: _F) -> _F:
    """What is shown: `--history`, `--thinking` and `--full`."""
    history = click.option("--history", is_flag=True, help="Include what came before compactions.")
    return history(detail_options(function))


def whole_view_options(function: _F) -> _F:
    """The same where the whole session is the default."""
    history = click.option(
        "--history/--since-compaction",
        default=True,
        help="The whole session, or only what came after its last compaction. Default: the whole session.",
    )
    return history(detail_options(function))


def detail_options(function: _F) -> _F:
    """How much is shown of each element: `--thinking` and `--full`."""
    thinking = click.option("--thinking", is_flag=True, help="Show the thoughts.")
    full = click.option("--full", is_flag=True, help="Cut nothing: whole labels, results and answers of sub-agents.")
    return thinking(full(function))


def format_option(default: str, formats: Iterable[Format]) -> Callable[[_F], _F]:
    """In which format it is written."""
    rows = list(formats)
    names, told = [row.name for row in rows], "; ".join(row.help for row in rows)
    return click.option("--format", type=click.Choice(names), default=default, show_default=True, help=f"{told}.")


def screen_options(default_format: str) -> Callable[[_F], _F]:
    """What is shown of a screen, and in which format."""

    def decorate(function: _F) -> _F:
        return view_options(format_option(default_format, formats(OutputKind.SCREEN))(function))

    return decorate


def chosen_view(*, history: bool, thinking: bool, full: bool) -> View:
    """The view of these options."""
    if full:
        return View.full(history=history, thinking=thinking)
    return View(history=history, thinking=thinking)


def print_screen(state: ScreenState, format: str) -> None:
    """Write the screen to stdout."""
    export.write_screen(state, stdout(), format)


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
        default=f"{DEFAULT_IDLE:g}",
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
