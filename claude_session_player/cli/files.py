"""`files`: the files that a session touched, and the content of one as the session knew it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._options import json_options, open_store, store_options, utc_option
from claude_session_player.cli._output import LINES, print_records, say, stdout
from claude_session_player.cli._refs import complete_ref, find_session, needs_store
from claude_session_player.files import ContentNote, GapReason, RebuiltFile
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import ELLIPSIS, display_path as spelled, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.files import LineRange, PartialText, TouchCounts, TouchedFile
    from claude_session_player.store import Session

_MOST: Final = 5
_REASONS: Final = {
    GapReason.OUTSIDE: "it was changed outside of the session's tools before line {line}",
    GapReason.UNPLACED: "what the {tool} of line {line} changed cannot be told",
    GapReason.UNANSWERED: "the {tool} of line {line} has no result: whether it was done is not known",
}


def agents_of(file: TouchedFile, known: PartialText) -> list[str]:
    """The sub-agents that changed a file, or, where the session knows nothing of it, that touched it."""
    return [agent for agent, touches in file.by.items() if agent is not None and (touches.changes or not known.lines)]


def content_text(known: PartialText) -> str:
    """The text as it is known; a line in place of each stretch that is not."""
    if known.complete:
        return known.text
    marks = {stretch.first: f"{ELLIPSIS} {_unknown(stretch)} {ELLIPSIS}" for stretch in known.unknown()}
    runs = {start: "\n".join(run) for start, run in known.runs()}
    pieces = marks | runs
    text = "\n".join(pieces[at] for at in sorted(pieces))
    return text if known.total in known.lines else f"{text}\n"


def remarks(told: RebuiltFile, agents: list[str]) -> Iterator[str]:
    """What has to be said beside the content, a line each."""
    known = told.known
    if known.lines and not known.complete:
        of_all = f" of {known.total}" if known.total is not None else ""
        lines = "line is" if len(known.lines) == 1 else "lines are"
        gaps = [_unknown(stretch) for stretch in known.unknown()]
        more = [f"{ELLIPSIS} and {plural(len(gaps) - _MOST, 'more gap')}"] if len(gaps) > _MOST else []
        yield f"{len(known.lines)}{of_all} {lines} known; {'; '.join(gaps[:_MOST] + more)}"
    for note in told.notes:
        yield _said(note)
    for agent in agents:
        id = printable(spelled(agent))
        did = "changed it, too" if known.lines else "touched it"
        yield f"sub-agent {id} {did}: see '{PROGRAM} files {id} {printable(told.path)}'"


def _said(note: ContentNote) -> str:
    return _REASONS[note.reason].format(line=note.line, tool=printable(note.tool))


def _unknown(stretch: LineRange) -> str:
    first, last = stretch
    if last is None:
        return f"what comes behind line {first - 1} is not known" if first > 1 else "nothing else is known"
    return f"line {first} is not known" if first == last else f"lines {first}–{last} are not known"


def content_record(told: RebuiltFile, at: int | None, agents: list[str]) -> dict[str, Any]:
    """The content as JSON data."""
    known = told.known
    return {
        "path": told.path,
        "at": at,
        "complete": known.complete,
        "lines": known.total,
        "lines_known": len(known.lines),
        "unknown": [list(stretch) for stretch in known.unknown()],
        "content": known.text if known.complete else None,
        "parts": [] if known.complete else [{"line": at, "text": "\n".join(run)} for at, run in known.runs()],
        "sources": [source._asdict() for source in told.sources],
        "notes": [{"line": note.line, "reason": note.reason.value, "tool": note.tool} for note in told.notes],
        "agents": agents,
    }


_KINDS: Final = {
    "read": ("reads", "attached"),
    "written": ("writes",),
    "edited": ("edits",),
    "failed": ("failed",),
}
_INCOMPLETE: Final = 1


def _kinds(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    words = [word.strip().lower() for word in (value or "").split(",") if word.strip()]
    if strange := [word for word in words if word not in _KINDS]:
        raise click.BadParameter(f"{strange[0]!r} is none of {', '.join(_KINDS)}")
    return tuple(words)


@click.command()
@click.argument("ref", shell_complete=complete_ref)
@click.argument("path", required=False)
@click.option("--at", type=click.IntRange(min=1), metavar="N", help="With PATH: as it was known after line N.")
@click.option("--main", "own", is_flag=True, help="Leave out what sub-agents did.")
@click.option(
    "--only", callback=_kinds, metavar="KINDS", help=f"Only files of these kinds, with commas: {', '.join(_KINDS)}."
)
@json_options
@utc_option
@store_options
def command(
    ref: str, path: str | None, at: int | None, own: bool, only: tuple[str, ...], form: str | None, **where: Any
) -> int:
    """List the files that a session read, wrote and edited; with PATH, print one as the session knew it.

    The content is rebuilt from what was read, written and edited, and from the file history, up to line N of the
    session's file. Where only parts are known, marks stand for the rest, and the exit code is 1. PATH is a path, or
    the end of one. What shell commands did to files is not known. REF is a path, an id or at least 4 characters of
    its beginning, a sub-agent's id, latest, a title in quotes, or a breadcrumb.
    """
    if path is None and at is not None:
        raise click.UsageError("--at needs a PATH: files REF PATH --at N")
    if path is not None and only:
        raise click.UsageError("--only goes with a list of files: leave PATH out")
    from claude_session_player.files import touched_files

    with open_store(**where, required=needs_store(ref)) as store:
        session = find_session(store, ref)
        files = touched_files(session, own)
        if path is not None:
            return _print_content(session, files, path, at, form)
        _print_list(session, files, only, form)
    return 0


def _print_list(session: Session, files: list[TouchedFile], only: tuple[str, ...], form: str | None) -> None:
    counters = [counter for kind in only for counter in _KINDS[kind]]
    wanted = [file for file in files if not only or any(getattr(file.all, name) for name in counters)]
    if form:
        print_records(map(touched_file_record, wanted), form)
    elif wanted:
        from claude_session_player.cli import _tables

        _tables.print_files(wanted, session.project)
    elif files:
        say(f"the session touched {plural(len(files), 'file')}, but none was {' or '.join(only)}")
    else:
        say("the session touched no file")


def _print_content(session: Session, files: list[TouchedFile], given: str, at: int | None, form: str | None) -> int:
    from claude_session_player.errors import NotKnown
    from claude_session_player.files import find_touched_file, rebuild_file

    path = find_touched_file(given, [file.path for file in files], session.project)
    told = rebuild_file(session.events(), path, at, session.backup)
    agents = next(agents_of(file, told.known) for file in files if file.path == path)
    if form:
        print_records([content_record(told, at, agents)], LINES)
    elif told.known.lines:
        stdout().write(content_text(told.known))
    said = remarks(told, agents)
    if not told.known.lines and not form:
        when = f" at line {at}" if at else ""
        raise NotKnown(f"nothing is known of {path}{when}: no tool showed its content", *said)
    if not form:
        for remark in said:
            say(f"warning: {remark}")
    return 0 if told.known.complete else _INCOMPLETE


def touched_file_record(file: TouchedFile) -> dict[str, Any]:
    """A file that was touched as JSON data."""
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
