"""`tree`: draw the structure of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from claude_session_player.cli._options import (
    STRICT_HELP,
    examples,
    json_option,
    redaction_options,
    store_options,
    utc_option,
)
from claude_session_player.cli._output import print_text, say, stdout
from claude_session_player.cli._refs import find_session, needs_store, ref_argument
from claude_session_player.util.terminal import is_terminal

if TYPE_CHECKING:
    from claude_session_player.cli._options import Redaction, StoreOptions

FOUND_PROBLEMS: Final = 1


@click.command(
    epilog=examples(("tree latest", "the last active session"), ("tree 1f2e --prompts", "with every prompt"))
)
@ref_argument
@click.option("--prompts", is_flag=True, help="Show every prompt on its own line.")
@click.option("--strict", is_flag=True, help=STRICT_HELP)
@json_option
@redaction_options(default=False)
@utc_option
@store_options
def command(ref: str, prompts: bool, strict: bool, as_json: bool, stores: StoreOptions, redaction: Redaction) -> int:
    """Draw forks, compactions, sub-agents and workflows.

    REF is a file, an id, latest (the default) or a title: see 'help refs'. The current branch of the conversation runs
    down the left side; abandoned branches are shown below their fork. Parallel tool calls are not forks. Sessions that
    this one continues, or that continue it, are named.
    """
    import shutil

    from claude_session_player.export.outline import draw_outline, encode_outline
    from claude_session_player.transcript import build_outline, relatives_of
    from claude_session_player.util.text import printable
    from claude_session_player.util.times import local_now

    with stores.open(required=needs_store(ref)) as store:
        session = find_session(store, ref)
        found = list(relatives_of(session, store))
        redaction.learn_all([session, *(relative.session for relative in found)])
        relatives = [relative._replace(session=redaction.session(relative.session)) for relative in found]
        outline = build_outline(redaction.session(session), relatives, with_prompts=prompts)
    if as_json:
        print_text(encode_outline(outline.root))
    else:
        width = shutil.get_terminal_size().columns if is_terminal(stdout()) else None
        stdout().writelines(f"{line}\n" for line in draw_outline(outline.root, local_now().tzinfo, width))
    if not strict:
        return 0
    for problem in outline.problems:
        say(printable(problem))
    return FOUND_PROBLEMS if outline.problems else 0
