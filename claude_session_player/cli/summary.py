"""`summary`: show duration, tool use, files, tokens and cost of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from claude_session_player.cli._options import (
    examples,
    json_option,
    redaction_options,
    store_options,
    utc_option,
)
from claude_session_player.cli._output import print_object, print_text
from claude_session_player.cli._refs import STANDARD_INPUT, find_session, needs_store, ref_argument
from claude_session_player.cli.stats import load_prices, prices_option

if TYPE_CHECKING:
    from claude_session_player.cli._options import Redaction, StoreOptions
    from claude_session_player.stats import SessionSummary


@click.command(epilog=examples(("summary latest", "the last active session"), ("summary 1f2e --json", "as JSON")))
@ref_argument
@json_option
@prices_option
@redaction_options(default=False)
@utc_option
@store_options
def command(ref: str, as_json: bool, prices_path: str | None, stores: StoreOptions, redaction: Redaction) -> None:
    """Show duration, tool use, files, tokens and cost.

    REF is a file, an id, latest (the default) or a title: see 'help refs'. Tokens and cost include the sub-agents;
    everything else is counted in the session's own file, with its sub-agents by type. Active time leaves out gaps of
    more than 10 minutes.
    """
    from claude_session_player.export.summary import show_command, summary_markdown
    from claude_session_player.stats import summarize

    with stores.open(required=needs_store(ref)) as store:
        summary = summarize(redaction.session(find_session(store, ref)), load_prices(prices_path))
    name = summary.id if needs_store(ref) or ref == STANDARD_INPUT else redaction.masked(ref)
    words = tuple(map(redaction.masked, (*stores.words, *redaction.words)))
    if as_json:
        print_object(_record(summary) | {"detail_hint": show_command(name, words)})
    else:
        print_text(summary_markdown(summary, name, words))


def _record(summary: SessionSummary) -> dict[str, Any]:
    """The summary as JSON data, with the cost as a number."""
    cost = None if summary.cost is None else float(summary.cost)
    links = [link._asdict() for link in summary.pull_requests]
    return summary._asdict() | {"tokens": summary.tokens._asdict(), "cost": cost, "pull_requests": links}
