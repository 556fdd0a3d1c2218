"""What to say about a first word that is no command, and names no session either."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Final

import click

from claude_session_player import __version__
from claude_session_player.errors import SessionError
from claude_session_player.util.dirs import PROGRAM

_FIND: Final = "'browse WORDS' or 'list --title TEXT' finds sessions by what they are about"
_SENTENCES: Final = {
    "search": _FIND,
    "find": _FIND,
    "grep": _FIND,
    "resume": "'play' plays a session, and 'claude --resume ID' continues it in Claude Code",
    "continue": "'play' plays a session, and 'claude --resume ID' continues it in Claude Code",
    "help": "every command has an option --help",
    "version": "it is an option, --version",
    "ps": "'follow --all' shows the sessions that run",
    "running": "'follow --all' shows the sessions that run",
    "less": "'show --pager' shows a session in a pager",
    "more": "'show --pager' shows a session in a pager",
}
"""Words that no single command stands for."""
_SYNONYMS: Final = {
    "list": ("ls", "dir", "sessions", "history"),
    "show": ("cat", "view", "print", "log", "transcript"),
    "play": ("open", "start"),
    "follow": ("watch", "tail", "live", "monitor", "attach"),
    "browse": ("tui", "ui", "select", "pick", "choose"),
    "get": ("info", "details", "describe", "inspect"),
    "summary": ("summarize", "summarise", "overview"),
    "stats": ("cost", "costs", "usage", "tokens", "statistics"),
    "export": ("save", "dump", "convert", "record", "share"),
    "tree": ("graph", "outline", "forks", "subagents", "agents"),
    "files": ("diff", "changes", "edits", "blame"),
    "verify": ("check", "validate", "doctor", "lint", "fsck"),
    "repair": ("fix", "recover"),
    "clean": ("delete", "rm", "remove", "del", "purge", "prune", "cleanup"),
    "archive": ("backup", "pack"),
    "restore": ("unarchive", "undelete", "unpack", "undo"),
    "settings": ("config", "configure"),
    "completion": ("completions", "autocomplete"),
}
"""By command: what people type when they mean it."""
_MEANT: Final = {word: command for command, words in _SYNONYMS.items() for word in words}


def refuse_unknown_command(ctx: click.Context, args: Sequence[str], commands: Sequence[str]) -> None:
    """Raise where the first word was meant as a command: it is a synonym, almost a command, or more words follow.

    A word that names a file or a session by its id is none, whatever it looks like.
    """
    word = args[0]
    if _is_file_or_latest(word):
        return
    roots, has_extra = _roots_and_extra_words(ctx, args)
    advice = _advice(word, commands) or (_advice_for_typo(word) if has_extra else None)
    if (advice is None and not has_extra) or _names_session(word, roots):
        return
    raise click.UsageError(f"there is no command {word!r}: {advice or 'put a title with spaces in quotes'}", ctx)


def _advice(word: str, commands: Sequence[str]) -> str | None:
    """What to do instead, where it can be guessed."""
    if word in _SENTENCES:
        return _SENTENCES[word]
    near = [_MEANT[word]] if word in _MEANT else get_close_matches(word, commands, n=1, cutoff=0.7)
    return f"did you mean {near[0]!r}?" if near else None


def _advice_for_typo(word: str) -> str | None:
    """The same for what is almost a synonym; a title may be like that, too, so more has to speak for a command."""
    near = get_close_matches(word, (*_MEANT, *_SENTENCES), n=1, cutoff=0.8)
    return _advice(near[0], ()) if near else None


def _roots_and_extra_words(ctx: click.Context, args: Sequence[str]) -> tuple[list[str], bool]:
    """The stores that `replay` would look into, and whether there are more words than the one that it takes."""
    from claude_session_player.cli.replay import command

    try:
        options, words, _ = command.make_parser(click.Context(command, ctx, "replay")).parse_args(list(args))
    except click.UsageError:  # options of another command: nothing can be told from the words
        return [], False
    return options.get("roots") or [], bool(words)


def _is_file_or_latest(word: str) -> bool:
    from claude_session_player.store import LATEST, looks_like_path

    if looks_like_path(word) or word.partition(":")[0] == LATEST or word == "-":
        return True
    return os.path.exists(word) and not os.path.isdir(word)


def _names_session(word: str, roots: Sequence[str]) -> bool:
    """True for an id, or the beginning of one. No session file is opened."""
    from claude_session_player.store import AGENT_PREFIX, MIN_PREFIX_LENGTH, Store

    try:
        ids = [file.id.casefold() for file in Store.open(*roots, cache=None, required=False).files()]
    except SessionError:  # a wrong --root is told by the command
        return False
    folded = word.removeprefix(AGENT_PREFIX).casefold()
    return folded in ids or (len(folded) >= MIN_PREFIX_LENGTH and any(id.startswith(folded) for id in ids))


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
_SHARED_MODULES: Final = {
    "projects": ("list", "projects"),
    "todos": ("extras", "todos"),
    "memories": ("extras", "memories"),
    "settings": ("extras", "settings"),
}
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
    from claude_session_player.util.terminal import is_terminal

    if is_terminal():
        return browse()
    require_store()
    click.echo(ctx.get_help())
    return 0
