"""What a command found: JSON for scripts, a table for people, and a word where it is nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from claude_session_player.cli.output import print_records
from claude_session_player.cli.records import Fields, record


def show(things: Sequence[Fields], form: str | None, table: str, nothing: str) -> None:
    """Print things: `table` names the function of `tables` that draws them, `nothing` is said where there are none."""
    if form:
        print_records(map(record, things), form)
    elif things:
        getattr(import_module("claude_session_player.cli.tables"), table)(things)
    else:
        say(nothing)


def say(message: str) -> None:
    """A remark on stderr, where there is one."""
    if sys.stderr is not None:
        print(message, file=sys.stderr)
