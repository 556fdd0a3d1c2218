"""The table of output formats, which commands, windows and docs read.

A new format is a module of this package and a row of the table. `OutputKind` describes the object that writes it.
"""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from shutil import which
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.errors import BadFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.export.transcript import TranscriptStyle
    from claude_session_player.transcript import PlacedEntry


class OutputKind(Enum):
    """What a format writes, and the kind of object that writes it."""

    SCREEN = "screen"
    """The final screen, by a function `write(state, file)`."""
    RECORDING = "recording"
    """The session over time, as text, by a function `write(events, state, file, setup)`."""
    VIDEO = "video"
    """The same as bytes, which go to `file.buffer`; it takes other programs, and minutes."""
    PICTURE = "picture"
    """The screen at one moment, as text, by a function `write(state, file, setup)`."""
    TRANSCRIPT = "transcript"
    """The conversation in order, by a `TranscriptWriter`."""


DRAWN: Final = (OutputKind.RECORDING, OutputKind.VIDEO, OutputKind.PICTURE)
"""What shows a terminal of some size, drawn for a view."""


class TranscriptWriter(NamedTuple):
    """How a transcript becomes text."""

    items: Callable[[Iterable[PlacedEntry], TranscriptStyle], Iterator[Any]]
    """The items to write, about one for each entry; pages are counted in items."""
    join: Callable[[Iterable[Any]], Iterator[str]]
    """The text of items, in pieces."""
    join_first: Callable[[Iterable[Any]], Iterator[str]] | None = None
    """The same for the first items of a transcript, if a header comes before them."""
    is_document: bool = False
    """True for text to be read by people: a summary may precede it, and a pager may show it."""
    from_markdown: Callable[[str, TranscriptStyle], str] | None = None
    """Turns the summary, and other markdown beside the entries, into text of this format; `None` leaves it as it is."""


class Format(NamedTuple):
    """A row of the table of formats."""

    name: str
    suffix: str
    """The suffix of its files."""
    help: str
    """Its description in the help of `--format`."""
    writes: OutputKind
    target: str
    """`module:object`, imported on first use: some formats need libraries that are slow to load."""
    programs: tuple[str, ...] = ()
    """Programs of which it needs one: the first that is installed is used."""

    @property
    def is_drawn(self) -> bool:
        """True if it shows a terminal of some size, drawn for a view."""
        return self.writes in DRAWN

    @property
    def program(self) -> str | None:
        """The path of the program that it uses; `None` if none of those that it needs is installed."""
        return next(filter(None, map(which, self.programs)), None)

    @property
    def is_available(self) -> bool:
        """True unless every program that it needs is missing."""
        return not self.programs or self.program is not None

    def load(self) -> Any:
        """Import the object that writes this format."""
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)


_HERE: Final = __name__.rpartition(".")[0]
_FORMATS: Final[list[Format]] = []


def register(format: Format) -> None:
    """Add a format, so that commands and windows offer it."""
    if any((known.writes, known.name) == (format.writes, format.name) for known in _FORMATS):
        raise ValueError(f"a {format.writes.value} format named {format.name!r} is already registered")
    _FORMATS.append(format)


def formats(*writes: OutputKind) -> list[Format]:
    """The formats of these kinds of output, in the order of the table.

    >>> [format.name for format in formats(OutputKind.SCREEN, OutputKind.RECORDING)]
    ['markdown', 'json', 'jsonl', 'text', 'asciicast']
    """
    return [format for format in _FORMATS if format.writes in writes]


def format_named(name: str, *writes: OutputKind) -> Format:
    """The format with this name among these kinds of output; raises `BadFilter`."""
    for format in formats(*writes):
        if format.name == name:
            return format
    known = ", ".join(format.name for format in formats(*writes))
    raise BadFilter(f"unknown format {name!r}; choose from {known}")


for _row in (
    Format("markdown", ".md", "markdown", OutputKind.SCREEN, "claude_session_player.formatter:write_markdown"),
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
    Format("svg", ".svg", "svg: a picture of one moment", OutputKind.PICTURE, f"{_HERE}.svg:write_svg"),
    Format(
        "gif",
        ".gif",
        "gif: a recording, with agg or ffmpeg",
        OutputKind.VIDEO,
        f"{_HERE}.video:write_gif",
        ("agg", "ffmpeg"),
    ),
    Format("mp4", ".mp4", "mp4: a recording, with ffmpeg", OutputKind.VIDEO, f"{_HERE}.video:write_mp4", ("ffmpeg",)),
    Format("markdown", ".md", "markdown", OutputKind.TRANSCRIPT, f"{_HERE}.transcript:MARKDOWN"),
    Format(
        "json",
        ".json",
        "json: an array of entries with all their fields",
        OutputKind.TRANSCRIPT,
        f"{_HERE}.json:ARRAY",
    ),
    Format("jsonl", ".jsonl", "jsonl: one entry per line", OutputKind.TRANSCRIPT, f"{_HERE}.json:LINES"),
    Format(
        "text",
        ".txt",
        "text: drawn, in colour on a terminal",
        OutputKind.TRANSCRIPT,
        f"{_HERE}.transcript_terminal:DRAWN",
    ),
):
    register(_row)
