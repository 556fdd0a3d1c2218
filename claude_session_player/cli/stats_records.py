"""Tokens and cost for scripts: JSON, described in docs/schema.json, and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from claude_session_player.cli.output import encode, print_text, stdout
from claude_session_player.insight.groups import (
    BY,
    PERIODS,
    SESSION,
    Group,
    count_sessions,
    grouped,
    summed,
    unpriced_models,
)
from claude_session_player.insight.prices import Prices
from claude_session_player.insight.rates import TokenCount
from claude_session_player.insight.tokens import Share
from claude_session_player.text import display_path

_OF_SESSION: Final = ("title", "project", "path")


def topmost(groups: Sequence[Group], by: str, top: int | None) -> Sequence[Group]:
    """So many groups; of days, weeks and months, the last ones."""
    if top is None:
        return groups
    return groups[-top:] if by in PERIODS else groups[:top]


def print_json(shares: Sequence[Share], prices: Prices, top: int | None) -> None:
    """One object: all together, by each of the groupings, and where the prices come from."""
    tables: dict[str, Any] = {
        f"by_{by}": [_record(by, group) for group in topmost(grouped(shares, by), by, top)] for by in BY
    }
    sessions, _ = count_sessions(shares)
    told: dict[str, Any] = {
        "totals": {"sessions": sessions, **_numbers(summed(shares))},
        **tables,
        "unknown_models": [_record("model", group) for group in unpriced_models(shares)],
        "prices": {
            "source": display_path(prices.source),
            "version": prices.version,
            "date": prices.date,
            "own_file": display_path(prices.own_path) if prices.own_path else None,
            "own_models": sorted(prices.own_models),
        },
    }
    print_text(encode(told))


def print_csv(shares: Sequence[Share], by: str, top: int | None) -> None:
    """The rows of one grouping, with a header."""
    import csv

    extra = _OF_SESSION if by == SESSION else ()
    writer = csv.writer(stdout(), lineterminator="\n")
    writer.writerow((by, *extra, "responses", *TokenCount._fields, "total", "cost_usd", "unpriced"))
    for group in topmost(grouped(shares, by), by, top):
        cost = "" if group.cost is None else f"{group.cost.normalize():f}"
        told = _of_session(group) if extra else {}
        name = display_path(group.name or "")
        numbers = (group.responses, *group.tokens, group.tokens.total, cost, group.unpriced)
        writer.writerow((name, *(told[key] for key in extra), *numbers))


def _record(by: str, group: Group) -> dict[str, Any]:
    name = None if group.name is None else display_path(group.name)
    return {by: name, **(_of_session(group) if by == SESSION else {}), **_numbers(group)}


def _of_session(group: Group) -> dict[str, Any]:
    assert group.first is not None
    session = group.first.session
    return {"title": session.title, "project": group.first.project, "path": display_path(session.path)}


def _numbers(group: Group) -> dict[str, Any]:
    return dict(_pairs(group))


def _pairs(group: Group) -> Iterator[tuple[str, Any]]:
    yield "responses", group.responses
    yield "tokens", {**group.tokens._asdict(), "total": group.tokens.total}
    yield "cost_usd", None if group.cost is None else float(group.cost)
    yield "unpriced_tokens", group.unpriced
