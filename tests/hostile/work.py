"""Counts the work that a call costs, so that growth is told apart from a slow machine."""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, NamedTuple

LINEAR: Final = 2.5
"""The most that twice the input may cost: n log n costs 2.1 to 2.3 times as much, n² four times."""
_FLOOR_LINES: Final = 2_000
_FLOOR_BYTES: Final = 2_000_000
_FLOOR_SECONDS: Final = 0.1
_SLOWEST: Final = 3.5


class Work(NamedTuple):
    """What one call cost."""

    lines: int
    """Lines of Python that ran."""
    peak: int
    """Bytes that were in use at once."""


def measure(call: Callable[[], Any]) -> Work:
    """Run it twice: counted and weighed, because each disturbs the other."""
    return Work(_lines(call), _peak(call))


def assert_linear(shape: Callable[[int], Callable[[], Any]], n: int) -> None:
    """Twice the input costs at most `LINEAR` times the work, in lines and in memory.

    `shape` builds the input of a size outside of what is measured, and gives the call that is. Processor time is the
    only measure of what C does, and so judged too, but generously.
    """
    one, two = shape(n), shape(2 * n)
    small, large = measure(one), measure(two)
    assert large.lines <= LINEAR * max(small.lines, _FLOOR_LINES), f"lines of Python: {small} → {large}"
    assert large.peak <= LINEAR * max(small.peak, _FLOOR_BYTES), f"memory: {small} → {large}"
    if _seconds(two) > _SLOWEST * _FLOOR_SECONDS:
        _assert_time_is_linear(one, two)


def _assert_time_is_linear(one: Callable[[], Any], two: Callable[[], Any]) -> None:
    """Each is timed in turn, so that a machine that is slow for a while is so for both; the fastest of each counts."""
    few: list[float] = []
    many: list[float] = []
    for rounds in (3, 3, 6):  # once more where it looks bad: a busy machine does, too
        for _ in range(rounds):
            few.append(_seconds(one))
            many.append(_seconds(two))
        if min(many) <= _SLOWEST * max(min(few), _FLOOR_SECONDS):
            return
    raise AssertionError(f"processor time: {min(few)} → {min(many)}")


def _lines(call: Callable[[], Any]) -> int:
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(previous)
    return count


def _peak(call: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def _seconds(call: Callable[[], Any]) -> float:
    """Processor time, without the garbage collector's looks at all that other tests have left in this process."""
    gc.freeze()
    try:
        start = time.process_time()
        call()
        return time.process_time() - start
    finally:
        gc.unfreeze()
