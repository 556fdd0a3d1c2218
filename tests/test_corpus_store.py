"""The finder on a real store."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from claude_session_player import Filter, Store, View, replay
from claude_session_player.flat_events import count_flat_events, flatten_event
from claude_session_player.models import UserMessage
from claude_session_player.renderer import EMPTY, NO_CONTENT
from claude_session_player.store.layout import project_dir_spellings
from claude_session_player.util.text import truncate
from tests import corpus
from tests.test_cli_store import SCHEMA

ROOT = corpus.STORE
pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason=f"there is no real store at {ROOT}")

PEER = "Another Claude session sent a message"
EVERYTHING = Filter(include_subagents=True)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store.open(ROOT, cache=str(tmp_path_factory.mktemp("cache")))


def test_every_session_file_is_listed_once(store: Store) -> None:
    files = {str(path) for path in ROOT.rglob("*.jsonl") if path.name not in ("todo.jsonl", "journal.jsonl")}
    listed = Counter(session.path for session in store.sessions(EVERYTHING))
    assert set(listed) == files
    assert set(listed.values()) == {1}
    assert store.problems == []


def test_every_real_session_keeps_the_contract(store: Store) -> None:
    contract = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/session"})
    for session in store.sessions(EVERYTHING):
        record = json.loads(session.json)
        contract.validate(record)
        assert record == session.summary._asdict()
        assert record["event_count"] == sum(count_flat_events(event) for event in session.events())


def test_every_real_event_keeps_the_contract(store: Store) -> None:
    contract = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/event"})
    events = [event for session in store.sessions(EVERYTHING)[::7] for event in session.events()]
    facts = [fact for event in events for fact in flatten_event(event)]
    assert facts
    assert [error.message for fact in facts for error in contract.iter_errors(fact)] == []


def test_every_real_session_is_found_by_its_id_and_by_its_beginning(store: Store) -> None:
    sessions = store.sessions(EVERYTHING)
    for session in sessions:
        assert store.resolve(session.id).path == session.path
    beginnings = Counter(session.id[:8] for session in sessions)
    for session in sessions[::5]:
        if beginnings[session.id[:8]] == 1:
            assert store.resolve(session.id[:8]).path == session.path


def test_every_real_subagent_has_a_session_and_those_at_hand_count_it(store: Store) -> None:
    sessions = store.sessions(EVERYTHING)
    agents = [session for session in sessions if session.is_subagent]
    assert agents
    assert all(agent.parent_id for agent in agents)
    by_id = {session.id: session for session in sessions if not session.is_subagent}
    for id, number in Counter(agent.parent_id for agent in agents if agent.parent_id in by_id).items():
        assert by_id[str(id)].subagent_count == number


def test_real_projects_are_spelled_like_their_directories(store: Store) -> None:
    projects = [project for project in store.projects() if project.path]
    fitting = [p for p in projects if Path(p.directory).name in project_dir_spellings(str(p.path))]
    assert len(fitting) >= 0.8 * len(projects)


def test_the_first_prompt_is_the_first_on_the_screen(store: Store) -> None:
    for session in store.sessions():
        shown = [e.text for e in replay(session.path, View(history=True)).elements if isinstance(e, UserMessage)]
        prompts = [text for text in shown if not text.startswith(PEER) and text not in (EMPTY, NO_CONTENT)]
        told = session.summary
        assert (told.first_user_message is None) == (not prompts)
        if told.first_user_message and told.last_user_message:
            assert truncate(prompts[0], 2000) == told.first_user_message
            assert truncate(prompts[-1], 2000) == told.last_user_message
