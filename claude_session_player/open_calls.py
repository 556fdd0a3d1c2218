"""Calls that wait for their results, found by the name of the tool or by age alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class OpenCalls(Generic[T]):
    """Open calls in the order of their numbers, which ascend; each step costs the same, however many there are.

    A call that was taken by age still stands in the queue of its name, and the other way round: whoever comes to it
    there steps over it, once.

    >>> calls = OpenCalls[str]()
    >>> for number, name in enumerate(("Bash", "Read", "Bash")):
    ...     calls.add(number, name, f"{name} {number}")
    >>> calls.pop_oldest("Read"), calls.pop_oldest(), calls.pop_oldest("Read"), list(calls)
    ('Read 1', 'Bash 0', None, ['Bash 2'])
    """

    def __init__(self) -> None:
        self._open: dict[int, T] = {}
        self._all: deque[int] = deque()
        self._by_name: dict[str, deque[int]] = {}

    def add(self, number: int, name: str, call: T) -> None:
        """One more call; its number is greater than all before."""
        self._open[number] = call
        self._all.append(number)
        self._by_name.setdefault(name, deque()).append(number)

    def pop_oldest(self, name: str | None = None) -> T | None:
        """Take the oldest call of a tool, or of all; `None` where there is none."""
        queue = self._all if name is None else self._by_name.get(name)
        while queue:
            number = queue.popleft()
            if number in self._open:
                return self._open.pop(number)
        return None

    def discard(self, number: int) -> None:
        """Take the call of this number, where it is open."""
        self._open.pop(number, None)

    def copy(self) -> OpenCalls[T]:
        """The same calls, which go on by themselves."""
        other = OpenCalls[T]()
        other._open = self._open.copy()
        other._all = self._all.copy()
        other._by_name = {name: queue.copy() for name, queue in self._by_name.items()}
        return other

    def clear(self) -> None:
        """Forget all calls."""
        self._open.clear()
        self._all.clear()
        self._by_name.clear()

    def __iter__(self) -> Iterator[T]:
        """The open calls, tool by tool."""
        return (self._open[number] for queue in self._by_name.values() for number in queue if number in self._open)
