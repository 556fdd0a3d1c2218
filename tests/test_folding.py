"""Sessions that look alike are folded into one row, and none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from claude_session_player import Filter
from claude_session_player.store import Session
from claude_session_player.tui.costs import SessionCost, SessionCosts, price_sessions
from claude_session_player.tui.folding import (
    FoldKey,
    ListRow,
    SessionGroup,
    SessionRow,
    fold_rows,
    group_of,
    open_groups,
)
from claude_session_player.tui.listing import ListFilter, row_position, session_row
from claude_session_player.tui.session_list import SessionList
from tests.builder import SessionBuilder, text
from tests.stores import AGENT, StoreBuilder, settle

REVIEW = "Review this pull request as a careful engineer would: "


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


def add(builder: StoreBuilder, number: int, prompt: str, entrypoint: str = "cli", title: str = "") -> str:
    """A session that begins on a day of its own."""
    id = f"b0000000-{number:04}-4000-8000-000000000000"
    session = SessionBuilder(session_id=id)
    times = {"timestamp": f"2026-01-{number:02}T12:00:00.000Z"}
    session.prompt(prompt, entrypoint=entrypoint, **times)
    session.response(text("Done."), timestamp=f"2026-01-{number:02}T12:00:10.000Z", entrypoint=entrypoint)
    if title:
        session.line({"type": "custom-title", "customTitle": title, "sessionId": id})
    session.write(builder.home() / f"{id}.jsonl")
    return id


def rows_of(builder: StoreBuilder) -> list[SessionRow]:
    settle(builder.root)
    return ListFilter().sort(map(session_row, builder.open().sessions(Filter(include_subagents=True))))


def shown(rows: list[ListRow]) -> list[str | None]:
    return [row.title if isinstance(row, SessionGroup) else row.label or row.session.title for row in rows]


def test_sessions_with_the_same_prompt_are_one_row_at_the_place_of_the_latest(builder: StoreBuilder) -> None:
    for number, prompt in enumerate(("Make tea", "Boil water", "Make tea", "Whistle", "Make tea"), 1):
        add(builder, number, prompt)
    rows = fold_rows(rows_of(builder))
    assert shown(rows) == ["3 × Make tea", "Whistle", "Boil water"]
    assert rows[0].session.id.startswith("b0000000-0005")


def test_headless_runs_are_folded_by_how_they_begin_and_then_by_project(builder: StoreBuilder) -> None:
    add(builder, 1, "Sum up", "sdk-cli")
    add(builder, 2, "Translate", "sdk-py")
    for number in (3, 4):
        add(builder, number, REVIEW + "x" * 200 + str(number), "sdk-cli")
    add(builder, 5, "Translate")
    titles = shown(fold_rows(rows_of(builder)))
    assert titles[0] == "Translate"
    assert titles[1] is not None
    assert titles[1].startswith("2 × Review this pull request")
    assert titles[2:] == ["2 headless runs"]


def test_a_single_headless_run_is_a_row_like_others(builder: StoreBuilder) -> None:
    add(builder, 1, "Sum up", "sdk-cli")
    add(builder, 2, "Make tea")
    assert shown(fold_rows(rows_of(builder))) == ["Make tea", "Sum up"]


def test_a_session_that_a_person_named_and_a_sub_agent_are_never_folded(builder: StoreBuilder) -> None:
    first = add(builder, 1, "Make tea", title="Green tea")
    add(builder, 2, "Make tea")
    builder.agent(AGENT, first, task="Make tea")
    builder.agent("b6c7d8e9", first, task="Make tea")
    assert not any(isinstance(row, SessionGroup) for row in fold_rows(rows_of(builder)))


def test_an_open_group_is_followed_by_its_sessions_which_say_what_differs(builder: StoreBuilder) -> None:
    filler = "the same words again, " * 12
    for number, name in ((1, "kettle"), (2, "engine")):
        add(builder, number, f"{REVIEW}{filler}{name} only", "sdk-cli")
    (group,) = fold_rows(rows_of(builder))
    rows = open_groups([group], {group.key})
    assert shown(rows)[1:] == ["… engine only", "… kettle only"]
    assert [group_of(rows, position) for position in range(3)] == [rows[0]] * 3
    assert row_position([group], rows[2].key, 9) == 0


def test_a_filter_sees_what_is_folded_and_the_group_counts_only_that(builder: StoreBuilder) -> None:
    for number, name in ((1, "kettle"), (2, "engine"), (3, "engine")):
        add(builder, number, f"{REVIEW}{'again ' * 40}{name}", "sdk-cli")
    sessions = SessionList("engine.")
    sessions.take(rows_of(builder), 0)
    sessions.change(ListFilter("review"))
    assert len(sessions.select()[0].members) == 3
    sessions.change(ListFilter("kettle"))
    assert len(sessions.select()) == 1
    assert sessions.status == "1 of 3 sessions · by updated"


def test_a_group_stands_where_the_sum_of_its_sessions_belongs(builder: StoreBuilder) -> None:
    for number, prompt in enumerate(("Make tea", "Make tea", "Make tea", "Boil water"), 1):
        add(builder, number, prompt)
    sessions = SessionList()
    sessions.take(rows_of(builder), 0)
    for order, is_reversed, first in (("events", False, 3), ("events", True, 1), ("updated", False, 1)):
        sessions.change(ListFilter(order=order, is_reversed=is_reversed))
        assert len(sessions.select()[0].members) == first


KEYS = st.none() | st.builds(
    lambda project, is_headless, prompt: FoldKey(project, is_headless, topic=prompt),
    st.sampled_from("ab"),
    st.booleans(),
    st.sampled_from(["", "tea", "water"]),
)


@given(st.lists(KEYS, max_size=20), st.data())
def test_every_session_is_in_exactly_one_row_or_group(keys: list[FoldKey | None], data: st.DataObject) -> None:
    rows = [SessionRow(_Named(str(number)), "p", "", key) for number, key in enumerate(keys)]  # type: ignore[arg-type]
    folded = fold_rows(rows)
    members = [member for row in folded for member in row.members]
    assert sorted(members, key=rows.index) == rows
    assert all(len(row.members) > 1 for row in folded if isinstance(row, SessionGroup))
    groups = {row.key for row in folded if isinstance(row, SessionGroup)}
    assert len(groups) == sum(isinstance(row, SessionGroup) for row in folded)
    if groups:
        opened = {data.draw(st.sampled_from(sorted(groups)))}
        assert len(open_groups(folded, opened)) > len(folded)


class _Named:
    """As much of a session as folding and unfolding look at."""

    def __init__(self, name: str) -> None:
        self.title = name
        self.conversation = self
        self.first_prompt = name


# --- costs ------------------------------------------------------------------------------------------


def test_the_costs_are_those_of_a_summary_and_a_group_has_their_sum(builder: StoreBuilder) -> None:
    from claude_session_player.stats import summarize
    from claude_session_player.util.humanize import dollars

    first = add(builder, 1, "Make tea")
    add(builder, 2, "Make tea")
    builder.agent(AGENT, first)
    rows = rows_of(builder)
    (group,) = [row for row in fold_rows(rows) if isinstance(row, SessionGroup)]
    costs = SessionCosts()
    assert costs.text(group) == ""
    for batch in price_sessions([row.session for row in rows], lambda: True):
        costs.update(batch)
    summaries = [summarize(row.session).cost for row in group.members]
    assert [costs.text(row) for row in group.members] == [dollars(cost) for cost in summaries]
    assert costs.text(group) == dollars(sum(cost for cost in summaries if cost is not None))  # type: ignore[arg-type]


def test_a_cost_is_worked_out_again_only_when_a_file_has_changed(builder: StoreBuilder) -> None:
    id = add(builder, 1, "Make tea")
    add(builder, 2, "Boil water")
    costs = SessionCosts()
    sessions: list[Session] = [row.session for row in rows_of(builder)]
    for batch in price_sessions(sessions, lambda: True):
        costs.update(batch)
    assert list(costs.missing(sessions)) == []
    with (builder.home() / f"{id}.jsonl").open("a") as file:
        file.write('{"type":"summary","summary":"Tea"}\n')
    assert [session.id for session in costs.missing(row.session for row in rows_of(builder))] == [id]


def test_no_session_is_priced_once_that_is_not_wanted_any_more(builder: StoreBuilder) -> None:
    add(builder, 1, "Make tea")
    assert list(price_sessions([row.session for row in rows_of(builder)], lambda: False)) == []


def test_sessions_without_tokens_and_without_prices_say_so(builder: StoreBuilder) -> None:
    add(builder, 1, "Make tea")
    (row,) = rows_of(builder)
    costs = SessionCosts({row.key: SessionCost((), False, None, 0)})
    assert costs.text(row) == ""
    costs[row.key] = SessionCost((), True, None, 9)
    assert costs.text(row) == "?"
