"""`follow`: what happens now, in one session or in all that run."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import click

from claude_session_player.cli._options import open_store, store_options, utc_option
from claude_session_player.cli._output import say, stdout, warn_line_issues
from claude_session_player.cli._refs import check_file, complete_ref, find_source
from claude_session_player.errors import CannotRead, NoSuchSession
from claude_session_player.export.terminal import FollowWriter
from claude_session_player.live import Phase, RunningSession, RunningSessions, SessionLookup
from claude_session_player.models import View
from claude_session_player.player import FileChange, FollowedGroup, FollowedText
from claude_session_player.store import (
    POLLING_NOTICE,
    FileChanges,
    WatchedDir,
    dirs_to_watch,
    not_a_session_reason,
    watch_changes,
    watched_files,
)
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import base_name, display_path, printable
from claude_session_player.util.times import local_now, wall_clock

if TYPE_CHECKING:
    from claude_session_player.store import SessionFile, Store

_TICK: Final = 1.0
"""Seconds after which a state is looked at again, though nothing was written: time alone can change it."""
_Take = Callable[[FileChanges | None], None]
_DONE, _GONE = "done", "gone"


def follow_session(found: SessionFile, view: View, lines: int) -> NoReturn:
    """Print the last lines of a session, and then what happens in it. Does not end by itself."""
    company = FollowedGroup(found, view)
    teller = FollowWriter(stdout(), view)
    past = company.initial_text()
    teller.write_last_lines(past, lines)
    if not past:
        _say_that_it_waits(f"something to be written to {display_path(found.path)}")

    def take(noticed: FileChanges | None) -> None:
        for told in company.read_changes(noticed.files) if noticed else ():
            _note(told)
            teller.write_new(told)

    try:
        asyncio.run(_watch(dirs_to_watch(found), take))
    finally:
        company.close()
        for agent, account in company.audits():
            warn_line_issues(account, agent)


def follow_all(roots: Sequence[str], in_use: Sequence[str], look_up: SessionLookup) -> NoReturn:
    """Print a line for each session that runs, and another one whenever its state is another. Does not end."""
    board, states, file = RunningSessions(roots, in_use=in_use, look_up=look_up), States(), stdout()

    def take(noticed: FileChanges | None) -> None:
        now = wall_clock()
        if noticed is not None:
            board.update(noticed.files, now)
        for line in states.changed(board.rows(now)):
            file.write(f"{local_now():%H:%M:%S}  {line}\n")
        file.flush()

    board.update([file for folder in board.directories for file in watched_files(folder)], wall_clock())
    if not board.rows(wall_clock()):
        _say_that_it_waits(f"a session to be written to in {', '.join(map(display_path, roots))}")
    asyncio.run(_watch(board.directories, take, _TICK))


def _say_that_it_waits(what: str) -> None:
    """Tell whoever sits in front of an empty terminal that all is well; a script would find it in its way."""
    if sys.stderr is not None and sys.stderr.isatty():
        say(f"waiting for {printable(what)} (Ctrl-C ends it)")


class State(NamedTuple):
    """What tells one state of a session from another; how long it lasts does not."""

    who: str
    phase: Phase
    tools: tuple[str, ...]
    ending: str
    """What is said when it is over."""


class States:
    """Remembers what each session did, and tells where it does something else."""

    def __init__(self) -> None:
        self._known: dict[str, State] = {}

    def changed(self, rows: Sequence[RunningSession]) -> list[str]:
        """A line for each session or sub-agent that does something else than before, or is gone."""
        known, self._known = self._known, {row.peek.file.path: _state(row) for row in rows}
        lines = [
            f"{_who(row)}  {row.status.phase.value:<{_WIDTH}}  {printable(row.status.reason)}"
            for row in rows
            if known.get(row.peek.file.path) != self._known[row.peek.file.path]
        ]
        return lines + [f"{state.who}  {state.ending}" for path, state in known.items() if path not in self._known]


_WIDTH: Final = max(len(phase.value) for phase in Phase)


def _state(row: RunningSession) -> State:
    tools = tuple(call.name for call in row.status.calls)
    return State(_who(row), row.status.phase, tools, _DONE if row.is_subagent else _GONE)


def _who(row: RunningSession) -> str:
    """Which session, of which project; a sub-agent stands below the session."""
    glimpse = row.peek
    name = f"└ {glimpse.agent or glimpse.file.id}" if row.is_subagent else display_path(glimpse.file.id)[:8]
    return printable(f"{name:<8}  {base_name(glimpse.project or '') or glimpse.file.project or ''}")


async def _watch(
    folders: Sequence[WatchedDir], take: Callable[[FileChanges | None], None], tick: float | None = None
) -> NoReturn:
    """Hand over what is noticed; and `None`, when nothing was for so many seconds."""
    async with aclosing(watch_changes(folders)) as stream:
        has_told = False
        while True:
            noticed = await _next(stream, lambda: take(None), tick)
            if noticed.is_polled and not has_told:
                has_told = True
                say(f"note: {POLLING_NOTICE}")
            take(noticed)


async def _next(stream: AsyncGenerator[FileChanges, None], wait: Callable[[], None], tick: float | None) -> FileChanges:
    coming: asyncio.Future[FileChanges] = asyncio.ensure_future(anext(stream))
    try:
        while not (await asyncio.wait([coming], timeout=tick))[0]:
            wait()
        return coming.result()
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)  # nobody else may ask before it has ended


def _note(told: FollowedText) -> None:
    """Say what has become of a file, apart from what was appended."""
    if told.problem:
        say(f"note: sub-agent {printable(told.agent)} cannot be shown: {printable(told.problem)}")
    if told.change in (FileChange.NOTHING, FileChange.GREW):
        return
    who = f"sub-agent {printable(told.agent)}" if told.agent else "the session"
    say(f"note: {who}: {told.change.value}")


_AROUND: Final = 3
"""Lines of a screen that are left free when the past is shown."""
_USED_SECONDS: Final = 24 * 60 * 60
"""Older files are not looked at to find out who uses them."""


@click.command()
@click.argument("ref", required=False, shell_complete=complete_ref)
@click.option("--all", "everything", is_flag=True, help="Show every session that runs, and what it does.")
@click.option("--plain", is_flag=True, help="Print what happens line by line; this is so where stdout is no terminal.")
@click.option(
    "--lines",
    type=click.IntRange(min=0),
    metavar="N",
    help="How many lines of what is there are printed first. Default: about a screen.",
)
@click.option("--history", is_flag=True, help="Keep what came before compactions.")
@click.option("--thinking", is_flag=True, help="Show the thoughts.")
@utc_option
@store_options
def command(
    ref: str | None,
    everything: bool,
    plain: bool,
    lines: int | None,
    history: bool,
    thinking: bool,
    **where: Any,
) -> int:
    """Show what happens in a session, as it happens; without REF, in the one that was written to last.

    New sub-agents appear when they start. A file that is cut off or replaced is shown anew, one that is deleted may
    come back. The system reports what changes. Where it cannot, which is said, or where WATCHFILES_FORCE_POLLING is set
    because the files lie on a server, they are checked twice a second.

    With --all, every session is shown that was written to in the last half hour, or that some process has open or
    locked: whether it thinks, runs a tool, waits for the person or is idle, and how this is known. With --plain there
    is a line for each change of this.

    REF is a session file, an id or at least 4 characters of its beginning, latest, latest:2, a title in quotes, or a
    breadcrumb file. It ends with Ctrl-C.
    """
    if ref is not None and everything:
        raise click.UsageError("--all follows every session, and REF names one: one of them is too much")
    gc.enable()  # this may run for days
    if everything:
        return _follow_all(plain=plain or not is_terminal(), **where)
    found = _written_last(**where) if ref is None else _found(ref, **where)
    view = View(history=history, thinking=thinking).with_queue()
    if not plain and is_terminal():
        return _play(found, view, **where)

    shown = max(get_terminal_size().lines - _AROUND, 1) if lines is None else lines
    return follow_session(found, view, shown)


def _play(found: SessionFile, view: View, roots: tuple[str, ...], no_cache: bool) -> int:
    """The session in the player's window."""
    from functools import partial

    from claude_session_player.player import Timing, recording_of_file
    from claude_session_player.store import Store
    from claude_session_player.tui.player import run_player

    open_store = partial(Store.open, *roots, cache=_cache(no_cache), required=False)
    code, account = run_player(recording_of_file(found, open_store), view, Timing(), is_followed=True)
    warn_line_issues(account)
    return code


