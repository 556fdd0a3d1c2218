"""The finder on the command line, as a person or a script meets it."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.cells import cell_len

from claude_session_player.cli._output import SCHEMA_VERSION
from claude_session_player.store.index import INDEX_VERSION
from tests.builder import START, SessionBuilder, text
from tests.program import PROGRAM, csp, on_terminal
from tests.stores import AGENT, ONE, THREE, TWO, StoreBuilder

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    builder = StoreBuilder(tmp_path / "store")
    builder.every_layout()
    builder.session(THREE, "Boil the water", cwd="/home/ada/kettle", days=5)
    builder.json(Path(f"todos/{ONE}-agent-{ONE}.json"), [{"content": "Start it", "status": "in_progress", "id": 7}])
    builder.json(Path("memories/1.json"), {"content": "Prefers tea \ud83d", "tags": ["taste"]})
    builder.json(Path("settings.json"), {"env": {"API_KEY": "hunter2"}, "model": "opus"})
    return builder


def out(builder: StoreBuilder, *arguments: str, **environment: str) -> Any:
    """The JSON that a command prints; it says nothing on stderr."""
    done = csp(*arguments, "--root", builder.root, environment=environment)
    assert (done.stderr, done.returncode) == (b"", 0)
    if "--jsonl" in arguments:
        return [json.loads(line) for line in done.stdout.splitlines()]
    return json.loads(done.stdout)


def check(value: Any, kind: str) -> None:
    jsonschema.validate(value, {**SCHEMA, "$ref": f"#/$defs/{kind}"})


# --- the contract -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "kind", "count"),
    [
        (["list", "--include-subagents"], "session", 8),
        (["projects"], "project", 2),
        (["todos"], "todo", 2),
        (["memories"], "memory", 1),
        (["settings"], "settings", 1),
    ],
)
def test_json_is_an_array_and_jsonl_the_same_a_line_each(
    builder: StoreBuilder, command: list[str], kind: str, count: int
) -> None:
    array, lines = out(builder, *command, "--json"), out(builder, *command, "--jsonl")
    assert array == lines
    assert len(array) == count
    for record in array:
        check(record, kind)


@pytest.mark.parametrize("ref", [ONE, TWO, THREE, "flat0001", "nest0001", "ses_0001", f"{ONE}-2026-01-17"])
def test_get_keeps_the_contract(builder: StoreBuilder, ref: str) -> None:
    detailed = out(builder, "get", ref, "--json")
    check(detailed, "detailed_session")
    assert len(detailed["event_list"]) == detailed["events"] == detailed["event_count"]
    brief = out(builder, "get", ref, "--json", "--no-events")
    check(brief, "detailed_session")
    assert {**detailed, "event_list": None} == {**brief, "event_list": None}
    assert "event_list" not in brief
    listed = [one for one in out(builder, "list", "--include-subagents", "--json") if one["id"] == detailed["id"]]
    assert [{key: brief[key] for key in listed[0]}] == listed


def test_a_contract_that_is_broken_would_be_noticed(builder: StoreBuilder) -> None:
    record = out(builder, "list", "--json")[0]
    for change in ({"platform": "other"}, {"size": "large"}, {"updated_at": "today"}, {"kind": "x"}):
        with pytest.raises(jsonschema.ValidationError):
            check({**record, **change}, "session")
    del record["detail_hint"]
    with pytest.raises(jsonschema.ValidationError):
        check(record, "session")


def test_the_number_of_events_is_a_number_in_every_output(builder: StoreBuilder) -> None:
    for record in (out(builder, "get", ONE, "--json"), *out(builder, "list", "--json")):
        assert isinstance(record["events"], int)
        with pytest.raises(jsonschema.ValidationError):
            check({**record, "events": []}, "session")


def test_the_schema_has_the_version_of_the_code() -> None:
    assert SCHEMA["version"] == SCHEMA_VERSION
    assert SCHEMA["$id"] == f"urn:claude-session-player:schema:{SCHEMA_VERSION}"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_describes_every_field(builder: StoreBuilder) -> None:
    record = out(builder, "list", "--json", "--limit", "1")[0]
    assert set(record) == set(SCHEMA["$defs"]["session"]["required"])
    assert set(record) == set(SCHEMA["$defs"]["session"]["properties"])


def test_the_hint_of_a_session_leads_to_it(builder: StoreBuilder) -> None:
    record = out(builder, "list", "--json", "--limit", "1")[0]
    assert out(builder, *record["detail_hint"].split()[1:], "--json")["id"] == record["id"]


# --- get --------------------------------------------------------------------------------------------


def test_get_gives_normalised_events_and_the_tree(builder: StoreBuilder) -> None:
    session = out(builder, "get", ONE, "--json")
    told = [(event["type"], event.get("text") or event.get("name")) for event in session["event_list"]]
    assert told == [("user", "Start the engine"), ("tool_use", "Task"), ("tool_use", "Task"), ("assistant", "It runs.")]
    assert session["event_list"][0]["human"] is True
    assert {child["id"] for child in session["subagents"]} == {"flat0001", "nest0001", "work0001"}
    assert [run["id"] for run in session["workflows"]] == ["wf_1"]


def test_get_of_an_agent_gives_the_child_with_its_parent(builder: StoreBuilder) -> None:
    child = out(builder, "get", "nest0001", "--json")
    assert (child["parent_id"], child["agent"], child["title"]) == (ONE, "Plan", "Dig")
    assert [event["text"] for event in child["event_list"]] == ["Look around", "Nothing there."]
    assert all(event["sidechain"] for event in child["event_list"])


@pytest.mark.parametrize(
    ("bounds", "lines"),
    [("1:2", [1, 2]), ("3:", [3, 4]), (":1", [1]), ("-2:", [3, 4]), (":-3", [1, 2]), (":", [1, 2, 3, 4]), ("9:", [])],
)
def test_a_range_of_events_counts_from_one(builder: StoreBuilder, bounds: str, lines: list[int]) -> None:
    session = out(builder, "get", ONE, "--json", "--events", bounds)
    assert [event["line"] for event in session["event_list"]] == lines
    assert session["event_count"] == 4


def test_jsonl_gives_the_session_and_then_its_events(builder: StoreBuilder) -> None:
    session, *events = out(builder, "read", ONE, "--jsonl")
    assert session["events"] == len(events) == 4
    for event in events:
        check(event, "event")


def test_get_for_people_shows_facts_tree_and_events(builder: StoreBuilder) -> None:
    shown = csp("get", ONE, "--root", builder.root).stdout.decode()
    assert "title        Start the engine\n" in shown
    assert "3 sub-agents\n├─ " in shown
    assert "     1  " in shown
    assert "tool_use     Task {" in shown


# --- list -------------------------------------------------------------------------------------------


def test_a_table_fits_the_terminal_and_keeps_what_matters(builder: StoreBuilder) -> None:
    builder.session("bbbb0000-1111", "A very long title that goes on and on " * 5)
    for width in (5, 20, 40, 60, 80, 120, 200):
        shown = on_terminal("list", "--root", builder.root, COLUMNS=str(width), NO_COLOR="1")
        lines = shown.splitlines()
        assert max(map(cell_len, lines)) <= width
        assert "ID" in lines[0]
        assert "TITLE" in lines[0] or width < 60
    assert "Boil the water" in shown


def test_a_table_has_colours_where_the_terminal_has(builder: StoreBuilder) -> None:
    shown = on_terminal("list", "--root", builder.root, TERM="xterm-256color")
    assert shown.startswith("\x1b[1mID\x1b[0m")
    assert "\x1b[36m" in shown
    for plain in ({"TERM": "dumb"}, {"TERM": "xterm-256color", "NO_COLOR": "1"}):
        assert "\x1b" not in on_terminal("list", "--root", builder.root, **plain)


def test_filters_of_the_command_line(builder: StoreBuilder) -> None:
    def ids(*arguments: str) -> list[str]:
        return [session["id"] for session in out(builder, "list", "--json", *arguments)]

    assert ids("--project", "kettle") == [THREE]
    assert ids("--title", "BOIL", "--model", "opus", "--branch", "main", "--cwd", "kettle") == [THREE]
    assert ids("--from", "2026-01-20") == [THREE]
    assert ids("--from", "2026-01-19T09:00:00Z", "--to", "2026-01-19T11:00:00Z") == ["ses_0001"]
    assert ids("--to", "2026-01-17", "--sort", "size", "--limit", "1") == [ONE]
    assert len(ids("--from", "2026", "--to", "2026-01", "--offset", "1")) == 4
    assert ids("--from", "2027") == []


def test_nothing_found_is_said_and_is_no_failure(builder: StoreBuilder) -> None:
    done = csp("list", "--title", "nothing like it", "--root", builder.root)
    assert (done.stdout, done.returncode) == (b"", 0)
    assert done.stderr == b"No sessions match these filters.\n"


def test_one_file_is_not_called_files(builder: StoreBuilder) -> None:
    folder = builder.home() / ONE / "tool-results"
    assert "\noutputs      1 file\n" in csp("get", ONE, "--no-events", "--root", builder.root).stdout.decode()
    (folder / "toolu_10.txt").write_text("more")
    assert "\noutputs      2 files\n" in csp("get", ONE, "--no-events", "--root", builder.root).stdout.decode()


def test_times_are_local(builder: StoreBuilder) -> None:
    shown = csp("get", THREE, "--no-events", "--root", builder.root, TZ="Asia/Tokyo").stdout.decode()
    assert "from         2026-01-23 05:31:59" in shown


def test_what_cannot_be_read_is_counted_and_named(builder: StoreBuilder, tmp_path: Path) -> None:
    for number in range(12):
        (builder.home() / f"dangling{number:02}.jsonl").symlink_to(tmp_path / "nowhere")
    done = csp("list", "--json", "--root", builder.root)
    assert (len(json.loads(done.stdout)), done.returncode) == (5, 0)
    lines = done.stderr.decode().splitlines()
    assert lines[0] == "warning: 12 files or directories could not be read:"
    assert lines[1].endswith("dangling00.jsonl: a link that leads nowhere")
    assert lines[-1] == "  … and 2 more"


def test_a_terminal_is_not_made_to_obey_a_title(builder: StoreBuilder) -> None:
    builder.session("bbbb0000", "\x1b[2J\x07evil\u202e")
    shown = on_terminal("list", "--root", builder.root, NO_COLOR="1")
    assert "\x1b[2J" not in shown
    assert "\x07" not in shown


def test_nothing_is_written_into_a_store(builder: StoreBuilder) -> None:
    before = {path: path.stat().st_mtime_ns for path in builder.root.rglob("*")}
    for command in (
        ["list"],
        ["projects"],
        ["get", "latest"],
        ["todos"],
        ["memories"],
        ["settings"],
        ["replay", "latest"],
    ):
        assert csp(*command, "--root", builder.root).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in builder.root.rglob("*")} == before


def test_without_a_cache_nothing_is_kept(builder: StoreBuilder, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    out(builder, "list", "--json", "--no-cache", XDG_CACHE_HOME=str(cache))
    assert not cache.exists()
    out(builder, "list", "--json", XDG_CACHE_HOME=str(cache))
    assert [path.name for path in cache.rglob("*.sqlite")] == [f"index-{INDEX_VERSION}.sqlite"]


def test_a_long_first_scan_shows_a_progress_bar_on_stderr_alone(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE)
    for _ in range(35):
        session.prompt("Hi").response(text("x" * 2_000_000))
    session.write(builder.home() / f"{ONE}.jsonl")
    session.write(builder.home() / f"{TWO}.jsonl")
    shown = on_terminal("list", "--no-cache", "--root", builder.root)
    assert "reading sessions" in shown
    assert b"reading" not in csp("list", "--no-cache", "--root", builder.root).stderr


# --- references everywhere --------------------------------------------------------------------------


@pytest.mark.parametrize("ref", [THREE, THREE[:4], "latest", "latest:1", "Boil the water", "boil the"])
def test_replay_and_account_take_references(builder: StoreBuilder, ref: str) -> None:
    screen = "❯ Boil the water\n\n● It runs.\n"
    assert csp(ref, "--root", builder.root).stdout.decode() == screen
    assert csp("replay", ref, "--root", builder.root).stdout.decode() == screen
    assert json.loads(csp("account", ref, "--json", "--root", builder.root).stdout)["lines"] == 2


def test_a_subagent_inside_of_a_file_can_be_replayed(builder: StoreBuilder) -> None:
    id = out(builder, "get", TWO, "--json")["subagents"][0]["id"]
    assert csp(id, "--root", builder.root).stdout.decode() == "❯ What is it?\n\n● A kettle.\n"


def test_a_breadcrumb_leads_from_a_file_or_standard_input(builder: StoreBuilder, tmp_path: Path) -> None:
    crumb = json.dumps({"project": "/home/ada/kettle", "sessionId": THREE, "timestamp": "2026-01-17T20:31:59.197Z"})
    (tmp_path / "crumb.json").write_text(crumb)
    for arguments, stdin in ((("replay", tmp_path / "crumb.json"), b""), (("replay", "-"), crumb.encode())):
        assert b"Boil the water" in csp(*arguments, "--root", builder.root, stdin=stdin).stdout
    assert json.loads(csp("get", "-", "--json", "--root", builder.root, stdin=crumb.encode()).stdout)["id"] == THREE


@pytest.mark.parametrize("command", ["replay", "account", "get"])
def test_a_path_needs_no_store(builder: StoreBuilder, tmp_path: Path, command: str) -> None:
    path = builder.home() / f"{ONE}.jsonl"
    assert csp(command, path, HOME=str(tmp_path)).returncode == 0
    assert csp(command, "./nothing", HOME=str(tmp_path)).returncode == 3


def test_a_file_that_holds_no_session_is_refused(builder: StoreBuilder, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    (tmp_path / "crumb.json").write_text('{"sessionId": 7}')
    for path in (tmp_path / "notes.md", tmp_path / "crumb.json", builder.home() / "todo.jsonl"):
        for command in ("get", "replay"):
            done = csp(command, path, "--root", builder.root)
            assert (done.returncode, done.stdout) == (4, b""), (command, path)


def test_a_breadcrumb_may_come_in_pieces(builder: StoreBuilder) -> None:
    crumb = json.dumps({"sessionId": THREE, "note": "x" * 20_000, "project": "/home/ada/kettle"}, indent=2).encode()
    command = [*PROGRAM, "-", "--root", str(builder.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for start in range(0, len(crumb), 7000):
            process.stdin.write(crumb[start : start + 7000])
            process.stdin.flush()
        process.stdin.close()
        assert "Boil the water" in process.stdout.read().decode()


def test_ids_are_shortened_so_that_they_are_still_understood(builder: StoreBuilder) -> None:
    for line in csp("list", "--limit", "3", "--root", builder.root).stdout.decode().splitlines()[1:]:
        assert csp("get", "--no-events", line.split()[0], "--root", builder.root).returncode == 0


def test_a_number_of_events_beyond_all_bounds_gives_none(builder: StoreBuilder) -> None:
    assert out(builder, "get", ONE, "--json", "--events", f"{10**20}:")["event_list"] == []


@pytest.mark.parametrize("command", ["list", "projects", "get latest", "todos", "memories", "settings"])
def test_a_closed_stdout_is_told(builder: StoreBuilder, command: str) -> None:
    line = " ".join([*PROGRAM, command, "--root", str(builder.root), ">&-"])
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (5, 1), done.stderr


def test_a_mistake_is_not_told_on_stdout_where_stderr_is_closed(builder: StoreBuilder) -> None:
    line = " ".join([*PROGRAM, "get qqqqqqqq --root", str(builder.root), "2>&-"])
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "")


@pytest.mark.parametrize("zone", ["UTC+25", "Nowhere/Else", "America/New_York"])
def test_any_zone_and_any_time_can_be_shown(builder: StoreBuilder, zone: str) -> None:
    SessionBuilder().prompt("Zero", timestamp="0001-01-01T00:00:00Z").write(builder.home() / "zero0000.jsonl")
    for command in ("list", "list --from today", "get zero0000"):
        done = csp(*command.split(), "--root", builder.root, TZ=zone)
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False)


# --- mistakes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["list", "--from", "soon"], 2, "today, yesterday, 7d, 12h"),
        (["list", "--to", "2026-99"], 2, "2026-01-17, 2026-01, 2026"),
        (["list", "--sort", "colour"], 2, "'updated'"),
        (["list", "--limit", "-1"], 2, "x>=0"),
        (["get", ONE, "--events", "1-2"], 2, "FIRST:LAST"),
        (["get", "./nothing.jsonl"], 3, "No such file"),
        (["get", "qqqqqqqq"], 7, "none of 8 sessions"),
        (["get", "zz"], 7, "at least 4 characters"),
        (["replay", "latest:77"], 7, "there are 5 sessions"),
        (["get", "1f2e"], 8, "matches 3 sessions"),
        (["get", "-"], 7, "standard input holds no breadcrumb"),
        (["completion", "tcsh"], 2, "'bash', 'zsh', 'fish'"),
    ],
)
def test_a_mistake_is_told_in_a_line(builder: StoreBuilder, arguments: list[str], code: int, words: str) -> None:
    root = [] if arguments[0] == "completion" else ["--root", str(builder.root)]
    done = csp(*arguments, *root)
    assert (done.returncode, done.stdout) == (code, b"")
    first, *candidates = done.stderr.decode().splitlines()
    assert words in first
    assert all(line.startswith("  ") for line in candidates)
    assert "Traceback" not in done.stderr.decode()


def test_candidates_are_listed_below(builder: StoreBuilder) -> None:
    lines = csp("1f2e", "--root", builder.root).stderr.decode().splitlines()
    assert [line.split()[0] for line in lines[1:]] == [ONE, TWO, f"{ONE}-2026-01-17"]


@pytest.mark.parametrize("command", [["list"], ["projects"], ["get", "latest"], ["todos"], ["memories"], ["settings"]])
def test_no_store_has_an_exit_code_of_its_own(tmp_path: Path, command: list[str]) -> None:
    done = csp(*command, HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (6, b"")
    (line,) = done.stderr.decode().splitlines()
    assert f"{tmp_path}/.claude" in line
    assert "--root DIR" in line


def test_a_reader_that_has_seen_enough_ends_the_list(builder: StoreBuilder) -> None:
    command = " ".join([*PROGRAM, "list --jsonl --root", str(builder.root), "| head -c 10"])
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    assert (len(done.stdout), done.stderr) == (10, b"")


# --- completion -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed_for_both_names(shell: str) -> None:
    script = csp("completion", shell).stdout.decode()
    assert "_CLAUDE_SESSION_PLAYER_COMPLETE" in script
    assert "_CSP_COMPLETE" in script


def completed(builder: StoreBuilder, *words: str) -> list[str]:
    environment = {
        "_CLAUDE_SESSION_PLAYER_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("claude-session-player", *words)),
        "COMP_CWORD": str(len(words)),
        "CLAUDE_CONFIG_DIR": str(builder.root),
    }
    done = csp(environment=environment)
    assert done.returncode == 0
    return [line.partition(",")[2] for line in done.stdout.decode().splitlines()]


def test_commands_options_and_ids_are_completed(builder: StoreBuilder) -> None:
    assert completed(builder, "pro") == ["projects", "prompts"]
    assert "--include-subagents" in completed(builder, "list", "--incl")
    assert set(completed(builder, "get", "1f2e")) == {ONE, TWO, f"{ONE}-2026-01-17"}
    assert completed(builder, "replay", "lat") == ["latest"]
    assert completed(builder, "account", "nest") == ["nest0001"]


def test_bash_completes_for_real(builder: StoreBuilder, tmp_path: Path) -> None:
    (tmp_path / "script").write_bytes(csp("completion", "bash").stdout)
    (tmp_path / "claude-session-player").write_text(f'#!/bin/sh\nexec {" ".join(PROGRAM)} "$@"\n')
    (tmp_path / "claude-session-player").chmod(0o755)
    commands = (
        f"source {tmp_path}/script; COMP_WORDS=(claude-session-player get a9b8); COMP_CWORD=2; "
        '_claude_session_player_completion claude-session-player; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CLAUDE_CONFIG_DIR": str(builder.root)}
    done = subprocess.run(
        ["bash", "-c", commands], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert done.stdout.split() == [THREE], done.stderr


# --- a list on a terminal ---------------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path) -> StoreBuilder:
    """Forty sessions, numbered from the last active one."""
    builder = StoreBuilder(tmp_path / "many")
    for number in range(40):
        builder.session(f"{number:08d}-0000-4000-8000-000000000000", f"Session {number}", days=40 - number)
    return builder


def titles(output: str) -> int:
    """How many sessions are listed, from the first on."""
    count = output.count("Session ")
    assert [f"Session {number}" in output for number in range(count)] == [True] * count
    return count


@pytest.mark.parametrize(("lines", "count"), [("24", 21), ("10", 7), ("2", 3), ("41", 38), ("42", 40), ("100", 40)])
def test_a_list_on_a_terminal_fits_its_screen(many: StoreBuilder, lines: str, count: int) -> None:
    listed = on_terminal("list", "--root", many.root, LINES=lines)
    assert titles(listed) == count
    assert ("more: 'list --limit 0' shows all" in listed) == (count < 40)
    if count < 40:
        assert f"… {40 - count} more" in listed.splitlines()[-1]
        assert len(listed.splitlines()) == max(int(lines) - 1, 5)
    else:
        assert len(listed.splitlines()) == 41


@pytest.mark.parametrize(("limit", "count"), [("0", 40), ("30", 30), ("5", 5)])
def test_a_limit_decides_how_many_are_listed_on_a_terminal(many: StoreBuilder, limit: str, count: int) -> None:
    listed = on_terminal("list", "--limit", limit, "--root", many.root)
    assert titles(listed) == count
    assert " more" not in listed


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        ("75", "… 33 more: 'list --limit 0' shows all, filters like --project show fewer"),
        ("60", "… 33 more: 'list --limit 0' shows all"),
        ("30", "… 33 more: see --limit 0"),
        ("20", "… 33 more"),
    ],
)
def test_what_a_list_leaves_out_is_said_in_one_line(many: StoreBuilder, columns: str, hint: str) -> None:
    listed = on_terminal("list", "--root", many.root, COLUMNS=columns, LINES="10", NO_COLOR="1").splitlines()
    assert listed[-1] == hint
    assert len(listed) == 9


@pytest.fixture
def headless(many: StoreBuilder) -> StoreBuilder:
    """The same, of which the newest thirty have no person, and one of these a sub-agent."""
    for number in range(30):
        id = f"{number:08d}-0000-4000-8000-000000000000"
        session = SessionBuilder(session_id=id, start=START + timedelta(days=40 - number))
        session.prompt(f"Session {number}", entrypoint="sdk-cli").write(many.home() / f"{id}.jsonl")
    agent = SessionBuilder(session_id=f"{0:08d}-0000-4000-8000-000000000000", sidechain=True)
    agent.prompt("Look", entrypoint="sdk-cli").write(many.home() / f"agent-{AGENT}.jsonl")
    return many


def test_headless_runs_and_their_sub_agents_are_left_out_of_a_list(headless: StoreBuilder) -> None:
    assert len(out(headless, "list", "--json", "--include-subagents")) == 41
    assert len(out(headless, "list", "--json", "--no-headless", "--include-subagents")) == 10
    shown = on_terminal("list", "--no-headless", "--root", headless.root, LINES="24")
    assert shown.count("Session ") == 10


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        ("90", "… 33 more; 30 of 40 are headless: --no-headless leaves them out, --limit 0 shows all"),
        ("60", "… 33 more; 30 of 40 are headless: see --no-headless"),
        ("45", "… 33 more: 'list --limit 0' shows all"),
    ],
)
def test_a_list_that_is_cut_says_how_many_are_headless(headless: StoreBuilder, columns: str, hint: str) -> None:
    listed = on_terminal("list", "--root", headless.root, COLUMNS=columns, LINES="10", NO_COLOR="1").splitlines()
    assert listed[-1] == hint
    assert len(listed) == 9


def test_filters_and_offsets_count_in_what_is_left_out(many: StoreBuilder) -> None:
    listed = on_terminal("list", "--offset", "10", "--root", many.root)
    assert "Session 10 " in listed
    assert "… 9 more" in listed


def test_in_a_pipe_nothing_of_a_table_is_cut(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "long")
    title, branch = "Teach the kettle to whistle " * 4 + "in tune", "feature/" + "whistle-" * 8 + "tune"
    cwd = "/home/ada/a-kettle-that-whistles-in-tune-on-any-stove"
    session = SessionBuilder(session_id=ONE, cwd=cwd, branch=branch).prompt(title).response(text("It whistles."))
    session.write(builder.home(cwd) / f"{ONE}.jsonl")
    where, kept = ["--root", str(builder.root)], ["--archive", str(tmp_path / "kept")]
    for command in (["list", *where], ["archive", ONE, *where, *kept], ["archive", "list", *kept]):
        shown = csp(*command).stdout.decode()
        assert title in shown
        assert os.path.basename(cwd) in shown
    assert branch in csp("list", "--root", builder.root).stdout.decode()
    assert cwd in csp("projects", "--root", builder.root).stdout.decode()


def test_a_list_in_a_pipe_and_as_json_is_whole(many: StoreBuilder) -> None:
    done = csp("list", "--root", many.root, LINES="10")
    assert (titles(done.stdout.decode()), done.stderr) == (40, b"")
    assert len(json.loads(on_terminal("list", "--json", "--root", many.root))) == 40
    assert len(out(many, "list", "--json", "--limit", "0")) == 40
