"""`find` on the command line: what people and scripts see of a search."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.cells import cell_len

from claude_session_player.cli import play, run
from claude_session_player.cli._refs import SessionSource
from claude_session_player.player.timeline import LinePosition
from claude_session_player.search.engine import MOST_MATCHES
from claude_session_player.util.tables import fit_marked
from tests.builder import START, SessionBuilder, call, text, thought
from tests.program import csp, on_terminal
from tests.stores import AGENT, ONE, THREE, TWO, StoreBuilder

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))
KETTLE = "/home/ada/kettle"


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoreBuilder:
    """An engine that is started with a sub-agent's help, and two sessions about a kettle."""
    builder = StoreBuilder(tmp_path / "store")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(builder.root))
    first = SessionBuilder(session_id=ONE).prompt("Start the engine, please")
    first.response(thought("Is there any fuel?"), call("Bash", "toolu_1", command="engine --start"))
    first.result("toolu_1", "engine: no fuel", error=True)
    first.response(call("Task", "toolu_2", description="Look", prompt="Look for fuel", subagent_type="Explore"))
    first.result("toolu_2", "Fuel is in the shed.")
    first.response(
        call("Edit", "toolu_3", file_path="/home/ada/engine/start.py", old_string="a", new_string="fuel = 1")
    )
    first.response(text("The engine runs.")).write(builder.home() / f"{ONE}.jsonl")
    builder.meta(builder.agent(place="subagents", task="Look for fuel"), agentType="Explore", toolUseId="toolu_2")
    second = SessionBuilder(session_id=TWO, cwd=KETTLE, start=START + timedelta(days=1))
    second.prompt("Boil water in the kettle").response(text("It boils without fuel."))
    second.line({"type": "custom-title", "customTitle": "Tea for two", "sessionId": TWO})
    second.write(builder.home(KETTLE) / f"{TWO}.jsonl")
    builder.session(THREE, "Clean the kettle", cwd=KETTLE, days=2)
    return builder


