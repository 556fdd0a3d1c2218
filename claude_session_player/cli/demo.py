"""`demo`: replay the session that ships with the package."""

from __future__ import annotations

from importlib.resources import as_file, files

import click

from claude_session_player.cli.options import chosen_view, print_screen, screen_options
from claude_session_player.cli.refs import Source
from claude_session_player.cli.source import load


@click.command()
@screen_options("text")
def command(history: bool, thinking: bool, full: bool, format: str) -> None:
    """Replay a short session that ships with the package.

    It has every kind of element: parallel tools, an error, a sub-agent, a compaction. Try it with --history.
    """
    with as_file(files("claude_session_player") / "data" / "demo.jsonl") as path:
        state = load(Source("the demo", str(path)), chosen_view(history=history, thinking=thinking, full=full))
    print_screen(state, format)
