"""`get`: one session with its sub-agents and its events."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._options import archive_options, json_options, open_store, utc_option
from claude_session_player.cli._output import (
    EVENT_LIST,
    LINES,
    detailed_record,
    print_bytes,
    print_object,
    print_records,
    stdout,
)
from claude_session_player.cli._refs import SessionSource, complete_ref, find_session, find_source, needs_store
from claude_session_player.errors import CannotRead
from claude_session_player.format import lenient_json
from claude_session_player.util import humanize
from claude_session_player.util.text import printable, truncate
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from claude_session_player.store import Session

_TEXT: Final = 100
_NAME: Final = 12


def print_session(session: Session, events: Iterable[dict[str, Any]] | None) -> None:
    """Write all of it to stdout; on a terminal, facts are wrapped and events cut to its width."""
    write = stdout().write
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    now = local_now()
    for name, value in _facts(session, now):
        if value:
            write(_wrapped(f"{name:<{_NAME}} {printable(value)}", width) + "\n")
    if session.subagents:
        count = session.subagent_count
        write(f"\n{humanize.plural(count, 'sub-agent')}\n")
        for line in _tree(session, ""):
            write(f"{_fitted(printable(line), width)}\n")
    if events is not None:
        write("\nevents\n")
        for event in events:
            write(f"{_fitted(printable(_event(event, now)), width)}\n")


def _wrapped(text: str, width: int | None) -> str:
    if width is None or len(text) <= width:
        return text
    room = max(width, 2 * _NAME)
    return "\n".join(textwrap.wrap(text, room, subsequent_indent=" " * (_NAME + 1), break_on_hyphens=False))


def _fitted(text: str, width: int | None) -> str:
    return text if width is None else truncate(text, max(width - 1, 0))


def _facts(session: Session, now: datetime) -> Iterator[tuple[str, str]]:
    summary = session.summary
    usage = summary.usage
    yield "title", summary.title or "(no title)"
    yield "id", summary.id
    yield "parent", " / ".join(filter(None, (summary.parent_id, summary.parent_agent_id)))
    yield "agent", summary.agent or ""
    yield "workflow", summary.workflow or ""
    yield "project", summary.project or ""
    yield "cwd", summary.cwd if summary.cwd and summary.cwd != summary.project else ""
    yield "branch", summary.git_branch or ""
    yield "model", ", ".join(summary.models)
    yield "version", summary.version or ""
    yield "from", humanize.local_time(summary.created_at, now) if summary.created_at else ""
    yield (
        "to",
        f"{humanize.local_time(summary.updated_at, now)}{humanize.in_brackets(humanize.ago(summary.updated_at, now))}",
    )
    yield "lasted", humanize.short_duration(summary.duration_seconds)
    yield "events", f"{summary.events:,}" + (f", {summary.malformed} malformed" if summary.malformed else "")
    yield "tokens", f"{usage['input_tokens']:,} in, {usage['output_tokens']:,} out" if any(usage.values()) else ""
    yield "size", humanize.size(summary.size) if summary.size else ""
    yield "state", "in use" if summary.in_use else ""
    yield "workflows", ", ".join(run["id"] for run in session.workflows)
    yield "outputs", humanize.plural(len(session.tool_results), "file") if session.tool_results else ""
    yield "path", humanize.path_from_cwd(summary.path)
    yield "first prompt", truncate(_one_line(summary.first_user_message or ""), 2 * _TEXT)
    if summary.last_user_message != summary.first_user_message:
        yield "last prompt", truncate(_one_line(summary.last_user_message or ""), 2 * _TEXT)


def _tree(session: Session, indent: str) -> Iterator[str]:
    for number, child in enumerate(session.subagents, 1):
        is_last = number == len(session.subagents)
        summary = child.summary
        parts = (summary.workflow or "", summary.agent or "", truncate(summary.title or "", _TEXT))
        about = "  ".join(filter(None, (summary.id, *parts, humanize.plural(summary.events, "event"))))
        yield f"{indent}{'└─' if is_last else '├─'} {about}"
        yield from _tree(child, indent + ("   " if is_last else "│  "))


def _event(event: dict[str, Any], now: datetime) -> str:
    time = humanize.local_time(event["timestamp"], now)[11:] if event["timestamp"] else ""
    said = (
        event.get("text") or event.get("reason") or (lenient_json.compact(event["input"]) if event.get("input") else "")
    )
    words = " ".join(filter(None, (event.get("name"), truncate(_one_line(said), _TEXT))))
    return f"{event['line']:>6}  {time:<8}  {event['type']:<12} {words}".rstrip()


def _one_line(text: str) -> str:
    return " ".join(text[: 8 * _TEXT].split())


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
    with open_store(**where, required=needs_store(ref)) as store:
        session = find_session(store, ref)
        events = None if no_events else _events(session, bounds)
        if form == LINES:
            print_records([detailed_record(session)], LINES)
            print_records(events or (), LINES)
        elif form:
            print_object(detailed_record(session), EVENT_LIST, events)
        else:
            print_session(session, events)


def _line(source: SessionSource, number: int) -> Iterator[bytes]:
    """A line of a session file, with no more of it in memory than a part."""
    from claude_session_player.format.line_reader import find_line, rest_of_line
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
    from claude_session_player.flat_events import flatten_event
    from claude_session_player.linking.prompts import with_queued_prompts

    start, end = (_from_start(number, session.summary.events) for number in bounds)
    events = (facts for event in with_queued_prompts(session.events()) for facts in flatten_event(event))
    first = max(start - 1, 0) if start is not None else 0
    return islice(events, first, None if end is None else max(end, 0))


def _from_start(number: int | None, count: int) -> int | None:
    """A number that counts from the end as one that counts from the start; none is larger than what there can be."""
    if number is None:
        return None
    return min(number if number >= 0 else count + 1 + number, sys.maxsize)
