"""Snapshots of a store: at once what the index knows, then more and more until all is known."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from claude_session_player import Filter
from claude_session_player.store.store import StoreSnapshot
from tests.builder import SessionBuilder, text
from tests.stores import ONE, THREE, TWO, StoreBuilder, settle

_watched: list[list[str]] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watched and str(arguments[0]).endswith(".jsonl") and not arguments[2] & os.O_NONBLOCK:
        _watched[-1].append(str(arguments[0]))  # with O_NONBLOCK, a file is only asked for its lock


sys.addaudithook(_note)


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """The session files that are opened meanwhile to be read, by whatever function."""
    _watched.append([])
    try:
        yield _watched[-1]
    finally:
        _watched.pop()


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    builder = StoreBuilder(tmp_path / "store")
    builder.session(ONE)
    builder.session(TWO, "Oil the wheels", days=1)
    return builder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def titles(look: StoreSnapshot) -> list[str | None]:
    return [session.title for session in look.sessions]


def test_the_first_look_opens_no_session_file(builder: StoreBuilder, cache: Path) -> None:
    builder.open(cache).sessions()
    with opened_files() as opened:
        look = next(builder.open(cache).snapshots())
        assert titles(look) == ["Oil the wheels", "Start the engine"]
    assert (look.waiting, opened) == (0, [])


def test_what_is_known_already_is_told_once(builder: StoreBuilder, cache: Path) -> None:
    builder.open(cache).sessions()
    assert len(list(builder.open(cache).snapshots(seconds=0))) == 1


def test_a_store_that_nobody_knows_arrives_file_by_file(builder: StoreBuilder, cache: Path) -> None:
    looks = list(builder.open(cache).snapshots(seconds=0))
    assert [(len(look.sessions), look.waiting) for look in looks] == [(0, 2), (1, 1), (2, 0)]


def test_portions_are_as_rare_as_somebody_wants_them(builder: StoreBuilder, cache: Path) -> None:
    assert [look.waiting for look in builder.open(cache).snapshots(seconds=1000)] == [2, 0]


def test_a_session_that_changed_is_shown_as_it_was_until_it_is_read(builder: StoreBuilder, cache: Path) -> None:
    builder.open(cache).sessions()
    builder.session(ONE, "Stop the engine", days=2)
    before, after = builder.open(cache).snapshots()
    assert [(s.title, s.is_stale) for s in before.sessions] == [("Oil the wheels", False), ("Start the engine", True)]
    assert [(s.title, s.is_stale) for s in after.sessions] == [("Stop the engine", False), ("Oil the wheels", False)]


def test_the_last_look_tells_what_the_list_tells(builder: StoreBuilder, cache: Path) -> None:
    builder.every_layout()
    settle(builder.root)
    wanted = Filter(include_subagents=True, sort="size")
    *_, look = builder.open(cache).snapshots(wanted, seconds=0)
    assert [session.json for session in look.sessions] == [s.json for s in builder.open().sessions(wanted)]


def test_what_was_read_while_somebody_looked_on_is_remembered(builder: StoreBuilder, cache: Path) -> None:
    list(builder.open(cache).snapshots())
    with opened_files() as opened:
        assert len(next(builder.open(cache).snapshots()).sessions) == 2
    assert opened == []


def test_a_session_that_is_no_more_is_not_shown(builder: StoreBuilder, cache: Path) -> None:
    path = builder.session(THREE)
    builder.open(cache).sessions()
    path.unlink()
    assert THREE not in {session.id for session in next(builder.open(cache).snapshots()).sessions}


def test_a_session_that_vanishes_while_it_is_to_be_read_is_taken_away(builder: StoreBuilder, cache: Path) -> None:
    builder.open(cache).sessions()
    path = SessionBuilder(session_id=ONE).prompt("Anew").response(text("Yes.")).write(builder.home() / f"{ONE}.jsonl")
    store = builder.open(cache)
    looks = store.snapshots()
    assert len(next(looks).sessions) == 2
    path.unlink()
    assert [session.id for session in next(looks).sessions] == [TWO]
    assert [trouble.path for trouble in store.problems] == [str(path)]


def test_a_store_that_was_closed_answers_again(builder: StoreBuilder, cache: Path) -> None:
    store = builder.open(cache)
    list(store.snapshots())
    store.close()
    assert len(store.sessions()) == 2
