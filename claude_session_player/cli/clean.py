"""What `clean` says: the plan and what became of it, as a table or as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.archive import (
    CleanOutcome,
    CleanPlan,
    CleanReason,
    FinishedRemoval,
    PendingRemoval,
    SkippedSession,
    main_file_path,
    pending_removals,
    skip_session,
)
from claude_session_player.cli._archives import NOT_ALL, progress_bar, quoted_title, report_skipped, to_option
from claude_session_player.cli._options import (
    clean_options,
    json_option,
    open_store,
    store_options,
    utc_option,
    warn_unreadable,
)
from claude_session_player.cli._output import encode_json, print_text, say
from claude_session_player.errors import BadFilter, SessionError
from claude_session_player.util import humanize
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.humanize import plural, size
from claude_session_player.util.text import base_name, display_path, printable
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from claude_session_player.archive import ArchiveDir, CleanRules, SessionFiles
    from claude_session_player.store import Filter, ReadProblem


def _date(value: Any) -> str:
    return humanize.local_time(str(value), local_now())[:16]


_WHY: Final[dict[str, Callable[[Any], str]]] = {
    "older_than": lambda value: f"older than {_date(value)}",
    "larger_than": lambda value: f"larger than {humanize.size(value)}",
    "empty": lambda _: "nobody said anything",
    "since": lambda value: f"active since {_date(value)}",
    "before": lambda value: f"last active before {_date(value)}",
}
"""How each rule is told; all others are words that were looked for."""


class PlanReport:
    """A plan as it is shown, and then what became of it."""

    def __init__(self, plan: CleanPlan, known: Iterable[str], as_json: bool) -> None:
        self._plan = plan
        self._known = list(known)
        self._as_json = as_json
        self._finished: list[FinishedRemoval] = []

    def name_finished(self, finished: Sequence[FinishedRemoval]) -> None:
        """Say what was left to do after a run that was killed."""
        self._finished = list(finished)
        for one in finished:
            if one.reason is not None:
                report_skipped(one.info.id, one.info.title, one.reason)
            else:
                done = "finished the removal of" if one.is_gone else "put back"
                say(printable(f"{done} {quoted_title(one.info.id, one.info.title)}: a run was interrupted"))

    def name_hidden(self, unleased: int | None) -> None:
        """Say how many processes could not be looked into, and what that means; `None` before leases are asked for."""
        if self._plan.hidden:
            count = humanize.plural(self._plan.hidden, "process", "processes")
            say(f"note: {count} of other users could not be looked into; {_unseen(unleased)}")
        elif unleased:
            files = humanize.plural(unleased, "removed file")
            say(f"note: no lease was granted on {files}: another machine may have had them open for writing")

    def print_plan(self, folder: str, delete: bool) -> None:
        """The plan, and what would be done with it."""
        if self._as_json:
            self._print_json([_record(bundle, None, self._plan) for bundle in self._plan.sessions], [], applied=False)
            return
        self.print_table()
        self._name_skipped([])
        if self._plan.sessions:
            do = (
                "--apply --delete deletes them"
                if delete
                else f"--apply removes them, and keeps them in {display_path(folder)}"
            )
            say(printable(f"nothing was done: {do}"))

    def print_table(self) -> None:
        """A line for each session, and what it comes to and why; nothing where JSON is wanted."""
        if not self._as_json and self._plan.sessions:
            self._print_table(self._plan.sessions, "")
        elif not self._as_json:
            self._say_nothing()

    def print_outcomes(self, outcomes: Sequence[CleanOutcome], delete: bool) -> None:
        """What was done, and what was not."""
        done = [one for one in outcomes if one.reason is None]
        stayed = [skip_session(one.session, one.reason) for one in outcomes if one.reason is not None]
        if self._as_json:
            records = [_record(one.session, one.archive, self._plan) for one in done]
            self._print_json(records, stayed, applied=True)
        elif done:
            self._print_table([one.session for one in done], "deleted " if delete else "archived and removed ")
        elif not self._plan.sessions:
            self._say_nothing()
        self._name_skipped(stayed)

    def _say_nothing(self) -> None:
        count = len(self._plan.skipped)
        if not count:
            say("there is nothing to clean up: no session is like this")
            return
        those = "the session that fits is" if count == 1 else f"the {count} sessions that fit are"
        say(f"nothing can be removed now: {those} skipped")

    def _name_skipped(self, more: Sequence[SkippedSession]) -> None:
        for one in (*self._plan.skipped, *more):
            report_skipped(one.id, one.title, one.reason)

    def _print_table(self, bundles: Sequence[SessionFiles], done: str) -> None:
        from claude_session_player.cli._tables import Column, print_table, short_ids

        now = local_now()
        print_table(
            (
                Column("ID", short_ids([bundle.id for bundle in bundles], self._known), 10, style="cyan"),
                Column("LAST ACTIVE", [humanize.ago(bundle.updated_at or "", now) for bundle in bundles], 8),
                Column("TITLE", [bundle.title or "(no title)" for bundle in bundles], 9, 20),
                Column("PROJECT", [base_name(bundle.project or "") for bundle in bundles], 4, 12, style="green"),
                Column("FILES", [str(len(bundle.files)) for bundle in bundles], 3, right=True),
                Column("SIZE", [humanize.size(bundle.size) for bundle in bundles], 7, right=True),
            )
        )
        files = humanize.plural(sum(len(bundle.files) for bundle in bundles), "file")
        size = humanize.size(sum(bundle.size for bundle in bundles))
        why = ", ".join(map(_words, self._plan.reasons))
        print_text(printable(f"{done}{humanize.plural(len(bundles), 'session')}, {files}, {size}: {why}"))

    def _print_json(self, sessions: list[dict[str, Any]], more: Sequence[SkippedSession], *, applied: bool) -> None:
        skipped = (*self._plan.skipped, *more)
        print_text(
            encode_json(_whole_record(sessions, skipped, self._finished, hidden=self._plan.hidden, applied=applied))
        )


def _unseen(unleased: int | None) -> str:
    """What it means that some processes could not be looked into."""
    if unleased is None:
        return "--apply checks with a lease on each file that none of them writes to it"
    if not unleased:
        return "leases confirm that none of them had a removed file open for writing"
    files = humanize.plural(unleased, "removed file")
    return f"no lease was granted on {files}, which they may have had open for writing"


def name_pending(roots: Sequence[str]) -> None:
    """Say which sessions a run that was killed had begun to remove: they are not in the plan."""
    for waiting in pending_removals(roots):
        if (info := waiting.info) is not None:
            say(printable(f"the removal of {quoted_title(info.id, info.title)} was interrupted: --apply finishes it"))
        else:
            say(printable(f"{waiting.path} was left by an interrupted clean-up: see --recover"))


def name_interrupted(roots: Sequence[str]) -> None:
    """Say in one line that sessions wait in a store: no list shows them."""
    if count := len(pending_removals(roots)):
        wait = "1 session waits" if count == 1 else f"{count} sessions wait"
        say(f"note: {wait} in the store since a clean-up was interrupted: see '{PROGRAM} clean --recover'")


def describe_unknown(roots: Sequence[str], troubles: list[ReadProblem]) -> list[PendingRemoval]:
    """What a run that was killed left behind, and nobody can tell which session it is; see `pending_removals`."""
    return [waiting for waiting in pending_removals(roots, troubles) if waiting.info is None]


def print_recovered(
    finished: Sequence[FinishedRemoval], unknown: Sequence[PendingRemoval], as_json: bool, *, is_all: bool = True
) -> None:
    """What became of the sessions that a run that was killed left behind; `is_all` where every directory was read."""
    for waiting in unknown:
        reason = waiting.reason or "it does not say which session is in it"
        say(printable(f"skipped {display_path(waiting.path)}: {reason}; look into it yourself"))
    for one in finished:
        if one.reason is not None:
            report_skipped(one.info.id, one.info.title, one.reason)
    if as_json:
        print_text(encode_json(_whole_record([], [], finished, hidden=0, applied=True)))
        return
    for one in finished:
        if one.reason is None:
            print_text(printable(_recovered(one)))
    if not finished and not unknown and is_all:
        say("there is nothing to recover: no removal was interrupted")


def _recovered(one: FinishedRemoval) -> str:
    name = quoted_title(one.info.id, one.info.title)
    if one.is_gone:
        kept = f"; it is in the archive {display_path(one.info.archive)}" if one.info.archive else ""
        return f"completed the removal of {name}, which had been decided{kept}"
    if one.archive is not None:
        new = f"something new is at {display_path(one.info.path)}"
        return f"moved {name} into the archive, because {new}: {display_path(one.archive)}"
    return f"put back {name}: {display_path(one.info.path)}"


def _words(reason: CleanReason) -> str:
    tell = _WHY.get(reason.rule)
    return tell(reason.value) if tell else f"{reason.rule} has {reason.value!r}"


def _record(bundle: SessionFiles, archive: str | None, plan: CleanPlan) -> dict[str, Any]:
    return {
        "id": display_path(bundle.id),
        "title": bundle.title,
        "path": display_path(main_file_path(bundle)),
        "project": bundle.project,
        "updated_at": bundle.updated_at,
        "files": len(bundle.files),
        "size": bundle.size,
        "reasons": [reason._asdict() for reason in plan.reasons],
        "archive": _shown(archive),
    }


def _whole_record(
    sessions: list[dict[str, Any]],
    skipped: Iterable[SkippedSession],
    finished: Iterable[FinishedRemoval],
    *,
    hidden: int,
    applied: bool,
) -> dict[str, Any]:
    totals = {name: sum(session[name] for session in sessions) for name in ("files", "size")}
    return {
        "applied": applied,
        "sessions": sessions,
        "skipped": [_skipped_record(one) for one in skipped],
        "finished": [_finished_record(one) for one in finished],
        "hidden_processes": hidden,
        "totals": {"sessions": len(sessions), **totals},
    }


def _skipped_record(one: SkippedSession) -> dict[str, Any]:
    return {"id": display_path(one.id), "title": one.title, "path": display_path(one.path), "reason": one.reason}


def _finished_record(one: FinishedRemoval) -> dict[str, Any]:
    return {
        "id": display_path(one.info.id),
        "title": one.info.title,
        "path": display_path(one.info.path),
        "is_gone": one.is_gone,
        "archive": _shown(one.archive or one.info.archive),
        "reason": one.reason,
    }


def _shown(path: str | None) -> str | None:
    return None if path is None else display_path(path)


def _moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    from claude_session_player.store import parse_date_span

    try:
        return None if value is None else parse_date_span(value).start
    except BadFilter as error:
        raise click.BadParameter(str(error)) from error


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    from claude_session_player.util.humanize import parse_size

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
    from claude_session_player.archive import ArchiveDir, CleanRules, finish_removals, plan_clean

    rules = CleanRules(wanted, older_than, larger_than, empty)
    if recover:
        if rules != CleanRules() or is_applied or delete or yes:
            raise click.UsageError("--recover takes care of all that was interrupted: give no filter, and no --apply")
        return _recover(ArchiveDir(to), as_json, where)
    _check(rules)
    if is_applied and delete and not yes and not _has_terminal():
        raise click.UsageError("--delete asks for a confirmation, and there is no terminal to ask on: add --yes")
    vault = ArchiveDir(to)
    with open_store(**where) as store:
        vault.require_outside(store.roots)
        finished = finish_removals(store, vault) if is_applied else []
        made = plan_clean(store, rules, reread=is_applied)
        shown = PlanReport(made, [file.id for file in store.files()], as_json)
    if not is_applied:
        name_pending(store.roots)
        shown.print_plan(vault.path, delete)
        shown.name_hidden(None)
        return 0
    shown.name_finished(finished)
    name_interrupted(store.roots)
    if delete and not yes and made.sessions:
        shown.print_table()
        _confirm(made)
    outcomes = _apply(made, vault, delete, shown)
    reasons = [one.reason for one in outcomes] + [one.reason for one in finished]
    return NOT_ALL if made.skipped or any(reasons) or store.problems else 0


def _recover(vault: ArchiveDir, as_json: bool, where: dict[str, Any]) -> int:
    """Take care of what runs that were killed left behind."""
    from claude_session_player.archive import recover_removals

    with open_store(**where) as store:
        vault.require_outside(store.roots)
        finished = recover_removals(store, vault)
        troubles: list[ReadProblem] = []
        waiting = describe_unknown(store.roots, troubles)
    warn_unreadable([*vault.problems, *troubles])
    print_recovered(finished, waiting, as_json, is_all=not troubles)
    return NOT_ALL if waiting or troubles or any(one.reason for one in finished) else 0


def _check(rules: CleanRules) -> None:
    try:
        rules.check()
    except BadFilter as error:
        raise click.UsageError(str(error)) from error


def _apply(made: CleanPlan, vault: ArchiveDir, delete: bool, shown: PlanReport) -> list[CleanOutcome]:
    """What became of each session; it is told, too."""
    from claude_session_player.archive import clean_sessions

    outcomes: list[CleanOutcome] = []
    unleased: list[int] = []
    try:
        with progress_bar("archiving", 0 if delete else made.work) as progress:
            outcomes.extend(
                clean_sessions(made, vault, delete=delete, progress=progress, report_unleased=unleased.append)
            )
    finally:  # what was done before the disk was full is told, too
        warn_unreadable(vault.problems)
        shown.print_outcomes(outcomes, delete)
        if any(one.reason is None for one in outcomes):
            shown.name_hidden(sum(unleased))
    return outcomes


def _confirm(made: CleanPlan) -> None:
    """Let a person type what is going to happen. Raises `SessionError` where it is something else."""
    phrase = f"delete {plural(len(made.sessions), 'session')}"
    say(f"This deletes {size(made.size)} for good: there will be no archive. To go on, type '{phrase}':")
    if sys.stdin.readline().strip() != phrase:
        raise SessionError("that is something else: nothing is deleted")


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None
