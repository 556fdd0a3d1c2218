"""`repair`: write a repaired copy of a session file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from claude_session_player.cli._options import examples, json_option, store_options
from claude_session_player.cli._output import print_object, print_text
from claude_session_player.cli._refs import complete_ref, find_source
from claude_session_player.util.humanize import plural

if TYPE_CHECKING:
    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.doctor import RepairReport


@click.command(epilog=examples(("repair broken.jsonl -o mended.jsonl", "repair a file")))
@click.argument("ref", shell_complete=complete_ref)
@click.option("-o", "--output", required=True, metavar="FILE", help="Write the copy to this file; it must not exist.")
@json_option
@store_options
def command(ref: str, output: str, as_json: bool, stores: StoreOptions) -> None:
    """Write a repaired copy of a damaged session file.

    The file itself is not changed. Records on one line are split, NUL bytes and byte order marks are dropped, and bytes
    that are not UTF-8 are escaped. Whatever cannot become a record goes to FILE.rejected: one JSON object for each
    piece, with its line number, offset, reason and text. Everything else is copied unchanged, so that the copy replays
    like the original. REF is a file, an id, latest or a title: see 'help refs'.
    """
    from claude_session_player.doctor import REJECTED_SUFFIX, repair_file

    source = find_source(ref, stores)
    if source.path is None:
        raise click.UsageError("repair needs a file: standard input can be read only once")
    report = repair_file(source.path, output)
    rejected = output + REJECTED_SUFFIX if report.rejected else None
    if as_json:
        print_object({"source": source.path, "copy": output, "rejected_file": rejected, **asdict(report)})
    else:
        print_text("\n".join(_report_lines(report, output, rejected)))


def _report_lines(report: RepairReport, output: str, rejected: str | None) -> list[str]:
    if not report.damaged:
        return [f"{output}: {plural(report.lines, 'line')} unchanged: nothing was damaged"]
    lines = [
        f"{output}: {plural(report.lines - report.damaged, 'line')} unchanged, "
        f"{plural(report.records, 'record')} out of {plural(report.damaged, 'damaged line')}"
    ]
    if report.split:
        lines.append(f"  {plural(report.split, 'line')} with several records split")
    if report.nuls:
        lines.append(f"  {plural(report.nuls, 'NUL byte')} dropped")
    if rejected:
        lines.append(f"  {plural(report.rejected, 'piece')} that no record can be made of: {rejected}")
    return lines
