"""Sessions that are named on the command line: finding, checking and reading them."""

from __future__ import annotations

import os
import stat
import sys
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, TypeVar

from claude_session_player.cli._options import StoreOptions
from claude_session_player.cli._output import note, start_bar, stdout
from claude_session_player.errors import CannotRead, NoSuchSession, NotASession, SessionError
from claude_session_player.store import (
    LATEST,
    MAX_BREADCRUMB_SIZE,
    Breadcrumb,
    latest_choice,
    latest_meant,
    looks_like_path,
    not_a_session_reason,
)
from claude_session_player.util.terminal import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    import click
    from click.shell_completion import CompletionItem

    from claude_session_player.format.events import Event
    from claude_session_player.line_audit import LineAudit
    from claude_session_player.models import ScreenState, View
    from claude_session_player.store import LatestChoice, Session, SessionFile, Store

_F = TypeVar("_F", bound="Callable[..., object]")
STANDARD_INPUT: Final = "-"
_SHORT_ID: Final = 8
_TITLE_LENGTH: Final = 50
_SNIFFED: Final = 1 << 16
_LONG_READ: Final = 64 << 20
_PROGRESS_LINES: Final = 2000
_LATEST_HELP: Final = "the last active session of this project, if there is one here"
_OTHER_KINDS: Final = {
    b"\x1f\x8b": "compressed with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstandard",
    b"PK\x03\x04": "a zip archive",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
"""Other files that people have of sessions, by their first bytes."""
_PADDING: Final = b"\0 \t\r\xef\xbb\xbf"


class SessionSource(NamedTuple):
    """Where a session is read from, a file or standard input, and its name in messages."""

    name: str
    path: str | None = None
    found: SessionFile | None = None
    """What its place in a store says about it."""
    inline: Session | None = None
    """Set for a sub-agent inside its parent's file."""
    lines: Iterable[bytes] = ()
    head: bytes = b""
    """The beginning of the lines."""
    store: Store | None = None
    """The archive that it was found in: it knows what was unpacked, until the command ends."""


# --- finding ------------------------------------------------------------------------------------------


def find_source(ref: str, stores: StoreOptions | None = None) -> SessionSource:
    """The session that a reference names. A path needs no store; a breadcrumb, an id, a title or the archive does."""
    stores = stores or StoreOptions()
    if stores.is_archive:
        with stores.open() as store:
            return source_in(store, ref)._replace(store=store)
    crumb = None
    if ref == STANDARD_INPUT:
        crumb, head, lines = _standard_input()
        if crumb is None:
            return SessionSource("standard input", lines=lines, head=head)
    elif _is_path(ref):
        crumb = Breadcrumb.read(ref) if os.path.isfile(ref) else None
        _refuse_directory(ref)
        if crumb is None:
            return SessionSource(ref, ref)
    with stores.open(required=crumb is not None or needs_store(ref)) as store:
        return _source_of(locate(store, ref) if crumb is None else crumb.follow(store))


def source_in(store: Store, ref: str) -> SessionSource:
    """The same in an open store; the place of a file is known then, wherever the file is."""
    if ref != STANDARD_INPUT:
        return _source_of(locate(store, ref))
    crumb, head, lines = _standard_input()
    if crumb is None:
        return SessionSource("standard input", lines=lines, head=head)
    return _source_of(crumb.follow(store))


def _source_of(session: SessionFile | Session) -> SessionSource:
    if isinstance(session, tuple):
        return SessionSource(session.name, session.path, session)
    found = session.file
    return SessionSource(found.name, found.path, found, session if session.is_inline else None)


def locate(store: Store, ref: str) -> SessionFile | Session:
    """What a reference means, see `Store.locate`; a person is told where the directory made a difference."""
    if not _is_latest(ref) or not is_terminal(sys.stderr):
        return store.locate(ref)
    choice = latest_choice(store, ref)
    if choice is not None and not choice.is_latest_of_all:
        _note_choice(choice)
    return store.locate(ref) if choice is None or store.is_packed else choice.session


def _note_choice(choice: LatestChoice) -> None:
    from claude_session_player.util.text import base_name, display_path, printable, truncate

    session, project = choice.session, base_name(choice.project or "") or choice.project
    title = truncate(session.title or "(no title)", _TITLE_LENGTH)
    name = f"{display_path(session.id)[:_SHORT_ID]} {title!r}"
    note(printable(f"{name} is the latest of {project}; latest:all is that of all projects"))


def find_session(store: Store, ref: str) -> Session:
    """The session that a reference names, with what the store knows of it; raises if a file holds none."""
    if ref == STANDARD_INPUT:
        crumb, _, _ = _standard_input()
        if crumb is None:
            example = '{"project": …, "sessionId": …}'
            raise NoSuchSession(f"standard input holds no breadcrumb: write one JSON object like {example}")
        return store.session_of(crumb.follow(store))
    located = locate(store, ref)
    session = store.session_of(located) if isinstance(located, tuple) else located
    if _is_path(ref) and not session.facts.is_session:
        raise NotASession(f"{ref} holds no Claude Code session: no line is a known record")
    return session


def needs_store(ref: str) -> bool:
    """True where a reference cannot be resolved without a store; a misspelt `latest` is remarked on even without."""
    if _is_path(ref):
        return os.path.isfile(ref) and Breadcrumb.read(ref) is not None
    if latest_meant(ref) is not None:
        return False
    return not os.path.isdir(ref) or _is_latest(ref)  # a directory is refused as one even without a store


def complete_ref(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of sessions and sub-agents that start with this, and files. No session file is opened."""
    from claude_session_player.cli.completion import id_items
    from claude_session_player.store import Store
    from claude_session_player.util.text import display_path

    try:
        files = Store.open(*ctx.params.get("roots") or (), cache=None).files()
    except SessionError:
        files = []
    newest = sorted(files, key=lambda file: file.stamp.mtime_ns, reverse=True)
    items = id_items([LATEST, *(display_path(file.id) for file in newest)], incomplete)
    for item in items:
        item.help = _LATEST_HELP if item.value == LATEST else None
    return items


def ref_argument(function: _F) -> _F:
    """The argument REF of a command that takes one session: the latest, unless another is named."""
    import click

    return click.argument("ref", default=LATEST, shell_complete=complete_ref)(function)


def _is_path(ref: str) -> bool:
    """True for a path, whether or not a file is there; a directory may have the name of a session, or `latest`."""
    if looks_like_path(ref):
        return True
    return os.path.exists(ref) and not os.path.isdir(ref) and not _is_latest(ref)


def _is_latest(ref: str) -> bool:
    return ref.partition(":")[0] == LATEST


def _standard_input() -> tuple[Breadcrumb | None, bytes, Iterable[bytes]]:
    """The breadcrumb on standard input, if it is one; else its beginning, and all of its lines."""
    from claude_session_player.format.line_reader import LongLine, complete_line, read_lines, split_lines

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
    if not head.lstrip().startswith(b"{"):  # no session starts like this: what follows may show what it is
        head += stream.peek(1)  # type: ignore[union-attr]
    return None, head, lines


# --- checking -----------------------------------------------------------------------------------------


def check_file(path: str, name: str) -> None:
    """Refuse a file that cannot be read, or that its beginning shows not to be a session."""
    from claude_session_player.parser import open_session

    _refuse_directory(path)
    with open_session(path) as file:
        check_head(file.peek(_SNIFFED), name)  # type: ignore[attr-defined]


def check_head(head: bytes, name: str) -> None:
    """Refuse a file that its beginning shows to be empty, compressed or binary."""
    head = head[:_SNIFFED]
    if not head:
        raise NotASession(f"{name} is empty: it holds no session")
    for beginning, kind in _OTHER_KINDS.items():
        if head.startswith(beginning):
            raise NotASession(f"{name} is {kind}, not a session: convert it to JSON lines in UTF-8 first")
    if b"\0" in head and not any(line.lstrip(_PADDING).startswith(b'{"') for line in head.split(b"\n")):
        raise NotASession(f"{name} is a binary file, not a session: sessions are JSON lines")


def require_session(audit: LineAudit, name: str) -> None:
    """Refuse a file without any record of a session."""
    if audit.is_session:
        return
    from claude_session_player.line_audit import BLANK, LineStatus

    if audit.issues and not audit.unknown_events:
        first = audit.issues[0]
        raise NotASession(f"{name} is not JSON lines: line {first.line}: {first.reason}")
    if audit.by_rule(LineStatus.HIDDEN).get(BLANK.rule) == audit.lines:
        raise NotASession(f"{name} holds only blank lines: it holds no session")
    raise NotASession(f"{name} holds JSON, but no Claude Code session: no line is a known record")


def _refuse_directory(path: str) -> None:
    if os.path.isdir(path):
        raise CannotRead(not_a_session_reason(path))


# --- reading ------------------------------------------------------------------------------------------


def load_screen(
    source: SessionSource, view: View | None = None, *, until: int | None = None, at: datetime | None = None
) -> ScreenState:
    """Replay a session, up to a line or a time; raises if the source holds none."""
    from claude_session_player.models import View
    from claude_session_player.playback import replay

    view = view or View()
    try:
        if source.inline is not None:
            return replay(source.inline.lines(), view.of_subagent(), until=until, at=at)
        if source.path is not None:
            return _load_file(source, source.path, view, until, at)
        check_head(source.head, source.name)
        state = replay(source.lines, view, until=until, at=at)
    except OSError as error:
        raise CannotRead(f"{source.name}: {error.strerror or error}") from error
    if until is None and at is None:
        require_session(state.account, source.name)
    return state


def _load_file(source: SessionSource, path: str, view: View, until: int | None, at: datetime | None) -> ScreenState:
    from claude_session_player.parser import is_subagent_file, is_subagent_name
    from claude_session_player.playback import replay

    _refuse_directory(path)
    with _open_source(source, path) as file:
        check_head(file.peek(_SNIFFED), source.name)  # type: ignore[attr-defined]
        status = os.fstat(file.fileno())
        is_file = stat.S_ISREG(status.st_mode)  # a pipe can be read only once
        lines: str | Iterable[bytes] = path if is_file else file
        if is_file and status.st_size >= _LONG_READ and is_terminal(sys.stderr):
            lines = _with_progress(file, status.st_size)
        if is_subagent_file(path) if is_file else is_subagent_name(path):
            view = view.of_subagent()
        state = replay(lines, view, until=until, at=at)
    if until is None and at is None:
        require_session(state.account, source.name)
    elif is_file and not state.account.is_session:  # the lines read so far prove nothing: check the rest
        require_session(replay(path).account, source.name)
    return state


def print_screen(state: ScreenState, format: str) -> None:
    """Write a screen to stdout in one of the formats."""
    from claude_session_player.export.registry import OutputKind, format_named

    format_named(format, OutputKind.SCREEN).load()(state, stdout())


def open_events(source: SessionSource, view: View | None = None) -> tuple[ScreenState, Iterator[Event]]:
    """The empty screen of a session, and the events that fill it, as they are read.

    The source is read up to the first record of a session; raises if there is none.
    """
    try:
        state, events = _start(source, view)
        head = _through_first_record(events, source.name)
    except OSError as error:
        raise CannotRead(f"{source.name}: {error.strerror or error}") from error
    return state, chain(head, _readable(events, source.name))


def buffer_session(source: SessionSource) -> SessionSource:
    """The same session as a source that can be read more than once: a file, or lines in memory."""
    if _is_file(source) or source.inline is not None:
        return source
    lines = list(lines_of(source))
    return SessionSource(source.name, lines=lines, head=b"".join(lines[:1]))


def _start(source: SessionSource, view: View | None) -> tuple[ScreenState, Iterator[Event]]:
    from claude_session_player.models import View
    from claude_session_player.playback import start_replay

    if source.path is None:
        check_head(source.head, source.name)
    elif _is_file(source):
        check_file(source.path, source.name)
        return start_replay(source.path, view)
    if source.inline is not None:
        view = (view or View()).of_subagent()
    return start_replay(lines_of(source), view)


def _through_first_record(events: Iterator[Event], name: str) -> list[Event]:
    """The first events, up to one that proves that this is a session."""
    seen: list[Event] = []
    for event in events:
        seen.append(event)
        if _audit_of([event]).is_session:
            return seen
    require_session(_audit_of(seen), name)
    return seen


def _audit_of(events: Iterable[Event]) -> LineAudit:
    from claude_session_player.models import ScreenState
    from claude_session_player.renderer import render

    state = ScreenState()
    for event in events:
        render(state, event)
    return state.account


def _is_file(source: SessionSource) -> bool:
    """True for a file that can be read repeatedly; a pipe has a path, too."""
    return source.path is not None and source.inline is None and os.path.isfile(source.path)


def lines_of(source: SessionSource) -> Iterable[bytes]:
    if source.path is None:
        return source.lines
    if source.inline is not None:
        return source.inline.lines()
    _refuse_directory(source.path)
    return _lines_of_pipe(source, source.path)


def _lines_of_pipe(source: SessionSource, path: str) -> Iterator[bytes]:
    from claude_session_player.format.line_reader import read_lines

    with _open_source(source, path) as file:
        check_head(file.peek(_SNIFFED), source.name)  # type: ignore[attr-defined]
        yield from read_lines(file)


def _open_source(source: SessionSource, path: str) -> BinaryIO:
    """Opening a pipe that was named on the command line waits for its writer; a store must not make us wait."""
    if source.found is not None:
        from claude_session_player.parser import open_session

        return open_session(path)
    try:
        return open(path, "rb")
    except OSError as error:
        raise CannotRead(f"{path}: {error.strerror or error}") from error


def _readable(events: Iterator[Event], name: str) -> Iterator[Event]:
    """The same events; a failure to read on becomes `CannotRead`."""
    try:
        yield from events
    except OSError as error:
        raise CannotRead(f"{name}: {error.strerror or error}") from error


def _with_progress(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The lines of a large file, with a progress bar on stderr."""
    from claude_session_player.format.line_reader import read_lines

    with start_bar("reading", size) as progress:
        done = 0
        for number, line in enumerate(read_lines(file)):
            done += len(line)
            if number % _PROGRESS_LINES == 0:
                progress.update(progress.task_ids[0], completed=done)
            yield line
