"""`play_recording`: a session unfolds as it happened."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._options import archive_options, utc_option
from claude_session_player.cli._output import note_empty, piece_printer, stdout, warn_line_issues
from claude_session_player.cli._refs import (
    SessionSource,
    buffer_session,
    check_file,
    check_head,
    complete_ref,
    find_source,
    open_events,
)
from claude_session_player.cli._screen import chosen_view, timing_options, view_options
from claude_session_player.linking.prompts import with_queued_prompts
from claude_session_player.player import (
    DEFAULT_IDLE,
    POSITION_HELP,
    Destination,
    Playback,
    Recording,
    TextPiece,
    Timing,
    parse_position,
    recording_of_file,
    recording_of_lines,
    recording_of_session,
    text_frames,
)
from claude_session_player.store import LATEST, Store, session_file_at
from claude_session_player.util.terminal import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.models import View


@contextmanager
def open_recording(source: SessionSource, **where: Any) -> Iterator[Recording]:
    """What is played; in the end, what was unpacked for it is removed. Raises where it is no session file."""
    with ExitStack() as stack:
        yield _recording(buffer_session(source), partial(_store, stack, **where))


def lone_recording(source: SessionSource) -> Recording:
    """What is played of a session that is kept, without its sub-agents."""
    return _recording(source, partial(Store.open, cache=None, required=False))


def _recording(source: SessionSource, open_store: Callable[[], Store]) -> Recording:
    if source.path is None:
        check_head(source.head, source.name)
        return recording_of_lines(source.lines, source.name)
    check_file(source.path, source.name)
    if source.inline is not None:
        return recording_of_session(source.inline, open_store)
    return recording_of_file(source.found or session_file_at(os.path.abspath(source.path)), open_store)


def _store(
    stack: ExitStack,
    roots: tuple[str, ...] = (),
    no_cache: bool = False,
    archived: bool = False,
    archive: str | None = None,
) -> Store:
    """The store that is meant, opened in whichever thread asks for it."""
    from claude_session_player.store import DEFAULT_CACHE

    cache = None if no_cache else DEFAULT_CACHE
    if not archived and archive is None:
        return Store.open(*roots, cache=cache, required=False)
    from claude_session_player.archive import ArchivedStore, open_archive_dir

    store = ArchivedStore.from_archive_dir(open_archive_dir(archive), cache)
    stack.callback(store.close)
    return store


_LONGEST_SLEEP: Final = 3600.0
"""Seconds: a session may pause for longer than a system can sleep."""


def _place(ctx: click.Context, param: click.Parameter, value: str | None) -> Destination | None:
    return None if value is None else parse_position(value)


@click.command()
@click.argument("ref", default=LATEST, shell_complete=complete_ref)
@click.option("--plain", is_flag=True, help="Do not use the whole screen: let text appear below the command.")
@click.option("--from", "start", callback=_place, metavar="PLACE", help=f"Begin at {POSITION_HELP}.")
@timing_options
@view_options
@utc_option
@archive_options
def command(
    ref: str,
    plain: bool,
    start: Destination | None,
    timing: Timing,
    history: bool,
    thinking: bool,
    full: bool,
    **where: Any,
) -> int:
    """Play a session: it unfolds as it happened, without its long pauses.

    REF is a session file, or - for standard input, or it names a session of the store: an id or at least 4 characters
    of its beginning, a sub-agent's id, latest (the default), latest:2, a title in quotes, a breadcrumb file.

    With --plain, and where stdin or stdout is no terminal, what happens is told as text that is only added to: each
    element when it appears, and results when they arrive, all in their time. With --idle 0 nothing is waited for. Where
    a session has no times, frames take as long as it takes to read them.
    """
    view = chosen_view(history=history, thinking=thinking, full=full)
    return play_recording(find_source(ref, **where), view, timing, start, plain=plain, **where)


def play_recording(
    source: SessionSource,
    view: View,
    timing: Timing,
    start: Destination | None = None,
    *,
    plain: bool = False,
    **where: Any,
) -> int:
    """Play a session on the whole terminal, or, where there is none, as text; gives the exit code."""
    if not plain and is_terminal():
        return _full_screen(source, view, timing, start, **where)
    _plain(source, view, timing, start)
    return 0


def _full_screen(source: SessionSource, view: View, timing: Timing, start: Destination | None, **where: Any) -> int:
    from claude_session_player.tui.player import run_player

    with open_recording(source, **where) as recording:
        code, account = run_player(recording, view, timing, start)
    warn_line_issues(account)
    return code


def _plain(source: SessionSource, view: View, timing: Timing, start: Destination | None) -> None:
    source = source if start is None else buffer_session(source)
    state, events = open_events(source, view)
    line = 0 if start is None else _line_of(start, source, state.view, timing)
    spoken = with_queued_prompts(events)  # what was printed cannot be taken back
    print_frames(text_frames(spoken, state, timing, line), piece_printer(state.view), stdout().flush)
    note_empty(state)
    warn_line_issues(state.account)


def print_frames(
    frames: Iterable[tuple[float, list[TextPiece]]],
    show: Callable[[Iterable[TextPiece]], None],
    flush: Callable[[], None],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Show each frame in its time. Whatever is waited for, all that came before can be seen meanwhile."""
    for wait, pieces in frames:
        if wait > 0:
            flush()
        while wait > 0:
            sleep(min(wait, _LONGEST_SLEEP))
            wait -= _LONGEST_SLEEP
        show(pieces)
    flush()


def _line_of(place: Destination, source: SessionSource, view: View, timing: Timing) -> int:
    """The line of the file on which a place in the film is; a film is made to find it."""
    if timing.idle == 0:
        timing = timing._replace(idle=DEFAULT_IDLE)  # a film that takes no time has no places
    projection = Playback(lone_recording(source), view, lambda: 0.0, timing)
    projection.go_to(place)
    projection.finish()
    return projection.frame.line if projection.frame else 0
