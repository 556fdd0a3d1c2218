"""The task list of a session, and the part of it that a view shows."""

from __future__ import annotations

import sys

from hypothesis import given, strategies as st

from claude_session_player import tools
from claude_session_player.format.blocks import NOTHING
from claude_session_player.linking.task_list import CREATE, UPDATE, ListedTask, TaskList
from claude_session_player.models import ToolCall, View
from claude_session_player.playback import replay
from claude_session_player.tools.brief import DONE_ITEMS, LIST_ITEMS
from claude_session_player.tools.parts import ToolReply
from tests.builder import SessionBuilder, call

STATES = st.sampled_from(["", "pending", "in_progress", "completed", "done", "deleted"])
CHANGES = st.lists(
    st.tuples(st.sampled_from([CREATE, UPDATE]), st.integers(0, 20), st.sampled_from(["", "Stir"]), STATES)
)


def noted(changes: list[tuple[str, int, str, str]], tasks: TaskList) -> TaskList:
    for name, number, subject, status in changes:
        given_fields = {"taskId": number, "subject": subject} | ({"status": status} if status else {})
        tasks.note(name, given_fields, NOTHING, f"Task #{number} created")
    return tasks


def listed(tasks: TaskList) -> list[tuple[str, ListedTask]]:
    """The plain reference: all tasks are looked at."""
    return [(number, task) for number, task in tasks if task.subject and task.status != "deleted"]


def items(tasks: list[tuple[str, ListedTask]]) -> list[dict[str, str]]:
    return [{"content": f"#{number} {task.subject}", "status": task.status} for number, task in tasks]


@given(CHANGES, CHANGES)
def test_the_shown_part_is_that_of_the_whole_list(
    changes: list[tuple[str, int, str, str]], later: list[tuple[str, int, str, str]]
) -> None:
    reply = ToolReply("ok")
    tasks = noted(changes, TaskList())
    copy = noted(later, tasks.copy())
    for each in (tasks, copy):
        whole = tools.call_brief(tools.TODO_LIST, {"todos": items(listed(each))}, reply)
        shown, above, below = each.around_work(DONE_ITEMS, LIST_ITEMS)
        assert tools.list_brief(items(shown), above, below, reply) == whole


def calls_for(count: int) -> int:
    """How many functions are called to show a session in which so many tasks are created, and then done."""
    session = SessionBuilder()
    for number in range(count):
        session.response(call(CREATE, f"c{number}", subject="Stir")).result(f"c{number}", f"Task #{number} created")
    for number in range(count):
        session.response(call(UPDATE, f"u{number}", taskId=str(number), status="completed"))
        session.result(f"u{number}", "Updated")
    calls = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(note)
    try:
        state = replay(session.lines, View.rich())
    finally:
        sys.setprofile(None)
    last = state.elements[-1]
    assert isinstance(last, ToolCall)
    assert last.brief is not None
    return calls


def test_a_change_of_a_long_task_list_is_no_more_work_than_one_of_a_short_one() -> None:
    calls_for(10)
    assert calls_for(400) < 4.5 * calls_for(100)