def find(builder: StoreBuilder, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    done = csp("find", "--root", builder.root, *arguments, environment=environment)
    assert b"Traceback" not in done.stderr
    return done


def out(builder: StoreBuilder, *arguments: str, kind: str = "found_session") -> Any:
    """The JSON that a search prints, as the schema says; it says nothing on stderr."""
    done = find(builder, *arguments)
    assert (done.stderr, done.returncode) == (b"", 0)
    lines = "--jsonl" in arguments
    values = [json.loads(line) for line in done.stdout.splitlines()] if lines else json.loads(done.stdout)
    for value in values if isinstance(values, list) else [values]:
        jsonschema.validate(value, {**SCHEMA, "$ref": f"#/$defs/{kind}"})
    return values


def ids(builder: StoreBuilder, *arguments: str) -> list[str]:
    done = find(builder, "--ids", *arguments)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().split()


# --- for people -------------------------------------------------------------------------------------


def test_hits_are_below_their_session_with_the_commands_that_open_it(builder: StoreBuilder) -> None:
    done = find(builder, "fuel")
    root = builder.root
    assert (
        done.stdout.decode()
        == f"""\
 1  1f2e3d4c-0001  Start the engine, please · engine · 2026-01-17
    1  2026-01-17 20:31  ↳ a5b6c7d8 prompt  Look for fuel
    7  2026-01-17 20:32  Edit               /home/ada/engine/start.py a fuel = 1
    5  2026-01-17 20:32  Task               Look Look for fuel Explore
    … and 3 more hits
    csp play a5b6c7d8 --from 1 --root {root}
    csp show a5b6c7d8 --from 1 --root {root}
    cd /home/ada/engine && claude --resume {ONE}

 2  1f2e3d4c-0002  Tea for two · kettle · 2026-01-18
    2  2026-01-18 20:32  response  It boils without fuel.
    csp play 1f2e3d4c-0002 --from 2 --root {root}
    csp show 1f2e3d4c-0002 --from 2 --root {root}
    cd {KETTLE} && claude --resume {TWO}
"""
    )
    assert (done.stderr, done.returncode) == (b"7 hits in 2 sessions; index, 4 files\n", 0)


def test_a_terminal_shows_matches_in_colour_and_each_hit_on_one_line(builder: StoreBuilder) -> None:
    shown = on_terminal("find", "fuel", "--root", builder.root)
    assert "It boils without \x1b[1;35mfuel\x1b[0m." in shown
    assert "\x1b[36m1f2e3d4c-0002\x1b[0m  \x1b[1mTea for two\x1b[0m · \x1b[32mkettle\x1b[0m" in shown
    assert shown.endswith("\n\n7 hits in 2 sessions; index, 4 files\n")
    plain = on_terminal("find", "fuel", "--root", builder.root, NO_COLOR="1")
    assert "\x1b" not in plain
    assert "It boils without fuel." in plain


@pytest.mark.parametrize("width", [30, 44, 60, 80, 120])
def test_hits_fit_the_terminal_and_keep_the_match(builder: StoreBuilder, width: int) -> None:
    SessionBuilder(session_id=THREE, cwd=KETTLE).prompt(f"{'茶 ' * 40}zebra{' stripes' * 40}").write(
        builder.home(KETTLE) / f"{THREE}.jsonl"
    )
    lines = on_terminal("find", "zebra", "--root", builder.root, COLUMNS=str(width), NO_COLOR="1").splitlines()
    assert all(cell_len(line) <= width for line in lines[:2])
    assert "zebra" in lines[1]


def test_a_snippet_that_is_cut_keeps_its_first_match_and_the_places_of_all() -> None:
    for width in range(1, 60):
        cut, spans = fit_marked("A long way to the kettle, and another kettle behind it", [(18, 24), (38, 44)], width)
        assert cell_len(cut) <= width
        assert all(cut[start:end] in "kettle" for start, end in spans)
        assert len(spans) == 2 or width < 46


def test_words_are_one_query_however_the_shell_passes_them(builder: StoreBuilder) -> None:
    for words in (("without", "boils"), ("boils without",), ('"boils without"',), ("boil*", "without")):
        assert ids(builder, *words) == [TWO]
    assert ids(builder, '"without boils"') == []


def test_a_word_with_a_dash_is_excluded_without_quotes(builder: StoreBuilder) -> None:
    assert ids(builder, "kettle") == [THREE, TWO]
    assert ids(builder, "kettle", "-clean") == ids(builder, "kettle -clean") == [TWO]
    assert ids(builder, "-clean", "-n", "1", "kettle") == ids(builder, "-n1", "kettle", "-in:tool", "-clean") == [TWO]
    assert ids(builder, "engine", "--title", "-x") == []
    assert ids(builder, "--no-index", "--", "engine", "--start") == [ONE]


def test_search_is_another_name(builder: StoreBuilder) -> None:
    assert csp("search", "fuel", "--root", builder.root).stdout == find(builder, "fuel").stdout


def test_times_are_local_unless_utc_is_wanted(builder: StoreBuilder) -> None:
    assert b"2026-01-19 02:17" in find(builder, "boils", TZ="Asia/Kathmandu").stdout
    assert b"2026-01-18 20:32" in find(builder, "boils", "--utc", TZ="Asia/Kathmandu").stdout


def test_a_title_opens_the_session_at_its_beginning(builder: StoreBuilder) -> None:
    shown = find(builder, "tea").stdout.decode()
    assert "    3                    title  Tea for two\n" in shown
    assert f"    csp play 1f2e3d4c-0002 --root {builder.root}\n" in shown


def test_a_session_of_this_directory_is_resumed_without_going_there(builder: StoreBuilder, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    SessionBuilder(session_id=THREE, cwd=str(here)).prompt("Zebra").write(builder.home(str(here)) / f"{THREE}.jsonl")
    before = os.getcwd()
    os.chdir(here)
    try:
        shown = find(builder, "zebra").stdout.decode()
    finally:
        os.chdir(before)
    assert f"    claude --resume {THREE}\n" in shown
    assert f"    cd ~/here && claude --resume {THREE}\n" in find(builder, "zebra", HOME=str(tmp_path)).stdout.decode()


def test_a_session_of_another_store_is_resumed_with_that_store(builder: StoreBuilder, tmp_path: Path) -> None:
    shown = find(builder, "clean", CLAUDE_CONFIG_DIR=str(tmp_path / "mine")).stdout.decode()
    assert f"    cd {KETTLE} && CLAUDE_CONFIG_DIR={builder.root} claude --resume {THREE}\n" in shown


def test_what_claude_code_cannot_resume_has_no_command_for_it(builder: StoreBuilder) -> None:
    exported = SessionBuilder().line({"type": "user", "timestamp": "2026-01-19T10:00:00Z", "content": "A zebra"})
    exported.write(builder.root / "transcripts" / "ses_0001.jsonl")
    builder.agent("orphan01", THREE.replace("a", "b"), task="Feed the zebra")
    shown = find(builder, "zebra").stdout.decode()
    assert "csp play ses_0001 --from 1 " in shown
    assert " 2  orphan01  ↳ Feed the zebra" in shown
    assert "--resume" not in shown


# --- what is shown of it ----------------------------------------------------------------------------


def test_ten_sessions_are_shown_and_numbers_go_on_with_an_offset(builder: StoreBuilder) -> None:
    for number in range(12):
        builder.session(f"cccc{number:04}-0001", f"Zebra {number}", days=number)
    done = find(builder, "zebra")
    assert done.stdout.count(b"--resume") == 10
    assert done.stderr == b"12 hits in 12 sessions (10 shown; use -n 0 for all); index, 16 files\n"
    later = find(builder, "zebra", "--offset", "10").stdout.decode()
    assert later.startswith("11  cccc0001")
    assert "\n12  cccc0000" in later
    everything = find(builder, "zebra", "-n", "0")
    assert everything.stderr == b"12 hits in 12 sessions; index, 16 files\n"
    assert everything.stdout.count(b"--resume") == len(ids(builder, "zebra")) == 12
    assert len(ids(builder, "zebra", "-n", "3")) == 3
    assert find(builder, "zebra", "--offset", "99").stdout == b""
    assert find(builder, "zebra", "--by", "day", "--offset", "99").stdout == "… and 12 more\n".encode()


def test_all_hits_are_shown_on_demand(builder: StoreBuilder) -> None:
    shown = find(builder, "fuel", "--all-hits").stdout.decode()
    assert "more hit" not in shown
    assert "    2  2026-01-17 20:32  thinking           Is there any fuel?\n" in shown
    assert "    4  2026-01-17 20:32  Bash               engine: no fuel\n" in shown


@pytest.mark.parametrize(
    ("order", "expected"), [("relevance", [ONE, TWO]), ("newest", [TWO, ONE]), ("oldest", [ONE, TWO])]
)
def test_sessions_are_sorted_by_relevance_or_time(builder: StoreBuilder, order: str, expected: list[str]) -> None:
    found = out(builder, "fuel", "--sort", order, "--json")
    assert [record["id"] for record in found] == expected
    times = [hit["time"] for hit in found[expected.index(ONE)]["match_reasons"]]
    assert order == "relevance" or times == sorted(times, reverse=order == "newest")


def test_filters_are_those_of_list(builder: StoreBuilder) -> None:
    assert ids(builder, "fuel", "--project", "kettle") == [TWO]
    assert ids(builder, "fuel", "--cwd", "engine", "--model", "opus", "--branch", "main") == [ONE]
    assert ids(builder, "kettle", "--from", "2026-01-19") == [THREE]
    assert ids(builder, "kettle", "--to", "2026-01-18") == ids(builder, "kettle", "--title", "tea") == [TWO]
    assert ids(builder, "--exact", "fuel", "--project", "kettle") == [TWO]


def test_more_hits_than_are_looked_at_are_noted(builder: StoreBuilder) -> None:
    sessions, each = 25, MOST_MATCHES // 25 + 1
    for session in range(sessions):
        id = f"{session:08}-0003-4000-8000-000000000003"
        many = SessionBuilder(session_id=id)
        for number in range(each):
            many.prompt(f"zebra {session} {number}")
        many.write(builder.home() / f"{id}.jsonl")
    done = find(builder, "zebra", "-n", "30", "--json")
    assert sum(found["hit_count"] for found in json.loads(done.stdout)) == MOST_MATCHES
    note = f"note: there are more than {MOST_MATCHES:,} hits; the best are shown: use --all-hits for all\n"
    assert done.stderr.decode() == note
    total = f"{sessions * each:,} hits in {sessions} sessions\n"
    assert find(builder, "zebra", "--count").stdout.decode() == total
    assert len(out(builder, "zebra", "-n", "0", "--json", "--all-hits")[0]["match_reasons"]) == each


# --- sub-agents and copies --------------------------------------------------------------------------


def test_a_hit_in_a_sub_agent_belongs_to_its_session_and_names_the_sub_agent(builder: StoreBuilder) -> None:
    (found,) = out(builder, "nothing", "there", "--json")
    (hit,) = found["match_reasons"]
    assert (found["id"], found["kind"], hit["session_id"], hit["line"]) == (ONE, "session", AGENT, 2)
    assert hit["path"].endswith(f"agent-{AGENT}.jsonl")
    assert ids(builder, "agent:explore fuel") == ids(builder, "nothing there") == [ONE]


def test_copies_in_a_fork_are_found_once_and_name_the_other_session(builder: StoreBuilder) -> None:
    fork = SessionBuilder(session_id="99887766-0004").prompt("Start the engine, please").response(text("Later."))
    fork.prompt("Go on", timestamp="2026-01-25T10:00:00.000Z").write(builder.home() / "99887766-0004.jsonl")
    done = find(builder, "please")
    assert "prompt  Start the engine, please (also in 1f2e3d4c-0001)\n" in done.stdout.decode()
    assert done.stderr == b"1 hit in 1 session; index, 5 files\n"
    (found,) = out(builder, "please", "--json")
    assert (found["id"], found["match_reasons"][0]["copies"]) == ("99887766-0004", [ONE])


def test_many_copies_are_counted_on_a_terminal(builder: StoreBuilder) -> None:
    for number in range(5):
        builder.session(f"bbbb{number:04}-0001", "A zebra")
    shown = on_terminal("find", "zebra", "--root", builder.root, NO_COLOR="1", COLUMNS="120")
    assert re.search(r" A zebra \(also in bbbb000\d, bbbb000\d and 2 more\)\n", shown)


# --- for scripts ------------------------------------------------------------------------------------


def test_json_is_the_record_of_list_with_the_hits(builder: StoreBuilder) -> None:
    found = out(builder, "fuel", "--json")
    assert found == out(builder, "fuel", "--jsonl")
    listed = json.loads(csp("list", "--json", "--root", builder.root).stdout)
    for record in found:
        (known,) = (one for one in listed if one["id"] == record["id"])
        assert {key: record[key] for key in known} == known
        assert set(record) - set(known) == {"hit_count", "match_reasons"}
    assert [(record["hit_count"], len(record["match_reasons"])) for record in found] == [(6, 3), (1, 1)]
    hits = out(builder, "fuel", "--json", "--all-hits")[0]["match_reasons"]
    assert {hit["field"] for hit in hits} == {"prompt", "tool", "result", "thinking"}
    edit = next(hit for hit in hits if hit["tool"] == "Edit")
    start, end = edit["spans"][0]
    assert (edit["file"], edit["snippet"][start:end]) == ("/home/ada/engine/start.py", "fuel")


def test_json_says_what_it_leaves_out(builder: StoreBuilder) -> None:
    done = find(builder, "fuel", "--json", "-n", "1")
    assert len(json.loads(done.stdout)) == 1
    assert done.stderr == b"note: 1 session is not shown; use -n 0 for all\n"


def test_ids_lead_to_sessions(builder: StoreBuilder) -> None:
    for id in ids(builder, "fuel"):
        assert json.loads(csp("get", id, "--json", "--root", builder.root).stdout)["id"] == id


def test_every_query_must_match_somewhere_in_the_session(builder: StoreBuilder) -> None:
    assert ids(builder, "fuel", "--query", "kettle") == [TWO]
    assert ids(builder, "--query", "fuel", "--query", "in:thinking fuel") == [ONE]
    assert ids(builder, "fuel", "--query", "clean") == []
    queries = {
        hit["query"] for hit in out(builder, "boils", "--query", "in:prompt kettle", "--json")[0]["match_reasons"]
    }
    assert queries == {"boils", "in:prompt kettle"}


def test_counts_are_of_everything(builder: StoreBuilder) -> None:
    done = find(builder, "fuel", "--count", "-n", "1")
    assert (done.stdout, done.stderr) == (b"7 hits in 2 sessions\n", b"")
    assert out(builder, "fuel", "--count", "--json", kind="hit_total") == {"hits": 7, "sessions": 2}
    assert find(builder, "zebra", "--count").stdout == b"0 hits in 0 sessions\n"
    assert out(builder, "zebra", "--count", "--json", kind="hit_total") == {"hits": 0, "sessions": 0}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("project", [("/home/ada/engine", 6, 1), (KETTLE, 1, 1)]),
        ("tool", [(None, 3, 2), ("Task", 2, 1), ("Bash", 1, 1), ("Edit", 1, 1)]),
        ("day", [("2026-01-17", 6, 1), ("2026-01-18", 1, 1)]),
        ("file", [(None, 6, 2), ("/home/ada/engine/start.py", 1, 1)]),
    ],
)
def test_hits_are_counted_by_what_they_have_in_common(builder: StoreBuilder, by: str, expected: list[Any]) -> None:
    rows = out(builder, "fuel", "--by", by, "--json", kind="hit_group")
    assert [(row[by], row["hits"], row["sessions"]) for row in rows] == expected
    assert all(set(row) == {by, "hits", "sessions"} for row in rows)
    done = find(builder, "fuel", "--by", by)
    lines = done.stdout.decode().splitlines()
    assert lines[0].split() == [by.upper(), "HITS", "SESSIONS"]
    assert [line.rsplit(maxsplit=3)[0].strip() for line in lines[1:]] == [
        name or f"(no {by})" for name, _, _ in expected
    ]
    assert done.stderr == b"7 hits in 2 sessions; index, 4 files\n"


