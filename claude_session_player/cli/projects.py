"""`projects`: the projects of the stores."""

from __future__ import annotations

import sys
from typing import Any

import click

from claude_session_player.cli.output import print_records
from claude_session_player.cli.records import record
from claude_session_player.cli.stores import json_options, opened, store_options


@click.command()
@json_options
@store_options
def command(form: str | None, **where: Any) -> None:
    """List projects, the last active first.

    The path is the one that the sessions themselves name. Two paths that share a directory of the store are two
    projects.
    """
    with opened(**where) as store:
        projects = store.projects()
    if form:
        print_records(map(record, projects), form)
    elif projects:
        from claude_session_player.cli import tables

        tables.print_projects(projects)
    else:
        print(f"there are no projects in {', '.join(store.roots)}", file=sys.stderr)
