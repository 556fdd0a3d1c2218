"""A session is taken out of a store in one step, and nothing is lost on the way."""

from __future__ import annotations

import json
import os
from pathlib import Path
from unittest.mock import patch

import pytest

from claude_session_player.care import removal
from claude_session_player.care.bundles import Bundle, Refused
from claude_session_player.care.leftovers import Finished, finish
from claude_session_player.care.removal import Note, claimed, remove
from tests.archives import litter, seen
from tests.bins import bundle, interrupted
from tests.stores import ONE, TWO, StoreBuilder, settle


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    """A store with one of everything."""
    builder = StoreBuilder(tmp_path / "store")
    builder.every_layout()
    settle(builder.root)
    return builder


def finished(builder: StoreBuilder) -> list[Finished]:
    return list(finish([str(builder.root)], lambda _: None))


def fine(_: Bundle) -> None:
    """Nothing speaks against a removal."""


def test_a_removal_leaves_nothing_behind_and_is_logged_once(builder: StoreBuilder) -> None:
    notes: list[Note] = []
    found = bundle(builder, ONE)
    remove(found, "/archive/1.tar.zst", fine, notes.append)
    assert [(note.id, note.archive, note.size) for note in notes] == [(ONE, "/archive/1.tar.zst", found.size)]
    assert notes[0].path == str(builder.home() / f"{ONE}.jsonl")
    assert not any(os.path.lexists(found.place(item)) for item in found.items)
    assert (litter(builder.root), finished(builder)) == ([], [])


def test_what_speaks_against_it_is_asked_when_nobody_can_find_the_session_any_more(builder: StoreBuilder) -> None:
    before = seen(builder.root)

    def object_to(moved: Bundle) -> str:
        assert not (builder.home() / f"{ONE}.jsonl").exists()
        assert all(os.path.exists(moved.place(item)) for item in moved.items)
        return "in use"

    with pytest.raises(Refused, match="in use"):
        remove(bundle(builder, ONE), None, object_to, lambda _: None)
    assert seen(builder.root) == before


def test_a_session_that_somebody_still_writes_to_is_put_back_with_what_was_written(builder: StoreBuilder) -> None:
    path = builder.home() / f"{ONE}.jsonl"
    found = bundle(builder, ONE)
    with path.open("ab") as writer:
        writer.write(b"more\n")
        writer.flush()
        before = seen(builder.root)
        with pytest.raises(Refused, match="has changed"):
            remove(found, None, fine, lambda _: None)
    assert seen(builder.root) == before


def test_what_was_not_decided_is_put_back(builder: StoreBuilder) -> None:
    before = seen(builder.root)
    interrupted(builder, ONE, is_gone=False)
    assert not (builder.home() / f"{ONE}.jsonl").exists()
    assert [(one.note.id, one.is_gone, one.reason) for one in finished(builder)] == [(ONE, False, None)]
    assert seen(builder.root) == before


def test_what_was_decided_is_completed(builder: StoreBuilder) -> None:
    others = seen(builder.root).keys() - {item.path for item in bundle(builder, ONE).items}
    interrupted(builder, ONE, is_gone=True)
    assert [(one.note.id, one.is_gone, one.reason) for one in finished(builder)] == [(ONE, True, None)]
    assert seen(builder.root).keys() == others


def test_a_session_is_put_back_also_where_that_was_interrupted(builder: StoreBuilder) -> None:
    before = seen(builder.root)
    bin = interrupted(builder, TWO, is_gone=False)
    (moved,) = bin.rglob(f"{TWO}.jsonl")
    os.link(moved, builder.home() / f"{TWO}.jsonl")
    assert [one.reason for one in finished(builder)] == [None]
    assert seen(builder.root) == before


