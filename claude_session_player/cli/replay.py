"""`replay`: print the screen of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from claude_session_player.cli._options import archive_options, utc_option
from claude_session_player.cli._output import note_empty, note_left_out, warn_line_issues
from claude_session_player.cli._refs import complete_ref, find_source, load_screen
from claude_session_player.cli._screen import chosen_view, print_screen, screen_options
from claude_session_player.util.times import parse_typed_time

if TYPE_CHECKING:
    from datetime import datetime

FOUND_TROUBLE = 1


def _moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """The moment that an option names."""
    try:
        return None if value is None else parse_typed_time(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is no time: write it like 2026-01-17T20:31:59") from error


@click.command()
@click.argument("ref", shell_complete=complete_ref)
@click.option("--until", type=click.IntRange(min=0), metavar="N", help="Stop after line N of the file.")
@click.option(
    "--at",
    callback=_moment,
    metavar="TIME",
    help="Stop at a moment, like 2026-01-17T20:31:59.",
)
@screen_options("markdown")
@utc_option
@archive_options
@click.option("--strict", is_flag=True, help="Exit with 1 where any line is unknown or malformed.")
def command(
    ref: str,
    until: int | None,
    at: datetime | None,
    history: bool,
    thinking: bool,
    full: bool,
    format: str,
    strict: bool,
    **where: Any,
) -> int:
    """Print the screen of a session.

    REF is a session file (*.jsonl), or - for standard input; or it names a session of the store: an id or at least 4
    characters of its beginning, a sub-agent's id, latest, latest:2, a title in quotes, a breadcrumb file. With --until
    and --at it is the screen as it was then.
    """
    view = chosen_view(history=history, thinking=thinking, full=full)
    state = load_screen(find_source(ref, **where), view, until=until, at=at)
    print_screen(state, format)
    note_empty(state)
    note_left_out(state)
    warn_line_issues(state.account)
    return FOUND_TROUBLE if strict and not state.account.flawless else 0
