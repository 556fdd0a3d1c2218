"""Which sessions are cleaned up, and that nothing else is touched."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

from claude_session_player import Filter
from claude_session_player.archive import clean
from claude_session_player.archive.add import archive_session
from claude_session_player.archive.archive_dir import ArchiveDir
from claude_session_player.archive.clean import (
    CleanOutcome,
    CleanPlan,
    CleanReason,
    CleanRules,
    clean_sessions,
    finish_removals,
    is_empty_session,
    plan_clean,
)
from claude_session_player.errors import BadFilter, CannotWrite
from claude_session_player.store.in_use import InUse
from claude_session_player.util.times import format_time
from tests.archives import litter, seen
from tests.builder import START, SessionBuilder
from tests.stores import ONE, THREE, TWO, StoreBuilder, settle

LATER = START + timedelta(days=5)
ALL = CleanRules(older_than=START + timedelta(days=1000))


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    """A store with one session of the first day, one of the tenth and one of another project."""
    builder = StoreBuilder(tmp_path / "store")
    builder.session(ONE)
    builder.session(TWO, "Stop it", days=10)
    builder.session(THREE, "Boil water", days=10, cwd="/home/ada/kettle")
    settle(builder.root)
    return builder


@pytest.fixture
def archive_dir(tmp_path: Path) -> ArchiveDir:
    return ArchiveDir(tmp_path / "archive")


def planned(builder: StoreBuilder, rules: CleanRules = ALL) -> CleanPlan:
    return plan_clean(builder.open(), rules)


def ids(made: CleanPlan) -> set[str]:
    return {session.id for session in made.sessions}


def cleaned(
    builder: StoreBuilder, archive_dir: ArchiveDir, rules: CleanRules = ALL, *, delete: bool = False
) -> list[CleanOutcome]:
    return list(clean_sessions(planned(builder, rules), archive_dir, delete=delete))


# --- the plan -------------------------------------------------------------------------------------


def test_without_a_filter_there_is_no_plan(builder: StoreBuilder) -> None:
    with pytest.raises(BadFilter, match="no filter given"):
        planned(builder, CleanRules())
    with pytest.raises(BadFilter, match="no filter given"):
        planned(builder, CleanRules(Filter(sort="size", limit=3, offset=1, reverse=True)))


@pytest.mark.parametrize("word", ["", "  "])
def test_an_empty_word_is_no_filter(builder: StoreBuilder, word: str) -> None:
    with pytest.raises(BadFilter, match="the project filter is empty"):
        planned(builder, CleanRules(Filter(project=word), older_than=LATER))


def test_a_session_is_as_old_as_its_last_event(builder: StoreBuilder) -> None:
    assert ids(planned(builder, CleanRules(older_than=LATER))) == {ONE}


def test_what_a_subagent_did_makes_a_session_younger(builder: StoreBuilder) -> None:
    agent = SessionBuilder(session_id=ONE, sidechain=True, start=START + timedelta(days=9)).prompt("Work")
    agent.write(builder.home() / ONE / "subagents" / "agent-a1.jsonl")
    settle(builder.root)
    assert ids(planned(builder, CleanRules(older_than=LATER))) == set()


def test_a_session_without_times_is_as_old_as_its_file(builder: StoreBuilder) -> None:
    path = builder.home() / "26charsessionidwithouttime.jsonl"
    path.write_text('{"type": "summary", "summary": "Old"}\n')
    os.utime(path, (1e9, 1e9))
    assert path.stem in ids(planned(builder, CleanRules(older_than=LATER)))
    os.utime(path, (1.9e9, 1.9e9))
    assert path.stem not in ids(planned(builder, CleanRules(older_than=LATER)))


def test_the_size_is_that_of_everything_that_belongs_to_a_session(builder: StoreBuilder) -> None:
    result = builder.home() / TWO / "tool-results" / "big.txt"
    result.parent.mkdir(parents=True)
    result.write_text("x" * 100_000)
    settle(builder.root)
    made = planned(builder, CleanRules(larger_than=100_000))
    assert ids(made) == {TWO}
    assert (made.size, made.files) == (100_000 + (builder.home() / f"{TWO}.jsonl").stat().st_size, 2)
    assert ids(planned(builder, CleanRules(larger_than=made.size))) == set()


def test_all_rules_have_to_be_fulfilled(builder: StoreBuilder) -> None:
    later = START + timedelta(days=20)
    assert ids(planned(builder, CleanRules(Filter(project="kettle"), older_than=later))) == {THREE}
    assert ids(planned(builder, CleanRules(Filter(project="kettle"), older_than=LATER))) == set()
    assert ids(planned(builder, CleanRules(Filter(title="stop"), larger_than=1))) == {TWO}
    assert ids(planned(builder, CleanRules(Filter(title="stop"), empty=True))) == set()


def test_the_limit_counts_sessions_that_fulfil_the_rules(builder: StoreBuilder) -> None:
    assert ids(planned(builder, CleanRules(Filter(limit=1), older_than=LATER))) == {ONE}


def test_the_plan_says_why(builder: StoreBuilder) -> None:
    rules = CleanRules(Filter(project="kettle", since=START), larger_than=5, empty=True)
    told = (CleanReason("larger_than", 5), CleanReason("empty"), CleanReason("project", "kettle"))
    assert planned(builder, rules).reasons == (*told, CleanReason("since", format_time(START)))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], True),
        ([b"\n", b"  \n"], True),
        ([{"type": "summary", "summary": "A title"}], True),
        ([{"type": "metadata", "cwd": "/home/ada", "timestamp": "2025-01-23T10:30:00Z"}], True),
        ([{"type": "user", "message": {"content": "Hello"}}], False),
        ([{"type": "user", "message": {"content": "/exit"}}], False),
        ([{"type": "message", "role": "assistant", "content": "Hello!"}], False),
        ([{"type": "assistant", "message": {"content": [{"type": "text", "text": "Hi"}]}}], False),
        ([{"type": "summary", "summary": "A title"}, b'{"type": "user", "mess'], False),
        ([{"type": "summary", "summary": "A title"}, {"type": "from-the-future"}], False),
        ([{"type": "attachment", "attachment": {"type": "queued_command", "prompt": "Do it"}}], False),
        ([{"type": "attachment", "attachment": {"type": "hook_success"}}], True),
        ([{"type": "queue-operation", "operation": "enqueue", "content": "Make tea"}], False),
    ],
)
def test_a_session_is_empty_when_nobody_said_anything(tmp_path: Path, lines: list[object], expected: bool) -> None:
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE)
    for line in lines:
        session.raw(line) if isinstance(line, bytes) else session.line(line)
    session.write(builder.home() / f"{ONE}.jsonl")
    settle(builder.root)
    (found,) = builder.open().sessions()
    assert is_empty_session(found) is expected
    assert ids(planned(builder, CleanRules(empty=True))) == ({ONE} if expected else set())


def test_a_session_with_subagents_is_not_empty(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    builder.agent()
    (builder.home() / f"{ONE}.jsonl").touch()
    settle(builder.root)
    assert ids(planned(builder, CleanRules(empty=True))) == set()


def test_a_session_is_not_empty_where_something_with_bytes_belongs_to_it(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    result = builder.home() / ONE / "tool-results" / "toolu_1.txt"
    result.parent.mkdir(parents=True)
    (builder.home() / f"{ONE}.jsonl").touch()
    result.touch()
    settle(builder.root)
    assert ids(planned(builder, CleanRules(empty=True))) == {ONE}
    result.write_text("much")
    settle(builder.root)
    assert ids(planned(builder, CleanRules(empty=True))) == set()


def test_a_file_without_a_record_is_a_session_only_if_it_is_called_like_one(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    (builder.home()).mkdir()
    (builder.root / "transcripts").mkdir()
    for name in (f"{ONE}.jsonl", "notes.jsonl", "ses_0001.jsonl"):
        (builder.home() / name).touch()
    (builder.home() / "blank.jsonl").write_text("\n\n")
    for name in ("foo.jsonl", "ses_0002.jsonl"):
        (builder.root / "transcripts" / name).touch()
    settle(builder.root)
    assert ids(planned(builder, CleanRules(empty=True))) == {ONE, "ses_0002"}
    assert ids(planned(builder)) == {ONE, "ses_0002"}


def test_memories_are_never_removed(builder: StoreBuilder, archive_dir: ArchiveDir) -> None:
    builder.session("memory", "Remember")
    memory = builder.home() / "memory" / "MEMORY.md"
    memory.parent.mkdir()
    memory.write_text("Tea")
    settle(builder.root)
    (outcome,) = cleaned(builder, archive_dir, CleanRules(Filter(title="Remember")), delete=True)
    assert (outcome.session.id, outcome.reason) == ("memory", None)
    assert memory.read_text() == "Tea"


def test_before_means_the_last_event_and_not_the_first(builder: StoreBuilder) -> None:
    long = SessionBuilder(session_id=ONE).prompt("Start")
    long.line({"type": "user", "timestamp": format_time(LATER), "message": {"content": "Still here"}})
    long.write(builder.home() / f"{ONE}.jsonl")
    settle(builder.root)
    assert ids(planned(builder, CleanRules(Filter(before=LATER)))) == set()
    assert ids(planned(builder, CleanRules(older_than=LATER))) == set()
    after = LATER + timedelta(milliseconds=1)
    assert ids(planned(builder, CleanRules(Filter(before=after)))) == {ONE}
    assert ids(planned(builder, CleanRules(older_than=after))) == {ONE}


def test_a_file_that_holds_no_session_is_left_alone(builder: StoreBuilder) -> None:
    for name, text in (("notes.jsonl", '{"mine": 1}\n'), ("broken.jsonl", "no JSON at all\n")):
        (builder.home() / name).write_text(text)
    settle(builder.root)
    assert ids(planned(builder)) == {ONE, TWO, THREE}


def test_a_session_in_use_is_skipped_and_named(builder: StoreBuilder) -> None:
    os.utime(builder.home() / f"{TWO}.jsonl")
    made = planned(builder)
    assert ids(made) == {ONE, THREE}
    assert [(one.id, one.title, one.reason) for one in made.skipped] == [
        (TWO, "Stop it", "in use: written in the last minute")
    ]


def test_a_session_is_in_use_when_any_of_its_files_is(builder: StoreBuilder) -> None:
    result = builder.home() / TWO / "tool-results" / "new.txt"
    result.parent.mkdir(parents=True)
    result.write_text("just written")
    assert [one.id for one in planned(builder).skipped] == [TWO]


def test_a_session_behind_a_link_out_of_the_store_is_refused(builder: StoreBuilder, tmp_path: Path) -> None:
    outside = StoreBuilder(tmp_path / "elsewhere")
    path = outside.session(cwd="/home/ada/far", id="5d1f0c3a-0001")
    settle(outside.root)
    (builder.root / "projects" / "-home-ada-far").symlink_to(path.parent)
    made = planned(builder)
    assert ids(made) == {ONE, TWO, THREE}
    assert [one.id for one in made.skipped] == ["5d1f0c3a-0001"]
    assert "leads out of the store" in made.skipped[0].reason


def test_subagents_are_never_removed_without_their_session(builder: StoreBuilder) -> None:
    builder.agent("a1", session="gone-session")
    settle(builder.root)
    assert (
        ids(planned(builder, CleanRules(Filter(title="Look around", include_subagents=True, include_orphans=True))))
        == set()
    )


def test_a_session_that_changes_while_the_plan_is_made_is_skipped(builder: StoreBuilder) -> None:
    store = builder.open()
    sessions = store.sessions()
    with (builder.home() / f"{ONE}.jsonl").open("a") as file:
        file.write("\n")
    settle(builder.root)  # so that its time does not tell
    with patch.object(store, "sessions", lambda _: sessions):
        made = plan_clean(store, ALL)
    assert ids(made) == {TWO, THREE}
    assert [one.reason for one in made.skipped] == [
        f"projects/-home-ada-engine/{ONE}.jsonl has changed while the plan was made"
    ]


# --- its application ------------------------------------------------------------------------------


def test_a_plan_changes_nothing(builder: StoreBuilder) -> None:
    before = seen(builder.root)
    planned(builder)
    assert seen(builder.root) == before


@pytest.mark.parametrize("delete", [False, True])
def test_everything_of_a_session_is_removed_and_nothing_else(
    tmp_path: Path, archive_dir: ArchiveDir, delete: bool
) -> None:
    builder = StoreBuilder(tmp_path / "store")
    builder.every_layout()
    (builder.root / "settings.json").write_text("{}")
    builder.json(Path("memories/m1.json"), {"id": "m1", "content": "Tea"})
    builder.json(Path("file-history") / ONE / "backup", {})
    settle(builder.root)
    before = seen(builder.root)
    (outcome,) = cleaned(
        builder, archive_dir, CleanRules(Filter(title="Start the engine", limit=1, sort="size")), delete=delete
    )
    assert (outcome.session.id, outcome.reason) == (ONE, None)
    assert (outcome.archive is None) == delete
    project = builder.home().relative_to(builder.root)
    flat = ("agent-flat0001.jsonl",)
    gone = {path for path in before if path.startswith((f"{project}/{ONE}", *(f"{project}/{name}" for name in flat)))}
    assert seen(builder.root) == {path: what for path, what in before.items() if path not in gone}
    assert len(gone) > 10


def test_a_session_is_in_the_archive_before_it_is_removed(builder: StoreBuilder, archive_dir: ArchiveDir) -> None:
    content = (builder.home() / f"{ONE}.jsonl").read_bytes()
    (outcome,) = cleaned(builder, archive_dir, CleanRules(older_than=LATER))
    assert outcome.archive is not None
    (archived,) = archive_dir.archives()
    assert (archived.path, archived.manifest.id, archived.manifest.size) == (outcome.archive, ONE, len(content))
    assert not (builder.home() / f"{ONE}.jsonl").exists()


def test_a_file_that_grew_since_the_plan_stays(builder: StoreBuilder, archive_dir: ArchiveDir) -> None:
    made = planned(builder)
    path = builder.home() / f"{TWO}.jsonl"
    with path.open("a") as file:
        file.write("\n")
    before = path.read_bytes()
    outcomes = {outcome.session.id: outcome for outcome in clean_sessions(made, archive_dir)}
    assert "has changed since the plan was made" in (outcomes[TWO].reason or "")
    assert path.read_bytes() == before
    assert [path.name for path in builder.root.rglob("*.jsonl")] == [path.name]


def test_a_session_whose_directory_got_a_file_since_the_plan_stays(
    builder: StoreBuilder, archive_dir: ArchiveDir
) -> None:
    (builder.home() / ONE).mkdir()
    made = planned(builder, CleanRules(older_than=LATER))
    (builder.home() / ONE / "new.txt").write_text("new")
    (outcome,) = clean_sessions(made, archive_dir)
    assert "new.txt is new since the plan was made" in (outcome.reason or "")
    assert (builder.home() / f"{ONE}.jsonl").exists()


def test_a_session_that_is_gone_since_the_plan_is_named(builder: StoreBuilder, archive_dir: ArchiveDir) -> None:
    made = planned(builder, CleanRules(older_than=LATER))
    (builder.home() / f"{ONE}.jsonl").unlink()
    (outcome,) = clean_sessions(made, archive_dir)
    assert outcome.reason is not None


def test_links_are_removed_and_not_followed(builder: StoreBuilder, archive_dir: ArchiveDir) -> None:
    folder = builder.home() / ONE
    (folder / "real").mkdir(parents=True)
    (folder / "real" / "file").write_text("content")
    (folder / "link").symlink_to("real")
    settle(builder.root)
    (outcome,) = cleaned(builder, archive_dir, CleanRules(older_than=LATER), delete=True)
    assert outcome.reason is None
    assert not folder.exists()


def test_a_session_with_a_link_to_elsewhere_stays(
    builder: StoreBuilder, archive_dir: ArchiveDir, tmp_path: Path
) -> None:
    (tmp_path / "dear").mkdir()
    (tmp_path / "dear" / "file").write_text("content")
    (builder.home() / ONE).mkdir()
    (builder.home() / ONE / "link").symlink_to(tmp_path / "dear")
    before = seen(tmp_path)
    made = planned(builder, CleanRules(older_than=LATER))
    assert [one.id for one in made.skipped] == [ONE]
    assert list(clean_sessions(made, archive_dir, delete=True)) == []
    assert {path: what for path, what in seen(tmp_path).items() if not path.startswith("archive")} == before


def test_what_was_done_is_logged(builder: StoreBuilder, archive_dir: ArchiveDir) -> None:
    (kept,) = cleaned(builder, archive_dir, CleanRules(older_than=LATER))
    cleaned(builder, archive_dir, CleanRules(Filter(title="Boil")), delete=True)
    lines = [json.loads(line) for line in Path(archive_dir.path, "log.jsonl").read_text().splitlines()]
    assert [(line["action"], line["id"], line["title"]) for line in lines] == [
        ("removed", ONE, "Start the engine"),
        ("deleted", THREE, "Boil water"),
    ]
    assert [line["archive"] for line in lines] == [kept.archive, None]
    assert lines[0]["path"] == str(builder.home() / f"{ONE}.jsonl")


def test_where_the_archive_cannot_be_written_everything_stays(builder: StoreBuilder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    before = seen(builder.root)
    for delete in (False, True):
        with pytest.raises(CannotWrite):
            cleaned(builder, ArchiveDir(tmp_path / "file" / "archive"), delete=delete)
    assert seen(builder.root) == before


def test_many_are_removed_in_order_with_few_looks_at_all_processes(
    builder: StoreBuilder, archive_dir: ArchiveDir
) -> None:
    for number in range(40):
        builder.session(f"5d1f0c3a-{number:04}-4000-8000-000000000000")
    settle(builder.root)
    made = planned(builder)
    with patch.object(clean, "InUse", wraps=InUse) as looks:
        outcomes = list(clean_sessions(made, archive_dir))
    assert [(outcome.session, outcome.reason) for outcome in outcomes] == [(session, None) for session in made.sessions]
    assert looks.call_count == 2
    assert list(builder.root.rglob("*.jsonl")) == []


def test_large_sessions_are_not_all_archived_before_the_first_is_removed(
    builder: StoreBuilder, archive_dir: ArchiveDir
) -> None:
    made = planned(builder)
    with patch.object(clean, "_GROUP_SIZE", 1), patch.object(clean, "InUse", wraps=InUse) as looks:
        assert [outcome.reason for outcome in clean_sessions(made, archive_dir)] == [None] * 3
    assert looks.call_count == 3


def test_what_the_archive_took_before_it_was_full_is_removed_and_told(
    builder: StoreBuilder, archive_dir: ArchiveDir
) -> None:
    made = planned(builder)
    first = archive_session(archive_dir, made.sessions[0])
    outcomes: list[CleanOutcome] = []
    with patch.object(clean, "archive_session", side_effect=[first, CannotWrite("full")]), pytest.raises(CannotWrite):
        outcomes.extend(clean_sessions(made, archive_dir))
    assert outcomes == [CleanOutcome(made.sessions[0], first.path)]
    assert not Path(made.sessions[0].path_of(made.sessions[0].items[0])).exists()
    assert all(Path(session.path_of(session.items[0])).exists() for session in made.sessions[1:])


def test_there_is_nothing_to_finish_after_a_run(builder: StoreBuilder, archive_dir: ArchiveDir) -> None:
    cleaned(builder, archive_dir)
    assert finish_removals(builder.open(), archive_dir) == []
    assert litter(builder.root) == []
