"""`restore`: archived sessions back into the store."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._archives import ARCHIVE_HELP, NOT_ALL, complete_archived, progress_bar, report_skipped
from claude_session_player.cli._options import json_options, warn_unreadable
from claude_session_player.cli._output import print_records, print_text, say
from claude_session_player.errors import BadArchive, SessionError
from claude_session_player.util import humanize
from claude_session_player.util.text import display_path, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.archive import ArchiveDir, ArchivedSession, RestoreOutcome, RestoreStep
    from claude_session_player.store import ReadProblem

_MOST: Final = 10


@click.command()
@click.argument("refs", nargs=-1, metavar="[REF]...", shell_complete=complete_archived)
@click.option("--all", "is_all", is_flag=True, help="Every session of the archive.")
@click.option("--from", "source", metavar="DIR", help=ARCHIVE_HELP)
@click.option(
    "--root", metavar="DIR", help="The store, made where there is none. Default: $CLAUDE_CONFIG_DIR, else ~/.claude."
)
@json_options
def command(refs: tuple[str, ...], is_all: bool, source: str | None, root: str | None, form: str | None) -> int:
    """Put archived sessions back into the store, byte for byte, with their times.

    REF is an id or at least 4 characters of its beginning, a title in quotes, or the path of an archive. Nothing is
    ever overwritten: where a file of a session is there already, and is not the same, nothing of the session is
    written, it is named, and the exit code is 1. The archive stays as it is. Of several versions of a session the
    newest that has the session's own file comes back; where another one has more, its path is said. Where
    $CLAUDE_CONFIG_DIR names several stores, each session goes to its own.
    """
    from claude_session_player.archive import open_archive_dir, plan_restore_all

    if bool(refs) == is_all:
        raise click.UsageError(
            "which sessions? Name some, or give --all" if not refs else "name sessions, or give --all"
        )
    vault = open_archive_dir(source)
    damaged: list[BadArchive] = []
    if is_all:
        archives = vault.archives()
        steps = plan_restore_all(archives, root)
    else:
        steps, damaged = _all_steps(vault, refs, root)
        archives = [other for step in steps for other in vault.versions(step.archived.manifest.main)]
    troubles = vault.problems if is_all else [one for one in vault.problems if _concerns(one, steps)]
    outcomes: list[RestoreOutcome] = []
    try:
        _restore(steps, outcomes)
    except SessionError:
        if outcomes:  # what was done before the disk was full
            _tell(outcomes, form)
        raise
    warn_unreadable(troubles)
    _tell(outcomes, form)
    _note_versions(outcomes, archives)
    if len(refs) == 1 and outcomes[-1].error is not None:
        return outcomes[-1].error.exit_code
    return NOT_ALL if troubles or damaged or any(outcome.error for outcome in outcomes) else 0


def _all_steps(vault: ArchiveDir, refs: Sequence[str], root: str | None) -> tuple[list[RestoreStep], list[BadArchive]]:
    """What is meant by references; of several, one to a damaged archive does not stop the others."""
    steps: list[RestoreStep] = []
    damaged: list[BadArchive] = []
    for ref in refs:
        try:
            steps += _steps(vault, ref, root)
        except BadArchive as error:
            if len(refs) == 1:
                raise
            damaged.append(error)
            say(printable(f"skipped {ref}: {error}"))
    return steps, damaged


def _steps(vault: ArchiveDir, ref: str, root: str | None) -> list[RestoreStep]:
    """What is meant by a reference: one archive by its path, else the best version of a session."""
    from claude_session_player.archive import ARCHIVE_SUFFIX, find_archived, plan_restore, plan_restore_all

    found = find_archived(vault, ref)
    if ref.endswith(ARCHIVE_SUFFIX):
        return plan_restore([found], root)
    versions = vault.versions(found.manifest.main)
    return plan_restore_all(versions if found in versions else [*versions, found], root)  # it may have been renamed


def _concerns(trouble: ReadProblem, steps: Sequence[RestoreStep]) -> bool:
    """True for another version of a session, which may be newer, and cannot be read."""
    from claude_session_player.archive import archive_version

    name = os.path.basename(trouble.path)
    return any(archive_version(name, step.archived.manifest.main) is not None for step in steps)


def _restore(steps: Sequence[RestoreStep], outcomes: list[RestoreOutcome]) -> None:
    from claude_session_player.archive import restore_sessions

    with progress_bar("restoring", sum(step.work for step in steps)) as progress:
        outcomes.extend(restore_sessions(steps, progress))


def _tell(outcomes: Sequence[RestoreOutcome], form: str | None) -> None:
    for outcome in outcomes:
        if outcome.error:
            report_skipped(outcome.archived.manifest.id, outcome.archived.manifest.title, str(outcome.error))
    _warn_of_cleanup(outcomes)
    if form:
        print_records(map(_record, outcomes), form)
        return
    if done := [outcome for outcome in outcomes if not outcome.error]:
        from claude_session_player.cli._archives import print_restored

        print_restored(done)
    counts = Counter(outcome.status for outcome in outcomes)
    told = ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing to do"
    print_text(f"{humanize.plural(len(outcomes), 'session')}: {told}")


def _record(outcome: RestoreOutcome) -> dict[str, Any]:
    manifest = outcome.archived.manifest
    return {
        "id": display_path(manifest.id),
        "kind": manifest.kind,
        "title": manifest.title,
        "project": manifest.project,
        "status": outcome.status,
        "files": len(manifest.files),
        "size": manifest.size,
        "archive": display_path(outcome.archived.path),
        "root": display_path(outcome.root),
        "path": display_path(manifest.main),
        "reason": str(outcome.error) if outcome.error else None,
    }


def _note_versions(outcomes: Sequence[RestoreOutcome], archives: Sequence[ArchivedSession]) -> None:
    """Say where other versions are, which have what was not restored."""
    from claude_session_player.archive import other_versions

    chosen = [outcome.archived for outcome in outcomes]
    noted = [
        f"note: of {display_path(other.manifest.id)} there is another version with "
        f"{humanize.plural(count, 'other file')}: restore {display_path(other.path)}"
        for other, count in other_versions(chosen, archives)
    ]
    for note in noted[:_MOST]:
        say(printable(note))
    if len(noted) > _MOST:
        say(f"… and {len(noted) - _MOST} more: see 'archive list --json'")


def _warn_of_cleanup(outcomes: Sequence[RestoreOutcome]) -> None:
    from claude_session_player.archive import cleanup_period, is_due_for_cleanup

    due = [
        outcome
        for outcome in outcomes
        if not outcome.error and is_due_for_cleanup(outcome.archived.manifest, outcome.root)
    ]
    if due:
        days = cleanup_period(due[0].root)
        many = "1 of them was" if len(due) == 1 else f"{len(due)} of them were"
        say(
            f"note: {many} not used for {humanize.plural(days, 'day')}: Claude Code deletes such sessions when it "
            f"starts, unless you raise cleanupPeriodDays in {display_path(due[0].root)}/settings.json"
        )
