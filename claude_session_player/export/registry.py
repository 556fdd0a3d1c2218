"""The formats that a session can be written in: the one table that commands, windows and docs read.

A new format is a module of this package and its row here. What its object has to be like, `OutputKind` says.
"""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.errors import BadFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.export.transcript import TranscriptStyle
    from claude_session_player.transcript import PlacedEntry


class OutputKind(Enum):
    """What a format writes, and by which kind of object."""

    SCREEN = "screen"
    """The screen in the end, by a function `write(state, file)`."""
    RECORDING = "recording"
    """How the session unfolded, by a function `write(events, state, file, setup)`."""
    TRANSCRIPT = "transcript"
    """The conversation in order, by a `TranscriptWriter`."""


class TranscriptWriter(NamedTuple):
    """How a conversation becomes text."""

    items: Callable[[Iterable[PlacedEntry], TranscriptStyle], Iterator[Any]]
    """What is written of each entry that is in the text; a page is counted in these."""
    joined: Callable[[Iterable[Any]], Iterator[str]]
    """The text of these, in pieces."""
    begun: Callable[[Iterable[Any]], Iterator[str]] | None = None
    """The same where it is the beginning of a text, where that has a head of its own."""
    is_document: bool = False
    """True where people read it: a summary may stand before it, and a pager may show it."""


class Format(NamedTuple):
    """A row of the table."""

    name: str
    suffix: str
    """How the names of its files end."""
    help: str
    """What it is, in the help of `--format`."""
    writes: OutputKind
    target: str
    """`module:object`; imported when it is first used, because some need libraries that take long to load."""

    def load(self) -> Any:
        """The object that writes it."""
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)


_HERE: Final = __name__.rpartition(".")[0]
_FORMATS: Final[list[Format]] = []


def register(format: Format) -> None:
    """Add a format: from then on, commands and windows offer it."""
    if any((known.writes, known.name) == (format.writes, format.name) for known in _FORMATS):
        raise ValueError(f"there is a format {format.name!r} of a {format.writes.value} already")
    _FORMATS.append(format)


def formats(*writes: OutputKind) -> list[Format]:
    """The formats that write any of these, in the order of the table.

    >>> [format.name for format in formats(OutputKind.SCREEN, OutputKind.RECORDING)]
    ['markdown', 'json', 'jsonl', 'text', 'asciicast']
    """
    return [format for format in _FORMATS if format.writes in writes]


def format_named(name: str, *writes: OutputKind) -> Format:
    """The format of this name, among those that write any of these."""
    for format in formats(*writes):
        if format.name == name:
            return format
    known = ", ".join(format.name for format in formats(*writes))
    raise BadFilter(f"there is no format {name!r}: there are {known}")


for _row in (
    Format("markdown", ".md", "markdown", OutputKind.SCREEN, f"{_HERE}.terminal:write_markdown"),
    Format(
        "json",
        ".json",
        "json: an array of elements with all their fields",
        OutputKind.SCREEN,
        f"{_HERE}.json:write_element_array",
    ),
    Format("jsonl", ".jsonl", "jsonl: one element per line", OutputKind.SCREEN, f"{_HERE}.json:write_element_lines"),
    Format("text", ".txt", "text: in colour on a terminal", OutputKind.SCREEN, f"{_HERE}.terminal:write_text"),
    Format(
        "asciicast",
        ".cast",
        "asciicast: a recording for asciinema",
        OutputKind.RECORDING,
        f"{_HERE}.asciicast:write_asciicast",
    ),
    Format("markdown", ".md", "markdown", OutputKind.TRANSCRIPT, f"{_HERE}.transcript:MARKDOWN"),
    Format(
        "json",
        ".json",
        "json: an array of entries with all their fields",
        OutputKind.TRANSCRIPT,
        f"{_HERE}.json:ARRAY",
    ),
    Format("jsonl", ".jsonl", "jsonl: one entry per line", OutputKind.TRANSCRIPT, f"{_HERE}.json:LINES"),
):
    register(_row)
