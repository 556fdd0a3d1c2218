"""The search index: only what is new is read, and whatever happens to it, the answers are the same."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tantivy

from claude_session_player import Store
from claude_session_player.search import SearchIndex, StoreSearch, index as search_index
from tests.builder import SessionBuilder, call, text
from tests.disks import disk
from tests.searches import ALL, bytes_read, open_search, places
from tests.stores import ONE, THREE, TWO, StoreBuilder, touch

MEGABYTE = 1_000_000


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    builder = StoreBuilder(tmp_path / "store")
    builder.session(ONE, "Feed the zebra")
    builder.session(TWO, "Feed the lion", days=1)
    builder.session(THREE, "Wash the zebra", days=2)
    return builder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def _ids(search: StoreSearch, query: str = "zebra") -> set[str]:
    return {group.session.id for group in search.search([query])}


def _folder(cache: Path) -> Path:
    (folder,) = (cache / f"search-{search_index.SEARCH_VERSION}").iterdir()
    return folder


# --- updates --------------------------------------------------------------------------------------


def test_only_appended_bytes_are_read_by_both_indexes_together(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder(session_id=ONE)
    while sum(map(len, session.lines)) < 3 * MEGABYTE:
        session.prompt("Go on").response(call("Bash", f"t{len(session.lines)}", command="ls"))
        session.result(f"t{len(session.lines) - 1}", "some output\n" * 500)
    path = session.write(builder.home() / f"{ONE}.jsonl")
    open_search(builder.root, cache)
    before = path.stat().st_size
    while path.stat().st_size < before + MEGABYTE:
        session.prompt("A giraffe").result("t", "more output\n" * 2_000)
        session.write(path)
    grown = path.stat().st_size - before

    with bytes_read() as read:
        search = open_search(builder.root, cache)
    assert _ids(search, "giraffe") == {ONE}
    assert grown <= sum(read) <= 1.1 * grown


def test_nothing_is_read_if_nothing_has_changed(builder: StoreBuilder, cache: Path) -> None:
    open_search(builder.root, cache)

    with bytes_read() as read:
        assert _ids(open_search(builder.root, cache)) == {ONE, THREE}
    assert sum(read) == 0


def test_lines_that_were_appended_are_found_once(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Feed the zebra")
    path = session.write(builder.home() / f"{ONE}.jsonl")
    open_search(builder.root, cache)
    data = session.response(call("Bash", "t1", command="feed --zebra")).result("t1", "zebra is fed").data()
    for end in range(path.stat().st_size, len(data) + 1, 97):  # also in the middle of a line
        path.write_bytes(data[:end])
        open_search(builder.root, cache)
    path.write_bytes(data)
    search = open_search(builder.root, cache)

    found = {(hit.line, hit.source) for group in search.search([f"zebra session:{ONE}"], ALL) for hit in group}
    assert found == {(1, "prompt"), (2, "Bash"), (3, "Bash")}
    assert search.search([f"zebra session:{ONE}"], ALL).total == 3


def test_files_that_shrank_or_changed_are_read_again(builder: StoreBuilder, cache: Path) -> None:
    open_search(builder.root, cache)
    path = builder.session(ONE, "A bird")
    touch(path)
    changed = builder.session(TWO, "Feed a zebra!", days=1)
    touch(changed)

    search = open_search(builder.root, cache)
    assert _ids(search) == {TWO, THREE}
    assert _ids(search, "lion") == set()
    assert _ids(search, "bird") == {ONE}


def _append(path: Path, session: SessionBuilder, words: str) -> None:
    session.prompt(words)
    with path.open("ab") as file:
        file.write(session.lines[-1])


def test_what_a_search_read_does_not_stand_for_later_bytes(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder(session_id=ONE).prompt("one")
    path = session.write(builder.home() / f"{ONE}.jsonl")
    store = Store.open(builder.root, cache=str(cache))
    search = StoreSearch(store, cache=str(cache))
    search.refresh()
    for words in ("two", "three"):
        _append(path, session, words)
        store.sessions()
        search.refresh()
    _append(path, session, "four")

    (found,) = [one for one in store.sessions() if one.id == ONE]
    assert (found.conversation.events, found.conversation.last_prompt) == (4, "four")


@pytest.mark.parametrize("appended", [b"", b'{"type":"user","message":{"content":"more"}}\n'])
def test_a_word_changed_in_the_middle_of_a_large_file_is_noticed(
    builder: StoreBuilder, cache: Path, appended: bytes
) -> None:
    session = SessionBuilder(session_id=ONE)
    for number in range(600):
        session.prompt(f"prompt {number} " + "words and more words " * 10)
    path = session.write(builder.home() / f"{ONE}.jsonl")
    open_search(builder.root, cache)
    changed = path.read_bytes().replace(b"prompt 301 ", b"secret 301 ") + appended
    other = path.with_suffix(".new")
    other.write_bytes(changed)
    other.replace(path)
    touch(path)
    search = open_search(builder.root, cache)

    assert len(changed) > 100_000
    assert _ids(search, "secret") == {ONE}
    assert not search.search(['"prompt 301"'], ALL).total


def test_a_response_that_goes_on_after_repeated_prompts_is_no_copy(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder(session_id=ONE)
    for number in range(3):
        session.prompt("continue").block(text(f"part {number}"), request="r1")
    session.write(builder.home() / f"{ONE}.jsonl")
    search = open_search(builder.root, cache)

    assert search.search(["continue"], ALL).total == 3


def test_a_command_that_was_recorded_twice_is_found_once(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder(session_id=ONE).prompt("/compact", promptId="p1").compaction()
    session.write(builder.home() / f"{ONE}.jsonl")
    open_search(builder.root, cache)
    session.prompt("<command-name>/compact</command-name>", promptId="p1").write(builder.home() / f"{ONE}.jsonl")
    search = open_search(builder.root, cache)

    assert [hit.line for group in search.search(["in:prompt compact"], ALL) for hit in group] == [1]


def test_a_long_conversation_that_was_written_again_is_found_once(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder(session_id=ONE)
    for number in range(30):
        session.prompt(f"zebra {number} " + "and so on " * 2_000).response(text(f"answer {number}"))
    for number, line in enumerate(tuple(session.lines)):
        session.line(json.loads(line) | {"uuid": f"again-{number}", "timestamp": "2026-02-01T00:00:00Z"})
    session.write(builder.home() / f"{ONE}.jsonl")
    search = open_search(builder.root, cache)

    assert search.search([f"zebra session:{ONE}"], ALL).total == 30


def test_a_search_during_a_refresh_sees_the_store_before_it(builder: StoreBuilder, cache: Path) -> None:
    search = open_search(builder.root, cache)
    builder.session("99999999-0004-4000-8000-000000000004", "Another zebra", days=3)
    seen = []
    search._progress = lambda done, total: seen.append(_ids(search))
    search.refresh()

    assert seen == [{ONE, THREE}]
    assert len(_ids(search)) == 3


def test_files_that_vanished_are_forgotten(builder: StoreBuilder, cache: Path) -> None:
    open_search(builder.root, cache)
    (builder.home() / f"{ONE}.jsonl").unlink()

    assert _ids(open_search(builder.root, cache)) == {THREE}
    assert _ids(open_search(builder.root, cache, updates=False)) == {THREE}


def test_files_in_a_directory_that_cannot_be_read_are_not_forgotten(builder: StoreBuilder, cache: Path) -> None:
    open_search(builder.root, cache)
    hidden = builder.home().rename(builder.root / "elsewhere")
    builder.home().write_text("not a directory")
    open_search(builder.root, cache)
    builder.home().unlink()
    hidden.rename(builder.home())

    assert _ids(open_search(builder.root, cache)) == {ONE, THREE}


def test_without_an_update_only_what_is_indexed_is_found(builder: StoreBuilder, cache: Path) -> None:
    open_search(builder.root, cache)
    builder.session("99999999-0004-4000-8000-000000000004", "Another zebra", days=3)

    assert _ids(open_search(builder.root, cache, updates=False)) == {ONE, THREE}
    assert len(_ids(open_search(builder.root, cache))) == 3


def test_an_interruption_keeps_what_is_done(builder: StoreBuilder, cache: Path) -> None:
    store = Store.open(builder.root, cache=str(cache))
    index = SearchIndex(store.roots[0], str(cache))

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.update(store.files(), progress=interrupt)

    coverage = SearchIndex(store.roots[0], str(cache)).coverage(store.files())
    assert (len(coverage.current), len(coverage.missing)) == (1, 2)
    assert _ids(open_search(builder.root, cache)) == {ONE, THREE}


# --- damage ---------------------------------------------------------------------------------------


def _damage(path: Path, data: bytes | bytearray) -> None:
    """Put other bytes in the place of a file. What still has the old one in memory goes on with it.

    Writing into it would end this process by a signal: threads of tantivy may not be done with what is mapped.
    """
    other = path.with_name(f".{path.name}")
    other.write_bytes(data)
    other.replace(path)


def _damages() -> Iterator[str]:
    yield from ("deleted", "emptied", "documents deleted", "list deleted", "list damaged", "documents damaged")
    yield from ("meta damaged", "a file instead", "read-only")


@pytest.mark.parametrize("damage", list(_damages()))
def test_answers_are_the_same_whatever_happened_to_the_index(builder: StoreBuilder, cache: Path, damage: str) -> None:
    expected = places(open_search(builder.root, cache).search(["zebra OR feed"], ALL))
    folder = _folder(cache)
    match damage:
        case "deleted":
            shutil.rmtree(folder)
        case "emptied":
            for path in [path for path in folder.rglob("*") if path.is_file()]:
                _damage(path, b"")
        case "documents deleted":
            shutil.rmtree(folder / "documents")
        case "list deleted":
            (folder / "files.sqlite").unlink()
        case "list damaged":
            (folder / "files.sqlite").write_bytes(random.Random(1).randbytes(8192))
        case "documents damaged":
            for path in (folder / "documents").glob("*.*"):
                if path.suffix not in (".json", ".lock"):
                    _damage(path, random.Random(2).randbytes(path.stat().st_size))
        case "meta damaged":
            (folder / "documents" / "meta.json").write_text("{")
        case "a file instead":
            shutil.rmtree(folder)
            folder.write_text("a file")
        case "read-only":
            folder.chmod(0o500)
    try:
        for _ in range(2):
            search = open_search(builder.root, cache)
            assert places(search.search(["zebra OR feed"], ALL)) == expected
    finally:
        if folder.is_dir():
            folder.chmod(0o700)


def test_documents_with_random_damage_never_change_answers(builder: StoreBuilder, cache: Path) -> None:
    expected = places(open_search(builder.root, cache).search(["zebra OR feed"], ALL))
    chance = random.Random(3)
    for _ in range(20):
        paths = sorted(path for path in _folder(cache).rglob("*") if path.is_file() and path.stat().st_size)
        path = chance.choice(paths)
        data = bytearray(path.read_bytes())
        for _ in range(chance.randint(1, 20)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        _damage(path, data[: chance.randint(1, len(data))] if chance.random() < 0.3 else data)
        assert places(open_search(builder.root, cache).search(["zebra OR feed"], ALL)) == expected


def test_damage_that_leaves_no_trace_ends_no_search(builder: StoreBuilder, cache: Path) -> None:
    chance = random.Random(5)
    for number in range(12):
        shutil.rmtree(cache, ignore_errors=True)
        open_search(builder.root, cache)
        path = sorted(path for path in (_folder(cache) / "documents").iterdir() if path.suffix and path.stat().st_size)[
            number % 6
        ]
        status, data = path.stat(), bytearray(path.read_bytes())
        for _ in range(10):
            data[chance.randrange(len(data))] ^= 0xFF
        _damage(path, data)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        search = open_search(builder.root, cache)
        for group in search.search(["zebra OR feed"], ALL):
            assert group.best()


def test_a_damaged_list_of_files_heals(builder: StoreBuilder, cache: Path) -> None:
    open_search(builder.root, cache)
    path = _folder(cache) / "files.sqlite"
    data = path.read_bytes()
    _damage(path, data[:4096] + random.Random(6).randbytes(len(data) - 4096))
    for _ in range(3):
        search = open_search(builder.root, cache)
        assert _ids(search) == {ONE, THREE}

    assert search.search(["zebra"]).report.read == 0


def test_indexes_of_earlier_versions_are_deleted(builder: StoreBuilder, cache: Path) -> None:
    old = cache / "search-1" / "abc"
    old.mkdir(parents=True)
    open_search(builder.root, cache)

    assert not old.exists()


def test_a_locked_index_is_not_needed(builder: StoreBuilder, cache: Path) -> None:
    open_search(builder.root, cache)
    builder.session(ONE, "No more zoo")
    builder.session("99999999-0004-4000-8000-000000000004", "Another zebra", days=3)
    writer = tantivy.Index.open(str(_folder(cache) / "documents")).writer(15_000_000, 1)

    search = open_search(builder.root, cache)
    report = search.search(["zebra"]).report
    assert len(_ids(search)) == 2
    assert (report.read, report.reason) == (2, "another process is updating the index")
    del writer
    assert open_search(builder.root, cache).search(["zebra"]).report.read == 0


def test_several_processes_may_update_at_once(builder: StoreBuilder, cache: Path) -> None:
    for number in range(30):
        builder.session(f"99999999-{number:04}-4000-8000-000000000004", f"Zebra {number}", days=number)
    code = (
        "import sys; from pathlib import Path; from tests.searches import *;"
        "search = open_search(Path(sys.argv[1]), Path(sys.argv[2]));"
        "print(len(search.search(['zebra'], ALL)))"
    )
    command = [sys.executable, "-c", code, str(builder.root), str(cache)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]

    assert [process.communicate()[0].strip() for process in processes] == ["32"] * 4
    search = open_search(builder.root, cache)
    assert search.search(["zebra"], ALL).total == 32


def test_a_full_disk_is_named_and_the_answer_still_comes(builder: StoreBuilder, tmp_path: Path) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Feed the zebra")
    chance = random.Random(4)
    for number in range(60):
        words = " ".join(f"{chance.getrandbits(60):x}" for _ in range(4_000))
        session.response(call("Bash", f"t{number}", command="ls")).result(f"t{number}", words)
    session.write(builder.home() / f"{ONE}.jsonl")
    with disk(tmp_path / "disk", "1m") as small:
        search = open_search(builder.root, small / "cache")
        report = search.search(["zebra"]).report

        assert _ids(search) == {ONE, THREE}
        assert report.reason == "the disk is full"
        assert report.read == 3


# --- who may read it --------------------------------------------------------------------------------


def test_the_index_is_private(builder: StoreBuilder, cache: Path) -> None:
    open_search(builder.root, cache)

    folder = _folder(cache)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "documents")} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()} == {0o600}


@pytest.mark.skipif(os.name != "posix", reason="permissions of other users are a matter of Unix")
def test_an_index_that_others_can_write_to_is_not_used(builder: StoreBuilder, cache: Path) -> None:
    open_search(builder.root, cache)
    _folder(cache).chmod(0o777)
    search = open_search(builder.root, cache)

    assert _ids(search) == {ONE, THREE}
    assert "other users may write to" in search.search(["zebra"]).report.reason


def test_nothing_is_written_without_a_cache(builder: StoreBuilder, cache: Path) -> None:
    search = StoreSearch(Store.open(builder.root, cache=None), cache=str(cache))
    search.refresh()

    assert _ids(search) == {ONE, THREE}
    assert not cache.exists()


# --- its status -------------------------------------------------------------------------------------


def test_status_tells_size_documents_and_time(builder: StoreBuilder, cache: Path) -> None:
    store = Store.open(builder.root, cache=str(cache))
    index = SearchIndex(store.roots[0], str(cache))
    assert index.status() is None

    index.update(store.files())
    status = index.status()
    assert status is not None
    assert (status.files, status.documents, status.root) == (3, 6, str(builder.root))
    assert status.size > 1000
    assert status.updated_at is not None
    assert index.drop()
    assert index.status() is None
    assert not index.drop()


def test_numbers_of_files_are_never_given_twice(builder: StoreBuilder, cache: Path) -> None:
    path = builder.home() / f"{ONE}.jsonl"
    open_search(builder.root, cache)
    moved = path.rename(path.with_name("77777777-0001-4000-8000-000000000001.jsonl"))
    search = open_search(builder.root, cache)

    assert _ids(search) == {moved.stem, THREE}
