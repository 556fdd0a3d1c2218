"""What the commands of the archive share: tables, progress, completion and messages."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from claude_session_player.cli._output import say, start_bar
from claude_session_player.cli._tables import Column, print_table, short_ids
from claude_session_player.util import humanize
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import base_name, display_path, printable, truncate
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import click
    from click.shell_completion import CompletionItem

    from claude_session_player.archive import ArchivedSession, ArchiveOutcome, ByteProgress, RestoreOutcome

NOT_ALL: Final = 1
"""The exit code if something had to be left out."""
_LONG_WORK: Final = 32 << 20
"""Bytes: more work than this shows a progress bar."""
_TITLE_WIDTH: Final = 60


def print_outcomes(outcomes: Sequence[ArchiveOutcome]) -> None:
    """A line for each session that was archived."""
    sessions = [outcome.session for outcome in outcomes]
    print_table(
        (
            Column("ID", short_ids([session.id for session in sessions], ()), 11, style="cyan"),
            Column("TITLE", [session.title or "(no title)" for session in sessions], 10, 20),
            Column("PROJECT", [base_name(session.project or "") for session in sessions], 7, 12, style="green"),
            Column("FILES", [str(len(session.files)) for session in sessions], 5, right=True),
            Column("SIZE", [humanize.size(session.size) for session in sessions], 8, right=True),
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
    """A line for each session that was restored."""
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


@contextmanager
def work_bar(title: str, total: int) -> Iterator[ByteProgress | None]:
    """A progress bar for long work, on a terminal only."""
    if total < _LONG_WORK or not is_terminal(sys.stderr):
        yield None
        return
    with start_bar(title, total) as bar:
        yield lambda count: bar.advance(bar.task_ids[0], count)


def complete_archived(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of archived sessions that start with this, and files. No archive is opened."""
    from claude_session_player.archive import ARCHIVE_SUFFIX, ArchiveDir
    from claude_session_player.cli.completion import id_items

    paths = ArchiveDir(ctx.params.get("archive")).archive_paths()
    return id_items((display_path(os.path.basename(path).removesuffix(ARCHIVE_SUFFIX)) for path in paths), incomplete)


def report_skipped(id: str, title: str | None, reason: str | None) -> None:
    """Say on stderr why a session was skipped."""
    say(printable(f"skipped {id_and_title(id, title)}: {reason}"))


def id_and_title(id: str, title: str | None) -> str:
    """A session in a sentence."""
    return f"{display_path(id)} ({truncate(title or 'no title', _TITLE_WIDTH)})"
