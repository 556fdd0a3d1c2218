"""Options of the commands that look into stores, and what is said beside their output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from claude_session_player.cli._output import ARRAY, LINES
from claude_session_player.errors import BadFilter, NoSuchSession
from claude_session_player.store import SORT_KEYS, Filter, parse_date_span
from claude_session_player.util.times import using_zone

if TYPE_CHECKING:
    from rich.progress import Progress as ProgressBar

    from claude_session_player.stats import Prices
    from claude_session_player.store import Progress, ReadProblem, Store

_R = TypeVar("_R")
Option = Callable[[Any], Any]


def _start(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    return None if value is None else _span(value)[0]


def _end(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    return None if value is None else _span(value)[1]


def _span(value: str) -> tuple[datetime, datetime]:
    try:
        start, end = parse_date_span(value)
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
    click.option("--sort", type=click.Choice(list(SORT_KEYS)), default="updated", show_default=True, help="The order."),
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


def start_bar(what: str, total: int) -> ProgressBar:
    """A bar that is shown until it is stopped, and then vanishes; it has one task."""
    from rich.progress import BarColumn, DownloadColumn, Progress as ProgressBar, TextColumn, TimeRemainingColumn

    from claude_session_player.util.terminal import console

    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    progress = ProgressBar(*columns, console=console(sys.stderr), transient=True)
    progress.add_task("", total=total)
    progress.start()
    return progress


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
        ctx.with_resource(using_zone(UTC))


@contextmanager
def open_store(
    roots: tuple[str, ...], no_cache: bool, required: bool = True, archived: bool = False, archive: str | None = None
) -> Iterator[Store]:
    """The stores that are meant, with a progress bar where it takes long; in the end it is said what is unreadable."""
    from claude_session_player.store import DEFAULT_CACHE, Store

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
            warn_unreadable(store.problems)
        raise
    warn_unreadable(store.problems)
    if (refusal := store.refused_index) is not None:
        from claude_session_player.cli._output import say
        from claude_session_player.util.text import display_path, printable

        say(printable(f"note: the index is not used: {display_path(refusal)}"))


def _archived_store(roots: tuple[str, ...], cache: str | None, archive: str | None, progress: Progress | None) -> Store:
    """The archive as a store; what it unpacks is removed when the command is over."""
    from claude_session_player.archive import ArchivedStore, open_archive_dir

    if roots:
        raise click.UsageError("--archived looks into the archive, and --root names a store: one of them is too much")
    store = ArchivedStore.from_archive_dir(open_archive_dir(archive), cache, progress)
    click.get_current_context().call_on_close(store.close)
    return store


def warn_unreadable(troubles: list[ReadProblem]) -> None:
    """Say what could not be read."""
    from claude_session_player.util.humanize import plural
    from claude_session_player.util.text import display_path, printable

    if not troubles or sys.stderr is None:
        return
    count = plural(len(troubles), "file or directory", "files or directories")
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
            bar.append(start_bar(what, total))
        bar[0].update(bar[0].task_ids[0], completed=done)

    try:
        yield update
    finally:
        if bar:
            bar[0].stop()


def prices_option(function: _F) -> _F:
    """`--prices`, as the parameter `own`."""
    option = click.option(
        "--prices",
        "own",
        type=click.Path(),
        metavar="FILE",
        help="Prices of your own, as JSON: dollars for a million tokens, by model. They go before all others.",
    )
    return option(function)


def load_prices(own: str | None = None) -> Prices:
    """The prices that genai-prices lists, and the user's own."""
    from claude_session_player.stats import Prices

    return Prices.load(own=own)
