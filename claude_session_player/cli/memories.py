"""`memories`: what Claude was asked to remember."""

from __future__ import annotations

from typing import Any

import click

from claude_session_player.cli.showing import show
from claude_session_player.cli.stores import json_options, opened, store_options, utc_option


@click.command()
@click.option("--project", metavar="TEXT", help="Memories of a project with this in its path.")
@click.option("--tag", metavar="TAG", help="Memories with this tag.")
@json_options
@utc_option
@store_options
def memories(project: str | None, tag: str | None, form: str | None, **where: Any) -> None:
    """List memories, the last changed first."""
    with opened(**where) as store:
        found = store.memories(project, tag)
    show(found, form, "print_memories", "there are no memories")