def test_nothing_new_is_overwritten_by_what_is_put_back(builder: StoreBuilder) -> None:
    bin = interrupted(builder, TWO, is_gone=False)
    new = builder.home() / f"{TWO}.jsonl"
    new.write_text("somebody went on")
    (one,) = finished(builder)
    assert f"{new} is there again" in (one.reason or "")
    assert new.read_text() == "somebody went on"
    assert list(bin.rglob(f"{TWO}.jsonl"))


def test_what_somebody_else_removes_right_now_is_left_to_him(builder: StoreBuilder) -> None:
    bin = interrupted(builder, ONE, is_gone=True)
    with claimed(str(bin)):
        assert finished(builder) == []
        assert bin.exists()
    assert len(finished(builder)) == 1


@pytest.mark.parametrize("note", [None, "", '{"id": "1f'])
def test_a_bin_into_which_nothing_was_moved_vanishes(builder: StoreBuilder, note: str | None) -> None:
    before = seen(builder.root)
    bin = builder.home() / f".removing-{ONE}"
    bin.mkdir()
    if note is not None:
        (bin / "session.json").write_text(note)
    assert finished(builder) == []
    assert seen(builder.root) == before


@pytest.mark.parametrize("main", ["../../x.jsonl", "/etc/x.jsonl", "projects/-other/x.jsonl", "x.jsonl", 5, None])
def test_a_hidden_directory_that_is_no_bin_of_ours_stays(builder: StoreBuilder, main: object) -> None:
    for mark in (".removing-", ".removed-"):
        foreign = builder.home() / f"{mark}x"
        (foreign / "content").mkdir(parents=True)
        (foreign / "content" / "dear").write_text("dear")
        note = {"id": "x", "title": None, "root": "/", "main": main, "size": 0, "archive": None}
        (foreign / "session.json").write_text(json.dumps(note))
    before = seen(builder.root)
    assert finished(builder) == []
    assert seen(builder.root) == before


def test_a_session_that_cannot_be_moved_stays(builder: StoreBuilder) -> None:
    (builder.home() / f".removing-{ONE}").mkdir()
    before = seen(builder.root)
    with pytest.raises(Refused, match="File exists"):
        remove(bundle(builder, ONE), None, fine, lambda _: None)
    assert seen(builder.root) == before


@pytest.mark.parametrize("is_gone", [False, True])
def test_names_that_are_no_text_survive(builder: StoreBuilder, is_gone: bool) -> None:
    id = os.fsdecode(b"s\xff \n\xe2")
    builder.session("x").rename(builder.home() / f"{id}.jsonl")
    (builder.home() / id).mkdir()
    (builder.home() / id / os.fsdecode(b"\xfe")).write_text("strange")
    settle(builder.root)
    before = seen(builder.root)
    named = {os.fsencode(item.path).decode("utf-8", "backslashreplace") for item in bundle(builder, id).items}
    interrupted(builder, id, is_gone=is_gone)
    assert [(one.note.id, one.reason) for one in finished(builder)] == [(id, None)]
    assert seen(builder.root) == {path: what for path, what in before.items() if not is_gone or path not in named}


def test_a_session_that_is_gone_but_cannot_be_deleted_is_told_so(builder: StoreBuilder) -> None:
    def fail(_: str) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere")

    with patch.object(removal, "remove_tree", fail), pytest.raises(Refused, match="it is removed, but not all"):
        remove(bundle(builder, TWO), None, fine, lambda _: None)
    assert not (builder.home() / f"{TWO}.jsonl").exists()
    assert [(one.note.id, one.is_gone, one.reason) for one in finished(builder)] == [(TWO, True, None)]
    assert litter(builder.root) == []


def test_a_bin_that_cannot_be_described_is_not_left_behind(builder: StoreBuilder) -> None:
    before = seen(builder.root)
    found, full = bundle(builder, TWO), OSError(28, "No space left on device")
    with patch.object(os, "fsync", side_effect=full), pytest.raises(Refused, match="No space left"):
        remove(found, None, fine, lambda _: None)
    assert seen(builder.root) == before
