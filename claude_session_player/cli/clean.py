"""`clean`: says which sessions would be removed, and removes them where that is asked for."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from claude_session_player.cli import cleaning
from claude_session_player.cli.care import NOT_ALL, progress_bar, to_option
from claude_session_player.cli.filters import clean_options
from claude_session_player.cli.showing import say
from claude_session_player.cli.stores import json_option, opened, store_options, utc_option, warn
from claude_session_player.errors import BadFilter, SessionError
from claude_session_player.humanize import many, size

if TYPE_CHECKING:
    from claude_session_player.care.clean import Outcome, Plan, Rules
    from claude_session_player.care.vault import Vault
    from claude_session_player.store.filters import Filter
    from claude_session_player.store.layout import Trouble


def _moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    from claude_session_player.store.dates import parse_span

    try:
        return None if value is None else parse_span(value).start
    except BadFilter as error:
        raise click.BadParameter(str(error)) from error


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    from claude_session_player.humanize import parse_size

    try:
        return None if value is None else parse_size(value)
    except BadFilter as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@click.option(
    "--older-than",
    callback=_moment,
    metavar="WHEN",
    help="Sessions whose last event is from before then: 30d, 12h, 2w ago, or a date like 2026-01-17.",
)
@click.option(
    "--larger-than",
    callback=_size,
    metavar="SIZE",
    help="Sessions that take more, with all that belongs to them: 500KB, 10MB, 1.5GB, or bytes.",
)
@click.option(
    "--empty",
    is_flag=True,
    help="Sessions in which nobody said anything, and whose other files, if any, are empty.",
)
@clean_options
@to_option
@click.option("--apply", "is_applied", is_flag=True, help="Do it: archive these sessions, and then remove them.")
@click.option("--delete", is_flag=True, help="With --apply: remove them without an archive, after a confirmation.")
@click.option(
    "--recover", is_flag=True, help="Put back what an interrupted run left behind, or archive it; takes no filters."
)
@click.option("--yes", is_flag=True, help="With --delete: do not ask for the confirmation.")
@json_option
@utc_option
@store_options
def command(
    older_than: datetime | None,
    larger_than: int | None,
    empty: bool,
    wanted: Filter,
    to: str | None,
    is_applied: bool,
    delete: bool,
    recover: bool,
    yes: bool,
    as_json: bool,
    **where: Any,
) -> int:
    """Clean up: print which sessions would be removed and why, and do nothing, unless --apply is given.

    At least one filter is needed, and a session has to fulfil all that are given. With --apply each session is archived
    with everything that belongs to it, the archive is read back, and only then the session is removed; 'restore' brings
    it back. With --apply --delete there is no archive: that asks for a typed confirmation, or --yes. --delete alone
    prints the plan, too.

    Sessions that are in use, that changed since the plan was made, or of which a sub-agent cannot be read, are skipped
    and named; then, and where something could not be read, the exit code is 1. Before a session is removed, its files
    are read again, whatever the index says, and a lease on each makes sure that no process writes to it, also none of
    another user; where the system gives no leases, that is said. Todos, settings, memories, sub-agents whose session is
    gone, and files that are no part of a session are never touched. What was done is logged in log.jsonl in the
    directory of the archive.

    Where a run was killed, the next --apply finishes what it began, and --recover does nothing else: sessions go back
    to their places, or into the archive where something new is in their place by now.
    """
    from claude_session_player.care.clean import Rules, finish_leftovers, plan
    from claude_session_player.care.vault import Vault

    rules = Rules(wanted, older_than, larger_than, empty)
    if recover:
        if rules != Rules() or is_applied or delete or yes:
            raise click.UsageError("--recover takes care of all that was interrupted: give no filter, and no --apply")
        return _recover(Vault(to), as_json, where)
    _check(rules)
    if is_applied and delete and not yes and not _has_terminal():
        raise click.UsageError("--delete asks for a confirmation, and there is no terminal to ask on: add --yes")
    vault = Vault(to)
    with opened(**where) as store:
        vault.refuse_inside(store.roots)
        finished = finish_leftovers(store, vault) if is_applied else []
        made = plan(store, rules, reread=is_applied)
        shown = cleaning.Shown(made, [file.id for file in store.files()], as_json)
    if not is_applied:
        cleaning.name_pending(store.roots)
        shown.print_plan(vault.folder, delete)
        shown.name_hidden(None)
        return 0
    shown.name_finished(finished)
    cleaning.name_interrupted(store.roots)
    if delete and not yes and made.bundles:
        shown.print_table()
        _confirm(made)
    outcomes = _apply(made, vault, delete, shown)
    reasons = [one.reason for one in outcomes] + [one.reason for one in finished]
    return NOT_ALL if made.skipped or any(reasons) or store.troubles else 0


def _recover(vault: Vault, as_json: bool, where: dict[str, Any]) -> int:
    """Take care of what runs that were killed left behind."""
    from claude_session_player.care import clean

    with opened(**where) as store:
        vault.refuse_inside(store.roots)
        finished = clean.recover(store, vault)
        troubles: list[Trouble] = []
        waiting = cleaning.undescribed(store.roots, troubles)
    warn([*vault.troubles, *troubles])
    cleaning.print_recovered(finished, waiting, as_json, is_all=not troubles)
    return NOT_ALL if waiting or troubles or any(one.reason for one in finished) else 0


def _check(rules: Rules) -> None:
    try:
        rules.check()
    except BadFilter as error:
        raise click.UsageError(str(error)) from error


def _apply(made: Plan, vault: Vault, delete: bool, shown: cleaning.Shown) -> list[Outcome]:
    """What became of each session; it is told, too."""
    from claude_session_player.care.archive import PASSES
    from claude_session_player.care.clean import apply

    outcomes: list[Outcome] = []
    unleased: list[int] = []
    try:
        with progress_bar("archiving", 0 if delete else made.size * PASSES) as progress:
            outcomes.extend(apply(made, vault, delete=delete, progress=progress, unleased=unleased.append))
    finally:  # what was done before the disk was full is told, too
        warn(vault.troubles)
        shown.print_outcomes(outcomes, delete)
        if any(one.reason is None for one in outcomes):
            shown.name_hidden(sum(unleased))
    return outcomes


def _confirm(made: Plan) -> None:
    """Let a person type what is going to happen. Raises `SessionError` where it is something else."""
    phrase = f"delete {many(len(made.bundles), 'session')}"
    say(f"This deletes {size(made.size)} for good: there will be no archive. To go on, type '{phrase}':")
    if sys.stdin.readline().strip() != phrase:
        raise SessionError("that is something else: nothing is deleted")


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None
