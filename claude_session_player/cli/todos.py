"""`todos`: the todo lists of the stores."""

from __future__ import annotations

from typing import Any

import click

from claude_session_player.cli.showing import show
from claude_session_player.cli.stores import json_options, opened, store_options, utc_option


@click.command()
@click.argument("project", required=False)
@json_options
@utc_option
@store_options
def todos(project: str | None, form: str | None, **where: Any) -> None:
    """List todos: those of todo.jsonl in each project, and those of each session.

    PROJECT is any part of a project's path.
    """
    with opened(**where) as store:
        found = store.todos(project)
    show(found, form, "print_todos", "there are no todos")
