"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from claude_session_player import export
from claude_session_player.cli.output import stdout
from claude_session_player.export import Format, Writes, formats
from claude_session_player.models import ScreenState
from claude_session_player.view import View

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
        return view_options(format_option(default_format, formats(Writes.SCREEN))(function))

    return decorate


def chosen_view(*, history: bool, thinking: bool, full: bool) -> View:
    """The view of these options."""
    if full:
        return View.full(history=history, thinking=thinking)
    return View(history=history, thinking=thinking)


def print_screen(state: ScreenState, format: str) -> None:
    """Write the screen to stdout."""
    export.write(state, stdout(), format)
