"""`get`: one session with its sub-agents and its events."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli.output import LINES, print_bytes, print_object, print_records
from claude_session_player.cli.records import EVENT_LIST, detailed_record
from claude_session_player.cli.refs import Source, complete_ref, find_session, find_source, needs_store
from claude_session_player.cli.stores import archive_options, json_options, opened, utc_option
from claude_session_player.errors import CannotRead

if TYPE_CHECKING:
    from claude_session_player.store.session import Session

Bounds = tuple[int | None, int | None]

_RANGE: Final = re.compile(r"(-?\d+)?:(-?\d+)?")


def _bounds(ctx: click.Context, param: click.Parameter, value: str | None) -> Bounds:
    match = _RANGE.fullmatch((value or ":").strip())
    if match is None:
        raise click.BadParameter(f"{value!r} is no range: write FROM:TO, like 1:20, 100: or -20:")
    start, end = (int(part) if part else None for part in match.groups())
    return start, end


@click.command()
@click.argument("ref", shell_complete=complete_ref)
@click.option("--no-events", is_flag=True, help="Leave the events out.")
@click.option(
    "--events",
    "bounds",
    callback=_bounds,
    metavar="FROM:TO",
    help="Only these events, counted from 1, both included; negative numbers count from the end: -20: is the last 20.",
)
@click.option(
    "--line",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print only line N of the file, to the letter, however long it is.",
)
@json_options
@utc_option
@archive_options
def command(ref: str, no_events: bool, bounds: Bounds, line: int | None, form: str | None, **where: Any) -> None:
    """Show one session: what it is, its sub-agents, and its events.

    REF is a path, an id or at least 4 characters of its beginning, a sub-agent's id, latest, latest:2, a title in
    quotes, or a breadcrumb (a JSON file, or - for standard input). With --json the events are in 'event_list'; with
    --jsonl the session comes on the first line, then its events, one a line. 'read' is another name for this command.
    """
    if line is not None:
        if no_events or form or bounds != (None, None):
            raise click.UsageError("--line prints a line as it is: no other option applies")
        print_bytes(_line(find_source(ref, **where), line))
        return
    with opened(**where, required=needs_store(ref)) as store:
        session = find_session(store, ref)
        events = None if no_events else _events(session, bounds)
        if form == LINES:
            print_records([detailed_record(session)], LINES)
            print_records(events or (), LINES)
        elif form:
            print_object(detailed_record(session), EVENT_LIST, events)
        else:
            from claude_session_player.cli import details

            details.print_session(session, events)


def _line(source: Source, number: int) -> Iterator[bytes]:
    """A line of a session file, with no more of it in memory than a part."""
    from claude_session_player.line_reader import find_line, rest_of_line
    from claude_session_player.parser import open_session

    if source.path is None or not os.path.isfile(source.path):
        raise click.UsageError("--line needs a file: what comes through a pipe can be read only once")
    try:
        with open_session(source.path) as file:
            missing = find_line(file, number)
            if missing or not file.peek(1):  # type: ignore[attr-defined]
                raise CannotRead(f"{source.name} has no line {number}: it ends with line {number - missing - 1}")
            yield from rest_of_line(file)
    except OSError as error:
        raise CannotRead(f"{source.name}: {error.strerror or error}") from error


def _events(session: Session, bounds: Bounds) -> Iterator[dict[str, Any]]:
    """The normalised events of a session between two numbers, counted from 1."""
    from claude_session_player.linking.prompts import with_queued_prompts
    from claude_session_player.normalized import normalize

    start, end = (_from_start(number, session.summary.events) for number in bounds)
    events = (facts for event in with_queued_prompts(session.events()) for facts in normalize(event))
    first = max(start - 1, 0) if start is not None else 0
    return islice(events, first, None if end is None else max(end, 0))


def _from_start(number: int | None, count: int) -> int | None:
    """A number that counts from the end as one that counts from the start; none is larger than what there can be."""
    if number is None:
        return None
    return min(number if number >= 0 else count + 1 + number, sys.maxsize)
