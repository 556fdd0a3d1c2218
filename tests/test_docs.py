"""The documentation says what is there now, no more and no less."""

from __future__ import annotations

import html
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from claude_session_player import __version__, errors
from claude_session_player.cli.app import COMMANDS, app
from scripts import cli_reference, screens
from tests.screens import IS_LOWEST, svg_text

by_newest = pytest.mark.skipif(IS_LOWEST, reason="made by the newest version of click, which wraps differently")
ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@by_newest
def test_the_cli_reference_is_what_help_says() -> None:
    assert cli_reference.PATH.read_text(encoding="utf-8") == cli_reference.reference(), "run 'make docs'"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    for one in (command, *getattr(command, "commands", {}).values()):
        assert one.help
        assert all(param.help for param in one.params if isinstance(param, click.Option))
    assert f"## claude-session-player {name}" in cli_reference.PATH.read_text(encoding="utf-8")
    assert re.search(rf"claude-session-player {name}\b", README)


def test_the_exit_codes_of_the_help_are_those_of_the_errors() -> None:
    assert app.help
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SessionError)]
    for code in {kind.exit_code for kind in kinds} | {130}:
        assert re.search(rf"^ +{code} +\w", app.help, re.MULTILINE)
        assert re.search(rf"^\| {code} \| [\w`]", README, re.MULTILINE)


def test_the_changelog_has_an_entry_for_this_version() -> None:
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_examples_of_the_readme_print_what_they_show() -> None:
    """Each `$ claude-session-player …` of the README is run, and its output compared to the letter."""
    examples = re.findall(r"```console\n\$ claude-session-player (.*?)\n(.*?)```", README, re.DOTALL)
    assert examples
    two_hours_ago = time.time() - 7200  # a fresh clone looks as if its sessions were in use
    for path in (ROOT / "tests" / "fixtures").rglob("*"):
        os.utime(path, (two_hours_ago, two_hours_ago))
    for arguments, expected in examples:
        words = shlex.split(arguments)
        done = subprocess.run(
            [sys.executable, "-m", "claude_session_player", *words],
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, "TZ": "UTC"},
            check=False,
        )
        assert (done.stdout + done.stderr).decode() == expected, arguments


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_links_between_pages_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / target).exists(), target


def test_every_module_has_its_place_in_the_architecture() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    package = ROOT / "claude_session_player"
    names = {path.name for path in package.glob("*.py")} | {f"{path.parent.name}/" for path in package.glob("*/*.py")}
    missing = {name for name in names - {"__main__.py"} if name not in page}
    assert not missing


def test_the_picture_shows_the_demo() -> None:
    picture = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    drawn = html.unescape(re.sub(r"<style>.*?</style>|<[^>]*>|\s", "", picture, flags=re.DOTALL))
    for line in (ROOT / "tests" / "fixtures" / "demo.md").read_text(encoding="utf-8").splitlines():
        assert "".join(line.split()) in "".join(drawn.split()), "run 'make docs'"


@pytest.mark.parametrize("name", screens.PICTURES)
def test_a_picture_of_a_full_screen_program_shows_what_it_draws(name: str) -> None:
    picture = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert svg_text(picture) == svg_text(screens.PICTURES[name]()), "run 'make docs'"


def test_there_are_four_pictures_for_the_docs() -> None:
    assert {path.name for path in (ROOT / "docs").glob("*.svg")} == {"demo.svg", *screens.PICTURES}
