"""References: one session is meant, or the candidates are named, and nothing is guessed."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from claude_session_player import Store
from claude_session_player.errors import Ambiguous, CannotRead, NoSuchSession
from tests.builder import START, SessionBuilder
from tests.stores import ONE, THREE, TWO, StoreBuilder


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    builder = StoreBuilder(tmp_path / "store")
    builder.every_layout()
    builder.session(THREE, "Boil the water", cwd="/home/ada/kettle", days=5)
    return builder


@pytest.fixture
def store(builder: StoreBuilder) -> Store:
    return builder.open()


@pytest.mark.parametrize(
    ("ref", "id"),
    [
        (ONE, ONE),
        (ONE.upper(), ONE),
        (ONE[:15], ONE),
        (THREE[:4], THREE),
        (f"{ONE}-2026", f"{ONE}-2026-01-17"),
        ("ses_0001", "ses_0001"),
        ("ses_", "ses_0001"),
        ("flat0001", "flat0001"),
        ("agent-nest0001", "nest0001"),
        ("nest", "nest0001"),
        ("latest", THREE),
        ("latest:1", THREE),
        ("latest:2", "ses_0001"),
        ("Boil the water", THREE),
        ("boil  THE water", THREE),
        ("boil the", THREE),
    ],
)
def test_every_way_to_name_a_session(store: Store, ref: str, id: str) -> None:
    assert store.resolve(ref).id == id


def test_a_subagent_inside_of_a_file_has_the_uuid_of_its_first_line(store: Store) -> None:
    (inline,) = store.resolve(TWO).subagents
    assert store.resolve(inline.id).summary == inline.summary


def test_an_id_of_26_characters_is_one(builder: StoreBuilder) -> None:
    builder.session("abcdef1234567890ABCDEF1234")
    assert builder.open().resolve("abcdef1234567890ABCDEF1234").id == "abcdef1234567890ABCDEF1234"


def test_a_path_means_the_session_in_the_file_be_it_in_a_store_or_not(store: Store, tmp_path: Path) -> None:
    assert store.resolve(store.resolve(ONE).path).subagent_count == 3
    elsewhere = SessionBuilder().prompt("Elsewhere").write(tmp_path / "notes.txt")
    session = store.resolve(str(elsewhere))
    assert (session.id, session.title) == ("notes", "Elsewhere")


def test_a_path_of_a_subagent_knows_its_family(builder: StoreBuilder, store: Store) -> None:
    path = builder.home() / ONE / "subagents" / "workflows" / "wf_1" / "agent-work0001.jsonl"
    summary = store.resolve(str(path)).summary
    assert (summary.parent_id, summary.workflow) == (ONE, "wf_1")


def test_a_beginning_that_fits_several_lists_them(store: Store) -> None:
    with pytest.raises(Ambiguous, match="matches 3 sessions") as caught:
        store.resolve("1f2e")
    assert [detail.split()[0] for detail in caught.value.details] == [ONE, TWO, f"{ONE}-2026-01-17"]


def test_a_title_that_several_have_lists_them(builder: StoreBuilder) -> None:
    builder.session("bbbb0000", "Boil the water")
    with pytest.raises(Ambiguous, match="matches 2 sessions"):
        builder.open().resolve("Boil the water")


def test_the_same_id_in_two_projects_is_told_apart_by_paths(builder: StoreBuilder) -> None:
    builder.session(THREE, cwd="/home/ada/copy")
    with pytest.raises(Ambiguous) as caught:
        builder.open().resolve(THREE)
    assert all(detail.endswith(".jsonl") for detail in caught.value.details)


@pytest.mark.parametrize(
    ("ref", "near"),
    [("1f2e3d4c-0001-4000-9999", ONE), ("ses_0002", "ses_0001"), ("Boil the kettle", THREE)],
)
def test_an_unknown_reference_suggests_the_nearest(store: Store, ref: str, near: str) -> None:
    with pytest.raises(NoSuchSession, match="nearest") as caught:
        store.resolve(ref)
    assert near in " ".join(caught.value.details)


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("qqqqqqqq", "none of 8 sessions"),
        ("zz", "at least 4 characters"),
        ("latest:99", "there are 5"),
        ("latest:0", "latest:1"),
    ],
)
def test_an_unknown_reference_says_why(store: Store, ref: str, words: str) -> None:
    with pytest.raises(NoSuchSession, match=words):
        store.resolve(ref)


@pytest.mark.parametrize("ref", ["./nothing", "nothing.jsonl", "/no/such/file", "../nothing"])
def test_what_looks_like_a_path_is_one(store: Store, ref: str) -> None:
    with pytest.raises(CannotRead, match="No such file"):
        store.resolve(ref)


def test_a_directory_is_no_session(store: Store, tmp_path: Path) -> None:
    with pytest.raises(CannotRead, match="is a directory"):
        store.resolve(str(tmp_path))


def test_an_empty_store_has_no_latest(tmp_path: Path) -> None:
    with pytest.raises(NoSuchSession, match="there are no sessions in"):
        StoreBuilder(tmp_path / "empty").open().resolve("latest")


def test_a_directory_may_be_called_like_a_session(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (THREE, "Boil the water", "latest"):
        (tmp_path / name).mkdir()
        assert store.resolve(name).id == THREE
    (tmp_path / "other").mkdir()
    with pytest.raises(CannotRead, match="is a directory"):
        store.resolve("other")


@pytest.mark.parametrize("title", ["Fix package.json", "feature/login", "Why? Because."])
def test_a_title_may_look_like_anything(builder: StoreBuilder, title: str) -> None:
    builder.session("bbbb0000", title)
    assert builder.open().resolve(title).id == "bbbb0000"


def test_a_title_means_the_session_and_not_the_copies_made_of_it(builder: StoreBuilder) -> None:
    copy = builder.root / "pre-compact-session-histories" / f"{THREE}-1.jsonl"
    SessionBuilder(session_id=THREE).prompt("Boil the water").write(copy)
    assert builder.open().resolve("Boil the water").id == THREE


def test_a_store_may_lie_below_a_directory_called_subagents(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "subagents" / "agent-x" / "store")
    path = builder.session(ONE)
    cache = tmp_path / "cache"
    assert builder.open(cache).resolve(ONE).summary.kind == "session"
    assert builder.open(cache).resolve(str(path)).summary.kind == "session"
    assert [session.title for session in builder.open(cache).sessions()] == ["Start the engine"]


def test_what_a_path_alone_tells_is_not_taken_for_what_a_store_tells(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    odd = builder.home() / "agent-y" / "subagents"
    path = SessionBuilder(session_id=ONE).prompt("Hi").write(odd / "agent-z.jsonl")
    other, cache = StoreBuilder(tmp_path / "other"), tmp_path / "cache"
    for root in (other, builder, other):
        assert root.open(cache).at(path).summary == root.open().at(path).summary


# --- breadcrumbs ------------------------------------------------------------------------------------


def crumb(path: Path, id: str, project: str = "/home/ada/engine") -> str:
    path.write_text(json.dumps({"project": project, "sessionId": id, "timestamp": "2026-01-17T20:31:59.197Z"}))
    return str(path)


@pytest.mark.parametrize("id", [THREE, THREE[:8]])
def test_a_breadcrumb_leads_to_its_session(store: Store, tmp_path: Path, id: str) -> None:
    assert store.resolve(crumb(tmp_path / "crumb.json", id)).id == THREE


@pytest.mark.parametrize("project", ["/home/ada/copy", "/home/ada/copy/", "home/ada/copy"])
def test_the_project_of_a_breadcrumb_decides(builder: StoreBuilder, tmp_path: Path, project: str) -> None:
    copy = builder.session(THREE, cwd="/home/ada/copy")
    session = builder.open().resolve(crumb(tmp_path / "crumb.json", THREE, project))
    assert os.path.samefile(session.path, copy)


def test_a_breadcrumb_to_nowhere_is_told(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NoSuchSession):
        store.resolve(crumb(tmp_path / "crumb.json", "qqqqqqqq"))


# --- the latest -------------------------------------------------------------------------------------


@pytest.fixture
def kettle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a project that is not the one of the last active session, and a home around it."""
    home = tmp_path / "ada"
    (home / "kettle" / "src").mkdir(parents=True)
    (home / "notes").mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home / "kettle"


