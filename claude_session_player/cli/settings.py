"""`settings`: the settings of the stores."""

from __future__ import annotations

from typing import Any

import click

from claude_session_player.cli.showing import show
from claude_session_player.cli.stores import json_options, opened, store_options


@click.command()
@json_options
@store_options
def settings(form: str | None, **where: Any) -> None:
    """Show the settings of each store. Secrets are masked."""
    with opened(**where) as store:
        found = store.settings()
    show(found, form, "print_settings", f"there are no settings in {', '.join(store.roots)}")
