"""What the command line prints: data to stdout in UTF-8; notes, warnings and progress bars to stderr."""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TextIO

from claude_session_player.errors import CannotWrite
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.humanize import plural
from claude_session_player.util.terminal import is_terminal, wrap_message, write_styled
from claude_session_player.util.text import display_path, mark_controls, printable, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.progress import Progress as ProgressBar

    from claude_session_player.line_audit import LineAudit
    from claude_session_player.models import ScreenState, View
    from claude_session_player.player import TextPiece
    from claude_session_player.store import Progress, ReadProblem, Session
    from claude_session_player.transcript import Subagent, TreeProblem

SCHEMA_VERSION: Final = 2
"""The version of docs/schema.json; it goes up where a field changes its name, its type or its meaning."""
EVENT_LIST: Final = "event_list"
"""The key of a session's events in `get --json`; `events` is their number, there as everywhere."""
JsonForm = Literal["array", "lines"]
ARRAY: Final = "array"
LINES: Final = "lines"
_PLAIN_TERMINALS: Final = ("dumb", "unknown")
"""Values of `TERM`."""
_PORTION: Final = 1 << 18
_LONG_READ: Final = 64 << 20
"""Bytes: reading more than this shows a progress bar."""
_MOST: Final = 10
"""How many of the same kind a message names."""


# --- data ---------------------------------------------------------------------------------------------


class Fields(Protocol):
    """A named tuple."""

    def _asdict(self) -> dict[str, Any]: ...


def to_record(value: Fields) -> dict[str, Any]:
    """All fields of a session's summary, a project, a todo, a memory or a settings file."""
    return value._asdict()


def detailed_record(session: Session) -> dict[str, Any]:
    """A session with its sub-agents, workflows and tool outputs."""
    return _with_subagents(session) | {"workflows": session.workflows, "tool_results": session.tool_results}


def _with_subagents(session: Session) -> dict[str, Any]:
    return to_record(session.summary) | {"subagents": [_with_subagents(child) for child in session.subagents]}


