"""What became of a text, line by line: used where the harness kept no patch of a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

CONTEXT: Final = 3
"""How many unchanged lines are shown around a change."""
MOST_STEPS: Final = 40_000_000
"""Where difflib may need more steps than this, about half a second, all lines go out and all come in."""
_STEPS_PER_LINE: Final = 7
"""To look at a line costs as much as to look at so many pairs of equal lines, measured."""

SAME: Final = " "
REMOVED: Final = "-"
ADDED: Final = "+"

Stretch = tuple[str, Sequence[str]]
"""Lines of one kind that follow each other, behind the sign of their kind."""


def text_diff(old: str, new: str) -> str:
    """The lines that changed, with some of those around them; empty where nothing changed.

    A line break at the end of both texts makes no line of its own.

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


def diff_runs(before: Sequence[str], after: Sequence[str]) -> list[Stretch]:
    """All lines of both texts in order, by what became of them; none of the stretches is empty."""
    if set(before).isdisjoint(after):  # nothing to compare, as often as not
        found: Iterable[Stretch] = ((REMOVED, before), (ADDED, after))
    else:
        head = _shared(before, after)
        tail = _shared(reversed(before[head:]), reversed(after[head:]))
        middle = _changed(before[head : len(before) - tail], after[head : len(after) - tail])
        found = ((SAME, before[:head]), *middle, (SAME, before[len(before) - tail :]))
    return [stretch for stretch in found if stretch[1]]


def _changed(before: Sequence[str], after: Sequence[str]) -> Iterator[Stretch]:
    """The same for two texts that neither begin nor end alike."""
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
    """True if lines are shared, and difflib finds them soon: for each match it may look at all lines and pairs."""
    if set(before).isdisjoint(after):
        return False
    counts = Counter(after)
    pairs = sum([counts[line] for line in before])
    matches = min(len(before), len(after), pairs)
    return matches * (_STEPS_PER_LINE * len(before) + pairs) <= MOST_STEPS


def _with_context(parts: Sequence[Stretch]) -> Iterator[str]:
    """The stretches as text; of unchanged lines only those next to a change."""
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


def _shared(some: Iterable[str], others: Iterable[str]) -> int:
    """How many lines two texts begin with alike."""
    count = 0
    for one, other in zip(some, others, strict=False):
        if one != other:
            break
        count += 1
    return count
