"""`latest` on the command line: the default of commands that read one session, and what a person is told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builder import SessionBuilder
from tests.program import csp, on_terminal
from tests.stores import ONE, THREE, TWO, StoreBuilder, settle

READERS = ("replay", "show", "tree", "get", "summary", "account", "files", "export", "play", "verify")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a project whose last session is older than another one."""
    folder = tmp_path / "ada" / "kettle"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    monkeypatch.chdir(folder)
    builder = StoreBuilder(tmp_path / "ada" / ".claude")
    builder.session(ONE, "Boil the water", cwd=str(folder))
    builder.session(TWO, "Boil more water", cwd=str(folder), days=1)
    builder.session(THREE, "Start the engine", cwd="/opt/engine", days=2)
    settle(builder.root)
    return folder


@pytest.mark.parametrize("command", READERS)
def test_a_command_that_reads_one_session_reads_the_latest_of_this_project(project: Path, command: str) -> None:
    by_default, named = csp(command), csp(command, TWO)
    assert (by_default.returncode, by_default.stdout) == (0, named.stdout)
    assert csp(command, "latest:all").stdout == csp(command, THREE).stdout


def test_without_a_project_it_is_the_latest_of_all(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    assert csp("show").stdout == csp("show", THREE).stdout


def test_a_path_of_the_latest_session_needs_its_name(project: Path) -> None:
    session = SessionBuilder(session_id=TWO, cwd=str(project)).prompt("Hi")
    session.write(project / "elsewhere.jsonl")
    assert csp("files", "elsewhere.jsonl").stderr == b"The session touched no files.\n"


@pytest.mark.parametrize("command", ["archive add", "restore", "repair -o new.jsonl", "clean"])
def test_a_command_that_writes_assumes_no_session(project: Path, command: str) -> None:
    before = {path: path.read_bytes() for path in project.parent.rglob("*.jsonl")}
    done = csp(*command.split())
    assert done.stdout == b""
    assert done.returncode == 2
    assert {path: path.read_bytes() for path in project.parent.rglob("*.jsonl")} == before


def test_a_person_is_told_where_the_directory_made_a_difference(project: Path) -> None:
    told = f"note: {TWO[:8]} 'Boil more water' is the latest of kettle; latest:all is that of all projects\n"
    for command in (("show",), ("tree", "latest")):
        assert on_terminal(*command, COLUMNS="100").startswith(told)
    for ref in (TWO, "latest:all"):
        assert "note: " not in on_terminal("show", ref)


def test_nothing_is_said_where_the_directory_makes_no_difference_or_nobody_reads_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert csp("show").stderr == b""
    monkeypatch.chdir(project.parent)
    assert "note: " not in on_terminal("show")


def test_a_title_in_the_note_is_not_obeyed(project: Path) -> None:
    SessionBuilder(session_id=TWO, cwd=str(project)).prompt("Beep \x1b]0;owned\x07").write(
        next((project.parent / ".claude").rglob(f"{TWO}.jsonl"))
    )
    assert "\x1b]0;" not in on_terminal("tree")
    assert "\x07" not in on_terminal("tree")


def test_the_shell_is_told_what_latest_means(project: Path) -> None:
    done = csp(_CSP_COMPLETE="zsh_complete", COMP_WORDS="csp show lat", COMP_CWORD="2")
    assert done.stdout.decode().splitlines()[:2] == ["plain", "latest"]
    assert "of this project" in done.stdout.decode()
    assert "latest:all" in csp("help", "refs").stdout.decode()
