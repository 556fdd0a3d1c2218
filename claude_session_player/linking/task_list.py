"""The task list of a session: later calls name a task by its number only, and change its status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from claude_session_player.format.blocks import DECODE_ERRORS
from claude_session_player.format.results import decode_task_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from msgspec import Raw

CREATE, UPDATE = "TaskCreate", "TaskUpdate"
TASK_TOOLS: Final = frozenset((CREATE, UPDATE))
"""The tools that change the list."""
_DELETED: Final = "deleted"


class ListedTask(Struct, frozen=True):
    """A task as the list has it."""

    subject: str
    status: str = ""


class TaskList:
    """The tasks by their numbers, as the calls so far leave them.

    >>> from claude_session_player.format.blocks import NOTHING
    >>> tasks = TaskList()
    >>> tasks.note(CREATE, {"subject": "Boil water"}, NOTHING, "Task #1 created successfully: Boil water")
    >>> tasks.note(UPDATE, {"taskId": "1", "status": "completed"}, NOTHING, "Updated task #1 status")
    >>> tasks.subject("1"), list(tasks)
    ('Boil water', [('1', ListedTask(subject='Boil water', status='completed'))])
    """

    def __init__(self) -> None:
        self._tasks: dict[str, ListedTask] = {}

    def __iter__(self) -> Iterator[tuple[str, ListedTask]]:
        """The tasks in the order in which they were created."""
        return iter(self._tasks.items())

    def subject(self, number: Any) -> str | None:
        """What a task is about; `None` if its number is unknown."""
        task = self._tasks.get(str(number))
        return task.subject if task is not None else None

    def note(self, name: str, tool_input: Any, structured: Raw, reply: str) -> None:
        """Note what a call did, when its result is there. A task that was deleted keeps its subject."""
        if not isinstance(tool_input, dict):
            return
        number = _number_of_new(structured, reply) if name == CREATE else str(tool_input.get("taskId", ""))
        known = self._tasks.get(number, ListedTask(""))
        subject, status = tool_input.get("subject"), tool_input.get("status")
        if name == CREATE and known.subject:
            return
        self._tasks[number] = ListedTask(
            subject if isinstance(subject, str) and subject else known.subject,
            status if isinstance(status, str) else known.status,
        )

    def current(self) -> Iterator[tuple[str, ListedTask]]:
        """The tasks with a known subject that were not deleted."""
        return ((number, task) for number, task in self if task.subject and task.status != _DELETED)

    def copy(self) -> TaskList:
        """An independent copy."""
        other = TaskList()
        other._tasks = self._tasks.copy()
        return other


def _number_of_new(structured: Raw, reply: str) -> str:
    """The number of a task that was created, from the structured result or from its words."""
    try:
        return str(decode_task_result(structured).task.id)
    except DECODE_ERRORS:
        return next((word.strip("#:") for word in reply.split() if word.startswith("#")), "")
