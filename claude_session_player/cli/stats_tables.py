"""Tokens and cost for people: what it comes to, then tables with bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from claude_session_player import humanize
from claude_session_player.cli.output import print_text
from claude_session_player.cli.stats_records import topmost
from claude_session_player.cli.tables import Column, print_table, short_ids
from claude_session_player.insight.groups import (
    DAY,
    PERIODS,
    SESSION,
    Group,
    count_sessions,
    grouped,
    summed,
    unpriced_models,
)
from claude_session_player.insight.prices import Prices
from claude_session_player.insight.tokens import Share
from claude_session_player.text import display_path, file_name, printable

_USUAL: Final = ("model", DAY, "project")
_ROWS: Final = 15
_DAYS: Final = 30
_BAR: Final = 8
_NAMES: Final[dict[str, Callable[[str], str]]] = {"model": humanize.model, "project": file_name}
_NUMBERS: Final = (("INPUT", 0, 4), ("OUTPUT", 1, 6), ("WRITE 5M", 2, 3), ("WRITE 1H", 3, 3), ("READ", 4, 5))
"""The columns of tokens: which of `TokenCount` they show, and how dear they are."""


def print_stats(shares: Sequence[Share], prices: Prices, groupings: Sequence[str], top: int | None) -> None:
    """All that is asked for, the totals first."""
    for line in _totals(shares, prices):
        print_text(printable(line))
    for by in dict.fromkeys(groupings or _USUAL):
        groups = grouped(shares, by)
        rows = topmost(groups, by, top or (_DAYS if by in PERIODS else _ROWS))
        if rows:
            print_text("")
            _print_groups(by, rows)
        if left := len(groups) - len(rows):
            print_text(f"… and {left} {'earlier' if by in PERIODS else 'more'}")


def _totals(shares: Sequence[Share], prices: Prices) -> Iterator[str]:
    total = summed(shares)
    sessions, orphans = count_sessions(shares)
    tokens = total.tokens
    told = (
        humanize.many(sessions - orphans, "session"),
        *([f"{orphans} more of which only sub-agents are left"] if orphans else []),
        humanize.many(total.responses, "response"),
        f"{humanize.number(tokens.total)} tokens",
        humanize.dollars(total.cost, total.unpriced),
    )
    yield ", ".join(told)
    input, output, short, hour, read = map(humanize.number, tokens)
    yield f"input {input}, output {output}; cache writes {short} (5 m), {hour} (1 h); cache reads {read}"
    if unknown := unpriced_models(shares):
        names = ", ".join(group.name or "(no model)" for group in unknown)
        yield f"no price is known for {humanize.number(total.unpriced)} tokens, and they are not in the cost: {names}"
    yield f"prices: {display_path(prices.source)}"


def _print_groups(by: str, groups: Sequence[Group]) -> None:
    print_table(
        (
            *_names(by, groups),
            Column("RESPONSES", [str(group.responses) for group in groups], 1, right=True),
            *(
                Column(name, [humanize.number(group.tokens[kind]) for group in groups], rank, right=True)
                for name, kind, rank in _NUMBERS
            ),
            Column("COST", [humanize.dollars(group.cost, group.unpriced) for group in groups], 9, right=True),
            Column("", _bars(groups), 7, style="cyan"),
        )
    )


def _names(by: str, groups: Sequence[Group]) -> Iterator[Column]:
    if by == SESSION:
        ids = [group.name or "" for group in groups]
        yield Column("SESSION", short_ids(ids, ids), 11, style="cyan")
        titles = [group.first.session.title if group.first else None for group in groups]
        yield Column("TITLE", [title or "(no title)" for title in titles], 8, 14)
        return
    word = _NAMES.get(by, str)
    names = [display_path(word(group.name)) if group.name else f"(no {by})" for group in groups]
    yield Column(by.upper(), names, 10, 12, style="green")


def _bars(groups: Sequence[Group]) -> list[str]:
    """How much each is, beside the most: of the cost, or of the tokens where not all have a price."""
    has_costs = all(group.cost is not None and not group.unpriced for group in groups)
    sizes = [float(group.cost or 0) if has_costs else group.tokens.total for group in groups]
    most = max(sizes) or 1
    return [humanize.bar(size / most, _BAR) for size in sizes]
