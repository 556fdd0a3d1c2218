"""What is found in a store, and what is known of it."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from claude_session_player import Filter, Store
from claude_session_player.errors import Ambiguous, NoStore
from claude_session_player.store.extract import FileExtractor
from claude_session_player.store.layout import encode_project_path, project_dir_spellings, real_path
from tests.builder import START, SessionBuilder, call, text
from tests.stores import AGENT, ENGINE, ONE, THREE, TWO, StoreBuilder, only

EVERYTHING = Filter(include_subagents=True)


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


# --- where stores are -------------------------------------------------------------------------------


def test_the_default_store_is_in_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    StoreBuilder(tmp_path / ".claude").session()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert Store.open(cache=None).roots == (str(tmp_path / ".claude"),)


def test_the_variable_names_several_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    StoreBuilder(tmp_path / "a").session(ONE)
    StoreBuilder(tmp_path / "b").session(TWO)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{tmp_path}/a, {tmp_path}/b,{tmp_path}/missing")
    assert {session.id for session in Store.open(cache=None).sessions()} == {ONE, TWO}


def test_a_given_root_comes_before_the_variable(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/nowhere")
    assert builder.open().roots == (str(builder.root),)


def test_a_store_named_twice_is_looked_at_once(builder: StoreBuilder, tmp_path: Path) -> None:
    builder.session()
    (tmp_path / "link").symlink_to(builder.root)
    store = Store.open(builder.root, tmp_path / "link", f"{builder.root}/", cache=None)
    assert len(store.sessions()) == 1


def test_no_store_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    with pytest.raises(NoStore, match=r"\.claude .*--root DIR.*CLAUDE_CONFIG_DIR"):
        Store.open()


@pytest.mark.parametrize(("path", "words"), [("missing", "no such directory"), (".", "it has no projects/")])
def test_a_root_that_is_no_store_is_refused(tmp_path: Path, path: str, words: str) -> None:
    with pytest.raises(NoStore, match=words):
        Store.open(tmp_path / path)


def test_the_projects_directory_itself_is_corrected(builder: StoreBuilder) -> None:
    with pytest.raises(NoStore, match=f"did you mean {builder.root}"):
        Store.open(builder.root / "projects")


# --- what is a session ------------------------------------------------------------------------------


def test_every_layout_is_found_and_nothing_else(builder: StoreBuilder) -> None:
    builder.every_layout()
    found = {(session.id, session.summary.kind) for session in builder.open().sessions(EVERYTHING)}
    assert found == {
        (ONE, "session"),
        (TWO, "session"),
        ("flat0001", "subagent"),
        ("nest0001", "subagent"),
        ("work0001", "subagent"),
        ("ses_0001", "transcript"),
        (f"{ONE}-2026-01-17", "pre-compact"),
    }


def test_subagents_are_listed_only_where_asked_for(builder: StoreBuilder) -> None:
    builder.every_layout()
    assert not any(session.is_subagent for session in builder.open().sessions())


def test_the_subagents_of_a_session_are_those_of_all_layouts(builder: StoreBuilder) -> None:
    builder.every_layout()
    session = builder.open().resolve(ONE)
    told = {child.id: (child.summary.agent, child.title, child.summary.workflow) for child in session.subagents}
    assert told == {
        "flat0001": ("Explore", "Look", None),
        "nest0001": ("Plan", "Dig", None),
        "work0001": (None, "Look around", "wf_1"),
    }
    assert session.subagent_count == 3
    assert [run["id"] for run in session.workflows] == ["wf_1"]
    assert session.workflows[0]["run"]["status"] == "completed"
    assert [os.path.basename(path) for path in session.tool_results] == ["toolu_9.txt"]


def test_a_subagent_inside_of_its_parents_file_is_one_too(builder: StoreBuilder) -> None:
    builder.every_layout()
    session = builder.open().resolve(TWO)
    (inline,) = session.subagents
    summary = inline.summary
    assert (summary.agent, summary.title, summary.events) == ("Explore", "Ask", 2)
    assert (summary.parent_id, summary.first_user_message) == (TWO, "What is it?")
    assert [event.line for event in inline.events()] == [3, 4]
    assert (session.subagent_count, session.summary.first_user_message) == (1, "Ask somebody")
    assert session.summary.events == 5


def test_a_subagent_below_another_belongs_to_it(builder: StoreBuilder) -> None:
    builder.session(ONE)
    inner = call("Task", "toolu_in", prompt="Deeper", subagent_type="Plan")
    middle = SessionBuilder(session_id=ONE, sidechain=True).prompt("Look").response(inner)
    middle.write(builder.home() / ONE / "subagents" / "agent-mid.jsonl")
    builder.meta(builder.agent("leaf1", place="subagents"), toolUseId="toolu_in")
    builder.agent("leaf2", place="subagents", task="Deeper")
    builder.meta(builder.agent("leaf3", place="subagents"), parentAgentId="mid")
    builder.agent("leaf4", place="subagents/agent-mid/subagents")
    session = builder.open().resolve(ONE)
    assert [child.id for child in session.subagents] == ["leaf2", "mid"]  # leaf1 has taken the call
    mid = session.subagents[1]
    assert {child.id for child in mid.subagents} == {"leaf1", "leaf3", "leaf4"}
    assert all(child.parent_agent_id == "mid" and child.parent_id == ONE for child in mid.subagents)
    assert session.subagent_count == 5


def test_subagents_that_name_each_other_as_parents_belong_to_the_session(builder: StoreBuilder) -> None:
    builder.session(ONE)
    builder.meta(builder.agent("a1", place="subagents"), parentAgentId="a2")
    builder.meta(builder.agent("a2", place="subagents"), parentAgentId="a1")
    session = builder.open().resolve(ONE)
    assert session.subagent_count == 2
    assert {child.id for child in session.subagents} | {c.id for s in session.subagents for c in s.subagents} == {
        "a1",
        "a2",
    }


def test_a_subagent_without_its_session_is_still_listed(builder: StoreBuilder) -> None:
    builder.agent("lone0001", session=THREE, place="subagents")
    (agent,) = builder.open().sessions(EVERYTHING)
    assert (agent.parent_id, agent.summary.agent) == (THREE, None)


@pytest.mark.parametrize(("id", "task", "agent"), [("acompact-12ab", "Sum up", "compact"), ("b1", "Warmup", "warmup")])
def test_helpers_are_known_by_their_names(builder: StoreBuilder, id: str, task: str, agent: str) -> None:
    builder.agent(id, place="subagents", task=task)
    assert builder.open().sessions(EVERYTHING)[0].summary.agent == agent


def test_the_call_of_a_subagent_is_the_one_whose_result_names_it(builder: StoreBuilder) -> None:
    main = SessionBuilder(session_id=ONE).prompt("Ask twice")
    main.response(call("Task", "toolu_1", description="First", prompt="Same", subagent_type="Explore"))
    main.response(call("Task", "toolu_2", description="Second", prompt="Same", subagent_type="Plan"))
    main.response(call("Task", "toolu_3", description="Third", prompt="Same", subagent_type="Review"))
    main.result("toolu_1", "Done", toolUseResult={"agentId": "b2"})
    main.result("toolu_2", [text("Done\nagentId: b1")])
    main.progress("agent_progress", "toolu_3", agentId="b3").write(builder.home() / f"{ONE}.jsonl")
    for id in ("b1", "b2", "b3", "b4"):
        builder.agent(id, place="subagents", task="Same")
    told = {child.id: (child.agent, child.title) for child in builder.open().resolve(ONE).subagents}
    assert told == {
        "b1": ("Plan", "Second"),
        "b2": ("Explore", "First"),
        "b3": ("Review", "Third"),
        "b4": (None, "Same"),
    }


def test_twins_inside_of_a_file_have_a_call_each(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Ask twice")
    for kind in ("Explore", "Plan"):
        session.response(call("Task", f"toolu_{kind}", description=kind, prompt="Same", subagent_type=kind))
    session.sidechain = True
    for number in (1, 2):
        session.prompt("Same", parentUuid=None, uuid=f"side-{number}")
    session.write(builder.home() / f"{ONE}.jsonl")
    assert [child.agent for child in builder.open().resolve(ONE).subagents] == ["Explore", "Plan"]


def test_the_subagents_of_a_stream_are_told_from_the_person(builder: StoreBuilder) -> None:
    session = SessionBuilder().line({"type": "system", "subtype": "init", "model": "claude-x", "session_id": "s"})
    session.line({"type": "user", "message": {"content": "Ask"}, "parent_tool_use_id": None})
    task = call("Task", "toolu_1", description="D", prompt="Delegated", subagent_type="Explore")
    session.line({"type": "assistant", "message": {"id": "msg_bdrk_1", "model": "claude-x", "content": [task]}})
    session.line({"type": "user", "message": {"content": "Delegated"}, "parent_tool_use_id": "toolu_1"})
    session.write(builder.home() / f"{ONE}.jsonl")
    found = builder.open().resolve(ONE)
    assert (found.summary.last_user_message, found.summary.provider) == ("Ask", "bedrock")
    assert [(child.id, child.agent) for child in found.subagents] == [("toolu_1", "Explore")]


def test_an_id_that_two_subagents_share_leads_nowhere_in_circles(builder: StoreBuilder) -> None:
    builder.session(ONE)
    builder.meta(builder.agent("aa", place="subagents"), parentAgentId="bb")
    builder.meta(builder.agent("bb", place="subagents"), parentAgentId="aa")
    builder.meta(builder.agent("aa", place="subagents/workflows/wf_1"), parentAgentId="bb")
    sessions = builder.open().sessions(EVERYTHING)
    assert len([session.summary for session in sessions]) == 4
    assert builder.open().resolve(ONE).subagent_count == 3


def test_a_long_chain_of_subagents_is_no_trouble(builder: StoreBuilder) -> None:
    builder.session(ONE)
    for number in range(300):
        builder.meta(builder.agent(f"c{number:04}", place="subagents"), parentAgentId=f"c{number - 1:04}")
    session = builder.open().resolve(ONE)
    assert session.subagent_count == 300
    assert sum(1 + child.subagent_count for child in session.subagents) == 300


# --- projects ---------------------------------------------------------------------------------------


def test_a_project_is_the_path_that_its_sessions_name(builder: StoreBuilder) -> None:
    builder.session(ONE, cwd="/home/ada/my.engine")
    builder.agent("a1", session=ONE)
    (project, other) = builder.open().projects()
    assert {project.path, other.path} == {"/home/ada/my.engine", ENGINE}


def test_two_paths_that_share_a_directory_are_two_projects(builder: StoreBuilder) -> None:
    builder.session(ONE, cwd="/home/ada/a-b", home="-home-ada-a-b")
    builder.session(TWO, cwd="/home/ada/a/b", home="-home-ada-a-b", days=1)
    assert [project.path for project in builder.open().projects()] == ["/home/ada/a/b", "/home/ada/a-b"]


def test_a_subdirectory_is_no_project_of_its_own(builder: StoreBuilder) -> None:
    builder.session(ONE)
    builder.session(TWO, cwd=f"{ENGINE}/src", home=encode_project_path(ENGINE))
    (project,) = builder.open().projects()
    assert (project.path, project.sessions) == (ENGINE, 2)


def test_a_session_that_tells_no_path_belongs_to_the_only_project(builder: StoreBuilder) -> None:
    builder.session(ONE)
    (builder.home() / f"{TWO}.jsonl").write_bytes(b"")
    (project,) = builder.open().projects()
    assert (project.path, project.sessions) == (ENGINE, 2)


def test_a_project_counts_its_subagents_and_all_bytes(builder: StoreBuilder) -> None:
    paths = [builder.session(ONE), builder.agent("a1"), builder.agent("a2", place="subagents")]
    (project,) = builder.open().projects()
    assert (project.sessions, project.subagents) == (1, 2)
    assert project.size == sum(path.stat().st_size for path in paths)


def test_the_spellings_of_a_directory_are_those_of_all_versions() -> None:
    assert set(project_dir_spellings("/Users/jane/Sites/app.demo_x")) >= {
        "Users-jane-Sites-app-demo_x",
        "-Users-jane-Sites-app-demo_x",
        "-Users-jane-Sites-app-demo-x",
    }


def test_windows_paths_are_told_in_either_case() -> None:
    assert real_path("c--Users-ada-engine", ("C:\\Users\\ada\\engine\\src",)) == "C:\\Users\\ada\\engine"


# --- filters ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filter", "ids"),
    [
        (Filter(), [TWO, ONE]),
        (Filter(reverse=True), [ONE, TWO]),
        (Filter(project="ENGINE"), [ONE]),
        (Filter(project="-home-ada-ket"), [TWO]),
        (Filter(cwd="kettle"), [TWO]),
        (Filter(model="opus"), [TWO, ONE]),
        (Filter(model="haiku"), []),
        (Filter(branch="main"), [TWO, ONE]),
        (Filter(branch="dev"), []),
        (Filter(title="start"), [ONE]),
        (Filter(limit=1), [TWO]),
        (Filter(offset=1), [ONE]),
        (Filter(limit=0), []),
        (Filter(sort="title"), [ONE, TWO]),
        (Filter(sort="created"), [TWO, ONE]),
        (Filter(since=START + timedelta(days=1)), [TWO]),
        (Filter(before=START + timedelta(hours=1)), [ONE]),
        (Filter(since=START + timedelta(days=9)), []),
    ],
)
def test_filters_keep_what_is_wanted(builder: StoreBuilder, filter: Filter, ids: list[str]) -> None:
    builder.session(ONE)
    builder.session(TWO, "Whistle", cwd="/home/ada/kettle", days=2)
    assert [session.id for session in builder.open().sessions(filter)] == ids


def test_a_session_that_lasts_over_a_day_is_active_on_it(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Begin").prompt("End", timestamp="2026-01-20T00:00:00.000Z")
    session.write(builder.home() / f"{ONE}.jsonl")
    day = Filter(since=START + timedelta(days=1), before=START + timedelta(days=1, hours=1))
    assert len(builder.open().sessions(day)) == 1


# --- trouble ----------------------------------------------------------------------------------------


def test_what_cannot_be_read_is_named_and_the_rest_is_listed(builder: StoreBuilder, tmp_path: Path) -> None:
    builder.session(ONE)
    (builder.home() / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (builder.root / "projects" / "loop").symlink_to(builder.root / "projects")
    (builder.root / "projects" / "circle").symlink_to("circle")
    (builder.root / "projects" / "lost").symlink_to(tmp_path / "nowhere")
    (builder.home() / "circle").symlink_to("circle")
    os.mkfifo(builder.home() / "agent-x.meta.json")
    os.mkfifo(builder.home() / "pipe.jsonl")
    builder.agent(AGENT).with_suffix(".meta.json").write_text("{no json")
    store = builder.open()
    assert [session.id for session in store.sessions()] == [ONE]
    told = {os.path.basename(trouble.path): trouble.reason for trouble in store.problems}
    assert told == {
        "dangling.jsonl": "a link that leads nowhere",
        "pipe.jsonl": "not a regular file",
        "agent-x.meta.json": "not a regular file",
        "circle": "Too many levels of symbolic links",
        "lost": "a link that leads nowhere",
        f"agent-{AGENT}.meta.json": "not JSON",
    }


def test_a_name_that_is_no_utf_8_is_listed_and_spelled_out(builder: StoreBuilder) -> None:
    builder.home().mkdir()
    path = os.fsencode(builder.home()) + b"/caf\xe9.jsonl"
    with open(path, "wb") as file:
        file.write(SessionBuilder().prompt("Hi").data())
    for cache in (None, builder.root.parent / "cache", builder.root.parent / "cache"):
        summary = only(builder.open(cache))
        assert summary["id"] == "caf\\xe9"
        assert str(summary["path"]).endswith("caf\\xe9.jsonl")


def test_directories_whose_names_are_no_utf_8_are_spelled_out(builder: StoreBuilder) -> None:
    builder.session(ONE)
    for name in (b"agent-\xfe", b"wf_\xff"):
        folder = os.path.join(os.fsencode(builder.home() / ONE / "subagents"), name)
        os.makedirs(folder)
        with open(os.path.join(folder, b"agent-caf\xe9.jsonl"), "wb") as file:
            file.write(SessionBuilder(sidechain=True).prompt("Hi").data())
    store = builder.open()
    agents = [session for session in store.sessions(EVERYTHING) if session.is_subagent]
    assert {json.loads(agent.json)["workflow"] for agent in agents} == {None, "wf_\\xff"}
    with pytest.raises(Ambiguous):
        store.resolve(agents[0].summary.id)
    os.unlink(agents[0].path)
    assert store.resolve(agents[0].summary.id).path == agents[1].path
    assert agents[0].summary.detail_hint.endswith("get 'caf\\xe9'")


def test_a_variable_that_names_a_missing_store_is_told(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{builder.root},/nowhere")
    assert [trouble.path for trouble in Store.open(cache=None).problems] == ["/nowhere"]


def test_a_workflow_that_cannot_be_read_says_why(builder: StoreBuilder) -> None:
    builder.every_layout()
    (builder.home() / ONE / "workflows" / "wf_1.json").write_text("{no json")
    assert builder.open().resolve(ONE).workflows[0]["trouble"] == "not JSON"


def test_a_linked_project_directory_is_followed_once(builder: StoreBuilder, tmp_path: Path) -> None:
    other = StoreBuilder(tmp_path / "other")
    other.session(TWO)
    (builder.root / "projects" / "linked").symlink_to(other.home())
    (builder.root / "projects" / "linked-again").symlink_to(other.home())
    assert [session.id for session in builder.open().sessions()] == [TWO]


def test_another_directory_and_branch_are_found_in_any_batch_of_lines() -> None:
    extractor = FileExtractor(is_agent=False)
    places = [("/a", "main"), ("/a", "main"), ("/a", "main"), ("/b", "topic"), ("/a", "topic"), (None, None)]
    session = SessionBuilder()
    for cwd, branch in places:
        session.prompt("Go", cwd=cwd, gitBranch=branch)
    for start in range(0, len(places), 2):
        extractor.add_lines(session.lines[start : start + 2])
    assert ([*extractor.cwds], [*extractor.branches]) == (["/a", "/b"], ["main", "topic"])