def test_hits_are_counted_by_session(builder: StoreBuilder) -> None:
    rows = out(builder, "fuel", "--by", "session", "--jsonl", kind="hit_group")
    assert [(row["session"], row["title"], row["hits"]) for row in rows] == [
        (ONE, "Start the engine, please", 6),
        (TWO, "Tea for two", 1),
    ]
    assert find(builder, "fuel", "--by", "session").stdout.decode().splitlines() == [
        "SESSION        TITLE                     PROJECT  HITS",
        "1f2e3d4c-0001  Start the engine, please  engine      6  ████████████",
        "1f2e3d4c-0002  Tea for two               kettle      1  ██",
    ]


def test_a_limit_keeps_the_largest_groups_and_the_last_days(builder: StoreBuilder) -> None:
    assert find(builder, "fuel", "--by", "tool", "-n", "1").stdout.decode().splitlines()[1:] == [
        "(no tool)     3         2  ████████████",
        "… and 3 more",
    ]
    assert [row["day"] for row in out(builder, "fuel", "--by", "day", "-n", "1", "--json", kind="hit_group")] == [
        "2026-01-18"
    ]


def test_days_are_those_of_the_zone(builder: StoreBuilder) -> None:
    rows = json.loads(find(builder, "fuel", "--by", "day", "--json", TZ="Asia/Kathmandu").stdout)
    assert [row["day"] for row in rows] == ["2026-01-18", "2026-01-19"]


