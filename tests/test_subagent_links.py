"""Which call a sub-agent comes from, by which evidence; and sub-agents that are known only from their progress."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claude_session_player import Conversation, Store, summarize
from claude_session_player.linking.subagents import BY_PROGRESS, BY_RESULT, BY_TEXT, Agent, AgentCall, link_subagents
from claude_session_player.parser import read_events
from claude_session_player.player.recording import recording_of_session
from claude_session_player.store.extract import FileExtractor
from claude_session_player.transcript.subagents import all_subagents
from tests import corpus
from tests.builder import SessionBuilder, call, text, timestamp
from tests.program import csp
from tests.stores import ONE, StoreBuilder

TASK = "Look around"


def linked(agents: list[Agent[str]], *calls: AgentCall) -> dict[str, str | None]:
    """The ids of the calls, by sub-agent."""
    return {key: call.id for key, (_, call) in link_subagents(agents, [(None, call) for call in calls]).items()}


def test_the_best_evidence_counts_and_among_equals_the_first_call() -> None:
    calls = [
        AgentCall("text", named=(("a", BY_TEXT),)),
        AgentCall("progress", named=(("a", BY_PROGRESS),)),
        AgentCall("result", named=(("a", BY_RESULT),)),
        AgentCall("again", named=(("a", BY_RESULT),)),
    ]
    assert linked([Agent("k", "a")], *calls) == {"k": "result"}
    assert linked([Agent("k", "a", "text")], *calls) == {"k": "text"}
    assert linked([Agent("k", "a")], *calls[:2]) == {"k": "progress"}


def test_a_call_of_an_agent_tool_counts_more_than_a_tool_that_mentions_an_agent() -> None:
    mention, task = AgentCall("bash", named=(("a", BY_TEXT),)), AgentCall("task", "Explore", named=(("a", BY_TEXT),))
    assert linked([Agent("k", "a")], mention, task) == {"k": "task"}


def test_an_equal_task_is_found_once_and_only_among_calls_that_nobody_has() -> None:
    calls = [AgentCall("one", task=TASK, named=(("a", BY_RESULT),)), AgentCall("two", task=TASK)]
    agents = [Agent("first", "x", task=TASK), Agent("second", "a", task=TASK), Agent("third", "y", task=TASK)]
    assert linked(agents, *calls) == {"first": "two", "second": "one"}


def test_nobody_calls_himself() -> None:
    own = AgentCall("own", named=(("a", BY_RESULT),))
    assert link_subagents([Agent("k", "a")], [("k", own)]) == {}


def test_a_file_that_mentions_an_agent_does_not_start_it(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path)
    session = SessionBuilder(session_id=ONE).prompt("Go").response(call("Read", "r", file_path="/notes"))
    session.result("r", "agentId: abcd1234", toolUseResult={"type": "text", "file": {}})
    session.write(store.home() / f"{ONE}.jsonl")
    store.agent("abcd1234", place="subagents", task="Other")
    (agent,) = store.open().resolve(ONE).subagents
    assert agent.call_id is None


# --- known only from progress ------------------------------------------------------------------------------


def report(session: SessionBuilder, agent: str, call_id: str, kind: str, content: Any, **more: Any) -> None:
    """A line in which a sub-agent reports what it says."""
    inner = {"type": kind, "timestamp": timestamp(7), "uuid": f"{agent}-{len(session.lines)}"}
    message = {"message": {"role": kind, "content": content, **more}, **inner}
    session.progress("agent_progress", call_id, agentId=agent, prompt=TASK, message=message)


def reporting() -> SessionBuilder:
    """A session with two sub-agents at once, neither of which has a file."""
    session = SessionBuilder(session_id=ONE).prompt("Go")
    session.response(
        *(call("Task", f"t{n}", description=f"Part {n}", prompt=TASK, subagent_type="Explore") for n in "12")
    )
    for agent, id in (("aaaa1111", "t1"), ("bbbb2222", "t2")):
        report(session, agent, id, "user", [text(f"{TASK} {agent}")])
    for agent, id in (("aaaa1111", "t1"), ("bbbb2222", "t2")):
        spent = {"id": f"m{agent}", "model": "claude-haiku-4-5", "usage": {"input_tokens": 9, "output_tokens": 3}}
        report(session, agent, id, "assistant", [text(f"Seen by {agent}")], **spent)
        report(session, agent, id, "assistant", [call("Read", f"r{agent}", file_path=f"/{agent}")], id=f"m{agent}")
    return session.result("t2", "Second done.").result("t1", "First done.").response(text("Both done."))


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    built = StoreBuilder(tmp_path / "store")
    reporting().write(built.home() / f"{ONE}.jsonl")
    return built


def test_sub_agents_that_only_report_are_counted_and_listed(store: StoreBuilder) -> None:
    session = store.open().resolve(ONE)
    assert session.subagent_count == 2
    assert [(one.id, one.agent, one.title, one.call_id) for one in session.subagents] == [
        ("aaaa1111", "Explore", "Part 1", "t1"),
        ("bbbb2222", "Explore", "Part 2", "t2"),
    ]
    assert summarize(session).subagents == {"Explore": 2}
    listed = json.loads(csp("list", "--json", "--root", store.root).stdout)
    assert [one["subagent_count"] for one in listed] == [2]


def test_sub_agents_that_only_report_are_told_where_they_were_called(store: StoreBuilder) -> None:
    (turn,) = Conversation.of(store.open().resolve(ONE)).turns
    told = {turn.entries[place].id: child for place, (child,) in turn.agents.items()}  # type: ignore[attr-defined]
    assert {id: child.id for id, child in told.items()} == {"t1": "aaaa1111", "t2": "bbbb2222"}
    entries = told["t1"].turns[0].entries
    assert [entry.text or getattr(entry, "name", "") for entry in entries] == ["Seen by aaaa1111", "Read"]


def test_a_stream_tells_the_sub_agents_that_it_reports_as_the_store_does() -> None:
    (turn,) = Conversation.from_events(read_events(reporting().lines)).turns
    told = {turn.entries[place].id: child.id for place, (child,) in turn.agents.items()}  # type: ignore[attr-defined]
    assert told == {"t1": "aaaa1111", "t2": "bbbb2222"}


def test_a_sub_agent_that_only_reports_is_a_session_of_its_own(store: StoreBuilder) -> None:
    agent = store.open().resolve("bbbb2222")
    assert agent.is_reported
    assert [event.line for event in agent.events()] == [5, 8, 9]
    told = csp("replay", "bbbb2222", "--root", store.root).stdout.decode()
    assert told == "❯ Look around bbbb2222\n\n● Seen by bbbb2222\n● Read(bbbb2222)\n"
    assert summarize(agent).tool_calls == {"Read": 1}


def test_the_player_can_step_into_a_sub_agent_that_only_reports(store: StoreBuilder) -> None:
    agents = recording_of_session(store.open().resolve(ONE), store.open).find_subagents()
    (inner,) = agents["t1"]
    tape = inner.open_source()
    assert (inner.title, inner.is_subagent, tape.read(0, 1 << 20).count(b"\n")) == ("Part 1", True, 3)


def test_files_that_a_reporting_sub_agent_read_are_its_own(store: StoreBuilder) -> None:
    files = json.loads(csp("files", ONE, "--json", "--root", store.root).stdout)
    assert sorted(file["path"] for file in files) == ["/aaaa1111", "/bbbb2222"]


def test_sub_agents_with_strange_ids_are_counted(store: StoreBuilder) -> None:
    session = SessionBuilder().prompt("Go").response(call("Task", "t1", prompt="Look"))
    for number, agent in enumerate((",", 'a","b', '"', "\\"), 1):
        report(session, agent, "t1", "assistant", [text("Seen")])
        session.write(store.home() / f"{ONE}.jsonl")
        assert store.open().resolve(ONE).subagent_count == number


def test_times_of_a_report_are_known_also_from_its_line_and_from_a_last_line_without_end(store: StoreBuilder) -> None:
    session = SessionBuilder().prompt("Go").response(call("Task", "t1", prompt="Look"))
    said = {"type": "assistant", "message": {"content": [text("Seen")]}}
    for _ in range(2):
        session.progress("agent_progress", "t1", agentId="a1", message=said)
    first, last = (json.loads(line)["timestamp"] for line in session.lines[-2:])
    path = store.home() / f"{ONE}.jsonl"
    path.write_bytes(b"".join(session.lines).rstrip(b"\n"))
    (agent,) = store.open().resolve(ONE).subagents
    assert (agent.created_at, agent.ended_at) == (first, last)


def test_a_sub_agent_that_reports_for_two_calls_is_named_for_both() -> None:
    session = SessionBuilder().prompt("Go")
    for call_id in ("t1", "t2", "t1"):
        report(session, "a1", call_id, "assistant", [text("Seen")])
    extractor = FileExtractor(is_agent=False)
    extractor.add_lines(session.lines)
    assert extractor.namings == {"t1": {"a1": BY_PROGRESS}, "t2": {"a1": BY_PROGRESS}}


def test_a_report_without_tokens_comes_before_the_one_that_counts(store: StoreBuilder) -> None:
    session = SessionBuilder().prompt("Go").response(call("Task", "t1", prompt="Look"))
    for more in ({}, {"model": "claude-haiku-4-5", "usage": {"output_tokens": 3}}):
        report(session, "a1", "t1", "assistant", [text("Seen")], id="m1", **more)
    session.write(store.home() / f"{ONE}.jsonl")
    parent = store.open().resolve(ONE)
    assert [summarize(session).tokens.output for session in parent.subagents] == [3]


def told_with(session: SessionBuilder) -> dict[str | None, str]:
    """The sub-agents of a stream, by the calls that they are told with."""
    (turn,) = Conversation.from_events(read_events(session.lines)).turns
    return {turn.entries[place].id: child.id for place, (child,) in turn.agents.items()}  # type: ignore[attr-defined]


def test_a_stream_links_who_reports_for_a_call_that_is_not_there_by_the_result_that_names_it() -> None:
    session = SessionBuilder().prompt("Go").response(call("Task", "t1", prompt="Look"))
    report(session, "a1", "t1", "assistant", [text("Seen")])
    session.result("t1", "Done.").response(call("Task", "t2", prompt="Look again"))
    report(session, "a2", "gone", "assistant", [text("Seen, too")])
    assert told_with(session.result("t2", "agentId: a2").response(text("Done."))) == {"t1": "a1", "t2": "a2"}


@pytest.mark.parametrize(
    ("named", "expected"),
    [({}, {"t2": "a1"}), ({"toolUseResult": {"agentId": "a1"}}, {"t1": "a1"})],
)
def test_in_a_stream_reports_count_more_than_the_text_of_a_result_and_less_than_what_stands_beside_it(
    named: dict[str, Any], expected: dict[str, str]
) -> None:
    session = SessionBuilder().prompt("Go").response(call("Odd", "t1"), call("Task", "t2", prompt="Look"))
    report(session, "a9", "gone", "assistant", [text("Whose am I?")])
    report(session, "a1", "t2", "assistant", [text("Seen")])
    session.result("t1", "agentId: a1", **named).result("t2", "Done.").response(text("Done."))
    assert told_with(session) == expected


def test_a_sub_agent_with_a_file_is_not_counted_again_because_it_reports(store: StoreBuilder) -> None:
    store.agent("aaaa1111", place="subagents", task=TASK)
    session = store.open().resolve(ONE)
    assert session.subagent_count == len(list(all_subagents(session))) == 2
    assert [(one.id, one.is_reported) for one in session.subagents] == [("aaaa1111", False), ("bbbb2222", True)]


def test_what_grows_is_digested_on_from_where_it_was(store: StoreBuilder, tmp_path: Path) -> None:
    path, cache = store.home() / f"{ONE}.jsonl", tmp_path / "cache"
    lines = reporting().lines
    path.write_bytes(b"".join(lines[:5]))
    assert store.open(cache).resolve(ONE).subagent_count == 2
    with open(path, "ab") as file:
        file.write(b"".join(lines[5:]))
    grown, whole = store.open(cache).resolve(ONE), store.open().resolve(ONE)
    assert grown.facts == whole.facts


@pytest.mark.skipif(not corpus.session_files(), reason="there is no corpus")
def test_a_stream_tells_real_sub_agents_inside_of_a_file_as_the_store_does() -> None:
    """Without their files, that is: those are what a stream cannot know."""
    store = Store.open(corpus.STORE, cache=None)
    compared = 0
    for path in corpus.session_files():
        session = store.at(path)
        if session.is_subagent or not session.inline_subagents or len(session.parts) > 1:
            continue
        known = {child.id for turn in Conversation.of(session).turns for some in turn.agents.values() for child in some}
        streamed = Conversation.from_events(read_events(path))
        heard = {child.id for turn in streamed.turns for some in turn.agents.values() for child in some}
        assert heard == known, path
        compared += 1
    assert compared > 5
