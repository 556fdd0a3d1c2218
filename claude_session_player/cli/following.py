"""Following without a full screen: what happens is printed line by line, as it happens."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Final, NamedTuple, NoReturn

from claude_session_player.cli.output import stdout
from claude_session_player.cli.report import warn
from claude_session_player.cli.showing import say
from claude_session_player.export.told import Teller
from claude_session_player.play.activity import Phase
from claude_session_player.play.company import Company, Told
from claude_session_player.play.following import News
from claude_session_player.play.glimpse import LookUp
from claude_session_player.play.running import Board, Row
from claude_session_player.store.layout import Found
from claude_session_player.store.watch import POLLED, Folder, Noticed, changes, files_in, folders_of
from claude_session_player.text import display_path, file_name, printable
from claude_session_player.times import local_now, wall_clock
from claude_session_player.view import View

_TICK: Final = 1.0
"""Seconds after which a state is looked at again, though nothing was written: time alone can change it."""
_Take = Callable[[Noticed | None], None]
_DONE, _GONE = "done", "gone"


def follow_session(found: Found, view: View, lines: int) -> NoReturn:
    """Print the last lines of a session, and then what happens in it. Does not end by itself."""
    company = Company(found, view)
    teller = Teller(stdout(), view)
    past = company.begin()
    teller.begin(past, lines)
    if not past:
        _say_that_it_waits(f"something to be written to {display_path(found.path)}")

    def take(noticed: Noticed | None) -> None:
        for told in company.notice(noticed.files) if noticed else ():
            _note(told)
            teller.tell(told)

    try:
        asyncio.run(_watch(folders_of(found), take))
    finally:
        company.close()
        for agent, account in company.accounts():
            warn(account, agent)


def follow_all(roots: Sequence[str], in_use: Sequence[str], look_up: LookUp) -> NoReturn:
    """Print a line for each session that runs, and another one whenever its state is another. Does not end."""
    board, states, file = Board(roots, in_use=in_use, look_up=look_up), States(), stdout()

    def take(noticed: Noticed | None) -> None:
        now = wall_clock()
        if noticed is not None:
            board.notice(noticed.files, now)
        for line in states.changed(board.rows(now)):
            file.write(f"{local_now():%H:%M:%S}  {line}\n")
        file.flush()

    board.notice([file for folder in board.folders for file in files_in(folder)], wall_clock())
    if not board.rows(wall_clock()):
        _say_that_it_waits(f"a session to be written to in {', '.join(map(display_path, roots))}")
    asyncio.run(_watch(board.folders, take, _TICK))


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

    def changed(self, rows: Sequence[Row]) -> list[str]:
        """A line for each session or sub-agent that does something else than before, or is gone."""
        known, self._known = self._known, {row.glimpse.found.path: _state(row) for row in rows}
        lines = [
            f"{_who(row)}  {row.status.phase.value:<{_WIDTH}}  {printable(row.status.how)}"
            for row in rows
            if known.get(row.glimpse.found.path) != self._known[row.glimpse.found.path]
        ]
        return lines + [f"{state.who}  {state.ending}" for path, state in known.items() if path not in self._known]


_WIDTH: Final = max(len(phase.value) for phase in Phase)


def _state(row: Row) -> State:
    tools = tuple(call.name for call in row.status.calls)
    return State(_who(row), row.status.phase, tools, _DONE if row.is_subagent else _GONE)


def _who(row: Row) -> str:
    """Which session, of which project; a sub-agent stands below the session."""
    glimpse = row.glimpse
    name = f"└ {glimpse.agent or glimpse.found.id}" if row.is_subagent else display_path(glimpse.found.id)[:8]
    return printable(f"{name:<8}  {file_name(glimpse.project or '') or glimpse.found.project or ''}")


async def _watch(
    folders: Sequence[Folder], take: Callable[[Noticed | None], None], tick: float | None = None
) -> NoReturn:
    """Hand over what is noticed; and `None`, when nothing was for so many seconds."""
    async with aclosing(changes(folders)) as stream:
        has_told = False
        while True:
            noticed = await _next(stream, lambda: take(None), tick)
            if noticed.is_polled and not has_told:
                has_told = True
                say(f"note: {POLLED}")
            take(noticed)


async def _next(stream: AsyncGenerator[Noticed, None], wait: Callable[[], None], tick: float | None) -> Noticed:
    coming: asyncio.Future[Noticed] = asyncio.ensure_future(anext(stream))
    try:
        while not (await asyncio.wait([coming], timeout=tick))[0]:
            wait()
        return coming.result()
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)  # nobody else may ask before it has ended


def _note(told: Told) -> None:
    """Say what has become of a file, apart from what was appended."""
    if told.problem:
        say(f"note: sub-agent {printable(told.agent)} cannot be shown: {printable(told.problem)}")
    if told.news in (News.NOTHING, News.GREW):
        return
    who = f"sub-agent {printable(told.agent)}" if told.agent else "the session"
    say(f"note: {who}: {told.news.value}")
