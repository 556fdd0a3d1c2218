"""Sub-agents are told where they were called, by whatever it is known, and those without a matching call in the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claude_session_player import Conversation, Store, summarize
from claude_session_player.parser import read_events
from claude_session_player.store.layout import SessionFile
from claude_session_player.transcript.builder import TranscriptBuilder
from claude_session_player.transcript.entries import EntryKind, TranscriptCall
from claude_session_player.transcript.forks import Fork
from claude_session_player.transcript.outline import MarkedConversation, MarkKind
from claude_session_player.transcript.subagents import session_subagents
from claude_session_player.transcript.walk import TranscriptWalk
from tests import corpus
from tests.builder import SessionBuilder, call, text
from tests.conversations import agent, entry_lines, markdown, subagent, walk
from tests.stores import AGENT, ONE, StoreBuilder

TASK = "Look around"


def caller(**result: Any) -> SessionBuilder:
    """A session that calls a sub-agent."""
    session = SessionBuilder().prompt("Go")
    session.response(call("Task", "toolu_t", description="Look", prompt=TASK, subagent_type="Explore"))
    return session.result("toolu_t", **result) if result else session


@pytest.mark.parametrize(
    ("session", "told"),
    [
        pytest.param(caller(), {"call": "toolu_t"}, id="its description"),
        pytest.param(caller(toolUseResult={"agentId": "a1"}), {}, id="beside the result"),
        pytest.param(caller().progress("agent_progress", "toolu_t", agentId="a1").result("toolu_t"), {}, id="progress"),
        pytest.param(caller(content="agentId: a1 (done)"), {}, id="the text of the result"),
        pytest.param(caller(content=[text("agentId: a1\nDone.")]), {}, id="a part of the result"),
        pytest.param(caller(), {"task": TASK}, id="an equal task"),
    ],
)
def test_a_sub_agent_is_linked_by_each_method(session: SessionBuilder, told: dict[str, str]) -> None:
    _, entries = walk(session, subagent("a1", agent(TASK, "Nothing there."), **told))
    assert list(entry_lines(entries))[1:4] == ["call: ", "> task: Look around", "> answer: Nothing there."]


def test_what_names_a_sub_agent_counts_more_than_an_equal_task() -> None:
    session = caller().response(call("Task", "toolu_u", prompt=TASK))
    session.result("toolu_u", "agentId: a1").result("toolu_t", "agentId: a2")
    first, second = (subagent(id, agent(TASK, id), task=TASK) for id in ("a1", "a2"))
    found = [
        [one.id for one in e.entry.subagents]
        for e in walk(session, first, second)[1]
        if isinstance(e.entry, TranscriptCall)
    ]
    assert found == [["a2"], ["a2"], ["a1"], ["a1"]]


def test_any_tool_whose_result_names_an_agent_delegates() -> None:
    session = SessionBuilder().response(call("DelegateToAgent", "d", mode="plan")).result("d", "agentId: abc123\nOn")
    assert "> **Assistant** (2026-01-17 20:32:00)\n> Planned." in markdown(
        session, subagent("abc123", agent("Plan", "Planned."))
    )


def test_a_sub_agent_stands_one_block_quote_deeper_and_is_not_told_twice() -> None:
    session = caller(content="Nothing there.", toolUseResult={"agentId": "a1"})
    assert markdown(session, subagent("a1", agent("Look\naround", "Nothing there."))) == (
        "**User** (2026-01-17 20:31:59)\nGo\n\n"
        "**Tool: Task** (2026-01-17 20:32:00) Explore: Look\n\n"
        "> **User** (2026-01-17 20:31:59)\n> Look\n> around\n> \n"
        "> **Assistant** (2026-01-17 20:32:00)\n> Nothing there.\n"
    )


def test_sub_agents_of_sub_agents_stand_deeper_at_any_depth() -> None:
    depth = 400
    actors = []
    for number in range(depth):
        session = agent(f"task {number}").response(call("Task", f"t{number}", prompt=f"task {number + 1}"))
        actors.append(subagent(f"a{number}", session, task=f"task {number}"))
    session = SessionBuilder().response(call("Task", "t", prompt="task 0"))
    told = markdown(session, *actors)
    assert f"{'> ' * depth}task {depth - 1}\n" in told


def test_a_sub_agent_that_calls_itself_is_told_once() -> None:
    itself = agent(TASK).response(call("Task", "again", prompt=TASK)).result("again", "agentId: a1")
    assert markdown(caller(), subagent("a1", itself, task=TASK)).count("> **User**") == 1


def test_two_sub_agents_that_call_each_other_are_each_told_once() -> None:
    one = agent("One").response(call("Task", "x", prompt="Two"))
    two = agent("Two").response(call("Task", "y", prompt="One"))
    told = markdown(SessionBuilder(), subagent("a1", one, task="One"), subagent("a2", two, task="Two"))
    assert told.count("> **User**") == 2
    assert "> > **User** (2026-01-17 20:31:59)\n> > Two" in told


def test_sub_agents_without_a_known_call_are_told_in_the_end() -> None:
    told = markdown(SessionBuilder().prompt("Go"), subagent("a1", agent("Alone", "Yes."), kind="Explore", title="Look"))
    assert told.endswith(
        "## Sub-agents without a matching call\n\n**Sub-agent: a1** (Unknown time) Explore · Look\n\n"
        "> **User** (2026-01-17 20:31:59)\n> Alone\n> \n> **Assistant** (2026-01-17 20:32:00)\n> Yes.\n"
    )


def test_a_sub_agent_whose_caller_is_known_stands_at_the_end_of_that_one() -> None:
    inner = subagent("a2", agent("Inner"), parent="a1")
    _, told = walk(caller(), subagent("a1", agent(TASK, "Done."), task=TASK), inner)
    assert list(entry_lines(told))[-5:-1] == [
        "> answer: Done.",
        "> section: Sub-agents without a matching call",
        "> agent: ",
        "> > task: Inner",
    ]


def test_a_workflow_is_told_with_its_agents() -> None:
    session = SessionBuilder().response(call("Workflow", "w", script="phase('Map')"))
    session.result("w", "Workflow launched in background.", toolUseResult={"runId": "wf_1", "isAsync": True})
    actors = [subagent(f"a{n}", agent(f"Part {n}"), workflow="wf_1", kind="workflow-subagent") for n in (1, 2)]
    told = markdown(session, *actors)
    assert (
        "```javascript\nphase('Map')\n```\n\n**Sub-agent: a1** (Unknown time) wf_1 · workflow-subagent\n\n> *" in told
    )
    assert told.index("> Part 1") < told.index("**Sub-agent: a2**") < told.index("> Part 2")
    assert "without a matching call" not in told


def test_a_sub_agent_inside_of_the_file_is_told_at_its_call() -> None:
    session = caller()
    session.sidechain = True
    session.prompt(TASK, parentUuid=None).response(text("A kettle."))
    session.sidechain = False
    session.result("toolu_t", "A kettle.").response(text("They say: a kettle."))
    assert list(entry_lines(walk(session)[1])) == [
        "prompt: Go",
        "call: ",
        "> task: Look around",
        "> answer: A kettle.",
        "call: ",
        "answer: They say: a kettle.",
    ]


def test_a_sub_agent_of_stream_json_is_told_at_its_call() -> None:
    session = caller()
    session.response(text("A kettle."), parent_tool_use_id="toolu_t", parentUuid=None)
    session.result("toolu_t", "A kettle.")
    assert "> answer: A kettle." in entry_lines(walk(session)[1])


def test_a_conversation_holds_its_sub_agents_where_they_were_called(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path)
    store.every_layout()
    conversation = Conversation.of(store.open().resolve(ONE))
    (turn,) = conversation.turns
    assert {position: [child.id for child in children] for position, children in turn.agents.items()} == {
        0: ["flat0001"],
        1: ["nest0001"],
    }
    assert [child.id for child in conversation.unlinked] == ["work0001"]
    assert [child.turns[0].prompt.text for child in conversation.subagents if child.turns[0].prompt] == [TASK] * 3


# --- real ones -------------------------------------------------------------------------------------------


@pytest.mark.skipif(not corpus.session_files(), reason="there is no corpus")
def test_almost_all_ordinary_sub_agents_of_real_sessions_are_linked(capsys: pytest.CaptureFixture[str]) -> None:
    """An ordinary one has an id of letters and digits, and a task; a helper of Claude Code has not, or it warms up."""
    store = Store.open(corpus.STORE, cache=None)
    total, unlinked = 0, []
    for path in corpus.session_files():
        found: SessionFile = store.file_at(path)
        session = store.session_of(found)
        agents = [] if found.is_agent else session.parts[1:]
        walk = TranscriptWalk(TranscriptBuilder(session_subagents(session)))
        for _ in walk.entries(read_events(path) if agents else []):
            pass
        asked = [one for one in agents if one.conversation.first_prompt and one.agent != "warmup"]
        ordinary = {one.path for one in asked if one.id.isalnum()}
        total += len(ordinary)
        unlinked += [one.id for one in walk.unlinked if one.path in ordinary]
    linked = total - len(unlinked)
    with capsys.disabled():
        print(f"\n{linked} of {total} ordinary sub-agents are linked ({linked / total:.1%}); not: {unlinked}")
    assert linked / total >= 0.97


@pytest.mark.skipif(not corpus.session_files(), reason="there is no corpus")
def test_real_sessions_are_told_drawn_and_summed_up_alike() -> None:
    """`show`, `tree` and `summary` go different ways, and come to the same prompts, calls, forks and links."""
    store = Store.open(corpus.STORE, cache=None)
    for session in store.sessions():
        told = Conversation.of(session)
        drawn = MarkedConversation(skips_sidechains=session.has_sidechains)
        drawn.read(session.events())
        summary = summarize(session)
        calls = [entry for turn in told.turns for entry in turn.calls]
        prompts = [turn for turn in told.turns if turn.prompt and turn.prompt.kind is EntryKind.PROMPT]
        assert summary.user_messages == sum(mark.kind == MarkKind.PROMPT for mark in drawn.marks) == len(prompts), (
            session
        )
        assert sum(summary.tool_calls.values()) == len(calls), session
        assert summary.forks == len(told.tree.forks) == len(drawn.tree.forks), session
        linked = {child.id for turn in told.turns for children in turn.agents.values() for child in children}
        assert {one.id for one in session.subagents if one.call_id} <= linked | {""}, session


def retried() -> SessionBuilder:
    """Two calls with one prompt: the first was interrupted, and only the second has a sub-agent."""
    session = SessionBuilder(session_id=ONE).response(call("Task", "t1", description="first", prompt=TASK))
    session.result("t1", "Interrupted", error=True)
    session.response(call("Task", "t2", description="second", prompt=TASK))
    return session.result("t2", "Done.", toolUseResult={"agentId": AGENT})


def test_a_call_that_names_a_sub_agent_counts_more_than_an_earlier_one_with_its_task(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path)
    retried().write(builder.home() / f"{ONE}.jsonl")
    builder.agent(place="subagents", task=TASK)
    (turn,) = Conversation.of(builder.open().resolve(ONE)).turns
    assert [turn.calls[position].id for position in turn.agents] == ["t2"]


def test_a_fork_in_a_sub_agent_is_told() -> None:
    session = SessionBuilder(sidechain=True).prompt("Look").response(call("Bash", "b")).result("b")
    session.response(text("One"))
    session.response(text("Two"), parentUuid="00000000-0000-4000-8000-000000000003")
    assert "fork: " in entry_lines(walk(session, is_agent=True)[1])


def test_what_goes_on_where_it_was_before_a_fork_is_marked() -> None:
    session = SessionBuilder().prompt("First").response(text("One")).prompt("Left").response(text("L"))
    session.prompt("Right", parentUuid="00000000-0000-4000-8000-000000000002")
    session.response(text("L again"), parentUuid="00000000-0000-4000-8000-000000000004")
    marked = [(one.entry.kind, one.entry.body.line) for one in walk(session)[1] if isinstance(one.entry.body, Fork)]
    assert marked == [(EntryKind.FORK, 2), (EntryKind.RETURN, 4)]


def chain_of_agents(builder: StoreBuilder) -> None:
    """A session that calls a sub-agent, which calls another, which calls another."""
    names = ["aaaa1111", "bbbb2222", "cccc3333"]
    session = SessionBuilder(session_id=ONE).prompt("Go")
    for depth, name in enumerate(names):
        session.response(call("Task", f"t{depth}", prompt=f"Task {depth}"))
        session.result(f"t{depth}", "Done.", toolUseResult={"agentId": name})
        path = builder.home() / ONE / "subagents" / f"agent-{names[depth - 1]}.jsonl"
        session.write(path if depth else builder.home() / f"{ONE}.jsonl")
        session = SessionBuilder(session_id=ONE, sidechain=True).prompt(f"Task {depth}")
    session.response(text("Deep.")).write(builder.home() / ONE / "subagents" / f"agent-{names[-1]}.jsonl")


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_below_the_wanted_depth_nobody_turns_up_elsewhere(tmp_path: Path, depth: int) -> None:
    builder = StoreBuilder(tmp_path)
    chain_of_agents(builder)
    session = builder.open().resolve(ONE)
    found = TranscriptWalk(TranscriptBuilder(session_subagents(session)), depth=depth)
    told = list(found.entries(session.events()))
    assert max(one.depth for one in told) == depth
    assert found.unlinked == []


def test_many_sub_agents_are_found_without_looking_at_each() -> None:
    count = 3000
    session = SessionBuilder()
    for number in range(count):
        session.response(call("Task", f"t{number}", prompt=f"task {number}"))
    actors = [
        subagent(f"a{number}", SessionBuilder(), task=f"task {number}", parent="nobody") for number in range(count)
    ]
    found, _ = walk(session, *actors)
    assert found.unlinked == []
