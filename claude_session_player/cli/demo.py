"""`demo`: replay or play the session that comes with the package."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import click

from claude_session_player.cli._options import examples, format_option, utc_option, view_options
from claude_session_player.cli._output import note_compacted
from claude_session_player.cli._refs import SessionSource, load_screen, print_screen
from claude_session_player.export.registry import OutputKind, formats

if TYPE_CHECKING:
    from claude_session_player.models import View


@click.command(epilog=examples(("demo --play", "play it on the full screen"), ("demo --history", "print all of it")))
@click.option("--play", "is_played", is_flag=True, help="Play the session instead of printing its final screen.")
@view_options
@format_option("text", formats(OutputKind.SCREEN))
@utc_option
def command(is_played: bool, view: View, format: str) -> int:
    """Replay the example session that comes with the program.

    It contains every kind of element: parallel tools, an error, a sub-agent, a compaction.
    """
    with as_file(files("claude_session_player") / "data" / "demo.jsonl") as path:
        source = SessionSource("the demo", str(path))
        if is_played:
            from claude_session_player.cli.play import play_source
            from claude_session_player.player import Timing

            return play_source(source, view, Timing())
        state = load_screen(source, view)
        print_screen(state, format)
        note_compacted(state)
    return 0
