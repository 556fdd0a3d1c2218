"""How data leaves the command line: text and JSON, to stdout, in UTF-8."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TextIO

from claude_session_player.errors import CannotWrite
from claude_session_player.json_text import array
from claude_session_player.json_text import encode as encode
from claude_session_player.terminal_guard import write_styled
from claude_session_player.text import harmless

if TYPE_CHECKING:
    from claude_session_player.play.appended import Piece
    from claude_session_player.view import View

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


def piece_printer(view: View) -> Callable[[Iterable[Piece]], None]:
    """Something that writes pieces of a text to stdout: in colour on a terminal, and to the letter anywhere else."""
    file = stdout()
    if not file.isatty():
        return lambda pieces: _write_all(file, [part for piece in pieces for part in piece.parts])
    from claude_session_player.export.pieces import printer

    return printer(file, view)


def print_pages(pieces: Iterable[str]) -> None:
    """Write a text through a pager where stdout is a terminal: it is filtered, because a pager is one, too."""
    import click

    click.echo_via_pager(map(harmless, pieces) if stdout().isatty() else pieces)


def print_records(records: Iterable[Any], form: str) -> None:
    """Write JSON values: an array with one of them on each line, or the lines alone."""
    print_encoded(map(encode, records), form)


def print_encoded(texts: Iterable[str], form: str) -> None:
    """The same, of values that are JSON already."""
    print_pieces((text + "\n" for text in texts) if form == LINES else chain(array(texts), "\n"))


def print_object(record: dict[str, Any], key: str, values: Iterable[Any] | None) -> None:
    """Write one JSON object, and behind its other keys `key` with an array that may be too long to hold in memory."""
    if values is None:
        print_text(encode(record))
        return
    print_pieces(chain((f"{encode(record)[:-1]},{encode(key)}:",), array(map(encode, values)), "}\n"))


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
