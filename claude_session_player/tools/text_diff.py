"""Compares two texts line by line, for changes of which Claude Code recorded no diff."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

CONTEXT: Final = 3
"""The number of unchanged lines around a change."""
MOST_STEPS: Final = 40_000_000
"""If difflib may need more steps than this, about half a second, all lines are shown as removed and added."""
_STEPS_PER_LINE: Final = 7
"""The measured cost of a line, in pairs of equal lines."""

SAME: Final = " "
REMOVED: Final = "-"
ADDED: Final = "+"

DiffRun = tuple[str, Sequence[str]]
"""The sign of consecutive lines of one kind, and those lines."""


def text_diff(old: str, new: str) -> str:
    """The changed lines, with some context; empty if nothing changed.

    A line break at the end of both texts is not a line of its own.

    >>> print(text_diff("a\\nb\\nc\\nd\\ne", "a\\nB\\nc\\nD\\ne"))
     a
    -b
    +B
     c
    -d
    +D
     e
    """
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    if before[-1:] == after[-1:] == [""]:
        before.pop()
        after.pop()
    if before == after:
        return ""
    return "\n".join(_with_context(diff_runs(before, after)))


def diff_runs(before: Sequence[str], after: Sequence[str]) -> list[DiffRun]:
    """All lines of both texts in order, in runs of the same kind; no run is empty."""
    if set(before).isdisjoint(after):  # nothing to compare, which is frequent
        found: Iterable[DiffRun] = ((REMOVED, before), (ADDED, after))
    else:
        head = _common_lines(before, after)
        tail = _common_lines(reversed(before[head:]), reversed(after[head:]))
        middle = _changed(before[head : len(before) - tail], after[head : len(after) - tail])
        found = ((SAME, before[:head]), *middle, (SAME, before[len(before) - tail :]))
    return [run for run in found if run[1]]


def _changed(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffRun]:
    """The same for two texts without a common beginning or end."""
    if not _is_worth_comparing(before, after):
        yield REMOVED, before
        yield ADDED, after
        return
    from difflib import SequenceMatcher

    for kind, old_start, old_end, new_start, new_end in SequenceMatcher(None, before, after, False).get_opcodes():
        if kind == "equal":
            yield SAME, before[old_start:old_end]
        else:
            yield REMOVED, before[old_start:old_end]
            yield ADDED, after[new_start:new_end]


def _is_worth_comparing(before: Sequence[str], after: Sequence[str]) -> bool:
    """True if there are common lines, and difflib finds them soon: each match may take all lines and pairs."""
    if set(before).isdisjoint(after):
        return False
    counts = Counter(after)
    pairs = sum([counts[line] for line in before])
    matches = min(len(before), len(after), pairs)
    return matches * (_STEPS_PER_LINE * len(before) + pairs) <= MOST_STEPS


def _with_context(parts: Sequence[DiffRun]) -> Iterator[str]:
    """The runs as text; of unchanged lines only those next to a change."""
    for number, (sign, lines) in enumerate(parts):
        if sign != SAME:
            yield _signed(sign, lines)
            continue
        first, last = number == 0, number == len(parts) - 1
        above, below = 0 if first else CONTEXT, 0 if last else CONTEXT
        hidden = len(lines) - above - below
        if hidden <= (0 if first or last else 1):
            yield _signed(sign, lines)
        elif first or last:
            yield _signed(sign, lines[:above] or lines[len(lines) - below :])
        else:
            yield _signed(sign, lines[:above])
            yield f"@@ {hidden} unchanged lines @@"
            yield _signed(sign, lines[len(lines) - below :])


def _signed(sign: str, lines: Sequence[str]) -> str:
    return sign + f"\n{sign}".join(lines)


def _common_lines(some: Iterable[str], others: Iterable[str]) -> int:
    """The number of common lines at the beginning of two texts."""
    count = 0
    for one, other in zip(some, others, strict=False):
        if one != other:
            break
        count += 1
    return count
