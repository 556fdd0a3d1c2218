"""Todos, memories and settings, and the words for dates."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from claude_session_player.errors import BadFilter
from claude_session_player.store.extras import MASK, mask_secrets
from claude_session_player.store.filters import parse_date_span
from tests.stores import ENGINE, ONE, StoreBuilder

NOW = datetime.fromisoformat("2026-03-01T12:00:00+01:00")


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


# --- todos ------------------------------------------------------------------------------------------


def test_todos_come_from_projects_and_from_sessions(builder: StoreBuilder) -> None:
    builder.session(ONE)
    (builder.home() / "todo.jsonl").write_text(
        '{"type": "todo", "id": "1", "text": "Oil it", "completed": false, "created": "2025-01-23T10:30:00Z"}\n'
        "\n"
        '{"type": "todo", "id": 2, "text": "Paint it", "completed": true}\n'
        "no json\n"
    )
    builder.json(Path(f"todos/{ONE}-agent-{ONE}.json"), [{"content": "Start it", "status": "in_progress"}])
    builder.json(Path(f"todos/{ONE}-agent-a1.json"), [{"content": "Stop it", "status": "pending"}])
    builder.json(Path("todos/empty.json"), [])
    builder.json(Path("todos/odd.json"), "text")
    store = builder.open()
    told = [(todo.text, todo.status, todo.session_id, todo.agent_id, todo.project) for todo in store.todos()]
    assert told == [
        ("Oil it", "pending", None, None, ENGINE),
        ("Paint it", "completed", None, None, ENGINE),
        ("Start it", "in_progress", ONE, None, ENGINE),
        ("Stop it", "pending", ONE, "a1", ENGINE),
    ]
    assert [trouble.reason for trouble in store.problems] == ["line 4 is not a todo", "not a list of todos"]


@pytest.mark.parametrize(("project", "count"), [("engine", 1), (ENGINE, 1), ("-home-ada-engine", 1), ("kettle", 0)])
def test_todos_of_one_project(builder: StoreBuilder, project: str, count: int) -> None:
    builder.session(ONE)
    (builder.home() / "todo.jsonl").write_text('{"type": "todo", "text": "Oil it"}\n')
    assert len(builder.open().todos(project)) == count


# --- memories ---------------------------------------------------------------------------------------


def test_memories_are_found_by_tag_and_project(builder: StoreBuilder) -> None:
    told: dict[str, Any] = {"id": "mem_1", "content": "Prefers tea", "created": "2025-01-23T10:30:00Z"}
    builder.json(Path("memories/1.json"), {**told, "tags": ["Taste"], "projects": ["/home/ada/kettle"]})
    builder.json(Path("memories/2.json"), {"content": "Likes steam", "updated": "2026-01-01T00:00:00Z", "tags": "x"})
    builder.json(Path("memories/3.json"), ["odd"])
    store = builder.open()
    assert [memory.id for memory in store.memories()] == ["2", "mem_1"]
    assert [memory.id for memory in store.memories(tag="taste")] == ["mem_1"]
    assert [memory.id for memory in store.memories(project="kettle")] == ["mem_1"]
    assert store.memories(tag="tast") == []
    assert [trouble.reason for trouble in store.problems] == ["not a JSON object"]


# --- settings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {"apiKey": "hunter2"},
        {"env": {"ANTHROPIC_API_KEY": "hunter2"}},
        {"env": {"GITHUB_TOKEN": "hunter2"}},
        {"password": "hunter2"},
        {"db_password": 12345},
        {"headers": {"X-Anything": "hunter2"}},
        {"secrets": ["hunter2", {"deep": "hunter2"}]},
        {"hook": "curl -H 'Authorization: Bearer hunter2'"},
        {"url": "https://ada:hunter2@example.org/x"},
        {"url": "https://example.org/?api_key=hunter2&x=1"},
        {"command": "export TOKEN=hunter2"},
        {"env": {"DB_PASS": "hunter2", "GITHUB_PAT": "hunter2"}},
        {"args": ["--api-key", "hunter2", "--token", "hunter2"]},
        {"command": "psql --password hunter2"},
        {"command": "curl -u bob:hunter2 x"},
        {"command": "PGPASSWORD='very hunter2 indeed' psql"},
        {"plain": "sk-ant-api03-hunter2hunter2"},
        {"plain": "ghp_hunter2hunter2hunter2hunter2"},
        {"plain": "AKIAHUNTER2HUNTER2XX"},
        {"plain": "eyJhbGciOiJIUzI1NiJ9.eyJodW50ZXIyIjoxfQ.hunter2"},
        {"plain": "-----BEGIN RSA PRIVATE KEY-----\nhunter2"},
    ],
)
def test_secrets_are_masked(value: dict[str, Any]) -> None:
    text = str(mask_secrets(value))
    assert MASK in text
    assert "hunter2" not in text.lower().replace("x-anything", "")
    assert "12345" not in text


@pytest.mark.parametrize(
    "value",
    [
        {"model": "claude-3-5-sonnet-20241022", "max_tokens": 4096, "ui": {"show_tokens": True, "theme": "dark"}},
        {"permissions": {"allow": ["Bash(npm run test:*)", "Read(~/notes/**)"]}},
        {"permissions": {"allow": ["mcp__some_server_with_a_name_v2__do_something_very_specific_2"]}},
        {"apiKeyHelper": "~/bin/key.sh", "env": {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "32000", "MAX_THINKING_TOKENS": "9"}},
        {"hook": "/opt/tools/a-very-long-directory-name-of-version-2/bin/run --verbose"},
        {"includeCoAuthoredBy": False, "cleanupPeriodDays": 30, "keybindings": "vim", "author": "Ada"},
    ],
)
def test_what_is_no_secret_is_shown(value: dict[str, Any]) -> None:
    assert mask_secrets(value) == value


def test_settings_nested_beyond_reason_are_cut(builder: StoreBuilder) -> None:
    (builder.root / "settings.json").write_text('{"a":' * 900 + "1" + "}" * 900)
    assert "…" in str(builder.open().settings()[0].settings)


def test_what_is_no_file_is_not_waited_for(builder: StoreBuilder) -> None:
    os.mkfifo(builder.root / "settings.json")
    (builder.root / "memories").mkdir()
    os.mkfifo(builder.root / "memories" / "m.json")
    store = builder.open()
    assert (store.settings(), store.memories()) == ([], [])
    assert [trouble.reason for trouble in store.problems] == ["not a regular file"] * 2


def test_todos_of_a_directory_that_two_projects_share_name_the_directory(builder: StoreBuilder) -> None:
    builder.session(ONE, cwd="/home/ada/a-b", home="-home-ada-a-b")
    builder.session("1f2e0000", cwd="/home/ada/a/b", home="-home-ada-a-b")
    (builder.root / "projects" / "-home-ada-a-b" / "todo.jsonl").write_text('{"type": "todo", "text": "Oil it"}\n')
    assert [todo.project for todo in builder.open().todos()] == ["-home-ada-a-b"]


def test_settings_of_every_store_are_read(builder: StoreBuilder, tmp_path: Path) -> None:
    builder.json(Path("settings.json"), {"model": "x"})
    (builder.root / "settings.local.json").write_text("{broken")
    store = builder.open()
    assert [file.settings for file in store.settings()] == [{"model": "x"}]
    assert [trouble.reason for trouble in store.problems] == ["not JSON"]


# --- dates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "start", "end"),
    [
        ("2026-01-17", "2026-01-17T00:00:00+01:00", "2026-01-18T00:00:00+01:00"),
        ("2026-02", "2026-02-01T00:00:00+01:00", "2026-03-01T00:00:00+01:00"),
        ("2025-12", "2025-12-01T00:00:00+01:00", "2026-01-01T00:00:00+01:00"),
        ("2026", "2026-01-01T00:00:00+01:00", "2027-01-01T00:00:00+01:00"),
        ("today", "2026-03-01T00:00:00+01:00", "2026-03-02T00:00:00+01:00"),
        (" Yesterday ", "2026-02-28T00:00:00+01:00", "2026-03-01T00:00:00+01:00"),
        ("7d", "2026-02-22T12:00:00+01:00", "2026-02-22T12:00:00+01:00"),
        ("12h", "2026-03-01T00:00:00+01:00", "2026-03-01T00:00:00+01:00"),
        ("1w", "2026-02-22T12:00:00+01:00", "2026-02-22T12:00:00+01:00"),
        ("2026-01-17T20:31:59Z", "2026-01-17T20:31:59+00:00", "2026-01-17T20:31:59+00:00"),
        ("2026-01-17 20:31", "2026-01-17T20:31:00+01:00", "2026-01-17T20:31:00+01:00"),
    ],
)
def test_a_word_for_a_date_is_a_span_of_local_time(word: str, start: str, end: str) -> None:
    span = parse_date_span(word, NOW)
    assert (span.start, span.end) == (datetime.fromisoformat(start), datetime.fromisoformat(end))


@pytest.mark.parametrize(
    "word",
    ["", "soon", "2026-13", "2026-02-30", "7x", "99999999999d", "999999d", "9999", "0000", "0001-01-01T00:00:00+14:00"],
)
def test_a_bad_date_says_which_words_are_understood(word: str) -> None:
    with pytest.raises(BadFilter, match="today, yesterday, 7d, 12h"):
        parse_date_span(word, NOW)


def test_without_a_clock_the_system_tells_the_zone() -> None:
    assert parse_date_span("today").start.utcoffset() == parse_date_span("today").start.astimezone().utcoffset()
