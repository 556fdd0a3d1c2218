"""`settings`: the settings of the stores."""

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
    """Show the settings of each store. Secrets are masked."""
    with opened(**where) as store:
        settings = store.settings()
    if form:
        print_records(map(record, settings), form)
    elif settings:
        from claude_session_player.cli import tables

        tables.print_settings(settings)
    else:
        print(f"there are no settings in {', '.join(store.roots)}", file=sys.stderr)
