"""How much is tried: a sample by default, everything for `make test-hostile`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TypeVar

IS_FULL: Final = os.environ.get("HOSTILE") == "full"

T = TypeVar("T")


def sample(cases: Sequence[T], size: int, turn: int = 0) -> list[T]:
    """`size` cases spread evenly over all of them, others at each turn; all of them in a full run.

    >>> (sample(range(10), 3), sample(range(10), 3, turn=1)) if not IS_FULL else ([0, 3, 6], [1, 4, 7])
    ([0, 3, 6], [1, 4, 7])
    """
    if IS_FULL or len(cases) <= size:
        return list(cases)
    return [cases[(index * len(cases) // size + turn) % len(cases)] for index in range(size)]


def pick(short: int, full: int) -> int:
    """A size that is larger in a full run."""
    return full if IS_FULL else short
