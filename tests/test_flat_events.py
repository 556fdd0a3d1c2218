"""Events as flat facts: one for each block, and none is lost."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, strategies as st

from claude_session_player import read_events
from claude_session_player.flat_events import count_flat_events, flatten_event
from claude_session_player.linking.prompts import human_prompt
from tests.builder import SessionBuilder, call, text, thought
from tests.test_cli_store import SCHEMA
from tests.test_properties import records

CONTRACT = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/event"})


def facts(session: SessionBuilder) -> list[dict[str, Any]]:
    return [fact for event in read_events(session.lines) for fact in flatten_event(event)]


def brief(session: SessionBuilder, *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(fact.get(key) for key in ("type", *keys)) for fact in facts(session)]


def test_assistant_text_thinking_tool_use_and_tool_result_are_told_apart() -> None:
    session = SessionBuilder().prompt("Hi").response(thought("Hm."), text("Look:"), call("Bash", "t1", command="ls"))
    session.result("t1", "a\nb", error=True).progress("bash_progress", "t1", fullOutput="…")
    assert brief(session, "text", "name", "tool_use_id", "is_error") == [
        ("user", "Hi", None, None, None),
        ("thinking", "Hm.", None, None, None),
        ("assistant", "Look:", None, None, None),
        ("tool_use", None, "Bash", "t1", None),
        ("tool_result", "a\nb", None, "t1", True),
        ("progress", "…", "bash_progress", "t1", None),
    ]


def test_a_line_with_several_blocks_becomes_several_facts_of_one_line() -> None:
    session = SessionBuilder().prompt([{"type": "tool_result", "tool_use_id": "t1", "content": "x"}, text("And?")])
    assert brief(session, "line", "text") == [("tool_result", 1, "x"), ("user", 1, "And?")]


def test_records_without_a_message_keep_their_type_and_name() -> None:
    session = SessionBuilder().system("turn_duration", durationMs=1500).attachment("queued_command", prompt="More")
    session.line({"type": "custom-title", "customTitle": "T"}).line({"type": "mode"}).line({"type": "hologram"})
    session.raw(b"oops\n").raw(b"\n")
    assert brief(session, "name", "text", "human") == [
        ("system", "turn_duration", "", None),
        ("attachment", "queued_command", "More", True),
        ("custom-title", None, "T", None),
        ("mode", None, None, None),
        ("unknown", "hologram", None, None),
        ("malformed", None, None, None),
    ]


def test_a_remark_keeps_its_words_and_a_compaction_its_size() -> None:
    session = SessionBuilder().system(None, content="Careful!", level="warning").compaction("manual", 1234)
    assert brief(session, "text", "trigger", "tokens") == [
        ("system", "Careful!", None, None),
        ("system", "", "manual", 1234),
    ]


@pytest.mark.parametrize(("content", "human"), [("Hi", True), ("[Request interrupted by user]", False), ("", False)])
def test_a_prompt_says_whether_a_person_typed_it(content: str, human: bool) -> None:
    assert facts(SessionBuilder().prompt(content))[0]["human"] is human


def test_a_prompt_beside_a_result_is_a_persons() -> None:
    blocks = [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}, text("Stop that")]
    (event,) = read_events(SessionBuilder().prompt(blocks).lines)
    assert human_prompt(event) == "Stop that"


@given(st.lists(records, max_size=4))
def test_any_records_keep_the_contract_and_the_count(lines: list[Any]) -> None:
    for event in read_events([json.dumps(line).encode() for line in lines]):
        told = list(flatten_event(event))
        assert len(told) == count_flat_events(event)
        for fact in told:
            CONTRACT.validate(fact)
