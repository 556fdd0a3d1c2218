"""What the command line says about a session beside its screen: warnings, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from claude_session_player.account import Account
from claude_session_player.humanize import many
from claude_session_player.models import ScreenState
from claude_session_player.names import PROGRAM
from claude_session_player.text import cut, printable

if TYPE_CHECKING:
    from claude_session_player.conversation.branches import Problem
    from claude_session_player.conversation.cast import Actor

_MOST = 10


def warn(account: Account, agent: str = "", *, tells_unknown: bool = False) -> None:
    """One line for each kind of trouble: the malformed places, and each unknown record type.

    Where the lines are those of a sub-agent, beside others, `agent` is its name. `tells_unknown` is true where the
    command itself tells of records of unknown types.
    """
    fate = "" if tells_unknown else " not shown"
    whose = f"sub-agent {printable(agent)}: " if agent else ""
    if account.issues:
        first = account.issues[0]
        places = many(len(account.issues), "malformed place")
        _say(f"{whose}{places} skipped, the first in line {first.line} (byte {first.offset}): {first.reason}")
    for kind, count in account.unknown_events.most_common(_MOST):
        records, first_line = many(count, "record"), account.first_seen[kind]
        _say(f"{whose}{records} of unknown type {cut(printable(kind), 60)!r}{fate}, the first in line {first_line}")
    if (more := len(account.unknown_events) - _MOST) > 0:
        _say(f"{whose}{many(more, 'more unknown type')}: see '{PROGRAM} account'")


def note_empty(state: ScreenState) -> None:
    """Say so where there is nothing to see, lest it look like a failure."""
    if not state.elements:
        note("the screen is empty here")


def note_left_out(state: ScreenState) -> None:
    """Say how much of a session is not on its screen any more."""
    note_not_shown(state.compacted, "element", "from before the last compaction", "; use --history to include them")


def note_not_shown(number: int, noun: str, which: str = "", why: str = "") -> None:
    """Say how many things are not in the output, if any are not."""
    if number > 0:
        words = (many(number, noun), which, "is" if number == 1 else "are", "not shown")
        note(" ".join(filter(None, words)) + why)


def note(message: str) -> None:
    """A remark about what is not in the output."""
    _say(message, kind="note")


def name_problems(problems: Iterable[tuple[Actor | None, Problem]], unlinked: Iterable[Actor]) -> int:
    """A line for each thing that is wrong with a conversation; gives their number."""
    lines = [f"{_whose(actor)}line {problem.line}: {problem.what}" for actor, problem in problems]
    lines += [f"sub-agent {actor.id}: no call is known" for actor in unlinked if not actor.is_helper]
    for line in lines:
        _say(printable(line), kind="problem")
    return len(lines)


def _whose(actor: Actor | None) -> str:
    return f"sub-agent {actor.id}, " if actor else ""


def _say(message: str, kind: str = "warning") -> None:
    if sys.stderr is not None:
        print(f"{kind}: {message}", file=sys.stderr)
