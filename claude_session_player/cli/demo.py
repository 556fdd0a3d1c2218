"""`demo`: replay the session that ships with the package."""

from __future__ import annotations

from importlib.resources import as_file, files

import click

from claude_session_player.cli._options import utc_option
from claude_session_player.cli._output import note_left_out
from claude_session_player.cli._refs import SessionSource, load_screen
from claude_session_player.cli._screen import chosen_view, print_screen, screen_options
from claude_session_player.player import Timing


@click.command()
@click.option("--play", "is_played", is_flag=True, help="Play it, as 'play' does.")
@screen_options("text")
@utc_option
def command(is_played: bool, history: bool, thinking: bool, full: bool, format: str) -> int:
    """Replay a short session that ships with the package.

    It has every kind of element: parallel tools, an error, a sub-agent, a compaction. Try it with --history.
    """
    view = chosen_view(history=history, thinking=thinking, full=full)
    with as_file(files("claude_session_player") / "data" / "demo.jsonl") as path:
        source = SessionSource("the demo", str(path))
        if is_played:
            from claude_session_player.cli.play import play_recording

            return play_recording(source, view, Timing())
        state = load_screen(source, view)
        print_screen(state, format)
        note_left_out(state)
    return 0
