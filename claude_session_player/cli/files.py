"""`files`: list the files that a session touched, or print one as the session knew it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._options import (
    collect_options,
    examples,
    is_given,
    json_options,
    moment_filter_options,
    pager_option,
    redaction_options,
    store_options,
    utc_option,
)
from claude_session_player.cli._output import LINES, print_drawn, print_pages, print_records, say, stdout, warn
from claude_session_player.cli._refs import find_session, needs_store, ref_argument
from claude_session_player.files import ContentNote, GapReason, RebuiltFile
from claude_session_player.store import Filter
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import ELLIPSIS, display_path, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.cli._options import Redaction, StoreOptions
    from claude_session_player.cli._output import JsonForm
    from claude_session_player.files import LineRange, PartialText, RecordedTouch, TouchCounts, TouchedFile
    from claude_session_player.store import Session, Store

_INCOMPLETE: Final = 1
_MOST_GAPS: Final = 5
_KINDS: Final = {
    "read": ("reads", "attached"),
    "written": ("writes",),
    "edited": ("edits",),
    "failed": ("failed",),
}
"""The kinds of `--only`, and what each counts."""
_REASONS: Final = {
    GapReason.OUTSIDE: "it was changed outside of the session's tools before line {line}",
    GapReason.UNPLACED: "the change made by {tool} in line {line} is not known",
    GapReason.UNANSWERED: "{tool} in line {line} has no result: whether it succeeded is not known",
}


@dataclass(frozen=True)
class FilesOptions:
    """Which files, and at which point."""

    until: int | None
    main: bool
    only: tuple[str, ...]
    all: bool
    diff: bool
    pager: bool | None


def _kinds(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    words = [word.strip().lower() for word in (value or "").split(",") if word.strip()]
    if unknown := [word for word in words if word not in _KINDS]:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(_KINDS)}")
    return tuple(words)


files_options = collect_options(
    "options",
    FilesOptions,
    FilesOptions.__annotations__,
    (
        click.option(
            "--until",
            type=click.IntRange(min=1),
            metavar="N",
            help="With PATH: its content as known after line N. Default: the end.",
        ),
        click.option("--main", is_flag=True, help="Leave out what sub-agents did."),
        click.option("--only", callback=_kinds, metavar="KINDS", help=f"Only these kinds: {', '.join(_KINDS)}."),
        click.option("--all", is_flag=True, help="Print what all sessions did to the file PATH: files --all PATH."),
        click.option("--diff", is_flag=True, help="With --all: print the changes themselves."),
        pager_option,
    ),
)


@click.command(
    epilog=examples(
        ("files latest", "all files of the last active session"),
        ("files 1f2e --only written,edited", "those that it changed"),
        ("files 1f2e kettle.py --until 40", "a file as known after line 40"),
        ("files --all tea.py --diff", "its changes in all sessions"),
    )
)
@ref_argument
@click.argument("path", required=False)
@files_options
@moment_filter_options("touches with --all")
@json_options
@redaction_options(default=False)
@utc_option
@store_options
def command(
    ref: str,
    path: str | None,
    options: FilesOptions,
    filter: Filter,
    form: JsonForm | None,
    stores: StoreOptions,
    redaction: Redaction,
) -> int:
    """List files a session touched, or print one of them.

    REF is a file, an id, latest (the default) or a title: see 'help refs'. PATH is a path, or the end of one. Its
    content is rebuilt from reads, writes and edits and from the file history; changes by shell commands are not known.
    If only parts are known, the gaps are marked, and the exit code is 1.

    With --all there is no REF: what all sessions did to PATH is listed, newest first.
    """
    if options.all:
        if not is_given(click.get_current_context(), "ref"):
            raise click.UsageError("--all needs a PATH: files --all PATH")
        return _print_history(ref, path, options, filter, form, stores, redaction)
    if filter != Filter() or options.diff:
        given = "--diff" if options.diff else "these filters"
        raise click.UsageError(f"{given} only with --all: files --all PATH")
    if path is None and options.until is not None:
        raise click.UsageError("--until needs a PATH: files REF PATH --until N")
    if path is not None and options.only:
        raise click.UsageError("--only selects files for the list: leave out PATH")
    from claude_session_player.files import touched_files

    with stores.open(required=needs_store(ref)) as store:
        session = redaction.session(find_session(store, ref))
        files = touched_files(session, options.main)
        if path is not None:
            return _print_content(session, files, redaction.masked(path), options.until, form)
        _print_list(session, files, options.only, form)
    return 0


# --- the list -----------------------------------------------------------------------------------------


def _print_list(session: Session, files: list[TouchedFile], only: tuple[str, ...], form: JsonForm | None) -> None:
    counters = [counter for kind in only for counter in _KINDS[kind]]
    rows = [file for file in files if not only or any(getattr(file.all, name) for name in counters)]
    if form:
        print_records(map(touched_file_record, rows), form)
    elif rows:
        from claude_session_player.cli import _tables

        _tables.print_files(rows, session.project)
    elif files:
        say(f"The session touched {plural(len(files), 'file')}, but none was {' or '.join(only)}.")
    else:
        say("The session touched no files.")


def touched_file_record(file: TouchedFile) -> dict[str, Any]:
    """A file that was touched, as JSON data."""
    return {
        "path": file.path,
        **_counts(file.all),
        "created": file.all.created,
        "first_time": file.all.first_time,
        "last_time": file.all.last_time,
        "by": [
            {"agent": agent, **_counts(part), "first_line": part.first_line, "last_line": part.last_line}
            for agent, part in file.by.items()
        ],
    }


def _counts(touches: TouchCounts) -> dict[str, int]:
    return {name: getattr(touches, name) for names in _KINDS.values() for name in names}


# --- one file in all sessions ---------------------------------------------------------------------------


def _print_history(
    given: str,
    extra: str | None,
    options: FilesOptions,
    filter: Filter,
    form: JsonForm | None,
    stores: StoreOptions,
    redaction: Redaction,
) -> int:
    if extra is not None:
        raise click.UsageError("--all needs no REF: files --all PATH")
    if options.until is not None:
        raise click.UsageError("--until is a line of one session: leave it out, or use --to WHEN")
    with stores.open() as store:
        path = _full_path(given)
        touches = _touches(store, path, options, filter)
        if redaction.is_on:
            sessions = {touch.session.head.path: touch.session for touch in touches}
            copies = redaction.copies_of(sessions.values(), store)
            touches = _touches(copies, redaction.masked(path), options, filter)
        if form:
            print_records((file_touch_record(touch, options.diff) for touch in touches), form)
            return 0
        if (first := next(touches, None)) is None:
            say(f"No session touched a file {printable(given)}{' in this selection' if filter.conditions else ''}.")
            return 0
        from claude_session_player.cli import _tables

        rows = chain((first,), touches)
        known = [file.id for file in store.last_files()]
        if not options.diff:
            _tables.print_file_touches(list(rows), known)
        elif options.pager is not False:
            print_pages(_tables.draw_file_diffs(rows, known), is_drawn=True)
        else:
            print_drawn(_tables.draw_file_diffs(rows, known))
    return 0


def _touches(store: Store, path: str, options: FilesOptions, filter: Filter) -> Iterator[RecordedTouch]:
    """What sessions did to a file, as far as the options select it; a session is read when it is needed."""
    from claude_session_player.files import file_history

    sessions = store.sessions(filter._replace(limit=None))
    found = file_history(sessions, path, store.note, own=options.main, newest_first=not filter.reverse)
    chosen = (
        touch
        for touch in found
        if (not options.only or touch.what in options.only)
        and (touch.diff or not options.diff)
        and filter.includes(touch.time)
    )
    return islice(chosen, filter.limit)


def _full_path(given: str) -> str:
    """A path as sessions have it; the end of one stays as it is."""
    return os.path.abspath(os.path.expanduser(given)) if given.startswith(("./", "../", "~")) else given


def file_touch_record(touch: RecordedTouch, with_diff: bool) -> dict[str, Any]:
    """A read or change of a file as JSON data."""
    record = {
        "session": display_path(touch.session.id),
        "project": touch.session.project,
        "agent": touch.agent,
        "path": touch.path,
        "line": touch.line,
        "time": touch.time,
        "tool": touch.tool,
        "what": touch.what,
        "created": touch.created,
        "added": touch.added,
        "removed": touch.removed,
    }
    return record | {"diff": touch.diff} if with_diff else record


# --- the content of one file --------------------------------------------------------------------------


def _print_content(
    session: Session, files: list[TouchedFile], typed: str, until: int | None, form: JsonForm | None
) -> int:
    from claude_session_player.errors import NotKnown
    from claude_session_player.files import find_touched_file, rebuild_file

    path = find_touched_file(typed, [file.path for file in files], session.project)
    rebuilt = rebuild_file(session.events(), path, until, session.backup)
    agents = next(_agents_to_name(file, rebuilt.known) for file in files if file.path == path)
    if form:
        print_records([content_record(rebuilt, until, agents)], LINES)
    elif rebuilt.known.lines:
        stdout().write(content_text(rebuilt.known))
    warnings = _warnings(rebuilt, agents)
    if not rebuilt.known.lines and not form:
        when = f" at line {until}" if until else ""
        raise NotKnown(f"nothing is known of {path}{when}: no tool showed its content", *warnings)
    if not form:
        for warning in warnings:
            warn(warning)
    return 0 if rebuilt.known.complete else _INCOMPLETE


def _agents_to_name(file: TouchedFile, known: PartialText) -> list[str]:
    """The sub-agents that changed a file; or that touched it, if the session itself knows nothing of it."""
    return [agent for agent, touches in file.by.items() if agent is not None and (touches.changes or not known.lines)]


def content_text(known: PartialText) -> str:
    """The known text, with one line in place of each gap."""
    if known.complete:
        return known.text
    marks = {gap.first: f"{ELLIPSIS} {_describe_gap(gap)} {ELLIPSIS}" for gap in known.unknown()}
    runs = {start: "\n".join(run) for start, run in known.runs()}
    pieces = marks | runs
    text = "\n".join(pieces[at] for at in sorted(pieces))
    return text if known.total in known.lines else f"{text}\n"


def _warnings(rebuilt: RebuiltFile, agents: list[str]) -> Iterator[str]:
    """What a reader has to know besides the content, a line each."""
    known = rebuilt.known
    if known.lines and not known.complete:
        of_all = f" of {known.total}" if known.total is not None else ""
        lines = "line is" if len(known.lines) == 1 else "lines are"
        gaps = [_describe_gap(gap) for gap in known.unknown()]
        more = [f"{ELLIPSIS} and {plural(len(gaps) - _MOST_GAPS, 'more gap')}"] if len(gaps) > _MOST_GAPS else []
        yield f"{len(known.lines)}{of_all} {lines} known; {'; '.join(gaps[:_MOST_GAPS] + more)}"
    for note in rebuilt.notes:
        yield _describe_note(note)
    for agent in agents:
        id = printable(display_path(agent))
        did = "changed it, too" if known.lines else "touched it"
        yield f"sub-agent {id} {did}: see '{PROGRAM} files {id} {printable(rebuilt.path)}'"


def _describe_note(note: ContentNote) -> str:
    return _REASONS[note.reason].format(line=note.line, tool=printable(note.tool))


def _describe_gap(gap: LineRange) -> str:
    first, last = gap
    if last is None:
        return f"nothing is known after line {first - 1}" if first > 1 else "nothing else is known"
    return f"line {first} is not known" if first == last else f"lines {first}–{last} are not known"


def content_record(rebuilt: RebuiltFile, until: int | None, agents: list[str]) -> dict[str, Any]:
    """The content of a file as JSON data."""
    known = rebuilt.known
    return {
        "path": rebuilt.path,
        "at": until,
        "complete": known.complete,
        "lines": known.total,
        "lines_known": len(known.lines),
        "unknown": [list(gap) for gap in known.unknown()],
        "content": known.text if known.complete else None,
        "parts": [] if known.complete else [{"line": at, "text": "\n".join(run)} for at, run in known.runs()],
        "sources": [source._asdict() for source in rebuilt.sources],
        "notes": [{"line": note.line, "reason": note.reason.value, "tool": note.tool} for note in rebuilt.notes],
        "agents": agents,
    }
