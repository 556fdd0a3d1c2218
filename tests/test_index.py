"""The index saves work and changes no result, whatever happens to it."""

from __future__ import annotations

import io
import os
import pickle
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings, strategies as st

from claude_session_player import Filter, Store
from claude_session_player.store import extract, facts, index
from claude_session_player.store.facts import ExtractJob
from claude_session_player.store.layout import session_file_at
from claude_session_player.util import workers
from tests.builder import SessionBuilder, text
from tests.stores import ONE, TWO, StoreBuilder, touch

EVERYTHING = Filter(include_subagents=True)


class CountingFile(io.FileIO):
    """Counts what is read of session files."""

    bytes_read = 0
    opened: ClassVar[list[str]] = []

    def __init__(self, path: str) -> None:
        super().__init__(path)
        CountingFile.opened.append(path)

    def readinto(self, buffer: Any) -> int:
        """Read, and count."""
        count = super().readinto(buffer)
        CountingFile.bytes_read += count
        return count

    def read(self, size: int | None = -1) -> bytes:
        """Read, and count."""
        data = super().read(size)
        CountingFile.bytes_read += len(data)
        return data


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> type[CountingFile]:
    monkeypatch.setattr(extract, "_open", CountingFile)
    CountingFile.bytes_read, CountingFile.opened = 0, []
    return CountingFile


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    builder = StoreBuilder(tmp_path / "store")
    builder.every_layout()
    return builder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def file_of(cache: Path) -> Path:
    """The database of the index."""
    return cache / f"index-{index.INDEX_VERSION}.sqlite"


def records_of(builder: StoreBuilder, cache: Path | None = None) -> list[str]:
    """The records of all sessions."""
    return [session.json for session in builder.open(cache).sessions(EVERYTHING)]


# --- what is saved ----------------------------------------------------------------------------------


def test_a_known_file_is_not_opened_again(builder: StoreBuilder, cache: Path, counter: type[CountingFile]) -> None:
    first = records_of(builder, cache)
    assert len(counter.opened) == 7
    counter.opened.clear()
    assert records_of(builder, cache) == first == records_of(builder)
    assert len(counter.opened) == 7  # those of the run without an index


def test_of_a_session_that_grew_only_the_new_bytes_are_read(
    tmp_path: Path, cache: Path, counter: type[CountingFile]
) -> None:
    builder = StoreBuilder(tmp_path / "store")
    path = builder.session(ONE)
    session = SessionBuilder(session_id=ONE)
    for number in range(600):
        session.prompt(f"Prompt {number}").response(text("x" * 5000))
    path.write_bytes(session.data())
    builder.session(TWO)
    records_of(builder, cache)
    counter.bytes_read = 0
    before = len(session.lines)
    while sum(map(len, session.lines[before:])) < 1_000_000:
        session.prompt("More").response(text("y" * 9000))
    new = b"".join(session.lines[before:])
    with path.open("ab") as file:
        file.write(new)
    grown = records_of(builder, cache)
    assert len(new) <= counter.bytes_read <= 1_100_000
    assert grown == records_of(builder)


def test_a_description_that_changed_is_read_and_nothing_else(
    builder: StoreBuilder, cache: Path, counter: type[CountingFile]
) -> None:
    records_of(builder, cache)
    agent = builder.home() / ONE / "subagents" / "agent-nest0001.jsonl"
    counter.bytes_read = 0
    builder.meta(agent, agentType="Gardener")
    assert builder.open(cache).resolve("nest0001").summary.agent == "Gardener"
    assert counter.bytes_read <= 2 * agent.stat().st_size  # its checksum, before and after


def test_to_find_one_session_no_other_is_read(builder: StoreBuilder, cache: Path, counter: type[CountingFile]) -> None:
    builder.session("zzzz0000", cwd="/home/ada/other")
    builder.open(cache).resolve("zzzz0000")
    assert [os.path.basename(path) for path in counter.opened] == ["zzzz0000.jsonl"]


def test_what_cannot_be_read_is_named_every_time(builder: StoreBuilder, cache: Path) -> None:
    (builder.home() / ONE / "subagents" / "agent-nest0001.meta.json").write_text("{no json")
    for _ in range(2):
        store = builder.open(cache)
        store.sessions()
        assert [problem.reason for problem in store.problems] == ["not JSON"]


# --- what is noticed --------------------------------------------------------------------------------


