"""`account`: what became of every line of a session file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from msgspec.structs import asdict

from claude_session_player.cli._options import store_options
from claude_session_player.cli._output import print_text
from claude_session_player.cli._refs import complete_ref, find_source, load_screen
from claude_session_player.format import lenient_json
from claude_session_player.line_audit import LineAudit, LineStatus
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEANINGS: Final = {
    LineStatus.SHOWN: "became an element of the screen",
    LineStatus.MERGED: "changed an element: results and progress of tools",
    LineStatus.HIDDEN: "left out by a rule",
    LineStatus.UNKNOWN: "records of unknown type",
    LineStatus.MALFORMED: "could not be read",
}


@click.command()
@click.argument("ref", shell_complete=complete_ref)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@store_options
def command(ref: str, as_json: bool, **where: Any) -> None:
    """Account for every line of a session file.

    Each line was shown, merged into another element, hidden by a rule, is of an unknown type, or malformed. The
    counts add up to the number of lines. REF is a session file (*.jsonl), or - for standard input; or it names a
    session of the store: an id or at least 4 characters of its beginning, latest, a title in quotes, a breadcrumb.
    """
    source = find_source(ref, **where)
    account, name = load_screen(source).account, source.name
    print_text(lenient_json.compact(audit_record(name, account)) if as_json else "\n".join(audit_table(name, account)))


def audit_record(session: str, account: LineAudit) -> dict[str, Any]:
    """The account as JSON data."""
    return {
        "session": session,
        "lines": account.lines,
        "shown": account.total(LineStatus.SHOWN),
        "merged": account.total(LineStatus.MERGED),
        "hidden": account.total(LineStatus.HIDDEN),
        "unknown": account.total(LineStatus.UNKNOWN),
        "malformed": account.total(LineStatus.MALFORMED),
        "hidden_by_rule": account.by_rule(LineStatus.HIDDEN),
        "unknown_types": dict(account.unknown_events),
        "issues": [asdict(issue) for issue in account.issues],
    }


def audit_table(session: str, account: LineAudit) -> Iterator[str]:
    """The account for people, a line each."""
    yield f"{session}: {plural(account.lines, 'line')}"
    for fate in LineStatus:
        yield f"{account.total(fate):>8}  {fate.name.lower():<10} {_MEANINGS[fate]}"
        yield from _details(account, fate)


def _details(account: LineAudit, fate: LineStatus) -> Iterator[str]:
    match fate:
        case LineStatus.HIDDEN:
            for rule, lines in account.by_rule(fate).items():
                yield f"{lines:>16}  {printable(rule)}"
        case LineStatus.UNKNOWN:
            for kind, records in account.unknown_events.items():
                yield f"{records:>16}  {printable(kind)} (first in line {account.first_seen[kind]})"
        case LineStatus.MALFORMED:
            for issue in account.issues:
                yield f"{'':>16}  line {issue.line}, byte {issue.offset}: {issue.reason}"
