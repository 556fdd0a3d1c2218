"""What is known at each line of a session, and what it has cost until then."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from textual.pilot import Pilot

from claude_session_player import View
from claude_session_player.player import costs
from claude_session_player.player.costs import CostCounter, CostCurve, CostStep
from claude_session_player.player.frame_index import FrameIndex
from claude_session_player.player.recording import MemorySource, Recording, recording_of_lines, recording_of_session
from claude_session_player.stats import Prices, TokenCount, count_tokens, response_cost, summarize
from claude_session_player.stats.tokens import cost_responses
from claude_session_player.store import Session, Store
from claude_session_player.util.times import to_epoch
from tests import corpus
from tests.builder import SessionBuilder, call, text, thought
from tests.players import player, recording, screen_of
from tests.screens import run, text_of, until
from tests.stores import AGENT, ONE, StoreBuilder

OPUS, HAIKU = "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001"


def usage(input: int, output: int, read: int = 0) -> dict[str, int]:
    return {"input_tokens": input, "output_tokens": output, "cache_read_input_tokens": read}


def index_of(session: SessionBuilder, view: View | None = None) -> FrameIndex:
    index = FrameIndex(MemorySource(session.lines), view)
    index.finish()
    return index


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


def played(session: Session, builder: StoreBuilder) -> tuple[Recording, FrameIndex]:
    recording = recording_of_session(session, builder.open)
    view = View().of_subagent() if recording.is_subagent else View()
    index = FrameIndex(recording.open_source(), view)
    index.finish()
    return recording, index


# --- facts --------------------------------------------------------------------------------------------


def test_a_line_knows_model_branch_context_and_tokens_of_what_came_before_it() -> None:
    session = SessionBuilder(branch="main").prompt("Go")
    session.response(text("One"), usage=usage(10, 5, 100))
    session.branch = "topic"
    session.prompt("Again").response(text("Two"), model=HAIKU, usage=usage(3, 4, 200))
    log = index_of(session).progress
    assert log.at(0) == (None, None, None, 0)
    assert log.at(1) == (None, "main", None, 0)
    assert log.at(2) == (OPUS, "main", 115, 115)
    assert log.at(3) == (OPUS, "topic", 115, 115)
    assert log.at(99) == (HAIKU, "topic", 207, 322)


def test_the_lines_of_a_response_count_once_with_the_largest_of_each_number() -> None:
    session = SessionBuilder()
    session.block(thought("Hm"), request="r", usage=usage(10, 1))
    session.block(text("Yes"), request="r", usage=usage(10, 20))
    log = index_of(session).progress
    assert [log.at(line).tokens for line in (1, 2)] == [11, 30]


def test_sidechain_lines_change_the_facts_only_in_a_file_of_their_own() -> None:
    session = SessionBuilder(sidechain=True).prompt("Look").response(text("Seen"), model=HAIKU)
    assert index_of(session).progress.at(9).model is None
    assert index_of(session, View().of_subagent()).progress.at(9).model == HAIKU


def test_a_compaction_empties_the_context_and_synthetic_messages_have_no_model() -> None:
    session = SessionBuilder().response(text("One"), usage=usage(10, 5)).compaction()
    session.response(text("No network"), model="<synthetic>", usage=usage(9, 9))
    log = index_of(session).progress
    assert (log.at(1).context, log.at(2).context) == (15, None)
    assert log.at(3) == (OPUS, "main", None, 15)


def test_each_frame_that_shows_an_error_counts_once_for_a_call() -> None:
    session = SessionBuilder().response(call("Bash", "b"))
    session.attachment("hook_blocking_error", hookName="PreToolUse", toolUseID="b", blockingError="no")
    session.result("b", "blocked", error=True)  # the same call
    session.attachment("hook_blocking_error", hookName="Stop", toolUseID="s", blockingError="not yet")
    session.response(text("API Error: 529"), isApiErrorMessage=True)
    session.system("api_error", level="error")
    assert list(index_of(session, View.rich()).progress.error_lines) == [2, 4, 5, 6]


def test_a_prompt_from_the_queue_counts_once_although_two_lines_show_it() -> None:
    session = SessionBuilder().prompt("Go").response(call("Bash", "b"))
    session.line({"type": "queue-operation", "operation": "enqueue", "content": "And tea"})
    session.line({"type": "queue-operation", "operation": "remove"})
    session.result("b").attachment("queued_command", prompt="And tea")
    prompts = index_of(session, View(queued=True)).progress.prompts
    assert [prompt.text for prompt in prompts] == ["Go", "And tea"]


# --- cost ---------------------------------------------------------------------------------------------


def with_agent(builder: StoreBuilder, session: SessionBuilder) -> Session:
    """The session, with a sub-agent for the task `Look`."""
    session.write(builder.home() / f"{ONE}.jsonl")
    agent = SessionBuilder(session_id=ONE, sidechain=True).prompt("Look", agentId=AGENT)
    agent.response(text("Nothing."), request="agent", agentId=AGENT)
    agent.response(text("A copy."), request="req_0001", usage=usage(1000, 900, 7), agentId=AGENT)
    agent.write(builder.home() / f"agent-{AGENT}.jsonl")
    found = builder.open().resolve(ONE)
    assert found.subagents
    return found


def test_the_cost_at_the_end_is_that_of_the_summary_and_subagents_count_from_their_results_on(
    builder: StoreBuilder,
) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Go").response(text("One"), usage=usage(1000, 500, 7))
    session.response(call("Task", "t", prompt="Look", description="Look")).result("t", "Nothing.")
    session.response(text("Bye"), model=HAIKU, usage=usage(10, 5))
    found = with_agent(builder, session)
    recording, index = played(found, builder)
    curve = CostCounter(recording).count(index)
    assert curve.total == curve.at(index.line_count) == summarize(found, Prices.load()).cost
    before, after = curve.at(3), curve.at(4)
    agents = [one.cost for one in cost_responses(found, Prices.load()) if one.part.is_subagent]
    assert before is not None
    assert after is not None
    assert after - before == sum(cost or Decimal() for cost in agents) > 0


def test_a_subagent_without_a_result_counts_when_it_has_ended(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Go").response(text("One"))
    session.response(call("Task", "t", prompt="Look", description="Look")).response(text("Two"))
    found = with_agent(builder, session)
    recording, index = played(found, builder)
    curve = CostCounter(recording).count(index)
    assert curve.total == summarize(found, Prices.load()).cost
    before, after = curve.at(2), curve.at(3)
    assert (before or 0) < (after or 0)


def test_a_recording_without_a_store_has_the_cost_of_its_own_lines() -> None:
    session = SessionBuilder().prompt("Go").response(text("One"), usage=usage(1000, 0))
    index = index_of(session)
    recording = Recording("tea", "", lambda: MemorySource(session.lines))
    curve = CostCounter(recording).count(index)
    assert [curve.at(1), curve.at(2)] == [Decimal(), Prices.load().cost(OPUS, TokenCount(1000), None)]


def test_tokens_without_a_price_have_no_cost() -> None:
    session = SessionBuilder().prompt("Go").response(text("One"), model="tea-1").prompt("On").response(text("Two"))
    curve = CostCounter(Recording("tea", "", lambda: MemorySource([]))).count(index_of(session))
    assert [curve.at(line) is None for line in (1, 2, 3, 4)] == [False, True, True, False]


def test_the_responses_without_a_price_are_counted_once_and_not_when_a_price_is_found() -> None:
    session = SessionBuilder().prompt("Go").response(text("One"), model="tea-1")
    session.block(thought("Hm"), request="r", model="tea-1", usage=usage(10, 1))
    session.block(text("Yes"), request="r", model="tea-1", usage=usage(10, 20))
    session.response(text("Two"), usage=usage(1000, 0))
    curve = CostCounter(Recording("tea", "", lambda: MemorySource([]))).count(index_of(session))
    assert [curve.until(line)[1] for line in (1, 2, 3, 4, 5)] == [0, 1, 2, 2, 2]
    assert curve.until(None) == (curve.total, 2)
    assert CostCurve([CostStep(1, None, 1), CostStep(2, Decimal(3), -1)]).until(2) == (Decimal(3), 0)


def test_a_partly_priced_session_says_so_in_the_header_and_in_each_chapter() -> None:
    session = SessionBuilder().prompt("Go").response(text("One"), usage=usage(1_000_000, 0)).prompt("On")
    session.response(text("Two"), model="tea-1").prompt("Bye")
    app, _ = player(recording(session))
    seen = []

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("end")
        await until(pilot, lambda: screen_of(app).costs.so_far != "")
        await pilot.pause()
        seen.append((screen_of(app).costs.so_far, text_of(app)))
        await pilot.press("home", "c")
        await until(pilot, lambda: "COST" in text_of(app))
        seen.append(("", text_of(app)))

    run(app, script, (120, 40))
    assert seen[0][0].startswith("≥$")
    assert seen[0][0] in seen[0][1].split("\n")[0]
    rows = [line.split() for line in seen[1][1].split("\n") if "│" in line]
    costs = {word: row for row in rows for word in ("Go", "On", "Bye") if word in row}
    assert [word for word in costs["Go"] if "$" in word] == [seen[0][0].removeprefix("≥")]
    assert "?" in costs["On"]
    assert not {"?", "$"} & set("".join(costs["Bye"]))


def test_the_header_knows_the_window_of_the_whole_session_also_without_a_price() -> None:
    session = SessionBuilder().prompt("Go").response(text("One"), model="claude-next-9", usage=usage(190_000, 0))
    session.response(text("Two"), model="claude-next-9", usage=usage(260_000, 0))
    app, _ = player(recording(session))

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("home", "right", "space")
        await until(pilot, lambda: screen_of(app).header.facts.context_window is not None)
        facts = screen_of(app).header.facts
        assert (facts.context_tokens, facts.context_window) == (190_000, 1_000_000)
        assert "19% of 1.0 M context" in text_of(app)

    run(app, script, (120, 40))


@given(st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 9)), max_size=12), st.integers(0, 9))
def test_the_cost_at_a_line_is_the_sum_of_the_known_ones_until_then(steps: list[Any], line: int) -> None:
    made = [CostStep(at, None if cost is None else Decimal(cost)) for at, cost in steps]
    until = [step.cost for step in made if step.line <= line]
    known = [cost for cost in until if cost is not None]
    assert CostCurve(made).at(line) == (sum(known, Decimal()) if known or not until else None)


@pytest.mark.skipif(not corpus.STORE.is_dir(), reason="needs the corpus")
def test_the_cost_of_each_real_session_ends_where_its_summary_is() -> None:
    prices = Prices.load()
    store = Store.open(corpus.STORE, cache=None)
    for session in store.sessions():
        recording = recording_of_session(session, lambda: store)
        view = View.rich().of_subagent() if recording.is_subagent else View.rich()
        index = FrameIndex(recording.open_source(), view)
        index.finish()
        assert CostCounter(recording).count(index).total == summarize(session, prices).cost, session.path
        shares = count_tokens([session], prices)
        assert index.progress.at(index.line_count).tokens <= sum(share.tokens.total for share in shares)


def test_a_subagent_without_a_result_is_placed_although_some_lines_have_no_time(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Go").response(call("Task", "t", prompt="Look"))
    for number in range(60):
        session.response(text(f"Step {number}"), usage=usage(0, 0), **({"timestamp": None} if number % 9 > 1 else {}))
    found = with_agent(builder, session)
    recording, index = played(found, builder)
    curve = CostCounter(recording).count(index)
    ended = to_epoch(found.subagents[0].ended_at)
    assert ended is not None
    line = next(frame.line for frame in index.frames if frame.time is not None and frame.time >= ended)
    assert line < 20
    assert curve.at(line - 1) != curve.at(line) == curve.total


def test_only_responses_that_were_added_are_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    priced = []

    def counted(*given: Any) -> Decimal | None:
        priced.append(given)
        return response_cost(*given)

    monkeypatch.setattr(costs, "response_cost", counted)
    session = SessionBuilder()
    for number in range(300):
        session.response(text(f"Step {number}"), usage=usage(number, 7))
    lines = session.lines
    source = MemorySource(lines[:-1])
    index = FrameIndex(source)
    counter = CostCounter(recording_of_lines(lines, "tea"))
    while index.read_more():
        pass
    before = counter.count(index)
    assert len(priced) == 299
    total, line = before.total, index.line_count
    source._data += lines[-1]
    while index.read_more():
        pass
    after = counter.count(index, look_up=False)
    assert len(priced) == 300
    assert (before.total, after.at(line)) == (total, total)
    assert after.total == CostCounter(recording_of_lines(lines, "tea")).count(index).total != total
