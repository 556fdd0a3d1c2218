"""Writes docs/cli.md from the help of every command and topic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from claude_session_player.cli.app import COMMANDS, app
from claude_session_player.cli.help import TOPICS
from claude_session_player.util.dirs import PROGRAM

PATH = Path(__file__).parents[1] / "docs" / "cli.md"

_INTRO = f"""\
# Command line

`{PROGRAM}` (short: `csp`) writes data to stdout and messages to stderr. `make docs` generates this page from
`--help`.
"""


def reference() -> str:
    """The whole page."""
    with click.Context(app, info_name=PROGRAM, **app.context_settings) as context:
        sections = [_section(PROGRAM, app.get_help(context))]
        for name in COMMANDS:
            command = app.get_command(context, name)
            assert command is not None
            sections += _sections(command, name, context)
    sections += [_section(f"{PROGRAM} help {topic}", page()) for topic, (_, page) in TOPICS.items()]
    return _INTRO + "".join(sections)


def _sections(command: click.Command, name: str, above: click.Context) -> Iterator[str]:
    """A command and its subcommands."""
    with click.Context(command, info_name=name, parent=above) as context:
        yield _section(context.command_path, command.get_help(context))
        for inner, subcommand in getattr(command, "commands", {}).items():
            yield from _sections(subcommand, inner, context)


def _section(title: str, help: str) -> str:
    return f"\n## {title}\n\n```text\n{help}\n```\n"


if __name__ == "__main__":
    PATH.write_text(reference(), encoding="utf-8")
