"""From a word on the command line to a replayed session, or to an error that says what is wrong with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO, Final

from claude_session_player.account import BLANK, Fate
from claude_session_player.errors import CannotRead, NotASession
from claude_session_player.models import ScreenState
from claude_session_player.parser import is_subagent_file, open_session
from claude_session_player.playback import replay
from claude_session_player.view import View

STANDARD_INPUT: Final = "-"

_SNIFFED: Final = 1 << 16
_LONG_READ: Final = 64 << 20
_STEP: Final = 2000


def load(
    session: str, view: View | None = None, *, until: int | None = None, at: datetime | None = None
) -> ScreenState:
    """Replay a session named on the command line; raises where there is none."""
    if session == STANDARD_INPUT:
        name = "standard input"
        state = replay(_checked(sys.stdin.buffer, name), view, until=until, at=at)
    else:
        name = session
        if os.path.isdir(session):
            raise CannotRead(f"{session} is a directory: name a session file (*.jsonl) in it")
        with open_session(session) as file:
            _checked(file, name)
            if os.fstat(file.fileno()).st_size >= _LONG_READ and sys.stderr.isatty():
                view = (view or View()).of_subagent() if is_subagent_file(session) else view
                state = replay(_with_progress(file), view, until=until, at=at)
            else:
                state = replay(session, view, until=until, at=at)
    if until is None and at is None:
        _require_session(state, name)
    return state


def _checked(file: BinaryIO, name: str) -> BinaryIO:
    """The same file, unless its beginning shows that it is empty or binary."""
    head = file.peek(_SNIFFED) if hasattr(file, "peek") else b""
    if not head:
        raise NotASession(f"{name} is empty: there is no session in it")
    if b"\0" in head and b"{" not in head.replace(b"\0", b"")[:_SNIFFED]:
        raise NotASession(f"{name} is a binary file, not a session: sessions are JSON lines")
    return file


def _require_session(state: ScreenState, name: str) -> None:
    account = state.account
    if account.is_session:
        return
    if account.issues and not account.unknown_events:
        first = account.issues[0]
        raise NotASession(f"{name} is not JSON lines: line {first.line}: {first.reason}")
    if account.by_rule(Fate.HIDDEN).get(BLANK.rule) == account.lines:
        raise NotASession(f"{name} holds only blank lines: there is no session in it")
    raise NotASession(f"{name} holds JSON, but no Claude Code session: no line is a known record")


def _with_progress(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a large file, with a progress bar on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=os.fstat(file.fileno()).st_size)
        done = 0
        for number, line in enumerate(file):
            done += len(line)
            if number % _STEP == 0:
                progress.update(task, completed=done)
            yield line
