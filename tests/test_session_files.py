"""The files of a session: what belongs to it, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claude_session_player import Filter
from claude_session_player.archive.session_files import (
    CollectedFiles,
    SessionFiles,
    collect_session_files,
    describe_change,
)
from tests.archives import all_session_files
from tests.stores import AGENT, ONE, THREE, TWO, StoreBuilder, touch


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


def only(store: StoreBuilder) -> SessionFiles:
    (session,) = all_session_files(store)
    return session


def names(session: SessionFiles) -> list[str]:
    return [item.path.rpartition("/")[2] for item in session.items]


def gathered(store: StoreBuilder) -> CollectedFiles:
    found = store.open()
    return collect_session_files(found.sessions(Filter(include_orphans=True)), found.roots)


def test_a_bundle_is_everything_of_a_session_and_nothing_else(store: StoreBuilder) -> None:
    store.every_layout()
    by_id = {session.id: session for session in all_session_files(store)}
    assert set(by_id) == {ONE, TWO, "ses_0001", f"{ONE}-2026-01-17"}
    home = by_id[ONE].main.rpartition("/")[0]
    own = sorted(os.path.relpath(path, store.root) for path in (store.home() / ONE).rglob("*"))
    expected = [f"{home}/{ONE}.jsonl", f"{home}/agent-flat0001.jsonl", f"{home}/{ONE}", *own]
    assert sorted(item.path for item in by_id[ONE].items) == sorted(expected)
    assert by_id[ONE].items[0].path == by_id[ONE].main
    assert by_id["ses_0001"].main == "transcripts/ses_0001.jsonl"


def test_hidden_files_empty_directories_and_links_belong_to_it(store: StoreBuilder) -> None:
    store.session()
    own = store.home() / ONE
    (own / "empty").mkdir(parents=True)
    (own / ".hidden").write_text("x")
    (own / "link").symlink_to(".hidden")
    items = {item.path.rpartition("/")[2]: item for item in only(store).items}
    assert [items[name].kind for name in ("empty", ".hidden", "link")] == ["folder", "file", "link"]
    assert items["link"].target == ".hidden"


def test_a_description_beside_a_flat_sub_agent_belongs_to_it(store: StoreBuilder) -> None:
    store.session()
    store.meta(store.agent(), agentType="Explore")
    assert names(only(store)) == [f"{ONE}.jsonl", f"agent-{AGENT}.jsonl", f"agent-{AGENT}.meta.json"]


def test_flat_sub_agents_of_another_session_do_not_belong_to_it(store: StoreBuilder) -> None:
    store.session()
    store.session(TWO)
    store.agent(session=TWO)
    assert {session.id: len(session.items) for session in all_session_files(store)} == {ONE: 1, TWO: 2}


def test_orphans_of_one_session_are_one_bundle(store: StoreBuilder) -> None:
    store.agent("flat0001", THREE)
    store.agent("nest0001", THREE, place="subagents")
    session = only(store)
    assert (session.id, session.kind) == (THREE, "subagent")
    assert session.main.endswith(f"/{THREE}.jsonl")
    assert sorted(names(session)) == sorted(["agent-flat0001.jsonl", THREE, "subagents", "agent-nest0001.jsonl"])


def test_names_that_are_no_utf8_are_kept(store: StoreBuilder) -> None:
    store.session()
    own = os.fsencode(store.home() / ONE)
    os.mkdir(own)
    Path(os.fsdecode(own + b"/caf\xe9")).write_text("x")
    assert os.fsencode(names(only(store))[-1]) == b"caf\xe9"


def test_a_project_that_is_a_link_out_of_the_store_is_refused(store: StoreBuilder, tmp_path: Path) -> None:
    store.session()
    store.home().rename(tmp_path / "elsewhere")
    store.home().symlink_to(tmp_path / "elsewhere")
    found = gathered(store)
    assert not found.sessions
    reason = str(found.refused[0][1])
    assert "leads out of the store" in reason
    assert "--root" in reason
    assert reason.startswith(f"{store.home()} is")


def test_where_all_projects_are_behind_a_link_that_one_is_named(store: StoreBuilder, tmp_path: Path) -> None:
    store.session()
    (store.root / "projects").rename(tmp_path / "elsewhere")
    (store.root / "projects").symlink_to(tmp_path / "elsewhere")
    assert str(gathered(store).refused[0][1]).startswith(f"{store.root / 'projects'} is")


def test_a_store_that_is_a_link_itself_is_fine(store: StoreBuilder, tmp_path: Path) -> None:
    store.session()
    store.root.rename(tmp_path / "elsewhere")
    store.root.symlink_to(tmp_path / "elsewhere")
    assert names(only(store)) == [f"{ONE}.jsonl"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../../settings.json", "a/../../../x", ".", "a//b"])
def test_a_link_that_may_lead_out_of_the_session_is_refused(store: StoreBuilder, target: str) -> None:
    store.session()
    store.session(TWO)
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "link").symlink_to(target)
    found = gathered(store)
    assert [session.id for session in found.sessions] == [TWO]
    assert "leads out of the session: move it away" in str(found.refused[0][1])


def test_a_session_file_that_is_a_link_is_refused(store: StoreBuilder, tmp_path: Path) -> None:
    store.session().rename(tmp_path / "real.jsonl")
    (store.home() / f"{ONE}.jsonl").symlink_to(tmp_path / "real.jsonl")
    assert len(gathered(store).refused) == 1


def test_a_pipe_inside_of_a_session_is_refused_without_waiting(store: StoreBuilder) -> None:
    store.session()
    (store.home() / ONE).mkdir()
    os.mkfifo(store.home() / ONE / "pipe")
    assert "cannot be archived: move it away" in str(gathered(store).refused[0][1])


def test_a_directory_belongs_only_to_a_session_with_an_id(store: StoreBuilder) -> None:
    store.session("memory")
    (store.home() / "memory").mkdir()
    (store.home() / "memory" / "MEMORY.md").write_text("Tea")
    store.agent(session="memory")
    session = only(store)
    assert names(session) == ["memory.jsonl", f"agent-{AGENT}.jsonl"]
    assert describe_change(session) is None


@pytest.mark.parametrize("is_there", [True, False])
def test_subagents_in_a_directory_that_is_no_sessions_own_are_refused(store: StoreBuilder, is_there: bool) -> None:
    if is_there:
        store.session("notes")
    store.agent(session="notes", place="subagents")
    found = gathered(store)
    assert not found.sessions
    assert "notes: the name is not a session id" in str(found.refused[0][1])


def test_changes_of_a_bundle_are_told(store: StoreBuilder) -> None:
    main = store.session()
    agent = store.agent()
    (store.home() / ONE).mkdir()
    session = only(store)
    assert describe_change(session) is None
    (store.home() / ONE / "more").write_text("x")
    assert "more is new" in str(describe_change(session))
    (store.home() / ONE / "more").unlink()
    assert describe_change(session) is None
    touch(main)
    assert f"{ONE}.jsonl has changed" in str(describe_change(session))
    touch(main, -1)
    store.meta(agent, agentType="Explore")
    assert "meta.json is new" in str(describe_change(session))
    agent.unlink()
    assert describe_change(session) is not None
