"""What `y` copies of an element."""

from __future__ import annotations

from typing import Any

import pytest

from claude_session_player.models import View
from claude_session_player.player import FrameIndex
from claude_session_player.tui.copying import text_to_copy
from tests.builder import SessionBuilder, call
from tests.players import recording


def copied(session: SessionBuilder) -> str:
    """What is copied of the last element."""
    source = recording(session)
    index = FrameIndex(source.open_source(), View.rich())
    while index.read_more():
        pass
    index.finish()
    return text_to_copy(index, source, index.screen(len(index.frames) - 1).elements[-1])


def called(tool: str, given: dict[str, Any], reply: str, **extra: Any) -> SessionBuilder:
    """A session with one call."""
    return SessionBuilder().response(call(tool, "c", **given)).result("c", reply, **extra)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'Another Claude session sent a message:\n<agent-message from="ada" summary="The kettle">It boils.'
            "</agent-message>\n<agent-message from='ben'>\nAnd cools.\n</agent-message> what?",
            "From ada: The kettle\nIt boils.\n\nFrom ben\nAnd cools.\n\nwhat?",
        ),
        ("<agent-message>Hi</agent-message>", "From another agent\nHi"),
        ("Another Claude session sent a message: hi", "From another agent\nAnother Claude session sent a message: hi"),
    ],
)
def test_a_message_of_another_agent_is_copied_with_its_sender(text: str, expected: str) -> None:
    assert copied(SessionBuilder().prompt(text)) == expected


@pytest.mark.parametrize("given", [{"content": "x = 1\n\ny = 2\n"}, {"content": "x = 1\n\ny = 2"}])
def test_a_new_file_is_copied_as_its_text(given: dict[str, str]) -> None:
    session = called("Write", {"file_path": "/a.py", **given}, "File created successfully at: /a.py")
    assert copied(session) == "x = 1\n\ny = 2"


def test_a_change_is_copied_as_a_diff() -> None:
    session = called("Edit", {"file_path": "/a.py", "old_string": "x = 1", "new_string": "x = 1\ny = 2"}, "Updated.")
    assert copied(session) == " x = 1\n+y = 2"


@pytest.mark.parametrize(("reply", "expected"), [("", "$ true"), ("done", "$ true\ndone")])
def test_a_command_is_copied_with_what_it_printed(reply: str, expected: str) -> None:
    assert copied(called("Bash", {"command": "true"}, reply)) == expected


def test_the_result_of_another_tool_is_copied_by_itself() -> None:
    assert copied(called("Read", {"file_path": "/a.py"}, "1\tx")) == "1\tx"
