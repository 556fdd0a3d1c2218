"""`projects`: the projects of the stores."""

from __future__ import annotations

from typing import Any

import click

from claude_session_player.cli.showing import show
from claude_session_player.cli.stores import json_options, opened, store_options, utc_option


@click.command()
@json_options
@utc_option
@store_options
def projects(form: str | None, **where: Any) -> None:
    """List projects, the last active first.

    The path is the one that the sessions themselves name. Two paths that share a directory of the store are two
    projects.
    """
    with opened(**where) as store:
        found = store.projects()
    show(found, form, "print_projects", f"there are no projects in {', '.join(store.roots)}")
