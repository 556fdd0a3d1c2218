"""Accounts for every line of a file: each was shown, merged, hidden by a rule, unknown or malformed."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Sequence


class LineStatus(IntEnum):
    """What happened to a line, the most visible first."""

    SHOWN = 0
    MERGED = 1
    HIDDEN = 2
    UNKNOWN = 3
    MALFORMED = 4


class LineOutcome(Struct, frozen=True, eq=False):
    """A status and the rule behind it. Compared by identity, because one is counted for every line."""

    status: LineStatus
    rule: str = ""


SHOWN = LineOutcome(LineStatus.SHOWN)
MERGED = LineOutcome(LineStatus.MERGED)
MALFORMED = LineOutcome(LineStatus.MALFORMED)
BLANK = LineOutcome(LineStatus.HIDDEN, "blank line")

_hidden: dict[str, LineOutcome] = {}
_unknown: dict[str, LineOutcome] = {}


def hidden_by_rule(rule: str) -> LineOutcome:
    """The outcome of lines that a rule hides; the same object for the same rule.

    >>> hidden_by_rule("isMeta") is hidden_by_rule("isMeta")
    True
    """
    return _hidden.get(rule) or _hidden.setdefault(rule, LineOutcome(LineStatus.HIDDEN, rule))


def unknown_type(kind: str) -> LineOutcome:
    """The outcome of records of an unknown type; the same object for the same type."""
    return _unknown.get(kind) or _unknown.setdefault(kind, LineOutcome(LineStatus.UNKNOWN, kind))


class LineIssue(Struct, frozen=True):
    """A place that could not be read: its line, its byte offset in the file, and why."""

    line: int
    offset: int
    reason: str


class LineAudit(Struct):
    """What happened to each line. The totals always add up to `lines`.

    >>> account = LineAudit()
    >>> account.add(1, SHOWN)
    >>> account.add(2, hidden_by_rule("isMeta"))
    >>> account.lines, account.total(LineStatus.SHOWN), account.by_rule(LineStatus.HIDDEN)
    (2, 1, {'isMeta': 1})
    """

    outcomes: list[LineOutcome] = []
    """The outcome of each line, in the order of the file."""
    issues: list[LineIssue] = []
    """Every place that could not be read."""
    unknown_events: Counter[str] = field(default_factory=Counter)
    """The number of records of each unknown type, including those on glued lines."""
    first_seen: dict[str, int] = {}
    """The first line of each unknown type."""
    last_line: int = 0

    def add(self, line: int, outcome: LineOutcome) -> None:
        """Add the outcome of one record; a line with several records counts once, as its most visible one."""
        if line != self.last_line:
            self.last_line = line
            self.outcomes.append(outcome)
        elif outcome.status < self.outcomes[-1].status:
            self.outcomes[-1] = outcome

    def add_all(self, lines: list[int], outcomes: Sequence[LineOutcome]) -> None:
        """Add the outcomes of several records, each with its line."""
        last = self.last_line
        if lines == list(range(last + 1, last + 1 + len(lines))):  # one record per line, as almost always
            self.last_line = last + len(lines)
            self.outcomes += outcomes
        else:
            for line, outcome in zip(lines, outcomes, strict=True):
                self.add(line, outcome)

    def mark_merged(self, position: int | None) -> None:
        """Change the outcome at a position from shown to merged, because its content moved to another element."""
        if position is not None and self.outcomes[position] is SHOWN:
            self.outcomes[position] = MERGED

    @property
    def lines(self) -> int:
        """The number of lines so far."""
        return len(self.outcomes)

    def total(self, status: LineStatus) -> int:
        """The number of lines with this status."""
        return sum(n for outcome, n in Counter(self.outcomes).items() if outcome.status is status)

    def by_rule(self, status: LineStatus) -> dict[str, int]:
        """The lines with this status by rule, the most frequent first."""
        counts = [(o.rule, n) for o, n in Counter(self.outcomes).items() if o.status is status]
        return dict(sorted(counts, key=lambda item: (-item[1], item[0])))

    @property
    def flawless(self) -> bool:
        """True if every record is readable and of a known type."""
        return not self.issues and not self.unknown_events

    @property
    def is_session(self) -> bool:
        """True if at least one line is a record of a session."""
        evidence = (LineStatus.SHOWN, LineStatus.MERGED, LineStatus.HIDDEN)
        foreign = (BLANK, hidden_by_rule("todo"))
        return any(o.status in evidence and o not in foreign for o in set(self.outcomes))