def _follow_all(roots: tuple[str, ...], no_cache: bool, *, plain: bool) -> int:
    with open_store(roots, no_cache) as store:
        roots, in_use = store.roots, _in_use(store)
    from claude_session_player.tui.jobs import StoreOpener

    shelf = StoreOpener(roots, _cache(no_cache))
    if plain:
        return follow_all(roots, in_use, shelf.session)
    from claude_session_player.tui.live import RunningApp

    app = RunningApp(shelf, in_use)
    app.run()
    return app.return_code or 0


def _cache(no_cache: bool) -> str | None:
    from claude_session_player.store import DEFAULT_CACHE

    return None if no_cache else DEFAULT_CACHE


def _in_use(store: Store) -> list[str]:
    """The files that some process has open for writing, or locked."""
    from claude_session_player.store import InUse, UseKind

    since = (wall_clock() - _USED_SECONDS) * 1_000_000_000
    paths = [file.path for file in store.files() if file.stamp.mtime_ns > since]
    return [sign.path for sign in InUse().uses(paths) if sign.how in (UseKind.LOCKED, UseKind.OPEN_FOR_WRITING)]


def _written_last(**where: Any) -> SessionFile:
    """The session that was written to last, itself or by a sub-agent of it."""
    from claude_session_player.store import SessionKind

    with open_store(**where) as store:
        files = [file for file in store.files() if file.kind in (SessionKind.SESSION, SessionKind.SUBAGENT)]
        if not files:
            raise NoSuchSession(f"there is no session in {', '.join(store.roots)}")
        last = max(files, key=lambda file: file.stamp.mtime_ns)
        return store.session_of(last).head.file if last.is_agent else last


def _found(ref: str, **where: Any) -> SessionFile:
    """What a reference means, where it is a file that can grow."""
    from claude_session_player.store import session_file_at

    source = find_source(ref, **where)
    if source.inline is not None:
        raise CannotRead(f"{ref} is a sub-agent inside of {source.name}: follow that file instead")
    if source.path is None:
        raise CannotRead("standard input cannot be followed: name a session, or its file")
    if os.path.isdir(source.path):
        raise CannotRead(not_a_session_reason(source.path))
    try:
        found = source.found or session_file_at(os.path.abspath(source.path))
    except OSError as error:
        raise CannotRead(f"{source.name}: {error.strerror or error}") from error
    if found.stamp.size:  # a session that has just begun may be empty
        check_file(found.path, source.name)
    return found
