"""`stats`: count tokens and cost by model, project, day, week, month, session or agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from claude_session_player.cli._options import (
    JSON_HELP,
    collect_options,
    examples,
    store_options,
    usage_filter_options,
    utc_option,
)
from claude_session_player.cli._output import print_object, print_text, say, stdout
from claude_session_player.cli._refs import complete_ref, find_session, needs_store
from claude_session_player.cli.list import no_sessions
from claude_session_player.stats import (
    DAY,
    GROUP_KEYS,
    PERIODS,
    SESSION,
    Prices,
    TimeWindow,
    TokenCount,
    UsageGroup,
    UsageShare,
    count_sessions,
    count_tokens,
    group_usage,
    sum_usage,
    unpriced_models,
)
from claude_session_player.store import Filter
from claude_session_player.util import humanize
from claude_session_player.util.text import base_name, display_path, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.cli._tables import Column
    from claude_session_player.store import Session, Store

JSON: Final = "json"
CSV: Final = "csv"
_GROUPINGS: Final = ("model", "project", "day", "week", "month", "session", "agent")
_DEFAULT_GROUPINGS: Final = ("model", DAY, "project")
_DEFAULT_ROWS: Final = 15
_DEFAULT_PERIODS: Final = 30
_BAR_WIDTH: Final = 8
_SESSION_FIELDS: Final = ("title", "project", "path")
_SHORT_NAMES: Final[dict[str, Callable[[str], str]]] = {"model": humanize.short_model_name, "project": base_name}
_TOKEN_COLUMNS: Final = (("INPUT", 0, 4), ("OUTPUT", 1, 6), ("WRITE 5M", 2, 3), ("WRITE 1H", 3, 3), ("READ", 4, 5))
"""The columns of tokens: their headings, which field of `TokenCount` each shows, and their ranks."""


@dataclass(frozen=True)
class TableOptions:
    """Which tables are printed, and how."""

    by: tuple[str, ...]
    top: int | None
    form: Literal["json", "csv"] | None


table_options = collect_options(
    "tables",
    TableOptions,
    TableOptions.__annotations__,
    (
        click.option(
            "--by",
            multiple=True,
            type=click.Choice(_GROUPINGS),
            help="Group by this; repeatable. Default: model, day and project.",
        ),
        click.option(
            "--top",
            type=click.IntRange(min=1),
            metavar="N",
            help=f"At most N rows per table; the last N of days, weeks and months. Default: {_DEFAULT_ROWS}, or "
            f"{_DEFAULT_PERIODS} days, weeks and months.",
        ),
        click.option("--json", "form", flag_value=JSON, help=JSON_HELP),
        click.option(
            "--csv", "form", flag_value=CSV, help="Print one table as CSV, with exact numbers. Default: by model."
        ),
    ),
)


prices_option: Final = click.option(
    "--prices",
    "prices_path",
    type=click.Path(),
    metavar="FILE",
    help="Use these prices first: a JSON file of dollars per million tokens, by model.",
)


def load_prices(path: str | None = None) -> Prices:
    """The prices that genai-prices lists, and before them those of the user."""
    return Prices.load(own=path)


@click.command(
    epilog=examples(
        ("stats --by day --from month", "each day of this month"),
        ("stats latest", "one session"),
        ("stats --by session --csv", "every session, for a spreadsheet"),
    )
)
@click.argument("refs", nargs=-1, metavar="[REF]...", shell_complete=complete_ref)
@table_options
@prices_option
@usage_filter_options
@utc_option
@store_options
def command(
    refs: tuple[str, ...], tables: TableOptions, prices_path: str | None, filter: Filter, stores: StoreOptions
) -> None:
    """Count tokens and cost by model, project, day or session.

    REF is a file, an id, latest or a title: see 'help refs'. Without REF, all sessions are counted; filters select
    among them. A session counts with its sub-agents, and each response counts once, in however many files it is.

    With --from and --to, only the responses of that time count, so that the days of a month add up to the month. Times
    are known to the minute; a response without a time is never counted then. Days are local, or in UTC with --utc.

    --json prints all groupings. Prices come from genai-prices, and from prices.json in the settings directory of this
    program. Models without a known price are named, and left out of the cost.
    """
    if tables.form == CSV and len(tables.by) > 1:
        raise click.UsageError("--csv prints one table: use --by only once")
    with stores.open(required=not refs or any(map(needs_store, refs))) as store:
        sessions = _selected(store, refs, filter)
        prices = load_prices(prices_path)
        window = TimeWindow(filter.since, filter.before) if filter.since or filter.before else None
        shares = count_tokens(sessions, prices, window=window)
    if not sessions:
        say(no_sessions(store.roots, is_filtered=filter != Filter() or bool(refs)))
    elif window and not shares:
        say("No responses between these times.")
    if tables.form == JSON:
        print_json(shares, prices, tables.top)
    elif tables.form == CSV:
        print_csv(shares, tables.by[0] if tables.by else "model", tables.top)
    elif shares or (sessions and not window):
        print_stats(shares, prices, tables.by, tables.top)


def _selected(store: Store, refs: tuple[str, ...], filter: Filter) -> list[Session]:
    """The sessions to count. Sub-agents whose session has no file stand for it.

    The times of the filter select responses, not sessions, except where `--limit` or `--offset` count sessions.
    """
    if filter.limit is None and not filter.offset:
        filter = filter._replace(since=None, before=None)
    if not refs:
        return store.sessions(filter._replace(include_orphans=True))
    found = {(session.path, session.id): session for session in (find_session(store, ref) for ref in refs)}
    return filter._replace(include_subagents=True).apply(found.values())


# --- as JSON and CSV ----------------------------------------------------------------------------------


def topmost(groups: Sequence[UsageGroup], by: str, top: int | None) -> Sequence[UsageGroup]:
    """At most `top` groups; of days, weeks and months, the last ones."""
    if top is None:
        return groups
    return groups[-top:] if by in PERIODS else groups[:top]


def print_json(shares: Sequence[UsageShare], prices: Prices, top: int | None) -> None:
    """One object: the totals, each grouping, and where the prices come from."""
    tables: dict[str, Any] = {
        f"by_{by}": [_record(by, group) for group in topmost(group_usage(shares, by), by, top)] for by in GROUP_KEYS
    }
    sessions, _ = count_sessions(shares)
    record: dict[str, Any] = {
        "totals": {"sessions": sessions, **_numbers(sum_usage(shares))},
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
    print_object(record)


def print_csv(shares: Sequence[UsageShare], by: str, top: int | None) -> None:
    """The rows of one grouping, with a header."""
    import csv

    extra = _SESSION_FIELDS if by == SESSION else ()
    writer = csv.writer(stdout(), lineterminator="\n")
    writer.writerow((by, *extra, "responses", *TokenCount._fields, "total", "cost_usd", "unpriced"))
    for group in topmost(group_usage(shares, by), by, top):
        cost = "" if group.cost is None else f"{group.cost.normalize():f}"
        fields = _session_fields(group) if extra else {}
        name = display_path(group.name or "")
        numbers = (group.responses, *group.tokens, group.tokens.total, cost, group.unpriced)
        writer.writerow((name, *(fields[key] for key in extra), *numbers))


def _record(by: str, group: UsageGroup) -> dict[str, Any]:
    name = None if group.name is None else display_path(group.name)
    return {by: name, **(_session_fields(group) if by == SESSION else {}), **_numbers(group)}


def _session_fields(group: UsageGroup) -> dict[str, Any]:
    assert group.first is not None
    session = group.first.session
    return {"title": session.title, "project": group.first.project, "path": display_path(session.path)}


def _numbers(group: UsageGroup) -> dict[str, Any]:
    return dict(_pairs(group))


def _pairs(group: UsageGroup) -> Iterator[tuple[str, Any]]:
    yield "responses", group.responses
    yield "tokens", {**group.tokens._asdict(), "total": group.tokens.total}
    yield "cost_usd", None if group.cost is None else float(group.cost)
    yield "unpriced_tokens", group.unpriced


# --- for people ---------------------------------------------------------------------------------------


def print_stats(shares: Sequence[UsageShare], prices: Prices, groupings: Sequence[str], top: int | None) -> None:
    """The totals, then a table for each grouping."""
    for line in _totals(shares, prices):
        print_text(printable(line))
    for by in dict.fromkeys(groupings or _DEFAULT_GROUPINGS):
        groups = group_usage(shares, by)
        rows = topmost(groups, by, top or (_DEFAULT_PERIODS if by in PERIODS else _DEFAULT_ROWS))
        left = len(groups) - len(rows)
        if rows:
            print_text("")
            if left and by in PERIODS:  # the earliest are left out, and the earliest row comes first
                print_text(f"The last {len(rows)} of {humanize.plural(len(groups), by)}:")
            _print_groups(by, rows)
        if left and by not in PERIODS:
            print_text(f"… and {left} more")


def _totals(shares: Sequence[UsageShare], prices: Prices) -> Iterator[str]:
    total = sum_usage(shares)
    sessions, orphans = count_sessions(shares)
    tokens = total.tokens
    parts = (
        humanize.plural(sessions - orphans, "session"),
        *([f"{orphans} more with only sub-agents left"] if orphans else []),
        humanize.plural(total.responses, "response"),
        f"{humanize.short_number(tokens.total)} tokens",
        humanize.dollars(total.cost, total.unpriced),
    )
    yield ", ".join(parts)
    input, output, short, hour, read = map(humanize.short_number, tokens)
    yield f"input {input}, output {output}; cache writes {short} (5 m), {hour} (1 h); cache reads {read}"
    if unknown := unpriced_models(shares):
        names = ", ".join(group.name or "(no model)" for group in unknown)
        yield f"no price known for {humanize.short_number(total.unpriced)} tokens, which are not in the cost: {names}"
    yield f"prices: {display_path(prices.source)}"


def _print_groups(by: str, groups: Sequence[UsageGroup]) -> None:
    from claude_session_player.cli._tables import Column, print_table

    print_table(
        (
            *_name_columns(by, groups),
            Column("RESPONSES", [str(group.responses) for group in groups], 1, right=True),
            *(
                Column(name, [humanize.short_number(group.tokens[kind]) for group in groups], rank, right=True)
                for name, kind, rank in _TOKEN_COLUMNS
            ),
            Column("COST", [humanize.dollars(group.cost, group.unpriced) for group in groups], 9, right=True),
            Column("", _bars(groups), 7, style="cyan"),
        )
    )


def _name_columns(by: str, groups: Sequence[UsageGroup]) -> Iterator[Column]:
    from claude_session_player.cli._tables import Column, short_ids

    if by == SESSION:
        ids = [group.name or "" for group in groups]
        yield Column("SESSION", short_ids(ids, ids), 11, style="cyan")
        titles = [group.first.session.title if group.first else None for group in groups]
        yield Column("TITLE", [title or "(no title)" for title in titles], 8, 14)
        return
    shorten = _SHORT_NAMES.get(by, str)
    names = [display_path(shorten(group.name)) if group.name else f"(no {by})" for group in groups]
    yield Column(by.upper(), names, 10, 12, style="green")


def _bars(groups: Sequence[UsageGroup]) -> list[str]:
    """The size of each group next to the largest: by cost, or by tokens if some have no price."""
    has_costs = all(group.cost is not None and not group.unpriced for group in groups)
    sizes = [float(group.cost or 0) if has_costs else group.tokens.total for group in groups]
    most = max(sizes) or 1
    return [humanize.share_bar(size / most, _BAR_WIDTH) for size in sizes]
