"""Summaries of sessions: every number, and the words of the specification."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, strategies as st

from claude_session_player import Filter, Store, normalize_project_path, summarize, validate_event
from claude_session_player.export.summary import summary_markdown
from claude_session_player.format.blocks import ToolResult, ToolUse
from claude_session_player.format.events import Assistant, MessageEvent, User
from claude_session_player.linking.copies import CopyDetector
from claude_session_player.linking.prompts import human_prompt, with_queued_prompts
from claude_session_player.stats.counters import LineCounter
from claude_session_player.stats.summary import MAX_ACTIVE_GAP, SessionSummary, time_span
from claude_session_player.stats.tokens import TokenCount
from claude_session_player.transcript.tree import ConversationTree
from tests import corpus
from tests.builder import SessionBuilder, call, text, thought, timestamp, uuid_of
from tests.program import csp
from tests.stores import ONE, TWO, StoreBuilder
from tests.test_cli_store import check

SEED = """\
Session abc123 (342 events)
- Duration: 45 minutes
- User messages: 23
- Tool calls: 156
- Sub-agents: 2 (Plan mode, Debug mode)
- Errors: 3
"""


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


def summary_of(builder: StoreBuilder, session: SessionBuilder | None = None, ref: str = ONE) -> SessionSummary:
    if session is not None:
        session.write(builder.home() / f"{ONE}.jsonl")
    return summarize(builder.open().resolve(ref))


def talk() -> SessionBuilder:
    return SessionBuilder(session_id=ONE)


# --- counts --------------------------------------------------------------------------------


def test_a_summary_has_the_facts_of_the_session(builder: StoreBuilder) -> None:
    session = talk().prompt("Make tea").response(text("Done.")).line({"type": "ai-title", "aiTitle": "Tea"})
    session.branch = "milk"
    summary = summary_of(builder, session.prompt("More", version="2.1.30"))
    assert (summary.id, summary.title, summary.project, summary.events) == (ONE, "Tea", "/home/ada/engine", 4)
    assert summary.git_branches == ("main", "milk")
    assert summary.models == ("claude-opus-4-5-20251101",)
    assert summary.versions == ("2.1.29", "2.1.30")
    assert summary.tokens == TokenCount(4, 12, 0, 1830, 41216)
    assert summary.cost is not None
    assert summary.cost > 0


def test_user_messages_are_prompts_of_people(builder: StoreBuilder) -> None:
    session = talk().prompt("Make tea").response(call("Bash", "a")).result("a").prompt("Skill text", isMeta=True)
    session.attachment("queued_command", prompt="Quick").attachment("date", date="today")
    session.prompt([text("Look"), {"type": "image", "source": {}}])
    assert summary_of(builder, session).user_messages == 3


def test_tool_calls_are_counted_by_tool_the_most_used_first(builder: StoreBuilder) -> None:
    session = talk().response(thought(), call("Read", "a"), call("Bash", "b"), call("Bash", "c"))
    session.response({"type": "server_tool_use", "id": "d", "name": "web_search", "input": {}}, call("", "e"))
    summary = summary_of(builder, session).tool_calls
    assert list(summary.items()) == [("Bash", 2), ("Read", 1), ("web_search", 1), ("unnamed", 1)]


def test_errors_are_failed_tools_and_failed_requests(builder: StoreBuilder) -> None:
    session = talk().result("a", error=True).result("b", error=False).result("c")
    session.prompt([{"type": "tool_result", "tool_use_id": id, "is_error": id == "d"} for id in "de"])
    session.system("api_error").block(text("API Error: 529"), request="r", isApiErrorMessage=True)
    assert summary_of(builder, session).errors == 4


def test_compactions_and_forks_are_counted(builder: StoreBuilder) -> None:
    session = talk().prompt("Make tea").response(text("Done.")).back_to(1).response(text("Again."))
    session.back_to(None).system("compact_boundary", logicalParentUuid=uuid_of(3)).prompt("On")
    summary = summary_of(builder, session)
    assert (summary.compactions, summary.forks) == (1, 1)


def test_pull_requests_are_named_once_with_their_addresses(builder: StoreBuilder) -> None:
    session = talk().prompt("Make tea")
    for number in (7, 7, 8, 7):
        url = f"https://example.com/ada/the_kettle/pull/{number}"
        session.line({"type": "pr-link", "prNumber": number, "prUrl": url, "prRepository": "ada/the_kettle"})
    summary = summary_of(builder, session.line({"type": "pr-link"}))
    urls = [f"https://example.com/ada/the_kettle/pull/{number}" for number in (7, 8)]
    assert [(link.number, link.repository, link.url) for link in summary.pull_requests] == [
        (7, "ada/the_kettle", urls[0]),
        (8, "ada/the_kettle", urls[1]),
    ]
    assert f"- Pull requests: {', '.join(urls)}\n" in csp("summary", ONE, "--root", builder.root).stdout.decode()
    value = json.loads(csp("summary", ONE, "--json", "--root", builder.root).stdout)
    check(value, "summary")
    assert value["pull_requests"][0] == {"number": 7, "repository": "ada/the_kettle", "url": urls[0]}
    assert (value["user_messages"], value["errors"]) == (1, 0)


def test_files_are_counted_once_and_not_where_the_tool_failed(builder: StoreBuilder) -> None:
    session = talk().response(
        call("Read", "a", file_path="/a"),
        call("Read", "b", file_path="/a"),
        call("Read", "c", file_path="/gone"),
        call("Edit", "d", file_path="/a"),
        call("NotebookEdit", "e", notebook_path="/b.ipynb"),
        call("Grep", "f", file_path="/c"),
    )
    summary = summary_of(builder, session.result("c", error=True))
    assert (summary.files_read, summary.files_changed) == (1, 2)


def test_subagents_are_counted_by_kind_at_any_depth(builder: StoreBuilder) -> None:
    builder.every_layout()
    builder.meta(builder.agent("deep0001", place="subagents", task="Deep"), parentAgentId="nest0001", agentType="Plan")
    assert summary_of(builder).subagents == {"Plan": 2, "Explore": 1, "unnamed": 1}


def test_calls_of_an_inline_subagent_do_not_count_for_the_session(builder: StoreBuilder) -> None:
    builder.every_layout()
    summary = summary_of(builder, ref=TWO)
    assert (summary.user_messages, summary.tool_calls, summary.subagents) == (1, {"Task": 1}, {"Explore": 1})


def test_a_subagent_has_a_summary_too(builder: StoreBuilder) -> None:
    builder.every_layout()
    store = builder.open()
    (inline,) = store.resolve(TWO).subagents
    for agent in (store.resolve("nest0001"), inline):
        summary = summarize(agent)
        assert (summary.user_messages, summary.events) == (1, 2)


def test_other_dialects_and_damaged_lines_are_counted(builder: StoreBuilder) -> None:
    session = talk().raw(b"oops\n").line({"type": "message", "role": "user", "content": "Hi"})
    session.line({"type": "tool_use", "tool": "Bash", "arguments": {}})
    session.line({"type": "tool_result", "tool_name": "Bash", "output": "no", "is_error": True})
    session.line({"type": "assistant", "content": [call("Edit", "x", file_path=7)], "timestamp": 5})
    session.line({"type": "user", "message": "Hello"})
    summary = summary_of(builder, session)
    assert (summary.user_messages, summary.tool_calls, summary.errors) == (2, {"Bash": 1, "Edit": 1}, 1)


def test_summaries_equal_plain_counts_of_events(builder: StoreBuilder) -> None:
    builder.every_layout()
    for session in builder.open().sessions(Filter(include_subagents=True)):
        compare(session)


@pytest.mark.skipif(not corpus.STORE.is_dir(), reason=f"there is no real store at {corpus.ROOT}")
def test_summaries_of_real_sessions_equal_plain_counts_of_events(tmp_path: Path) -> None:
    for session in Store.open(corpus.STORE, cache=str(tmp_path)).sessions(Filter(include_subagents=True)):
        summary = compare(session)
        assert 0 <= summary.active_seconds <= summary.duration_seconds


def _blocks(event: MessageEvent, kind: type[Any]) -> list[Any]:
    return (
        [block for block in event.message_content if isinstance(block, kind)]
        if isinstance(event.message_content, list)
        else []
    )


def compare(session: Any) -> SessionSummary:
    """Compare a summary with plain counts of events."""
    summary = summarize(session)
    branches, events = ConversationTree(), []
    for event, is_copy in CopyDetector().mark(with_queued_prompts(session.events())):
        if session.has_sidechains and (event.is_sidechain or event.agent_call):
            continue
        if is_copy:
            branches.add_copy(event)
        else:
            branches.add(event)
            events.append(event)
    calls = [block for event in events if isinstance(event, Assistant) for block in _blocks(event, ToolUse)]
    results = [block for event in events if isinstance(event, User) for block in _blocks(event, ToolResult)]
    wrong = [result for result in results if result.is_error is True]
    failed = sum(isinstance(event, Assistant) and event.is_api_error is True for event in events)
    failed += sum(getattr(event, "subtype", None) == "api_error" for event in events)
    assert summary.user_messages == sum(human_prompt(event) is not None for event in events)
    assert sum(summary.tool_calls.values()) == len({call.id or number for number, call in enumerate(calls)})
    assert summary.errors == failed + len({one.tool_use_id or number for number, one in enumerate(wrong)})
    assert summary.forks == len(branches.forks)
    return summary


def test_a_call_that_is_repeated_under_the_same_odd_uuid_is_one(builder: StoreBuilder) -> None:
    block = {"type": "tool_use", "name": "Bash", "input": {}}
    line = {"type": "assistant", "uuid": {}, "message": {"content": [block]}}
    lines = [json.dumps(line).encode() + b"\n"] * 2
    path = builder.home() / "oddly.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    assert sum(compare(builder.open().resolve("oddly")).tool_calls.values()) == 1


# --- durations ----------------------------------------------------------------------------------------


def test_gaps_of_more_than_ten_minutes_are_not_active(builder: StoreBuilder) -> None:
    session = talk().prompt("Make tea", timestamp="2026-01-17T20:00:00.000Z")
    session.response(text("Done."), timestamp="2026-01-17T20:10:00.000Z")
    session.prompt("More", timestamp="2026-01-17T20:20:00.001Z")
    summary = summary_of(builder, session)
    assert (summary.duration_seconds, summary.active_seconds) == (1200.001, 600.0)
    assert (summary.started_at, summary.ended_at) == ("2026-01-17T20:00:00.000Z", "2026-01-17T20:20:00.001Z")


@given(st.lists(st.integers(0, 20_000), min_size=1), st.sampled_from(["", "never", "2026-13-17T20:31:59.197Z"]))
def test_active_time_is_the_sum_of_short_gaps_in_whatever_order_times_come(seconds: list[int], odd: str) -> None:
    ordered = sorted(seconds)
    gaps = [later - earlier for earlier, later in pairwise(ordered)]
    span = time_span([*(timestamp(second + 1) for second in seconds), *([odd] if odd else ())])
    assert span.active == sum(gap for gap in gaps if gap <= MAX_ACTIVE_GAP.total_seconds())
    assert span.seconds == ordered[-1] - ordered[0]


def test_a_time_with_another_zone_is_the_same_moment() -> None:
    assert time_span(["2026-01-17T20:00:00Z", "2026-01-17T21:05:00+01:00"])[2:] == (300.0, 300.0)
    assert time_span(["never", ""]) == (None, None, 0.0, 0.0)


# --- markdown ----------------------------------------------------------------------------------------


def example(**changes: Any) -> SessionSummary:
    summary = SessionSummary(
        id="abc123",
        path="/s/abc123.jsonl",
        title=None,
        project=None,
        git_branches=(),
        models=(),
        versions=(),
        started_at=None,
        ended_at=None,
        duration_seconds=2700.0,
        active_seconds=0.0,
        events=342,
        user_messages=23,
        tool_calls={},
        subagents={"Plan mode": 1, "Debug mode": 1},
        errors=3,
        compactions=0,
        forks=0,
        files_read=0,
        files_changed=0,
        tokens=TokenCount(),
        cost=None,
        unpriced_models=(),
    )
    return summary._replace(**changes)


def test_the_view_begins_like_the_specification() -> None:
    shown = summary_markdown(example(tool_calls={"Bash": 156}))
    assert shown.replace(" (156 Bash)", "").startswith(SEED)


def test_empty_facts_are_omitted_except_for_the_first_lines() -> None:
    shown = summary_markdown(example(subagents={}, errors=0, user_messages=0, duration_seconds=0.0))
    assert shown.splitlines()[1:7] == [
        "- Duration: 0 seconds",
        "- User messages: 0",
        "- Tool calls: 0",
        "- Sub-agents: 0",
        "- Errors: 0",
        "",
    ]


def test_calls_of_sub_agents_without_files_are_told_from_none() -> None:
    calls = {"Agent": 3, "Task": 1, "Bash": 2}
    assert "- Sub-agents: 0 of 4 calls recorded\n" in summary_markdown(example(subagents={}, tool_calls=calls))
    assert "- Sub-agents: 1 (Plan)\n" in summary_markdown(example(subagents={"Plan": 1}, tool_calls=calls))
    assert "- Sub-agents: 0\n" in summary_markdown(example(subagents={}, tool_calls={"Bash": 2}))


def test_every_kind_has_its_number_and_so_have_those_that_are_not_named() -> None:
    calls = {"AskUserQuestion": 2, **{f"Tool{number}": 1 for number in range(9)}}
    named = ", ".join(f"1 Tool{number}" for number in range(7))
    shown = summary_markdown(example(tool_calls=calls))
    assert f"- Tool calls: 11 (2 AskUserQuestion, {named}, 2 others)\n" in shown


def test_further_facts_are_lines_of_the_same_form() -> None:
    summary = example(
        title="Use *stars* <b>",
        git_branches=("main", "milk"),
        active_seconds=60.0,
        compactions=1,
        forks=2,
        files_read=3,
        files_changed=4,
        tokens=TokenCount(1200, 7),
        cost=Decimal("1.234"),
        unpriced_models=("glm-9",),
    )
    shown = summary_markdown(summary)
    for line in (
        r"- Title: Use \*stars\* \<b>",
        "- Git branches: main, milk",
        "- Active time: 1 minute",
        "- Compactions: 1",
        "- Forks: 2",
        "- Files read: 3",
        "- Files changed: 4",
        "- Tokens with sub-agents: 1,200 input, 7 output",
        "- Cost with sub-agents: $1.23, excluding glm-9 (no known price)",
    ):
        assert line in shown.splitlines()


def test_the_last_lines_are_commands_that_show_more() -> None:
    assert summary_markdown(example(), "my file.jsonl").splitlines()[-5:] == [
        "Show:",
        "- full: `claude-session-player show 'my file.jsonl'`",
        "- tools only: `claude-session-player show 'my file.jsonl' --only tools`",
        "- errors only: `claude-session-player show 'my file.jsonl' --only errors`",
        "- sub-agents only: `claude-session-player show 'my file.jsonl' --only subagents`",
    ]


def test_the_command_prints_the_summary_and_its_json_matches_the_schema(builder: StoreBuilder) -> None:
    builder.every_layout()
    done = csp("summary", ONE, "--root", builder.root)
    assert done.stdout.decode().startswith(f"Session {ONE} (4 events)\n- Duration: 3 seconds\n")
    value = json.loads(csp("summary", ONE, "--json", "--root", builder.root).stdout)
    check(value, "summary")
    assert value["detail_hint"] == f"claude-session-player show {ONE} --root {builder.root}"
    with pytest.raises(jsonschema.ValidationError):
        check(value | {"errors": -1}, "summary")


# --- what the specification asks of a record -----------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({}, "Missing 'type' field"),
        ({"type": "progress"}, "Invalid type: progress"),
        ({"type": "user"}, "Missing 'timestamp' field"),
        ({"type": "user", "timestamp": "t"}, "Missing 'message' field"),
        ({"type": "assistant", "timestamp": "t", "message": {}}, "Missing 'content' field"),
        ({"type": "summary", "timestamp": "t"}, "Missing 'summary' field"),
        ({"type": ["user"], "timestamp": "t"}, "Invalid type: ['user']"),
        ({"type": "user", "timestamp": "t", "message": None}, "Missing 'content' field"),
        ({"type": "user", "timestamp": "t", "message": 7}, "Missing 'content' field"),
        ([], "Missing 'type' field"),
        (None, "Missing 'type' field"),
    ],
)
def test_the_first_thing_that_is_missing_is_named(event: Any, reason: str) -> None:
    assert validate_event(event) == (False, reason)


def test_whole_records_are_valid() -> None:
    assert validate_event({"type": "user", "timestamp": "t", "message": {"content": []}}) == (True, "Valid")
    assert validate_event({"type": "summary", "timestamp": "t", "summary": ""}) == (True, "Valid")


JSON = st.recursive(
    st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(st.dictionaries(st.sampled_from(["type", "timestamp", "message", "summary"]), JSON | st.just("user")) | JSON)
def test_validation_never_fails(event: Any) -> None:
    is_valid, reason = validate_event(event)
    assert is_valid == (reason == "Valid")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/Users/john/Code/project", "Users-john-Code-project"),
        ("/Users/jane/Sites/app.demo", "Users-jane-Sites-app-demo"),
        ("/home/dev/workspace/test", "home-dev-workspace-test"),
    ],
)
def test_project_paths_are_normalized_like_in_the_specification(path: str, name: str) -> None:
    assert normalize_project_path(path) == name


def test_a_response_that_continues_after_a_prompt_needs_events() -> None:
    session = SessionBuilder().response(text("One"), request="r1").prompt("Go on")
    counter = LineCounter()
    counter.count_lines(session.lines)
    assert not counter.needs_events
    counter.count_lines(session.block(text("Two"), request="r1").lines[-1:])
    assert counter.needs_events
