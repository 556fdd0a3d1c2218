"""Of a conversation, only what is wanted is told, with the calls that lead to it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from claude_session_player.parser import read_events
from claude_session_player.transcript.builder import TranscriptBuilder
from claude_session_player.transcript.filters import EntryFilter
from claude_session_player.transcript.subagents import SubagentFinder
from claude_session_player.transcript.walk import TranscriptWalk
from claude_session_player.util.times import parse_time
from tests.builder import SessionBuilder, call, text, thought
from tests.conversations import agent, entry_lines, subagent, walk


def session() -> SessionBuilder:
    """One of everything, and a sub-agent."""
    built = SessionBuilder().prompt("Go").response(thought("Hm."), text("Yes."), call("Bash", "b", command="ls"))
    built.result("b", "No", error=True).response(call("Task", "t", prompt="Look"))
    return built.result("t", "agentId: a1").response(text("Done.")).prompt("Thanks").system("api_error", content="Oh")


HELPER = agent("Look", "Nothing.").response(call("mcp__tea__brew", "m")).result("m").response(call("Read", "r"))


def chosen(**wanted: Any) -> list[str]:
    found = EntryFilter(**wanted).apply(walk(session(), subagent("a1", HELPER))[1])
    names = [getattr(one.entry, "name", "") for one in found if not one.is_end]
    found = EntryFilter(**wanted).apply(walk(session(), subagent("a1", HELPER))[1])
    lines = entry_lines(one for one in found if not one.is_end)
    return [f"{line}{name}" for line, name in zip(lines, names, strict=True)]


TASK = "call: Task"
INNER = ["> task: Look", "> answer: Nothing.", "> call: mcp__tea__brew", "> call: Read"]
BEFORE = ["prompt: Go", "thought: Hm.", "answer: Yes.", "call: Bash", TASK]
AFTER = ["answer: Done.", "prompt: Thanks", "error: Oh"]


def test_without_a_wish_all_is_told() -> None:
    assert chosen() == BEFORE + INNER + AFTER


@pytest.mark.parametrize(
    ("only", "wanted"),
    [
        ("prompts", ["prompt: Go", "prompt: Thanks"]),
        ("user", ["prompt: Go", TASK, "> task: Look", "prompt: Thanks"]),
        ("assistant", ["answer: Yes.", TASK, "> answer: Nothing.", "answer: Done."]),
        ("thinking", ["thought: Hm."]),
        ("tools", ["call: Bash", TASK, "> call: mcp__tea__brew", "> call: Read"]),
        ("errors", ["call: Bash", "error: Oh"]),
        ("subagents", [TASK, *INNER]),
    ],
)
def test_only_a_kind_is_told(only: str, wanted: list[str]) -> None:
    assert chosen(only=frozenset((only,))) == wanted


def test_several_kinds_are_told_together() -> None:
    assert chosen(only=frozenset(("prompts", "thinking"))) == ["prompt: Go", "thought: Hm.", "prompt: Thanks"]


def test_what_is_hidden_is_not_told() -> None:
    hidden = chosen(hide=frozenset(("subagents", "thinking")))
    assert hidden == ["prompt: Go", "answer: Yes.", "call: Bash", "answer: Done.", "prompt: Thanks", "error: Oh"]


def test_hidden_tools_still_lead_to_what_a_sub_agent_said() -> None:
    assert chosen(hide=frozenset(("tools", "errors")), only=frozenset(("assistant",))) == [
        "answer: Yes.",
        TASK,
        "> answer: Nothing.",
        "answer: Done.",
    ]


@pytest.mark.parametrize(
    ("tool", "wanted"),
    [("bash", ["call: Bash"]), ("mcp__*", [TASK, "> call: mcp__tea__brew"]), ("Glob", []), ("Task", [TASK])],
)
def test_only_one_tool_is_told(tool: str, wanted: list[str]) -> None:
    assert chosen(tool=tool) == wanted


def test_a_stretch_by_lines_has_the_sub_agents_that_were_called_in_it() -> None:
    assert chosen(start=6, end=7) == [TASK, *INNER]


def test_a_stretch_by_time_has_both_ends() -> None:
    def at(second: int) -> datetime:
        return parse_time(f"2026-01-17T20:32:{second:02}.197Z")

    assert chosen(start=at(0), end=at(1)) == ["thought: Hm.", "answer: Yes."]
    assert chosen(start=at(7)) == ["prompt: Thanks", "error: Oh"]


def test_nothing_is_read_behind_the_last_wanted_line() -> None:
    read = []

    def watched() -> Any:
        for one in walk(session())[1]:
            read.append(one)
            yield one

    list(EntryFilter(end=2).apply(watched()))
    assert [one.entry.line for one in read] == [1, 2, 3]


def test_only_the_lines_of_a_branch_are_told() -> None:
    assert chosen(is_on_branch=lambda line: line in (1, 9)) == ["prompt: Go", "prompt: Thanks"]


def test_the_end_of_a_call_is_told_only_where_its_beginning_is() -> None:
    """Entries are gone as soon as they are told: the walk is not kept."""
    session, actors = SessionBuilder(), []
    for number in range(50):
        session.response(call("Bash", f"b{number}")).result(f"b{number}")
        session.response(call("Task", f"t{number}", prompt=f"{number}")).result(f"t{number}", f"agentId: a{number}")
        actors.append(subagent(f"a{number}", agent(f"{number}", "Done.")))
    for choice in (EntryFilter(tool="Bash"), EntryFilter(hide=frozenset(("subagents",)))):
        walking = TranscriptWalk(TranscriptBuilder(SubagentFinder(actors))).entries(read_events(session.lines))
        assert not [one for one in choice.apply(walking) if one.is_end]
