"""`export`: write a session to a file or to stdout, as its final screen or as a recording."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

import click

from claude_session_player import export
from claude_session_player.cli._options import (
    TIMING_FIELDS,
    archive_options,
    collect_options,
    examples,
    format_option,
    is_given,
    timing_options,
    utc_option,
    whole_view_options,
)
from claude_session_player.cli._output import note_compacted, note_empty, stdout, warn_line_issues
from claude_session_player.cli._refs import find_source, load_screen, open_events, ref_argument
from claude_session_player.errors import AlreadyThere
from claude_session_player.util.terminal import is_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.export.asciicast import RecordingSetup
    from claude_session_player.models import View
    from claude_session_player.player import Timing

_STANDARD_OUTPUT: Final = "-"


@dataclass(frozen=True)
class OutputOptions:
    """Where the export goes, and in which format."""

    format: str
    output: str
    force: bool

    @property
    def is_stdout(self) -> bool:
        """True where it goes to stdout."""
        return self.output == _STANDARD_OUTPUT


@dataclass(frozen=True)
class TerminalOptions:
    """The terminal that a recording is made for."""

    width: int
    height: int
    v3: bool


_RECORDING_OPTIONS: Final = (*TIMING_FIELDS, *TerminalOptions.__annotations__)
output_options = collect_options(
    "target",
    OutputOptions,
    OutputOptions.__annotations__,
    (
        format_option("markdown", export.export_formats()),
        click.option(
            "-o", "--output", default=_STANDARD_OUTPUT, metavar="FILE", help="Write to this file. Default: stdout."
        ),
        click.option("--force", is_flag=True, help="Overwrite an existing file."),
    ),
)
terminal_options = collect_options(
    "terminal",
    TerminalOptions,
    TerminalOptions.__annotations__,
    (
        click.option(
            "--width",
            type=click.IntRange(10, 1000),
            default=80,
            metavar="N",
            show_default=True,
            help="Record a terminal with N columns.",
        ),
        click.option(
            "--height",
            type=click.IntRange(2, 1000),
            default=24,
            metavar="N",
            show_default=True,
            help="Record a terminal with N rows.",
        ),
        click.option("--v3", is_flag=True, help="Write asciicast version 3, for asciinema 3 or later. Default: 2."),
    ),
)


@click.command(
    epilog=examples(
        ("export latest -o tea.md", "a session as markdown"),
        ("export 1f2e --format json", "all elements as a JSON array"),
        ("export 1f2e --format asciicast -o tea.cast", "a recording for asciinema"),
    )
)
@ref_argument
@output_options
@whole_view_options
@timing_options
@terminal_options
@utc_option
@archive_options
def command(
    ref: str, target: OutputOptions, view: View, timing: Timing, terminal: TerminalOptions, stores: StoreOptions
) -> None:
    """Write a session as markdown, JSON, text or asciicast.

    REF is a file, an id, latest (the default) or a title: see 'help refs'; for the formats see 'help formats'. The
    whole session is written, unless --since-compaction is given.

    An asciicast plays in asciinema and on web pages; prompts become markers. --speed, --idle, --paced, --real-time,
    --width, --height and --v3 apply to this format only.
    """
    format = export.format_named(target.format, *(one.writes for one in export.export_formats()))
    is_recording = format.writes is export.OutputKind.RECORDING
    if not is_recording:
        _refuse_recording_options(format.name)
    elif target.is_stdout and is_terminal(sys.stdout):
        raise click.UsageError(f"{format.name} is not for a terminal: name a file with -o, or use a pipe")
    source = find_source(ref, stores)
    with _open_output(target) as file:
        state = export.write_session(
            format,
            file,
            screen=lambda: load_screen(source, view),
            begin=lambda: open_events(source, view),
            setup=_recording_setup(timing, terminal) if is_recording else None,
        )
    note_empty(state)
    if not is_recording:  # a recording shows everything before it is compacted
        note_compacted(state)
    warn_line_issues(state.account)


def _recording_setup(timing: Timing, terminal: TerminalOptions) -> RecordingSetup:
    from claude_session_player.export.asciicast import RecordingSetup

    return RecordingSetup(timing, terminal.width, terminal.height, 3 if terminal.v3 else 2)


@contextmanager
def _open_output(target: OutputOptions) -> Iterator[TextIO]:
    """Standard output, or the file that is named."""
    if target.is_stdout:
        yield stdout()
        return
    from claude_session_player.util.fsutil import atomic_file

    try:
        with atomic_file(target.output, may_replace=target.force) as file:
            yield file
    except AlreadyThere as error:
        raise AlreadyThere(f"{error}: use --force to overwrite it") from None


def _refuse_recording_options(format: str) -> None:
    ctx = click.get_current_context()
    for param in ctx.command.params:
        if param.name in _RECORDING_OPTIONS and is_given(ctx, param.name):
            names = ", ".join(one.name for one in export.formats(export.OutputKind.RECORDING))
            raise click.UsageError(f"{param.opts[0]} applies to {names} only, not to {format}")
