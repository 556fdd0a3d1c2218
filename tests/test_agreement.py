"""Every command says the same about a session: real ones, built ones, and the small cases that once went wrong."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from claude_session_player.store import in_use
from tests import cases, corpus, odd_sessions
from tests.agreement import DEFINITIONS, Record, Table, collect, csp, listing
from tests.built_sessions import (
    Step,
    answer,
    built_store,
    called,
    compaction,
    compaction_recorded_twice,
    fork,
    inline_subagent,
    prompt,
    queued,
    sessions,
    subagent,
    typed_compaction,
)
from tests.stores import ONE, StoreBuilder
from tests.test_subagent_links import reporting

STORED = sorted(str(path) for path in corpus.STORE.rglob("*.jsonl")) if corpus.STORE.is_dir() else []
LONE = [str(path) for path in corpus.session_files() if not path.is_relative_to(corpus.STORE)]
NO_CORPUS = f"there are no real sessions at {corpus.ROOT}"


def check(table: Table) -> None:
    """Fail with every fact about which commands differ."""
    found = table.disagreements()
    lines = [f"{fact} ({DEFINITIONS[fact]})\n" + _told(told) for fact, told in found.items()]
    assert not found, "\n" + "\n".join(lines)


def _told(values: dict[str, Any]) -> str:
    return "\n".join(f"    {command}: {str(value)[:300]}" for command, value in values.items())


# --- real sessions --------------------------------------------------------------------------------------


@contextlib.contextmanager
def two_hours_later() -> Iterator[None]:
    """No file becomes a minute old between two questions, also where the corpus itself has just been written."""
    with patch.object(in_use, "wall_clock", lambda: time.time() + 7200):
        yield


@pytest.fixture(scope="module")
def listed() -> dict[str, Record]:
    """What `list` says about every session of the real store, by path."""
    with two_hours_later():
        return {record["path"]: record for record in listing(corpus.STORE)}


@pytest.mark.skipif(not STORED, reason=NO_CORPUS)
@pytest.mark.parametrize("path", STORED, ids=lambda path: os.path.relpath(path, corpus.STORE))
def test_commands_agree_about_a_real_session_of_a_store(path: str, listed: dict[str, Record]) -> None:
    if path not in listed:  # a todo list, or the journal of a workflow
        assert Path(path).name in ("todo.jsonl", "journal.jsonl")
        return
    with two_hours_later():
        check(collect(listed[path]["id"], corpus.STORE, listed[path]))


@pytest.mark.skipif(not LONE, reason=NO_CORPUS)
@pytest.mark.parametrize("path", LONE, ids=lambda path: os.path.relpath(path, corpus.ROOT))
def test_commands_agree_about_a_real_file(path: str) -> None:
    with two_hours_later():
        check(collect(path))


# --- built sessions -------------------------------------------------------------------------------------


@example([queued("/compact", "remove"), typed_compaction], True)
@example([prompt("Go"), answer, compaction_recorded_twice, answer, compaction_recorded_twice, prompt("On")], True)
@given(sessions, st.booleans())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], report_multiple_bugs=False)
def test_commands_agree_about_any_built_session(steps: list[Step], is_settled: bool) -> None:
    with built_store(steps, is_settled=is_settled) as root:
        for record in listing(root):
            check(collect(record["id"], root, record))


@pytest.mark.parametrize("name", odd_sessions.SESSIONS)
def test_commands_agree_about_an_odd_session(name: str, tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path)
    odd_sessions.SESSIONS[name]().write(store.home() / f"{ONE}.jsonl")
    for record in listing(tmp_path):
        check(collect(record["id"], tmp_path, record))


def test_commands_agree_about_a_sub_agent_that_only_reports(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path)
    reporting().write(store.home() / f"{ONE}.jsonl")
    for record in listing(tmp_path):
        check(collect(record["id"], tmp_path, record))
    _, answer, _ = csp("stats", ONE, "--by", "agent", "--json", "--root", str(tmp_path))
    assert {group["agent"] for group in json.loads(answer)["by_agent"]} == {"main", "Explore"}
    spent = [csp(command, "bbbb2222", "--json", "--root", str(tmp_path))[1] for command in ("get", "summary", "stats")]
    usage, summary, stats = map(json.loads, spent)
    assert usage["usage"]["output_tokens"] == summary["tokens"]["output"] == stats["totals"]["tokens"]["output"] == 3


# --- small sessions that once went wrong ----------------------------------------------------------------


def stored(tmp_path: Path, records: list[Record]) -> Table:
    """What all commands say about a session of these records, in a store."""
    id = "1f2e3d4c-0001-4000-8000-000000000001"
    cases.write(tmp_path / "projects" / "-home-ada" / f"{id}.jsonl", records)
    (listed,) = listing(tmp_path)
    return collect(id, tmp_path, listed)


@pytest.mark.parametrize("name", cases.EXPECTED)
def test_commands_agree_about_a_small_case(name: str, tmp_path: Path) -> None:
    check(stored(tmp_path, cases.EXPECTED[name][0]))


@pytest.mark.parametrize("name", cases.EXPECTED)
def test_every_command_tells_a_small_case_as_it_is(name: str, tmp_path: Path) -> None:
    records, expected = cases.EXPECTED[name]
    table = stored(tmp_path, records)
    for fact, value in expected.items():
        assert table.facts[fact] == dict.fromkeys(table.facts[fact], value), fact


def test_a_result_record_shows_its_message_under_its_call(tmp_path: Path) -> None:
    path = cases.write(tmp_path / "s.jsonl", cases.TOOL_RESULT)
    for form in (("show", str(path), "--format", "jsonl"), ("replay", str(path), "--format", "jsonl")):
        told = [json.loads(line) for line in csp(*form)[1].splitlines()]
        (call,) = (one for one in told if one["kind"] in ("call", "tool_call"))
        result = call["result"]
        assert (result["text"] if isinstance(result, dict) else result) == "hello"
        assert not [one for one in told if one["kind"] in ("result", "system_output")]


def test_any_tool_can_start_a_subagent_for_every_command(tmp_path: Path) -> None:
    cases.write_delegate(tmp_path)
    for listed in listing(tmp_path):
        table = collect(listed["id"], tmp_path, listed)
        check(table)
        if listed["id"] == "abc123xyz":
            assert table.facts["linked sub-agents"]["play"] == {"toolu_delegate": 1}
            assert table.facts["unlinked sub-agents"]["tree"] == []


def test_paths_that_differ_only_in_the_case_of_a_drive_are_one_file(tmp_path: Path) -> None:
    steps = [called("Read", file_path="c:\\work\\a.py"), called("Read", file_path="C:\\work\\a.py")]
    with built_store(steps) as root:
        (listed,) = listing(root)
        table = collect(listed["id"], root, listed)
    assert table.facts["files read"] == {"summary": 1, "files": 1}
    assert table.facts["files"] == {"files": 1}


# --- the test itself ------------------------------------------------------------------------------------


def test_every_definition_is_stated_by_two_readings_of_some_session() -> None:
    steps = [prompt("Start"), called("Read", "error", file_path="/tmp/x"), answer, compaction, inline_subagent, answer]
    with built_store([*steps, subagent("result", "subagents"), fork(0)]) as root:
        told = [collect(record["id"], root, record).facts for record in listing(root)]
    with built_store([]) as root:
        told += [collect(record["id"], root, record).facts for record in listing(root)]
    for fact in set(DEFINITIONS) - {"files"}:
        assert any(len(table.get(fact, ())) > 1 for table in told), fact


def test_a_disagreement_is_noticed() -> None:
    table = Table()
    table.add("forks", "summary", 1)
    table.add("forks", "tree", 2)
    with pytest.raises(AssertionError, match="forks"):
        check(table)
