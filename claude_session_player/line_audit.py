"""The account of a file's lines: each was shown, merged, hidden by a rule, unknown or malformed."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Sequence


class Fate(IntEnum):
    """What became of a line, the most visible first."""

    SHOWN = 0
    MERGED = 1
    HIDDEN = 2
    UNKNOWN = 3
    MALFORMED = 4


class Outcome(Struct, frozen=True, eq=False):
    """A fate and the rule behind it. Compared by identity, because one is counted for every line."""

    fate: Fate
    rule: str = ""


SHOWN = Outcome(Fate.SHOWN)
MERGED = Outcome(Fate.MERGED)
MALFORMED = Outcome(Fate.MALFORMED)
BLANK = Outcome(Fate.HIDDEN, "blank line")

_hidden: dict[str, Outcome] = {}
_unknown: dict[str, Outcome] = {}


def hidden(rule: str) -> Outcome:
    """The one outcome of a rule that hides lines.

    >>> hidden("isMeta") is hidden("isMeta")
    True
    """
    return _hidden.get(rule) or _hidden.setdefault(rule, Outcome(Fate.HIDDEN, rule))


def unknown(kind: str) -> Outcome:
    """The one outcome of a record type that nobody knows."""
    return _unknown.get(kind) or _unknown.setdefault(kind, Outcome(Fate.UNKNOWN, kind))


class Issue(Struct, frozen=True):
    """A place that could not be read: its line, the byte offset in the file, and why."""

    line: int
    offset: int
    reason: str


class Account(Struct):
    """What became of each line. The totals add up to `lines`, always.

    >>> account = Account()
    >>> account.add(1, SHOWN)
    >>> account.add(2, hidden("isMeta"))
    >>> account.lines, account.total(Fate.SHOWN), account.by_rule(Fate.HIDDEN)
    (2, 1, {'isMeta': 1})
    """

    outcomes: list[Outcome] = []
    """The outcome of each line, in the order of the file."""
    issues: list[Issue] = []
    """Every place that could not be read."""
    unknown_events: Counter[str] = field(default_factory=Counter)
    """How many records of each unknown type there were, those on glued lines included."""
    first_seen: dict[str, int] = {}
    """The first line of each unknown type."""
    last_line: int = 0

    def add(self, line: int, outcome: Outcome) -> None:
        """Book one record; a line with several records counts once, as its most visible one."""
        if line != self.last_line:
            self.last_line = line
            self.outcomes.append(outcome)
        elif outcome.fate < self.outcomes[-1].fate:
            self.outcomes[-1] = outcome

    def add_all(self, lines: list[int], outcomes: Sequence[Outcome]) -> None:
        """Book some records, each with its line."""
        last = self.last_line
        if lines == list(range(last + 1, last + 1 + len(lines))):  # a record a line, as almost always
            self.last_line = last + len(lines)
            self.outcomes += outcomes
        else:
            for line, outcome in zip(lines, outcomes, strict=True):
                self.add(line, outcome)

    def rebook(self, booking: int | None) -> None:
        """Book a line that was shown as merged, because what it showed moved to another element."""
        if booking is not None and self.outcomes[booking] is SHOWN:
            self.outcomes[booking] = MERGED

    @property
    def lines(self) -> int:
        """The number of lines so far."""
        return len(self.outcomes)

    def total(self, fate: Fate) -> int:
        """The number of lines with this fate."""
        return sum(n for outcome, n in Counter(self.outcomes).items() if outcome.fate is fate)

    def by_rule(self, fate: Fate) -> dict[str, int]:
        """The lines with this fate by rule, the most frequent first."""
        found = [(o.rule, n) for o, n in Counter(self.outcomes).items() if o.fate is fate]
        return dict(sorted(found, key=lambda item: (-item[1], item[0])))

    @property
    def flawless(self) -> bool:
        """True where every record was known and could be read."""
        return not self.issues and not self.unknown_events

    @property
    def is_session(self) -> bool:
        """True where at least one line is a record of a session."""
        evidence = (Fate.SHOWN, Fate.MERGED, Fate.HIDDEN)
        foreign = (BLANK, hidden("todo"))
        return any(o.fate in evidence and o not in foreign for o in set(self.outcomes))
