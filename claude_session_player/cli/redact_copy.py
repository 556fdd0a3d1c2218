"""Stand-in, replaced by the branch of its own."""

from __future__ import annotations

import click


@click.command()
@click.argument("ref", default="latest")
def command(ref: str) -> int:
    """Write a redacted copy of a session."""
    raise click.UsageError("not there yet")
