"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from claude_session_player import export
from claude_session_player.cli.output import stdout
from claude_session_player.models import ScreenState
from claude_session_player.view import View

_F = TypeVar("_F", bound=Callable[..., Any])


def screen_options(default_format: str) -> Callable[[_F], _F]:
    """What is shown, and in which format."""
    options = (
        click.option("--history", is_flag=True, help="Keep what came before compactions."),
        click.option("--thinking", is_flag=True, help="Show the thoughts."),
        click.option("--full", is_flag=True, help="Cut nothing: whole labels, results and answers of sub-agents."),
        click.option(
            "--format",
            type=click.Choice(list(export.FORMATS)),
            default=default_format,
            show_default=True,
            help="markdown; json: one element a line with all its facts; text: in colour on a terminal.",
        ),
    )

    def decorate(function: _F) -> _F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def chosen_view(*, history: bool, thinking: bool, full: bool) -> View:
    """The view of these options."""
    if full:
        return View.full(history=history, thinking=thinking)
    return View(history=history, thinking=thinking)


def print_screen(state: ScreenState, format: str) -> None:
    """Write the screen to stdout."""
    export.write(state, stdout(), format)
