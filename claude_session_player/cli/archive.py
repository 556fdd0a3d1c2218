"""`archive`: copy sessions into an archive, list it, and verify it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._archives import NOT_ALL, complete_archived, report_skipped, work_bar
from claude_session_player.cli._options import (
    archive_dir_option,
    archive_filter_options,
    collect_options,
    examples,
    json_options,
    store_options,
    utc_option,
)
from claude_session_player.cli._output import note, print_records, print_text, say, warn_unreadable
from claude_session_player.cli._refs import complete_ref, find_session
from claude_session_player.errors import BadArchive, SessionError
from claude_session_player.util import humanize
from claude_session_player.util.text import display_path, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.archive import ArchiveDir, ArchivedSession, ArchiveOutcome, CollectedFiles
    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.cli._output import JsonForm
    from claude_session_player.store import Filter, Session, Store

_DEFAULT: Final = "add"
_HELP: Final = ("--help", "-h")


class _Commands(click.Group):
    """A first word that is not a command is a session to archive."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which people need them."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `add` before arguments that name no command."""
        if not args or args[0] not in (*self.commands, *_HELP):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_Commands,
    subcommand_metavar="[add|list|verify] [ARGS]...",
    epilog=examples(
        ("archive latest", "short for: csp archive add latest"),
        ("archive --all", "all sessions; run it as often as you like"),
        ("list --archived", "the sessions in the archive"),
    ),
)
def command() -> None:
    """Copy sessions into an archive outside the store.

    Claude Code deletes sessions after 30 days without use, unless its settings say otherwise. The archive keeps them
    until you delete them: 'restore' puts them back, and list, get, show, replay, play and export read them with
    --archived. Each session is one file, a tar compressed with zstandard, with paths, sizes, times and checksums.
    """


@dataclass(frozen=True)
class AddOptions:
    """Which sessions are archived, and how carefully."""

    refs: tuple[str, ...]
    all: bool
    check: bool


add_options = collect_options(
    "options",
    AddOptions,
    AddOptions.__annotations__,
    (
        click.argument("refs", nargs=-1, metavar="[REF]...", shell_complete=complete_ref),
        click.option("--all", is_flag=True, help="Archive all sessions, and sub-agents whose session is gone."),
        click.option("--check", is_flag=True, help="Read existing archives as well, and replace damaged ones."),
    ),
)


@command.command("add", epilog=examples(("archive add --project kettle --to 30d", "what is older than 30 days")))
@add_options
@archive_filter_options
@archive_dir_option
@json_options
@utc_option
@store_options
def add(options: AddOptions, filter: Filter, archive: str | None, form: JsonForm | None, stores: StoreOptions) -> int:
    """Archive sessions with their sub-agents and files.

    REF is a file, an id, latest or a title: see 'help refs'. Every new archive is read back before it counts. Sessions
    that did not change since they were archived are skipped; one that grew replaces its archive; where something of it
    is gone, both versions are kept. A session that changes meanwhile is skipped, and the exit code is 1: run the same
    command again later.
    """
    from claude_session_player.archive import ArchiveDir, collect_session_files

    if not (options.refs or options.all or filter.is_narrow):
        raise click.UsageError("no sessions selected: name some, or use --all or a filter like --project")
    if options.refs and options.all:
        raise click.UsageError("--all and REF are mutually exclusive")
    archive_dir = ArchiveDir(archive)
    with stores.open() as store:
        archive_dir.require_outside(store.roots)
        collected = collect_session_files(_sessions(store, options, filter), store.roots)
    outcomes: list[ArchiveOutcome] = []
    try:
        _archive(archive_dir, collected, outcomes, options.check)
    except SessionError:
        if outcomes:  # what was done before the disk was full
            _report(collected, outcomes, form)
        raise
    warn_unreadable(archive_dir.problems)
    _report(collected, outcomes, form)
    is_unread = bool(store.problems) and not options.refs
    return NOT_ALL if is_unread or collected.refused or any(outcome.reason for outcome in outcomes) else 0


def _sessions(store: Store, options: AddOptions, filter: Filter) -> list[Session]:
    named = [find_session(store, ref) for ref in options.refs]
    if not (options.all or filter.is_narrow):
        return named
    return named + store.sessions(filter._replace(include_orphans=options.all))


def _archive(
    archive_dir: ArchiveDir, collected: CollectedFiles, outcomes: list[ArchiveOutcome], is_checked: bool
) -> None:
    from claude_session_player.archive import archive_sessions, plan_archive

    with archive_dir.lock():
        steps = plan_archive(archive_dir, collected.sessions, verify=is_checked)
        total = sum(step.work for step in steps)
        with work_bar("archiving", total) as progress:
            outcomes.extend(archive_sessions(archive_dir, steps, progress))


def _report(collected: CollectedFiles, outcomes: Sequence[ArchiveOutcome], form: JsonForm | None) -> None:
    refused = [(session.id, session.title, str(refusal)) for session, refusal in collected.refused]
    skipped = [(o.session.id, o.session.title, o.reason) for o in outcomes if o.reason]
    for one in (*refused, *skipped):
        report_skipped(*one)
    if form:
        print_records([*map(_outcome_record, outcomes), *(_refusal_record(*one) for one in refused)], form)
        return
    if done := [outcome for outcome in outcomes if outcome.path and outcome.status != "unchanged"]:
        from claude_session_player.cli._archives import print_outcomes

        print_outcomes(done)
    counts = Counter(outcome.status for outcome in outcomes) + Counter({"skipped": len(refused)})
    parts = ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing to do"
    before, after = (sum(sizes) for sizes in ((o.session.size for o in outcomes if o.path), (o.size for o in outcomes)))
    sizes = f"; {humanize.size(before)} → {humanize.size(after)}" if after else ""
    print_text(f"{humanize.plural(sum(counts.values()), 'session')}: {parts}{sizes}")


def _outcome_record(outcome: ArchiveOutcome) -> dict[str, Any]:
    files = outcome.session
    return {
        "id": display_path(files.id),
        "kind": files.kind,
        "title": files.title,
        "project": files.project,
        "status": outcome.status,
        "files": len(files.files),
        "size": files.size,
        "archive": display_path(outcome.path) if outcome.path else None,
        "archive_size": outcome.size,
        "reason": outcome.reason,
    }


def _refusal_record(id: str, title: str | None, reason: str) -> dict[str, Any]:
    known = {"id": display_path(id), "title": title, "status": "skipped", "reason": reason}
    unknown = dict.fromkeys(("kind", "project", "files", "size", "archive"))
    return known | unknown | {"archive_size": 0}


@command.command("list")
@archive_dir_option
@json_options
@utc_option
def list_(archive: str | None, form: JsonForm | None) -> None:
    """List archived sessions, most recently archived first."""
    from claude_session_player.archive import open_archive_dir

    archive_dir = open_archive_dir(archive)
    archives = sorted(archive_dir.archives(), key=lambda archived: archived.manifest.archived_at, reverse=True)
    if form:
        print_records(map(archived_record, archives), form)
    elif archives:
        from claude_session_player.cli._archives import print_archives

        print_archives(archives)
        if len({archived.manifest.main for archived in archives}) < len(archives):
            note("some sessions have several versions: --json prints the path of each, which 'restore' takes")
    else:
        say(printable(f"No sessions in the archive {display_path(archive_dir.path)}."))
    warn_unreadable(archive_dir.problems)


def archived_record(archived: ArchivedSession) -> dict[str, Any]:
    """An archived session as JSON data."""
    manifest = archived.manifest
    names = ("kind", "title", "project", "created_at", "updated_at", "archived_at", "size")
    own = {"files": len(manifest.files), "version": archived.version, "archive": display_path(archived.path)}
    fields = {name: getattr(manifest, name) for name in names}
    return {"id": display_path(manifest.id)} | fields | own | {"archive_size": archived.size}


@command.command("verify")
@click.argument("refs", nargs=-1, metavar="[REF]...", shell_complete=complete_archived)
@archive_dir_option
@json_options
def verify(refs: tuple[str, ...], archive: str | None, form: JsonForm | None) -> int:
    """Compare every byte of the archive with its checksums.

    REF is an id or at least its first 4 characters, a title in quotes, or the path of an archive; without it, all
    archives are checked. The exit code is 1 if an archive is damaged, 10 if that is one that REF names. Nothing is
    written: 'archive --all --check' replaces damaged archives of sessions that are still in the store.
    """
    from claude_session_player.archive import find_archived, open_archive_dir

    archive_dir = open_archive_dir(archive)
    records: list[dict[str, Any]] = []
    paths = [] if refs else list(archive_dir.archive_paths())
    for ref in refs:
        try:
            paths.append(find_archived(archive_dir, ref).path)
        except BadArchive as error:
            if len(refs) == 1:
                raise
            records.append({"archive": display_path(ref), "sound": False, "reason": str(error)})
    records += _check_archives(paths)
    damaged = [record for record in records if not record["sound"]]
    for record in damaged:
        say(printable(f"refused: {record['reason']}"))
    if damaged:
        note("'archive --all --check' replaces damaged archives of sessions that are still in the store")
    if form:
        print_records(records, form)
    else:
        verdict = f"{len(damaged)} refused" if damaged else "all sound"
        print_text(f"{humanize.plural(len(records), 'archive')}: {verdict}")
    if refs:
        return BadArchive.exit_code if damaged else 0
    warn_unreadable(archive_dir.problems)
    return NOT_ALL if damaged or archive_dir.problems else 0


def _check_archives(paths: Sequence[str]) -> list[dict[str, Any]]:
    import os

    from claude_session_player.archive import check_archive

    records = []
    with work_bar("checking", sum(map(os.path.getsize, paths))) as progress:
        for path in paths:
            reason = None
            try:
                check_archive(path)
            except BadArchive as error:
                reason = str(error)
            except OSError as error:
                reason = f"{display_path(path)}: {error.strerror or error}"
            records.append({"archive": display_path(path), "sound": reason is None, "reason": reason})
            if progress is not None:
                progress(os.path.getsize(path))
    return records
