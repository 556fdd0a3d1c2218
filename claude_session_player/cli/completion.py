"""`completion`: what a shell needs to complete commands, options and session ids."""

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
"""What a value may be made of besides letters and digits: no shell obeys any of these, and only spaces need quoting.

Whatever else would have to be quoted is not offered, because scripts that are installed in shells undo some quoting.
"""


def is_shell_safe(value: str) -> bool:
    """True for a value that no shell takes for anything but a word.

    >>> [is_shell_safe(value) for value in ("1f2e-3d4c", "tea timer", "größe", "$(reboot)", "a;b", "a\\nb", " a")]
    [True, True, True, False, False, False, False]
    """
    return value == value.strip() and all(sign.isalnum() or sign in _SIGNS for sign in value)


def id_items(ids: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Harmless ids that begin like this, each once; where there is none, whatever files there are.

    An id that looks like an option is not offered: the command would take it for one.
    """
    fitting = (id for id in dict.fromkeys(ids) if id.startswith(incomplete) and is_shell_safe(id))
    items = [CompletionItem(id) for id in fitting if not id.startswith("-")]
    return items or [CompletionItem(incomplete, type="file")]


class _ShellSafeComplete(ShellComplete):
    """Offers harmless values only, whoever gathered them. Paths are left to the shell, which quotes them itself."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        items = super().get_completions(args, incomplete)
        for item in items:
            item.help = item.help and printable(item.help)
        return [item for item in items if (is_shell_safe if item.type == "plain" else str.isprintable)(item.value)]


class _Bash(_ShellSafeComplete, BashComplete):
    """bash inserts a value as it comes, so that it has to be quoted; other shells quote it."""

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
    """Print a script that teaches a shell to complete commands, options and session ids.

    \b
      bash: claude-session-player completion bash > ~/.claude-session-player.bash
            and in ~/.bashrc: source ~/.claude-session-player.bash
      zsh:  the same with zsh and ~/.zshrc, below 'autoload -Uz compinit && compinit'
      fish: claude-session-player completion fish > ~/.config/fish/conf.d/claude-session-player.fish
    """
    from claude_session_player.cli._output import print_text
    from claude_session_player.cli.app import app

    for program, variable in COMPLETION_VARIABLES.items():
        print_text(_CLASSES[shell](app, {}, program, variable).source())


def answer_shell(app: click.Command) -> int:
    """Answer a shell that asks for completions; where that fails, offer none: nobody asked for a message."""
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
