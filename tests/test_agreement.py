"""Every command says the same about a session: real ones, built ones, and the small cases that once went wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import corpus
from tests.agreement import DEFINITIONS, Record, Table, collect, listing
from tests.built_sessions import Step, built_store, sessions

ROOT = corpus.ROOT / "claude-home"
STORED = sorted(str(path) for path in ROOT.rglob("*.jsonl")) if ROOT.is_dir() else []
LONE = [str(path) for path in corpus.session_files() if not path.is_relative_to(ROOT)]
NO_CORPUS = f"there are no real sessions at {corpus.ROOT}"


def check(table: Table) -> None:
    """Fail with every fact about which commands differ."""
    found = table.disagreements()
    lines = [f"{fact} ({DEFINITIONS[fact]})\n" + _told(told) for fact, told in found.items()]
    assert not found, "\n" + "\n".join(lines)


def _told(values: dict[str, Any]) -> str:
    return "\n".join(f"    {command}: {str(value)[:300]}" for command, value in values.items())


# --- real sessions --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def listed() -> dict[str, Record]:
    """What `list` says about every session of the real store, by path."""
    return {record["path"]: record for record in listing(ROOT)}


@pytest.mark.skipif(not STORED, reason=NO_CORPUS)
@pytest.mark.parametrize("path", STORED, ids=lambda path: os.path.relpath(path, ROOT))
def test_commands_agree_about_a_real_session_of_a_store(path: str, listed: dict[str, Record]) -> None:
    if path not in listed:  # a todo list, or the journal of a workflow
        assert Path(path).name in ("todo.jsonl", "journal.jsonl")
        return
    check(collect(listed[path]["id"], ROOT, listed[path]))


@pytest.mark.skipif(not LONE, reason=NO_CORPUS)
@pytest.mark.parametrize("path", LONE, ids=lambda path: os.path.relpath(path, corpus.ROOT))
def test_commands_agree_about_a_real_file(path: str) -> None:
    check(collect(path))


# --- built sessions -------------------------------------------------------------------------------------


@given(sessions, st.booleans())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], report_multiple_bugs=False)
def test_commands_agree_about_any_built_session(steps: list[Step], is_settled: bool) -> None:
    with built_store(steps, is_settled=is_settled) as root:
        for record in listing(root):
            check(collect(record["id"], root, record))
