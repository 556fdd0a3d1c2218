"""Tokens are counted once per response, for the session, sub-agent and day that used them."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from claude_session_player import Filter, Session, Store
from claude_session_player.stats import tokens
from claude_session_player.stats.prices import Prices
from claude_session_player.stats.tokens import (
    GROUP_KEYS,
    MAIN_AGENT,
    UNKNOWN_AGENT,
    TimeWindow,
    TokenCount,
    UsageShare,
    count_tokens,
    group_usage,
    session_usage,
    sum_usage,
)
from claude_session_player.store import index
from claude_session_player.store.facts import LINE_KEY, decode_responses, encode_responses
from claude_session_player.util import workers
from tests import corpus
from tests.builder import SessionBuilder, call, text
from tests.reference_tokens import reference_count
from tests.stores import ENGINE, ONE, THREE, TWO, StoreBuilder

ALL = Filter(include_orphans=True)
OPUS = "claude-opus-4-5-20251101"


def usage(
    input: int = 0, output: int = 0, written: int | None = 0, read: int = 0, hour: int | None = None
) -> dict[str, Any]:
    """The tokens of a line, as files have them."""
    numbers: dict[str, Any] = {"input_tokens": input, "output_tokens": output, "cache_read_input_tokens": read}
    if written is not None:
        numbers["cache_creation_input_tokens"] = written
    if hour is not None:
        numbers["cache_creation"] = {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": hour}
    return numbers


def counted(store: Store, filter: Filter = ALL) -> TokenCount:
    """All tokens of a store."""
    return sum_usage(count_tokens(store.sessions(filter))).tokens


def by(shares: list[UsageShare], what: str) -> dict[str | None, int]:
    """Output tokens, by something."""
    return {group.name: group.tokens.output for group in group_usage(shares, what)}


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


def write(builder: StoreBuilder, session: SessionBuilder, id: str = ONE) -> Path:
    return session.write(builder.home(session.cwd) / f"{id}.jsonl")


# --- one count per response -------------------------------------------------------------------------


def test_the_lines_of_a_response_count_once_with_the_largest_of_each_number(builder: StoreBuilder) -> None:
    session = SessionBuilder()
    for numbers in (usage(5, 1, 10, 7, 2), usage(5, 40, 10, 7, 2), usage(4, 9, 12, 6, 2)):
        session.block(text("Hm"), request="r", usage=numbers)
    write(builder, session)
    assert counted(builder.open()) == TokenCount(5, 40, 10, 2, 7)


def test_a_copy_in_another_file_counts_once_and_for_the_original(builder: StoreBuilder) -> None:
    first = SessionBuilder(session_id=TWO).response(text("One"), request="r1", usage=usage(1, 10))
    write(builder, first, TWO)
    resumed = SessionBuilder(session_id=ONE).response(text("One"), request="r1", usage=usage(1, 12))
    write(builder, resumed.response(text("Two"), request="r2", usage=usage(2, 5)), ONE)
    shares = count_tokens(builder.open().sessions(ALL))
    assert by(shares, "session") == {TWO: 12, ONE: 5}
    assert sum_usage(shares).tokens == TokenCount(3, 17)
    assert sum_usage(shares).responses == 2
    assert by(count_tokens([builder.open().resolve(ONE)]), "session") == {ONE: 17}


def test_a_copy_made_before_a_compaction_is_never_the_original(builder: StoreBuilder) -> None:
    session = SessionBuilder().prompt("Go").response(text("One"), request="r1", usage=usage(1, 10))
    write(builder, session)
    session.write(builder.root / "pre-compact-session-histories" / f"{ONE}-2026-01-17.jsonl")
    assert by(count_tokens(builder.open().sessions(ALL)), "session") == {ONE: 10}


def test_synthetic_responses_do_not_count(builder: StoreBuilder) -> None:
    write(builder, SessionBuilder().response(text("No network"), model="<synthetic>", usage=usage(1, 2)))
    assert count_tokens(builder.open().sessions(ALL)) == []


def test_a_response_without_ids_counts_by_itself_and_by_its_uuid_in_copies(builder: StoreBuilder) -> None:
    line = {"type": "assistant", "message": {"role": "assistant", "content": "x", "usage": usage(1, 1)}}
    write(builder, SessionBuilder().line(line).line(line).line({**line, "uuid": "u"}), ONE)
    write(builder, SessionBuilder().line(line).line({**line, "uuid": "u"}), TWO)
    assert counted(builder.open()) == TokenCount(4, 4)


def test_usage_lines_of_the_metadata_dialect_count_for_its_model(builder: StoreBuilder) -> None:
    session = SessionBuilder().line({"type": "metadata", "model": OPUS, "cwd": ENGINE})
    numbers = {
        "type": "usage",
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_creation_tokens": 3,
        "cache_read_tokens": 4,
    }
    write(builder, session.line(numbers).line(numbers))
    (share,) = count_tokens(builder.open().sessions(ALL))
    assert (share.model, share.day, share.tokens) == (OPUS, None, TokenCount(2, 4, 6, 0, 8))


# --- two kinds of cache writes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "short", "hour"),
    [
        (usage(written=10, hour=4), 6, 4),
        (usage(written=10), 10, 0),
        (usage(written=10, hour=10), 0, 10),
        (usage(written=10, hour=12), 0, 12),
        (usage(written=None, hour=4), 3, 4),
        ({"cache_creation_input_tokens": 10, "cache_creation": "much"}, 10, 0),
        ({"cache_creation_input_tokens": 10, "cache_creation": {"ephemeral_1h_input_tokens": "x"}}, 10, 0),
        ({"cache_creation_input_tokens": -10, "cache_creation": {"ephemeral_1h_input_tokens": 1 << 60}}, 0, 0),
    ],
)
def test_cached_tokens_stay_for_five_minutes_unless_marked_for_an_hour(
    builder: StoreBuilder, numbers: Any, short: int, hour: int
) -> None:
    write(builder, SessionBuilder().response(text("Hm"), usage=numbers))
    tokens = counted(builder.open())
    assert (tokens.cache_write_5m, tokens.cache_write_1h) == (short, hour)


def test_the_split_of_cached_tokens_may_come_later_than_their_sum(builder: StoreBuilder) -> None:
    session = SessionBuilder().block(text("a"), request="r", usage=usage(written=10, hour=0))
    session.block(text("b"), request="r", usage=usage(written=10, hour=10)).response(text("c"), usage=usage(written=1))
    write(builder, session)
    assert counted(builder.open()) == TokenCount(0, 0, 1, 10, 0)


# --- sessions, sub-agents, projects and days -----------------------------------------------------------


def test_subagents_count_to_their_session_and_by_their_type(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Go")
    session.response(call("Task", "t1", prompt="Look", subagent_type="Explore"), request="m", usage=usage(output=1))
    write(builder, session)
    for name, task, spent in (("agent-a1", "Look", 20), ("agent-a2", "Else", 300)):
        agent = SessionBuilder(session_id=ONE, sidechain=True).prompt(task)
        agent.response(text("Done"), request=name, usage=usage(output=spent)).write(builder.home() / f"{name}.jsonl")
    shares = count_tokens(builder.open().sessions(ALL))
    assert by(shares, "agent") == {UNKNOWN_AGENT: 300, "Explore": 20, MAIN_AGENT: 1}
    assert by(shares, "session") == {ONE: 321}


def test_subagents_without_a_session_count_but_not_for_another(builder: StoreBuilder) -> None:
    builder.agent("lost0001", session=THREE, place="subagents")
    shares = count_tokens(builder.open().sessions(ALL))
    assert by(shares, "session") == {THREE: 12}
    assert [share.agent for share in shares] == [UNKNOWN_AGENT]


def test_inline_subagents_count_separately(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=TWO).prompt("Ask")
    session.response(call("Task", "t", prompt="What?", subagent_type="Explore"), request="m", usage=usage(output=1))
    session.sidechain = True
    session.prompt("What?", parentUuid=None, uuid="root").response(text("Tea"), request="s", usage=usage(output=20))
    session.sidechain = False
    write(builder, session.response(text("Tea"), request="n", usage=usage(output=300)), TWO)
    store = builder.open()
    assert by(count_tokens(store.sessions(ALL)), "agent") == {MAIN_AGENT: 301, "Explore": 20}
    (inline,) = store.resolve(TWO).subagents
    assert by(count_tokens([inline]), "agent") == {"Explore": 20}
    assert by(count_tokens([inline, store.resolve(TWO)]), "agent") == {MAIN_AGENT: 301, "Explore": 20}


def test_a_file_of_nothing_but_sidechain_lines_is_a_conversation(builder: StoreBuilder) -> None:
    write(builder, SessionBuilder(sidechain=True).prompt("Go").response(text("Done"), usage=usage(output=7)))
    assert by(count_tokens(builder.open().sessions(ALL)), "agent") == {MAIN_AGENT: 7}


def test_a_chosen_subagent_counts_with_those_below_it(builder: StoreBuilder) -> None:
    builder.session()
    top = SessionBuilder(session_id=ONE, sidechain=True).response(text("x"), request="top", usage=usage(output=20))
    top.write(builder.home() / ONE / "subagents" / "agent-top1.jsonl")
    low = SessionBuilder(session_id=ONE, sidechain=True).response(text("x"), request="low", usage=usage(output=300))
    low.write(builder.home() / ONE / "subagents" / "agent-top1" / "subagents" / "agent-low1.jsonl")
    store = builder.open()
    assert by(count_tokens([store.resolve("top1")]), "session") == {ONE: 320}
    assert by(count_tokens([store.resolve("low1")]), "session") == {ONE: 300}
    assert by(count_tokens([store.resolve(ONE)]), "session") == {ONE: 332}


def test_projects_are_named_by_their_real_paths(builder: StoreBuilder) -> None:
    for id, cwd, spent in ((ONE, ENGINE, 1), (TWO, "/home/ada/tea", 20), (THREE, ENGINE, 300)):
        session = SessionBuilder(session_id=id, cwd=cwd).prompt("Go")
        write(builder, session.response(text("x"), request=id, usage=usage(output=spent)), id)
    assert by(count_tokens(builder.open().sessions(ALL)), "project") == {ENGINE: 301, "/home/ada/tea": 20}


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Set the local time zone."""

    def move(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("name", "days"),
    [
        ("UTC", {"2026-01-17": 21, "2026-01-18": 300, None: 4000}),
        ("Asia/Kolkata", {"2026-01-17": 1, "2026-01-18": 320, None: 4000}),
        ("America/St_Johns", {"2026-01-17": 321, None: 4000}),
    ],
)
def test_days_are_those_of_the_local_zone_even_with_half_hour_offsets(
    builder: StoreBuilder, zone: Callable[[str], None], name: str, days: dict[str | None, int]
) -> None:
    zone(name)
    session = SessionBuilder()
    for spent, moment in (
        (1, "2026-01-17T18:29:59.999Z"),
        (20, "2026-01-17T19:30:00.000+01:00"),
        (300, "2026-01-18T03:29:59Z"),
        (4000, "yesterday"),
    ):
        session.response(text("x"), request=str(spent), timestamp=moment, usage=usage(output=spent))
    write(builder, session)
    assert by(count_tokens(builder.open().sessions(ALL)), "day") == days


