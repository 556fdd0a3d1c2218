"""`verify`: check sessions for damage and inconsistencies."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import click

from claude_session_player.cli._options import examples, filter_options, json_options, store_options, utc_option
from claude_session_player.cli._output import has_colours, note, print_records, print_styled, print_text, reading_bar
from claude_session_player.cli._refs import complete_ref, locate, needs_store
from claude_session_player.doctor import (
    FINDING_KINDS,
    OLD,
    SESSION_NOT_FOUND,
    UNREADABLE,
    Finding,
    Severity,
    verify_files,
)
from claude_session_player.errors import Ambiguous, CannotRead, NoStore, NoSuchSession, SessionError
from claude_session_player.store import AGENT_PREFIX, LATEST, SESSION_SUFFIX, Filter, looks_like_path
from claude_session_player.util import humanize
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.text import display_path, printable, truncate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.cli._output import JsonForm
    from claude_session_player.doctor import FindingKind, KindTotal, VerifyReport
    from claude_session_player.store import Session, SessionFile, Store

FOUND_PROBLEMS: Final = 1
CANNOT_READ: Final = 2
_MOST_OF_KIND: Final = 10
_SHORT_ID: Final = 8
_TITLE_LENGTH: Final = 60
_SEVERITIES: Final = ("advice", "warning", "error")
_NOUNS: Final = {
    Severity.ERROR: ("error", "errors"),
    Severity.WARNING: ("warning", "warnings"),
    Severity.ADVICE: ("piece of advice", "pieces of advice"),
}
_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.ADVICE: "cyan"}


class NotVerified(SessionError):
    """There is nothing to check: a session cannot be read, or does not exist."""

    exit_code: ClassVar[int] = CANNOT_READ


@click.command(
    epilog=examples(
        ("verify", "the last active session of this project"),
        ("verify --all", "how many findings of each kind there are"),
        ("verify --all --kind cut-line", "each finding of a kind"),
        ("verify --project kettle --json", "one project, for scripts"),
    )
)
@click.argument("refs", nargs=-1, shell_complete=complete_ref, metavar="[REF]...")
@click.option("--all", "is_all", is_flag=True, help="Check all sessions.")
@click.option(
    "--severity",
    type=click.Choice(_SEVERITIES),
    default="warning",
    show_default=True,
    help="Report only findings of this severity or worse.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([kind.name for kind in FINDING_KINDS]),
    metavar="KIND",
    help="Report each finding of this kind, whatever its severity; repeatable.",
)
@click.option("--details", "has_details", is_flag=True, help="Report each finding. Default with REF.")
@filter_options
@json_options
@utc_option
@store_options
def command(
    refs: tuple[str, ...],
    is_all: bool,
    severity: str,
    kinds: tuple[str, ...],
    has_details: bool,
    filter: Filter,
    form: JsonForm | None,
    stores: StoreOptions,
) -> int:
    """Check sessions for damage and inconsistencies.

    REF is a file, an id, latest (the default) or a title: see 'help refs'; sub-agents are checked with their session.
    Instead of naming sessions, select them with filters or --all; the findings are then summed up by kind, unless
    --kind or --details is given. Each finding has a severity, a line and byte, and advice.

    Exit codes: 0 nothing found, 1 something found, 2 a session cannot be read or does not exist.
    """
    if not (refs or is_all or filter != Filter()):
        refs = (LATEST,)
    try:
        with stores.open(required=not refs or any(map(needs_store, refs))) as store:
            sessions = [_named_session(store, ref) for ref in refs]
            files = _files_of(sessions) if refs else _matching_files(store, filter)
            with reading_bar("checking sessions") as progress:
                report = verify_files(store, files, progress, is_all=is_all)
    except (CannotRead, NoSuchSession, NoStore, Ambiguous) as error:
        problem = f"{SESSION_NOT_FOUND}: " if isinstance(error, NoSuchSession) else ""
        raise NotVerified(f"{problem}{error}", *error.details) from error
    selection = FindingSelection(Severity[severity.upper()], frozenset(kinds))
    findings = selection.of(report.findings)
    if form:
        print_records(map(finding_record, findings), form)
    else:
        has_summary = not refs and not kinds
        if len(refs) == 1 and not (looks_like_path(refs[0]) or os.path.exists(refs[0])):
            selection = selection._replace(session=_session_words(sessions[0]))
        _print_report(report, selection, has_summary=has_summary, has_details=has_details or not has_summary)
    if store.problems or any(finding.kind is UNREADABLE for finding in report.findings):
        return CANNOT_READ
    return FOUND_PROBLEMS if findings else 0


def _named_session(store: Store, ref: str) -> Session:
    located = locate(store, ref)
    return store.session_of(located) if isinstance(located, tuple) else located


def _files_of(sessions: Iterable[Session]) -> list[SessionFile]:
    """The files of some sessions and of their sub-agents, each once."""
    return list({part.path: part.file for session in sessions for part in session.parts}.values())


def _session_words(session: Session) -> str:
    """The id and the title of a session."""
    title = truncate(session.title or "(no title)", _TITLE_LENGTH)
    return printable(f"{display_path(session.id)[:_SHORT_ID]} {title!r}")


def _matching_files(store: Store, filter: Filter) -> list[SessionFile]:
    if filter == Filter():  # nothing has to be known of them
        return store.files()
    return _files_of(store.sessions(filter))


# --- the report ---------------------------------------------------------------------------------------


class FindingSelection(NamedTuple):
    """Which findings are reported: those of some kinds, or else of a severity or worse."""

    severity: Severity
    kinds: frozenset[str] = frozenset()
    session: str = ""
    """The session that was checked, for people; empty if it was named by its path, and where several were checked."""

    def has(self, kind: FindingKind) -> bool:
        """True if findings of this kind are reported."""
        return kind.name in self.kinds if self.kinds else kind.severity >= self.severity

    def of(self, findings: Iterable[Finding]) -> list[Finding]:
        """Those of some findings that are reported."""
        return [finding for finding in findings if self.has(finding.kind)]


def _print_report(report: VerifyReport, selection: FindingSelection, *, has_summary: bool, has_details: bool) -> None:
    totals = [total for total in report.totals if selection.has(total.kind)]
    if has_summary and totals:
        _print_totals(totals)
        print_text("")
    lines = report_text(report, selection, in_colour=has_colours()) if has_details else [_total(report, selection)]
    print_styled("\n".join(lines))
    if totals and not has_details:
        note("--kind KIND lists the findings of a kind, --details lists all of them")


def _print_totals(totals: Sequence[KindTotal]) -> None:
    """A line for each kind, with the first finding as an example."""
    from claude_session_player.cli._tables import Column, print_table

    print_table(
        (
            Column("KIND", [total.kind.name for total in totals], 9, style="bold"),
            Column("SEVERITY", [total.kind.severity.name.lower() for total in totals], 8),
            Column("FINDINGS", [str(total.findings) for total in totals], 7, right=True),
            Column("SESSIONS", [str(total.sessions) for total in totals], 6, right=True),
            Column("WHAT", [total.kind.what for total in totals], 5, 20),
            Column("EXAMPLE", [_example(total.example) for total in totals], 4, 12, style="cyan"),
        )
    )


def _example(finding: Finding) -> str:
    """The id of a session or sub-agent, shortened, and the line."""
    name = os.path.basename(finding.path).removesuffix(SESSION_SUFFIX).removeprefix(AGENT_PREFIX)
    line = f", line {finding.line}" if finding.line is not None else ""
    return f"{display_path(name)[:_SHORT_ID]}{line}"


def finding_record(finding: Finding) -> dict[str, Any]:
    """A finding as JSON data."""
    kind = finding.kind
    return {
        "path": display_path(finding.path),
        "kind": kind.name,
        "severity": kind.severity.name.lower(),
        "problem": kind.problem,
        "line": finding.line,
        "offset": finding.offset,
        "what": kind.what,
        "detail": display_path(finding.detail),
        "advice": _advice(finding),
    }


def report_text(report: VerifyReport, selection: FindingSelection, *, in_colour: bool) -> Iterator[str]:
    """A report for people: the findings of each file, by kind, and a total."""
    for path, of_file in groupby(selection.of(report.findings), lambda finding: finding.path):
        yield click.style(_short_path(path), bold=True) if in_colour else _short_path(path)
        by_kind = sorted(of_file, key=lambda finding: FINDING_KINDS.index(finding.kind))
        for _, alike in groupby(by_kind, lambda finding: finding.kind):
            yield from _lines_of_kind(list(alike), in_colour)
        yield ""
    yield _total(report, selection)


def _short_path(path: str) -> str:
    return printable(humanize.path_from_cwd(display_path(path)))


def _lines_of_kind(findings: Sequence[Finding], in_colour: bool) -> Iterator[str]:
    kind = findings[0].kind
    word = kind.severity.name.lower()
    word = click.style(word, fg=_COLOURS[kind.severity]) if in_colour else word
    yield f"  {word}: {f'{kind.problem}: ' if kind.problem else ''}{kind.what}"
    for finding in findings[:_MOST_OF_KIND]:
        place = f"line {finding.line}, byte {finding.offset}" if finding.line is not None else ""
        if text := ": ".join(filter(None, (place, printable(display_path(finding.detail))))):
            yield f"    {text}"
    if len(findings) > _MOST_OF_KIND:
        yield f"    … and {len(findings) - _MOST_OF_KIND} more (--json lists them all)"
    yield f"    → {_advice(findings[0])}"


def _advice(finding: Finding) -> str:
    repair = f"{PROGRAM} repair {shlex.quote(_short_path(finding.path))} -o NEW.jsonl"
    return finding.kind.advice.format(repair=repair)


def _total(report: VerifyReport, selection: FindingSelection) -> str:
    reported: Counter[Severity] = Counter()
    omitted: Counter[Severity] = Counter()
    for finding in report.findings:
        if selection.has(finding.kind):
            reported[finding.kind.severity] += 1
        elif finding.kind is not OLD:  # as nearly all sessions are
            omitted[finding.kind.severity] += 1
    why = "of other kinds" if selection.kinds else "left out: see --severity"
    more = f" ({_counts(omitted)} {why})" if omitted else ""
    checked = ", ".join(
        filter(None, (selection.session, humanize.plural(report.files, "file"), humanize.size(report.bytes)))
    )
    nothing = "no such findings" if selection.kinds else "nothing is wrong"
    return f"{checked}: {_counts(reported) or nothing}{more}"


def _counts(counts: Counter[Severity]) -> str:
    return ", ".join(_count(counts[severity], severity) for severity in sorted(counts, reverse=True))


def _count(count: int, severity: Severity) -> str:
    return humanize.plural(count, *_NOUNS[severity])
