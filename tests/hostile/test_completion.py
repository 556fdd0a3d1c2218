"""Completion in real shells: no name of a file makes a shell do anything."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
import pytest
from click.shell_completion import CompletionItem

from claude_session_player.cli import completion
from claude_session_player.cli.app import app
from claude_session_player.cli.completion import is_shell_safe
from tests.hostile.effort import sample
from tests.hostile.shells import SHELLS, Shell, require
from tests.program import csp

_DO: Final = "touch PWN"
HOSTILE: Final = [
    f"$({_DO})",
    f"`{_DO}`",
    f";{_DO};",
    f" {_DO}; $({_DO})",
    f"|{_DO}",
    f"&{_DO}&",
    f"\n{_DO}\n",
    f"\r{_DO}\r",
    f"';{_DO};'",
    f'";{_DO};"',
    f"'$({_DO})'",
    f'"$({_DO})"',
    ">PWN",
    f"<({_DO})",
    f"({_DO})",
    f" ({_DO})",
    f"${{IFS}}$({_DO})",
    f"\\$({_DO})",
    f"$'\\x24({_DO})'",
    f",plain,$({_DO})",
    f"\nplain,$({_DO})",
    f"\nplain\n$({_DO})\n_",
    f":$({_DO})",
    f"\t$({_DO})",
    "!touch",
    "!!",
    "*",
    "?",
    "[a-z]",
    "{a,b}",
    "~",
    "#x",
    "^a^b",
    "=ls",
    "%1",
    "\\",
    "'",
    '"',
    "$HOME",
    "\x1b]0;PWN\x07",
    "\x1b[2J",
    "\x7f",
    "\x9b31m",
    "\u202e",
    os.fsdecode(b"\xff"),
    "\x01\x05\x0d",
]
LEADING: Final = ["-rf", "--help", "~root", "!!", f"$({_DO})", f"`{_DO}`", "=ls", "*", "'", f";{_DO}", "\x1b[2J", "\n"]
HARMLESS: Final = ["-a", " tea timer", "größe", ".a_b+c", "x" * 200]


def prefix(number: int) -> str:
    """The beginning of a name that nothing else begins with."""
    return f"zz{number:02}"


def write(folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_bytes(b'{"type":"user"}\n')


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A home, a store and a working directory."""
    found = tmp_path / "home", tmp_path / "store", tmp_path / "work"
    for path in found:
        path.mkdir()
    (tmp_path / "store" / "projects").mkdir()
    return found


def written(folder: Path) -> list[Path]:
    """What was written by a command in a name."""
    return list(folder.parent.rglob("PWN"))


@pytest.mark.parametrize("shell", SHELLS)
def test_no_id_of_a_session_is_obeyed(shell: str, places: tuple[Path, Path, Path]) -> None:
    require(shell)
    home, store, work = places
    tried = sample(HOSTILE, 8)
    for number, name in enumerate(tried):
        write(store / "projects" / "-p", prefix(number) + name)
    for name in LEADING:
        write(store / "projects" / "-p", name)
    with Shell(shell, home, store, work) as session:
        for number, name in enumerate(tried):
            assert session.complete(f"csp get {prefix(number)}") == [b"get", prefix(number).encode()], name
        assert session.complete("csp get ", 2) == [b"get", b"latest"]
        assert session.complete("csp get lat") == [b"get", b"latest"]
    assert written(work) == []
    assert not any(sign in session.output for sign in (b"PWN\x07", b"31m"))


@pytest.mark.parametrize("shell", SHELLS)
def test_harmless_ids_are_completed(shell: str, places: tuple[Path, Path, Path]) -> None:
    require(shell)
    home, store, work = places
    for number, name in enumerate(HARMLESS):
        write(store / "projects" / "-p", prefix(number) + name)
    with Shell(shell, home, store, work) as session:
        for number, name in enumerate(HARMLESS):
            assert session.complete(f"csp get {prefix(number)}") == [b"get", (prefix(number) + name).encode()]
        assert session.complete("csp get 'zz01 te") == [b"get", b"zz01 tea timer"]
        assert session.complete("csp get zz01\\ te") == [b"get", b"zz01 tea timer"]


@pytest.mark.parametrize("shell", SHELLS)
def test_no_name_of_a_file_is_obeyed(shell: str, places: tuple[Path, Path, Path]) -> None:
    require(shell)
    home, store, work = places
    tried = sample(HOSTILE, 8)
    for number, name in enumerate(tried):
        write(work, prefix(number) + name)
    with Shell(shell, home, store, work) as session:
        for number, name in enumerate(tried):
            whole = os.fsencode(f"./{prefix(number)}{name}.jsonl")
            # what a shell cannot quote it does not complete
            got = session.complete(f"csp get ./{prefix(number)}")
            assert got in ([b"get", whole], [b"get", f"./{prefix(number)}".encode()])
    assert written(work) == []


def test_everything_that_is_offered_for_commands_and_options_is_harmless() -> None:
    words = []
    with click.Context(app) as context:
        for name in app.list_commands(context):
            command = app.get_command(context, name)
            assert command is not None
            words += [
                name,
                *(option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)),
            ]
            words += [
                str(choice) for p in command.params if isinstance(p.type, click.Choice) for choice in p.type.choices
            ]
    assert [word for word in words if not is_shell_safe(word)] == []
    assert len(words) > 100


QUESTIONS: Final = [
    (shell, word)
    for shell in (*SHELLS, "powershell", "", "bash_bash")
    for word in ("", "'", '"', "\\", "\n", "\udcff", "a" * 9999)
]


@pytest.mark.parametrize(("shell", "word"), sample(QUESTIONS, 11))
def test_a_question_of_a_shell_is_answered_without_a_message(shell: str, word: str, tmp_path: Path) -> None:
    environment = {"_CSP_COMPLETE": f"{shell}_complete", "CLAUDE_CONFIG_DIR": str(tmp_path / "none")}
    done = csp(environment={**environment, "COMP_WORDS": f"csp get {word}", "COMP_CWORD": "2"})
    assert done.stderr == b""


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_description_has_nothing_that_a_terminal_would_obey(shell: str) -> None:
    offered = CompletionItem("value", help="words\x1b[2J")
    argument = click.Argument(["ref"], shell_complete=lambda *_: [offered])
    made = completion._CLASSES[shell](click.Command("x", params=[argument]), {}, "x", "_X_COMPLETE")
    assert [(item.value, item.help) for item in made.get_completions([], "")] == [("value", "words�[2J")]
