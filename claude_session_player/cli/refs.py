"""From a word on the command line to the session that it means."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from claude_session_player.errors import CannotRead, NoSuchSession, SessionError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from claude_session_player.store.session import Session
    from claude_session_player.store.store import Store

STANDARD_INPUT: Final = "-"
REF_HELP: Final = (
    "a path, an id or at least 4 characters of its beginning, a sub-agent's id, latest, latest:2, a title in quotes, "
    "or a breadcrumb file"
)
_LATEST: Final = "latest"


def named_session(store: Store, ref: str) -> Session:
    """The session that is meant; `-` is a breadcrumb on standard input."""
    if ref != STANDARD_INPUT:
        return store.resolve(ref)
    if sys.stdin is None:
        raise CannotRead("standard input is closed")
    from claude_session_player.store.refs import BREADCRUMB_SIZE, breadcrumb, follow

    crumb = breadcrumb(sys.stdin.buffer.read(BREADCRUMB_SIZE))
    if crumb is None:
        raise NoSuchSession(
            'there is no breadcrumb on standard input: it is one JSON object like {"project": …, "sessionId": …}'
        )
    return follow(store, crumb)


def complete_ref(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of sessions and sub-agents that begin like this, and files. No session file is opened."""
    from click.shell_completion import CompletionItem

    from claude_session_player.store.record import shown
    from claude_session_player.store.store import Store

    try:
        files = Store.open(*ctx.params.get("roots") or (), cache=None).files()
    except SessionError:
        files = []
    newest = sorted(files, key=lambda file: file.stamp.mtime_ns, reverse=True)
    ids = [_LATEST, *(shown(file.id) for file in newest)]
    matches = [CompletionItem(id) for id in dict.fromkeys(ids) if id.startswith(incomplete)]
    return matches or [CompletionItem(incomplete, type="file")]
