"""From a word on the command line to a replayed session, or to an error that says what is wrong with it."""

from __future__ import annotations

import os
import stat
import sys
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

import click

from claude_session_player.cli._options import open_store
from claude_session_player.errors import CannotRead, NoSuchSession, NotASession, SessionError
from claude_session_player.format.line_reader import LongLine, complete_line, read_lines, split_lines
from claude_session_player.line_audit import BLANK, LineAudit, LineStatus
from claude_session_player.models import ScreenState, View
from claude_session_player.parser import is_subagent_file, is_subagent_name, open_session
from claude_session_player.playback import replay, start_replay
from claude_session_player.renderer import render
from claude_session_player.store import (
    LATEST,
    MAX_BREADCRUMB_SIZE,
    Breadcrumb,
    looks_like_path,
    not_a_session_reason,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from click.shell_completion import CompletionItem

    from claude_session_player.format.events import Event
    from claude_session_player.store import Session, SessionFile, Store

STANDARD_INPUT: Final = "-"


class SessionSource(NamedTuple):
    """What a command was asked for, and the name that it has in messages: a file, or the lines of standard input."""

    name: str
    path: str | None = None
    found: SessionFile | None = None
    """What its place in a store says about it."""
    inline: Session | None = None
    """Where it is a sub-agent inside of its parent's file."""
    lines: Iterable[bytes] = ()
    head: bytes = b""
    """The beginning of the lines."""


def find_source(
    ref: str, roots: tuple[str, ...] = (), no_cache: bool = False, archived: bool = False, archive: str | None = None
) -> SessionSource:
    """What is meant by a reference. A path needs no store; a breadcrumb, an id, a title or the archive does."""
    if archived or archive is not None:
        with open_store(roots, no_cache, archived=archived, archive=archive) as store:
            return source_in(store, ref)
    crumb = None
    if ref == STANDARD_INPUT:
        crumb, head, lines = _standard_input()
        if crumb is None:
            return SessionSource("standard input", lines=lines, head=head)
    elif _is_path(ref):
        crumb = Breadcrumb.read(ref) if os.path.isfile(ref) else None
        if os.path.isdir(ref):
            raise CannotRead(not_a_session_reason(ref))
        if crumb is None:
            return SessionSource(ref, ref)
    with open_store(roots, no_cache, required=crumb is not None or needs_store(ref)) as store:
        return _placed(store.locate(ref) if crumb is None else crumb.follow(store))


def source_in(store: Store, ref: str) -> SessionSource:
    """The same, in a store that is open; also of a file that lies anywhere, its place is known."""
    if ref != STANDARD_INPUT:
        return _placed(store.locate(ref))
    crumb, head, lines = _standard_input()
    return _placed(crumb.follow(store)) if crumb else SessionSource("standard input", lines=lines, head=head)


def _placed(meant: SessionFile | Session) -> SessionSource:
    found = meant if isinstance(meant, tuple) else meant.file
    inline = meant if not isinstance(meant, tuple) and meant.is_inline else None
    return SessionSource(found.name, found.path, found, inline)


def find_session(store: Store, ref: str) -> Session:
    """The session that is meant, with what the store knows of it; raises where a file holds none."""
    if ref == STANDARD_INPUT:
        crumb, _, _ = _standard_input()
        if crumb is None:
            raise NoSuchSession(
                'there is no breadcrumb on standard input: it is one JSON object like {"project": …, "sessionId": …}'
            )
        return store.session_of(crumb.follow(store))
    session = store.resolve(ref)
    if _is_path(ref) and not session.facts.is_session:
        raise NotASession(f"{ref} holds no Claude Code session: no line is a known record")
    return session


def needs_store(ref: str) -> bool:
    """True where a reference cannot be understood without a store."""
    if _is_path(ref):
        return os.path.isfile(ref) and Breadcrumb.read(ref) is not None
    return not os.path.isdir(ref) or _is_latest(ref)  # a directory is refused as one where there is no store


def complete_ref(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of sessions and sub-agents that begin like this, and files. No session file is opened."""
    from claude_session_player.cli.completion import id_items
    from claude_session_player.store import Store
    from claude_session_player.util.text import display_path

    try:
        files = Store.open(*ctx.params.get("roots") or (), cache=None).files()
    except SessionError:
        files = []
    newest = sorted(files, key=lambda file: file.stamp.mtime_ns, reverse=True)
    return id_items([LATEST, *(display_path(file.id) for file in newest)], incomplete)


def _is_path(ref: str) -> bool:
    """True for a path, also of something that is no file; a directory may be called like a session, or `latest`."""
    if looks_like_path(ref):
        return True
    return os.path.exists(ref) and not os.path.isdir(ref) and not _is_latest(ref)


def _is_latest(ref: str) -> bool:
    return ref.partition(":")[0] == LATEST


def _standard_input() -> tuple[Breadcrumb | None, bytes, Iterable[bytes]]:
    """A breadcrumb, where standard input is one; else its beginning, and all of its lines."""
    if sys.stdin is None:
        raise CannotRead("standard input is closed")
    stream = sys.stdin.buffer
    head = stream.readline(MAX_BREADCRUMB_SIZE)
    if (crumb := Breadcrumb.parse(head)) is not None:
        return crumb, head, ()
    if head.strip() == b"{":  # JSON over several lines
        head += stream.read(MAX_BREADCRUMB_SIZE - len(head))
        if (crumb := Breadcrumb.parse(head)) is not None:
            return crumb, head, ()
    *first, last = split_lines(head) or [b""]
    lines = chain(first, filter(None, (last := complete_line(last, stream),)), read_lines(stream))
    head = head if isinstance(last, LongLine) else b"".join((*first, last))
    if not head.lstrip().startswith(b"{"):  # no session begins so: what comes behind may tell what it is
        head += stream.peek(1)  # type: ignore[union-attr]
    return None, head, lines


_SNIFFED: Final = 1 << 16
_LONG_READ: Final = 64 << 20
_STEP: Final = 2000
_OTHER_KINDS: Final = {
    b"\x1f\x8b": "compressed with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstandard",
    b"PK\x03\x04": "a zip archive",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
"""Files that people have of sessions, known by their first bytes."""
_PADDING: Final = b"\0 \t\r\xef\xbb\xbf"


def load_screen(
    source: SessionSource, view: View | None = None, *, until: int | None = None, at: datetime | None = None
) -> ScreenState:
    """Replay a session named on the command line; raises where there is none."""
    try:
        if source.path is None:
            return _load_stream(source, view, until, at)
        if source.inline is not None:
            return replay(source.inline.lines(), (view or View()).of_subagent(), until=until, at=at)
        return _load_file(source, source.path, view, until, at)
    except OSError as error:
        raise CannotRead(f"{source.name}: {error.strerror or error}") from error


def _load_stream(source: SessionSource, view: View | None, until: int | None, at: datetime | None) -> ScreenState:
    check_head(source.head, source.name)
    state = replay(source.lines, view, until=until, at=at)
    if until is None and at is None:
        require_session(state.account, source.name)
    return state


def _load_file(
    named: SessionSource, session: str, view: View | None, until: int | None, at: datetime | None
) -> ScreenState:
    _refuse_directory(session)
    name = named.name
    with _open_source(named, session) as file:
        check_head(file.peek(_SNIFFED), name)  # type: ignore[attr-defined]
        status = os.fstat(file.fileno())
        is_file = stat.S_ISREG(status.st_mode)  # a pipe can be read only once
        source: str | Iterable[bytes] = session if is_file else file
        if is_file and status.st_size >= _LONG_READ and sys.stderr is not None and sys.stderr.isatty():
            source = _with_progress(file, status.st_size)
        if is_subagent_file(session) if is_file else is_subagent_name(session):
            view = (view or View()).of_subagent()
        state = replay(source, view, until=until, at=at)
    if until is None and at is None:
        require_session(state.account, name)
    elif is_file and not state.account.is_session:  # what was read says nothing: look at the rest
        require_session(replay(session).account, name)
    return state


def open_events(source: SessionSource, view: View | None = None) -> tuple[ScreenState, Iterator[Event]]:
    """The empty screen of a session named on the command line, and the events that fill it, as they are read.

    Raises where there is no session: it is read up to the first line that is a record of one.
    """
    try:
        state, events = _begun(source, view)
        head = _through_first_record(events, source.name)
    except OSError as error:
        raise CannotRead(f"{source.name}: {error.strerror or error}") from error
    return state, chain(head, _readable(events, source.name))


def buffer_session(source: SessionSource) -> SessionSource:
    """The same session as something that can be read more than once: a file, or lines that are kept in memory."""
    if _is_file(source) or source.inline is not None:
        return source
    lines = list(_lines_of(source))
    return SessionSource(source.name, lines=lines, head=b"".join(lines[:1]))


def _through_first_record(events: Iterator[Event], name: str) -> list[Event]:
    """The first events, up to one that makes a session."""
    seen: list[Event] = []
    for event in events:
        seen.append(event)
        if _account_of([event]).is_session:
            return seen
    require_session(_account_of(seen), name)
    return seen


def _account_of(events: Iterable[Event]) -> LineAudit:
    state = ScreenState()
    for event in events:
        render(state, event)
    return state.account


def _begun(source: SessionSource, view: View | None) -> tuple[ScreenState, Iterator[Event]]:
    if source.path is None:
        check_head(source.head, source.name)
    elif _is_file(source):
        check_file(source.path, source.name)
        return start_replay(source.path, view)
    if source.inline is not None:
        view = (view or View()).of_subagent()
    return start_replay(_lines_of(source), view)


def _is_file(source: SessionSource) -> bool:
    """True for a file of its own, which can be read again and again; a pipe has a path, too."""
    return source.path is not None and source.inline is None and os.path.isfile(source.path)


def _lines_of(source: SessionSource) -> Iterable[bytes]:
    if source.path is None:
        return source.lines
    if source.inline is not None:
        return source.inline.lines()
    _refuse_directory(source.path)
    return _lines_of_pipe(source, source.path)


def _lines_of_pipe(source: SessionSource, path: str) -> Iterator[bytes]:
    with _open_source(source, path) as file:
        check_head(file.peek(_SNIFFED), source.name)  # type: ignore[attr-defined]
        yield from read_lines(file)


def _open_source(source: SessionSource, path: str) -> BinaryIO:
    """A file that was named on the command line may be a pipe, which is waited for; one of a store may not."""
    if source.found is not None:
        return open_session(path)
    try:
        return open(path, "rb")
    except OSError as error:
        raise CannotRead(f"{path}: {error.strerror or error}") from error


def _readable(events: Iterator[Event], name: str) -> Iterator[Event]:
    """The same events; where the file cannot be read any further, it is said so."""
    try:
        yield from events
    except OSError as error:
        raise CannotRead(f"{name}: {error.strerror or error}") from error


def check_file(path: str, name: str) -> None:
    """Refuse a file that cannot be read, or whose beginning shows that it is no session."""
    _refuse_directory(path)
    with open_session(path) as file:
        check_head(file.peek(_SNIFFED), name)  # type: ignore[attr-defined]


def _refuse_directory(path: str) -> None:
    if os.path.isdir(path):
        raise CannotRead(not_a_session_reason(path))


def check_head(head: bytes, name: str) -> None:
    """Refuse a file whose beginning shows that it is empty or binary."""
    head = head[:_SNIFFED]
    if not head:
        raise NotASession(f"{name} is empty: there is no session in it")
    for beginning, kind in _OTHER_KINDS.items():
        if head.startswith(beginning):
            raise NotASession(f"{name} is {kind}, not a session: turn it into JSON lines in UTF-8 first")
    if b"\0" in head and not any(line.lstrip(_PADDING).startswith(b'{"') for line in head.split(b"\n")):
        raise NotASession(f"{name} is a binary file, not a session: sessions are JSON lines")


def require_session(account: LineAudit, name: str) -> None:
    """Refuse a file in which no line is a record of a session."""
    if account.is_session:
        return
    if account.issues and not account.unknown_events:
        first = account.issues[0]
        raise NotASession(f"{name} is not JSON lines: line {first.line}: {first.reason}")
    if account.by_rule(LineStatus.HIDDEN).get(BLANK.rule) == account.lines:
        raise NotASession(f"{name} holds only blank lines: there is no session in it")
    raise NotASession(f"{name} holds JSON, but no Claude Code session: no line is a known record")


def _with_progress(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The lines of a large file, with a progress bar on stderr."""
    from claude_session_player.cli._options import start_bar

    with start_bar("reading", size) as progress:
        done = 0
        for number, line in enumerate(read_lines(file)):
            done += len(line)
            if number % _STEP == 0:
                progress.update(progress.task_ids[0], completed=done)
            yield line
