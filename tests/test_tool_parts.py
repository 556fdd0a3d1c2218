"""Every tool has a look of its own; a golden holds them all, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import Raw

from claude_session_player.export.transcript import TranscriptStyle
from claude_session_player.format import lenient_json
from claude_session_player.format.content import Checklist, Diff
from claude_session_player.tools import TOOLS, call_parts
from claude_session_player.tools.parts import ToolReply
from tests.builder import SessionBuilder, call
from tests.conversations import markdown

GOLDEN = Path(__file__).parent / "fixtures" / "conversation.md"
PATCH = {"structuredPatch": [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" a", "-b", "+c"]}]}
QUESTION = {
    "question": "Which tea?",
    "header": "Tea",
    "options": [{"label": "Green", "description": "Light"}, {"label": "Black", "description": "Strong"}],
}
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 4000}}


def raw(value: Any) -> Raw:
    """A value as the decoder sets it aside."""
    return Raw(lenient_json.dump(value))


def every_tool() -> SessionBuilder:
    """A session in which every tool is called once, and answers as it does."""
    session = SessionBuilder().prompt([{"type": "text", "text": "Use all of them"}, PNG])
    uses: list[tuple[str, dict[str, Any], Any, dict[str, Any]]] = [
        ("Bash", {"command": "seq 30", "description": "Count"}, "\n".join(map(str, range(1, 31))), {}),
        ("Bash", {"command": "true"}, "", {}),
        (
            "Bash",
            {"command": "false", "run_in_background": True},
            "<tool_use_error>No</tool_use_error>",
            {"error": True},
        ),
        ("Read", {"file_path": "/e/kettle.py", "offset": 5, "limit": 2}, "     5→a\n     6→b", {}),
        ("Write", {"file_path": "/e/new.py", "content": "one\ntwo\n"}, "File created", {}),
        ("Edit", {"file_path": "/e/kettle.py", "old_string": "a\nb", "new_string": "a\nc"}, "Updated", {"tool": PATCH}),
        (
            "Edit",
            {"file_path": "/e/x.py", "old_string": "1\n2\n3", "new_string": "1\n3", "replace_all": True},
            "ok",
            {},
        ),
        ("MultiEdit", {"file_path": "/e/y", "edits": [{"old_string": "a", "new_string": "b"}]}, "ok", {}),
        ("NotebookEdit", {"notebook_path": "/e/n.ipynb", "new_source": "x = 1", "edit_mode": "insert"}, "ok", {}),
        ("Grep", {"pattern": "def `x`", "path": "/e"}, "\n".join("abcdefgh"), {}),
        ("Glob", {"pattern": "**/*.py"}, "a.py", {}),
        ("LS", {"path": "/e"}, "- a.py", {}),
        ("WebSearch", {"query": "kettles"}, "Found one", {}),
        ("WebFetch", {"url": "https://example.org", "prompt": "What is it?"}, "A page", {}),
        (
            "TodoWrite",
            {
                "todos": [
                    {"content": "Fill", "status": "completed"},
                    {"content": "Boil", "status": "in_progress"},
                    "Pour",
                ]
            },
            "ok",
            {},
        ),
        (
            "TaskCreate",
            {"subject": "Oil it", "description": "With care"},
            "Task #1 created",
            {"tool": {"task": {"id": "1"}}},
        ),
        ("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status", {}),
        ("AskUserQuestion", {"questions": [QUESTION]}, "…", {"tool": {"answers": {"Which tea?": "Black"}}}),
        ("AskUserQuestion", {"questions": [QUESTION]}, "No response", {}),
        ("ExitPlanMode", {"plan": "# Plan\n\n1. Fill\n2. Boil"}, "User has approved your plan.", {}),
        ("ExitPlanMode", {"plan": "Pour"}, "The user doesn't want to proceed", {"error": True}),
        ("Skill", {"skill": "commit", "args": "all"}, "Launching skill: commit", {}),
        ("SlashCommand", {"command": "/review"}, "ok", {}),
        ("Task", {"description": "Look", "prompt": "Look around", "subagent_type": "Explore"}, "**Nothing** there", {}),
        ("SendMessage", {"to": "bob", "summary": "Hello", "message": "Are you there?"}, "sent", {}),
        ("mcp__tea__brew", {"kind": "green", "cups": [1, 2]}, '{"brewed": true}', {}),
        ("mcp__tea__look", {}, [{"type": "text", "text": "Here"}, PNG], {}),
        ("ToolSearch", {"query": "x"}, [{"type": "tool_reference", "tool_name": "Brew"}], {}),
    ]
    for number, (name, arguments, content, more) in enumerate(uses):
        extra = {"toolUseResult": more["tool"]} if "tool" in more else {}
        session.response(call(name, f"t{number}", **arguments))
        session.result(f"t{number}", content, error=more.get("error"), **extra)
    return session


def test_every_tool_is_told_in_its_own_way() -> None:
    assert markdown(every_tool()) == GOLDEN.read_text(encoding="utf-8")


def test_in_full_nothing_is_left_out() -> None:
    told = markdown(every_tool(), style=TranscriptStyle.full())
    for words in ("\n30\n", "     6→b", "File created", "Updated task #1 status", "\nh\n", "User has approved"):
        assert words in told


def test_a_picture_is_a_link_where_it_is_kept() -> None:
    told = markdown(SessionBuilder().prompt([PNG]), style=TranscriptStyle(save=lambda picture: "pictures/a b.png"))
    assert told == "**User** (2026-01-17 20:31:59)\n![image](<pictures/a b.png>)\n"


def test_a_picture_with_an_address_is_a_link() -> None:
    block = {"type": "image", "source": {"type": "url", "url": "https://example.org/k.png"}}
    assert "\n[image](<https://example.org/k.png>)" in markdown(SessionBuilder().prompt([block]))


def test_an_answer_of_ones_own_is_added_to_the_choices() -> None:
    reply = ToolReply("…", structured=raw({"answers": {"Which tea?": "Coffee"}}))
    (_, choices) = call_parts("AskUserQuestion", {"questions": [QUESTION]}, reply).given
    assert isinstance(choices, Checklist)
    assert [(item.text, item.done) for item in choices.items][-1] == ("Coffee", True)


def test_several_answers_are_several_choices() -> None:
    reply = ToolReply("…", structured=raw({"answers": {"Which tea?": "Green, Black"}}))
    (_, choices) = call_parts("AskUserQuestion", {"questions": [QUESTION]}, reply).given
    assert isinstance(choices, Checklist)
    assert [item.done for item in choices.items] == [True, True]


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=5
)
KEYS = ("file_path", "command", "todos", "questions", "edits", "plan", "prompt", "old_string", "taskId", "message")


@pytest.mark.parametrize("name", [*TOOLS, "Unheard"])
@given(odd=ODD)
def test_no_input_is_too_odd_to_be_told(name: str, odd: Any) -> None:
    inside = {"todos": [odd], "questions": [{"question": odd, "options": odd}], "edits": [odd]}
    for value in (odd, dict.fromkeys(KEYS, odd), inside):
        for reply in (None, ToolReply(), ToolReply("x", True), ToolReply("[", structured=raw(odd))):
            assert call_parts(name, value, reply) is not None
        line = {"type": "assistant", "message": {"content": [{**call(name), "input": value}]}}
        assert markdown(SessionBuilder().raw(lenient_json.dump(line) + b"\n"))


def test_what_the_harness_noted_of_an_edit_counts_more_than_its_input() -> None:
    sketch = call_parts(
        "Edit", {"file_path": "/e", "old_string": "x", "new_string": "y"}, ToolReply("ok", structured=raw(PATCH))
    )
    assert sketch.given == (Diff("@@ -1,2 +1,2 @@\n a\n-b\n+c"),)


def test_an_edit_without_a_patch_shows_only_the_lines_that_changed() -> None:
    given = {"file_path": "/e", "old_string": "a\nb\nc\nd\ne", "new_string": "a\nB\nc\nD\ne"}
    assert call_parts("Edit", given, ToolReply("ok")).given == (Diff(" a\n-b\n+B\n c\n-d\n+D\n e"),)
    assert (
        call_parts("MultiEdit", {"file_path": "/e", "edits": [given]}, None).given
        == call_parts("Edit", given, None).given
    )


def test_a_file_that_is_written_over_shows_what_changed_in_it() -> None:
    given = {"file_path": "/e", "content": "a\nB\nc\n"}
    reply = ToolReply("ok", structured=raw({"type": "update", "originalFile": "a\nb\nc\n", "structuredPatch": []}))
    assert call_parts("Write", given, reply).given == (Diff(" a\n-b\n+B\n c"),)
    unchanged = call_parts("Write", given, ToolReply("ok", structured=raw({"originalFile": given["content"]})))
    assert (unchanged.words, unchanged.given) == ("no changes", ())
    created = ToolReply("ok", structured=raw({"type": "create", "originalFile": None, "structuredPatch": []}))
    assert call_parts("Write", given, created).given == (Diff("+a\n+B\n+c", start=1),)
