"""Tables of the archive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from claude_session_player import humanize
from claude_session_player.cli.tables import Column, print_table, short_ids
from claude_session_player.text import file_name
from claude_session_player.times import local_now

if TYPE_CHECKING:
    from claude_session_player.care import restore
    from claude_session_player.care.archive import Outcome
    from claude_session_player.care.vault import Archived


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """A line for each session that was archived."""
    bundles = [outcome.bundle for outcome in outcomes]
    print_table(
        (
            Column("ID", short_ids([bundle.id for bundle in bundles], ()), 11, style="cyan"),
            Column("TITLE", [bundle.title or "(no title)" for bundle in bundles], 10, 20),
            Column("PROJECT", [file_name(bundle.project or "") for bundle in bundles], 7, 12, style="green"),
            Column("FILES", [str(len(bundle.files)) for bundle in bundles], 5, right=True),
            Column("SIZE", [humanize.size(bundle.size) for bundle in bundles], 8, right=True),
            Column("PACKED", [humanize.size(outcome.size) for outcome in outcomes], 8, right=True),
            Column("WHAT", [outcome.status for outcome in outcomes], 9),
        )
    )


def print_archives(archives: Sequence[Archived]) -> None:
    """A line for each archived session."""
    now = local_now()
    rows = [archived.manifest for archived in archives]
    versions = [str(archived.version) if archived.version > 1 else "" for archived in archives]
    print_table(
        (
            Column("ID", short_ids([row.id for row in rows], ()), 11, style="cyan"),
            Column("WHEN", [humanize.ago(row.updated_at or "", now) for row in rows], 8),
            Column("TITLE", [row.title or "(no title)" for row in rows], 10, 20),
            Column("PROJECT", [file_name(row.project or "") for row in rows], 7, 12, style="green"),
            Column("ARCHIVED", [humanize.ago(row.archived_at, now) for row in rows], 6),
            Column("FILES", [str(len(row.files)) for row in rows], 3, right=True),
            Column("SIZE", [humanize.size(row.size) for row in rows], 4, right=True),
            Column("PACKED", [humanize.size(archived.size) for archived in archives], 5, right=True),
            Column("VERSION", versions, 9, right=True),
        )
    )


def print_restored(outcomes: Sequence[restore.Outcome]) -> None:
    """A line for each session that was put back."""
    rows = [outcome.archived.manifest for outcome in outcomes]
    print_table(
        (
            Column("ID", short_ids([row.id for row in rows], ()), 11, style="cyan"),
            Column("TITLE", [row.title or "(no title)" for row in rows], 10, 20),
            Column("PROJECT", [file_name(row.project or "") for row in rows], 7, 12, style="green"),
            Column("FILES", [str(len(row.files)) for row in rows], 5, right=True),
            Column("SIZE", [humanize.size(row.size) for row in rows], 8, right=True),
            Column("WHAT", [outcome.status for outcome in outcomes], 9),
        )
    )