def test_a_half_written_line_counts_and_is_read_again_when_it_is_whole(tmp_path: Path, cache: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    path = builder.session(ONE)
    session = SessionBuilder(session_id=ONE).prompt("One").prompt("Two").prompt("Three")
    data = session.data()
    for size in range(0, len(data) + 1, 37):
        path.write_bytes(data[:size])
        touch(path, size)
        assert records_of(builder, cache) == records_of(builder)
        with path.open("ab") as file:
            file.write(data[size : size + 11])
        touch(path, size + 1)
        assert records_of(builder, cache) == records_of(builder)


def test_a_file_that_shrank_was_rewritten_or_replaced_is_read_anew(tmp_path: Path, cache: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    path = builder.session(ONE, "First words")
    records_of(builder, cache)
    for prompt in ("Shorter", "Longer words than there were before", "Other words than there were bef0re"):
        builder.session(ONE, prompt)
        touch(path, len(prompt))
        assert f'"title":"{prompt}"' in records_of(builder, cache)[0]
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes().replace(b"Other", b"Brand") + path.read_bytes())
    other.replace(path)
    assert '"title":"Brand' in records_of(builder, cache)[0]


def test_a_file_that_is_gone_is_forgotten(builder: StoreBuilder, cache: Path) -> None:
    records_of(builder, cache)
    (builder.home() / f"{TWO}.jsonl").unlink()
    assert records_of(builder, cache) == records_of(builder)
    with sqlite3.connect(file_of(cache)) as connection:
        paths = [os.fsdecode(path) for (path,) in connection.execute("SELECT path FROM files")]
    assert len(paths) == 6
    assert not any(TWO in path for path in paths)


def test_a_problem_elsewhere_keeps_no_file_that_is_gone(builder: StoreBuilder, cache: Path) -> None:
    records_of(builder, cache)
    (builder.root / "projects" / "lost").symlink_to("nowhere")
    (builder.home() / f"{TWO}.jsonl").unlink()
    records_of(builder, cache)
    with sqlite3.connect(file_of(cache)) as connection:
        assert connection.execute("SELECT count(*) FROM files").fetchone() == (6,)


def test_what_was_read_before_an_interruption_is_kept(
    builder: StoreBuilder, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_SAVE_SECONDS", 0)

    def interrupt(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store.open(builder.root, cache=str(cache), progress=interrupt).sessions()
    with sqlite3.connect(file_of(cache)) as connection:
        assert connection.execute("SELECT count(*) FROM files").fetchone()[0] > 0


def test_a_file_that_cannot_be_extracted_hides_no_other(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OverflowError("too much")

    monkeypatch.setattr(extract.FileExtractor, "_add_inline", fail)
    store = builder.open()
    assert len(store.sessions(EVERYTHING)) == 6
    assert [problem.reason for problem in store.problems] == ["OverflowError: too much"]


# --- what may happen to it --------------------------------------------------------------------------


def other_version(cache: Path) -> None:
    with sqlite3.connect(cache) as connection:
        connection.execute("PRAGMA user_version = 999")


def another_schema(cache: Path) -> None:
    with sqlite3.connect(cache) as connection:
        connection.execute("ALTER TABLE files RENAME COLUMN facts TO fiction")


def other_types(cache: Path) -> None:
    with sqlite3.connect(cache) as connection:
        connection.execute("UPDATE files SET facts = 7, record = x'00', ended = 1.5")
        connection.execute("UPDATE states SET state = 'text'")


def wrong_facts(cache: Path) -> None:
    with sqlite3.connect(cache) as connection:
        connection.execute("UPDATE files SET record = replace(record, 'claude', 'clawed')")


MISHAPS = {
    "deleted": lambda cache: cache.unlink(),
    "emptied": lambda cache: cache.write_bytes(b""),
    "garbage": lambda cache: cache.write_bytes(b"garbage" * 1000),
    "cut": lambda cache: cache.write_bytes(cache.read_bytes()[:5000]),
    "other version": other_version,
    "other schema": another_schema,
    "other types": other_types,
    "wrong facts": wrong_facts,
}


@pytest.mark.parametrize("mishap", MISHAPS)
def test_results_are_the_same_whatever_happens_to_the_index(builder: StoreBuilder, cache: Path, mishap: str) -> None:
    expected = records_of(builder, cache)
    MISHAPS[mishap](file_of(cache))
    assert records_of(builder, cache) == expected
    assert records_of(builder, cache) == expected


def test_an_index_that_cannot_be_created_is_not_needed(builder: StoreBuilder, tmp_path: Path) -> None:
    expected = records_of(builder)
    (tmp_path / "file").write_text("")
    assert records_of(builder, tmp_path / "file") == expected
    file_of(tmp_path / "folder").mkdir(parents=True)
    assert records_of(builder, tmp_path / "folder") == expected


def test_an_index_that_another_process_has_locked_is_not_needed(
    builder: StoreBuilder, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = records_of(builder, cache)
    monkeypatch.setattr(index, "_WAIT_SECONDS", 0)
    tries: list[str] = []
    connect = sqlite3.connect

    def counted(path: str, **options: Any) -> Any:
        tries.append(path)
        return connect(path, **options)

    monkeypatch.setattr(sqlite3, "connect", counted)
    inode = file_of(cache).stat().st_ino
    holder = sqlite3.connect(file_of(cache), isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    tries.clear()
    assert records_of(builder, cache) == expected
    assert len(tries) == 1  # each try waits
    holder.execute("ROLLBACK")
    assert holder.execute("SELECT count(*) FROM files").fetchone() == (7,)
    holder.close()
    assert file_of(cache).stat().st_ino == inode
    assert records_of(builder, cache) == expected


def test_several_processes_may_write_it_at_once(builder: StoreBuilder, cache: Path) -> None:
    code = (
        "import sys; from claude_session_player import Filter, Store\n"
        "for _ in range(5):\n"
        "    store = Store.open(sys.argv[1], cache=sys.argv[2])\n"
        "    print([session.json for session in store.sessions(Filter(include_subagents=True))])"
    )
    command = [sys.executable, "-c", code, str(builder.root), str(cache)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = {line for process in processes for line in process.communicate()[0].splitlines()}
    assert outputs == {str(records_of(builder))}
    assert all(process.returncode == 0 for process in processes)


def test_any_thread_may_ask_a_session_that_another_one_found(
    builder: StoreBuilder, cache: Path, counter: type[CountingFile]
) -> None:
    records_of(builder, cache)
    before = file_of(cache).read_bytes()
    store = builder.open(cache)
    sessions = store.sessions(EVERYTHING)
    counter.opened.clear()
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda session: session.responses, sessions))
        threads.submit(store.close).result()
    assert counter.opened == []
    assert file_of(cache).read_bytes() == before
    assert answers == [session.responses for session in builder.open().sessions(EVERYTHING)]


def test_a_mistake_in_a_question_is_not_taken_for_damage(builder: StoreBuilder, cache: Path) -> None:
    records_of(builder, cache)
    before = file_of(cache).read_bytes()
    known = index.IndexDatabase(str(cache))
    assert known._read("SELECT path FROM files WHERE path = ?", []) == []
    assert not known.is_kept
    assert file_of(cache).read_bytes() == before


def test_other_users_may_not_read_the_index(builder: StoreBuilder, cache: Path) -> None:
    records_of(builder, cache)
    assert stat.S_IMODE(file_of(cache).stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


@settings(max_examples=40)
@given(place=st.integers(min_value=0), byte=st.integers(min_value=0, max_value=255))
def test_a_flipped_byte_changes_nothing(
    damaged_store: tuple[StoreBuilder, bytes, Path, list[str]], place: int, byte: int
) -> None:
    builder, sound, cache, expected = damaged_store
    damaged = bytearray(sound)
    damaged[place % len(damaged)] = byte
    file_of(cache).write_bytes(bytes(damaged))
    assert records_of(builder, cache) == expected


@pytest.fixture(scope="module")
def damaged_store(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[StoreBuilder, bytes, Path, list[str]]:
    folder = tmp_path_factory.mktemp("damaged")
    builder = StoreBuilder(folder / "store")
    builder.every_layout()
    for path in builder.root.rglob("*.jsonl"):  # nothing is in use, whenever this runs
        os.utime(path, (0, 0))
    expected = records_of(builder, folder)
    return builder, file_of(folder).read_bytes(), folder, expected


# --- in several processes ---------------------------------------------------------------------------


def test_what_other_processes_read_is_what_this_one_reads(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = records_of(builder)
    monkeypatch.setattr(workers, "PARALLEL_BYTES", 0)
    monkeypatch.setattr(workers, "_PORTION_BYTES", 1)
    monkeypatch.setattr(workers, "_cores", lambda: 3)
    monkeypatch.setattr(workers, "_run_here", lambda *_: pytest.fail("no worker did the job"))
    assert records_of(builder) == expected


def test_facts_from_another_process_come_without_decoded_details(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = ExtractJob(session_file_at(str(builder.session())))
    sent = extract.extract_file(job).facts
    assert sent is not None
    with monkeypatch.context() as patch:
        patch.setattr(facts, "_decode_details", lambda _: pytest.fail("details were decoded"))
        received = pickle.loads(pickle.dumps(sent))
    assert (received, received.responses, received.state) == (sent, sent.responses, sent.state)
    assert received.conversation == sent.conversation


def test_what_a_process_leaves_behind_is_read_here(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = records_of(builder)
    monkeypatch.setattr(workers, "PARALLEL_BYTES", 0)
    monkeypatch.setattr(workers, "_cores", lambda: 2)
    monkeypatch.setattr(workers, "_WORKER", "no_such_module")
    assert records_of(builder) == expected
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert records_of(builder) == expected


def test_a_file_that_vanishes_or_grows_while_it_is_read_costs_nothing_else(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = str(builder.home() / f"{TWO}.jsonl")

    class Vanishing(io.FileIO):
        def __init__(self, path: str) -> None:
            if path == victim and os.path.exists(victim):
                os.unlink(victim)
            elif path.endswith(f"{ONE}.jsonl"):
                with open(path, "ab") as file:
                    file.write(SessionBuilder().prompt("Meanwhile").data())
            super().__init__(path)

    monkeypatch.setattr(extract, "_open", Vanishing)
    store = builder.open()
    assert len(store.sessions(EVERYTHING)) == 6
    assert [(problem.path, problem.reason) for problem in store.problems] == [(victim, "No such file or directory")]
