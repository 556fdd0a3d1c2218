"""`tree`: the structure of a session."""

from __future__ import annotations

import shutil
from typing import Any

import click

from claude_session_player.cli._options import json_option, open_store, store_options, utc_option
from claude_session_player.cli._output import print_text, say, stdout
from claude_session_player.cli._refs import complete_ref, find_session, needs_store

FOUND_TROUBLE = 1


@click.command()
@click.argument("ref", shell_complete=complete_ref)
@click.option("--prompts", is_flag=True, help="Every prompt on a line of its own.")
@click.option("--strict", is_flag=True, help="Exit with 1 where anything is wrong, and name it on stderr.")
@json_option
@utc_option
@store_options
def command(ref: str, prompts: bool, strict: bool, as_json: bool, **where: Any) -> int:
    """Draw the structure of a session: forks, compactions, sub-agents, workflows, one line each.

    The live branch goes down along the left side; branches that were left behind stand below the fork. Parallel tools
    are no forks. Sessions that this one continues, and those that continue it, are named. REF is what 'get' takes.
    """
    from claude_session_player.export.outline import draw_outline, encode_outline
    from claude_session_player.transcript import build_outline, relatives_of
    from claude_session_player.util.text import printable
    from claude_session_player.util.times import local_now

    with open_store(**where, required=needs_store(ref)) as store:
        session = find_session(store, ref)
        outline = build_outline(session, relatives_of(session, store), with_prompts=prompts)
    if as_json:
        print_text(encode_outline(outline.root))
    else:
        width = shutil.get_terminal_size().columns if stdout().isatty() else None
        stdout().writelines(f"{line}\n" for line in draw_outline(outline.root, local_now().tzinfo, width))
    if not strict:
        return 0
    for problem in outline.problems:
        say(printable(problem))
    return FOUND_TROUBLE if outline.problems else 0
