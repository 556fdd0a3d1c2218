"""Tables of the archive."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from claude_session_player.cli._output import say
from claude_session_player.cli._tables import Column, print_table, short_ids
from claude_session_player.util import humanize
from claude_session_player.util.text import base_name, display_path, printable, truncate
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from claude_session_player.archive import ArchivedSession, ArchiveOutcome, ByteProgress, RestoreOutcome


def print_outcomes(outcomes: Sequence[ArchiveOutcome]) -> None:
    """A line for each session that was archived."""
    bundles = [outcome.session for outcome in outcomes]
    print_table(
        (
            Column("ID", short_ids([bundle.id for bundle in bundles], ()), 11, style="cyan"),
            Column("TITLE", [bundle.title or "(no title)" for bundle in bundles], 10, 20),
            Column("PROJECT", [base_name(bundle.project or "") for bundle in bundles], 7, 12, style="green"),
            Column("FILES", [str(len(bundle.files)) for bundle in bundles], 5, right=True),
            Column("SIZE", [humanize.size(bundle.size) for bundle in bundles], 8, right=True),
            Column("PACKED", [humanize.size(outcome.size) for outcome in outcomes], 8, right=True),
            Column("WHAT", [outcome.status for outcome in outcomes], 9),
        )
    )


def print_archives(archives: Sequence[ArchivedSession]) -> None:
    """A line for each archived session."""
    now = local_now()
    rows = [archived.manifest for archived in archives]
    versions = [str(archived.version) if archived.version > 1 else "" for archived in archives]
    print_table(
        (
            Column("ID", short_ids([row.id for row in rows], ()), 11, style="cyan"),
            Column("WHEN", [humanize.ago(row.updated_at or "", now) for row in rows], 8),
            Column("TITLE", [row.title or "(no title)" for row in rows], 10, 20),
            Column("PROJECT", [base_name(row.project or "") for row in rows], 7, 12, style="green"),
            Column("ARCHIVED", [humanize.ago(row.archived_at, now) for row in rows], 6),
            Column("FILES", [str(len(row.files)) for row in rows], 3, right=True),
            Column("SIZE", [humanize.size(row.size) for row in rows], 4, right=True),
            Column("PACKED", [humanize.size(archived.size) for archived in archives], 5, right=True),
            Column("VERSION", versions, 9, right=True),
        )
    )


def print_restored(outcomes: Sequence[RestoreOutcome]) -> None:
    """A line for each session that was put back."""
    rows = [outcome.archived.manifest for outcome in outcomes]
    print_table(
        (
            Column("ID", short_ids([row.id for row in rows], ()), 11, style="cyan"),
            Column("TITLE", [row.title or "(no title)" for row in rows], 10, 20),
            Column("PROJECT", [base_name(row.project or "") for row in rows], 7, 12, style="green"),
            Column("FILES", [str(len(row.files)) for row in rows], 5, right=True),
            Column("SIZE", [humanize.size(row.size) for row in rows], 8, right=True),
            Column("WHAT", [outcome.status for outcome in outcomes], 9),
        )
    )


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
    from claude_session_player.archive import ARCHIVE_SUFFIX, ArchiveDir
    from claude_session_player.cli.completion import id_items

    paths = ArchiveDir(ctx.params.get("to") or ctx.params.get("source")).archive_paths()
    return id_items((display_path(os.path.basename(path).removesuffix(ARCHIVE_SUFFIX)) for path in paths), incomplete)


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[ByteProgress | None]:
    """A bar on stderr, where there is much to do, and only on a terminal."""
    if sys.stderr is None or not sys.stderr.isatty() or total < _LONG_WORK:
        yield None
        return
    from claude_session_player.cli._options import start_bar

    with start_bar(what, total) as bar:
        yield lambda count: bar.advance(bar.task_ids[0], count)


def report_skipped(id: str, title: str | None, reason: str | None) -> None:
    """Say on stderr why something was not done with a session."""
    say(printable(f"skipped {quoted_title(id, title)}: {reason}"))


def quoted_title(id: str, title: str | None) -> str:
    """A session in a sentence."""
    return f"{display_path(id)} ({truncate(title or 'no title', _TITLE)})"
