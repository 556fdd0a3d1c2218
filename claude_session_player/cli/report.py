"""What the command line says about a session beside its screen: warnings, on stderr."""

from __future__ import annotations

import sys

from claude_session_player.account import Account


def warn(account: Account) -> None:
    """One line for each kind of trouble: the malformed lines, and every unknown record type."""
    if account.issues:
        first = account.issues[0]
        places = _count(len(account.issues), "malformed place")
        _say(f"{places} skipped, the first in line {first.line} (byte {first.offset}): {first.reason}")
    for kind, count in account.unknown_events.items():
        records = _count(count, "record")
        _say(f"{records} of unknown type {kind!r} not shown, the first in line {account.first_seen[kind]}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _say(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)
