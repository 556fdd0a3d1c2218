"""The program: its commands, in groups, and what a first word that is not a command may mean."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import takewhile
from typing import Any, Final

import click

from claude_session_player import __version__
from claude_session_player.cli._options import examples
from claude_session_player.errors import SessionError
from claude_session_player.util.dirs import PROGRAM

GROUPS: Final = {
    "Watch": ("play", "follow", "resume", "replay", "demo"),
    "Find": ("find", "browse", "list", "projects", "get", "index"),
    "Read": ("show", "prompts", "tree", "files", "todos", "memories", "settings"),
    "Measure": ("summary", "stats", "account"),
    "Keep": ("archive", "restore", "clean", "verify", "repair", "locks"),
    "Share": ("export", "redact", "secrets"),
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and its arguments; raises if there are more words than it takes."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            _refuse_extra_words(click.Context(command, ctx, name), rest)
        return name, command, rest


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

_RUNNING: Final = "'follow --all' shows the running sessions"
_PAGER: Final = "'show' shows a session in a pager"
_ADVICE: Final = {
    "version": "use --version",
    "ps": _RUNNING,
    "running": _RUNNING,
    "less": _PAGER,
    "more": _PAGER,
}
"""Words that stand for no single command."""
_SYNONYMS: Final = {
    "find": ("grep", "rg", "query", "lookup"),
    "list": ("ls", "dir", "session", "sessions", "history"),
    "show": ("cat", "view", "print", "log", "transcript"),
    "play": ("open", "start"),
    "resume": ("continue", "reopen"),
    "follow": ("watch", "tail", "live", "monitor", "attach"),
    "browse": ("tui", "ui", "select", "pick", "choose"),
    "get": ("info", "details", "describe", "inspect"),
    "summary": ("summarize", "summarise", "overview"),
    "stats": ("cost", "costs", "usage", "tokens", "statistics"),
    "export": ("save", "dump", "convert", "record", "share"),
    "redact": ("anonymize", "anonymise", "mask", "sanitize", "scrub", "censor"),
    "tree": ("graph", "outline", "forks", "subagents", "agents"),
    "files": ("diff", "changes", "edits", "blame"),
    "verify": ("check", "validate", "doctor", "lint", "fsck"),
    "secrets": ("audit", "leaks", "leak", "scan", "secret", "credentials", "passwords"),
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
_WORDS: Final = (*COMMANDS, *ALIASES)
_SESSION_NOUNS: Final = frozenset(
    ("session", "sessions", "history", "transcript", "transcripts", "log", "logs", "chat", "chats", "conversation")
)
"""Words before a command that say only what it is about."""
_LIKE_A_SYNONYM: Final = 0.8
"""How similar a misspelt synonym, or a command in two words, must be: it could be a title as well."""


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
    options, extra = _options_and_extra_words(ctx, args)
    advice = _advice(word, extra)
    if advice is None and not extra and (command := _command_in_parts(word)) and not _is_title(word, options):
        advice = _did_you_mean(command)
    if advice is None or _names_session(word, options.get("roots") or []):
        return
    raise click.UsageError(f"there is no command {word!r}: {advice}", ctx)


def _advice(word: str, extra: Sequence[str]) -> str | None:
    """What to do instead of a command that does not exist; without more words, only if it is no title."""
    word = word.casefold() if word.isupper() else word  # "Fix the bug" is a title
    if word in _ADVICE:
        return _ADVICE[word]
    if word in _SESSION_NOUNS and extra and (command := _command_like(extra[0])):
        return _did_you_mean(command)
    if command := _command_like(word):
        return _did_you_mean(command)
    if not extra:
        return None
    if (
        command := _command_in_parts(word)
        or _near(word + extra[0], _WORDS, _LIKE_A_SYNONYM)
        or _near(word, _MEANT, _LIKE_A_SYNONYM)
    ):
        return _did_you_mean(_MEANT.get(command, command))
    if near := _near(word, _ADVICE, _LIKE_A_SYNONYM):
        return _ADVICE[near]
    if extra[0] in _WORDS:
        return f"{_did_you_mean(extra[0])} A title with spaces needs quotes"
    return f"put a title with spaces in quotes, or search for the words with 'find {_quoted((word, *extra))}'"


def _did_you_mean(command: str) -> str:
    return f"did you mean {command!r}?"


def _did_you_mean_command(command: str) -> str:
    """For a word that looks like something else that the command could take."""
    return f"did you mean the command {command!r}?"


def _command_like(word: str) -> str | None:
    """The command that a word is, stands for, or is a misspelling of."""
    return word if word in _WORDS else _MEANT.get(word) or _near(word, _WORDS)


def _command_in_parts(word: str) -> str | None:
    """The command in a word like `show-all` or `session_list`."""
    import re

    first, *more = re.split("[-_.:]", word.casefold())
    if not more:
        return None
    if first in _SESSION_NOUNS and more[0] in _WORDS:
        return more[0]
    return first if first in _WORDS else _MEANT.get(first)


def _near(word: str, words: Iterable[str], cutoff: float = 0.7) -> str | None:
    from difflib import get_close_matches

    near = get_close_matches(word, words, n=1, cutoff=cutoff)
    return near[0] if near else None


def _quoted(words: Iterable[str]) -> str:
    import shlex

    from claude_session_player.util.text import truncate

    return truncate(shlex.join(words), _WIDEST_SUMMARY)


def _options_and_extra_words(ctx: click.Context, args: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The options as `replay` would take them, and the words that are more than it takes."""
    from claude_session_player.cli.replay import command

    try:
        options, words, _ = command.make_parser(click.Context(command, ctx, "replay")).parse_args(list(args))
    except click.UsageError:  # options of another command: only the words before them can be told apart
        return {}, list(takewhile(lambda word: not word.startswith("-"), args[1:]))
    return options, words


