"""`list` and `projects`: the sessions and the projects of the stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from claude_session_player.cli._options import (
    archive_options,
    examples,
    filter_options,
    json_options,
    store_options,
    utc_option,
)
from claude_session_player.cli._output import print_encoded, print_list, say
from claude_session_player.store import Filter

if TYPE_CHECKING:
    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.cli._output import JsonForm


@click.command(
    epilog=examples(
        ("list --limit 10", "the last active sessions"),
        ("list --project kettle --from week", "one project, this week"),
        ("list --sort tokens --json", "those with the most tokens first"),
    )
)
@filter_options
@json_options
@utc_option
@archive_options
def command(filter: Filter, form: JsonForm | None, stores: StoreOptions) -> None:
    """List sessions, most recently active first.

    A session must match all filters that are given. Its title is the name that a person gave it, else the one from
    Claude Code, else its first prompt that is not just a command.
    """
    with stores.open() as store:
        sessions = store.sessions(filter)
    if store.has_removals:
        from claude_session_player.cli.clean import note_interrupted

        note_interrupted(store.roots)
    if form:
        print_encoded((session.json for session in sessions), form)
    elif sessions:
        from claude_session_player.cli import _tables

        _tables.print_sessions(sessions, [file.id for file in store.last_files()])
    else:
        say(no_sessions(store.roots, is_filtered=filter != Filter()))


def no_sessions(roots: tuple[str, ...], *, is_filtered: bool) -> str:
    """What is said where there is no session to show."""
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