def test_the_usage_of_a_session_is_listed_by_model_with_its_cost(builder: StoreBuilder, tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text('{"claude": {"input": 2, "output": 10}}')
    session = SessionBuilder().response(text("x"), usage=usage(1_000_000, 100_000))
    session.response(text("x"), model="tea-1", usage=usage(7, 0)).response(text("x"), usage=usage(500_000))
    write(builder, session)
    (found,) = builder.open().sessions()
    rows = session_usage(found, Prices.load(own=str(own)))
    assert [(row.model, row.responses, row.tokens, row.cost) for row in rows] == [
        (OPUS, 2, TokenCount(1_500_000, 100_000), Decimal(4)),
        ("tea-1", 1, TokenCount(7), None),
    ]
    assert [row.cost for row in session_usage(found)] == [None, None]


def test_two_sessions_of_one_id_are_two(builder: StoreBuilder) -> None:
    for cwd in (ENGINE, "/home/ada/tea"):
        write(builder, SessionBuilder(cwd=cwd).prompt("Go").response(text("x"), request=cwd, usage=usage(output=1)))
    groups = group_usage(count_tokens(builder.open().sessions(ALL)), "session")
    assert [(group.name, group.tokens.output) for group in groups] == [(ONE, 1), (ONE, 1)]


@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-sonnet-4-5", "deepseek-chat", OPUS, "tea-1"])
@pytest.mark.parametrize(
    "moments",
    [
        ("2026-03-01T10:00:00.000Z",) * 4,
        (
            "2026-03-12T20:00:00.000Z",
            "2026-03-12T20:00:01.000Z",
            "2026-03-12T23:59:59.999Z",
            "2026-03-13T00:00:00.000Z",
        ),
        ("2026-03-13T01:00:00+02:00", "2026-03-12T16:29:59Z", "2026-03-12T16:30:00Z", "2026-03-12T00:30:00.5Z"),
    ],
)
@pytest.mark.parametrize("sizes", [(1, 2, 3, 4), (150_000, 199_999, 200_000, 1), (5, 900_000, 200_001, 200_000)])
def test_a_cost_is_the_sum_of_what_each_response_costs(
    builder: StoreBuilder, model: str, moments: tuple[str, ...], sizes: tuple[int, ...]
) -> None:
    prices = Prices.load()
    session, wanted = SessionBuilder(), Decimal()
    for moment, size in zip(moments, sizes, strict=True):
        numbers = usage(1, 10, size, 5, 1)
        session.response(text("x"), model=model, timestamp=moment, usage=numbers)
        wanted += prices.cost(model, TokenCount(1, 10, size - 1, 1, 5), moment) or 0
    write(builder, session)
    total = sum_usage(count_tokens(builder.open().sessions(ALL), prices))
    assert (total.cost, total.unpriced) == ((wanted, 0) if model != "tea-1" else (None, total.tokens.total))


# --- the index -----------------------------------------------------------------------------


def test_an_unfinished_line_counts_and_is_not_doubled_when_it_is_finished(
    builder: StoreBuilder, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    session = SessionBuilder().response(text("a"), request="a", usage=usage(output=1))
    session.response(text("b"), request="b", usage=usage(output=20))
    path = write(builder, session)
    path.write_bytes(session.data()[:-1])
    assert counted(builder.open(cache)).output == 21
    with path.open("ab") as file:
        file.write(b"\n")
    assert counted(builder.open(cache)).output == 21
    with path.open("ab") as file:
        file.write(SessionBuilder().response(text("c"), request="c", usage=usage(output=300)).data())
    assert counted(builder.open(cache)).output == 321


def test_indexed_files_are_not_read_again(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder.every_layout()
    first = count_tokens(builder.open(tmp_path / "cache").sessions(ALL))
    monkeypatch.setattr(workers, "run_jobs", lambda *_: pytest.fail("a file was read"))
    again = count_tokens(builder.open(tmp_path / "cache").sessions(ALL))
    assert [(share.agent, share.tokens) for share in again] == [(share.agent, share.tokens) for share in first]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE responses SET responses = 'x'",
        "UPDATE responses SET responses = zeroblob(9)",
        "UPDATE responses SET responses = substr(responses, 1, 40)",
        "DELETE FROM responses",
        "DROP TABLE responses",
        "UPDATE responses SET path = x'00'||path",
        "UPDATE responses SET responses = (SELECT max(responses) FROM responses)",
    ],
)
def test_a_damaged_index_costs_only_time(builder: StoreBuilder, tmp_path: Path, damage: str) -> None:
    builder.session()
    other = SessionBuilder(session_id=TWO).response(text("x"), request="z", usage=usage(output=5))
    write(builder, other, TWO)
    wanted = counted(builder.open(tmp_path))
    with sqlite3.connect(tmp_path / f"index-{index.INDEX_VERSION}.sqlite") as connection:
        connection.execute(damage)
    connection.close()
    assert counted(builder.open(tmp_path)) == wanted
    assert counted(builder.open(tmp_path)) == wanted


def test_a_file_that_is_gone_counts_nothing_and_is_named(builder: StoreBuilder, tmp_path: Path) -> None:
    path = builder.session()
    counted(builder.open(tmp_path))
    store = builder.open(tmp_path)
    (session,) = store.sessions()
    with sqlite3.connect(tmp_path / f"index-{index.INDEX_VERSION}.sqlite") as connection:
        connection.execute("DELETE FROM responses")
    connection.close()
    path.unlink()
    assert count_tokens([session]) == []
    assert [trouble.path for trouble in store.problems] == [str(path)]


_IDS = st.one_of(st.none(), st.sampled_from(["a", "b", "a\nb", "line 1", "é\ud83d"]))
_NUMBERS = st.one_of(st.none(), st.integers(-5, 50), st.integers(1 << 31, 1 << 60))
_RESPONSES = st.lists(
    st.fixed_dictionaries(
        {
            "id": _IDS,
            "request": _IDS,
            "model": st.sampled_from(["m1", "m2", None, "<synthetic>"]),
            "input": _NUMBERS,
            "output": _NUMBERS,
            "written": _NUMBERS,
            "read": _NUMBERS,
            "hour": _NUMBERS,
            "file": st.sampled_from([ONE, TWO]),
        }
    ),
    max_size=12,
)


@given(_RESPONSES)
@settings(max_examples=150)
def test_counts_equal_those_of_a_naive_reference_for_any_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]]
) -> None:
    builder = StoreBuilder(tmp_path_factory.mktemp("any") / "store")
    files = {ONE: SessionBuilder(session_id=ONE), TWO: SessionBuilder(session_id=TWO)}
    for line in lines:
        numbers = {"input_tokens": line["input"], "output_tokens": line["output"]}
        numbers |= {"cache_creation_input_tokens": line["written"] or 0, "cache_read_input_tokens": line["read"]}
        numbers |= {"cache_creation": {"ephemeral_1h_input_tokens": line["hour"]}}
        message = {"id": line["id"], "model": line["model"], "content": "x", "usage": numbers}
        record = {"type": "assistant", "requestId": line["request"], "message": message}
        files[line["file"]].raw(json.dumps(record).encode() + b"\n")
    paths = [write(builder, session, id) for id, session in files.items()]
    assert counted(builder.open()) == reference_count(paths)


