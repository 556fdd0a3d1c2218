"""`memories`: what Claude was asked to remember."""

from __future__ import annotations

from typing import Any

import click

from claude_session_player.cli._options import json_options, open_store, store_options, utc_option
from claude_session_player.cli._output import show


@click.command()
@click.option("--project", metavar="TEXT", help="Memories of a project with this in its path.")
@click.option("--tag", metavar="TAG", help="Memories with this tag.")
@json_options
@utc_option
@store_options
def memories(project: str | None, tag: str | None, form: str | None, **where: Any) -> None:
    """List memories, the last changed first."""
    with open_store(**where) as store:
        found = store.memories(project, tag)
    show(found, form, "print_memories", "there are no memories")


@click.command()
@json_options
@store_options
def settings(form: str | None, **where: Any) -> None:
    """Show the settings of each store. Secrets are masked."""
    with open_store(**where) as store:
        found = store.settings()
    show(found, form, "print_settings", f"there are no settings in {', '.join(store.roots)}")


@click.command()
@click.argument("project", required=False)
@json_options
@utc_option
@store_options
def todos(project: str | None, form: str | None, **where: Any) -> None:
    """List todos: those of todo.jsonl in each project, and those of each session.

    PROJECT is any part of a project's path.
    """
    with open_store(**where) as store:
        found = store.todos(project)
    show(found, form, "print_todos", "there are no todos")
