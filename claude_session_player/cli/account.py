"""`account`: account for every line of a session file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._options import examples, json_option, store_options
from claude_session_player.cli._output import print_object, print_text
from claude_session_player.cli._refs import find_source, load_screen, ref_argument
from claude_session_player.line_audit import LineAudit, LineStatus
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.cli._options import StoreOptions

_MEANINGS: Final = {
    LineStatus.SHOWN: "became an element of the screen",
    LineStatus.MERGED: "changed an element: results and progress of tools",
    LineStatus.HIDDEN: "left out by a rule",
    LineStatus.UNKNOWN: "records of unknown type",
    LineStatus.MALFORMED: "could not be read",
}


@click.command(epilog=examples(("account latest", "the last active session"), ("account session.jsonl", "a file")))
@ref_argument
@json_option
@store_options
def command(ref: str, as_json: bool, stores: StoreOptions) -> None:
    """Account for every line of a session file.

    Each line is shown, merged into another element, hidden by a rule, of unknown type, or malformed. The counts add up
    to the number of lines. REF is a file, an id, latest (the default) or a title: see 'help refs'.
    """
    source = find_source(ref, stores)
    audit = load_screen(source).account
    if as_json:
        print_object(audit_record(source.name, audit))
    else:
        print_text("\n".join(audit_table(source.name, audit)))


def audit_record(name: str, audit: LineAudit) -> dict[str, Any]:
    """The audit as JSON data."""
    from msgspec.structs import asdict

    return {
        "session": name,
        "lines": audit.lines,
        "shown": audit.total(LineStatus.SHOWN),
        "merged": audit.total(LineStatus.MERGED),
        "hidden": audit.total(LineStatus.HIDDEN),
        "unknown": audit.total(LineStatus.UNKNOWN),
        "malformed": audit.total(LineStatus.MALFORMED),
        "hidden_by_rule": audit.by_rule(LineStatus.HIDDEN),
        "unknown_types": dict(audit.unknown_events),
        "issues": [asdict(issue) for issue in audit.issues],
    }


def audit_table(name: str, audit: LineAudit) -> Iterator[str]:
    """The audit for people, line by line."""
    yield f"{name}: {plural(audit.lines, 'line')}"
    for status in LineStatus:
        yield f"{audit.total(status):>8}  {status.name.lower():<10} {_MEANINGS[status]}"
        yield from _details(audit, status)


def _details(audit: LineAudit, status: LineStatus) -> Iterator[str]:
    match status:
        case LineStatus.HIDDEN:
            for rule, lines in audit.by_rule(status).items():
                yield f"{lines:>16}  {printable(rule)}"
        case LineStatus.UNKNOWN:
            for kind, records in audit.unknown_events.items():
                yield f"{records:>16}  {printable(kind)} (first in line {audit.first_seen[kind]})"
        case LineStatus.MALFORMED:
            for issue in audit.issues:
                yield f"{'':>16}  line {issue.line}, byte {issue.offset}: {issue.reason}"
