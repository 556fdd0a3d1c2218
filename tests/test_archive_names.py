"""Names that an archive may bring: every true name, and none that means harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_session_player.archive.manifest import is_claude_file_name, is_project_dir_name
from claude_session_player.store.layout import project_dir_spellings
from tests.archives import all_session_files
from tests.corpus import STORE
from tests.stores import Opened, StoreBuilder


def assert_written(paths: list[str]) -> None:
    for path in paths:
        place, *names = path.split("/")
        if place == "projects":
            assert is_project_dir_name(names.pop(0)), path
        assert all(map(is_claude_file_name, names)), path


def test_every_layout_has_names_that_are_restored(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.every_layout()
    store.agent("deep0001", place="subagents/agent-nest0001/subagents")
    assert_written([item.path for session in all_session_files(store) for item in session.items])


@pytest.mark.parametrize(
    "name",
    [
        "1f2e3d4c-0001-4000-8000-000000000001.jsonl",
        "01JGXAMPLEAMPLEAMPLEAMPLEA.jsonl",
        "ses_0001.jsonl",
        "1f2e3d4c-0001-4000-8000-000000000001-2026-01-17T20-00-00.jsonl",
        "agent-a1b2c3d4.jsonl",
        "agent-acompact-0123456789abcdef.meta.json",
        "agent-researcher@team.jsonl",
        "toolu_01AbCdEfGh.txt",
        "mcp-some_server-tool-1700000000000.json",
        "webfetch-1700000000000-ab12cd.pdf",
        "wf_0a1b2c3d-4e5.json",
        "journal.jsonl",
        "session-memory",
        "x" * 255,
    ],
)
def test_a_name_that_claude_code_writes_is_restored(name: str) -> None:
    assert is_claude_file_name(name)


@pytest.mark.parametrize(
    "path",
    [
        "/home/ada/my_engine",
        "/Users/zoë/Código",
        "/home/ada/my engine",
        "/srv/データ/x.y",
        "/Users/ada/com~apple~CloudDocs/tea (copy) & it's [old] #1!",
    ],
)
def test_a_project_is_restored_however_its_directory_is_spelled(path: str) -> None:
    assert all(map(is_project_dir_name, project_dir_spellings(path)))


@pytest.mark.skipif(not STORE.is_dir(), reason="needs the corpus of real sessions")
def test_every_name_of_a_real_store_is_restored() -> None:
    found = [item.path for session in all_session_files(Opened(STORE)) for item in session.items]
    assert len(found) > 100
    assert_written(found)