# --- exact ------------------------------------------------------------------------------------------


def test_an_exact_text_is_found_to_the_letter(builder: StoreBuilder) -> None:
    done = find(builder, "--exact", "engine: no")
    assert "    4  2026-01-17 20:32  Bash  engine: no fuel\n" in done.stdout.decode()
    size = sum(path.stat().st_size for path in builder.root.rglob("*.jsonl")) / 1024
    assert done.stderr.decode() == f"1 hit in 1 session; exact scan, 4 files, {size:.1f} KB\n"
    assert ids(builder, "--exact", "Engine: no") == []
    assert ids(builder, "--exact", "-start") == [ONE]


def test_a_regular_expression_is_found(builder: StoreBuilder) -> None:
    done = find(builder, "--regex", r"f[aeiou]el\b", "--by", "project")
    assert done.stderr.startswith(b"6 hits in 2 sessions; regex scan, 4 files, ")
    assert out(builder, "--regex", "^It boils", "--json")[0]["match_reasons"][0]["query"] == "^It boils"


def test_case_counts_on_demand(builder: StoreBuilder) -> None:
    assert ids(builder, "FUEL") == [ONE, TWO]
    assert ids(builder, "FUEL", "--case") == []
    assert ids(builder, "Fuel", "--case") == [ONE]


