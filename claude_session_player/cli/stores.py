"""Options of the commands that look into stores, and what is said beside their output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from claude_session_player.cli.output import ARRAY, LINES
from claude_session_player.errors import NoSuchSession
from claude_session_player.times import in_zone

if TYPE_CHECKING:
    from claude_session_player.store.layout import Trouble
    from claude_session_player.store.library import Progress
    from claude_session_player.store.store import Store

_LONG_READ: Final = 64 << 20
_MOST: Final = 10

_F = TypeVar("_F", bound=Callable[..., Any])


def store_options(function: _F) -> _F:
    """`--root` and `--no-cache`."""
    root = click.option(
        "--root",
        "roots",
        multiple=True,
        metavar="DIR",
        help="A Claude store; may be repeated. Default: $CLAUDE_CONFIG_DIR, else ~/.claude.",
    )
    cache = click.option("--no-cache", is_flag=True, help="Read every file anew, and remember nothing.")
    return root(cache(function))


def archive_options(function: _F) -> _F:
    """`--archived` and `--archive`, besides `store_options`."""
    archived = click.option("--archived", is_flag=True, help="Look into the archive instead of the store.")
    archive = click.option(
        "--archive", metavar="DIR", help="The same, with another archive than the one in the platform's data directory."
    )
    return archived(archive(store_options(function)))


def json_options(function: _F) -> _F:
    """`--json` and `--jsonl`, as the parameter `form`."""
    array = click.option("--json", "form", flag_value=ARRAY, help="Print JSON.")
    lines = click.option("--jsonl", "form", flag_value=LINES, help="Print JSON, one object a line.")
    return array(lines(function))


def json_option(function: _F) -> _F:
    """`--json` of a command that prints one object, as the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def utc_option(function: _F) -> _F:
    """`--utc`, which is in force before any time that is typed is read, and until the command is over."""
    return click.option(
        "--utc",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_use_utc,
        help="Show and read times in UTC instead of local time.",
    )(function)


def _use_utc(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.with_resource(in_zone(UTC))


@contextmanager
def opened(
    roots: tuple[str, ...], no_cache: bool, required: bool = True, archived: bool = False, archive: str | None = None
) -> Iterator[Store]:
    """The stores that are meant, with a progress bar where it takes long; in the end it is said what is unreadable."""
    from claude_session_player.store.store import DEFAULT_CACHE, Store

    cache = None if no_cache else DEFAULT_CACHE
    store: Store | None = None
    try:
        with reading_bar("reading sessions") as progress:
            if archived or archive is not None:
                store = _archived_store(roots, cache, archive, progress)
            else:
                store = Store.open(*roots, cache=cache, progress=progress, required=required)
            yield store
    except NoSuchSession:
        if store is not None:  # what was not found may be there
            warn(store.troubles)
        raise
    warn(store.troubles)
    if (refusal := store.refused_index) is not None:
        from claude_session_player.cli.showing import say
        from claude_session_player.text import display_path, printable

        say(printable(f"note: the index is not used: {display_path(refusal)}"))


def _archived_store(roots: tuple[str, ...], cache: str | None, archive: str | None, progress: Progress | None) -> Store:
    """The archive as a store; what it unpacks is removed when the command is over."""
    from claude_session_player.care.archived import ArchivedStore
    from claude_session_player.care.vault import existing

    if roots:
        raise click.UsageError("--archived looks into the archive, and --root names a store: one of them is too much")
    store = ArchivedStore.at_vault(existing(archive), cache, progress)
    click.get_current_context().call_on_close(store.close)
    return store


def warn(troubles: list[Trouble]) -> None:
    """Say what could not be read."""
    from claude_session_player.humanize import many
    from claude_session_player.text import display_path, printable

    if not troubles or sys.stderr is None:
        return
    count = many(len(troubles), "file or directory", "files or directories")
    print(f"warning: {count} could not be read:", file=sys.stderr)
    for trouble in troubles[:_MOST]:
        print(f"  {printable(f'{display_path(trouble.path)}: {trouble.reason}')}", file=sys.stderr)
    if len(troubles) > _MOST:
        print(f"  … and {len(troubles) - _MOST} more", file=sys.stderr)


@contextmanager
def reading_bar(what: str) -> Iterator[Progress | None]:
    """A bar on stderr, which appears only where there is much to read, and only on a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    bar: list[Any] = []

    def update(done: int, total: int) -> None:
        if total < _LONG_READ:
            return
        if not bar:
            from claude_session_player.cli.progress import started

            bar.append(started(what, total))
        bar[0].update(bar[0].task_ids[0], completed=done)

    try:
        yield update
    finally:
        if bar:
            bar[0].stop()
