"""`files`: the files that a session touched, and the content of one as the session knew it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli.output import LINES, print_records, stdout
from claude_session_player.cli.refs import complete_ref, find_session, needs_store
from claude_session_player.cli.showing import say
from claude_session_player.cli.stores import json_options, opened, store_options, utc_option
from claude_session_player.humanize import many

if TYPE_CHECKING:
    from claude_session_player.insight.touched import TouchedFile, Touches
    from claude_session_player.store.session import Session

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
    from claude_session_player.insight.touched import files_of

    with opened(**where, required=needs_store(ref)) as store:
        session = find_session(store, ref)
        files = files_of(session, own)
        if path is not None:
            return _print_content(session, files, path, at, form)
        _print_list(session, files, only, form)
    return 0


def _print_list(session: Session, files: list[TouchedFile], only: tuple[str, ...], form: str | None) -> None:
    counters = [counter for kind in only for counter in _KINDS[kind]]
    wanted = [file for file in files if not only or any(getattr(file.all, name) for name in counters)]
    if form:
        print_records(map(file_record, wanted), form)
    elif wanted:
        from claude_session_player.cli import tables

        tables.print_files(wanted, session.project)
    elif files:
        say(f"the session touched {many(len(files), 'file')}, but none was {' or '.join(only)}")
    else:
        say("the session touched no file")


def _print_content(session: Session, files: list[TouchedFile], given: str, at: int | None, form: str | None) -> int:
    from claude_session_player.cli import contents
    from claude_session_player.errors import NotKnown
    from claude_session_player.insight.named import named_file
    from claude_session_player.insight.rebuilt import rebuilt

    path = named_file(given, [file.path for file in files], session.project)
    told = rebuilt(session.events(), path, at, session.backup)
    agents = next(contents.agents_of(file, told.known) for file in files if file.path == path)
    if form:
        print_records([contents.content_record(told, at, agents)], LINES)
    elif told.known.lines:
        stdout().write(contents.shown(told.known))
    said = contents.remarks(told, agents)
    if not told.known.lines and not form:
        when = f" at line {at}" if at else ""
        raise NotKnown(f"nothing is known of {path}{when}: no tool showed its content", *said)
    if not form:
        for remark in said:
            say(f"warning: {remark}")
    return 0 if told.known.complete else _INCOMPLETE


def file_record(file: TouchedFile) -> dict[str, Any]:
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


def _counts(touches: Touches) -> dict[str, int]:
    return {name: getattr(touches, name) for names in _KINDS.values() for name in names}
