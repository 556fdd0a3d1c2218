"""`stats`: the tokens of sessions, and what they cost."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli.filters import window_options
from claude_session_player.cli.pricing import load_prices, prices_option
from claude_session_player.cli.refs import complete_ref, find_session, needs_store
from claude_session_player.cli.showing import say
from claude_session_player.cli.stores import opened, store_options, utc_option
from claude_session_player.store.filters import Filter

if TYPE_CHECKING:
    from claude_session_player.store.session import Session
    from claude_session_player.store.store import Store

JSON: Final = "json"
CSV: Final = "csv"
_LATER: Final = ("insight.prices", "insight.tokens")
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
    with opened(**where, required=not refs or any(map(needs_store, refs))) as store:
        sessions = _chosen(store, refs, wanted)
        from claude_session_player.insight.tokens import Window, count_tokens

        prices = load_prices(own)
        window = Window(wanted.since, wanted.before) if wanted.since or wanted.before else None
        shares = count_tokens(sessions, prices, window=window)
    if not sessions:
        like_that = "" if wanted == Filter() and not refs else " that is like this"
        say(f"there is no session in {', '.join(store.roots) or 'these files'}{like_that}")
    elif window and not shares:
        say("no responses between these times")
    if form:
        from claude_session_player.cli import stats_records

        if form == JSON:
            stats_records.print_json(shares, prices, top)
        else:
            stats_records.print_csv(shares, groupings[0] if groupings else "model", top)
    elif shares or (sessions and not window):
        from claude_session_player.cli import stats_tables

        stats_tables.print_stats(shares, prices, groupings, top)


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