def assert_sums_agree(sessions: list[Session], window: TimeWindow | None = None) -> None:
    """Sums by column are those of the reference, which looks at each response."""
    prices = Prices.load()
    for by_day in (True, False):
        fast = count_tokens(sessions, prices, by_day=by_day, window=window)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tokens._Counter, "_only_group", lambda *_: None)
            reference = count_tokens(sessions, prices, by_day=by_day, window=window)
        assert sum_usage(fast)[2:] == sum_usage(reference)[2:]
        for by in GROUP_KEYS:
            groups = [[(group.name, *group[2:]) for group in group_usage(shares, by)] for shares in (fast, reference)]
            assert groups[0] == groups[1]


_TIMES = st.sampled_from(["2026-03-12T23:59:59.999Z", "2026-03-13T00:00:00.000Z", "2026-03-12T16:30:00Z", "soon", ""])


@given(_RESPONSES, st.lists(_TIMES, min_size=12, max_size=12), st.sampled_from(["claude-opus-4-6", "deepseek-chat"]))
@settings(max_examples=100)
def test_sums_by_column_equal_sums_by_response(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]], times: list[str], model: str
) -> None:
    builder = StoreBuilder(tmp_path_factory.mktemp("any") / "store")
    files = {ONE: SessionBuilder(session_id=ONE), TWO: SessionBuilder(session_id=TWO)}
    for line, moment in zip(lines, times, strict=False):
        spent = usage(line["input"] or 0, line["output"] or 0, line["written"] or 0, line["read"] or 0, line["hour"])
        message = {"id": line["id"], "model": model, "content": "x", "usage": spent}
        record = {"type": "assistant", "requestId": line["request"], "message": message, "timestamp": moment}
        files[line["file"]].raw(json.dumps(record).encode() + b"\n")
    for id, session in files.items():
        write(builder, session, id)
    sessions = builder.open().sessions(ALL)
    assert_sums_agree(sessions)
    assert_sums_agree(sessions, TimeWindow(start=datetime(2026, 3, 13, tzinfo=UTC)))


