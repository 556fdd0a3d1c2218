"""`clean`: plan which sessions to remove, then archive and remove them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
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
from claude_session_player.cli._archives import NOT_ALL, id_and_title, report_skipped, work_bar
from claude_session_player.cli._options import (
    archive_dir_option,
    clean_filter_options,
    collect_options,
    examples,
    json_option,
    store_options,
    utc_option,
)
from claude_session_player.cli._output import note, print_object, print_text, say, warn_unreadable
from claude_session_player.errors import BadFilter, SessionError
from claude_session_player.util import humanize
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.humanize import plural
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import base_name, display_path, printable
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from claude_session_player.archive import ArchiveDir, CleanRules, SessionFiles
    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.store import Filter, ReadProblem


@dataclass(frozen=True)
class AgeOptions:
    """Which sessions are removed, besides the filters that all commands have."""

    older_than: datetime | None
    larger_than: int | None
    empty: bool


@dataclass(frozen=True)
class CleanOptions:
    """What is done with the plan."""

    apply: bool
    delete: bool
    recover: bool
    yes: bool

    @property
    def must_ask(self) -> bool:
        """True where a person has to confirm the removal."""
        return self.apply and self.delete and not self.yes


def _time(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    from claude_session_player.store import parse_date_span

    try:
        return None if value is None else parse_date_span(value).start
    except BadFilter as error:
        raise click.BadParameter(str(error)) from error


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    try:
        return None if value is None else humanize.parse_size(value)
    except BadFilter as error:
        raise click.BadParameter(str(error)) from error


age_options = collect_options(
    "ages",
    AgeOptions,
    AgeOptions.__annotations__,
    (
        click.option(
            "--older-than",
            callback=_time,
            metavar="WHEN",
            help="Only sessions whose last event is older: 30d, 12h, 2w, 2026-01-17, … (see 'help times').",
        ),
        click.option(
            "--larger-than",
            callback=_size,
            metavar="SIZE",
            help="Only sessions larger than this with all their files: 500KB, 10MB, 1.5GB, or bytes.",
        ),
        click.option("--empty", is_flag=True, help="Only sessions without any message and with no other content."),
    ),
)
clean_options = collect_options(
    "options",
    CleanOptions,
    CleanOptions.__annotations__,
    (
        click.option("--apply", is_flag=True, help="Archive and remove these sessions. Default: only print the plan."),
        click.option("--delete", is_flag=True, help="With --apply: remove them without an archive; asks first."),
        click.option("--recover", is_flag=True, help="Only restore or archive what an interrupted run left behind."),
        click.option("--yes", is_flag=True, help="With --delete: do not ask for confirmation."),
    ),
)


@click.command(
    epilog=examples(
        ("clean --older-than 30d", "print what would be removed"),
        ("clean --older-than 30d --apply", "archive and remove it"),
        ("restore 1f2e", "bring a session back"),
    )
)
@age_options
@clean_filter_options
@archive_dir_option
@clean_options
@json_option
@utc_option
@store_options
def command(
    ages: AgeOptions,
    filter: Filter,
    archive: str | None,
    options: CleanOptions,
    as_json: bool,
    stores: StoreOptions,
) -> int:
    """Archive and remove old, large or empty sessions.

    Without --apply, only the plan is printed. At least one filter is required, and a session must match all of them.
    With --apply each session is archived with all its files, the archive is read back, and only then the session is
    removed; 'restore' brings it back.

    Sessions that are in use, changed since the plan was made, or have an unreadable sub-agent are skipped and named,
    and the exit code is 1. Todos, settings, memories and files that belong to no session are never touched. What was
    done is logged in log.jsonl in the archive directory. After an interrupted run, the next --apply finishes its work.
    """
    from claude_session_player.archive import ArchiveDir, CleanRules, finish_removals, plan_clean

    rules = CleanRules(filter, ages.older_than, ages.larger_than, ages.empty)
    if options.recover:
        if rules != CleanRules() or options.apply or options.delete or options.yes:
            raise click.UsageError("--recover handles everything that was interrupted: use it without other options")
        return _recover(ArchiveDir(archive), as_json, stores)
    _check(rules)
    if options.must_ask and not (is_terminal(sys.stdin) and sys.stderr is not None):
        raise click.UsageError("--delete asks for confirmation, and there is no terminal to ask on: add --yes")
    archive_dir = ArchiveDir(archive)
    with stores.open() as store:
        archive_dir.require_outside(store.roots)
        finished = finish_removals(store, archive_dir) if options.apply else []
        plan = plan_clean(store, rules, reread=options.apply)
        report = PlanReport(plan, [file.id for file in store.files()], as_json)
    if not options.apply:
        _name_pending(store.roots)
        report.print_plan(archive_dir.path, options.delete)
        report.note_hidden(None)
        return 0
    report.name_finished(finished)
    note_interrupted(store.roots)
    if options.must_ask and plan.sessions:
        report.print_table()
        _confirm(plan)
    outcomes = _apply(plan, archive_dir, options.delete, report)
    reasons = [one.reason for one in outcomes] + [one.reason for one in finished]
    return NOT_ALL if plan.skipped or any(reasons) or store.problems else 0


def _check(rules: CleanRules) -> None:
    try:
        rules.check()
    except BadFilter as error:
        raise click.UsageError(str(error)) from error


def _apply(plan: CleanPlan, archive_dir: ArchiveDir, delete: bool, report: PlanReport) -> list[CleanOutcome]:
    """Remove the sessions of the plan, and print what was done."""
    from claude_session_player.archive import clean_sessions

    outcomes: list[CleanOutcome] = []
    unleased: list[int] = []
    try:
        with work_bar("archiving", 0 if delete else plan.work) as progress:
            outcomes.extend(
                clean_sessions(plan, archive_dir, delete=delete, progress=progress, report_unleased=unleased.append)
            )
    finally:  # also what was done before the disk was full
        warn_unreadable(archive_dir.problems)
        report.print_outcomes(outcomes, delete)
        if any(one.reason is None for one in outcomes):
            report.note_hidden(sum(unleased))
    return outcomes


def _confirm(plan: CleanPlan) -> None:
    """Let a person type what is going to happen. Raises `SessionError` if something else is typed."""
    phrase = f"delete {plural(len(plan.sessions), 'session')}"
    say(f"This deletes {humanize.size(plan.size)} for good, without an archive. To continue, type '{phrase}':")
    if sys.stdin.readline().strip() != phrase:
        raise SessionError("Confirmation did not match; nothing was deleted.")


def _recover(archive_dir: ArchiveDir, as_json: bool, stores: StoreOptions) -> int:
    """Restore or archive what interrupted runs left behind."""
    from claude_session_player.archive import recover_removals

    with stores.open() as store:
        archive_dir.require_outside(store.roots)
        finished = recover_removals(store, archive_dir)
        problems: list[ReadProblem] = []
        unknown = [pending for pending in pending_removals(store.roots, problems) if pending.info is None]
    warn_unreadable([*archive_dir.problems, *problems])
    _print_recovered(finished, unknown, as_json, is_all=not problems)
    return NOT_ALL if unknown or problems or any(one.reason for one in finished) else 0


# --- interrupted runs ---------------------------------------------------------------------------------


def _name_pending(roots: Sequence[str]) -> None:
    """Name the sessions that an interrupted run started to remove: they are not in the plan."""
    for pending in pending_removals(roots):
        if pending.info is not None:
            name = id_and_title(pending.info.id, pending.info.title)
            say(printable(f"the removal of {name} was interrupted: --apply finishes it"))
        else:
            say(printable(f"{pending.path} was left by an interrupted run: see --recover"))


def note_interrupted(roots: Sequence[str]) -> None:
    """Say that sessions are held by an interrupted removal: no list shows them."""
    if count := len(pending_removals(roots)):
        message = f"{plural(count, 'session')} {'is' if count == 1 else 'are'} held by an interrupted removal"
        note(f"{message}: run '{PROGRAM} clean --recover'")


def _print_recovered(
    finished: Sequence[FinishedRemoval], unknown: Sequence[PendingRemoval], as_json: bool, *, is_all: bool
) -> None:
    """What became of interrupted removals; `is_all` is true if every directory could be read."""
    for pending in unknown:
        reason = pending.reason or "it does not say which session it holds"
        say(printable(f"skipped {display_path(pending.path)}: {reason}; look into it yourself"))
    for one in finished:
        if one.reason is not None:
            report_skipped(one.info.id, one.info.title, one.reason)
    if as_json:
        print_object(_report_record([], [], finished, hidden=0, applied=True))
        return
    for one in finished:
        if one.reason is None:
            print_text(printable(_describe_recovered(one)))
    if not finished and not unknown and is_all:
        say("Nothing to recover: no removal was interrupted.")


def _describe_recovered(one: FinishedRemoval) -> str:
    name = id_and_title(one.info.id, one.info.title)
    if one.is_gone:
        kept = f"; it is in the archive {display_path(one.info.archive)}" if one.info.archive else ""
        return f"completed the removal of {name}, which had been decided{kept}"
    if one.archive is not None:
        return f"moved {name} into the archive {display_path(one.archive)}: {display_path(one.info.path)} is taken"
    return f"put back {name}: {display_path(one.info.path)}"


# --- the plan -----------------------------------------------------------------------------------------


def _date(value: Any) -> str:
    return humanize.local_time(str(value), local_now())[:16]


_REASONS: Final[dict[str, Callable[[Any], str]]] = {
    "older_than": lambda value: f"older than {_date(value)}",
    "larger_than": lambda value: f"larger than {humanize.size(value)}",
    "empty": lambda _: "without any message",
    "since": lambda value: f"active since {_date(value)}",
    "before": lambda value: f"last active before {_date(value)}",
}
"""How each rule is described; the others look for a text."""


def _describe_reason(reason: CleanReason) -> str:
    describe = _REASONS.get(reason.rule)
    return describe(reason.value) if describe else f"{reason.rule} contains {reason.value!r}"


class PlanReport:
    """Prints a plan, and later its outcomes, as a table or as JSON."""

    def __init__(self, plan: CleanPlan, known_ids: Iterable[str], as_json: bool) -> None:
        self._plan = plan
        self._known_ids = list(known_ids)
        self._as_json = as_json
        self._finished: list[FinishedRemoval] = []

    def name_finished(self, finished: Sequence[FinishedRemoval]) -> None:
        """Say what was done to finish an interrupted run."""
        self._finished = list(finished)
        for one in finished:
            if one.reason is not None:
                report_skipped(one.info.id, one.info.title, one.reason)
            else:
                done = "finished the removal of" if one.is_gone else "put back"
                say(printable(f"{done} {id_and_title(one.info.id, one.info.title)}: a run was interrupted"))

    def note_hidden(self, unleased: int | None) -> None:
        """Say how many processes could not be inspected, and what that means; `None` before leases are requested."""
        if self._plan.hidden:
            count = plural(self._plan.hidden, "process", "processes")
            note(f"{count} of other users could not be inspected; {_explain_leases(unleased)}")
        elif unleased:
            files = plural(unleased, "removed file")
            note(f"no lease was granted on {files}: another machine may have had them open for writing")

    def print_plan(self, folder: str, delete: bool) -> None:
        """The plan, and how to apply it."""
        if self._as_json:
            self._print_json([_record(files, None, self._plan) for files in self._plan.sessions], [], applied=False)
            return
        self.print_table()
        self._name_skipped([])
        if self._plan.sessions:
            archived = f"--apply moves them to the archive {display_path(folder)}"
            say(printable(f"Nothing was changed: {'--apply --delete deletes them' if delete else archived}."))

    def print_table(self) -> None:
        """The sessions of the plan with totals and reasons; nothing with `--json`."""
        if not self._as_json and self._plan.sessions:
            self._print_table(self._plan.sessions, "")
        elif not self._as_json:
            self._say_nothing()

    def print_outcomes(self, outcomes: Sequence[CleanOutcome], delete: bool) -> None:
        """What was removed, and what was not."""
        done = [one for one in outcomes if one.reason is None]
        kept = [skip_session(one.session, one.reason) for one in outcomes if one.reason is not None]
        if self._as_json:
            records = [_record(one.session, one.archive, self._plan) for one in done]
            self._print_json(records, kept, applied=True)
        elif done:
            self._print_table([one.session for one in done], "deleted " if delete else "archived and removed ")
        elif not self._plan.sessions:
            self._say_nothing()
        self._name_skipped(kept)

    def _say_nothing(self) -> None:
        if count := len(self._plan.skipped):
            sessions = "the matching session is" if count == 1 else f"the {count} matching sessions are"
            say(f"Nothing can be removed now: {sessions} skipped.")
        else:
            say("No sessions match these filters.")

    def _name_skipped(self, more: Sequence[SkippedSession]) -> None:
        for one in (*self._plan.skipped, *more):
            report_skipped(one.id, one.title, one.reason)

    def _print_table(self, sessions: Sequence[SessionFiles], done: str) -> None:
        from claude_session_player.cli._tables import Column, print_table, short_ids

        now = local_now()
        print_table(
            (
                Column("ID", short_ids([files.id for files in sessions], self._known_ids), 10, style="cyan"),
                Column("LAST ACTIVE", [humanize.ago(files.updated_at or "", now) for files in sessions], 8),
                Column("TITLE", [files.title or "(no title)" for files in sessions], 9, 20),
                Column("PROJECT", [base_name(files.project or "") for files in sessions], 4, 12, style="green"),
                Column("FILES", [str(len(files.files)) for files in sessions], 3, right=True),
                Column("SIZE", [humanize.size(files.size) for files in sessions], 7, right=True),
            )
        )
        count = plural(sum(len(files.files) for files in sessions), "file")
        size = humanize.size(sum(files.size for files in sessions))
        reasons = ", ".join(map(_describe_reason, self._plan.reasons))
        print_text(printable(f"{done}{plural(len(sessions), 'session')}, {count}, {size}: {reasons}"))

    def _print_json(self, sessions: list[dict[str, Any]], more: Sequence[SkippedSession], *, applied: bool) -> None:
        skipped = (*self._plan.skipped, *more)
        print_object(_report_record(sessions, skipped, self._finished, hidden=self._plan.hidden, applied=applied))


def _explain_leases(unleased: int | None) -> str:
    """What it means that some processes could not be inspected."""
    if unleased is None:
        return "--apply takes a lease on each file to make sure that none of them writes to it"
    if not unleased:
        return "leases confirm that none of them had a removed file open for writing"
    return f"no lease was granted on {plural(unleased, 'removed file')}, which they may have had open for writing"


# --- as JSON ------------------------------------------------------------------------------------------


def _record(files: SessionFiles, archive: str | None, plan: CleanPlan) -> dict[str, Any]:
    return {
        "id": display_path(files.id),
        "title": files.title,
        "path": display_path(main_file_path(files)),
        "project": files.project,
        "updated_at": files.updated_at,
        "files": len(files.files),
        "size": files.size,
        "reasons": [reason._asdict() for reason in plan.reasons],
        "archive": _optional_path(archive),
    }


def _report_record(
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
        "archive": _optional_path(one.archive or one.info.archive),
        "reason": one.reason,
    }


def _optional_path(path: str | None) -> str | None:
    return None if path is None else display_path(path)
