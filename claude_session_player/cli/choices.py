"""The options that say what of a conversation is wanted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Final, TypeVar

import click

from claude_session_player.conversation.choice import CATEGORIES, Bound, Choice
from claude_session_player.times import parse_time

_R = TypeVar("_R")
_WORDS: Final = ",".join(CATEGORIES)
_DATE: Final = len("2026-01-17")


def _words(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    for word in words:
        if word not in CATEGORIES:
            raise click.BadParameter(f"{word!r} is none of {', '.join(CATEGORIES)}")
    return frozenset(words)


def _start(ctx: click.Context, param: click.Parameter, value: str | None) -> Bound | None:
    return None if value is None else _bound(value)


def _end(ctx: click.Context, param: click.Parameter, value: str | None) -> Bound | None:
    if value is None:
        return None
    bound = _bound(value)
    if isinstance(bound, datetime) and len(value.strip()) == _DATE:  # that day included
        return bound + timedelta(days=1) - timedelta(microseconds=1)
    return bound


def _bound(value: str) -> Bound:
    if value.strip().isdecimal():
        return int(value)
    try:
        return parse_time(value)
    except ValueError as error:
        raise click.BadParameter(
            f"{value!r} is no line number and no time: write 120, 2026-01-17 or '2026-01-17 20:31:59' (UTC)"
        ) from error


_OPTIONS: Final = (
    click.option("--only", multiple=True, callback=_words, metavar="KINDS", help=f"Only these: {_WORDS}."),
    click.option("--hide", multiple=True, callback=_words, metavar="KINDS", help="All but these; the same words."),
    click.option("--tool", metavar="NAME", help="Only calls of this tool; mcp__* stands for all that begin so."),
    click.option("--from", "start", callback=_start, metavar="N|TIME", help="From this line of the file, or time."),
    click.option("--to", "end", callback=_end, metavar="N|TIME", help="Up to this line, or time (UTC), included."),
)
_NAMES: Final = ("only", "hide", "tool", "start", "end")


def choice_options(function: Callable[..., _R]) -> Callable[..., _R]:
    """The options as one parameter: `choice`, a `Choice`."""

    @wraps(function)
    def with_choice(**given: Any) -> _R:
        chosen = {name: given.pop(name) for name in _NAMES}
        return function(choice=Choice(**chosen), **given)

    for option in reversed(_OPTIONS):
        with_choice = option(with_choice)
    return with_choice
