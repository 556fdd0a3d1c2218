"""How data leaves the command line: text and JSON, to stdout, in UTF-8."""

from __future__ import annotations

import codecs
import io
import sys
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

from claude_session_player.errors import CannotWrite
from claude_session_player.format.lenient_json import encode_json as encode_json, json_array
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.humanize import plural
from claude_session_player.util.terminal import write_styled
from claude_session_player.util.text import mark_controls, printable, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from claude_session_player.line_audit import LineAudit
    from claude_session_player.models import ScreenState, View
    from claude_session_player.player import TextPiece
    from claude_session_player.store import Session
    from claude_session_player.transcript import Subagent, TreeProblem

SCHEMA_VERSION: Final = 2
"""The version of docs/schema.json; it goes up where a field changes its name, its type or its meaning."""
EVENT_LIST: Final = "event_list"
"""The key of a session's events in `get --json`; `events` is their number, there as everywhere."""


class Fields(Protocol):
    """A named tuple."""

    def _asdict(self) -> dict[str, Any]: ...


def to_record(thing: Fields) -> dict[str, Any]:
    """A session in one look, a project, a todo, a memory or a settings file: all of its fields."""
    return thing._asdict()


def detailed_record(session: Session) -> dict[str, Any]:
    """A session with its sub-agents, workflows and tool outputs."""
    return _with_subagents(session) | {"workflows": session.workflows, "tool_results": session.tool_results}


def _with_subagents(session: Session) -> dict[str, Any]:
    return to_record(session.summary) | {"subagents": [_with_subagents(child) for child in session.subagents]}


ARRAY: Final = "array"
LINES: Final = "lines"
_PORTION: Final = 1 << 18


def stdout() -> TextIO:
    """Standard output, in UTF-8 whatever the locale."""
    if sys.stdout is None:
        raise CannotWrite("cannot write the output: standard output is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout


def print_text(text: str) -> None:
    """Write a text and a line break."""
    stdout().write(text + "\n")


def print_styled(text: str) -> None:
    """The same of a text that has colours of ours, and is printable apart from them."""
    write_styled(stdout(), text + "\n")


def print_bytes(portions: Iterable[bytes]) -> None:
    """Write bytes to the letter; on a terminal, what they are as text."""
    file = stdout()
    if isinstance(file, io.TextIOWrapper) and not file.isatty():
        file.flush()
        file.buffer.writelines(portions)
        return
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    for portion in portions:
        file.write(decode(portion))
    file.write(decode(b"", final=True))


def piece_printer(view: View) -> Callable[[Iterable[TextPiece]], None]:
    """Something that writes pieces of a text to stdout: in colour on a terminal, and to the letter anywhere else."""
    file = stdout()
    if not file.isatty():
        return lambda pieces: _write_all(file, [part for piece in pieces for part in piece.parts])
    from claude_session_player.export.terminal import terminal_printer

    return terminal_printer(file, view)


def print_pages(pieces: Iterable[str]) -> None:
    """Write a text through a pager where stdout is a terminal: it is filtered, because a pager is one, too."""
    import click

    click.echo_via_pager(map(mark_controls, pieces) if stdout().isatty() else pieces)


def print_records(records: Iterable[Any], form: str) -> None:
    """Write JSON values: an array with one of them on each line, or the lines alone."""
    print_encoded(map(encode_json, records), form)


def print_encoded(texts: Iterable[str], form: str) -> None:
    """The same, of values that are JSON already."""
    print_pieces((text + "\n" for text in texts) if form == LINES else chain(json_array(texts), "\n"))


def print_object(record: dict[str, Any], key: str, values: Iterable[Any] | None) -> None:
    """Write one JSON object, and behind its other keys `key` with an array that may be too long to hold in memory."""
    if values is None:
        print_text(encode_json(record))
        return
    print_pieces(
        chain((f"{encode_json(record)[:-1]},{encode_json(key)}:",), json_array(map(encode_json, values)), "}\n")
    )


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
    """Write texts and let go of each; a long one in parts, because the stream makes copies of what it is given."""
    if sum(map(len, pieces)) <= 2 * _PORTION:
        file.write("".join(pieces))
    else:
        for piece in pieces:
            for start in range(0, len(piece), _PORTION):
                file.write(piece[start : start + _PORTION])
    pieces.clear()


def show(things: Sequence[Fields], form: str | None, table: str, nothing: str) -> None:
    """Print things: `table` names the function of `tables` that draws them, `nothing` is said where there are none."""
    if form:
        print_records(map(to_record, things), form)
    elif things:
        getattr(import_module("claude_session_player.cli._tables"), table)(things)
    else:
        say(nothing)


def say(message: str) -> None:
    """A remark on stderr, where there is one."""
    if sys.stderr is not None:
        print(message, file=sys.stderr)


_MOST = 10


def warn_line_issues(account: LineAudit, agent: str = "", *, tells_unknown: bool = False) -> None:
    """One line for each kind of trouble: the malformed places, and each unknown record type.

    Where the lines are those of a sub-agent, beside others, `agent` is its name. `tells_unknown` is true where the
    command itself tells of records of unknown types.
    """
    fate = "" if tells_unknown else " not shown"
    whose = f"sub-agent {printable(agent)}: " if agent else ""
    if account.issues:
        first = account.issues[0]
        places = plural(len(account.issues), "malformed place")
        _say(f"{whose}{places} skipped, the first in line {first.line} (byte {first.offset}): {first.reason}")
    for kind, count in account.unknown_events.most_common(_MOST):
        records, first_line = plural(count, "record"), account.first_seen[kind]
        _say(
            f"{whose}{records} of unknown type {truncate(printable(kind), 60)!r}{fate}, the first in line {first_line}"
        )
    if (more := len(account.unknown_events) - _MOST) > 0:
        _say(f"{whose}{plural(more, 'more unknown type')}: see '{PROGRAM} account'")


def note_empty(state: ScreenState) -> None:
    """Say so where there is nothing to see, lest it look like a failure."""
    if not state.elements:
        note("the screen is empty here")


def note_left_out(state: ScreenState) -> None:
    """Say how much of a session is not on its screen any more."""
    note_not_shown(state.compacted, "element", "from before the last compaction", "; use --history to include them")


def note_not_shown(number: int, noun: str, which: str = "", why: str = "") -> None:
    """Say how many things are not in the output, if any are not."""
    if number > 0:
        words = (plural(number, noun), which, "is" if number == 1 else "are", "not shown")
        note(" ".join(filter(None, words)) + why)


def note(message: str) -> None:
    """A remark about what is not in the output."""
    _say(message, kind="note")


def name_problems(problems: Iterable[tuple[Subagent | None, TreeProblem]], unlinked: Iterable[Subagent]) -> int:
    """A line for each thing that is wrong with a conversation; gives their number."""
    lines = [f"{_whose(actor)}line {problem.line}: {problem.what}" for actor, problem in problems]
    lines += [f"sub-agent {actor.id}: no call is known" for actor in unlinked if not actor.is_helper]
    for line in lines:
        _say(printable(line), kind="problem")
    return len(lines)


def _whose(actor: Subagent | None) -> str:
    return f"sub-agent {actor.id}, " if actor else ""


def _say(message: str, kind: str = "warning") -> None:
    if sys.stderr is not None:
        print(f"{kind}: {message}", file=sys.stderr)
