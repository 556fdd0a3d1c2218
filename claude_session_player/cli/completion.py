"""`completion`: scripts that let a shell complete commands, options and session ids."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    shell_complete,
)

from claude_session_player.cli import COMPLETION_VARIABLES
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

_SIGNS: Final = frozenset("._-+ ")
"""Characters that a value may have besides letters and digits: no shell interprets them, and only spaces need quoting.

Values with other characters are not offered, because the scripts in some shells undo quoting.
"""


def is_shell_safe(value: str) -> bool:
    """True for a value that every shell takes for a plain word.

    >>> [is_shell_safe(value) for value in ("1f2e-3d4c", "tea timer", "größe", "$(reboot)", "a;b", "a\\nb", " a")]
    [True, True, True, False, False, False, False]
    """
    return value == value.strip() and all(sign.isalnum() or sign in _SIGNS for sign in value)


def id_items(ids: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Safe ids that start with this, each once; if there is none, files.

    An id that looks like an option is not offered: the command would take it for one.
    """
    matching = (id for id in dict.fromkeys(ids) if id.startswith(incomplete) and is_shell_safe(id))
    items = [CompletionItem(id) for id in matching if not id.startswith("-")]
    return items or [CompletionItem(incomplete, type="file")]


class _ShellSafeComplete(ShellComplete):
    """Offers safe values only, wherever they come from. Paths are left to the shell, which quotes them itself."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        items = super().get_completions(args, incomplete)
        for item in items:
            item.help = item.help and printable(item.help)
        return [item for item in items if (is_shell_safe if item.type == "plain" else str.isprintable)(item.value)]


class _Bash(_ShellSafeComplete, BashComplete):
    """bash inserts a value unchanged, so it has to be quoted; other shells quote it."""

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.type},{shlex.quote(item.value) if item.type == 'plain' else item.value}"


class _Zsh(_ShellSafeComplete, ZshComplete):
    pass


class _Fish(_ShellSafeComplete, FishComplete):
    pass


_CLASSES: Final[dict[str, type[ShellComplete]]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}
SHELLS: Final = tuple(_CLASSES)


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print a completion script for bash, zsh or fish.

    The shell then completes commands, options and session ids with the Tab key.

    \b
    bash:  csp completion bash > ~/.claude-session-player.bash
           and in ~/.bashrc: source ~/.claude-session-player.bash
    zsh:   the same with zsh and ~/.zshrc, below 'autoload -Uz compinit'
           and 'compinit'
    fish:  csp completion fish > ~/.config/fish/conf.d/claude-session-player.fish
    """
    from claude_session_player.cli._output import print_text
    from claude_session_player.cli.app import app

    for program, variable in COMPLETION_VARIABLES.items():
        print_text(_CLASSES[shell](app, {}, program, variable).source())


def answer_shell(app: click.Command) -> int:
    """Answer a shell that asks for completions; on failure, offer none: a message would disturb the command line."""
    for kind in _CLASSES.values():
        add_completion_class(kind)
    for program, variable in COMPLETION_VARIABLES.items():
        instruction = os.environ.get(variable, "")
        if instruction.partition("_")[0] in _CLASSES:
            try:
                return shell_complete(app, {}, program, variable, instruction)
            except Exception:
                return 1
    return 1
