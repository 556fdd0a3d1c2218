"""`export`: write a session out, as its screen is in the end or as it unfolded."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO

import click
from click.core import ParameterSource

from claude_session_player import export
from claude_session_player.cli._options import archive_options, utc_option
from claude_session_player.cli._output import note_empty, note_left_out, stdout, warn_line_issues
from claude_session_player.cli._refs import complete_ref, find_source, load_screen, open_events
from claude_session_player.cli._screen import chosen_view, format_option, timing_options, whole_view_options
from claude_session_player.errors import AlreadyThere
from claude_session_player.util.fsutil import atomic_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.export.asciicast import RecordingSetup
    from claude_session_player.player import Timing

_STANDARD_OUTPUT: Final = "-"
_OF_RECORDINGS: Final = ("speed", "idle", "paced", "real_time", "width", "height", "v3")


@click.command()
@click.argument("ref", shell_complete=complete_ref)
@format_option("markdown", export.export_formats())
@click.option("-o", "--output", default=_STANDARD_OUTPUT, metavar="FILE", help="Write to a file, not to stdout.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there already.")
@whole_view_options
@timing_options
@click.option(
    "--width",
    type=click.IntRange(10, 1000),
    default=80,
    metavar="N",
    show_default=True,
    help="Columns of the terminal.",
)
@click.option(
    "--height", type=click.IntRange(2, 1000), default=24, metavar="N", show_default=True, help="Rows of the terminal."
)
@click.option("--v3", is_flag=True, help="Write asciicast version 3, for asciinema 3 and later, instead of version 2.")
@utc_option
@archive_options
def command(
    ref: str,
    format: str,
    output: str,
    force: bool,
    history: bool,
    thinking: bool,
    full: bool,
    timing: Timing,
    width: int,
    height: int,
    v3: bool,
    **where: Any,
) -> None:
    """Write a session out: all of its screen, or, with --format asciicast, how it unfolded.

    REF is a session file, or - for standard input, or it names a session of the store: an id or at least 4 characters
    of its beginning, a sub-agent's id, latest, latest:2, a title in quotes, a breadcrumb file.

    The whole session is written; with --since-compaction only what came after its last compaction, and on stderr it is
    said how much is left out.

    An asciicast plays in asciinema and on web pages. Prompts are markers, pauses are cut to 2 seconds, unless with
    --idle; where a session has no times, frames take as long as it takes to read them. --speed, --idle, --paced,
    --real-time, --width, --height and --v3 are for this format alone.
    """
    view = chosen_view(history=history, thinking=thinking, full=full)
    chosen = export.format_named(format, *(one.writes for one in export.export_formats()))
    is_recording = chosen.writes is export.OutputKind.RECORDING
    if not is_recording:
        _refuse_options_of_recordings(format)
    elif output == _STANDARD_OUTPUT and sys.stdout is not None and sys.stdout.isatty():
        raise click.UsageError(f"{format} is for a player, not for a terminal: name a file with -o, or use a pipe")
    source = find_source(ref, **where)
    with _opened(output, force) as file:
        state = export.write_session(
            chosen,
            file,
            screen=lambda: load_screen(source, view),
            begin=lambda: open_events(source, view),
            setup=_setup(timing, width, height, v3) if is_recording else None,
        )
    note_empty(state)
    if not is_recording:  # a recording shows everything before it is compacted away
        note_left_out(state)
    warn_line_issues(state.account)


def _setup(timing: Timing, width: int, height: int, v3: bool) -> RecordingSetup:
    from claude_session_player.export.asciicast import RecordingSetup

    return RecordingSetup(timing, width, height, 3 if v3 else 2)


@contextmanager
def _opened(output: str, force: bool) -> Iterator[TextIO]:
    """Standard output, or the file that is asked for."""
    if output == _STANDARD_OUTPUT:
        yield stdout()
        return
    try:
        with atomic_file(output, may_replace=force) as file:
            yield file
    except AlreadyThere as error:
        raise AlreadyThere(f"{error}: --force overwrites it") from None


def _refuse_options_of_recordings(format: str) -> None:
    ctx = click.get_current_context()
    for param in ctx.command.params:
        if param.name in _OF_RECORDINGS and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            names = ", ".join(one.name for one in export.formats(export.OutputKind.RECORDING))
            raise click.UsageError(f"{param.opts[0]} is for {names}, not for {format}")
