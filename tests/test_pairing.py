"""Which call a result answers, and that the screen, which has code of its own for it, answers as the rule does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from claude_session_player.format.blocks import ToolResult, ToolUse
from claude_session_player.format.events import Assistant, Event, MessageEvent, User
from claude_session_player.linking.pairing import Pairing
from claude_session_player.models import ScreenState, ToolCall, View
from claude_session_player.parser import read_events
from claude_session_player.renderer import render
from claude_session_player.util.text import strip_escapes
from tests import corpus


def test_a_result_answers_the_call_that_it_names_whichever_comes_first() -> None:
    pairing: Pairing[str, str] = Pairing()
    assert pairing.add_result("early", "b") is None
    assert pairing.add_call("first", "a", "Bash") is None
    assert pairing.add_call("second", "b", "Bash") == "early"
    assert pairing.add_result("late", "a") == "first"
    assert list(pairing.unanswered()) == []


def test_an_id_that_occurs_twice_belongs_to_the_later_call() -> None:
    pairing: Pairing[str, str] = Pairing()
    pairing.add_call("first", "a", "Bash")
    pairing.add_call("second", "a", "Bash")
    assert pairing.add_result("result", "a") == "second"


def test_a_second_result_answers_the_same_call() -> None:
    pairing: Pairing[str, str] = Pairing()
    pairing.add_call("call", "a", "DelegateToAgent")
    assert [pairing.add_result(one, "a") for one in ("started", "complete")] == ["call", "call"]


def test_a_result_without_an_id_answers_the_oldest_open_call_of_its_tool() -> None:
    pairing: Pairing[str, str] = Pairing()
    for name, tool in (("one", "Read"), ("two", "Bash"), ("three", "Read")):
        pairing.add_call(name, None, tool)
    assert pairing.add_result("r", None, "Read") == "one"
    assert pairing.add_result("r", None) == "two"
    assert pairing.add_result("r", None, "Bash") is None
    assert pairing.add_result("r", None) == "three"


def test_a_result_without_an_id_answers_the_oldest_open_call_of_its_source() -> None:
    pairing: Pairing[str, str] = Pairing()
    for id in "ab":
        pairing.add_call(id, id, "Bash", "uuid")
    assert [pairing.add_result("r", None, None, "uuid") for _ in "abc"] == ["a", "b", None]


Answered = list[tuple[int, str, str, int]]
"""The line, the id and the tool of each call that has a result, and the line of its last result."""


def answers_of(events: list[Event]) -> Answered:
    """What the rule says."""
    pairing: Pairing[list[Any], int] = Pairing()
    made: list[list[Any]] = []
    for event in events:
        for block in (
            event.message_content or ()
            if isinstance(event, MessageEvent) and isinstance(event.message_content, list)
            else ()
        ):
            if isinstance(event, Assistant) and isinstance(block, ToolUse):
                made.append([event.line, block.id or "", strip_escapes(block.name or ""), None])
                early = pairing.add_call(made[-1], block.id, made[-1][2], event.uuid)
                made[-1][3] = early
            elif isinstance(event, User) and isinstance(block, ToolResult):
                called = pairing.add_result(event.line, block.tool_use_id, block.name, event.source_uuid)
                if called is not None:
                    called[3] = event.line
    return sorted((line, id, name, result) for line, id, name, result in made if result is not None)


def answers_on_screen(events: list[Event]) -> Answered:
    """The same, as the screen shows it."""
    state = ScreenState(View(history=True, sidechains=True))
    for event in events:
        render(state, event)
    calls = [one for one in state.elements if isinstance(one, ToolCall) and one.result_line is not None]
    return sorted((call.line, call.id or "", call.tool_name, call.result_line or 0) for call in calls)


_IDS = st.sampled_from(["a", "b", "c", None])
_CALLS = st.builds(lambda call, name: ToolUse(call, name, {}), _IDS, st.sampled_from(["Bash", "Read"]))
_RESULTS = st.builds(lambda call, name: ToolResult(call, name=name), _IDS, st.sampled_from(["Bash", "Read", None]))
_UUIDS = st.sampled_from(["u1", "u2", None])


@st.composite
def _events(draw: st.DrawFn) -> list[Event]:
    events: list[Event] = []
    for line in range(1, draw(st.integers(1, 12)) + 1):
        if draw(st.booleans()):
            calls: Any = draw(st.lists(_CALLS, min_size=1, max_size=2))
            events.append(Assistant(line=line, uuid=draw(_UUIDS), content=calls))
        else:
            events.append(User(line=line, source_uuid=draw(_UUIDS), content=[draw(_RESULTS)]))
    return events


@given(_events())
def test_the_screen_pairs_any_calls_and_results_as_the_rule_does(events: list[Event]) -> None:
    assert answers_on_screen(events) == answers_of(events)


@pytest.mark.skipif(not corpus.session_files(), reason="there is no corpus")
def test_the_screen_pairs_real_calls_and_results_as_the_rule_does() -> None:
    def compare(path: Path) -> None:
        events = [event for event in read_events(path) if not (isinstance(event, User) and event.is_meta)]
        assert answers_on_screen(events) == answers_of(events), path

    for path in corpus.session_files():
        compare(path)
