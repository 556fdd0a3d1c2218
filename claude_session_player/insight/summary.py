"""What a session comes to: how long it took, how many prompts, tools, errors, forks, files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from decimal import Decimal
from functools import partial
from typing import Final, NamedTuple

from claude_session_player.insight.aside import aside
from claude_session_player.insight.counts import Counts, counts_of_file, counts_of_lines
from claude_session_player.insight.prices import Prices
from claude_session_player.insight.tally import UNNAMED
from claude_session_player.insight.tokens import TokenCount, session_usage
from claude_session_player.store.catalogue import default_folder
from claude_session_player.store.layout import Found
from claude_session_player.store.record import shown
from claude_session_player.store.session import Session

_LARGE: Final = 8 << 20
"""From so many bytes on, it is worth to count the lines of a file aside."""

Counting = Callable[[], Counts]
"""Gives what was counted in a file, with the lines of sub-agents inside of it."""


class SessionSummary(NamedTuple):
    """What a session comes to. Numbers are those of its own file; sub-agents are counted, their work is not."""

    id: str
    path: str
    title: str | None
    project: str | None
    git_branches: tuple[str, ...]
    models: tuple[str, ...]
    """The last used first."""
    versions: tuple[str, ...]
    started_at: str | None
    ended_at: str | None
    duration_seconds: float
    active_seconds: float
    """Without gaps of more than 10 minutes."""
    events: int
    user_messages: int
    tool_calls: dict[str, int]
    """By tool, the most used first."""
    subagents: dict[str, int]
    """By kind, at any depth, the most frequent first."""
    errors: int
    """Results of tools that are errors, and requests that failed."""
    compactions: int
    forks: int
    files_read: int
    files_changed: int
    tokens: TokenCount
    """Of the session and its sub-agents, each response counted once."""
    cost: Decimal | None
    """In US dollars, without models that have no known price; `None` where none has one."""
    unpriced_models: tuple[str, ...]


class Expense(NamedTuple):
    """What was used, and what it cost."""

    tokens: TokenCount
    cost: Decimal | None
    unpriced_models: tuple[str, ...]


def counting(file: Found) -> AbstractContextManager[Counting]:
    """Begin to count the lines of a file, aside where it is large: its session may be found meanwhile."""
    return aside(partial(counts_of_file, file.path), is_long=file.stamp.size >= _LARGE)


def summarize(session: Session, prices: Prices | None = None, counted: Counting | None = None) -> SessionSummary:
    """Read the file of a session once, and tell what it comes to, at these prices or the usual ones.

    Where the lines of the file are being counted already, they are not read again.
    """
    expense = _expense(session, prices or Prices.load(default_folder()))
    counts = _counts(session, counted)
    span = counts.span
    return SessionSummary(
        id=shown(session.id),
        path=shown(session.path),
        title=session.title,
        project=session.project,
        git_branches=session.facts.branches,
        models=tuple(session.speech.models[::-1]),
        versions=counts.versions,
        started_at=span.started,
        ended_at=span.ended,
        duration_seconds=span.seconds,
        active_seconds=span.active,
        events=session.speech.events,
        user_messages=counts.prompts,
        tool_calls=counts.tools,
        subagents=dict(Counter(_kinds(session)).most_common()),
        errors=counts.errors,
        compactions=counts.compactions,
        forks=counts.forks,
        files_read=counts.files_read,
        files_changed=counts.files_changed,
        **expense._asdict(),
    )


def _counts(session: Session, counted: Counting | None) -> Counts:
    """What is counted in a session. What sub-agents inside of its file did is theirs."""
    if session.is_inline:
        return counts_of_lines(session.lines())
    if session.facts.inline:
        return counts_of_file(session.path, skips_sidechains=True)
    return counted() if counted is not None else counts_of_file(session.path)


def _expense(session: Session, prices: Prices) -> Expense:
    tokens, known, unknown = TokenCount(), [], []
    for usage in session_usage(session, prices):
        tokens = tokens.add(usage.tokens)
        if usage.cost is not None:
            known.append(usage.cost)
        elif usage.model and usage.tokens.total:
            unknown.append(usage.model)
    return Expense(tokens, sum(known, Decimal()) if known else None, tuple(unknown))


def _kinds(session: Session) -> Iterator[str]:
    waiting = list(session.subagents)
    while waiting:
        agent = waiting.pop()
        yield agent.agent or UNNAMED
        waiting += agent.subagents
