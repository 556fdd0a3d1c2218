"""The options that say what of a conversation is wanted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, timedelta
from functools import wraps
from typing import Any, Final, TypeVar

import click

from claude_session_player.conversation.choice import CATEGORIES, Bound, Choice
from claude_session_player.errors import BadFilter
from claude_session_player.store.dates import parse_span

_R = TypeVar("_R")
_WORDS: Final = ",".join(CATEGORIES)


def _words(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    for word in words:
        if word not in CATEGORIES:
            raise click.BadParameter(f"{word!r} is none of {', '.join(CATEGORIES)}")
    return frozenset(words)


def _start(ctx: click.Context, param: click.Parameter, value: str | None) -> Bound | None:
    return None if value is None else _bounds(value)[0]


def _end(ctx: click.Context, param: click.Parameter, value: str | None) -> Bound | None:
    return None if value is None else _bounds(value)[1]


def _bounds(value: str) -> tuple[Bound, Bound]:
    """A line, or the first and the last moment of a time; of a day, all of it is included."""
    if value.strip().isdecimal():
        return int(value), int(value)
    try:
        start, end = (moment.astimezone(UTC) for moment in parse_span(value))
    except BadFilter as error:
        raise click.BadParameter(
            f"{value!r} is no line number and no time: write 120, 2026-01-17, today or '2026-01-17 20:31:59'"
        ) from error
    return start, end if start == end else end - timedelta(microseconds=1)


_OPTIONS: Final = (
    click.option("--only", multiple=True, callback=_words, metavar="KINDS", help=f"Only these: {_WORDS}."),
    click.option("--hide", multiple=True, callback=_words, metavar="KINDS", help="All but these; the same words."),
    click.option("--tool", metavar="NAME", help="Only calls of this tool; mcp__* stands for all that begin so."),
    click.option("--from", "start", callback=_start, metavar="N|TIME", help="From this line of the file, or time."),
    click.option("--to", "end", callback=_end, metavar="N|TIME", help="Up to this line, or time, included."),
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
