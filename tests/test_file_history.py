"""`files --all`: what happened to one file across sessions."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from claude_session_player.files import file_history
from claude_session_player.files.history import _may_name
from tests.builder import START, SessionBuilder, call
from tests.program import csp, on_terminal
from tests.simulated_file import SimulatedFile
from tests.stores import AGENT, ENGINE, ONE, THREE, TWO, StoreBuilder
from tests.test_cli_store import check

TEN = "".join(f"line {number}\n" for number in range(1, 11))
TEA = f"{ENGINE}/src/tea.py"


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    """A session that read and edited a file, its sub-agent that did so too, and one that wrote it two days later."""
    built = StoreBuilder(tmp_path / "store")
    first = SimulatedFile(TEN, TEA, session_id=ONE).read().edit("line 3", "three\nmore").write("x", error=True)
    first.session.write(built.home() / f"{ONE}.jsonl")
    agent = SimulatedFile(TEN, TEA, session_id=ONE, sidechain=True, start=START + timedelta(hours=1))
    agent.edit("line 9", "nine").session.write(built.home() / ONE / "subagents" / f"agent-{AGENT}.jsonl")
    later = SimulatedFile("", f"{ENGINE}/new/tea.py", session_id=TWO, start=START + timedelta(days=2))
    later.write("tea\n").session.write(built.home() / f"{TWO}.jsonl")
    SessionBuilder(session_id=THREE).prompt("tea.py is good").write(built.home() / f"{THREE}.jsonl")
    return built


def touches(store: StoreBuilder, *options: str) -> list[dict[str, Any]]:
    done = csp("files", "--all", *options, "--jsonl", "--root", str(store.root), "--no-cache")
    assert (done.returncode, done.stderr) == (0, b"")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    for record in records:
        check(record, "file_touch")
    return records


def brief(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(one["session"], one["agent"], one["line"], one["what"], one["added"], one["removed"]) for one in records]


def test_every_touch_of_a_file_is_listed_newest_first(store: StoreBuilder) -> None:
    assert brief(touches(store, "tea.py")) == [
        (TWO, None, 1, "written", 1, 0),
        (ONE, AGENT, 1, "edited", 1, 1),
        (ONE, None, 5, "failed", 0, 0),
        (ONE, None, 3, "edited", 2, 1),
        (ONE, None, 1, "read", 0, 0),
    ]
    assert touches(store, "tea.py", "--reverse") == touches(store, "tea.py")[::-1]


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (("src/tea.py", "--main"), [5, 3, 1]),
        ((TEA, "--only", "edited"), [1, 3]),
        (("tea.py", "--since", "2026-01-18"), [1]),
        (("tea.py", "--to", "2026-01-17", "--limit", "2"), [1, 5]),
        (("tea.py", "--main", "--limit", "0"), [1, 5, 3, 1]),
        (("tea.py", "--project", "nowhere"), []),
    ],
)
def test_touches_can_be_filtered(store: StoreBuilder, options: tuple[str, ...], lines: list[int]) -> None:
    if lines:
        assert [touch["line"] for touch in touches(store, *options)] == lines
    else:
        done = csp("files", "--all", *options, "--root", str(store.root))
        assert (done.returncode, done.stdout) == (0, b"")
        assert done.stderr == b"No session touched a file tea.py in this selection.\n"


def test_a_full_path_means_one_file_and_the_end_of_one_all_files_that_end_so(store: StoreBuilder) -> None:
    assert {touch["path"] for touch in touches(store, "tea.py")} == {TEA, f"{ENGINE}/new/tea.py"}
    assert {touch["path"] for touch in touches(store, "./tea.py", "--project", "engine")} == set()
    assert {touch["path"] for touch in touches(store, "src/tea.py")} == {TEA}
    output = csp("files", "--all", "tea.py", "--root", str(store.root)).stdout.decode()
    assert output.splitlines()[0].split()[-1] == "FILE"
    output = csp("files", "--all", "src/tea.py", "--root", str(store.root)).stdout.decode()
    assert "FILE" not in output.splitlines()[0]


def test_diffs_are_unified_in_a_pipe_and_in_colour_on_a_terminal(store: StoreBuilder) -> None:
    words = ("files", "--all", "src/tea.py", "--diff", "--main", "--root", str(store.root), "--no-cache", "--utc")
    told = csp(*words).stdout.decode().splitlines()
    assert told[0].endswith("session 1f2e3d4c-0001  line 3  edited +2 −1")
    assert told[1:3] == [f"--- {TEA}", f"+++ {TEA}"]
    assert told[3].startswith("@@ -")
    assert [line for line in told[4:] if line[:1] in "+-"] == ["-line 3", "+three", "+more"]
    printed = on_terminal(*words)
    assert "\x1b[31m-line 3\x1b[0m\n\x1b[32m+three\x1b[0m\n" in printed
    (record,) = touches(store, "src/tea.py", "--diff", "--main")
    assert "\n".join(told[3:]) == record["diff"]


def test_a_file_that_was_created_has_nothing_before(tmp_path: Path) -> None:
    built = StoreBuilder(tmp_path / "store")
    session = (
        SessionBuilder(session_id=ONE).prompt("Hi").response(call("Write", "w", file_path="/a.py", content="1\n2\n"))
    )
    session.result("w", "File created successfully at: /a.py").write(built.home() / f"{ONE}.jsonl")
    (touch,) = touches(built, "/a.py", "--diff")
    assert (touch["created"], touch["diff"]) == (True, "+1\n+2")
    assert (
        "--- /dev/null\n+++ /a.py\n"
        in csp("files", "--all", "a.py", "--diff", "--root", str(built.root)).stdout.decode()
    )


def test_a_copy_in_another_session_is_listed_once(tmp_path: Path) -> None:
    built = StoreBuilder(tmp_path / "store")
    for id in (ONE, TWO):
        SimulatedFile(TEN, TEA, session_id=id).edit("line 3", "three").session.write(built.home() / f"{id}.jsonl")
    assert len(touches(built, "tea.py")) == 1


def test_a_session_is_read_only_when_needed_and_only_if_it_names_the_file(store: StoreBuilder) -> None:
    taken = []

    def sessions() -> Any:
        for session in store.open().sessions():
            taken.append(session.id)
            yield session

    found = file_history(sessions(), "tea.py", lambda problem: None)
    assert next(found).session.id == TWO
    assert taken == [TWO]


@pytest.mark.parametrize("before", [0, 1, (1 << 20) - 3, (1 << 20) - 1])
def test_a_name_is_found_wherever_it_is_in_a_file(tmp_path: Path, before: int) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"x" * before + b"tea.py" + b"x" * 10)
    assert _may_name(str(path), "tea.py")
    assert not _may_name(str(path), "cup.py")
    assert _may_name(str(path), "café.py")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--all", ONE, "tea.py"), "--all needs no REF"),
        (("--all", "tea.py", "--until", "3"), "--until is a line of one session"),
        ((ONE, "--diff"), "--diff only with --all"),
        ((ONE, "--since", "7d"), "these filters only with --all"),
    ],
)
def test_a_wrong_combination_is_one_line(store: StoreBuilder, options: tuple[str, ...], words: str) -> None:
    done = csp("files", *options, "--root", str(store.root))
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    assert words in done.stderr.decode()