def _is_title(word: str, options: Mapping[str, Any]) -> bool:
    """True if a word is the title of a session, or its beginning."""
    from claude_session_player.errors import NoSuchSession
    from claude_session_player.store import Store

    if options.get("archived") or options.get("archive"):
        return True  # not worth unpacking anything
    try:
        Store.open(*options.get("roots") or (), required=False).locate(word)
    except NoSuchSession:
        return False
    except SessionError:  # several, or something else that the command reports
        return True
    return True


def _is_file_or_latest(word: str) -> bool:
    from claude_session_player.store import LATEST, latest_meant, looks_like_path

    if looks_like_path(word) or word.partition(":")[0] == LATEST or latest_meant(word) or word == "-":
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


# --- more words than a command takes ------------------------------------------------------------------


def _refuse_extra_words(ctx: click.Context, args: Sequence[str]) -> None:
    """Raise if there are more words than a command takes, with what they may mean."""
    command = ctx.command
    if isinstance(command, click.Group) or {"--help", "-h"} & set(args):
        return
    try:
        _, extra, _ = command.make_parser(ctx).parse_args(list(args))
    except click.UsageError:  # the command itself reports it
        return
    if extra:
        given = f"argument{'s' if len(extra) > 1 else ''} ({' '.join(extra)})"
        raise click.UsageError(f"Got unexpected extra {given}: {_advice_for_extra(ctx, extra)}", ctx)


def _advice_for_extra(ctx: click.Context, extra: Sequence[str]) -> str:
    name = ctx.info_name or ""
    arguments = [param.name for param in ctx.command.params if isinstance(param, click.Argument)]
    if arguments:
        return f"put {'a title' if 'ref' in arguments else 'a name'} with spaces in quotes"
    if (option := _option_meant(ctx, extra, is_exact=len(extra) == 1)) is not None:
        return _did_you_mean(f"{name} {option}")
    if (meant := _command_like(extra[0].casefold()) or _near(extra[0], _MEANT, _LIKE_A_SYNONYM)) is not None:
        meant = _MEANT.get(meant, meant)
        group = app.get_command(ctx, meant)
        if isinstance(group, click.Group) and name in group.commands:
            return _did_you_mean(f"{meant} {name}")
        if meant != name:
            return _did_you_mean_command(meant)
        return f"{name!r} takes no words: leave out {extra[0]!r}"
    if (option := _option_meant(ctx, extra)) is not None:
        return _did_you_mean(f"{name} {option}")
    if name == "list":
        words = _quoted(extra)
        return f"use 'find {words}' to search, or a filter like --title or --project"
    return f"{name!r} takes no words, only options"


def command_hint(arguments: Sequence[str]) -> str | None:
    """What a word may mean that a command took for a session, but that names none: `show todos`, `archive lits`."""
    if len(arguments) < 2 or arguments[0] not in _WORDS or arguments[1].startswith("-"):
        return None
    name, word = arguments[:2]
    command = app.get_command(click.Context(app), name)
    if isinstance(command, click.Group):
        inner = _near(word, command.commands)
        return _did_you_mean(f"{name} {inner}") if inner and inner not in arguments[1:] else None
    if command is None:
        return None
    words, ctx = list(takewhile(lambda one: not one.startswith("-"), arguments[1:])), click.Context(command)
    if option := _option_meant(ctx, words, is_exact=True):
        return _did_you_mean(f"{name} {option}")
    if word in _WORDS:
        return _did_you_mean_command(word)
    return _did_you_mean(f"{name} {option}") if (option := _option_meant(ctx, words)) else None


def _option_meant(ctx: click.Context, words: Sequence[str], *, is_exact: bool = False) -> str | None:
    """What words without dashes would be as an option of a command, if the command would take that.

    An option with a value takes the rest as one word; a flag is meant only if nothing follows it.
    """
    options = {
        name.removeprefix("--"): param
        for param in ctx.command.params
        for name in (*param.opts, *param.secondary_opts)
        if name.startswith("--")
    }
    first, value = words[0].casefold(), " ".join(words[1:])
    name = first if first in options else None if is_exact else _near(first, options, _LIKE_A_SYNONYM)
    param = options.get(name or "")
    if not isinstance(param, click.Option) or bool(value) == param.is_flag:
        return None
    if param.is_flag:
        return f"--{name}"
    try:
        param.process_value(ctx, (value,) if param.multiple else value)
    except click.UsageError:
        return None
    return f"--{name} {_quoted((value,))}"
