"""Sessions that continue others are found by their events, and little is read for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from claude_session_player.parser import open_session
from claude_session_player.store.store import Store
from claude_session_player.transcript import chains
from claude_session_player.transcript.chains import chain_of, relatives_of
from tests.builder import SessionBuilder
from tests.stores import ONE, THREE, TWO, StoreBuilder


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


def lines(session: str, *names: str, behind: str | None = None, **extra: Any) -> SessionBuilder:
    """A session with an event of each name; a name is a uuid."""
    made = SessionBuilder(session_id=session)
    for number, name in enumerate(names):
        time = f"2026-01-17T20:{ord(name[0]) % 60:02}:{number:02}.000Z"
        made.prompt(f"Prompt {name}", uuid=f"uuid-{name}", parentUuid=behind, timestamp=time, **extra)
        behind = f"uuid-{name}"
    return made


def ids(store: Store, session: str) -> list[str]:
    return [found.id for found in chain_of(store.resolve(session), store)]


def test_a_session_by_itself_is_its_own_chain(builder: StoreBuilder) -> None:
    lines(ONE, "a", "b").write(builder.home() / f"{ONE}.jsonl")
    lines(TWO, "x", "y").write(builder.home() / f"{TWO}.jsonl")
    assert ids(builder.open(), ONE) == [ONE]


def test_a_resumed_session_continues_the_one_whose_events_it_begins_with(builder: StoreBuilder) -> None:
    lines(ONE, "a", "b").write(builder.home() / f"{ONE}.jsonl")
    lines(TWO, "a", "b", "c").write(builder.home() / f"{TWO}.jsonl")
    lines(THREE, "a", "b", "c", "d").write(builder.home() / f"{THREE}.jsonl")
    store = builder.open()
    assert ids(store, ONE) == [ONE]
    assert ids(store, TWO) == [ONE, TWO]
    assert ids(store, THREE) == [ONE, TWO, THREE]
    told = [(near.session.id, near.common, near.is_older) for near in relatives_of(store.resolve(TWO), store)]
    assert told == [(ONE, 2, True), (THREE, 3, False)]


def test_of_two_forks_the_one_that_went_on_first_is_the_older(builder: StoreBuilder) -> None:
    lines(ONE, "a", "b", "c").write(builder.home() / f"{ONE}.jsonl")
    lines(TWO, "a", "b", "d").write(builder.home() / f"{TWO}.jsonl")
    assert ids(builder.open(), ONE) == [ONE]
    assert ids(builder.open(), TWO) == [ONE, TWO]


def test_a_session_whose_first_parent_is_elsewhere_continues_that_one(builder: StoreBuilder) -> None:
    first = lines(ONE, "a").system("turn_duration", uuid="uuid-z", durationMs=5)
    first.write(builder.home() / f"{ONE}.jsonl")
    lines(TWO, "b", behind="uuid-z").write(builder.home() / f"{TWO}.jsonl")
    lines(THREE, "c", behind="uuid-b").write(builder.home() / f"{THREE}.jsonl")
    store = builder.open()
    assert ids(store, THREE) == [ONE, TWO, THREE]
    told = [(near.session.id, near.common, near.is_older) for near in relatives_of(store.resolve(TWO), store)]
    assert told == [(ONE, 0, True), (THREE, 0, False)]


def test_a_fork_names_its_session_even_in_another_project(builder: StoreBuilder) -> None:
    lines(ONE, "a", "b").write(builder.home("/elsewhere") / f"{ONE}.jsonl")
    origin = {"sessionId": ONE, "messageUuid": "uuid-b"}
    lines(TWO, "c", forkedFrom=origin).write(builder.home() / f"{TWO}.jsonl")
    assert ids(builder.open(), TWO) == [ONE, TWO]


def test_the_copy_before_a_compaction_is_part_of_the_chain(builder: StoreBuilder) -> None:
    name = f"{ONE}-2026-01-17T20-00-00"
    lines(ONE, "a").write(builder.root / "pre-compact-session-histories" / f"{name}.jsonl")
    lines(ONE, "a", "b").write(builder.home() / f"{ONE}.jsonl")
    store = builder.open()
    assert [found.id for found in chain_of(store.resolve(ONE), store)] == [name, ONE]
    assert [near.session.id for near in relatives_of(store.resolve(name), store) if not near.is_older] == [ONE]


def test_a_remark_that_several_files_share_makes_no_chain(builder: StoreBuilder) -> None:
    for session, name in ((ONE, "a"), (TWO, "b")):
        made = SessionBuilder(session_id=session).prompt("Caveat: …", uuid="uuid-caveat", isMeta=True)
        made.prompt("Go", uuid=f"uuid-{name}").write(builder.home() / f"{session}.jsonl")
    assert ids(builder.open(), TWO) == [TWO]


def test_a_uuid_in_a_text_makes_no_chain(builder: StoreBuilder) -> None:
    lines(ONE, "a").write(builder.home() / f"{ONE}.jsonl")
    SessionBuilder(session_id=TWO).prompt("What is uuid-a?", uuid="other").write(builder.home() / f"{TWO}.jsonl")
    assert ids(builder.open(), ONE) == [ONE]


def test_sessions_that_name_each_other_end_the_chain(builder: StoreBuilder) -> None:
    lines(ONE, "a", behind="uuid-b").write(builder.home() / f"{ONE}.jsonl")
    lines(TWO, "b", behind="uuid-a").write(builder.home() / f"{TWO}.jsonl")
    assert ids(builder.open(), ONE) == [TWO, ONE]


def test_damaged_lines_and_files_are_passed_over(builder: StoreBuilder) -> None:
    lines(ONE, "a", "b").raw(b"\xff{{{\n").write(builder.home() / f"{ONE}.jsonl")
    lines(TWO, "a", "b", "c").line(7).write(builder.home() / f"{TWO}.jsonl")
    (builder.home() / f"{THREE}.jsonl").write_bytes(b"")
    assert ids(builder.open(), TWO) == [ONE, TWO]


def test_a_file_outside_of_stores_is_looked_for_beside_it(tmp_path: Path) -> None:
    lines(ONE, "a").write(tmp_path / "one.jsonl")
    path = lines(TWO, "a", "b").write(tmp_path / "two.jsonl")
    store = Store.open(tmp_path / "nowhere", cache=None, required=False)
    assert [found.id for found in chain_of(store.at(path), store)] == ["one", "two"]


def test_only_files_of_the_project_are_opened(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    lines(ONE, "a", "b").write(builder.home() / f"{ONE}.jsonl")
    lines(TWO, "a", "b", "c").write(builder.home() / f"{TWO}.jsonl")
    lines(THREE, "a").write(builder.home("/elsewhere") / f"{THREE}.jsonl")
    store = builder.open()
    session = store.resolve(TWO)
    opened: list[str] = []

    def counting(path: str) -> BinaryIO:
        opened.append(Path(path).stem)
        return open_session(path)

    monkeypatch.setattr(chains, "open_session", counting)
    chain_of(session, store)
    assert set(opened) == {ONE, TWO}


def test_a_large_file_is_read_no_further_than_to_the_first_common_event(tmp_path: Path) -> None:
    large = SessionBuilder().prompt("x" * 5_000_000).prompt("y" * 5_000_000)
    path = large.write(tmp_path / "large.jsonl")
    needle = json.loads(large.lines[0])["uuid"].encode()
    read = 0

    class Counting:
        def __init__(self) -> None:
            self.file = path.open("rb")

        def __enter__(self) -> Counting:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def read(self, size: int) -> bytes:
            nonlocal read
            read += size
            return self.file.read(size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chains, "open_session", lambda _: Counting())
        assert chains._holds(str(path), [needle])
    assert 5_000_000 <= read <= 6_500_000
