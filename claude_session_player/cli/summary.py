"""`summary`: what a session comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from claude_session_player.cli._options import (
    json_option,
    load_prices,
    open_store,
    prices_option,
    store_options,
    utc_option,
)
from claude_session_player.cli._output import encode_json, print_text
from claude_session_player.cli._refs import STANDARD_INPUT, complete_ref, find_session, needs_store

if TYPE_CHECKING:
    from claude_session_player.stats import SessionSummary


@click.command()
@click.argument("ref", shell_complete=complete_ref)
@json_option
@prices_option
@utc_option
@store_options
def command(ref: str, as_json: bool, own: str | None, **where: Any) -> None:
    """Sum up one session: how long it took, prompts, tools, errors, sub-agents, files, tokens.

    Numbers are those of the session's own file; sub-agents are counted by kind, and have summaries of their own. Only
    tokens and cost are those of all together. The active time leaves out gaps of more than 10 minutes. REF is what
    'get' takes.
    """
    from claude_session_player.export.summary import show_command, summary_markdown
    from claude_session_player.stats import summarize

    with open_store(**where, required=needs_store(ref)) as store:
        summary = summarize(find_session(store, ref), load_prices(own))
    name = summary.id if needs_store(ref) or ref == STANDARD_INPUT else ref
    if as_json:
        print_text(encode_json(_record(summary) | {"detail_hint": show_command(name, where["roots"])}))
    else:
        print_text(summary_markdown(summary, name, where["roots"]))


def _record(summary: SessionSummary) -> dict[str, Any]:
    """The summary as JSON has it: a cost is a number."""
    cost = None if summary.cost is None else float(summary.cost)
    links = [link._asdict() for link in summary.pull_requests]
    return summary._asdict() | {"tokens": summary.tokens._asdict(), "cost": cost, "pull_requests": links}
