"""The task list of a session: later calls name a task by its number only, and change its status."""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct

from claude_session_player.format.blocks import DECODE_ERRORS
from claude_session_player.format.results import decode_task_result
from claude_session_player.tools.parts import DONE

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

    @property
    def is_listed(self) -> bool:
        """True for a task with a known subject that was not deleted."""
        return bool(self.subject) and self.status != _DELETED

    @property
    def is_open(self) -> bool:
        """True for a listed task that is not done."""
        return self.is_listed and self.status not in DONE


class TaskWindow(NamedTuple):
    """Some tasks in a row, with their numbers, and how many there are above and below them."""

    tasks: list[tuple[str, ListedTask]]
    above: int
    below: int


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
        self._numbers: list[str] = []
        """The numbers of all tasks in the order in which they were created."""
        self._places: dict[str, int] = {}
        """Where each of them is."""
        self._listed: list[int] = []
        """The places of the tasks that the list shows, in order."""
        self._open: list[int] = []
        """A heap of places: all that are open, and some that no longer are."""

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
        self._set(
            number,
            ListedTask(
                subject if isinstance(subject, str) and subject else known.subject,
                status if isinstance(status, str) else known.status,
            ),
        )

    def _set(self, number: str, task: ListedTask) -> None:
        before = self._tasks.get(number)
        if before is None:
            self._places[number] = len(self._numbers)
            self._numbers.append(number)
        self._tasks[number] = task
        place = self._places[number]
        was_listed = before is not None and before.is_listed
        if task.is_listed and not was_listed:
            insort(self._listed, place)
        elif was_listed and not task.is_listed:
            del self._listed[bisect_left(self._listed, place)]
        if task.is_open and not (before is not None and before.is_open):
            heappush(self._open, place)

    def around_work(self, before: int, count: int) -> TaskWindow:
        """Some listed tasks: a few before the first one that is open, or the last ones if none is.

        >>> from claude_session_player.format.blocks import NOTHING
        >>> tasks = TaskList()
        >>> for number in range(9):
        ...     tasks.note(UPDATE, {"taskId": number, "subject": "Stir", "status": "completed"}, NOTHING, "")
        >>> tasks.note(UPDATE, {"taskId": "4", "status": "pending"}, NOTHING, "")
        >>> [number for number, _ in tasks.around_work(2, 3).tasks]
        ['2', '3', '4']
        """
        while self._open and not self._tasks[self._numbers[self._open[0]]].is_open:
            heappop(self._open)
        total = len(self._listed)
        first = bisect_left(self._listed, self._open[0]) if self._open else total
        start = max(min(first - before, total - count), 0)
        numbers = [self._numbers[place] for place in self._listed[start : start + count]]
        return TaskWindow([(number, self._tasks[number]) for number in numbers], start, total - start - len(numbers))

    def copy(self) -> TaskList:
        """An independent copy."""
        other = TaskList()
        other._tasks = self._tasks.copy()
        other._numbers, other._places = self._numbers.copy(), self._places.copy()
        other._listed, other._open = self._listed.copy(), self._open.copy()
        return other


def _number_of_new(structured: Raw, reply: str) -> str:
    """The number of a task that was created, from the structured result or from its words."""
    try:
        return str(decode_task_result(structured).task.id)
    except DECODE_ERRORS:
        return next((word.strip("#:") for word in reply.split() if word.startswith("#")), "")
