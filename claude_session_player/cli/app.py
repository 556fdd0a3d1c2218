"""The group of commands. A first word that is no command is taken as a session to replay, options alone as `browse`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from claude_session_player import __version__
from claude_session_player.names import PROGRAM

COMMANDS: Final = (
    "replay",
    "play",
    "follow",
    "browse",
    "export",
    "list",
    "show",
    "get",
    "summary",
    "tree",
    "files",
    "verify",
    "repair",
    "locks",
    "archive",
    "restore",
    "clean",
    "projects",
    "stats",
    "todos",
    "memories",
    "settings",
    "account",
    "demo",
    "completion",
)
"""Each command is a module of its name in this package, with a click command `command`."""
_SHARED_MODULES: Final = {name: (name, name) for name in ("projects", "todos", "memories", "settings")}
"""Commands that share a module with others: the module, and the name of the click command in it."""
ALIASES: Final = {"read": "get"}

_OWN_OPTIONS: Final = ("--help", "-h", "--version")


class Commands(click.Group):
    """Loads a command when it is asked for; everything else is `replay`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of this name."""
        name = ALIASES.get(name, name)
        if name not in COMMANDS:
            return None
        module, attribute = _SHARED_MODULES.get(name, (name, "command"))
        command: click.Command = getattr(import_module(f"claude_session_player.cli.{module}"), attribute)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `replay` before arguments that name no command, or `browse` before options that are its own."""
        if args and args[0] not in (*COMMANDS, *ALIASES, *_OWN_OPTIONS):
            args = ["browse" if _asks_to_browse(ctx, args) else "replay", *args]
        return super().parse_args(ctx, args)


def _asks_to_browse(ctx: click.Context, args: list[str]) -> bool:
    """True for options of `browse` alone; raises where the first word was meant as a command and is none."""
    if ctx.resilient_parsing:  # a shell asks what may follow: most of all a session
        return False
    if not args[0].startswith("-") or args[0] == "-":
        from claude_session_player.cli.suggestions import refuse_unknown_command

        refuse_unknown_command(ctx, args, (*COMMANDS, *ALIASES))
        return False
    from claude_session_player.cli.browse import command

    try:
        values, _, _ = command.make_parser(click.Context(command, ctx, "browse")).parse_args(list(args))
    except click.NoSuchOption:
        return False
    return not (isinstance(values["words"], Sequence) and values["words"])  # click has a mark for none at all


@click.command(
    cls=Commands,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="'claude-session-player REF' is short for 'claude-session-player replay REF'; without arguments, on a "
    "terminal, or with options of browse alone, it is 'claude-session-player browse'.",
)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
@click.pass_context
def app(ctx: click.Context) -> int:
    """Find Claude Code sessions, tell what happened in them, and replay them as the terminal screen they were.

    \b
    Exit codes:
      0    done
      1    something is wrong: verify found it, --strict was given, or not all could be done
      2    a wrong option or argument
      3    the file cannot be read
      4    the file holds no session
      5    the output cannot be written
      6    there is no Claude store
      7    there is no such session, or no such file in it
      8    several sessions, or files, could be meant
      9    the session is in use
      10   an archive is damaged
      130  interrupted with Ctrl-C
    """
    if ctx.invoked_subcommand is None:
        return _browse_or_help(ctx)
    return 0


def _browse_or_help(ctx: click.Context) -> int:
    """Browse, if there is somebody to do so; else print the help. Raises `NoStore`."""
    from claude_session_player.cli.browse import browse, require_store
    from claude_session_player.cli.terminal import is_terminal

    if is_terminal():
        return browse()
    require_store()
    click.echo(ctx.get_help())
    return 0
