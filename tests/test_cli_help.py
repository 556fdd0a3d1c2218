"""Help pages: groups, summaries, topics, and one meaning for each option name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import click
import pytest

from claude_session_player import errors
from claude_session_player.cli.app import COMMANDS, GROUPS, app
from claude_session_player.cli.help import EXIT_CODES, TOPICS
from claude_session_player.redact import known_kinds
from claude_session_player.util.dirs import PROGRAM
from tests.program import csp

DIFFERENCES = {
    "--all": "all sessions of what the command works on; follow --all shows those that run",
    "--archive": "read from an archive instead of a store, or the archive that is written and restored",
    "--at": "the moment of a picture, as a place in the session; a time for the screen of replay",
    "--by": "stats makes a table of tokens for each grouping, find one of hits",
    "--details": "verify reports findings, secrets reports places",
    "--force": "do it although something is in the way: a file that exists, or a session in use",
    "--format": "each kind of output has its own formats, but a format means the same everywhere",
    "--from": "a time; within one session also a line, in play also a place",
    "--full": "show includes outputs that are stored next to the session, which no screen has",
    "--history": "export includes it unless told otherwise",
    "--keep": "redaction leaves it as it is, secrets does not report it",
    "--kind": "kinds of findings, or of secrets",
    "--known": "redaction masks the values, secrets looks for them",
    "--limit": "find shows 10 sessions unless told otherwise, list a screenful; both take 0 for all of them",
    "--only": "kinds of entries, or kinds of files",
    "--output": "repair needs it, and does not overwrite",
    "--play": "play what the command is about: the demo, or one of the sessions that find found",
    "--project": "memories belong to a project, too",
    "--redact": "export does so unless told otherwise",
    "--root": "restore writes to one store, and creates it",
    "--since": "another word for --from",
    "--sort": "facts about sessions, or how well and when they match a query",
    "--to": "a time; within one session also a line",
    "--until": "a line of the session, for its screen or for a file that it touched",
    "--view": "in the player a key switches, too",
}
"""Option names whose type, metavar or help differ between commands, and why that is one meaning."""


def walk(name: str, command: click.Command, parent: click.Context) -> Iterator[tuple[click.Context, click.Command]]:
    """A command and those below it, each with its context."""
    context = click.Context(command, parent, info_name=name, terminal_width=80)
    yield context, command
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            below = command.get_command(context, inner)
            assert below is not None
            yield from walk(inner, below, context)


ROOT = click.Context(app, info_name=PROGRAM, terminal_width=80, **app.context_settings)
EVERYTHING = [
    pair for name in COMMANDS if (command := app.get_command(ROOT, name)) for pair in walk(name, command, ROOT)
]
NAMES = [context.command_path.removeprefix(f"{PROGRAM} ") for context, _ in EVERYTHING]


def options(command: click.Command) -> list[click.Option]:
    return [param for param in command.params if isinstance(param, click.Option)]


def test_an_option_name_has_one_meaning_across_all_commands() -> None:
    meanings = defaultdict(set)
    for _, command in EVERYTHING:
        for option in options(command):
            kind = "flag" if option.is_flag else option.type.to_info_dict()["name"]
            for name in option.opts:
                if name.startswith("--"):
                    meanings[name].add((kind, option.metavar, option.help))
    differing = {name for name, found in meanings.items() if len(found) > 1}
    assert differing == set(DIFFERENCES)


def test_from_and_to_are_times_and_archives_are_named_by_archive() -> None:
    for _, command in EVERYTHING:
        for option in options(command):
            if {"--from", "--to", "--before", "--older-than"} & set(option.opts):
                assert option.metavar in ("WHEN", "N|WHEN", "PLACE"), command.name
            if "--archive" in option.opts:
                assert option.metavar == "DIR"


@pytest.mark.parametrize(("context", "command"), EVERYTHING, ids=NAMES)
def test_every_option_says_what_it_does_in_a_sentence(context: click.Context, command: click.Command) -> None:
    for option in options(command):
        assert option.help, option.opts
        assert option.help[0].isupper(), option.help
        assert option.help.endswith("."), option.help


@pytest.mark.parametrize(("context", "command"), EVERYTHING, ids=NAMES)
def test_a_summary_is_short_imperative_and_not_cut(context: click.Context, command: click.Command) -> None:
    assert command.help
    summary = command.help.partition("\n\n")[0].partition("\f")[0]
    assert len(summary) <= 60
    assert summary.endswith(".")
    assert not summary.split()[0].endswith("s"), "an imperative"
    assert command.get_short_help_str(60) == summary


@pytest.mark.parametrize(("context", "command"), EVERYTHING, ids=NAMES)
def test_a_help_page_fits_into_80_columns(context: click.Context, command: click.Command) -> None:
    for line in command.get_help(context).splitlines():
        assert len(line) <= 80, line


def test_the_help_of_the_program_has_all_commands_in_groups() -> None:
    page = csp("--help", COLUMNS="80").stdout.decode()
    headings = [line[:-1] for line in page.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options", *GROUPS]
    listed = [line.split()[0] for line in page.splitlines() if line.startswith("  ") and line.split()[0] in COMMANDS]
    assert listed == list(COMMANDS)
    assert "..." not in page.replace("[ARGS]...", "")
    assert "…" not in page
    assert max(map(len, page.splitlines())) <= 80
    assert page.index("Examples:") > page.index("completion")


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_a_page_of_80_columns(topic: str) -> None:
    done = csp("help", topic)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 80


def test_the_page_about_redaction_names_everything_that_can_be_kept() -> None:
    page = TOPICS["redaction"][1]()
    words = {word.rstrip(",") for word in page.split()}
    assert set(known_kinds()) <= words
    assert len(page.splitlines()) <= 40


def test_help_of_a_command_is_its_help_page() -> None:
    assert csp("help", "play").stdout == csp("play", "--help").stdout
    assert csp("help", "archive", "add").stdout == csp("archive", "add", "--help").stdout
    assert csp("help").stdout == csp("--help").stdout


@pytest.mark.parametrize("words", [("tea",), ("play", "tea"), ("archive", "tea")])
def test_an_unknown_topic_is_answered_with_those_there_are(words: tuple[str, ...]) -> None:
    done = csp("help", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"there is no command or topic {' '.join(words)!r}: topics are refs, times" in done.stderr.decode()


def test_every_error_has_an_exit_code_that_is_explained() -> None:
    found = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.SessionError)]
    assert {one.exit_code for one in found} <= set(EXIT_CODES)
