"""`files` on the command line, as a person or a script meets it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.builder import SessionBuilder, call
from tests.program import PATIENCE, PROGRAM, csp, on_terminal
from tests.simulated_file import PATH, SimulatedFile
from tests.stores import AGENT, ENGINE, ONE, StoreBuilder
from tests.test_cli_store import check

TEN = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    """A session that read, edited and wrote, and a sub-agent that edited the same file."""
    builder = StoreBuilder(tmp_path / "store")
    simulated = SimulatedFile(TEN, session_id=ONE).read(2, 4).edit("line 3", "three", original=False)
    simulated.path = f"{ENGINE}/src/tea.py"
    simulated.write("tea\n").write("coffee\n", error=True)
    simulated.path = f"{ENGINE}/tests/tea.py"
    simulated.write("", error=True)
    simulated.session.write(builder.home() / f"{ONE}.jsonl")
    agent = SimulatedFile(TEN, session_id=ONE, sidechain=True).read().edit("line 9", "nine")
    agent.path = f"{ENGINE}/only.py"
    agent.read()
    agent.session.write(builder.home() / ONE / "subagents" / f"agent-{AGENT}.jsonl")
    return builder


def run(builder: StoreBuilder, *arguments: str, **environment: str) -> tuple[str, str, int]:
    done = csp("files", *arguments, "--root", builder.root, environment={"TZ": "UTC", **environment})
    return done.stdout.decode(), done.stderr.decode(), done.returncode


def out(builder: StoreBuilder, *arguments: str) -> Any:
    output, error, _ = run(builder, *arguments)
    assert error == ""
    return [json.loads(line) for line in output.splitlines()] if "--jsonl" in arguments else json.loads(output)


# --- the list ---------------------------------------------------------------------------------------


def test_files_are_listed_with_counts_times_and_who_it_was(builder: StoreBuilder) -> None:
    output, error, code = run(builder, ONE)
    assert (error, code) == ("", 0)
    assert [line.split() for line in output.splitlines()] == [
        ["FILE", "READ", "WRITTEN", "EDITED", "FAILED", "FIRST", "LAST", "BY"],
        ["kettle.py", "2", "2", "20:31:59", "20:32:01", "session,", AGENT],
        ["src/tea.py", "1", "1", "20:32:03", "20:32:05"],
        ["only.py", "1", "20:32:03", "20:32:03", AGENT],
        ["tests/tea.py", "1", "20:32:07", "20:32:07"],
    ]


def test_json_keeps_the_contract_and_jsonl_is_the_same_a_line_each(builder: StoreBuilder) -> None:
    files = out(builder, ONE, "--json")
    assert files == out(builder, ONE, "--jsonl")
    for file in files:
        check(file, "touched_file")
    assert files[0]["by"][1] == {
        "agent": AGENT,
        "reads": 1,
        "attached": 0,
        "writes": 0,
        "edits": 1,
        "failed": 0,
        "first_line": 1,
        "last_line": 3,
    }


def test_the_session_alone_can_be_asked_for(builder: StoreBuilder) -> None:
    files = out(builder, ONE, "--main", "--json")
    assert [Path(file["path"]).name for file in files] == ["kettle.py", "tea.py", "tea.py"]
    assert files[0]["reads"] == 1


@pytest.mark.parametrize(
    ("kinds", "names"),
    [
        ("written", ["src/tea.py"]),
        ("edited", ["kettle.py"]),
        ("read, WRITTEN", ["kettle.py", "src/tea.py", "only.py"]),
        ("failed", ["src/tea.py", "tests/tea.py"]),
    ],
)
def test_only_some_kinds_can_be_asked_for(builder: StoreBuilder, kinds: str, names: list[str]) -> None:
    assert [file["path"].removeprefix(f"{ENGINE}/") for file in out(builder, ONE, "--only", kinds, "--json")] == names


def test_a_table_fits_into_a_terminal(builder: StoreBuilder) -> None:
    simulated = SimulatedFile(path=f"{ENGINE}/{'deep/' * 30}kettle.py", session_id=ONE).write("x")
    simulated.session.write(builder.home() / f"{ONE}.jsonl")
    screen = on_terminal("files", ONE, "--main", "--root", builder.root, NO_COLOR="1")
    assert "deep/kettle.py" in screen
    assert max(map(len, screen.splitlines())) <= 80


def test_a_path_that_a_terminal_would_obey_is_shown_harmless_and_whole(builder: StoreBuilder) -> None:
    simulated = SimulatedFile(path=f"{ENGINE}/a\x1b[2Jb\n.py", session_id=ONE).write("x")
    simulated.session.write(builder.home() / f"{ONE}.jsonl")
    assert run(builder, ONE, "--main")[0].splitlines()[1].split()[0] == "a�[2Jb�.py"


def test_times_of_several_days_are_told_with_the_day(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).response(call("Read", "t", file_path=PATH))
    session.response(call("Read", "u", file_path=PATH), timestamp="2026-01-20T00:00:00.000Z")
    session.write(builder.home() / f"{ONE}.jsonl")
    assert "01-17 20:31  01-20 00:00" in run(builder, ONE, "--main")[0]


def test_a_session_that_touched_nothing_says_so(builder: StoreBuilder) -> None:
    builder.session(ONE)
    assert run(builder, ONE, "--main") == ("", "The session touched no files.\n", 0)
    assert run(builder, ONE, "--main", "--json") == ("[]\n", "", 0)
    assert run(builder, ONE, "--main", "x.py")[1:] == ("claude-session-player: the session touched no files\n", 7)


def test_a_filter_that_matches_nothing_says_so(builder: StoreBuilder) -> None:
    output, error, code = run(builder, AGENT, "--only", "written")
    assert (output, error, code) == ("", "The session touched 2 files, but none was written.\n", 0)


# --- the content ------------------------------------------------------------------------------------


def test_a_file_that_is_known_is_printed_to_the_byte(builder: StoreBuilder) -> None:
    assert run(builder, ONE, "src/tea.py") == ("tea\n", "", 0)
    simulated = SimulatedFile(session_id=ONE).write("no\ttab\r\nño end")
    simulated.session.write(builder.home() / f"{ONE}.jsonl")
    done = csp("files", ONE, PATH, "--main", "--root", builder.root)
    assert (done.stdout, done.stderr, done.returncode) == ("no\ttab\r\nño end".encode(), b"", 0)


def test_parts_are_printed_with_marks_for_the_rest_and_a_word_on_stderr(builder: StoreBuilder) -> None:
    output, error, code = run(builder, ONE, "kettle.py", "--until", "2")
    lines = ["… line 1 is not known …", "line 2", "line 3", "line 4", "line 5", "… lines 6–11 are not known …"]
    assert (output.splitlines(), code) == (lines, 1)
    assert error.splitlines()[0] == "warning: 4 of 11 lines are known; line 1 is not known; lines 6–11 are not known"


def test_sub_agents_that_changed_the_file_are_named_with_the_way_to_their_view(builder: StoreBuilder) -> None:
    error = run(builder, ONE, "kettle.py")[1].splitlines()
    assert error[1:] == [
        f"warning: sub-agent {AGENT} changed it, too: see 'claude-session-player files {AGENT} {PATH}'"
    ]
    assert run(builder, AGENT, PATH) == (TEN.replace("line 9", "nine"), "", 0)
    assert "sub-agent" not in run(builder, ONE, "kettle.py", "--main")[1]


def test_nothing_known_is_one_line_and_where_else_to_look(builder: StoreBuilder) -> None:
    output, error, code = run(builder, ONE, "only.py")
    assert (output, code) == ("", 1)
    assert error.splitlines() == [
        f"claude-session-player: nothing is known of {ENGINE}/only.py: no tool showed its content",
        f"  sub-agent {AGENT} touched it: see 'claude-session-player files {AGENT} {ENGINE}/only.py'",
    ]
    assert " at line 1: " in run(builder, ONE, "kettle.py", "--until", "1")[1]


@pytest.mark.parametrize("arguments", [["kettle.py"], ["src/tea.py"], ["only.py"], ["kettle.py", "--until", "2"]])
@pytest.mark.parametrize("form", ["--json", "--jsonl"])
def test_the_content_as_json_keeps_the_contract(builder: StoreBuilder, arguments: list[str], form: str) -> None:
    output, error, code = run(builder, ONE, *arguments, form)
    content = json.loads(output)
    check(content, "file_content")
    assert (error, code) == ("", 0 if content["complete"] else 1)
    assert (content["content"] is None) == (not content["complete"])


def test_notes_are_words_and_data(builder: StoreBuilder) -> None:
    simulated = SimulatedFile(TEN, session_id=ONE).read().change_outside("x\n").read()
    simulated.session.response(call("Write", "t", file_path=PATH, content="y")).write(builder.home() / f"{ONE}.jsonl")
    assert run(builder, ONE, PATH, "--main") == (
        "x\n",
        "warning: it was changed outside of the session's tools before line 4\n"
        "warning: Write in line 5 has no result: whether it succeeded is not known\n",
        0,
    )
    notes = out(builder, ONE, PATH, "--main", "--json")["notes"]
    assert [(note["line"], note["reason"]) for note in notes] == [(4, "changed_outside"), (5, "no_result")]


def test_the_file_history_of_the_store_is_looked_at(builder: StoreBuilder) -> None:
    simulated = SimulatedFile(TEN, session_id=ONE).read(1, 2)
    backup = {"backupFileName": "abc@v1", "backupTime": "2026-02-01T00:00:00.000Z"}
    snapshot = {"trackedFileBackups": {"kettle.py": backup}}
    simulated.session.line({"type": "file-history-snapshot", "snapshot": snapshot}).write(
        builder.home() / f"{ONE}.jsonl"
    )
    assert run(builder, ONE, PATH, "--main")[2] == 1
    folder = builder.root / "file-history" / ONE
    folder.mkdir(parents=True)
    (folder / "abc@v1").write_bytes(TEN.replace("\n", "\r\n").encode())
    assert run(builder, ONE, PATH, "--main") == (TEN, "", 0)
    (folder / "abc@v1").write_bytes(b"\xff\xfe")
    assert run(builder, ONE, PATH, "--main")[2] == 1


@pytest.mark.parametrize("name", ["../secret", "..", "", "/etc/passwd", "a/b", "x\0y"])
def test_a_name_of_a_copy_leads_nowhere_else(builder: StoreBuilder, name: str) -> None:
    (builder.root / "file-history" / ONE).mkdir(parents=True)
    (builder.root / "file-history" / "secret").write_text("secret")
    assert builder.open().resolve(ONE).backup(name) is None


# --- mistakes ---------------------------------------------------------------------------------------


def test_the_end_of_a_path_is_enough_where_it_is_unique(builder: StoreBuilder) -> None:
    output, error, code = run(builder, ONE, "tea.py")
    assert (output, code) == ("", 8)
    assert error.splitlines() == [
        "claude-session-player: 'tea.py' matches 2 files; give more of the path",
        f"  {ENGINE}/src/tea.py",
        f"  {ENGINE}/tests/tea.py",
    ]
    assert run(builder, ONE, "ea.py")[2] == 7


@pytest.mark.parametrize(
    ("given", "near"), [("ketle.py", "kettle.py"), ("KETTLE", "kettle.py"), ("engine/src", "src/tea.py")]
)
def test_a_path_that_fits_none_names_the_nearest(builder: StoreBuilder, given: str, near: str) -> None:
    output, error, code = run(builder, ONE, given)
    assert (output, code) == ("", 7)
    assert error.splitlines()[:2] == [
        f"claude-session-player: the session touched no file {given!r}; did you mean",
        f"  {ENGINE}/{near}",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--until", "3"], "--until needs a PATH"),
        (["kettle.py", "--until", "0"], "0 is not in the range"),
        (["kettle.py", "--only", "read"], "--only selects files for the list"),
        (["--only", "read,eaten"], "'eaten' is not one of read, written, edited, failed"),
    ],
)
def test_a_wrong_option_is_told_in_one_line(builder: StoreBuilder, arguments: list[str], words: str) -> None:
    output, error, code = run(builder, ONE, *arguments)
    assert (output, code, error.count("\n")) == ("", 2, 1)
    assert words in error


def test_a_session_file_needs_no_store(tmp_path: Path) -> None:
    path = SimulatedFile().write("tea\n").session.write(tmp_path / "session.jsonl")
    done = csp("files", path, "kettle.py", HOME=str(tmp_path), CLAUDE_CONFIG_DIR=str(tmp_path / "none"))
    assert (done.stdout, done.stderr, done.returncode) == (b"tea\n", b"", 0)


def test_a_reader_that_has_seen_enough_is_no_mistake(tmp_path: Path) -> None:
    path = SimulatedFile().write("tea\n" * 200_000).session.write(tmp_path / "session.jsonl")
    command = subprocess.list2cmdline([*PROGRAM, "files", str(path), "kettle.py"])
    done = subprocess.run(f"{command} | head -1", shell=True, capture_output=True, check=False, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == (b"tea\n", b"")
