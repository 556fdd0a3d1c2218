"""Whole sessions, byte for byte: the dialects and the demo against their goldens."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_session_player import View, replay

FIXTURES = Path(__file__).parent / "fixtures"
DEMO = Path(__file__).parents[1] / "claude_session_player" / "data" / "demo.jsonl"


def golden(name: str) -> str:
    """The expected screen, as the command line prints it."""
    return (FIXTURES / name).read_bytes().decode()


@pytest.mark.parametrize("name", ["project", "plain", "metadata", "transcript", "stream", "agent-a1b2c3"])
def test_each_dialect_replays_to_its_golden(name: str) -> None:
    state = replay(FIXTURES / f"{name}.jsonl", View(history=name == "stream"))
    assert state.to_markdown() + "\n" == golden(f"{name}.md")
    assert state.account.flawless


def test_records_of_other_dialects_keep_what_they_know() -> None:
    lines = [
        b'{"type":"message","role":"user","content":"main"}',
        b'{"type":"message","role":"user","content":"aside","isSidechain":true}',
        b'{"type":"message","role":"system","content":"be kind"}',
        b'{"type":"tool_use","tool_use_id":"a","tool_name":"Read","tool_input":{"file_path":"/a/b.py"}}',
        b'{"type":"tool_result","tool_use_id":"a","tool_name":"Read","tool_output":null,"output":"hi"}',
    ]
    state = replay(lines)
    assert state.to_markdown() == "❯ main\n\n● Read(b.py)\n  └ hi"
    assert dict(state.account.unknown_events) == {"message of system": 1}


def test_a_file_may_mix_dialects() -> None:
    lines = [
        line for name in ("plain", "transcript") for line in (FIXTURES / f"{name}.jsonl").read_bytes().splitlines()
    ]
    assert replay(lines).to_markdown() + "\n" == golden("plain.md") + "\n" + golden("transcript.md")


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("demo", View()),
        ("demo-history", View(history=True)),
        ("demo-thinking", View(thinking=True)),
        ("demo-full", View.full()),
    ],
)
def test_the_demo_replays_to_its_golden(name: str, view: View) -> None:
    assert replay(DEMO, view).to_markdown() + "\n" == golden(f"{name}.md")


def test_the_demo_shows_every_kind_of_element() -> None:
    elements = replay(DEMO, View(history=True)).elements
    assert {type(element).__name__ for element in elements} == {
        "UserMessage",
        "AssistantText",
        "ToolCall",
        "ThinkingIndicator",
        "TurnDuration",
        "SystemOutput",
        "CompactionRule",
    }
