"""`secrets`: find API keys, passwords and other secrets in sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import click

from claude_session_player.cli._options import archive_options, examples, filter_options, json_options, utc_option
from claude_session_player.cli._output import (
    has_colours,
    note,
    print_records,
    print_styled,
    print_text,
    reading_bar,
    warn_unreadable,
)
from claude_session_player.cli._refs import complete_ref, locate, needs_store
from claude_session_player.errors import Ambiguous, BadArchive, CannotRead, NoStore, NoSuchSession, SessionError
from claude_session_player.store import LATEST, Filter
from claude_session_player.util import humanize
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.text import display_path, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.cli._output import JsonForm
    from claude_session_player.redact import AuditRules, Secret, SecretPlace, SecretsReport
    from claude_session_player.store import SessionFile, Store

FOUND_SECRETS: Final = 1
CANNOT_READ: Final = 2
_MOST_PLACES: Final = 10
_SHORT_ID: Final = 8
KINDS: Final = ("api-key", "token", "password", "private-key", "cookie", "secret", "known", "custom")
"""The words for kinds of secrets."""


class NotAudited(SessionError):
    """There is nothing to look at: a session cannot be read, or does not exist."""

    exit_code: ClassVar[int] = CANNOT_READ


@click.command(
    epilog=examples(
        ("secrets", "the last active session of this project"),
        ("secrets --all", "all secrets in all sessions"),
        ("secrets --all --details", "with all places"),
        ("secrets --all --from 7d --quiet", "for cron"),
    )
)
@click.argument("refs", nargs=-1, shell_complete=complete_ref, metavar="[REF]...")
@click.option("--all", "is_all", is_flag=True, help="Look at all sessions.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    metavar="KIND",
    help=f"Report only secrets of this kind: {', '.join(KINDS)}; repeatable.",
)
@click.option(
    "--keep",
    "kept",
    multiple=True,
    metavar="KIND",
    help="Do not report this: a kind like cookie, or what a rule finds; repeatable.",
)
@click.option(
    "--known",
    multiple=True,
    metavar="FILE",
    help="Also look for the values of this file (.env, JSON, lines), or of a variable as env:NAME; repeatable.",
)
@click.option(
    "--rules",
    multiple=True,
    metavar="FILE",
    help="Use the rules of this file; repeatable. Default: redact.toml of the project and the user.",
)
@click.option("--deep", "is_deep", is_flag=True, help="Let kingfisher look, too: slower, but it knows more providers.")
@click.option("--details", "has_details", is_flag=True, help="List the places, session by session. Default with REF.")
@click.option("--quiet", "is_quiet", is_flag=True, help="Print nothing if nothing was found.")
@filter_options
@json_options
@utc_option
@archive_options
def command(
    refs: tuple[str, ...],
    is_all: bool,
    kinds: tuple[str, ...],
    kept: tuple[str, ...],
    known: tuple[str, ...],
    rules: tuple[str, ...],
    is_deep: bool,
    has_details: bool,
    is_quiet: bool,
    filter: Filter,
    form: JsonForm | None,
    stores: StoreOptions,
) -> int:
    """Find API keys, passwords and other secrets in sessions.

    REF is a file, an id, latest (the default) or a title: see 'help refs'. Instead of naming sessions, select them with
    filters or --all. Sub-agents, large tool results and workflow runs are read with their session. Secrets are never
    printed: masks like [anthropic-key-1] tell them apart, and stand for others in the next run.

    Exit codes: 0 nothing found, 1 secrets found, 2 something cannot be read or does not exist.
    """
    from claude_session_player.redact import audit_files

    if not (refs or is_all or filter != Filter()):
        refs = (LATEST,)
    audited = _rules(kept, known, rules)
    try:
        with stores.open(required=not refs or any(map(needs_store, refs))) as store:
            files = _named_files(store, refs) if refs else _matching_files(store, filter)
            with reading_bar("looking for secrets") as progress:
                report = audit_files(store, files, audited, progress, is_deep=is_deep)
    except (CannotRead, NoSuchSession, NoStore, Ambiguous, BadArchive) as error:
        raise NotAudited(str(error), *error.details) from error
    found = [secret for secret in report.secrets if not kinds or secret.kind.word in kinds]
    if form:
        print_records(map(secret_record, found), form)
    elif found or not is_quiet:
        _print_report(report, found, has_details=has_details or bool(refs))
    warn_unreadable(report.problems)
    if store.problems or report.problems:
        return CANNOT_READ
    return FOUND_SECRETS if found else 0


def _rules(kept: Sequence[str], known: Sequence[str], rules: Sequence[str]) -> AuditRules:
    """What counts as a secret. Raises `BadRules` or `CannotRead`."""
    from claude_session_player.cli._redaction import kept_words
    from claude_session_player.redact import AuditRules, load_own_rules, read_known

    words = kept_words(kept, rules)
    own = load_own_rules(rules)
    for line in own.notes:
        note(printable(line))
    return AuditRules(words, tuple(one for path in known for one in read_known(path)), own)


def _named_files(store: Store, refs: Iterable[str]) -> list[SessionFile]:
    """The files of the named sessions and of their sub-agents, each once."""
    located = (locate(store, ref) for ref in refs)
    sessions = [store.session_of(one) if isinstance(one, tuple) else one for one in located]
    return list({part.path: part.file for session in sessions for part in session.parts}.values())


def _matching_files(store: Store, filter: Filter) -> list[SessionFile]:
    if filter == Filter():  # nothing has to be known of them
        return store.files()
    return list({part.path: part.file for one in store.sessions(filter) for part in one.parts}.values())


# --- the report ---------------------------------------------------------------------------------------


def secret_record(secret: Secret) -> dict[str, Any]:
    """A secret as JSON data."""
    return {
        "mask": secret.mask,
        "kind": secret.kind.word,
        "rule": secret.rule,
        "found_by": list(secret.found_by),
        "occurrences": secret.occurrences,
        "sessions": secret.sessions,
        "first_seen": secret.first,
        "last_seen": secret.last,
        "places": [
            {
                "session": display_path(place.session),
                "path": display_path(place.path),
                "line": place.line,
                "field": display_path(place.field),
                "preview": display_path(place.preview),
            }
            for place in secret.places
        ],
    }


def _print_report(report: SecretsReport, found: Sequence[Secret], *, has_details: bool) -> None:
    if found:
        _print_table(found)
        print_text("")
    lines = list(details_text(found, in_colour=has_colours())) if has_details else []
    print_styled("\n".join([*lines, printable(total_text(report, found))]))
    if found:
        if not has_details:
            note("--details lists the places")
        note(
            "whoever could read these sessions could use these secrets: revoke them and make new ones; "
            f"'{PROGRAM} clean' removes sessions"
        )


def _print_table(found: Sequence[Secret]) -> None:
    """A line for each secret."""
    from claude_session_player.cli._tables import Column, print_table

    print_table(
        (
            Column("SECRET", [printable(secret.mask) for secret in found], 9, style="bold"),
            Column("KIND", [secret.kind.singular for secret in found], 8),
            Column("PLACES", [f"{secret.occurrences:,}" for secret in found], 7, right=True),
            Column("SESSIONS", [f"{secret.sessions:,}" for secret in found], 6, right=True),
            Column("FIRST", [humanize.day_of(secret.first) or "" for secret in found], 4),
            Column("LAST", [humanize.day_of(secret.last) or "" for secret in found], 5),
            Column("FOUND BY", _finders(found), 2),
            Column("EXAMPLE", [_example(secret) for secret in found], 3, 20, style="cyan"),
        )
    )


def _finders(found: Sequence[Secret]) -> list[str]:
    """What found each of them, if that is not the same for all."""
    if all(secret.found_by == ("rules",) for secret in found):
        return [""] * len(found)
    return [", ".join(secret.found_by) for secret in found]


def _example(secret: Secret) -> str:
    place = secret.places[0]
    return f"{printable(display_path(place.session))[:_SHORT_ID]}{f', line {place.line}' if place.line else ''}"


def details_text(found: Sequence[Secret], *, in_colour: bool) -> Iterator[str]:
    """The places, file by file."""
    by_path: dict[str, list[tuple[Secret, SecretPlace]]] = {}
    for secret in found:
        for place in secret.places:
            by_path.setdefault(place.path, []).append((secret, place))
    for path, places in sorted(by_path.items()):
        name = printable(humanize.path_from_cwd(display_path(path)))
        yield click.style(name, bold=True) if in_colour else name
        places.sort(key=lambda one: one[1].line or 0)
        for _, place in places[:_MOST_PLACES]:
            where = ", ".join(filter(None, (f"line {place.line}" if place.line else "", place.field)))
            yield printable(display_path(f"  {where or 'in its text'}: {place.preview}"))
        if len(places) > _MOST_PLACES:
            yield f"  … and {len(places) - _MOST_PLACES} more (--json lists them)"
        yield ""


def total_text(report: SecretsReport, found: Sequence[Secret]) -> str:
    """How many secrets of which kind there are, in how much."""
    sessions = humanize.plural(report.sessions, "session")
    read = f"{humanize.plural(report.files, 'file')}, {humanize.size(report.bytes)}"
    if not found:
        return f"{sessions}, {read}: no secrets found"
    counts: dict[str, int] = {}
    for kind in dict.fromkeys(secret.kind for secret in sorted(found, key=lambda one: KINDS.index(one.kind.word))):
        count = sum(secret.kind is kind for secret in found)
        counts[f"{count:,} {kind.singular if count == 1 else kind.plural}"] = count
    *most, last = counts
    words = f"{', '.join(most)} and {last}" if most else last
    holding = len({place.session for secret in found for place in secret.places})
    places = humanize.plural(sum(secret.occurrences for secret in found), "place")
    return f"{words} in {holding:,} of {sessions}, {places} ({read})"
