"""`play`: play a session in its original order and timing."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from claude_session_player.cli._options import (
    StoreOptions,
    archive_options,
    examples,
    utc_option,
    view_options,
)
from claude_session_player.cli._output import note, note_empty, piece_printer, say, stdout, warn_line_issues
from claude_session_player.cli._player_options import RICH, named_view, theme_option, timing_options, view_name_option
from claude_session_player.cli._refs import (
    SessionSource,
    buffer_session,
    check_file,
    check_head,
    find_source,
    open_events,
    ref_argument,
)
from claude_session_player.linking.prompts import with_queued_prompts
from claude_session_player.player import DEFAULT_IDLE, POSITION_HELP, parse_position, text_frames
from claude_session_player.store import Store, session_file_at
from claude_session_player.util.terminal import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.models import View
    from claude_session_player.player import Destination, Recording, TextPiece, Timing
    from claude_session_player.store import Store

PLAIN_HELP: Final = "Print text line by line instead of using the full screen. Default without a terminal."
_FROM_HELP: Final = f"Start at {POSITION_HELP}. Default: the beginning."
_LONGEST_SLEEP: Final = 3600.0
"""Seconds: a session may pause for longer than a system can sleep."""


def _position(ctx: click.Context, param: click.Parameter, value: str | None) -> Destination | None:
    return None if value is None else parse_position(value)


@click.command(
    epilog=examples(
        ("play", "the last active session"),
        ("play 1f2e --speed 4 --idle 1", "four times as fast, pauses of at most 1 s"),
        ("play latest --from 50%", "the second half"),
        ("play --resume-here", "where you left the session the last time"),
    )
)
@ref_argument
@click.option("--plain", is_flag=True, help=PLAIN_HELP)
@click.option(
    "--from", "start", callback=_position, metavar="PLACE", help=f"Start at {POSITION_HELP}. Default: the beginning."
)
@click.option("--resume-here", is_flag=True, help="Continue where you left the session the last time.")
@timing_options
@view_name_option
@view_options
@theme_option
@utc_option
@archive_options
def command(
    ref: str,
    plain: bool,
    start: Destination | None,
    resume_here: bool,
    timing: Timing,
    view_name: str,
    view: View,
    stores: StoreOptions,
) -> int:
    """Play a session in its original order and timing.

    REF is a file, an id, latest (the default) or a title: see 'help refs'. Idle gaps are shortened to 2 seconds; a
    session without times is paced for reading. Press ? for the keys.

    With --plain, and without a terminal, elements are printed when they appear, and results when they arrive.
    """
    if resume_here and start is not None:
        raise click.UsageError("--resume-here and --from are mutually exclusive")
    source = find_source(ref, stores)
    if resume_here and not _has_own_file(source, stores):
        raise click.UsageError("--resume-here needs a session file: positions are remembered for no others")
    return play_source(
        source, view, timing, start, plain=plain, stores=stores, view_name=view_name, continues=resume_here
    )


def _has_own_file(source: SessionSource, stores: StoreOptions | None) -> bool:
    """True for a session whose position can be remembered: it has a file that is not unpacked only for now."""
    return source.path is not None and source.inline is None and not (stores is not None and stores.is_archive)


def play_source(
    source: SessionSource,
    view: View,
    timing: Timing,
    start: Destination | None = None,
    *,
    plain: bool = False,
    stores: StoreOptions | None = None,
    view_name: str = RICH,
    continues: bool = False,
) -> int:
    """Play a session on the full screen, or as text without a terminal; returns the exit code.

    With `continues`, it begins where the session was left.
    """
    if plain or not is_terminal():
        _print_session(source, view, timing, _left_position(source) if continues else start)
        return 0
    from claude_session_player.player import PositionStore
    from claude_session_player.tui.player import run_player

    positions = PositionStore.of_user(source.path) if source.path and _has_own_file(source, stores) else None
    with open_recording(source, stores) as recording:
        look = named_view(view_name, view)
        code, audit = run_player(recording, look, timing, start, positions=positions, continues=continues)
    warn_line_issues(audit)
    return code


def _left_position(source: SessionSource) -> Destination | None:
    """Where a session was left the last time, which is said; `None` for its beginning."""
    from claude_session_player.player import PositionStore, line_position

    path = os.path.abspath(source.path or "")
    left = PositionStore.of_user(path).find(path)
    if left is None:
        say("note: no position of this session is remembered: it is played from the beginning")
        return None
    say(f"Continued at line {left.line}, {left.percent}%.")
    return line_position(left.line)


# --- what is played -----------------------------------------------------------------------------------


@contextmanager
def open_recording(source: SessionSource, stores: StoreOptions | None = None) -> Iterator[Recording]:
    """The recording of a session; on leaving, whatever was unpacked for it is removed. Raises if it is no session."""
    with ExitStack() as stack:
        yield _recording(buffer_session(source), partial(_open_store, stack, stores or StoreOptions()))


def _recording(source: SessionSource, open_store: Callable[[], Store]) -> Recording:
    from claude_session_player.player import recording_of_file, recording_of_lines, recording_of_session

    if source.path is None:
        check_head(source.head, source.name)
        return recording_of_lines(source.lines, source.name)
    check_file(source.path, source.name)
    if source.inline is not None:
        return recording_of_session(source.inline, open_store)
    return recording_of_file(source.found or session_file_at(os.path.abspath(source.path)), open_store)


def _open_store(stack: ExitStack, stores: StoreOptions) -> Store:
    """The store, opened in whichever thread needs it."""
    from claude_session_player.store import Store

    if not stores.is_archive:
        return Store.open(*stores.roots, cache=stores.cache, required=False)
    from claude_session_player.archive import ArchivedStore, open_archive_dir

    store = ArchivedStore.from_archive_dir(open_archive_dir(stores.archive), stores.cache)
    stack.callback(store.close)
    return store


# --- as text ------------------------------------------------------------------------------------------


def _print_session(source: SessionSource, view: View, timing: Timing, start: Destination | None) -> None:
    source = source if start is None else buffer_session(source)
    state, events = open_events(source, view)
    line = 0 if start is None else line_at(start, source, state.view, timing)
    prompts_settled = with_queued_prompts(events)  # printed text cannot be taken back
    print_frames(text_frames(prompts_settled, state, timing, line), piece_printer(state.view), stdout().flush)
    note_empty(state)
    warn_line_issues(state.account)


def print_frames(
    frames: Iterable[tuple[float, list[TextPiece]]],
    show: Callable[[Iterable[TextPiece]], None],
    flush: Callable[[], None],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Print each frame after its delay. Output is flushed before every wait, so that it can be read meanwhile."""
    for delay, pieces in frames:
        if delay > 0:
            flush()
        while delay > 0:
            sleep(min(delay, _LONGEST_SLEEP))
            delay -= _LONGEST_SLEEP
        show(pieces)
    flush()


def line_at(position: Destination, source: SessionSource, view: View, timing: Timing) -> int:
    """The line of the file at a position; all frames are indexed to find it."""
    from claude_session_player.player import Playback
    from claude_session_player.store import Store

    if timing.idle == 0:
        timing = timing._replace(idle=DEFAULT_IDLE)  # a playback that takes no time has no positions
    recording = _recording(source, partial(Store.open, cache=None, required=False))
    playback = Playback(recording, view, lambda: 0.0, timing)
    playback.go_to(position)
    playback.finish()
    if (overshoot := playback.take_overshoot()) is not None:
        note(overshoot.notice())
    return playback.frame.line if playback.frame else 0