# --- the index --------------------------------------------------------------------------------------


def append(path: Path, words: str) -> None:
    with path.open("ab") as file:
        file.write(SessionBuilder(session_id=THREE, cwd=KETTLE).prompt(words).data())


def test_what_is_new_is_found_unless_no_update_is_wanted(builder: StoreBuilder) -> None:
    assert ids(builder, "zebra") == []
    append(builder.home(KETTLE) / f"{THREE}.jsonl", "A zebra")
    assert ids(builder, "zebra", "--no-update") == []
    assert ids(builder, "zebra", "--no-index") == ids(builder, "zebra") == [THREE]
    assert ids(builder, "zebra", "--no-update") == [THREE]


def test_without_a_cache_nothing_is_written(builder: StoreBuilder, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    done = find(builder, "fuel", "--no-cache", XDG_CACHE_HOME=str(cache))
    assert done.stdout == find(builder, "fuel").stdout
    assert not cache.exists()


def test_an_index_that_cannot_be_used_is_noted_and_files_are_read(builder: StoreBuilder, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "claude-session-player"
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    done = find(builder, "fuel", "--count", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert (done.stdout, done.returncode) == (b"7 hits in 2 sessions\n", 0)
    reason = f"other users may write to {cache}: take that permission away"
    assert f"note: the index could not be updated ({reason}), so 4 files were read instead\n" in done.stderr.decode()


def test_files_that_cannot_be_read_are_named_once(builder: StoreBuilder) -> None:
    path = builder.home(KETTLE) / "dddd0000-0001.jsonl"
    path.symlink_to("/dev/full")
    for arguments in (("fuel",), ("--exact", "fuel")):
        done = find(builder, *arguments)
        assert done.returncode == 0
        assert b" hits in 2 sessions; " in done.stderr
        assert done.stderr.decode().count(path.name) == 1


# --- nothing, and mistakes --------------------------------------------------------------------------


def test_nothing_found_is_said_with_what_would_match_and_is_no_failure(builder: StoreBuilder) -> None:
    done = find(builder, "kettel")
    assert (done.stdout, done.returncode) == (b"", 0)
    assert done.stderr == b'No sessions match this query.\nDid you mean "kettle"?\n'
    done = find(builder, "fuel", "zebra", "--by", "day")
    assert done.stderr == b'No sessions match this query.\nWithout "zebra", 2 sessions match.\n'
    done = find(builder, "fuel", "--project", "zebra")
    assert done.stderr.startswith(b"No sessions match this query and these filters.\n")
    assert find(builder, "--exact", "zebra", "--show").stderr == b"No sessions match this query.\n"


def test_nothing_found_is_an_empty_array_for_scripts(builder: StoreBuilder) -> None:
    assert out(builder, "zebra", "--json") == out(builder, "zebra", "--jsonl") == []
    assert out(builder, "zebra", "--by", "tool", "--json") == []
    assert find(builder, "zebra", "--ids").stdout == b""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tol:Bash", "fuel"), "unknown field 'tol:': did you mean 'tool:'?\n  tol:Bash fuel\n  ^"),
        (("fuel)",), "no parenthesis is open here: remove the ), or put the text in quotes\n  fuel)\n      ^"),
        (("--", "-fuel"), "the query only excludes: at least one word or field must be wanted\n  -fuel\n  ^"),
        (("",), "the query is empty: write a word, a phrase in quotes, or a field like tool:Bash"),
        (("fuel", "--query", '"no'), 'the quote is not closed: add a " at the end of the phrase\n  "no\n  ^'),
        (("--regex", "x(fuel"), "invalid regular expression: missing ), unterminated subpattern\n  x(fuel\n   ^"),
        (("--exact", ""), "the text to search for is empty"),
    ],
)
def test_a_mistake_in_a_query_is_shown_where_it_is(
    builder: StoreBuilder, arguments: tuple[str, ...], message: str
) -> None:
    done = find(builder, *arguments)
    assert (done.stdout, done.returncode) == (b"", 2)
    assert done.stderr.decode() == f"claude-session-player: {message}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there is no query: write words, or use --exact TEXT or --regex RE"),
        (("--project", "kettle"), "there is no query"),
        (("--exact", "a", "--regex", "b"), "--exact and --regex are mutually exclusive"),
        (("a", "--exact", "b"), "--exact and QUERY are mutually exclusive"),
        (("--query", "a", "--regex", "b"), "--regex and --query are mutually exclusive"),
        (("a", "--play", "--show"), "--play and --show are mutually exclusive"),
        (("a", "--ids", "--jsonl"), "--ids and --jsonl are mutually exclusive"),
        (("a", "--ids", "--by", "day"), "--ids and --by are mutually exclusive"),
        (("a", "--show", "--count"), "--show and --count are mutually exclusive"),
        (("a", "--verbose"), "there is no option --verbose: to search for it, write -- before the query"),
        (("a", "--jsn"), "there is no option --jsn (did you mean "),
        (("fuel", "--play", "3"), "--play 3: only 2 sessions found"),
        (("a", "--show=x"), "'x' is not a valid integer"),
        (("a", "--by", "zebra"), "'zebra' is not one of"),
        (("a", "-n", "-1"), "-1 is not in the range"),
    ],
)
def test_wrong_options_are_refused(builder: StoreBuilder, arguments: tuple[str, ...], message: str) -> None:
    done = find(builder, *arguments)
    assert (done.stdout, done.returncode) == (b"", 2)
    assert message in done.stderr.decode()
    assert done.stderr.decode().endswith("(see 'claude-session-player find --help')\n")