@pytest.mark.skipif(not corpus.STORE.is_dir(), reason=f"there is no real store at {corpus.ROOT}")
def test_sums_by_column_equal_sums_by_response_for_a_real_store(tmp_path: Path) -> None:
    sessions = Store.open(corpus.STORE, cache=str(tmp_path)).sessions(ALL)
    assert_sums_agree(sessions)
    for session in sessions:
        assert_sums_agree([session])


def test_responses_survive_encoding() -> None:
    said = {
        f"{LINE_KEY}3": ((1, 2, 3, 4, 5), "m", "2026-01-17T20:31:59.197Z"),
        "a\nb": ((1 << 40, 0, 0, 0, 0), None, None),
        "c": ((0, 0, 0, 0, 0), "n", "soon"),
    }
    decoded = decode_responses(encode_responses("/p", said, {"c": "agent"}))
    assert decoded.keys == [f"/p {LINE_KEY}3", "a\0b", "c"]
    assert decoded.times == ["2026-01-17T20:31", "", "soon"]
    assert [decoded.models[number] for number in decoded.model] == ["m", None, "n"]
    assert [decoded.agents[number] for number in decoded.agent] == [None, None, "agent"]
    assert list(
        zip(decoded.input, decoded.output, decoded.cache_written, decoded.cache_read, decoded.one_hour, strict=True)
    ) == [said[key][0] for key in said]
    assert decode_responses(encode_responses("/p", {}, {})).keys == ()


def test_a_long_list_does_not_load_responses(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder.every_layout()
    builder.open(tmp_path).sessions()
    monkeypatch.setattr(index.IndexDatabase, "responses", lambda *_: pytest.fail("responses were loaded"))
    assert [session.json for session in builder.open(tmp_path).sessions()]
