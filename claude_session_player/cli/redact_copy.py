"""`redact REF -o …`: write a redacted copy of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from claude_session_player.cli._options import archive_options, examples, redaction_options
from claude_session_player.cli._output import say, warn
from claude_session_player.cli._redaction import INCOMPLETE, RedactionOptions
from claude_session_player.cli._refs import find_source, ref_argument
from claude_session_player.util.humanize import path_from_cwd, plural
from claude_session_player.util.text import display_path, printable

if TYPE_CHECKING:
    from claude_session_player.cli._options import StoreOptions


@click.command(
    epilog=examples(
        ("redact latest -o shared/", "the session and all that belongs to it"),
        ("redact 1f2e -o tea.jsonl", "the same, under another name"),
        ("redact 1f2e -o tea/ --known .env", "also mask the values of a file"),
    )
)
@ref_argument
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR|FILE",
    help="Write to this directory, or to this file; sub-agents and tool results go beside it.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@redaction_options(default=None)
@archive_options
def command(ref: str, output: str, force: bool, stores: StoreOptions, redaction: RedactionOptions) -> int:
    """Write a redacted copy of a session.

    REF is a file, an id, latest (the default) or a title: see 'help refs'. The copy has the same lines and ids, and can
    be played, searched and shown like the original; secrets, names of people and machines, and images are masked (see
    'help redaction'). Sub-agents, their descriptions and large tool results are copied, too. The original is not
    changed, and nothing is written into a store.
    """
    from claude_session_player.errors import AlreadyThere, NoSuchSession
    from claude_session_player.redact import write_copy

    session = redaction.original(find_source(ref, stores))
    if session.is_inline:
        raise NoSuchSession(f"sub-agent {session.id} is inside the file of session {session.parent_id}: redact that")
    redaction.progress.start(session.file.stamp.size)
    try:
        copy = write_copy(session, output, redaction.redactor, may_replace=force, progress=redaction.progress.advance)
    except AlreadyThere as error:
        raise AlreadyThere(f"{error}: use --force to overwrite it") from None
    finally:
        redaction.progress.stop()
    more = f" and {plural(copy.files - 1, 'file')} beside it" if copy.files > 1 else ""
    say(f"wrote {printable(path_from_cwd(display_path(copy.path)))}{more}", is_masked=True)
    if copy.unread:
        warn(printable(f"not read, and left out: {', '.join(copy.unread)}"))
    return INCOMPLETE if copy.unread else 0
