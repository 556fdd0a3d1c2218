"""What is wrong with sessions, in words and as JSON data."""

from __future__ import annotations

import shlex
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Final

import click

from claude_session_player.cli._options import (
    filter_options,
    json_options,
    open_store,
    reading_bar,
    store_options,
    utc_option,
)
from claude_session_player.cli._output import print_records, print_styled, stdout
from claude_session_player.cli._refs import complete_ref, needs_store
from claude_session_player.doctor import FINDING_KINDS, Finding, Severity
from claude_session_player.errors import Ambiguous, CannotRead, NoStore, NoSuchSession, SessionError
from claude_session_player.store import Filter
from claude_session_player.util import humanize
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.text import display_path, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claude_session_player.doctor import VerifyReport
    from claude_session_player.store import SessionFile, Store

_MOST: Final = 10
_NOUNS: Final = {
    Severity.ERROR: ("error", "errors"),
    Severity.WARNING: ("warning", "warnings"),
    Severity.ADVICE: ("piece of advice", "pieces of advice"),
}
_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.ADVICE: "cyan"}


def at_least(findings: Sequence[Finding], severity: Severity) -> list[Finding]:
    """The findings that are so bad, or worse."""
    return [finding for finding in findings if finding.kind.severity >= severity]


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


def report_text(report: VerifyReport, severity: Severity, *, in_colour: bool) -> Iterator[str]:
    """A report for people: files with what is wrong with each, kind by kind, and what it comes to."""
    for path, of_file in groupby(at_least(report.findings, severity), lambda finding: finding.path):
        yield (
            click.style(printable(humanize.path_from_cwd(display_path(path))), bold=True) if in_colour else _plain(path)
        )
        by_kind = sorted(of_file, key=lambda finding: FINDING_KINDS.index(finding.kind))
        for _, alike in groupby(by_kind, lambda finding: finding.kind):
            yield from _of_kind(list(alike), in_colour)
        yield ""
    yield _total(report, severity)


def _plain(path: str) -> str:
    return printable(humanize.path_from_cwd(display_path(path)))


def _of_kind(findings: Sequence[Finding], in_colour: bool) -> Iterator[str]:
    kind = findings[0].kind
    word = kind.severity.name.lower()
    word = click.style(word, fg=_COLOURS[kind.severity]) if in_colour else word
    yield f"  {word}: {f'{kind.problem}: ' if kind.problem else ''}{kind.what}"
    for finding in findings[:_MOST]:
        place = f"line {finding.line}, byte {finding.offset}" if finding.line is not None else ""
        if said := ": ".join(filter(None, (place, printable(display_path(finding.detail))))):
            yield f"    {said}"
    if len(findings) > _MOST:
        yield f"    … and {len(findings) - _MOST} more (--json names them all)"
    yield f"    → {_advice(findings[0])}"


def _advice(finding: Finding) -> str:
    return finding.kind.advice.format(repair=f"{PROGRAM} repair {shlex.quote(_plain(finding.path))} -o NEW.jsonl")


def _total(report: VerifyReport, severity: Severity) -> str:
    counts = Counter(finding.kind.severity for finding in report.findings)
    worst_first = sorted(counts, reverse=True)
    seen = [_many(counts[one], one) for one in worst_first if one >= severity]
    unseen = [_many(counts[one], one) for one in worst_first if one < severity]
    more = f" ({', '.join(unseen)} left out: see --severity)" if unseen else ""
    looked_at = f"{humanize.plural(report.files, 'file')}, {humanize.size(report.bytes)}"
    return f"{looked_at}: {', '.join(seen) or 'nothing is wrong'}{more}"


def _many(count: int, severity: Severity) -> str:
    return humanize.plural(count, *_NOUNS[severity])


FOUND_SOMETHING: Final = 1
CANNOT_READ: Final = 2
_SEVERITIES: Final = ("advice", "warning", "error")


class NotVerified(SessionError):
    """There is nothing to look at."""

    exit_code: ClassVar[int] = CANNOT_READ


@click.command()
@click.argument("refs", nargs=-1, shell_complete=complete_ref, metavar="[REF]...")
@click.option("--all", "is_all", is_flag=True, help="All sessions of the stores.")
@click.option(
    "--severity",
    type=click.Choice(_SEVERITIES),
    default="warning",
    show_default=True,
    help="Only findings that are so bad, or worse.",
)
@filter_options
@json_options
@utc_option
@store_options
def command(refs: tuple[str, ...], is_all: bool, severity: str, wanted: Filter, form: str | None, **where: Any) -> int:
    """Check sessions for damage, and for everything that does not fit together.

    Each finding comes with its severity, its line and byte in the file, and what to do. REF is a path, an id or at
    least 4 characters of its beginning, latest, or a title in quotes; the sub-agents of a session are checked with
    it. Instead of naming sessions, choose them with the filters of 'list', or take --all.

    \b
    Exit codes:
      0  nothing is wrong
      1  something was found
      2  a session cannot be read, or is not there
    """
    from claude_session_player.doctor import SESSION_NOT_FOUND, UNREADABLE, Severity, verify_files

    if not (refs or is_all or wanted != Filter()):
        raise click.UsageError("name a session, or choose some with --all or a filter like --project")
    try:
        with open_store(**where, required=not refs or any(map(needs_store, refs))) as store:
            files = _named(store, refs) if refs else _chosen(store, wanted)
            with reading_bar("checking sessions") as progress:
                report = verify_files(store, files, progress, is_all=is_all)
    except (CannotRead, NoSuchSession, NoStore, Ambiguous) as error:
        problem = f"{SESSION_NOT_FOUND}: " if isinstance(error, NoSuchSession) else ""
        raise NotVerified(f"{problem}{error}", *error.details) from error
    least = Severity[severity.upper()]
    listed = at_least(report.findings, least)
    if form:
        print_records(map(finding_record, listed), form)
    else:
        print_styled("\n".join(report_text(report, least, in_colour=stdout().isatty())))
    if store.problems or any(finding.kind is UNREADABLE for finding in report.findings):
        return CANNOT_READ
    return FOUND_SOMETHING if listed else 0


def _named(store: Store, refs: Sequence[str]) -> list[SessionFile]:
    """The files of some sessions and of their sub-agents, each once."""
    files: dict[str, SessionFile] = {}
    for ref in refs:
        meant = store.locate(ref)
        session = store.session_of(meant) if isinstance(meant, tuple) else meant
        files |= {part.path: part.file for part in session.parts}
    return list(files.values())


def _chosen(store: Store, wanted: Filter) -> list[SessionFile]:
    if wanted == Filter():  # nothing has to be known of them
        return store.files()
    return list({part.path: part.file for session in store.sessions(wanted) for part in session.parts}.values())
