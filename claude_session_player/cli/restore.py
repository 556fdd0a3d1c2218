"""`restore`: put archived sessions back into the store."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._archives import NOT_ALL, complete_archived, report_skipped, work_bar
from claude_session_player.cli._options import archive_dir_option, examples, json_options
from claude_session_player.cli._output import note, print_records, print_text, say, warn_unreadable
from claude_session_player.errors import BadArchive, SessionError
from claude_session_player.util import humanize
from claude_session_player.util.text import display_path, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.archive import ArchiveDir, ArchivedSession, RestoreOutcome, RestoreStep
    from claude_session_player.cli._output import JsonForm
    from claude_session_player.store import ReadProblem

_MOST_VERSIONS: Final = 10


@click.command(
    epilog=examples(
        ("archive list", "what can be restored"),
        ("restore 1f2e", "one session"),
        ("restore --all --root other", "everything, into another store"),
    )
)
@click.argument("refs", nargs=-1, metavar="[REF]...", shell_complete=complete_archived)
@click.option("--all", "is_all", is_flag=True, help="Restore all archived sessions.")
@archive_dir_option
@click.option(
    "--root",
    metavar="DIR",
    help="Restore into the store in this directory; created if missing. Default: $CLAUDE_CONFIG_DIR, else ~/.claude.",
)
@json_options
def command(refs: tuple[str, ...], is_all: bool, archive: str | None, root: str | None, form: JsonForm | None) -> int:
    """Put archived sessions back into the store.

    REF is an id or at least its first 4 characters, a title in quotes, or the path of an archive. Sessions come back
    byte for byte, with their times. Nothing is ever overwritten: if a file exists and differs, nothing of its session
    is written, and the exit code is 1. The archive stays as it is.

    Of several versions of a session, the newest that has the session's own file is restored; versions with other files
    are named. If $CLAUDE_CONFIG_DIR names several stores, each session goes back to its own.
    """
    from claude_session_player.archive import open_archive_dir, plan_restore_all

    if refs and is_all:
        raise click.UsageError("--all and REF are mutually exclusive")
    if not refs and not is_all:
        raise click.UsageError("no sessions selected: name some, or use --all")
    archive_dir = open_archive_dir(archive)
    damaged: list[BadArchive] = []
    if is_all:
        archives = archive_dir.archives()
        steps = plan_restore_all(archives, root)
    else:
        steps, damaged = _all_steps(archive_dir, refs, root)
        archives = [other for step in steps for other in archive_dir.versions(step.archived.manifest.main)]
    problems = archive_dir.problems if is_all else [one for one in archive_dir.problems if _concerns(one, steps)]
    outcomes: list[RestoreOutcome] = []
    try:
        _restore(steps, outcomes)
    except SessionError:
        if outcomes:  # what was done before the disk was full
            _report(outcomes, form)
        raise
    warn_unreadable(problems)
    _report(outcomes, form)
    _note_versions(outcomes, archives)
    if len(refs) == 1 and outcomes[-1].error is not None:
        return outcomes[-1].error.exit_code
    return NOT_ALL if problems or damaged or any(outcome.error for outcome in outcomes) else 0


def _all_steps(
    archive_dir: ArchiveDir, refs: Sequence[str], root: str | None
) -> tuple[list[RestoreStep], list[BadArchive]]:
    """The steps for some references; if there are several, a damaged archive does not stop the others."""
    steps: list[RestoreStep] = []
    damaged: list[BadArchive] = []
    for ref in refs:
        try:
            steps += _steps(archive_dir, ref, root)
        except BadArchive as error:
            if len(refs) == 1:
                raise
            damaged.append(error)
            say(printable(f"skipped {ref}: {error}"))
    return steps, damaged


def _steps(archive_dir: ArchiveDir, ref: str, root: str | None) -> list[RestoreStep]:
    """The steps for a reference: the archive at a path, else the best version of a session."""
    from claude_session_player.archive import ARCHIVE_SUFFIX, find_archived, plan_restore, plan_restore_all

    found = find_archived(archive_dir, ref)
    if ref.endswith(ARCHIVE_SUFFIX):
        return plan_restore([found], root)
    versions = archive_dir.versions(found.manifest.main)
    return plan_restore_all(versions if found in versions else [*versions, found], root)  # it may be renamed


def _concerns(problem: ReadProblem, steps: Sequence[RestoreStep]) -> bool:
    """True for an unreadable version of a session to restore, which may be newer."""
    from claude_session_player.archive import archive_version

    name = os.path.basename(problem.path)
    return any(archive_version(name, step.archived.manifest.main) is not None for step in steps)


def _restore(steps: Sequence[RestoreStep], outcomes: list[RestoreOutcome]) -> None:
    from claude_session_player.archive import restore_sessions

    with work_bar("restoring", sum(step.work for step in steps)) as progress:
        outcomes.extend(restore_sessions(steps, progress))


def _report(outcomes: Sequence[RestoreOutcome], form: JsonForm | None) -> None:
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
    parts = ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing to do"
    print_text(f"{humanize.plural(len(outcomes), 'session')}: {parts}")


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
    """Name other versions that have files which were not restored."""
    from claude_session_player.archive import other_versions

    chosen = [outcome.archived for outcome in outcomes]
    messages = [
        f"{display_path(other.manifest.id)} has another version with "
        f"{humanize.plural(count, 'other file')}: restore {display_path(other.path)}"
        for other, count in other_versions(chosen, archives)
    ]
    for message in messages[:_MOST_VERSIONS]:
        note(printable(message))
    if len(messages) > _MOST_VERSIONS:
        say(f"… and {len(messages) - _MOST_VERSIONS} more: see 'archive list --json'")


def _warn_of_cleanup(outcomes: Sequence[RestoreOutcome]) -> None:
    from claude_session_player.archive import cleanup_period, is_due_for_cleanup

    due = [
        outcome
        for outcome in outcomes
        if not outcome.error and is_due_for_cleanup(outcome.archived.manifest, outcome.root)
    ]
    if due:
        days = cleanup_period(due[0].root)
        count = f"{humanize.plural(len(due), 'session')} {'was' if len(due) == 1 else 'were'}"
        note(
            f"{count} not used for {humanize.plural(days, 'day')}: Claude Code deletes such sessions when it "
            f"starts, unless you raise cleanupPeriodDays in {display_path(due[0].root)}/settings.json"
        )
