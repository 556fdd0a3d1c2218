"""Whatever is in a store and whatever is asked for: only what the plan names is removed, and nothing is lost."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, settings, strategies as st

from claude_session_player import Filter
from claude_session_player.archive.archive_dir import ArchiveDir
from claude_session_player.archive.clean import CleanRules, clean_sessions, plan_clean
from claude_session_player.store.filters import SORT_KEYS
from tests.archives import Seen, contents, litter, seen
from tests.builder import START, SessionBuilder
from tests.stores import ONE, THREE, TWO, StoreBuilder, settle

PROJECTS = ("/home/ada/engine", "/home/ada/kettle")
IDS = (ONE, TWO, THREE, "notes-of-ada", "memory")
OWNERS = IDS[:3]
"""Whose directories are their own."""
STRANGE = (
    "todo.jsonl",
    "notes.jsonl",
    f"{ONE}.txt",
    f"{ONE}.jsonl.bak",
    "agent-lonely.jsonl",
    "sessions-index.json",
    ".hidden",
)


class Made(NamedTuple):
    """A session that a store may hold."""

    id: str
    cwd: str
    days: int
    prompt: str | None
    flat: bool
    nested: bool
    results: int


MADE = st.builds(
    Made,
    id=st.sampled_from(IDS),
    cwd=st.sampled_from(PROJECTS),
    days=st.integers(0, 9),
    prompt=st.sampled_from([None, "Start", "Stop"]),
    flat=st.booleans(),
    nested=st.booleans(),
    results=st.integers(0, 2),
)
STORES = st.lists(MADE, min_size=2, max_size=6, unique_by=lambda made: (made.id, made.cwd))
DAYS = st.integers(3, 12).map(lambda days: START + timedelta(days=days))
FILTERS = st.fixed_dictionaries(
    {
        "sort": st.sampled_from(sorted(SORT_KEYS)),
        "reverse": st.booleans(),
        "include_subagents": st.booleans(),
        "include_orphans": st.booleans(),
    },
    optional={
        "project": st.sampled_from(["kettle", "ada"]),
        "title": st.sampled_from(["st", "stop"]),
        "since": DAYS,
        "before": DAYS,
        "limit": st.integers(1, 3),
        "offset": st.integers(0, 1),
    },
)
ASKED = st.fixed_dictionaries(
    {}, optional={"older_than": DAYS, "larger_than": st.sampled_from([0, 500, 1500]), "empty": st.just(True)}
)
RULES = st.builds(lambda chosen, asked: CleanRules(Filter(**chosen), **asked), st.just({}) | FILTERS, ASKED).filter(
    lambda rules: bool(rules.reasons)
)


def build(builder: StoreBuilder, sessions: list[Made], strange: set[str]) -> None:
    """A store with these sessions, and with things that belong to none."""
    for number, made in enumerate(sessions):
        home = builder.home(made.cwd)
        session = SessionBuilder(session_id=made.id, cwd=made.cwd, start=START + timedelta(days=made.days))
        if made.prompt:
            session.prompt(made.prompt)
        session.write(home / f"{made.id}.jsonl")
        agent = SessionBuilder(session_id=made.id, cwd=made.cwd, sidechain=True).prompt("Look")
        if made.flat:
            agent.write(home / f"agent-f{number}.jsonl")
        if made.nested and made.id in OWNERS:
            agent.write(home / made.id / "subagents" / f"agent-n{number}.jsonl")
        for result in range(made.results):
            path = home / made.id / "tool-results" / f"{result}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x" * 700)
    for cwd in PROJECTS:
        builder.home(cwd).mkdir(exist_ok=True)
        for name in strange:
            (builder.home(cwd) / name).write_text('{"mine": true}\n')
    settle(builder.root)


@settings(max_examples=60)
@given(sessions=STORES, strange=st.sets(st.sampled_from(STRANGE)), rules=RULES, delete=st.booleans())
def test_only_what_the_plan_names_is_removed(
    sessions: list[Made], strange: set[str], rules: CleanRules, delete: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        builder = StoreBuilder(Path(folder, "store"))
        build(builder, sessions, strange)
        before = seen(builder.root)
        made = plan_clean(builder.open(), rules)
        assert seen(builder.root) == before
        outcomes = list(clean_sessions(made, ArchiveDir(Path(folder, "archive")), delete=delete))
        named = {item.path for session in made.sessions for item in session.items}
        assert not any("/memory/" in path or "/notes-of-ada/" in path for path in named)
        assert seen(builder.root) == {path: what for path, what in before.items() if path not in named}
        assert litter(builder.root) == []
        if not delete:
            kept: dict[str, bytes] = {}
            for outcome in outcomes:
                kept |= contents(str(outcome.archive))
            assert kept == _files(before, named)


def _files(before: Seen, named: set[str]) -> dict[str, object]:
    return {path: what[1] for path, what in before.items() if path in named and what[0] == "file"}
