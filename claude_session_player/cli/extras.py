"""`todos`, `memories` and `settings`: what a store holds besides sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from claude_session_player.cli._options import examples, json_options, store_options, utc_option
from claude_session_player.cli._output import print_list

if TYPE_CHECKING:
    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.cli._output import JsonForm


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
