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
    11: "the session cannot be resumed",
    130: "interrupted with Ctrl-C",
}
"""What each exit code means; `errors` says which error has which."""
_REFS: Final = """\
Wherever a command takes a REF, name a session in one of these ways:

  path/to/session.jsonl   a session file; no store is needed
  -                       standard input: a session file, or a breadcrumb
  latest                  the last active session of this directory's project,
                          if it is one or is inside of one; else of all
  latest:2                the one before it, and so on
  latest:all              the last active session of all projects
  latest:all:2            the one before it, and so on
  1f2e3d4c-…              its id, or at least the first 4 characters of it
  a1b2c3                  the id of a sub-agent, likewise
  "Oil the kettle"        its title, or the beginning of it, in quotes
  breadcrumb.json         a file like {"project": …, "sessionId": …}

Without a REF, commands that read one session take latest, and 'stats' and
'locks' look at all. 'follow' takes the session that was written to last, by the
same rule as latest. Commands that write or check, like 'repair', 'archive' and
'verify', never assume one.

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
UTC. 'show --from' and 'show --to' take a line number as well; 'play --from' and
'export --at' take a line (120), a percentage (50%) or a playing time (1:30), as
the player shows it at 1×: idle gaps are shortened."""
_QUERY: Final = """\
A query finds texts that contain all of its words, in any order:

  kettle boil          both words
  "boil the kettle"    a phrase: these words in this order; write \\" for a quote
  kettle -tea          without a word; also -"a phrase", -tool:Bash, -(a OR b)
  tea OR coffee        either word; OR must be in upper case
  (tea OR coffee) cup  a group; without one, 'a b OR c' means '(a b) OR c'
  kett*                words that begin with kett
  -- --no-cache        the name of an option, after -- for the shell

Fields narrow a search; a query may consist of fields only:

  in:prompt            one kind of text: prompt, response, thinking, tool,
                       result, title, summary or file
  tool:Bash            one tool; tool:mcp__* for all that begin with mcp__
  path:src/parser.py   tool calls that concern a file
  cmd:"git push"       tool calls that run a command
  error:yes            failed tool calls; error:no for those that succeeded
  project:kettle       one project; likewise model:opus, agent:Explore,
                       git:main (a git branch), session:1f2e (start of an id)
  since:7d             the last 7 days; before:2026-02 is all before that month
                       (see 'csp help times')

Case and accents are ignored; with --case, capitals of the query count.
Identifiers are found whole and by their parts: 'line' finds parse_line and
parseLine. Chinese, Japanese and Korean text is found by any two adjacent
characters. Punctuation is ignored; use --exact or --regex to search for it.
Put a word that looks like a field in double quotes: "todo:later".

Examples, quoted for the shell:

  csp search 'in:prompt "flaky test" since:30d'
  csp search '(timeout OR "timed out") tool:Bash error:yes'
  csp search 'cmd:pytest model:opus -project:demo'"""

_REDACTION: Final = """\
Redaction masks what should not be shared. 'export' and 'redact' always do it
('export --no-redact' does not); other commands that print sessions do it with
--redact. stderr says at the end how much of which kind was masked:

  secrets    API keys, tokens, passwords, private keys and cookies, by their
             shape or their context: [anthropic-key-1], [password-1]
  identity   ~ for home directories; user-1, person-1, person-1@example.com;
             host-1 and ip-1 in private networks; owner-1 of a repository;
             account-1
  images     pictures and other base64 data: [image removed]

The same value has the same mask, wherever it stands. Ids, times and lines stay.

  --keep email             do not mask this; repeatable:
{kinds}
  --known .env             mask the values of this file, too: .env, JSON, lines
  --known env:TEA_TOKEN    or the value of this environment variable
  --rules tea.toml         use your own rules (see 'csp redact check --help')
  --redaction-report FILE  write what was masked where; it holds no secrets

Each of these options turns --redact on.

Still look at what you share: names that nothing gives away, what free text says
about people, and pictures that you keep are not masked.

Examples:

  csp export latest -o tea.md            redacted
  csp show latest --redact --keep home   print it for others
  csp redact latest -o shared/           a redacted copy of the session file
  csp secrets --all                      find sessions with secrets"""
_INDENT: Final = " " * 27
"""In front of what options of redaction do."""


def _exit_codes() -> str:
    rows = [f"  {code:<3}  {meaning}" for code, meaning in EXIT_CODES.items()]
    return "\n".join(
        (
            "Exit codes:",
            "",
            *rows,
            "",
            "'verify' and 'secrets' exit with 2 if a session cannot be found or read.",
        )
    )


def _redaction() -> str:
    from textwrap import fill, indent

    from claude_session_player.redact import known_kinds

    kinds = fill(", ".join(known_kinds()), 80 - len(_INDENT), break_on_hyphens=False)
    return _REDACTION.format(kinds=indent(kinds, _INDENT))


def _formats() -> str:
    from claude_session_player.export.registry import DRAWN, OutputKind, formats

    groups = {
        "replay, export and demo write the screen:": (OutputKind.SCREEN,),
        "export also draws the terminal, over time or at one moment:": DRAWN,
        "show writes the transcript:": (OutputKind.TRANSCRIPT,),
    }
    lines = ["Formats of --format:"]
    for heading, kinds in groups.items():
        rows = [(row.name, row.help.removeprefix(row.name).removeprefix(": ")) for row in formats(*kinds)]
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
    "query": ("how to write a search query", lambda: _QUERY),
    "formats": ("output formats, and JSON", _formats),
    "redaction": ("what is masked, and how to change that", _redaction),
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
    """Explain a command, or a topic like refs, times, redaction."""
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
