"""Which sessions a list shows and in which order, and what is said about it; no screen is needed for that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claude_session_player import Filter, Store
from claude_session_player.store import resume_command
from claude_session_player.store.filters import SORT_KEYS
from claude_session_player.tui import listing
from claude_session_player.tui.folding import SessionRow
from claude_session_player.tui.listing import (
    ORDERS,
    ListFilter,
    list_projects,
    row_position,
    session_row,
    with_use,
)
from tests.builder import SessionBuilder, text
from tests.stores import AGENT, ONE, THREE, TWO, StoreBuilder, settle


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoreBuilder:
    builder = StoreBuilder(tmp_path / "store")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(builder.root))
    builder.session(ONE, "Start the Engine")
    builder.session(TWO, "Oil the wheels", days=1)
    builder.session(THREE, "Boil water", days=2, cwd="/home/ada/tea kettle")
    builder.agent(AGENT, ONE, task="Look around")
    settle(builder.root)
    return builder


def entries_of(builder: StoreBuilder) -> list[SessionRow]:
    return [session_row(session) for session in builder.open().sessions(Filter(include_subagents=True))]


def ids(entries: list[SessionRow]) -> list[str]:
    return [entry.session.id for entry in entries]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", [THREE, TWO, ONE]),
        ("engine", [TWO, ONE]),
        ("ENGINE start", [ONE]),
        ("start wheels", []),
        ("a9b8", [THREE]),
        ("kettle", [THREE]),
        ("main wheels", [TWO]),
        ("   ", [THREE, TWO, ONE]),
    ],
)
def test_every_word_has_to_be_in_the_title_project_id_branch_or_prompt(
    builder: StoreBuilder, words: str, found: list[str]
) -> None:
    choice = ListFilter(words)
    assert ids(choice.select(choice.sort(entries_of(builder)))) == found


def test_a_first_prompt_is_found_behind_another_title(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Start the engine").response(text("Yes."))
    session.line({"type": "custom-title", "customTitle": "Monday", "sessionId": ONE})
    session.write(builder.home() / f"{ONE}.jsonl")
    assert [entry.session.title for entry in ListFilter("start").select(entries_of(builder))] == ["Monday"]


def test_subagents_are_listed_where_somebody_wants_them(builder: StoreBuilder) -> None:
    entries = entries_of(builder)
    assert AGENT not in ids(ListFilter().select(entries))
    assert AGENT in ids(ListFilter(with_subagents=True).select(entries))


def test_a_project_holds_its_own_sessions_and_their_subagents(builder: StoreBuilder) -> None:
    entries = entries_of(builder)
    engine = ListFilter(project="/home/ada/engine", with_subagents=True)
    assert set(ids(engine.select(entries))) == {ONE, TWO, AGENT}
    assert [(one.name, one.sessions) for one in list_projects(entries)] == [
        ("/home/ada/tea kettle", 1),
        ("/home/ada/engine", 2),
    ]


@pytest.mark.parametrize("order", SORT_KEYS)
def test_the_orders_are_those_of_the_list_command(builder: StoreBuilder, order: str) -> None:
    store = builder.open()
    told = [session.id for session in store.sessions(Filter(sort=order, include_subagents=True))]
    assert ids(ListFilter(order=order).sort(entries_of(builder))) == told


def test_the_orders_come_one_after_the_other_and_begin_again() -> None:
    choice = ListFilter()
    seen = []
    for _ in ORDERS:
        seen.append(choice.order)
        choice = choice.next_order()
    assert (seen, choice) == ([*SORT_KEYS, "cost"], ListFilter())


def test_an_order_can_be_turned_around(builder: StoreBuilder) -> None:
    entries = [entry for entry in entries_of(builder) if not entry.session.is_subagent]
    assert ids(ListFilter(is_reversed=True).sort(entries)) == [ONE, TWO, THREE]


def test_the_cursor_finds_its_session_again_or_stays_where_it_was(builder: StoreBuilder) -> None:
    entries = ListFilter().sort(entries_of(builder))
    assert row_position(entries, entries[2].key, 0) == 2
    assert row_position(entries, "gone", 1) == 1
    assert row_position(entries[:1], "gone", 3) == 0
    assert row_position([], None, 3) == 0


def test_the_command_that_goes_on_is_quoted_for_a_shell(builder: StoreBuilder) -> None:
    commands = {entry.session.id: resume_command(entry.session) for entry in entries_of(builder)}
    assert commands[THREE] == f"cd '/home/ada/tea kettle' && claude --resume {THREE}"
    assert commands[AGENT] == f"cd /home/ada/engine && claude --resume {ONE}"


def test_the_command_names_the_store_where_claude_code_would_look_into_another(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = {entry.session.id: entry.session for entry in entries_of(builder)}
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{tmp_path / 'mine'}")
    expected = f"cd /home/ada/engine && CLAUDE_CONFIG_DIR={builder.root} claude --resume {ONE}"
    assert resume_command(entries[ONE]) == resume_command(entries[AGENT]) == expected
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    assert resume_command(entries[ONE]) == expected
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".claude").symlink_to(builder.root)
    assert resume_command(entries[ONE]) == f"cd /home/ada/engine && claude --resume {ONE}"


def test_a_store_is_named_by_its_whole_path(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    monkeypatch.chdir(tmp_path)
    for session in Store.open(builder.root.name).sessions(Filter(title="oil")):
        assert f"CLAUDE_CONFIG_DIR={builder.root} " in resume_command(session)


def test_where_no_directory_is_known_only_the_session_is_named(builder: StoreBuilder) -> None:
    line = {"type": "user", "timestamp": "2026-01-19T10:00:00Z", "content": "Exported"}
    SessionBuilder().line(line).write(builder.root / "transcripts" / "ses_1.jsonl")
    (entry,) = ListFilter("exported").select(entries_of(builder))
    assert resume_command(entry.session) == "claude --resume ses_1"


def test_whether_a_session_is_in_use_is_known_after_a_look(builder: StoreBuilder) -> None:
    os.utime(builder.home() / f"{ONE}.jsonl")
    entry = next(entry for entry in entries_of(builder) if entry.session.id == ONE)
    assert (entry.in_use, with_use(entry).in_use) == (False, True)


# --- words ----------------------------------------------------------------------------------------


def test_the_status_says_how_many_in_which_order_and_what_is_to_come() -> None:
    words = listing.list_status
    assert words(ListFilter(), 0, 0, None) == "by updated · reading…"
    assert words(ListFilter(), 1, 1, 0) == "1 session · by updated"
    assert words(ListFilter("tea"), 2, 9, 0) == "2 of 9 sessions · by updated"
    assert words(ListFilter(project="/a/kettle"), 2, 9, 3) == "2 of 9 sessions · kettle · by updated · 3 files to read"
    assert words(ListFilter(order="size", is_reversed=True), 9, 9, 0) == "9 sessions · by size ↑"


def test_an_empty_table_says_why() -> None:
    assert listing.empty_reason(ListFilter(), None) == "reading…"
    assert listing.empty_reason(ListFilter(), 0) == "No sessions in this store."
    assert listing.empty_reason(ListFilter("tea"), 0) == "No sessions match this filter; press Esc to clear it."