@pytest.fixture
def two_projects(kettle: Path, tmp_path: Path) -> Store:
    builder = StoreBuilder(tmp_path / "two")
    builder.session(ONE, "Boil the water", cwd=str(kettle))
    builder.session(TWO, "Boil more water", cwd=str(kettle), days=1)
    builder.session(THREE, "Start the engine", cwd="/opt/engine", days=2)
    return builder.open()


@pytest.mark.parametrize("inside", [".", "src"])
@pytest.mark.parametrize(
    ("ref", "id"),
    [
        ("latest", TWO),
        ("latest:1", TWO),
        ("latest:2", ONE),
        ("latest:all", THREE),
        ("latest:all:1", THREE),
        ("latest:all:3", ONE),
    ],
)
def test_in_a_project_the_latest_is_that_of_the_project(
    two_projects: Store, kettle: Path, monkeypatch: pytest.MonkeyPatch, inside: str, ref: str, id: str
) -> None:
    monkeypatch.chdir(kettle / inside)
    assert two_projects.resolve(ref).id == id


def test_elsewhere_the_latest_is_that_of_all(
    two_projects: Store, kettle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kettle.parent / "notes")
    assert two_projects.resolve("latest").id == THREE


def test_the_latest_is_that_of_the_nearest_project_around(
    kettle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = StoreBuilder(tmp_path / "nested")
    builder.session(ONE, "Outside", cwd=str(kettle), days=1)
    builder.session(TWO, "Inside", cwd=str(kettle / "src"))
    monkeypatch.chdir(kettle / "src")
    assert builder.open().resolve("latest").id == TWO


def test_the_home_directory_is_a_project_only_where_one_is_in_it(
    kettle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = StoreBuilder(tmp_path / "homely")
    builder.session(ONE, "At home", cwd=str(kettle.parent))
    builder.session(TWO, "Far away", cwd="/opt/engine", days=1)
    monkeypatch.chdir(kettle)
    assert builder.open().resolve("latest").id == TWO
    monkeypatch.chdir(kettle.parent)
    assert builder.open().resolve("latest").id == ONE


def test_a_session_that_names_no_directory_belongs_to_that_of_the_store(
    kettle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = StoreBuilder(tmp_path / "fresh")
    builder.session(TWO, "Far away", cwd="/opt/engine", days=1)
    line = {"type": "user", "timestamp": "2026-01-17T10:00:00Z", "message": {"role": "user", "content": "Boil"}}
    SessionBuilder().line(line).write(builder.home(str(kettle)) / f"{ONE}.jsonl")
    monkeypatch.chdir(kettle)
    assert builder.open().resolve("latest").id == ONE


def test_a_subagent_is_never_the_latest(kettle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = StoreBuilder(tmp_path / "agents")
    builder.session(ONE, "Boil the water", cwd=str(kettle))
    agent = SessionBuilder(session_id=TWO, cwd=str(kettle), sidechain=True, start=START + timedelta(days=3))
    agent.prompt("Look around", agentId="a1").write(builder.home(str(kettle)) / "agent-a1.jsonl")
    monkeypatch.chdir(kettle)
    assert builder.open().resolve("latest").id == ONE


def test_a_directory_that_is_gone_is_no_project(
    two_projects: Store, kettle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kettle / "src")
    (kettle / "src").rmdir()
    assert two_projects.resolve("latest").id == THREE


def test_a_number_beyond_the_sessions_of_a_project_says_how_to_count_all(
    two_projects: Store, kettle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kettle)
    with pytest.raises(NoSuchSession, match=f"latest:3: there are 2 sessions in {kettle}, .*latest:all:3 is one"):
        two_projects.resolve("latest:3")
    with pytest.raises(NoSuchSession, match=r"there are 3 sessions, latest:all:1 is the last active one$"):
        two_projects.resolve("latest:all:9")


@pytest.mark.parametrize("ref", ["latest:", "latest:al", "latest:2:all", "latest:kettle"])
def test_another_form_of_latest_is_answered_with_those_there_are(store: Store, ref: str) -> None:
    with pytest.raises(NoSuchSession, match="write latest, latest:2, latest:all or latest:all:2"):
        store.resolve(ref)


def test_a_title_may_begin_like_the_latest(builder: StoreBuilder) -> None:
    builder.session("bbbb0000", "latest: news")
    assert builder.open().resolve("latest: news").id == "bbbb0000"


def test_the_error_says_what_was_probably_meant(two_projects: Store) -> None:
    for ref, meant in (("latst", "latest"), ("did you mean", None)):
        with pytest.raises(NoSuchSession) as caught:
            two_projects.resolve(ref)
        assert caught.value.meant == meant
