"""`stats`: the tokens of sessions, and what they cost."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._options import (
    load_prices,
    open_store,
    prices_option,
    store_options,
    utc_option,
    window_options,
)
from claude_session_player.cli._output import encode_json, print_text, say, stdout
from claude_session_player.cli._refs import complete_ref, find_session, needs_store
from claude_session_player.cli._tables import Column, print_table, short_ids
from claude_session_player.stats import (
    DAY,
    GROUP_KEYS,
    PERIODS,
    SESSION,
    Prices,
    TokenCount,
    UsageGroup,
    UsageShare,
    count_sessions,
    group_usage,
    sum_usage,
    unpriced_models,
)
from claude_session_player.store import Filter
from claude_session_player.util import humanize
from claude_session_player.util.text import base_name, display_path, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from claude_session_player.store import Session, Store

_OF_SESSION: Final = ("title", "project", "path")


def topmost(groups: Sequence[UsageGroup], by: str, top: int | None) -> Sequence[UsageGroup]:
    """So many groups; of days, weeks and months, the last ones."""
    if top is None:
        return groups
    return groups[-top:] if by in PERIODS else groups[:top]


def print_json(shares: Sequence[UsageShare], prices: Prices, top: int | None) -> None:
    """One object: all together, by each of the groupings, and where the prices come from."""
    tables: dict[str, Any] = {
        f"by_{by}": [_record(by, group) for group in topmost(group_usage(shares, by), by, top)] for by in GROUP_KEYS
    }
    sessions, _ = count_sessions(shares)
    told: dict[str, Any] = {
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
    print_text(encode_json(told))


def print_csv(shares: Sequence[UsageShare], by: str, top: int | None) -> None:
    """The rows of one grouping, with a header."""
    import csv

    extra = _OF_SESSION if by == SESSION else ()
    writer = csv.writer(stdout(), lineterminator="\n")
    writer.writerow((by, *extra, "responses", *TokenCount._fields, "total", "cost_usd", "unpriced"))
    for group in topmost(group_usage(shares, by), by, top):
        cost = "" if group.cost is None else f"{group.cost.normalize():f}"
        told = _of_session(group) if extra else {}
        name = display_path(group.name or "")
        numbers = (group.responses, *group.tokens, group.tokens.total, cost, group.unpriced)
        writer.writerow((name, *(told[key] for key in extra), *numbers))


def _record(by: str, group: UsageGroup) -> dict[str, Any]:
    name = None if group.name is None else display_path(group.name)
    return {by: name, **(_of_session(group) if by == SESSION else {}), **_numbers(group)}


def _of_session(group: UsageGroup) -> dict[str, Any]:
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


_USUAL: Final = ("model", DAY, "project")
_ROWS: Final = 15
_DAYS: Final = 30
_BAR: Final = 8
_NAMES: Final[dict[str, Callable[[str], str]]] = {"model": humanize.short_model_name, "project": base_name}
_NUMBERS: Final = (("INPUT", 0, 4), ("OUTPUT", 1, 6), ("WRITE 5M", 2, 3), ("WRITE 1H", 3, 3), ("READ", 4, 5))
"""The columns of tokens: which of `TokenCount` they show, and how dear they are."""


def print_stats(shares: Sequence[UsageShare], prices: Prices, groupings: Sequence[str], top: int | None) -> None:
    """All that is asked for, the totals first."""
    for line in _totals(shares, prices):
        print_text(printable(line))
    for by in dict.fromkeys(groupings or _USUAL):
        groups = group_usage(shares, by)
        rows = topmost(groups, by, top or (_DAYS if by in PERIODS else _ROWS))
        if rows:
            print_text("")
            _print_groups(by, rows)
        if left := len(groups) - len(rows):
            print_text(f"… and {left} {'earlier' if by in PERIODS else 'more'}")


def _totals(shares: Sequence[UsageShare], prices: Prices) -> Iterator[str]:
    total = sum_usage(shares)
    sessions, orphans = count_sessions(shares)
    tokens = total.tokens
    told = (
        humanize.plural(sessions - orphans, "session"),
        *([f"{orphans} more of which only sub-agents are left"] if orphans else []),
        humanize.plural(total.responses, "response"),
        f"{humanize.short_number(tokens.total)} tokens",
        humanize.dollars(total.cost, total.unpriced),
    )
    yield ", ".join(told)
    input, output, short, hour, read = map(humanize.short_number, tokens)
    yield f"input {input}, output {output}; cache writes {short} (5 m), {hour} (1 h); cache reads {read}"
    if unknown := unpriced_models(shares):
        names = ", ".join(group.name or "(no model)" for group in unknown)
        count = humanize.short_number(total.unpriced)
        yield f"no price is known for {count} tokens, and they are not in the cost: {names}"
    yield f"prices: {display_path(prices.source)}"


def _print_groups(by: str, groups: Sequence[UsageGroup]) -> None:
    print_table(
        (
            *_names(by, groups),
            Column("RESPONSES", [str(group.responses) for group in groups], 1, right=True),
            *(
                Column(name, [humanize.short_number(group.tokens[kind]) for group in groups], rank, right=True)
                for name, kind, rank in _NUMBERS
            ),
            Column("COST", [humanize.dollars(group.cost, group.unpriced) for group in groups], 9, right=True),
            Column("", _bars(groups), 7, style="cyan"),
        )
    )


def _names(by: str, groups: Sequence[UsageGroup]) -> Iterator[Column]:
    if by == SESSION:
        ids = [group.name or "" for group in groups]
        yield Column("SESSION", short_ids(ids, ids), 11, style="cyan")
        titles = [group.first.session.title if group.first else None for group in groups]
        yield Column("TITLE", [title or "(no title)" for title in titles], 8, 14)
        return
    word = _NAMES.get(by, str)
    names = [display_path(word(group.name)) if group.name else f"(no {by})" for group in groups]
    yield Column(by.upper(), names, 10, 12, style="green")


def _bars(groups: Sequence[UsageGroup]) -> list[str]:
    """How much each is, beside the most: of the cost, or of the tokens where not all have a price."""
    has_costs = all(group.cost is not None and not group.unpriced for group in groups)
    sizes = [float(group.cost or 0) if has_costs else group.tokens.total for group in groups]
    most = max(sizes) or 1
    return [humanize.share_bar(size / most, _BAR) for size in sizes]


JSON: Final = "json"
CSV: Final = "csv"
_LATER: Final = ("stats.prices", "stats.tokens")
_GROUPINGS: Final = ("model", "project", "day", "week", "month", "session", "agent")


@click.command()
@click.argument("refs", nargs=-1, metavar="[REF]...", shell_complete=complete_ref)
@click.option(
    "--by",
    "groupings",
    multiple=True,
    type=click.Choice(_GROUPINGS),
    help="The table to show; may be repeated. Default: model, day and project.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="At most N rows of each table; of days, weeks and months, the last N.",
)
@click.option("--json", "form", flag_value=JSON, help="Print one JSON object with everything, whatever --by says.")
@click.option(
    "--csv", "form", flag_value=CSV, help="Print one table as CSV, with exact numbers: that of --by, else of models."
)
@prices_option
@window_options
@utc_option
@store_options
def command(
    refs: tuple[str, ...],
    groupings: tuple[str, ...],
    top: int | None,
    form: str | None,
    own: str | None,
    wanted: Filter,
    **where: Any,
) -> None:
    """Count the tokens of sessions, and say what they cost.

    Each response counts once, in however many lines and files it stands. REF… are sessions, as 'get' takes them; the
    other options choose among them, or among all sessions, as those of 'list' do. A chosen session counts with its
    sub-agents.

    With --from and --to only the responses of that time count, not whole sessions: the days of a month add up to the
    month. Their times are known to the minute, and a response counts as given at the beginning of its minute; one
    without a time lies in no such window. Days, ISO weeks and months are those of local time, or with --utc of UTC.

    Prices are those that genai-prices lists, and those of a file prices.json in the settings directory of this
    program. A model without a known price is named, and has no cost.
    """
    if form == CSV and len(groupings) > 1:
        raise click.UsageError("--csv prints one table: give --by once")
    _prepare("cli.stats_records" if form else "cli.stats_tables")
    with open_store(**where, required=not refs or any(map(needs_store, refs))) as store:
        sessions = _chosen(store, refs, wanted)
        from claude_session_player.stats import TimeWindow, count_tokens

        prices = load_prices(own)
        window = TimeWindow(wanted.since, wanted.before) if wanted.since or wanted.before else None
        shares = count_tokens(sessions, prices, window=window)
    if not sessions:
        like_that = "" if wanted == Filter() and not refs else " that is like this"
        say(f"there is no session in {', '.join(store.roots) or 'these files'}{like_that}")
    elif window and not shares:
        say("no responses between these times")
    if form:
        if form == JSON:
            print_json(shares, prices, top)
        else:
            print_csv(shares, groupings[0] if groupings else "model", top)
    elif shares or (sessions and not window):
        print_stats(shares, prices, groupings, top)


def _prepare(*modules: str) -> None:
    """Load what is needed in the end while other processes read the sessions."""
    from importlib import import_module
    from threading import Thread

    def load() -> None:
        with contextlib.suppress(Exception):  # whoever needs it says what is wrong
            for name in (*_LATER, *modules):
                import_module(f"claude_session_player.{name}")

    Thread(target=load, daemon=True).start()


def _chosen(store: Store, refs: tuple[str, ...], wanted: Filter) -> list[Session]:
    """The sessions that are meant. Sub-agents whose session has no file stand for it.

    Which of their responses lie between two times is asked of each response, unless so many sessions of then are meant.
    """
    if wanted.limit is None and not wanted.offset:
        wanted = wanted._replace(since=None, before=None)
    if not refs:
        return store.sessions(wanted._replace(include_orphans=True))
    found = {(session.path, session.id): session for session in (find_session(store, ref) for ref in refs)}
    return wanted._replace(include_subagents=True).apply(found.values())
