"""`help`: pages about a command, or about what several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from claude_session_player.cli._options import examples
from claude_session_player.cli._output import print_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

EXIT_CODES: Final = {
    0: "done",
    1: "something is wrong, or not everything could be done",
    2: "wrong option or argument",
    3: "the file cannot be read",
    4: "the file holds no session",
    5: "the output cannot be written",
    6: "there is no Claude store",
    7: "no such session, or no such file in it",
    8: "several sessions or files match",
    9: "the session is in use",
    10: "an archive is damaged",
    130: "interrupted with Ctrl-C",
}
"""What each exit code means; `errors` says which error has which."""
_REFS: Final = """\
Wherever a command takes a REF, name a session in one of these ways:

  path/to/session.jsonl   a session file; no store is needed
  -                       standard input: a session file, or a breadcrumb
  latest                  the last active session
  latest:2                the one before it, and so on
  1f2e3d4c-…              its id, or at least the first 4 characters of it
  a1b2c3                  the id of a sub-agent, likewise
  "Oil the kettle"        its title, or the beginning of it, in quotes
  breadcrumb.json         a file like {"project": …, "sessionId": …}

If several sessions match, they are listed, and the exit code is 8. Sessions are
searched in the stores that --root names, else in $CLAUDE_CONFIG_DIR, else in
~/.claude; with --archived or --archive DIR, in the archive."""
_TIMES: Final = """\
Wherever an option takes WHEN, write a time in one of these ways:

  2026-01-17            a day; also a month (2026-01) or a year (2026)
  today, yesterday      a day
  week, month, year     the current one; also 'last week' and so on
  12h, 7d, 2w           12 hours, 7 days or 2 weeks ago
  2026-01-17T20:31      a time; also '2026-01-17 20:31:59', and with a zone

--from starts at the beginning of such a day, week, month or year, and --to ends
at its end: '--from month --to month' is all of this month.

Times are local, in what is shown and in what is typed; with --utc they are in
UTC. 'show --from' and 'show --to' take a line number as well, and 'play --from'
takes a line (120), a percentage (50%) or a time into the session (1:30)."""


def _exit_codes() -> str:
    rows = [f"  {code:<3}  {meaning}" for code, meaning in EXIT_CODES.items()]
    return "\n".join(
        ("Exit codes:", "", *rows, "", "'verify' exits with 2 if a session cannot be read or does not exist.")
    )


def _formats() -> str:
    from claude_session_player.export.registry import OutputKind, formats

    groups = {
        "replay, export and demo write the screen:": OutputKind.SCREEN,
        "export also writes a recording:": OutputKind.RECORDING,
        "show writes the transcript:": OutputKind.TRANSCRIPT,
    }
    lines = ["Formats of --format:"]
    for heading, kind in groups.items():
        rows = [(row.name, row.help.removeprefix(row.name).removeprefix(": ")) for row in formats(kind)]
        lines += ["", heading, *(f"  {name:<10} {meaning}".rstrip() for name, meaning in rows)]
    lines += [
        "",
        "Other commands have --json (an array, or one object) and --jsonl (one object per",
        "line). docs/schema.json describes the fields.",
    ]
    return "\n".join(lines)


TOPICS: Final[dict[str, tuple[str, Callable[[], str]]]] = {
    "refs": ("how to name a session", lambda: _REFS),
    "times": ("how to write a time", lambda: _TIMES),
    "formats": ("output formats, and JSON", _formats),
    "exit-codes": ("what exit codes mean", _exit_codes),
}
"""By topic: what it is about, and its page."""


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from claude_session_player.cli.app import COMMANDS

    return [CompletionItem(word) for word in (*TOPICS, *COMMANDS) if word.startswith(incomplete)]


@click.command(
    epilog=examples(
        ("help play", "the options of a command; same as: csp play --help"),
        *((f"help {name}", meaning) for name, (meaning, _) in TOPICS.items()),
    )
)
@click.argument("words", nargs=-1, metavar="[COMMAND|TOPIC]", shell_complete=_complete)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Explain a command, or: refs, times, formats, exit-codes."""
    if len(words) == 1 and words[0] in TOPICS:
        print_text(TOPICS[words[0]][1]())
    else:
        print_text(_help_of(ctx, words))


def _help_of(ctx: click.Context, words: tuple[str, ...]) -> str:
    """The help page of a command, given as the words that lead to it."""
    context = ctx.find_root()
    for word in words:
        group = context.command
        command = group.get_command(context, word) if isinstance(group, click.Group) else None
        if command is None:
            raise click.UsageError(f"there is no command or topic {' '.join(words)!r}: topics are {', '.join(TOPICS)}")
        context = click.Context(command, context, info_name=word)
    return context.get_help()
