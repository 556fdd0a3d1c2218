"""`archive`: sessions into an archive, what is in it, and whether it is sound."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._archives import (
    NOT_ALL,
    complete_archived,
    from_option,
    progress_bar,
    report_skipped,
    to_option,
)
from claude_session_player.cli._options import (
    care_options,
    json_options,
    open_store,
    store_options,
    utc_option,
    warn_unreadable,
)
from claude_session_player.cli._output import print_records, print_text, say
from claude_session_player.cli._refs import complete_ref, find_session
from claude_session_player.errors import BadArchive, SessionError
from claude_session_player.util import humanize
from claude_session_player.util.text import display_path, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.archive import ArchiveDir, ArchivedSession, ArchiveOutcome, CollectedFiles
    from claude_session_player.store import Filter, Session, Store

_DEFAULT: Final = "add"
_HELP: Final = ("--help", "-h")


class _Commands(click.Group):
    """A first word that is no command is a session to be archived."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which people meet them."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `add` before arguments that name no command."""
        if not args or args[0] not in (*self.commands, *_HELP):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Commands, epilog="'archive REF' and 'archive --all' are short for 'archive add …'.")
def command() -> None:
    """Keep sessions in an archive, outside of the store.

    Claude Code deletes sessions that were not used for 30 days, unless its settings say something else. What is in the
    archive stays until you delete it; 'restore' puts it back, and 'list', 'get', 'show' and 'replay' look at it with
    --archived. Each session is one file, a tar compressed with zstandard, with a manifest of paths, sizes, times and
    checksums.
    """


@command.command("add")
@click.argument("refs", nargs=-1, metavar="[REF]...", shell_complete=complete_ref)
@click.option("--all", "is_all", is_flag=True, help="Every session, and sub-agents whose session is gone.")
@click.option(
    "--check", "is_checked", is_flag=True, help="Read what is in the archive already, too, and replace what is damaged."
)
@care_options
@to_option
@json_options
@utc_option
@store_options
def add(
    refs: tuple[str, ...],
    is_all: bool,
    is_checked: bool,
    wanted: Filter,
    to: str | None,
    form: str | None,
    roots: Any,
    no_cache: bool,
) -> int:
    """Put sessions into the archive, with their sub-agents and everything in their directories.

    Each archive is read back before it counts. What is in the archive already is not read again, unless --check says
    so, but one that was cut off is written anew; a session that grew replaces its archive; where something of it is
    gone, both versions are kept, and so are those of several stores. A session that changes meanwhile is skipped, and
    the exit code is 1: run the same command again later. It may be run as often as you like, also by cron.
    """
    from claude_session_player.archive import ArchiveDir, collect_session_files

    if not (refs or is_all or wanted.is_narrow):
        raise click.UsageError("which sessions? Name some, or give --all or a filter like --project")
    if refs and is_all:
        raise click.UsageError("name sessions, or give --all")
    vault = ArchiveDir(to)
    with open_store(roots, no_cache) as store:
        vault.require_outside(store.roots)
        gathered = collect_session_files(_sessions(store, refs, is_all, wanted), store.roots)
    outcomes: list[ArchiveOutcome] = []
    try:
        _archive(vault, gathered, outcomes, is_checked)
    except SessionError:
        if outcomes:  # what was done before the disk was full
            _tell(gathered, outcomes, form)
        raise
    warn_unreadable(vault.problems)
    _tell(gathered, outcomes, form)
    is_unread = bool(store.problems) and not refs
    return NOT_ALL if is_unread or gathered.refused or any(outcome.reason for outcome in outcomes) else 0


def _sessions(store: Store, refs: Sequence[str], is_all: bool, wanted: Filter) -> list[Session]:
    named = [find_session(store, ref) for ref in refs]
    return named + store.sessions(wanted._replace(include_orphans=is_all)) if is_all or wanted.is_narrow else named


def _archive(vault: ArchiveDir, gathered: CollectedFiles, outcomes: list[ArchiveOutcome], is_checked: bool) -> None:
    from claude_session_player.archive import archive_sessions, plan_archive

    with vault.lock():
        steps = plan_archive(vault, gathered.sessions, verify=is_checked)
        with progress_bar("archiving", sum(step.work for step in steps)) as progress:
            outcomes.extend(archive_sessions(vault, steps, progress))


def _tell(gathered: CollectedFiles, outcomes: Sequence[ArchiveOutcome], form: str | None) -> None:
    refused = [(session.id, session.title, str(refusal)) for session, refusal in gathered.refused]
    skipped = [(o.session.id, o.session.title, o.reason) for o in outcomes if o.reason]
    for one in (*refused, *skipped):
        report_skipped(*one)
    if form:
        print_records([*map(_outcome, outcomes), *(_refusal(*one) for one in refused)], form)
        return
    if done := [outcome for outcome in outcomes if outcome.path and outcome.status != "unchanged"]:
        from claude_session_player.cli._archives import print_outcomes

        print_outcomes(done)
    counts = Counter(outcome.status for outcome in outcomes) + Counter({"skipped": len(refused)})
    told = ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing to do"
    before, after = (sum(sizes) for sizes in ((o.session.size for o in outcomes if o.path), (o.size for o in outcomes)))
    sizes = f"; {humanize.size(before)} → {humanize.size(after)}" if after else ""
    print_text(f"{humanize.plural(sum(counts.values()), 'session')}: {told}{sizes}")


def _outcome(outcome: ArchiveOutcome) -> dict[str, Any]:
    bundle = outcome.session
    return {
        "id": display_path(bundle.id),
        "kind": bundle.kind,
        "title": bundle.title,
        "project": bundle.project,
        "status": outcome.status,
        "files": len(bundle.files),
        "size": bundle.size,
        "archive": display_path(outcome.path) if outcome.path else None,
        "archive_size": outcome.size,
        "reason": outcome.reason,
    }


def _refusal(id: str, title: str | None, reason: str) -> dict[str, Any]:
    known = {"id": display_path(id), "title": title, "status": "skipped", "reason": reason}
    unknown = dict.fromkeys(("kind", "project", "files", "size", "archive"))
    return known | unknown | {"archive_size": 0}


@command.command("list")
@from_option
@json_options
@utc_option
def list_(source: str | None, form: str | None) -> None:
    """List what is in the archive, the last archived first."""
    from claude_session_player.archive import open_archive_dir

    vault = open_archive_dir(source)
    archives = sorted(vault.archives(), key=lambda archived: archived.manifest.archived_at, reverse=True)
    if form:
        print_records(map(archived_record, archives), form)
    elif archives:
        from claude_session_player.cli._archives import print_archives

        print_archives(archives)
        if len({archived.manifest.main for archived in archives}) < len(archives):
            say("note: some sessions have several versions: --json names the path of each, which 'restore' takes")
    else:
        say(f"there is no session in the archive {display_path(vault.path)}")
    warn_unreadable(vault.problems)


def archived_record(archived: ArchivedSession) -> dict[str, Any]:
    """An archived session, as JSON."""
    manifest = archived.manifest
    names = ("kind", "title", "project", "created_at", "updated_at", "archived_at", "size")
    told = {name: getattr(manifest, name) for name in names}
    own = {"files": len(manifest.files), "version": archived.version, "archive": display_path(archived.path)}
    return {"id": display_path(manifest.id)} | told | own | {"archive_size": archived.size}


@command.command("verify")
@click.argument("refs", nargs=-1, metavar="[REF]...", shell_complete=complete_archived)
@from_option
@json_options
def verify(refs: tuple[str, ...], source: str | None, form: str | None) -> int:
    """Read every byte of the archive, or of some sessions in it, and compare it with its checksum.

    REF is an id or at least 4 characters of its beginning, a title in quotes, or the path of an archive. Exits with 1
    where anything is damaged, and with 10 where that is what REF names. Nothing is written: 'archive --all --check'
    replaces damaged archives of sessions that are still in the store.
    """
    from claude_session_player.archive import find_archived, open_archive_dir

    vault = open_archive_dir(source)
    records: list[dict[str, Any]] = []
    paths = [] if refs else list(vault.archive_paths())
    for ref in refs:
        try:
            paths.append(find_archived(vault, ref).path)
        except BadArchive as error:
            if len(refs) == 1:
                raise
            records.append({"archive": display_path(ref), "sound": False, "reason": str(error)})
    records += _checked(paths)
    damaged = [record for record in records if not record["sound"]]
    for record in damaged:
        say(printable(f"refused: {record['reason']}"))
    if damaged:
        say("note: 'archive --all --check' writes damaged archives anew whose sessions are still in the store")
    if form:
        print_records(records, form)
    else:
        verdict = f"{len(damaged)} refused" if damaged else "all sound"
        print_text(f"{humanize.plural(len(records), 'archive')}: {verdict}")
    if refs:
        return BadArchive.exit_code if damaged else 0
    warn_unreadable(vault.problems)
    return NOT_ALL if damaged or vault.problems else 0


def _checked(paths: Sequence[str]) -> list[dict[str, Any]]:
    import os

    from claude_session_player.archive import check_archive

    records = []
    with progress_bar("checking", sum(map(os.path.getsize, paths))) as progress:
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
