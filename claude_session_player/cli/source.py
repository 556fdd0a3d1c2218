"""From a word on the command line to a replayed session, or to an error that says what is wrong with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
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
    view = view or View()
    if session == STANDARD_INPUT:
        state = replay(_checked(sys.stdin.buffer, "standard input"), view, until=until, at=at)
        name = "standard input"
    else:
        name = session
        if os.path.isdir(session):
            raise CannotRead(f"{session} is a directory: name a session file (*.jsonl) in it")
        with open_session(session) as file:
            lines = _watched(_checked(file, name), file)
            if is_subagent_file(session):
                view = view.of_subagent()
            state = replay(lines, view, until=until, at=at)
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


def _watched(lines: BinaryIO, file: BinaryIO) -> Iterable[bytes]:
    """The same lines, with a progress bar on a terminal where there are very many."""
    size = os.fstat(file.fileno()).st_size
    if size < _LONG_READ or not sys.stderr.isatty():
        return lines
    return _with_progress(lines, size)


def _with_progress(lines: BinaryIO, size: int) -> Iterator[bytes]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=size)
        done = 0
        for number, line in enumerate(lines):
            done += len(line)
            if number % _STEP == 0:
                progress.update(task, completed=done)
            yield line
