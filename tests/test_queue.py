"""Prompts that only the queue holds: each is told once, where the model was given it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from claude_session_player.linking.prompts import human_prompt, with_queued_prompts
from claude_session_player.parser import read_events
from tests.builder import SessionBuilder, text, timestamp


class Queue(SessionBuilder):
    """A session with operations on the queue."""

    def queue(self, operation: str, content: Any = None) -> Queue:
        """One operation."""
        more = {} if content is None else {"content": content}
        return self.line({"type": "queue-operation", "operation": operation, "timestamp": timestamp(9), **more})


def prompts(session: SessionBuilder) -> list[tuple[int, str]]:
    events = with_queued_prompts(read_events(session.lines))
    return [(event.line, prompt) for event in events if (prompt := human_prompt(event)) is not None]


def test_a_prompt_that_was_removed_from_the_queue_is_told_there() -> None:
    session = Queue().queue("enqueue", "Faster").queue("remove")
    assert prompts(session.response(text("Yes"))) == [(2, "Faster")]


def test_a_prompt_at_the_end_of_a_file_is_told() -> None:
    assert prompts(Queue().queue("enqueue", "Faster").queue("remove")) == [(2, "Faster")]


@pytest.mark.parametrize("operation", ["dequeue", "popAll"])
def test_what_becomes_a_line_of_its_own_or_goes_back_to_the_editor_is_not_told_from_the_queue(operation: str) -> None:
    assert prompts(Queue().queue("enqueue", "Faster").queue(operation).response(text("Yes"))) == []


def test_an_attachment_with_the_same_words_is_the_prompt() -> None:
    session = Queue().queue("enqueue", "Faster").queue("remove", "Faster").attachment("queued_command", prompt="Faster")
    assert prompts(session.response(text("Yes"))) == [(3, "Faster")]


def test_a_user_line_between_the_operations_is_the_prompt() -> None:
    session = Queue().queue("enqueue", "Faster").prompt("Faster").queue("remove").response(text("Yes"))
    assert prompts(session) == [(2, "Faster")]


def test_the_same_words_typed_at_another_time_are_another_prompt() -> None:
    session = Queue().prompt("Go on").response(text("One")).queue("enqueue", "Go on").queue("remove")
    session.response(text("Two")).prompt("Go on")
    assert prompts(session) == [(1, "Go on"), (4, "Go on"), (6, "Go on")]


def test_operations_take_the_oldest_or_the_one_that_they_name() -> None:
    session = Queue().queue("enqueue", "One").queue("enqueue", "Two").queue("enqueue", "Three")
    assert prompts(session.queue("remove", "Two").queue("remove").queue("dequeue")) == [(4, "Two"), (5, "One")]


@pytest.mark.parametrize(
    "content",
    [
        "<task-notification><summary>Done</summary></task-notification>",
        '{"task_id":"b1","status":"completed"}',
        '<agent-message from="a1">Hello</agent-message>',
        None,
        [],
    ],
)
def test_what_no_person_typed_is_no_prompt(content: Any) -> None:
    assert prompts(Queue().queue("enqueue", content).queue("remove")) == []


def test_blocks_in_the_queue_are_a_prompt() -> None:
    session = Queue().queue("enqueue", [text("Look"), {"type": "image", "source": {}}]).queue("remove")
    assert prompts(session) == [(2, "Look\n[image]")]


@given(st.lists(st.sampled_from(["enqueue", "remove", "dequeue", "popAll", "response"]), max_size=20))
def test_every_prompt_that_was_taken_up_is_told_once_and_no_other(operations: list[str]) -> None:
    session, waiting, taken = Queue(), list[str](), list[str]()
    for number, operation in enumerate(operations):
        if operation == "response":
            session.response(text("Yes"))
        elif operation == "enqueue":
            session.queue("enqueue", f"Prompt {number}")
            waiting.append(f"Prompt {number}")
        else:
            session.queue(operation)
            oldest = waiting.pop(0) if waiting and operation != "popAll" else None
            taken += [oldest] if oldest and operation == "remove" else []
            waiting = [] if operation == "popAll" else waiting
    assert [prompt for _, prompt in prompts(session)] == taken
