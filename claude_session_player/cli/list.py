"""`list`: the sessions of the stores."""

from __future__ import annotations

from typing import Any

import click

from claude_session_player.cli._options import (
    archive_options,
    filter_options,
    json_options,
    open_store,
    store_options,
    utc_option,
)
from claude_session_player.cli._output import print_encoded, say, show
from claude_session_player.store import Filter


@click.command()
@filter_options
@json_options
@utc_option
@archive_options
def command(wanted: Filter, form: str | None, **where: Any) -> None:
    """List sessions, the last active first.

    A title is the name that a person gave the session, else the one that Claude Code gave it, else the first prompt
    that is more than a bare command.
    """
    with open_store(**where) as store:
        sessions = store.sessions(wanted)
    if store.has_removals:
        from claude_session_player.cli.clean import name_interrupted

        name_interrupted(store.roots)
    if form:
        print_encoded((session.json for session in sessions), form)
        return
    if sessions:
        from claude_session_player.cli import _tables

        _tables.print_sessions(sessions, [file.id for file in store.last_files()])
    else:
        like_that = "" if wanted == Filter() else " that is like this"
        say(f"there is no session in {', '.join(store.roots)}{like_that}")


@click.command()
@json_options
@utc_option
@store_options
def projects(form: str | None, **where: Any) -> None:
    """List projects, the last active first.

    The path is the one that the sessions themselves name. Two paths that share a directory of the store are two
    projects.
    """
    with open_store(**where) as store:
        found = store.projects()
    show(found, form, "print_projects", f"there are no projects in {', '.join(store.roots)}")
