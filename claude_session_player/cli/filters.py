"""The options that say which sessions are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Final, TypeVar

import click

from claude_session_player.errors import BadFilter
from claude_session_player.store.dates import parse_span
from claude_session_player.store.filters import SORTS, Filter

_R = TypeVar("_R")
Option = Callable[[Any], Any]


def _start(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    return None if value is None else _span(value)[0]


def _end(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    return None if value is None else _span(value)[1]


def _span(value: str) -> tuple[datetime, datetime]:
    try:
        start, end = parse_span(value)
        return start.astimezone(UTC), end.astimezone(UTC)
    except BadFilter as error:
        raise click.BadParameter(str(error)) from error


_WHEN: Final = "2026-01-17, 2026-01, 2026, today, yesterday, 7d, 12h, 2w, week, month, year, or an ISO time"


def _options(
    since: str,
    before: str,
    before_means: str = "Active then or earlier, that day included.",
    since_means: str = "Active then or later",
) -> Iterator[Option]:
    """All that narrows down which sessions are wanted; the options for times are called as is said."""
    yield click.option("--project", metavar="TEXT", help="Sessions whose project's path has this in it.")
    yield click.option("--cwd", metavar="TEXT", help="Sessions that worked in a directory with this in its path.")
    yield click.option(
        since,
        "since",
        callback=_start,
        metavar="WHEN",
        help=f"{since_means}: {_WHEN}.",
    )
    yield click.option(before, "before", callback=_end, metavar="WHEN", help=before_means)
    yield click.option("--model", metavar="TEXT", help="Sessions that used a model with this in its name.")
    yield click.option("--branch", metavar="TEXT", help="Sessions on a git branch with this in its name.")
    yield click.option("--title", metavar="TEXT", help="Sessions whose title has this in it.")


_SUBAGENTS: Final = click.option(
    "--include-subagents", is_flag=True, help="Sub-agents that have files of their own, too."
)
_ORDER: Final = (
    click.option("--sort", type=click.Choice(list(SORTS)), default="updated", show_default=True, help="The order."),
    click.option("--reverse", is_flag=True, help="The other way round."),
    click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most N sessions."),
    click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Leave out the first N."),
)
_NAMES: Final = frozenset(Filter._fields)


def filter_options(function: Callable[..., _R]) -> Callable[..., _R]:
    """The options as one parameter: `wanted`, a `Filter`."""
    return _with(function, (*_options("--from", "--to"), _SUBAGENTS, *_ORDER))


def window_options(function: Callable[..., _R]) -> Callable[..., _R]:
    """The same for commands that count what happened between two times, not sessions."""
    since, before = "Count what happened then or later", "Count what happened then or earlier, that day included."
    return _with(function, (*_options("--from", "--to", before, since), _SUBAGENTS, *_ORDER))


def care_options(function: Callable[..., _R]) -> Callable[..., _R]:
    """The same for commands that take care of whole sessions; `--to` is free for where they are to be put."""
    return _with(function, (*_options("--since", "--before"), *_ORDER))


def clean_options(function: Callable[..., _R]) -> Callable[..., _R]:
    """The same for the removal of sessions: one that was used later stays, whenever it began."""
    before = "Last active then or earlier, that day included; what went on later stays."
    return _with(function, (*_options("--since", "--before", before), *_ORDER))


def _with(function: Callable[..., _R], options: Sequence[Option]) -> Callable[..., _R]:
    @wraps(function)
    def with_filter(**given: Any) -> _R:
        chosen = {name: given.pop(name) for name in _NAMES & given.keys()}
        return function(wanted=Filter(**chosen), **given)

    for option in reversed(options):
        with_filter = option(with_filter)
    return with_filter
