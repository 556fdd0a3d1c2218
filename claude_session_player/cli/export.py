"""`export`: write a session to a file or to stdout, as its final screen or as a recording."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TextIO

import click

from claude_session_player import export
from claude_session_player.cli._options import (
    archive_options,
    collect_options,
    examples,
    format_option,
    is_given,
    redaction_options,
    utc_option,
    whole_view_options,
)
from claude_session_player.cli._output import note_compacted, note_empty, start_bar, stdout, warn, warn_line_issues
from claude_session_player.cli._player_options import RICH, SCREEN, TIMING_FIELDS, timing_options
from claude_session_player.cli._refs import buffer_session, find_source, load_screen, open_events, ref_argument
from claude_session_player.errors import AlreadyThere, SessionError
from claude_session_player.player import POSITION_HELP, parse_position
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.progress import Progress

    from claude_session_player.cli._options import Redaction, StoreOptions
    from claude_session_player.cli._refs import SessionSource
    from claude_session_player.export import Format
    from claude_session_player.export.asciicast import RecordingSetup
    from claude_session_player.format.events import Event
    from claude_session_player.models import ScreenState, View
    from claude_session_player.player import Destination, Timing

_STANDARD_OUTPUT: Final = "-"
_DEFAULT_FORMAT: Final = "markdown"
_PORTION: Final = 1 << 20


@dataclass(frozen=True)
class OutputOptions:
    """Where the export goes, and in which format."""

    format: str | None
    output: str
    force: bool

    @property
    def chosen_format(self) -> Format:
        """The format that is named, else the one of the file's suffix; a file named for another one is remarked on.

        A file without a suffix is markdown; a suffix that no format has is refused.
        """
        known = export.export_formats()
        suffix = "" if self.is_stdout else os.path.splitext(self.output)[1].casefold()
        of_suffix = [one for one in known if one.suffix == suffix]
        if self.format is None:
            if suffix and not of_suffix:
                names = ", ".join(f"{one.name} ({one.suffix})" for one in known)
                raise click.UsageError(f"no format has the suffix {suffix}: name one with --format: {names}")
            return of_suffix[0] if of_suffix else export.format_named(_DEFAULT_FORMAT, export.OutputKind.SCREEN)
        chosen = export.format_named(self.format, *(one.writes for one in known))
        if of_suffix and chosen not in of_suffix:
            name = printable(os.path.basename(self.output))
            warn(f"{name} is written as {chosen.name}, though {suffix} is for {of_suffix[0].name}")
        return chosen

    @property
    def is_stdout(self) -> bool:
        """True where it goes to stdout."""
        return self.output == _STANDARD_OUTPUT


@dataclass(frozen=True)
class TerminalOptions:
    """The terminal that is drawn, and when."""

    view_name: str
    width: int
    height: int
    v3: bool
    at: Destination | None

    def drawn_view(self, view: View) -> View:
        """The view that is drawn, with the limits and the history of the one that was asked for."""
        return replace(view.as_rich(), history=view.history) if self.view_name == RICH else view


_RECORDINGS: Final = (export.OutputKind.RECORDING, export.OutputKind.VIDEO)
_APPLIES_TO: Final = {
    **dict.fromkeys(TIMING_FIELDS, _RECORDINGS),
    **dict.fromkeys(("view_name", "width", "height"), export.DRAWN),
    "v3": (export.OutputKind.RECORDING,),
    "at": (export.OutputKind.PICTURE,),
}
"""Options that only some formats have, by what these write."""


def _position(ctx: click.Context, param: click.Parameter, value: str | None) -> Destination | None:
    return None if value is None else parse_position(value)


output_options = collect_options(
    "target",
    OutputOptions,
    OutputOptions.__annotations__,
    (
        format_option(None, export.export_formats(), "by the suffix of FILE; without one, markdown"),
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
            "--view",
            "view_name",
            type=click.Choice([RICH, SCREEN]),
            default=RICH,
            show_default=True,
            help="Draw what happened, or what the terminal showed.",
        ),
        click.option(
            "--width",
            type=click.IntRange(10, 1000),
            default=80,
            metavar="N",
            show_default=True,
            help="Draw a terminal with N columns.",
        ),
        click.option(
            "--height",
            type=click.IntRange(2, 1000),
            default=24,
            metavar="N",
            show_default=True,
            help="Draw a terminal with N rows.",
        ),
        click.option("--v3", is_flag=True, help="Write asciicast version 3, for asciinema 3 or later. Default: 2."),
        click.option(
            "--at", callback=_position, metavar="PLACE", help=f"Draw the moment at {POSITION_HELP}. Default: the end."
        ),
    ),
)


@click.command(
    epilog=examples(
        ("export latest -o tea.md", "a session as markdown"),
        ("export 1f2e --format json", "all elements as a JSON array"),
        ("export 1f2e -o tea.cast", "a recording for asciinema"),
        ("export 1f2e -o tea.gif", "the same as an animation"),
        ("export 1f2e --format svg --at 50% > t.svg", "a picture of one moment"),
    )
)
@ref_argument
@output_options
@whole_view_options
@timing_options
@terminal_options
@redaction_options(default=True)
@utc_option
@archive_options
def command(
    ref: str,
    target: OutputOptions,
    view: View,
    timing: Timing,
    terminal: TerminalOptions,
    stores: StoreOptions,
    redaction: Redaction,
) -> None:
    """Write a session as text, JSON, a recording or a picture.

    REF is a file, an id, latest (the default) or a title: see 'help refs'; for the formats see 'help formats'. The
    whole session is written, unless --since-compaction is given. Without --format, the suffix of FILE decides: -o
    tea.gif writes a gif.

    An asciicast plays in asciinema and on web pages; prompts become markers. gif needs the program agg or ffmpeg, mp4
    needs ffmpeg. svg shows one moment. --view, --width and --height apply to these formats; --speed, --idle, --paced
    and --real-time to those that move; --at to svg, and --v3 to asciicast.
    """
    format = target.chosen_format
    _refuse_options_of_others(format)
    if format.is_drawn:
        if target.is_stdout and is_terminal(sys.stdout):
            raise click.UsageError(f"{format.name} is not for a terminal: name a file with -o, or use a pipe")
        view = terminal.drawn_view(view)
        gc.enable()  # drawn markdown and code are cycles, one after the other
    source = redaction.source(find_source(ref, stores))
    source = source if terminal.at is None else buffer_session(source)
    with ExitStack() as stack:
        state = export.write_session(
            format,
            stack.enter_context(_open_output(target)),
            screen=lambda: load_screen(source, view, until=_line(terminal.at, source, view)),
            begin=lambda: stack.enter_context(_begin(format, source, view)),
            setup=_recording_setup(timing, terminal, _title(format, source)) if format.is_drawn else None,
        )
    note_empty(state)
    if not format.is_drawn:  # a recording shows everything before it is compacted
        note_compacted(state)
    warn_line_issues(state.account)


def _recording_setup(timing: Timing, terminal: TerminalOptions, title: str) -> RecordingSetup:
    from claude_session_player.export.asciicast import RecordingSetup

    return RecordingSetup(timing, terminal.width, terminal.height, 3 if terminal.v3 else 2, title, warn)


def _line(position: Destination | None, source: SessionSource, view: View) -> int | None:
    """The line of the file at a position; `None` for the end."""
    if position is None:
        return None
    from claude_session_player.cli.play import line_at
    from claude_session_player.player import Timing

    return line_at(position, source, view, Timing())


def _title(format: Format, source: SessionSource) -> str:
    """The title of a session, for a picture of it; empty if nothing is known."""
    if format.writes is not export.OutputKind.PICTURE or source.path is None:
        return ""
    from claude_session_player.store import Store

    try:
        session = source.inline or Store.open(cache=None, required=False).at(source.path)
        return session.title or ""
    except SessionError:
        return ""


@contextmanager
def _begin(format: Format, source: SessionSource, view: View) -> Iterator[tuple[ScreenState, Iterator[Event]]]:
    """The empty screen and the events that fill it; on a terminal, with a progress bar for what takes long."""
    state, events = open_events(source, view)
    is_slow = format.writes is export.OutputKind.VIDEO
    if not is_slow or source.path is None or not os.path.isfile(source.path) or not is_terminal(sys.stderr):
        yield state, events
        return
    from claude_session_player.util.fsutil import regular_opener

    with open(source.path, "rb", opener=regular_opener) as file:
        lines = sum(portion.count(b"\n") for portion in iter(lambda: file.read(_PORTION), b""))
    with start_bar(f"drawing the {format.name}", max(lines, 1), counts_bytes=False) as bar:
        yield state, _watched(events, bar)


def _watched(events: Iterable[Event], bar: Progress) -> Iterator[Event]:
    """The same events; moves a bar, which says that all is read by moving on its own."""
    for event in events:
        bar.update(bar.task_ids[0], completed=event.line)
        yield event
    bar.update(bar.task_ids[0], total=None)


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


def _refuse_options_of_others(format: Format) -> None:
    ctx = click.get_current_context()
    for param in ctx.command.params:
        kinds = _APPLIES_TO.get(param.name or "")
        if kinds is not None and format.writes not in kinds and is_given(ctx, param.name):
            names = ", ".join(one.name for one in export.formats(*kinds))
            raise click.UsageError(f"{param.opts[0]} applies to {names} only, not to {format.name}")
