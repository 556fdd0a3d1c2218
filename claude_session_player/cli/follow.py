"""`follow`: watch a session live, or all that are running."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from contextlib import aclosing
from dataclasses import dataclass
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

import click

from claude_session_player.cli._options import (
    HISTORY_HELP,
    THINKING_HELP,
    collect_options,
    examples,
    store_options,
    utc_option,
)
from claude_session_player.cli._output import note, say, stdout, warn_line_issues
from claude_session_player.cli._player_options import named_view, theme_option, view_name_option
from claude_session_player.cli._refs import check_file, complete_ref, find_source
from claude_session_player.cli.play import PLAIN_HELP
from claude_session_player.errors import BadPrices, CannotRead, NoSuchSession
from claude_session_player.export.terminal import FollowWriter
from claude_session_player.live import (
    Phase,
    RunningCosts,
    RunningSession,
    RunningSessions,
    SessionLookup,
    WaitingSessions,
    cost_words,
    phase_word,
)
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
from claude_session_player.util.terminal import BELL, TerminalTitle, is_terminal, write_control
from claude_session_player.util.text import display_path, printable, truncate
from claude_session_player.util.times import local_now, wall_clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.store import SessionFile, Store

_TICK: Final = 1.0
"""Seconds after which states are checked even if nothing was written: time alone can change them."""
_FREE_LINES: Final = 3
"""Lines of the terminal that stay free when existing text is printed."""
_USED_SECONDS: Final = 24 * 60 * 60
"""The processes of older files are not searched for."""
_PHASE_WIDTH: Final = max(len(phase_word(phase)) for phase in Phase)
_DONE, _GONE = "done", "gone"
_TMUX_VARIABLE: Final = "TMUX"
_RUNNING_WIDTH: Final = 100
"""Characters of what runs, in a line about a session."""


@dataclass(frozen=True)
class FollowOptions:
    """What is followed, and how it is shown."""

    all: bool
    plain: bool
    lines: int | None
    history: bool
    thinking: bool
    view_name: str
    bell: bool | None

    @property
    def has_bell(self) -> bool:
        """True if the bell is to ring; inside tmux, which marks the window and may ring for others, only if asked."""
        return not os.environ.get(_TMUX_VARIABLE) if self.bell is None else self.bell

    @property
    def is_plain(self) -> bool:
        """True where text is printed line by line."""
        return self.plain or not is_terminal()

    @property
    def view(self) -> View:
        """What is shown of a session."""
        return View(history=self.history, thinking=self.thinking).with_queue()

    @property
    def first_lines(self) -> int:
        """How many lines of existing text are printed first."""
        return max(get_terminal_size().lines - _FREE_LINES, 1) if self.lines is None else self.lines


follow_options = collect_options(
    "options",
    FollowOptions,
    FollowOptions.__annotations__,
    (
        click.option("--all", is_flag=True, help="Show all running sessions and what each is doing."),
        click.option("--plain", is_flag=True, help=PLAIN_HELP),
        click.option(
            "--lines",
            type=click.IntRange(min=0),
            metavar="N",
            help="With --plain: print the last N lines first. Default: about a screen.",
        ),
        click.option("--history", is_flag=True, help=HISTORY_HELP),
        click.option("--thinking", is_flag=True, help=THINKING_HELP),
        view_name_option,
        click.option(
            "--bell/--no-bell",
            default=None,
            help="With --all: ring and set the title when a session waits for you. Default: on, in tmux off.",
        ),
    ),
)


@click.command(
    epilog=examples(
        ("follow", "the session that was written to last"),
        ("follow --all", "all running sessions"),
        ("follow --plain | tee log", "as text, line by line"),
    )
)
@click.argument("ref", required=False, shell_complete=complete_ref)
@follow_options
@theme_option
@utc_option
@store_options
def command(ref: str | None, options: FollowOptions, stores: StoreOptions) -> int:
    """Watch a session live, or all running ones.

    REF is a file, an id, latest or a title: see 'help refs'. Without it, the session that was written to last is
    followed, in the project of this directory if there is one. New sub-agents appear when they start. Scrolling back
    pauses following; press End to catch up. Stop with Ctrl-C.

    With --all, every session is shown that was written to in the last half hour, or that a process has open or locked:
    whether it is thinking, running a tool, waiting for a person or idle, how that is known, what runs, how full the
    context is, and the cost so far. When a session begins to wait for you, the terminal's bell rings.

    Where the system cannot report changes, or WATCHFILES_FORCE_POLLING is set (for network drives), files are checked
    twice a second.
    """
    if ref is not None and options.all:
        raise click.UsageError("--all and REF are mutually exclusive")
    gc.enable()  # this may run for days
    if options.all:
        return _follow_all(options, stores)
    file = _last_written(stores) if ref is None else _find_file(ref, stores)
    if options.is_plain:
        return follow_session(file, options.view, options.first_lines)
    return _follow_on_screen(file, named_view(options.view_name, options.view), stores)


def _follow_on_screen(file: SessionFile, view: View, stores: StoreOptions) -> int:
    """Follow a session in the player."""
    from functools import partial

    from claude_session_player.player import Timing, recording_of_file
    from claude_session_player.store import Store
    from claude_session_player.tui.player import run_player

    open_store = partial(Store.open, *stores.roots, cache=stores.cache, required=False)
    code, audit = run_player(recording_of_file(file, open_store), view, Timing(), is_followed=True)
    warn_line_issues(audit)
    return code


def _follow_all(options: FollowOptions, stores: StoreOptions) -> int:
    with stores.open() as store:
        roots, in_use = store.roots, _files_in_use(store)
    from claude_session_player.tui.jobs import StoreOpener

    opener = StoreOpener(roots, stores.cache)
    if options.is_plain:
        return follow_all(RunningSessions(roots, in_use=in_use, look_up=opener.session), opener.session, options)
    from claude_session_player.tui.live import RunningApp

    app = RunningApp(opener, in_use, has_bell=options.has_bell)
    app.run()
    return app.return_code or 0


# --- which files --------------------------------------------------------------------------------------


def _files_in_use(store: Store) -> list[str]:
    """The files that a process has open for writing, or locked."""
    from claude_session_player.store import InUse, UseKind

    since = (wall_clock() - _USED_SECONDS) * 1_000_000_000
    paths = [file.path for file in store.files() if file.stamp.mtime_ns > since]
    return [sign.path for sign in InUse().uses(paths) if sign.how in (UseKind.LOCKED, UseKind.OPEN_FOR_WRITING)]


def _last_written(stores: StoreOptions) -> SessionFile:
    """The session that was written to last, in its own file or in that of a sub-agent; of this project, if any is."""
    from claude_session_player.store import SessionKind, sessions_here

    with stores.open() as store:
        files = [file for file in store.files() if file.kind in (SessionKind.SESSION, SessionKind.SUBAGENT)]
        here = sessions_here(store.sessions())
        if here.project is not None:
            own = {file.path for session in here.sessions for file in session.files}
            files = [file for file in files if file.path in own] or files
        if not files:
            raise NoSuchSession(f"there is no session in {', '.join(store.roots)}: start one, or name a file")
        last = max(files, key=lambda file: file.stamp.mtime_ns)
        return store.session_of(last).head.file if last.is_agent else last


def _find_file(ref: str, stores: StoreOptions) -> SessionFile:
    """The file of a session that can grow."""
    from claude_session_player.store import session_file_at

    source = find_source(ref, stores)
    if source.inline is not None:
        raise CannotRead(f"{ref} is a sub-agent inside {source.name}: follow that file instead")
    if source.path is None:
        raise CannotRead("standard input cannot be followed: name a session or its file")
    if os.path.isdir(source.path):
        raise CannotRead(not_a_session_reason(source.path))
    try:
        file = source.found or session_file_at(os.path.abspath(source.path))
    except OSError as error:
        raise CannotRead(f"{source.name}: {error.strerror or error}") from error
    if file.stamp.size:  # a session that has just started may be empty
        check_file(file.path, source.name)
    return file


# --- as text ------------------------------------------------------------------------------------------


def follow_session(file: SessionFile, view: View, lines: int) -> NoReturn:
    """Print the last lines of a session, then whatever is added to it. Never returns."""
    group = FollowedGroup(file, view)
    writer = FollowWriter(stdout(), view)
    past = group.initial_text()
    writer.write_last_lines(past, lines)
    if not past:
        _say_waiting(f"something to be written to {display_path(file.path)}")

    def handle(changes: FileChanges | None) -> None:
        for followed in group.read_changes(changes.files) if changes else ():
            _note_change(followed)
            writer.write_new(followed)

    try:
        asyncio.run(_watch(dirs_to_watch(file), handle))
    finally:
        group.close()
        for agent, audit in group.audits():
            warn_line_issues(audit, agent)


def follow_all(running: RunningSessions, look_up: SessionLookup, options: FollowOptions) -> NoReturn:
    """Print a line for each running session, and another one whenever its state changes. Never returns."""
    states, file, attention = StateLog(RunningCosts(look_up)), stdout(), _Attention(options.has_bell)

    def handle(changes: FileChanges | None) -> None:
        now = wall_clock()
        if changes is not None:
            running.update(changes.files, now)
        rows = running.rows(now)
        for line in states.update(rows):
            file.write(f"{local_now():%H:%M:%S}  {line}\n")
        file.flush()
        attention.update(rows)

    running.update([file for folder in running.directories for file in watched_files(folder)], wall_clock())
    if not running.rows(wall_clock()):
        roots = [os.path.dirname(folder.path) for folder in running.directories]
        _say_waiting(f"a session to be written to in {', '.join(map(display_path, roots))}")
    try:
        asyncio.run(_watch(running.directories, handle, _TICK))
    finally:
        attention.title.restore()


class _Attention:
    """Calls for the person when a session begins to wait: the bell on stderr, the title on stdout, in terminals."""

    def __init__(self, is_wanted: bool) -> None:
        self._is_wanted = is_wanted
        self._waiting = WaitingSessions()
        self.title = TerminalTitle(lambda sequence: write_control(sys.stdout, sequence))

    def update(self, rows: Sequence[RunningSession]) -> None:
        """Take the present state of all sessions."""
        is_news = self._waiting.update(rows)
        if self._is_wanted:
            self.title.set(self._waiting.title)
            if is_news:
                write_control(sys.stderr, BELL)


def _say_waiting(what: str) -> None:
    """Explain an empty terminal; a script would only find it in its way."""
    if is_terminal(sys.stderr):
        say(f"waiting for {printable(what)} (Ctrl-C to stop)")


def _note_change(followed: FollowedText) -> None:
    """Say what happened to a file, apart from being appended to."""
    agent = printable(followed.agent)
    if followed.problem:
        note(f"sub-agent {agent} cannot be shown: {printable(followed.problem)}")
    if followed.change not in (FileChange.NOTHING, FileChange.GREW):
        note(f"{f'sub-agent {agent}' if followed.agent else 'the session'}: {followed.change.value}")


class SessionState(NamedTuple):
    """What distinguishes two states of a session; how long a state lasts does not."""

    name: str
    phase: Phase
    running: str
    ending: str
    """What is printed when the session is gone."""


class StateLog:
    """Remembers the state of each session, and reports changes; when one waits, with its context and cost."""

    def __init__(self, costs: RunningCosts) -> None:
        self._states: dict[str, SessionState] = {}
        self._costs = costs

    def update(self, rows: Sequence[RunningSession]) -> list[str]:
        """A line for each session or sub-agent whose state is new, or that is gone."""
        before, self._states = self._states, {row.peek.file.path: _state(row) for row in rows}
        lines = [
            f"{_name(row)}  {phase_word(row.status.phase):<{_PHASE_WIDTH}}  {self._evidence(row)}"
            for row in rows
            if before.get(row.peek.file.path) != self._states[row.peek.file.path]
        ]
        return lines + [f"{state.name}  {state.ending}" for path, state in before.items() if path not in self._states]

    def _evidence(self, row: RunningSession) -> str:
        """What runs, and how the state is known."""
        running = truncate(row.status.running, _RUNNING_WIDTH)
        parts = [running, row.status.reason, *(self._use(row) if row.status.phase is Phase.WAITING else ())]
        return printable("  ".join(filter(None, parts)))

    def _use(self, row: RunningSession) -> list[str]:
        """How full the context of a session is, and what it has cost."""
        fill = row.peek.context
        try:
            expense = None if row.is_subagent else self._costs.count(row.peek.file)
        except BadPrices as error:
            note(f"no costs are shown: {error}")
            expense = None
        return [fill.words() if fill is not None else "", cost_words(expense)]


def _state(row: RunningSession) -> SessionState:
    return SessionState(_name(row), row.status.phase, row.status.running, _DONE if row.is_subagent else _GONE)


def _name(row: RunningSession) -> str:
    """The id and the project of a session; a sub-agent is shown below its session."""
    peek = row.peek
    name = f"└ {peek.agent or peek.file.id}" if row.is_subagent else display_path(peek.file.id)[:8]
    return printable(f"{name:<8}  {peek.project_name}")


async def _watch(
    folders: Sequence[WatchedDir], handle: Callable[[FileChanges | None], None], tick: float | None = None
) -> NoReturn:
    """Pass on changes as they are noticed; `None` after each `tick` seconds without any."""
    async with aclosing(watch_changes(folders)) as stream:
        has_noted_polling = False
        while True:
            changes = await _next(stream, lambda: handle(None), tick)
            if changes.is_polled and not has_noted_polling:
                has_noted_polling = True
                note(POLLING_NOTICE)
            handle(changes)


async def _next(stream: AsyncGenerator[FileChanges, None], wait: Callable[[], None], tick: float | None) -> FileChanges:
    coming: asyncio.Future[FileChanges] = asyncio.ensure_future(anext(stream))
    try:
        while not (await asyncio.wait([coming], timeout=tick))[0]:
            wait()
        return coming.result()
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)  # the stream takes no new request before this one ends
