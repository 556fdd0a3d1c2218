"""`redact`: write a redacted copy of a session, and check rules."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from claude_session_player.cli import redact_copy
from claude_session_player.cli._options import examples, json_options
from claude_session_player.cli._output import note, print_records, print_text, say, start_bar
from claude_session_player.util import humanize
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import display_path, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claude_session_player.cli._output import JsonForm
    from claude_session_player.redact import Rule, RuleCheck

_DEFAULT: Final = "copy"
_HELP: Final = ("--help", "-h")
_FAILED: Final = 1
"""The exit code if a rule does not do what its samples say, or is too slow."""


class _Commands(click.Group):
    """A first word that is not a command is a session to copy."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which people need them."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `copy` before arguments that name no command."""
        if not args or args[0] not in (*self.commands, *_HELP):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_Commands,
    subcommand_metavar="[copy|check] [ARGS]...",
    epilog=examples(
        ("redact latest -o shared/", "short for: csp redact copy latest -o shared/"),
        ("redact check", "try your own rules"),
    ),
)
def command() -> None:
    """Write a redacted copy of a session, or check rules.

    Secrets, names of people and machines, and images are masked: see 'help redaction'. To mask anything else, write
    rules of your own into .claude-session-player/redact.toml in a project, or into redact.toml in your settings
    directory.
    """


command.add_command(redact_copy.command, _DEFAULT)


# --- check ----------------------------------------------------------------------------------------


class _RuleToCheck(NamedTuple):
    """A rule, and where it comes from: a file and a place in it; a built-in rule has none."""

    rule: Rule
    path: str | None
    place: str


@command.command(
    "check",
    epilog=examples(
        ("redact check", "the rules that are in use here"),
        ("redact check tea.toml", "those of a file, for CI"),
        ("redact check --builtin", "those that the program comes with"),
    ),
)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path())
@click.option("--builtin", is_flag=True, help="Check the built-in rules instead of yours, or besides those of FILE.")
@json_options
def check(files: tuple[str, ...], builtin: bool, form: JsonForm | None) -> int:
    """Try the rules of a file on their samples.

    Without FILE, the rules in use in the working directory are tried. Every rule is also tried on text that is hard for
    its pattern, up to 1 MB of it, or 8 KB for built-in rules. The exit code is 1 if a sample is found that should be
    ignored, or the other way round, or if a pattern is too slow; it is 2 if a file is not valid.
    """
    rules = [*_rules_of(files, is_needed=not builtin), *(_builtin_rules() if builtin else ())]
    if not rules and not form:
        from claude_session_player.redact import PROJECT_FILE

        say(f"You have no rules of your own: write some into {PROJECT_FILE}, or check those built in with --builtin.")
        return 0
    checks = _check(rules)
    failed = [pair for pair in zip(rules, checks, strict=True) if any(pair[1].problems)]
    if form:
        print_records((_record(*pair) for pair in zip(rules, checks, strict=True)), form)
    else:
        _print_checks(rules, checks)
    for one, result in failed:
        for problem in result.problems:
            say(printable(f"{one.place}: {problem}"))
    if not form:
        count = humanize.plural(len(rules), "rule")
        print_text(f"{count}: {f'{len(failed)} failed' if failed else 'all pass'}")
    return _FAILED if failed else 0


def _rules_of(files: Sequence[str], *, is_needed: bool) -> Iterator[_RuleToCheck]:
    """The rules of files; without any, those that are in use, if they are needed."""
    from claude_session_player.redact import allowance_notes, read_rule_files, rule_sources

    read = read_rule_files(rule_sources(files)) if files or is_needed else []
    for line in allowance_notes(read):
        note(printable(line))
    for _, file in read:
        for rule, place in file.rules:
            yield _RuleToCheck(rule, file.path, place)


def _builtin_rules() -> Iterator[_RuleToCheck]:
    from claude_session_player.redact import builtin_rules

    for rule in builtin_rules():
        if rule.samples:  # others are no patterns that stand alone
            yield _RuleToCheck(rule, None, f"rule {rule.name}")


def _check(rules: Sequence[_RuleToCheck]) -> list[RuleCheck]:
    """Try all rules, with a progress bar on a terminal."""
    from claude_session_player.redact import BUILT_IN, WHEN_CHECKED, check_rule

    bar = start_bar("checking", len(rules), counts_bytes=False) if is_terminal(sys.stderr) else None
    checks = []
    try:
        for one in rules:
            checks.append(check_rule(one.rule, BUILT_IN if one.path is None else WHEN_CHECKED))
            if bar is not None:
                bar.advance(bar.task_ids[0])
    finally:
        if bar is not None:
            bar.stop()
    return checks


def _record(one: _RuleToCheck, check: RuleCheck) -> dict[str, Any]:
    rule, slow = one.rule, check.speed.slow
    return {
        "rule": rule.name,
        "kind": rule.kind.word,
        "file": display_path(one.path) if one.path is not None else None,
        "samples": len(rule.samples),
        "found": len(rule.samples) - len(check.missed) if slow is None else None,
        "others": len(rule.others),
        "ignored": len(rule.others) - len(check.wrong) if slow is None else None,
        "seconds": round(check.speed.seconds, 6),
        "sound": not any(check.problems),
        "problems": list(check.problems),
    }


def _print_checks(rules: Sequence[_RuleToCheck], checks: Sequence[RuleCheck]) -> None:
    from claude_session_player.cli._tables import Column, print_table

    paths = [display_path(one.path) if one.path is not None else "" for one in rules]
    print_table(
        (
            Column("RULE", [one.rule.name for one in rules], 10, style="cyan"),
            Column("FOUND", [_share(c, len(c.rule.samples), len(c.missed)) for c in checks], 9, right=True),
            Column("IGNORED", [_share(c, len(c.rule.others), len(c.wrong)) for c in checks], 8, right=True),
            Column("SLOWEST", [_time(c) for c in checks], 7, right=True),
            Column("FILE", list(map(humanize.path_from_cwd, paths)) if len(set(paths)) > 1 else [], 5, 20),
        )
    )


def _share(check: RuleCheck, count: int, failed: int) -> str:
    """How many samples are as they should be, of how many; empty if there are none, or they were not tried."""
    return f"{count - failed} of {count}" if count and check.speed.slow is None else ""


def _time(check: RuleCheck) -> str:
    """The time for 1 MB of text that is hard for the pattern."""
    return "too slow" if check.speed.slow is not None else f"{check.speed.seconds * 1000:,.0f} ms"
