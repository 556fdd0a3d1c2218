"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import click

from claude_session_player import export
from claude_session_player.cli.output import stdout
from claude_session_player.models import ScreenState
from claude_session_player.view import View

_F = TypeVar("_F", bound=Callable[..., Any])


_HELP: Final = {
    "markdown": "markdown",
    "json": "json: one element a line with all its facts",
    "text": "text: in colour on a terminal",
    "asciicast": "asciicast: the session as it unfolded, for asciinema",
}


def view_options(function: _F) -> _F:
    """What is shown: `--history`, `--thinking` and `--full`."""
    history = click.option("--history", is_flag=True, help="Keep what came before compactions.")
    thinking = click.option("--thinking", is_flag=True, help="Show the thoughts.")
    full = click.option("--full", is_flag=True, help="Cut nothing: whole labels, results and answers of sub-agents.")
    return history(thinking(full(function)))


def format_option(default: str, formats: Iterable[str]) -> Callable[[_F], _F]:
    """In which format it is written."""
    names = list(formats)
    told = "; ".join(_HELP[name] for name in names)
    return click.option("--format", type=click.Choice(names), default=default, show_default=True, help=f"{told}.")


def screen_options(default_format: str) -> Callable[[_F], _F]:
    """What is shown of a screen, and in which format."""

    def decorate(function: _F) -> _F:
        return view_options(format_option(default_format, export.FORMATS)(function))

    return decorate


def chosen_view(*, history: bool, thinking: bool, full: bool) -> View:
    """The view of these options."""
    if full:
        return View.full(history=history, thinking=thinking)
    return View(history=history, thinking=thinking)


def print_screen(state: ScreenState, format: str) -> None:
    """Write the screen to stdout."""
    export.write(state, stdout(), format)
