"""`list`, `projects`, `todos`, `memories` and `settings`: what stores hold, as lists."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final

import click

from claude_session_player.cli._options import (
    archive_options,
    examples,
    json_options,
    list_filter_options,
    store_options,
    utc_option,
)
from claude_session_player.cli._output import print_encoded, print_list, say, say_dimmed, stdout
from claude_session_player.store import Filter
from claude_session_player.util.terminal import is_terminal, stream_width

if TYPE_CHECKING:
    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.cli._output import JsonForm

_OTHER_LINES: Final = 3
"""Lines of the terminal for the headings, for how many more there are, and for the prompt of the shell."""
_FEWEST_ROWS: Final = 3
_HINTS: Final = (
    ": 'list --limit 0' shows all, filters like --project show fewer",
    ": 'list --limit 0' shows all",
    ": see --limit 0",
    "",
)
"""What follows the number of sessions that are not listed: the first that fits into the line."""
_HEADLESS_HINTS: Final = (": --no-headless leaves them out, --limit 0 shows all", ": see --no-headless")
"""The same after how many sessions no person sat at."""


@click.command(
    epilog=examples(
        ("list --limit 10", "the last active sessions"),
        ("list --project kettle --from week", "one project, this week"),
        ("list --sort tokens --json", "those with the most tokens first"),
    )
)
@list_filter_options
@json_options
@utc_option
@archive_options
def command(filter: Filter, form: JsonForm | None, stores: StoreOptions) -> None:
    """List sessions, most recently active first.

    A session must match all filters that are given. Its title is the name that a person gave it, else the one from
    Claude Code, else its first prompt that is not just a command.

    On a terminal, as many are listed as there is room for, unless --limit is given.
    """
    with stores.open() as store:
        sessions = store.sessions(filter if filter.limit else filter._replace(limit=None))
    if store.has_removals:
        from claude_session_player.cli.clean import note_interrupted

        note_interrupted(store.roots)
    if form:
        print_encoded((session.json for session in sessions), form)
    elif sessions:
        from claude_session_player.cli import _tables

        shown = sessions if filter.limit is not None else sessions[: _room_for(len(sessions))]
        _tables.print_sessions(shown, [file.id for file in store.last_files()])
        if omitted := len(sessions) - len(shown):
            say_dimmed(_omission(omitted, len(sessions), sum(session.is_headless for session in sessions)))
    else:
        say(no_sessions(store.roots, is_filtered=filter != Filter()))


def _omission(count: int, total: int, headless: int) -> str:
    """How many are not listed and how to see them, in the one line that `_room_for` leaves for it."""
    forms = [f"… {count} more{hint}" for hint in _HINTS]
    if headless:
        forms[:0] = [f"… {count} more; {headless} of {total} are headless{hint}" for hint in _HEADLESS_HINTS]
    if not is_terminal(sys.stderr):
        return forms[0]
    width = stream_width(sys.stderr)
    return next((form for form in forms if len(form) <= width), forms[-1])


def _room_for(count: int) -> int:
    """How many of so many rows a terminal has room for, beside the headings and two lines for what follows."""
    if not is_terminal(stdout()):
        return count
    room = get_terminal_size().lines - _OTHER_LINES
    return count if count <= room + 1 else max(room, _FEWEST_ROWS)  # instead of "1 more", that one is shown


def no_sessions(roots: tuple[str, ...], *, is_filtered: bool) -> str:
    """The message if there are no sessions to show."""
    from claude_session_player.util.text import display_path, printable

    if is_filtered:
        return "No sessions match these filters."
    places = ", ".join(map(display_path, roots))
    return printable(f"No sessions in {places}." if roots else "No sessions in these files.")


@click.command(epilog=examples(("projects", "all projects"), ("projects --json", "as JSON")))
@json_options
@utc_option
@store_options
def projects(form: JsonForm | None, stores: StoreOptions) -> None:
    """List projects, most recently active first.

    A project is a working directory that sessions name; two that share a directory of the store are two projects.
    """
    with stores.open() as store:
        rows = store.projects()
    print_list(rows, form, "print_projects", f"No projects in {', '.join(store.roots)}.")


@click.command(epilog=examples(("todos", "all todos"), ("todos kettle", "those of one project")))
@click.argument("project", required=False)
@json_options
@utc_option
@store_options
def todos(project: str | None, form: JsonForm | None, stores: StoreOptions) -> None:
    """List todos of projects and sessions.

    PROJECT is any part of a project path; without it, todos of all projects are listed. They come from the todo.jsonl
    of each project and from the todo lists of sessions.
    """
    with stores.open() as store:
        rows = store.todos(project)
    print_list(rows, form, "print_todos", "No todos match." if project else "No todos.")


@click.command(epilog=examples(("memories", "all memories"), ("memories --tag style", "those with a tag")))
@click.option("--project", metavar="TEXT", help="Only memories of a project whose path contains TEXT.")
@click.option("--tag", metavar="TAG", help="Only memories with this tag.")
@json_options
@utc_option
@store_options
def memories(project: str | None, tag: str | None, form: JsonForm | None, stores: StoreOptions) -> None:
    """List memories, most recently changed first."""
    with stores.open() as store:
        rows = store.memories(project, tag)
    print_list(rows, form, "print_memories", "No memories match." if project or tag else "No memories.")


@click.command(epilog=examples(("settings", "as a table"), ("settings --json", "as JSON")))
@json_options
@store_options
def settings(form: JsonForm | None, stores: StoreOptions) -> None:
    """Show the settings of each store, with secrets masked."""
    with stores.open() as store:
        rows = store.settings()
    print_list(rows, form, "print_settings", f"No settings in {', '.join(store.roots)}.")
