"""Elements to markdown: prefixes, indents, gaps; and the window that redraws only changes."""

from __future__ import annotations

import random

import pytest

from claude_session_player import ScreenState, View, render
from claude_session_player.formatter import MarkdownWindow, to_markdown
from claude_session_player.models import (
    AssistantText,
    CompactionRule,
    ScreenElement,
    SystemOutput,
    ThinkingIndicator,
    ToolActivity,
    ToolCall,
    TurnDuration,
    UserMessage,
)
from claude_session_player.util.text import Cut
from tests.builder import SessionBuilder, call, parsed, text, thought


@pytest.mark.parametrize(
    ("element", "markdown"),
    [
        (UserMessage("one\ntwo"), "❯ one\n  two"),
        (UserMessage(""), "❯"),
        (AssistantText("# one\n\ntwo"), "● # one\n  \n  two"),
        (ThinkingIndicator(), "✱ Thinking…"),
        (TurnDuration(88_000), "✱ Crunched for 1m 28s"),
        (TurnDuration(59_000), "✱ Crunched for 59s"),
        (SystemOutput("one\ntwo"), "one\ntwo"),
        (SystemOutput(""), "(no output)"),
        (ToolCall("Bash", "ls"), "● Bash(ls)"),
        (ToolCall("Bash", "ls", "one\ntwo"), "● Bash(ls)\n  └ one\n    two"),
        (ToolCall("Bash", "ls", ""), "● Bash(ls)\n  └ (no output)"),
        (ToolCall("Bash", "ls", "", is_error=True), "● Bash(ls)\n  ✗ (no output)"),
        (ToolCall("Bash", "ls", "bad\nworse", is_error=True), "● Bash(ls)\n  ✗ bad\n    worse"),
        (ToolCall("Bash", "ls", "1\n2\n3\n4", cut=Cut.LINES), "● Bash(ls)\n  └ 1\n    2\n    3\n    4\n  └ …"),
        (ToolCall("Bash", "ls", "1\n2", is_error=True, cut=Cut.LINES), "● Bash(ls)\n  ✗ 1\n    2\n  └ …"),
        (ToolCall("Bash", "ls", "", cut=Cut.LINES), "● Bash(ls)\n  └ \n  └ …"),
        (ToolCall("Task", "x", "found", cut=Cut.WIDTH), "● Task(x)\n  └ found…"),
        (ToolCall("WebSearch", "x", activity=ToolActivity("query", "")), "● WebSearch(x)\n  └ Searching: …"),
        (CompactionRule("auto", 167503), "── compacted (auto, 167503 tokens) ──"),
        (CompactionRule("manual"), "── compacted (manual) ──"),
    ],
)
def test_each_element_has_its_look(element: ScreenElement, markdown: str) -> None:
    assert to_markdown([element], View()) == markdown


def test_the_full_view_cuts_nothing() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="x" * 99), call("Task", "b", description="y"))
    answer = {"content": [text("z" * 99 + "\nend\n")]}
    session.result("a", "\n".join("123456789")).result("b", "agentId: x", toolUseResult=answer)
    state = ScreenState(View.full())
    for line in parsed(session.lines):
        render(state, line)
    results = "\n    ".join("123456789")
    assert state.to_markdown() == f"● Bash({'x' * 99})\n  └ {results}\n● Task(y)\n  └ {'z' * 99}\n    end"


def test_lines_are_not_wrapped() -> None:
    assert to_markdown([AssistantText("word " * 50)], View()) == "● " + "word " * 50


# --- what changed ---------------------------------------------------------------------------------


def test_the_state_tells_what_was_added() -> None:
    state = ScreenState()
    message = {"id": "m", "content": [text("a"), text("b")]}
    render(state, {"type": "assistant", "message": message})
    assert (state.changes.added, state.changes.changed, state.changes.cleared) == (range(2), (), False)


def test_the_state_tells_what_was_changed() -> None:
    state = ScreenState()
    for line in parsed(SessionBuilder().prompt("Hi").response(call("Bash", "a")).result("a").lines):
        render(state, line)
    assert (list(state.changes.added), state.changes.changed) == ([], (1,))


def test_the_state_tells_that_it_was_cleared() -> None:
    state = ScreenState()
    for line in parsed(SessionBuilder().prompt("Hi").compaction().lines):
        render(state, line)
    assert (state.changes.cleared, list(state.changes.added)) == (True, [])


def test_the_state_tells_what_was_removed_when_a_result_moves() -> None:
    state = ScreenState()
    for line in parsed(SessionBuilder().prompt("Hi").result("a").prompt("Ho").response(call("Bash", "a")).lines):
        render(state, line)
    assert (state.changes.removed, list(state.changes.added)) == ((1,), [2])


def test_changed_positions_are_those_after_the_removals_of_the_same_line() -> None:
    state = ScreenState()
    session = SessionBuilder().result("x", "early").response(call("Bash", "a"), call("Bash", "b"))
    results = [{"type": "tool_result", "tool_use_id": i, "content": i} for i in ("b", "x", "a")]
    for line in parsed(session.prompt(results).lines):
        render(state, line)
    assert (state.changes.removed, state.changes.changed, list(state.changes.added)) == ((0,), (1, 0), [2])


def test_changes_are_forgotten_by_the_next_line() -> None:
    state = ScreenState()
    for line in parsed(SessionBuilder().prompt("Hi").compaction().system("informational").lines):
        render(state, line)
    assert (state.changes.cleared, state.changes.removed, state.changes.changed) == (False, (), ())


def test_a_window_redraws_only_what_changed() -> None:
    state = ScreenState()
    window = MarkdownWindow(state)
    session = SessionBuilder().prompt("Hi").response(call("Bash", "a"), call("Bash", "b")).result("a")
    drawn = []
    for line in parsed(session.lines):
        render(state, line)
        drawn.append(list(window.update()))
    assert drawn == [[0], [1], [2], [1]]


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_a_window_always_shows_what_the_whole_screen_would(seed: int, history: bool) -> None:
    choose = random.Random(seed)
    state = ScreenState(View(history=history))
    window = MarkdownWindow(state)
    session = SessionBuilder()
    for _ in range(120):
        id = choose.choice("abcdef")
        match choose.randrange(11):
            case 0:
                session.prompt("Hi")
            case 1:
                session.response(thought(), text("Ho"), request=choose.choice("rs"))
            case 2 | 3 | 4:
                session.response(call(choose.choice(("Bash", "Task")), id), request=choose.choice("rs"))
            case 5 | 6 | 7:
                session.result(id, "x\ny")
            case 8:
                results = [{"type": "tool_result", "tool_use_id": i, "content": i} for i in choose.sample("abcdef", 3)]
                session.prompt([*results, text("and")] if choose.random() < 0.5 else results)
            case 9:
                blocks = [call("Bash", i) for i in choose.sample("abcdef", 3)]
                session.line({"type": "assistant", "requestId": "r", "message": {"content": [text("Ho"), *blocks]}})
            case _:
                session.compaction() if choose.random() < 0.2 else session.progress("agent_progress", id)
    for line in parsed(session.lines):
        render(state, line)
        window.update()
        assert window.text() == state.to_markdown()
        assert all(isinstance(state.elements[i], ToolCall) for i in state.tool_calls.values())
