"""`repair_file`: a repaired copy of a session file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from claude_session_player.cli._options import json_option, store_options
from claude_session_player.cli._output import encode_json, print_text
from claude_session_player.cli._refs import STANDARD_INPUT, complete_ref, find_source
from claude_session_player.util import humanize

if TYPE_CHECKING:
    from claude_session_player.doctor import RepairReport


@click.command()
@click.argument("ref", shell_complete=complete_ref)
@click.option("-o", "--output", "target", required=True, metavar="NEW.jsonl", help="The copy; it may not exist yet.")
@json_option
@store_options
def command(ref: str, target: str, as_json: bool, **where: Any) -> None:
    """Write a repaired copy of a session file; the file itself stays as it is.

    Records that are glued together get lines of their own, NUL bytes and byte order marks are dropped, bytes that are
    no UTF-8 are escaped. What is no record goes to NEW.jsonl.rejected: a JSON object for each piece, with the number of
    its line, its place in the file, the reason, and its text. Everything else is copied as it is, so that the copy
    replays like the original. REF is a session file, or names one of the store.
    """
    from claude_session_player.doctor import REJECTED_SUFFIX, repair_file

    source = find_source(ref, **where)
    if source.path is None:
        raise click.UsageError(f"repair needs a file: {STANDARD_INPUT} is none")
    done = repair_file(source.path, target)
    rejected = target + REJECTED_SUFFIX if done.rejected else None
    if as_json:
        print_text(encode_json({"source": source.path, "copy": target, "rejected_file": rejected, **asdict(done)}))
    else:
        print_text("\n".join(_told(done, target, rejected)))


def _told(done: RepairReport, target: str, rejected: str | None) -> list[str]:
    if not done.damaged:
        return [f"{target}: {humanize.plural(done.lines, 'line')} unchanged: nothing was damaged"]
    lines = [
        f"{target}: {humanize.plural(done.lines - done.damaged, 'line')} unchanged, "
        f"{humanize.plural(done.records, 'record')} out of {humanize.plural(done.damaged, 'damaged line')}"
    ]
    if done.split:
        lines.append(f"  {humanize.plural(done.split, 'line')} with several records split")
    if done.nuls:
        lines.append(f"  {humanize.plural(done.nuls, 'NUL byte')} dropped")
    if rejected:
        lines.append(f"  {humanize.plural(done.rejected, 'piece')} that no record can be made of: {rejected}")
    return lines
