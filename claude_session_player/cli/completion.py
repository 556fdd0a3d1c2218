"""`completion`: what a shell needs to complete commands, options and session ids."""

from __future__ import annotations

import os
from typing import Final

import click
from click.shell_completion import get_completion_class, shell_complete

from claude_session_player.cli import COMPLETION_VARIABLES

SHELLS: Final = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print a script that teaches a shell to complete commands, options and session ids.

    \b
      bash: claude-session-player completion bash > ~/.claude-session-player.bash
            and in ~/.bashrc: source ~/.claude-session-player.bash
      zsh:  the same with zsh and ~/.zshrc
      fish: claude-session-player completion fish > ~/.config/fish/completions/claude-session-player.fish
    """
    from claude_session_player.cli.app import app
    from claude_session_player.cli.output import print_text

    kind = get_completion_class(shell)
    assert kind is not None
    for program, variable in COMPLETION_VARIABLES.items():
        print_text(kind(app, {}, program, variable).source())


def answer_shell(app: click.Command) -> int:
    """Answer a shell that asks for completions."""
    for program, variable in COMPLETION_VARIABLES.items():
        if instruction := os.environ.get(variable):
            return shell_complete(app, {}, program, variable, instruction)
    return 1
