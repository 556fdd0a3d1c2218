"""`get`: show one session with its sub-agents and its events."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._options import (
    archive_options,
    collect_options,
    examples,
    json_options,
    redaction_options,
    utc_option,
)
from claude_session_player.cli._output import (
    EVENT_LIST,
    LINES,
    detailed_record,
    encode_json,
    print_bytes,
    print_object,
    print_records,
    stdout,
)
from claude_session_player.cli._refs import SessionSource, find_session, find_source, needs_store, ref_argument
from claude_session_player.errors import CannotRead
from claude_session_player.util import humanize
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import printable, truncate
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from claude_session_player.cli._options import Redaction, StoreOptions
    from claude_session_player.cli._output import JsonForm
    from claude_session_player.store import Session

EventRange = tuple[int | None, int | None]
_EVERYTHING: Final = (None, None)
_RANGE: Final = r"(-?\d+)?:(-?\d+)?"
_TEXT_WIDTH: Final = 100
_NAME_WIDTH: Final = 12


@dataclass(frozen=True)
class GetOptions:
    """Which part of a session is shown."""

    no_events: bool
    events: EventRange
    line: int | None


def _event_range(ctx: click.Context, param: click.Parameter, value: str | None) -> EventRange:
    match = re.fullmatch(_RANGE, (value or ":").strip())
    if match is None:
        raise click.BadParameter(f"{value!r} is not a range: write FIRST:LAST, like 1:20, 100: or -20:")
    first, last = (int(part) if part else None for part in match.groups())
    return first, last


get_options = collect_options(
    "options",
    GetOptions,
    GetOptions.__annotations__,
    (
        click.option("--no-events", is_flag=True, help="Leave out the events."),
        click.option(
            "--events",
            callback=_event_range,
            metavar="FIRST:LAST",
            help="Only these events, counted from 1; negative numbers count from the end: -20: for the last 20.",
        ),
        click.option(
            "--line", type=click.IntRange(min=1), metavar="N", help="Print only line N of the file, unchanged."
        ),
    ),
)


@click.command(
    epilog=examples(
        ("get latest --no-events", "facts about the last active session"),
        ("get 1f2e --events -20:", "its last 20 events"),
        ("get 1f2e --jsonl", "the session, then one event per line"),
    )
)
@ref_argument
@get_options
@json_options
@redaction_options(default=False)
@utc_option
@archive_options
def command(ref: str, options: GetOptions, form: JsonForm | None, stores: StoreOptions, redaction: Redaction) -> None:
    """Show one session with its sub-agents and events.

    REF is a file, an id, latest (the default) or a title: see 'help refs'. --json prints one object, with the events in
    'event_list'; --jsonl prints the session on the first line, then one event per line. 'read' is another name for
    this command.
    """
    if options.line is not None:
        if options.no_events or form or options.events != _EVERYTHING:
            raise click.UsageError("--line prints one line unchanged: it cannot be combined with other output options")
        print_bytes(_line(redaction.source(find_source(ref, stores)), options.line))
        return
    with stores.open(required=needs_store(ref)) as store:
        session = redaction.session(find_session(store, ref))
        events = None if options.no_events else _events(session, options.events)
        if form == LINES:
            print_records([detailed_record(session)], LINES)
            print_records(events or (), LINES)
        elif form:
            print_object(detailed_record(session), EVENT_LIST, events)
        else:
            print_session(session, events)


def _line(source: SessionSource, number: int) -> Iterator[bytes]:
    """A line of a session file, in portions: only one is in memory at a time."""
    from claude_session_player.format.line_reader import find_line, rest_of_line
    from claude_session_player.parser import open_session

    if source.path is None or not os.path.isfile(source.path):
        raise click.UsageError("--line needs a file: a pipe can be read only once")
    try:
        with open_session(source.path) as file:
            missing = find_line(file, number)
            if missing or not file.peek(1):  # type: ignore[attr-defined]
                raise CannotRead(f"{source.name} has no line {number}: its last line is {number - missing - 1}")
            yield from rest_of_line(file)
    except OSError as error:
        raise CannotRead(f"{source.name}: {error.strerror or error}") from error


def _events(session: Session, bounds: EventRange) -> Iterator[dict[str, Any]]:
    """The flat events of a session in a range that counts from 1."""
    from claude_session_player.flat_events import flatten_event
    from claude_session_player.linking.prompts import with_queued_prompts

    first, last = (_from_start(number, session.summary.events) for number in bounds)
    events = (record for event in with_queued_prompts(session.events()) for record in flatten_event(event))
    start = max(first - 1, 0) if first is not None else 0
    return islice(events, start, None if last is None else max(last, 0))


def _from_start(number: int | None, count: int) -> int | None:
    """A number that may count from the end, counted from the start; `islice` takes none above `sys.maxsize`."""
    if number is None:
        return None
    return min(number if number >= 0 else count + 1 + number, sys.maxsize)


# --- for people ---------------------------------------------------------------------------------------


def print_session(session: Session, events: Iterable[dict[str, Any]] | None) -> None:
    """Print facts, sub-agents and events; on a terminal, facts are wrapped and events cut to its width."""
    import shutil

    write = stdout().write
    width = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None
    now = local_now()
    for name, value in _facts(session, now):
        if value:
            write(_wrap(f"{name:<{_NAME_WIDTH}} {printable(value)}", width) + "\n")
    if session.subagents:
        write(f"\n{humanize.plural(session.subagent_count, 'sub-agent')}\n")
        for line in _subagent_lines(session, ""):
            write(f"{_fit(printable(line), width)}\n")
    if events is not None:
        write("\nevents\n")
        for event in events:
            write(f"{_fit(printable(_event_line(event, now)), width)}\n")


def _wrap(text: str, width: int | None) -> str:
    if width is None or len(text) <= width:
        return text
    import textwrap

    room = max(width, 2 * _NAME_WIDTH)
    return "\n".join(textwrap.wrap(text, room, subsequent_indent=" " * (_NAME_WIDTH + 1), break_on_hyphens=False))


def _fit(text: str, width: int | None) -> str:
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
    yield "git branch", summary.git_branch or ""
    yield "model", ", ".join(summary.models)
    yield "version", summary.version or ""
    yield "from", humanize.local_time(summary.created_at, now) if summary.created_at else ""
    age = humanize.in_brackets(humanize.ago(summary.updated_at, now))
    yield "to", f"{humanize.local_time(summary.updated_at, now)}{age}"
    yield "lasted", humanize.short_duration(summary.duration_seconds)
    yield "events", f"{summary.events:,}" + (f", {summary.malformed} malformed" if summary.malformed else "")
    yield "tokens", f"{usage['input_tokens']:,} in, {usage['output_tokens']:,} out" if any(usage.values()) else ""
    yield "size", humanize.size(summary.size) if summary.size else ""
    yield "state", "in use" if summary.in_use else ""
    yield "workflows", ", ".join(run["id"] for run in session.workflows)
    yield "outputs", humanize.plural(len(session.tool_results), "file") if session.tool_results else ""
    yield "path", humanize.path_from_cwd(summary.path)
    yield "first prompt", truncate(_one_line(summary.first_user_message or ""), 2 * _TEXT_WIDTH)
    if summary.last_user_message != summary.first_user_message:
        yield "last prompt", truncate(_one_line(summary.last_user_message or ""), 2 * _TEXT_WIDTH)


def _subagent_lines(session: Session, indent: str) -> Iterator[str]:
    for number, child in enumerate(session.subagents, 1):
        is_last = number == len(session.subagents)
        summary = child.summary
        parts = (summary.workflow or "", summary.agent or "", truncate(summary.title or "", _TEXT_WIDTH))
        words = "  ".join(filter(None, (summary.id, *parts, humanize.plural(summary.events, "event"))))
        yield f"{indent}{'└─' if is_last else '├─'} {words}"
        yield from _subagent_lines(child, indent + ("   " if is_last else "│  "))


def _event_line(event: dict[str, Any], now: datetime) -> str:
    time = humanize.local_time(event["timestamp"], now)[11:] if event["timestamp"] else ""
    text = event.get("text") or event.get("reason") or (encode_json(event["input"]) if event.get("input") else "")
    words = " ".join(filter(None, (event.get("name"), truncate(_one_line(text), _TEXT_WIDTH))))
    return f"{event['line']:>6}  {time:<8}  {event['type']:<12} {words}".rstrip()


def _one_line(text: str) -> str:
    return " ".join(text[: 8 * _TEXT_WIDTH].split())
