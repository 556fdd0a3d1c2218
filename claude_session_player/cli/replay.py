"""`replay` and `demo`: print the screen of a session, or of the one that comes with the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from claude_session_player.cli._options import (
    STRICT_HELP,
    archive_options,
    collect_options,
    examples,
    format_option,
    redaction_options,
    utc_option,
    view_options,
)
from claude_session_player.cli._output import note_compacted, note_empty, warn_line_issues
from claude_session_player.cli._refs import SessionSource, find_source, load_screen, print_screen, ref_argument
from claude_session_player.export.registry import OutputKind, formats

if TYPE_CHECKING:
    from datetime import datetime

    from claude_session_player.cli._options import Redaction, StoreOptions
    from claude_session_player.models import View

FOUND_PROBLEMS: Final = 1


@dataclass(frozen=True)
class StopOptions:
    """Where the replay stops."""

    until: int | None
    at: datetime | None


def _time(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    from claude_session_player.util.times import parse_typed_time

    try:
        return None if value is None else parse_typed_time(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a time: write it like 2026-01-17T20:31:59") from error


stop_options = collect_options(
    "stop",
    StopOptions,
    ("until", "at"),
    (
        click.option("--until", type=click.IntRange(min=0), metavar="N", help="Stop after line N. Default: the end."),
        click.option("--at", callback=_time, metavar="TIME", help="Stop at this time, like 2026-01-17T20:31:59."),
    ),
)


@click.command(
    epilog=examples(
        ("replay latest", "the final screen"),
        ("replay session.jsonl --until 20", "the screen after line 20"),
        ("replay 1f2e --history --format json", "all elements as JSON"),
    )
)
@ref_argument
@stop_options
@view_options
@format_option("markdown", formats(OutputKind.SCREEN))
@click.option("--strict", is_flag=True, help=STRICT_HELP)
@redaction_options(default=False)
@utc_option
@archive_options
def command(
    ref: str,
    stop: StopOptions,
    view: View,
    format: str,
    strict: bool,
    stores: StoreOptions,
    redaction: Redaction,
) -> int:
    """Print the screen of a session.

    REF is a file, an id, latest (the default) or a title: see 'help refs'. With --until or --at, the screen is printed
    as it was at that point.
    """
    state = load_screen(redaction.source(find_source(ref, stores)), view, until=stop.until, at=stop.at)
    print_screen(state, format)
    note_empty(state)
    note_compacted(state)
    warn_line_issues(state.account)
    return FOUND_PROBLEMS if strict and not state.account.flawless else 0


@click.command(epilog=examples(("demo --play", "play it on the full screen"), ("demo --history", "print all of it")))
@click.option("--play", "is_played", is_flag=True, help="Play the session instead of printing its final screen.")
@view_options
@format_option("text", formats(OutputKind.SCREEN))
@utc_option
def demo(is_played: bool, view: View, format: str) -> int:
    """Replay the example session that comes with the program.

    It contains every kind of element: parallel tools, an error, a sub-agent, a compaction.
    """
    from importlib.resources import as_file, files  # slow to load, and `replay` needs neither

    with as_file(files("claude_session_player") / "data" / "demo.jsonl") as path:
        source = SessionSource("the demo", str(path))
        if is_played:
            from claude_session_player.cli.play import play_source
            from claude_session_player.player import Timing

            return play_source(source, view, Timing())
        state = load_screen(source, view)
        print_screen(state, format)
        note_compacted(state)
    return 0
