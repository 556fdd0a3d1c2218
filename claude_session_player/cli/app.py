"""The program: its commands, in groups, and what a first word that is not a command may mean."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from claude_session_player import __version__
from claude_session_player.cli._options import examples
from claude_session_player.errors import SessionError
from claude_session_player.util.dirs import PROGRAM

GROUPS: Final = {
    "Watch": ("play", "follow", "replay", "demo"),
    "Find": ("find", "browse", "list", "projects", "get", "index"),
    "Read": ("show", "prompts", "tree", "files", "todos", "memories", "settings"),
    "Measure": ("summary", "stats", "account"),
    "Keep": ("archive", "restore", "clean", "verify", "repair", "locks"),
    "Share": ("export",),
    "Help": ("help", "completion"),
}
"""The commands by what people want to do."""
COMMANDS: Final = tuple(name for names in GROUPS.values() for name in names)
"""Each command is a module of its name in this package, with a click command `command`."""
_SHARED_MODULES: Final = {
    "demo": ("replay", "demo"),
    "projects": ("list", "projects"),
    "todos": ("list", "todos"),
    "memories": ("list", "memories"),
    "settings": ("list", "settings"),
}
"""Commands that share a module with others: the module, and the name of the click command in it."""
ALIASES: Final = {"read": "get", "search": "find"}
_OWN_OPTIONS: Final = ("--help", "-h", "--version")
_WIDEST_SUMMARY: Final = 60


class CommandGroups(click.Group):
    """Loads a command when it is needed; arguments that name no command are those of `replay`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, group by group."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of this name."""
        name = ALIASES.get(name, name)
        if name not in COMMANDS:
            return None
        module, attribute = _SHARED_MODULES.get(name, (name, "command"))
        command: click.Command = getattr(import_module(f"claude_session_player.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands under the headings of their groups."""
        width = max(map(len, COMMANDS))
        for heading, names in GROUPS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(f"{name:<{width}}", one.get_short_help_str(_WIDEST_SUMMARY)) for name, one in commands if one]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `replay` before arguments that name no command, or `browse` before options of its own."""
        if args and args[0] not in (*COMMANDS, *ALIASES, *_OWN_OPTIONS):
            args = ["browse" if _asks_to_browse(ctx, args) else "replay", *args]
        return super().parse_args(ctx, args)


@click.command(
    cls=CommandGroups,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        ("", "browse all sessions"),
        ("demo --play", "see how it works, without a session of your own"),
        ("find login bug", "search all sessions for two words"),
        ("play latest", "play the last active session"),
        ("list --project kettle", "list the sessions of a project"),
        ("show 1f2e", "read the transcript of a session"),
        ("session.jsonl", "short for: csp replay session.jsonl"),
        ("help refs", "how to name a session"),
    ),
)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
@click.pass_context
def app(ctx: click.Context) -> int:
    """Search, replay, inspect and share Claude Code sessions."""
    if ctx.invoked_subcommand is None:
        return _browse_or_help(ctx)
    return 0


def _browse_or_help(ctx: click.Context) -> int:
    """Browse on a terminal, else print the help. Raises `NoStore`."""
    from claude_session_player.cli.browse import browse, require_store
    from claude_session_player.util.terminal import is_terminal

    if is_terminal():
        return browse()
    require_store()
    click.echo(ctx.get_help())
    return 0


# --- without a command --------------------------------------------------------------------------------

_PLAY: Final = "'play' plays a session, and 'claude --resume ID' continues it in Claude Code"
_RUNNING: Final = "'follow --all' shows the running sessions"
_PAGER: Final = "'show' shows a session in a pager"
_ADVICE: Final = {
    "resume": _PLAY,
    "continue": _PLAY,
    "version": "use --version",
    "ps": _RUNNING,
    "running": _RUNNING,
    "less": _PAGER,
    "more": _PAGER,
}
"""Words that stand for no single command."""
_SYNONYMS: Final = {
    "find": ("grep", "rg", "query", "lookup"),
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
    "help": ("man", "docs", "manual"),
}
"""By command: what people type when they mean it."""
_MEANT: Final = {word: command for command, words in _SYNONYMS.items() for word in words}


def _asks_to_browse(ctx: click.Context, args: list[str]) -> bool:
    """True for options of `browse` alone; raises if the first word looks like a command and is none."""
    if ctx.resilient_parsing:  # a shell asks for completions: most likely of a session
        return False
    if not args[0].startswith("-") or args[0] == "-":
        _refuse_unknown_command(ctx, args)
        return False
    from claude_session_player.cli.browse import command

    try:
        values, _, _ = command.make_parser(click.Context(command, ctx, "browse")).parse_args(list(args))
    except click.NoSuchOption:
        return False
    return not (isinstance(values["words"], Sequence) and values["words"])  # click has a mark for none at all


def _refuse_unknown_command(ctx: click.Context, args: Sequence[str]) -> None:
    """Raise if the first word was meant as a command: a synonym, a misspelt command, or followed by more words.

    A word that names a file, or a session by its id, is no command, whatever it looks like.
    """
    word = args[0]
    if _is_file_or_latest(word):
        return
    roots, has_extra = _roots_and_extra_words(ctx, args)
    advice = _advice(word) or (_advice_for_typo(word) if has_extra else None)
    if (advice is None and not has_extra) or _names_session(word, roots):
        return
    raise click.UsageError(f"there is no command {word!r}: {advice or 'put a title with spaces in quotes'}", ctx)


def _advice(word: str) -> str | None:
    """What to do instead, if it can be guessed."""
    from difflib import get_close_matches

    if word in _ADVICE:
        return _ADVICE[word]
    near = [_MEANT[word]] if word in _MEANT else get_close_matches(word, (*COMMANDS, *ALIASES), n=1, cutoff=0.7)
    return f"did you mean {near[0]!r}?" if near else None


def _advice_for_typo(word: str) -> str | None:
    """The same for a misspelt synonym; it could be a title as well, so more words must follow it."""
    from difflib import get_close_matches

    near = get_close_matches(word, (*_MEANT, *_ADVICE), n=1, cutoff=0.8)
    return _advice(near[0]) if near else None


def _roots_and_extra_words(ctx: click.Context, args: Sequence[str]) -> tuple[list[str], bool]:
    """The stores that `replay` would search, and whether there are more words than it takes."""
    from claude_session_player.cli.replay import command

    try:
        options, words, _ = command.make_parser(click.Context(command, ctx, "replay")).parse_args(list(args))
    except click.UsageError:  # options of another command: the words cannot be told apart
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
    except SessionError:  # the command itself reports a wrong --root
        return False
    folded = word.removeprefix(AGENT_PREFIX).casefold()
    return folded in ids or (len(folded) >= MIN_PREFIX_LENGTH and any(id.startswith(folded) for id in ids))
