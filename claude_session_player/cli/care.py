"""What the commands that take care of sessions share: where the archive is, progress, and which sessions are meant."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from claude_session_player.cli.showing import say
from claude_session_player.text import cut, display_path, printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from claude_session_player.care.bundles import Progress

NOT_ALL: Final = 1
"""The exit code where something had to be left out."""
ARCHIVE_HELP: Final = "The directory of the archive. Default: in the platform's data directory."
_LONG_WORK: Final = 32 << 20
_TITLE: Final = 60

_F = TypeVar("_F", bound=Callable[..., Any])


def to_option(function: _F) -> _F:
    """`--to`, as the parameter `to`."""
    return click.option("--to", metavar="DIR", help=ARCHIVE_HELP)(function)


def from_option(function: _F) -> _F:
    """`--from`, or `--to` as where the archive is written, as the parameter `source`."""
    return click.option("--from", "--to", "source", metavar="DIR", help=ARCHIVE_HELP)(function)


def complete_archived(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of archived sessions that begin like this, and files. No archive is opened."""
    from claude_session_player.care.manifest import ARCHIVE
    from claude_session_player.care.vault import Vault
    from claude_session_player.cli.completion import id_items

    paths = Vault(ctx.params.get("to") or ctx.params.get("source")).files()
    return id_items((display_path(os.path.basename(path).removesuffix(ARCHIVE)) for path in paths), incomplete)


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Progress | None]:
    """A bar on stderr, where there is much to do, and only on a terminal."""
    if sys.stderr is None or not sys.stderr.isatty() or total < _LONG_WORK:
        yield None
        return
    from claude_session_player.cli.progress import started

    with started(what, total) as bar:
        yield lambda count: bar.advance(bar.task_ids[0], count)


def name_skipped(id: str, title: str | None, reason: str | None) -> None:
    """Say on stderr why something was not done with a session."""
    say(printable(f"skipped {named(id, title)}: {reason}"))


def named(id: str, title: str | None) -> str:
    """A session in a sentence."""
    return f"{display_path(id)} ({cut(title or 'no title', _TITLE)})"
