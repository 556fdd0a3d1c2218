"""What `clean` says: the plan and what became of it, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from claude_session_player import humanize
from claude_session_player.care.clean import Outcome, Plan, Reason, Skipped, main_path, skipped
from claude_session_player.care.leftovers import Finished, Waiting, pending
from claude_session_player.cli.care import name_skipped, named
from claude_session_player.cli.output import encode, print_text
from claude_session_player.cli.showing import say
from claude_session_player.names import PROGRAM
from claude_session_player.text import display_path, file_name, printable
from claude_session_player.times import local_now

if TYPE_CHECKING:
    from claude_session_player.care.bundles import Bundle
    from claude_session_player.store.layout import Trouble


def _date(value: Any) -> str:
    return humanize.local(str(value), local_now())[:16]


_WHY: Final[dict[str, Callable[[Any], str]]] = {
    "older_than": lambda value: f"older than {_date(value)}",
    "larger_than": lambda value: f"larger than {humanize.size(value)}",
    "empty": lambda _: "nobody said anything",
    "since": lambda value: f"active since {_date(value)}",
    "before": lambda value: f"last active before {_date(value)}",
}
"""How each rule is told; all others are words that were looked for."""


class Shown:
    """A plan as it is shown, and then what became of it."""

    def __init__(self, plan: Plan, known: Iterable[str], as_json: bool) -> None:
        self._plan = plan
        self._known = list(known)
        self._as_json = as_json
        self._finished: list[Finished] = []

    def name_finished(self, finished: Sequence[Finished]) -> None:
        """Say what was left to do after a run that was killed."""
        self._finished = list(finished)
        for one in finished:
            if one.reason is not None:
                name_skipped(one.note.id, one.note.title, one.reason)
            else:
                done = "finished the removal of" if one.is_gone else "put back"
                say(printable(f"{done} {named(one.note.id, one.note.title)}: a run was interrupted"))

    def name_hidden(self, unleased: int | None) -> None:
        """Say how many processes could not be looked into, and what that means; `None` before leases are asked for."""
        if self._plan.hidden:
            count = humanize.many(self._plan.hidden, "process", "processes")
            say(f"note: {count} of other users could not be looked into; {_unseen(unleased)}")
        elif unleased:
            files = humanize.many(unleased, "removed file")
            say(f"note: no lease was granted on {files}: another machine may have had them open for writing")

    def print_plan(self, folder: str, delete: bool) -> None:
        """The plan, and what would be done with it."""
        if self._as_json:
            self._print_json([_record(bundle, None, self._plan) for bundle in self._plan.bundles], [], applied=False)
            return
        self.print_table()
        self._name_skipped([])
        if self._plan.bundles:
            do = (
                "--apply --delete deletes them"
                if delete
                else f"--apply removes them, and keeps them in {display_path(folder)}"
            )
            say(printable(f"nothing was done: {do}"))

    def print_table(self) -> None:
        """A line for each session, and what it comes to and why; nothing where JSON is wanted."""
        if not self._as_json and self._plan.bundles:
            self._print_table(self._plan.bundles, "")
        elif not self._as_json:
            self._say_nothing()

    def print_outcomes(self, outcomes: Sequence[Outcome], delete: bool) -> None:
        """What was done, and what was not."""
        done = [one for one in outcomes if one.reason is None]
        stayed = [skipped(one.bundle, one.reason) for one in outcomes if one.reason is not None]
        if self._as_json:
            records = [_record(one.bundle, one.archive, self._plan) for one in done]
            self._print_json(records, stayed, applied=True)
        elif done:
            self._print_table([one.bundle for one in done], "deleted " if delete else "archived and removed ")
        elif not self._plan.bundles:
            self._say_nothing()
        self._name_skipped(stayed)

    def _say_nothing(self) -> None:
        count = len(self._plan.skipped)
        if not count:
            say("there is nothing to clean up: no session is like this")
            return
        those = "the session that fits is" if count == 1 else f"the {count} sessions that fit are"
        say(f"nothing can be removed now: {those} skipped")

    def _name_skipped(self, more: Sequence[Skipped]) -> None:
        for one in (*self._plan.skipped, *more):
            name_skipped(one.id, one.title, one.reason)

    def _print_table(self, bundles: Sequence[Bundle], done: str) -> None:
        from claude_session_player.cli.tables import Column, print_table, short_ids

        now = local_now()
        print_table(
            (
                Column("ID", short_ids([bundle.id for bundle in bundles], self._known), 10, style="cyan"),
                Column("LAST ACTIVE", [humanize.ago(bundle.updated_at or "", now) for bundle in bundles], 8),
                Column("TITLE", [bundle.title or "(no title)" for bundle in bundles], 9, 20),
                Column("PROJECT", [file_name(bundle.project or "") for bundle in bundles], 4, 12, style="green"),
                Column("FILES", [str(len(bundle.files)) for bundle in bundles], 3, right=True),
                Column("SIZE", [humanize.size(bundle.size) for bundle in bundles], 7, right=True),
            )
        )
        files = humanize.many(sum(len(bundle.files) for bundle in bundles), "file")
        size = humanize.size(sum(bundle.size for bundle in bundles))
        why = ", ".join(map(_words, self._plan.reasons))
        print_text(printable(f"{done}{humanize.many(len(bundles), 'session')}, {files}, {size}: {why}"))

    def _print_json(self, sessions: list[dict[str, Any]], more: Sequence[Skipped], *, applied: bool) -> None:
        skipped = (*self._plan.skipped, *more)
        print_text(encode(_whole_record(sessions, skipped, self._finished, hidden=self._plan.hidden, applied=applied)))


def _unseen(unleased: int | None) -> str:
    """What it means that some processes could not be looked into."""
    if unleased is None:
        return "--apply checks with a lease on each file that none of them writes to it"
    if not unleased:
        return "leases confirm that none of them had a removed file open for writing"
    files = humanize.many(unleased, "removed file")
    return f"no lease was granted on {files}, which they may have had open for writing"


def name_pending(roots: Sequence[str]) -> None:
    """Say which sessions a run that was killed had begun to remove: they are not in the plan."""
    for waiting in pending(roots):
        if (note := waiting.note) is not None:
            say(printable(f"the removal of {named(note.id, note.title)} was interrupted: --apply finishes it"))
        else:
            say(printable(f"{waiting.path} was left by an interrupted clean-up: see --recover"))


def name_interrupted(roots: Sequence[str]) -> None:
    """Say in one line that sessions wait in a store: no list shows them."""
    if count := len(pending(roots)):
        wait = "1 session waits" if count == 1 else f"{count} sessions wait"
        say(f"note: {wait} in the store since a clean-up was interrupted: see '{PROGRAM} clean --recover'")


def undescribed(roots: Sequence[str], troubles: list[Trouble]) -> list[Waiting]:
    """What a run that was killed left behind, and nobody can tell which session it is; see `pending`."""
    return [waiting for waiting in pending(roots, troubles) if waiting.note is None]


def print_recovered(
    finished: Sequence[Finished], unknown: Sequence[Waiting], as_json: bool, *, is_all: bool = True
) -> None:
    """What became of the sessions that a run that was killed left behind; `is_all` where every directory was read."""
    for waiting in unknown:
        reason = waiting.reason or "it does not say which session is in it"
        say(printable(f"skipped {display_path(waiting.path)}: {reason}; look into it yourself"))
    for one in finished:
        if one.reason is not None:
            name_skipped(one.note.id, one.note.title, one.reason)
    if as_json:
        print_text(encode(_whole_record([], [], finished, hidden=0, applied=True)))
        return
    for one in finished:
        if one.reason is None:
            print_text(printable(_recovered(one)))
    if not finished and not unknown and is_all:
        say("there is nothing to recover: no removal was interrupted")


def _recovered(one: Finished) -> str:
    name = named(one.note.id, one.note.title)
    if one.is_gone:
        kept = f"; it is in the archive {display_path(one.note.archive)}" if one.note.archive else ""
        return f"completed the removal of {name}, which had been decided{kept}"
    if one.archive is not None:
        new = f"something new is at {display_path(one.note.path)}"
        return f"moved {name} into the archive, because {new}: {display_path(one.archive)}"
    return f"put back {name}: {display_path(one.note.path)}"


def _words(reason: Reason) -> str:
    tell = _WHY.get(reason.rule)
    return tell(reason.value) if tell else f"{reason.rule} has {reason.value!r}"


def _record(bundle: Bundle, archive: str | None, plan: Plan) -> dict[str, Any]:
    return {
        "id": display_path(bundle.id),
        "title": bundle.title,
        "path": display_path(main_path(bundle)),
        "project": bundle.project,
        "updated_at": bundle.updated_at,
        "files": len(bundle.files),
        "size": bundle.size,
        "reasons": [reason._asdict() for reason in plan.reasons],
        "archive": _shown(archive),
    }


def _whole_record(
    sessions: list[dict[str, Any]],
    skipped: Iterable[Skipped],
    finished: Iterable[Finished],
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


def _skipped_record(one: Skipped) -> dict[str, Any]:
    return {"id": display_path(one.id), "title": one.title, "path": display_path(one.path), "reason": one.reason}


def _finished_record(one: Finished) -> dict[str, Any]:
    return {
        "id": display_path(one.note.id),
        "title": one.note.title,
        "path": display_path(one.note.path),
        "is_gone": one.is_gone,
        "archive": _shown(one.archive or one.note.archive),
        "reason": one.reason,
    }


def _shown(path: str | None) -> str | None:
    return None if path is None else display_path(path)
