"""`verify`: what is wrong with sessions, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import click

from claude_session_player.cli.filters import filter_options
from claude_session_player.cli.output import print_records, print_styled, stdout
from claude_session_player.cli.refs import complete_ref, needs_store
from claude_session_player.cli.stores import json_options, opened, reading_bar, store_options, utc_option
from claude_session_player.errors import Ambiguous, CannotRead, NoStore, NoSuchSession, SessionError
from claude_session_player.store.filters import Filter

if TYPE_CHECKING:
    from claude_session_player.store.layout import Found
    from claude_session_player.store.store import Store

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
    from claude_session_player.care.findings import NOT_FOUND, UNREADABLE, Severity
    from claude_session_player.care.verify import verify
    from claude_session_player.cli import findings

    if not (refs or is_all or wanted != Filter()):
        raise click.UsageError("name a session, or choose some with --all or a filter like --project")
    try:
        with opened(**where, required=not refs or any(map(needs_store, refs))) as store:
            files = _named(store, refs) if refs else _chosen(store, wanted)
            with reading_bar("checking sessions") as progress:
                report = verify(store, files, progress, is_all=is_all)
    except (CannotRead, NoSuchSession, NoStore, Ambiguous) as error:
        problem = f"{NOT_FOUND}: " if isinstance(error, NoSuchSession) else ""
        raise NotVerified(f"{problem}{error}", *error.details) from error
    least = Severity[severity.upper()]
    listed = findings.at_least(report.findings, least)
    if form:
        print_records(map(findings.record, listed), form)
    else:
        print_styled("\n".join(findings.told(report, least, in_colour=stdout().isatty())))
    if store.troubles or any(finding.kind is UNREADABLE for finding in report.findings):
        return CANNOT_READ
    return FOUND_SOMETHING if listed else 0


def _named(store: Store, refs: Sequence[str]) -> list[Found]:
    """The files of some sessions and of their sub-agents, each once."""
    files: dict[str, Found] = {}
    for ref in refs:
        meant = store.locate(ref)
        session = store.of(meant) if isinstance(meant, tuple) else meant
        files |= {part.path: part.found for part in session.parts}
    return list(files.values())


def _chosen(store: Store, wanted: Filter) -> list[Found]:
    if wanted == Filter():  # nothing has to be known of them
        return store.files()
    return list({part.path: part.found for session in store.sessions(wanted) for part in session.parts}.values())
