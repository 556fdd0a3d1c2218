"""`LineCounter` counts what its plain reference `EventCounter` counts, or says that events are needed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from claude_session_player import Filter, Store
from claude_session_player.parser import read_events
from claude_session_player.stats.counters import CHANGED, READ, EventCounter, LineCounter, SessionCounts
from tests import corpus, odd_sessions
from tests.built_sessions import built_store, sessions
from tests.stores import StoreBuilder
from tests.test_properties import records


def counts(counter: SessionCounts) -> dict[str, Any]:
    """Everything that a summary takes from a counter."""
    return {
        "times": sorted(counter.times),
        "versions": list(counter.versions),
        "prompts": counter.prompts,
        "errors": counter.errors,
        "compactions": counter.compactions,
        "tools": counter.tools,
        "pull requests": [(url, link.number, link.repository) for url, link in counter.pull_requests.items()],
        "forks": counter.count_forks(),
        "files read": counter.count_files(READ),
        "files changed": counter.count_files(CHANGED),
    }


def compare(lines: list[bytes], *, skips_sidechains: bool, batch: int = 1000) -> bool:
    """Count lines both ways, where the fast one can; true if it could."""
    counter = LineCounter(skips_sidechains=skips_sidechains)
    for start in range(0, len(lines), batch):
        counter.count_lines(lines[start : start + batch])
    if counter.needs_events:
        return False
    reference = EventCounter(skips_sidechains=skips_sidechains)
    reference.count_events(read_events(lines))
    assert counts(counter) == counts(reference)
    return True


def compare_file(path: Path, *, skips_sidechains: bool) -> bool:
    return compare(list(io.BytesIO(path.read_bytes())), skips_sidechains=skips_sidechains)


@given(sessions, st.booleans(), st.sampled_from([1, 2, 1000]))
@settings(max_examples=150)
def test_line_counts_equal_event_counts_for_built_sessions(steps: list[Any], skips: bool, batch: int) -> None:
    with built_store(steps, is_settled=False) as root:
        for path in root.rglob("*.jsonl"):
            compare(list(io.BytesIO(path.read_bytes())), skips_sidechains=skips, batch=batch)


@given(st.lists(records, max_size=10), st.booleans())
def test_line_counts_equal_event_counts_for_records_of_any_shape(made: list[dict[str, Any]], skips: bool) -> None:
    compare([json.dumps(record).encode() + b"\n" for record in made], skips_sidechains=skips)


@pytest.mark.parametrize("name", odd_sessions.SESSIONS)
def test_line_counts_equal_event_counts_for_odd_sessions(name: str) -> None:
    for skips in (True, False):
        compare(odd_sessions.SESSIONS[name]().lines, skips_sidechains=skips)


def test_most_lines_of_an_ordinary_store_need_no_events(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    builder.every_layout()
    paths = list(builder.root.rglob("*.jsonl"))
    assert sum(compare_file(path, skips_sidechains=True) for path in paths) > len(paths) / 2


@pytest.mark.skipif(not corpus.session_files(), reason=f"there are no real sessions at {corpus.ROOT}")
def test_line_counts_equal_event_counts_for_real_sessions() -> None:
    paths = corpus.session_files()
    assert sum(compare_file(path, skips_sidechains=True) for path in paths) > len(paths) / 2
    for path in paths[::5]:
        compare_file(path, skips_sidechains=False)


@pytest.mark.skipif(not corpus.STORE.is_dir(), reason=f"there is no real store at {corpus.ROOT}")
def test_line_counts_equal_event_counts_for_a_real_store() -> None:
    for session in Store.open(corpus.STORE, cache=None).sessions(Filter(include_subagents=True)):
        if not session.is_inline:
            compare_file(Path(session.path), skips_sidechains=session.has_sidechains)
