"""From a word on the command line to the session that it means."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from claude_session_player.cli.stores import opened
from claude_session_player.errors import CannotRead, NoSuchSession, NotASession, SessionError
from claude_session_player.line_reader import LongLine, complete_line, read_lines, split_lines
from claude_session_player.names import LATEST
from claude_session_player.store.refs import (
    BREADCRUMB_SIZE,
    breadcrumb,
    follow,
    looks_like_path,
    read_breadcrumb,
    refusal,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from claude_session_player.store.layout import Found
    from claude_session_player.store.session import Session
    from claude_session_player.store.store import Store

STANDARD_INPUT: Final = "-"


class Source(NamedTuple):
    """What a command was asked for, and the name that it has in messages: a file, or the lines of standard input."""

    name: str
    path: str | None = None
    found: Found | None = None
    """What its place in a store says about it."""
    inline: Session | None = None
    """Where it is a sub-agent inside of its parent's file."""
    lines: Iterable[bytes] = ()
    head: bytes = b""
    """The beginning of the lines."""


def find_source(
    ref: str, roots: tuple[str, ...] = (), no_cache: bool = False, archived: bool = False, archive: str | None = None
) -> Source:
    """What is meant by a reference. A path needs no store; a breadcrumb, an id, a title or the archive does."""
    if archived or archive is not None:
        with opened(roots, no_cache, archived=archived, archive=archive) as store:
            return source_in(store, ref)
    crumb = None
    if ref == STANDARD_INPUT:
        crumb, head, lines = _standard_input()
        if crumb is None:
            return Source("standard input", lines=lines, head=head)
    elif _is_path(ref):
        crumb = read_breadcrumb(ref) if os.path.isfile(ref) else None
        if os.path.isdir(ref):
            raise CannotRead(refusal(ref))
        if crumb is None:
            return Source(ref, ref)
    with opened(roots, no_cache, required=crumb is not None or needs_store(ref)) as store:
        return _placed(store.locate(ref) if crumb is None else follow(store, crumb))


def source_in(store: Store, ref: str) -> Source:
    """The same, in a store that is open; also of a file that lies anywhere, its place is known."""
    if ref != STANDARD_INPUT:
        return _placed(store.locate(ref))
    crumb, head, lines = _standard_input()
    return _placed(follow(store, crumb)) if crumb else Source("standard input", lines=lines, head=head)


def _placed(meant: Found | Session) -> Source:
    found = meant if isinstance(meant, tuple) else meant.found
    inline = meant if not isinstance(meant, tuple) and meant.is_inline else None
    return Source(found.name, found.path, found, inline)


def find_session(store: Store, ref: str) -> Session:
    """The session that is meant, with what the store knows of it; raises where a file holds none."""
    if ref == STANDARD_INPUT:
        crumb, _, _ = _standard_input()
        if crumb is None:
            raise NoSuchSession(
                'there is no breadcrumb on standard input: it is one JSON object like {"project": …, "sessionId": …}'
            )
        return store.of(follow(store, crumb))
    session = store.resolve(ref)
    if _is_path(ref) and not session.facts.is_session:
        raise NotASession(f"{ref} holds no Claude Code session: no line is a known record")
    return session


def needs_store(ref: str) -> bool:
    """True where a reference cannot be understood without a store."""
    if _is_path(ref):
        return os.path.isfile(ref) and read_breadcrumb(ref) is not None
    return not os.path.isdir(ref) or _is_latest(ref)  # a directory is refused as one where there is no store


def complete_ref(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of sessions and sub-agents that begin like this, and files. No session file is opened."""
    from claude_session_player.cli.completion import id_items
    from claude_session_player.store.store import Store
    from claude_session_player.text import display_path

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


def _standard_input() -> tuple[dict[str, Any] | None, bytes, Iterable[bytes]]:
    """A breadcrumb, where standard input is one; else its beginning, and all of its lines."""
    if sys.stdin is None:
        raise CannotRead("standard input is closed")
    stream = sys.stdin.buffer
    head = stream.readline(BREADCRUMB_SIZE)
    if (crumb := breadcrumb(head)) is not None:
        return crumb, head, ()
    if head.strip() == b"{":  # JSON over several lines
        head += stream.read(BREADCRUMB_SIZE - len(head))
        if (crumb := breadcrumb(head)) is not None:
            return crumb, head, ()
    *first, last = split_lines(head) or [b""]
    lines = chain(first, filter(None, (last := complete_line(last, stream),)), read_lines(stream))
    head = head if isinstance(last, LongLine) else b"".join((*first, last))
    if not head.lstrip().startswith(b"{"):  # no session begins so: what comes behind may tell what it is
        head += stream.peek(1)  # type: ignore[union-attr]
    return None, head, lines