# --- opening ----------------------------------------------------------------------------------------


def test_play_without_a_terminal_prints_the_session(builder: StoreBuilder) -> None:
    done = find(builder, "in:prompt", "fuel", "--play")
    assert done.stdout.decode() == "❯ Look for fuel\n\n● Nothing there.\n"
    boiling = "❯ Boil water in the kettle\n\n● It boils without fuel.\n"
    assert find(builder, "--play", "2", "fuel").stdout.decode() == boiling
    assert find(builder, "--play", "boils").stdout.decode() == boiling


def test_play_starts_at_the_best_hit(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def play_source(source: SessionSource, *arguments: Any, **options: Any) -> int:
        started.append((source.name, arguments[2]))
        return 0

    monkeypatch.setattr(play, "play_source", play_source)
    for words in (("boils", "--play"), ("fuel", "--play", "2"), ("tea", "--play")):
        assert run(["find", *words, "--root", str(builder.root)]) == 0
    path = str(builder.home(KETTLE) / f"{TWO}.jsonl")
    assert started == [(path, LinePosition(2)), (path, LinePosition(2)), (path, None)]


def test_show_prints_the_transcript_from_the_best_hit_on(builder: StoreBuilder) -> None:
    done = find(builder, "fuel", "--show", "2", "--utc", TZ="Asia/Kathmandu")
    assert done.returncode == 0
    assert "**Assistant** (2026-01-18 20:32:00)\nIt boils without fuel." in done.stdout.decode()
    assert b"Boil water" not in done.stdout
    assert b"Boil water" in find(builder, "tea", "--show").stdout


def test_the_commands_that_are_printed_open_the_session(builder: StoreBuilder) -> None:
    shown = find(builder, "boils").stdout.decode()
    for name in ("play", "show"):
        (line,) = (line for line in shown.splitlines() if f" csp {name} " in line)
        assert csp(*line.split()[1:]).stdout == find(builder, "boils", f"--{name}").stdout != b""


def test_archived_sessions_are_searched_and_opened(builder: StoreBuilder, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    assert csp("archive", "--all", "--root", builder.root, "--archive", archive).returncode == 0
    done = csp("find", "boils", "--archive", archive)
    assert done.stdout.decode().splitlines()[2:] == [
        f"    csp play 1f2e3d4c-0002 --from 2 --archive {archive}",
        f"    csp show 1f2e3d4c-0002 --from 2 --archive {archive}",
    ]
    for opener in ("--play", "--show"):
        done = csp("find", "--exact", "boils", "--archive", archive, opener)
        assert (b"It boils without fuel." in done.stdout, done.returncode) == (True, 0)
    default = {"XDG_DATA_HOME": str(tmp_path / "data")}
    assert csp("archive", "--all", "--root", builder.root, environment=default).returncode == 0
    assert b"--from 2 --archived\n" in csp("find", "boils", "--archived", environment=default).stdout


def test_control_characters_are_shown_and_never_obeyed(builder: StoreBuilder) -> None:
    builder.session("eeee0000-0001", "Zebra \x1b[2J\x07 \x9b31m \u202e stripes", days=9)
    shown = on_terminal("find", "zebra", "--root", builder.root, NO_COLOR="1")
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown
    assert b"\xc2\x9b" not in find(builder, "zebra", "--json").stdout


def test_without_the_extra_exact_searches_work_and_others_name_what_is_missing(builder: StoreBuilder) -> None:
    code = (
        "import sys; sys.modules['tantivy'] = None; "
        "from claude_session_player.cli import run; sys.exit(run(['find', *sys.argv[1:]]))"
    )

    def without(*words: str) -> tuple[int, str, str]:
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, " ".join(done.stderr.split())

    code_of_words, out, err = without("kettle")
    assert (code_of_words, out) == (1, "")
    assert err.startswith("claude-session-player: search needs tantivy: install it with ")
    assert err.endswith("or use --exact TEXT or --regex RE, which work without it")
    code_of_exact, out, _ = without("--exact", "Clean the kettle")
    assert (code_of_exact, "Clean the kettle" in out) == (0, True)