def stdout() -> TextIO:
    """Standard output, in UTF-8 whatever the locale."""
    if sys.stdout is None:
        raise CannotWrite("cannot write the output: standard output is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout


def can_draw() -> bool:
    """True if stdout is a terminal on which colours, rules and marks can be read."""
    return is_terminal(stdout()) and os.environ.get("TERM") not in _PLAIN_TERMINALS


def has_colours() -> bool:
    """True if stdout is a terminal with ANSI colours and `NO_COLOR` is not set. On Windows they are off by default."""
    return can_draw() and sys.platform != "win32" and not os.environ.get("NO_COLOR")


def print_text(text: str) -> None:
    """Write a text and a line break."""
    stdout().write(text + "\n")


def print_styled(text: str) -> None:
    """Write a text with colours and a line break; apart from its colours it must be printable."""
    write_styled(stdout(), text + "\n")


def print_bytes(portions: Iterable[bytes]) -> None:
    """Write bytes unchanged; to a terminal, as text."""
    file = stdout()
    if isinstance(file, io.TextIOWrapper) and not is_terminal(file):
        file.flush()
        file.buffer.writelines(portions)
        return
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    for portion in portions:
        file.write(decode(portion))
    file.write(decode(b"", final=True))


def piece_printer(view: View) -> Callable[[Iterable[TextPiece]], None]:
    """A function that writes pieces of text to stdout: in colour to a terminal, unchanged to anything else."""
    file = stdout()
    if not is_terminal(file):
        return lambda pieces: _write_all(file, [part for piece in pieces for part in piece.parts])
    from claude_session_player.export.terminal import terminal_printer

    return terminal_printer(file, view)


def print_pages(pieces: Iterable[str], *, is_drawn: bool = False) -> None:
    """Write a text through a pager if stdout is a terminal; its control characters become visible marks.

    A text that is drawn has colours of our own.
    """
    if not is_terminal(stdout()):
        print_pieces(pieces)
        return
    from claude_session_player.util.terminal import pager_command, write_pages

    try:
        command = pager_command()
    except ValueError as error:
        warn(f"PAGER is not a command ({str(error).lower()}): printed without a pager")
        command = []
    if command:
        stdout().flush()
        write_pages(command, pieces if is_drawn else map(mark_controls, pieces))
    elif is_drawn:
        print_drawn(pieces)
    else:
        print_pieces(pieces)


def print_drawn(pieces: Iterable[str]) -> None:
    """Write a text with colours of our own, piece by piece; apart from them it must be printable."""
    file = stdout()
    for piece in pieces:
        write_styled(file, piece)


def encode_json(value: object) -> str:
    """A value as compact JSON."""
    from claude_session_player.format import lenient_json

    return lenient_json.encode_json(value)


def print_object(record: dict[str, Any], key: str = "", values: Iterable[Any] | None = None) -> None:
    """Write one JSON object; `values` become an array at the end, which may be too long to hold in memory."""
    if values is None:
        print_text(encode_json(record))
        return
    from claude_session_player.format.lenient_json import json_array

    beginning = f"{encode_json(record)[:-1]},{encode_json(key)}:"
    print_pieces(chain((beginning,), json_array(map(encode_json, values)), "}\n"))


def print_records(records: Iterable[Any], form: JsonForm) -> None:
    """Write JSON values: an array with one of them on each line, or the lines alone."""
    print_encoded(map(encode_json, records), form)


def print_encoded(texts: Iterable[str], form: JsonForm) -> None:
    """The same for values that are encoded already."""
    if form == LINES:
        print_pieces(text + "\n" for text in texts)
        return
    from claude_session_player.format.lenient_json import json_array

    print_pieces(chain(json_array(texts), "\n"))


def print_pieces(pieces: Iterable[str]) -> None:
    """Write in large portions, because stdout may be unbuffered."""
    file = stdout()
    portion: list[str] = []
    size = 0
    for piece in pieces:
        portion.append(piece)
        size += len(piece)
        if size >= _PORTION:
            del piece
            _write_all(file, portion)
            size = 0
    _write_all(file, portion)


def _write_all(file: TextIO, pieces: list[str]) -> None:
    """Write texts and release each; a long one is written in parts, because the stream copies what it is given."""
    if sum(map(len, pieces)) <= 2 * _PORTION:
        file.write("".join(pieces))
    else:
        for piece in pieces:
            for start in range(0, len(piece), _PORTION):
                file.write(piece[start : start + _PORTION])
    pieces.clear()


def print_list(rows: Sequence[Fields], form: JsonForm | None, table: str, if_empty: str) -> None:
    """Print rows as JSON, or by the function `table` of `_tables`; `if_empty` goes to stderr if there are none."""
    if form:
        print_records(map(to_record, rows), form)
    elif rows:
        getattr(import_module("claude_session_player.cli._tables"), table)(rows)
    else:
        say(if_empty)


# --- notes and warnings -------------------------------------------------------------------------------


_masks: list[Callable[[str], str]] = []
"""What messages go through before they are written."""


@contextmanager
def masked_messages(mask: Callable[[str], str]) -> Iterator[None]:
    """Write messages with masks meanwhile."""
    _masks.append(mask)
    try:
        yield
    finally:
        _masks.pop()


def say(message: str, *, is_masked: bool = False) -> None:
    """Write a message to stderr, unless it is closed; on a terminal it breaks between words.

    With `is_masked`, it says nothing that would need masks, and stays as it is.
    """
    if sys.stderr is not None:
        for mask in () if is_masked else _masks:
            message = mask(message)
        print(wrap_message(message, sys.stderr), file=sys.stderr)


def say_dimmed(message: str) -> None:
    """The same for what is beside the point, dimmed on a terminal with colours."""
    if is_terminal(sys.stderr) and has_colours():
        for mask in _masks:
            message = mask(message)
        write_styled(sys.stderr, f"\x1b[2m{wrap_message(message, sys.stderr)}\x1b[0m\n")
    else:
        say(message)


def note(message: str) -> None:
    """Write a note to stderr: usually about what the output leaves out."""
    say(f"note: {message}")


def warn(message: str) -> None:
    """Write a warning to stderr."""
    say(f"warning: {message}")


def warn_line_issues(audit: LineAudit, agent: str = "", *, shows_unknown: bool = False) -> None:
    """Warn of malformed lines, and of each unknown record type.

    `agent` is the name of the sub-agent whose lines they are, if any. `shows_unknown` is true for commands that show
    records of unknown types.
    """
    not_shown = "" if shows_unknown else " not shown"
    prefix = f"sub-agent {printable(agent)}: " if agent else ""
    if audit.issues:
        first = audit.issues[0]
        places = plural(len(audit.issues), "malformed place")
        warn(f"{prefix}{places} skipped, the first in line {first.line} (byte {first.offset}): {first.reason}")
    for kind, count in audit.unknown_events.most_common(_MOST):
        records, name = plural(count, "record"), truncate(printable(kind), 60)
        warn(f"{prefix}{records} of unknown type {name!r}{not_shown}, the first in line {audit.first_seen[kind]}")
    if (more := len(audit.unknown_events) - _MOST) > 0:
        warn(f"{prefix}{plural(more, 'more unknown type')}: '{PROGRAM} account' lists them")


def warn_unreadable(problems: Sequence[ReadProblem]) -> None:
    """Name the files and directories that could not be read."""
    if not problems:
        return
    warn(f"{plural(len(problems), 'file or directory', 'files or directories')} could not be read:")
    for problem in problems[:_MOST]:
        say(f"  {printable(f'{display_path(problem.path)}: {problem.reason}')}")
    if len(problems) > _MOST:
        say(f"  … and {len(problems) - _MOST} more")


def note_empty(state: ScreenState) -> None:
    """Say that the screen is empty: no output could be mistaken for a failure."""
    if not state.elements:
        note("the screen is empty at this point")


def note_compacted(state: ScreenState) -> None:
    """Say how much of a session is no longer on its screen."""
    note_omitted(state.compacted, "element", "from before the last compaction", "; use --history to include them")


def note_omitted(number: int, noun: str, which: str = "", reason: str = "") -> None:
    """Say how many things are not in the output, if any."""
    if number > 0:
        words = (plural(number, noun), which, "is" if number == 1 else "are", "not shown")
        note(" ".join(filter(None, words)) + reason)


def report_problems(problems: Iterable[tuple[Subagent | None, TreeProblem]], unlinked: Iterable[Subagent]) -> int:
    """Write a line for each thing that is wrong with a conversation; returns their number."""
    lines = [f"{_owner(agent)}line {problem.line}: {problem.what}" for agent, problem in problems]
    lines += [f"sub-agent {agent.id}: its call is not known" for agent in unlinked if not agent.is_helper]
    for line in lines:
        say(printable(f"problem: {line}"))
    return len(lines)


def _owner(agent: Subagent | None) -> str:
    return f"sub-agent {agent.id}, " if agent else ""


# --- progress -----------------------------------------------------------------------------------------


def start_bar(title: str, total: int, *, counts_bytes: bool = True) -> ProgressBar:
    """A bar with one task on stderr; it disappears when it is stopped."""
    from rich.progress import BarColumn, DownloadColumn, Progress as ProgressBar, TextColumn, TimeRemainingColumn

    from claude_session_player.util.terminal import console

    size = (DownloadColumn(),) if counts_bytes else ()
    progress = ProgressBar(
        TextColumn(title), BarColumn(), *size, TimeRemainingColumn(), console=console(sys.stderr), transient=True
    )
    progress.add_task("", total=total)
    progress.start()
    return progress


@contextmanager
def reading_bar(title: str) -> Iterator[Progress | None]:
    """A progress bar that appears only for long reads, and only on a terminal."""
    if not is_terminal(sys.stderr):
        yield None
        return
    bar: ProgressBar | None = None

    def update(done: int, total: int) -> None:
        nonlocal bar
        if total < _LONG_READ:
            return
        bar = bar or start_bar(title, total)
        bar.update(bar.task_ids[0], completed=done)

    try:
        yield update
    finally:
        if bar is not None:
            bar.stop()
