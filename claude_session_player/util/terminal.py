"""Writes to terminals so that control sequences in sessions, file names and archives are shown, never executed.

`guard_terminals` is called once, before anything is printed. From then on `print`, `click.echo` and every other writer
that uses `sys.stdout` and `sys.stderr` goes through the filter. Coloured text has two ways around it: a `console`,
which filters what it draws, and `write_styled`, which lets only colours through.
"""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from claude_session_player.util.text import mark_controls, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from subprocess import Popen

    from rich.console import Console

_COLOUR: Final = r"(\x1b\[[0-9;]*m)"


class TerminalStream(io.TextIOWrapper):
    """A terminal that receives only text. Pipes and files are not wrapped: they receive data unchanged."""

    def __init__(self, terminal: io.TextIOWrapper) -> None:
        terminal.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
        super().__init__(
            cast("Any", terminal.buffer),
            encoding="utf-8",
            errors="backslashreplace",
            newline="\n",
            line_buffering=True,
            write_through=True,  # unbuffered, so that both ways to the terminal keep their order
        )
        self.unfiltered: Final[TextIO] = terminal

    def write(self, text: str, /) -> int:
        """Write text; every control character becomes a visible mark."""
        super().write(mark_controls(text))
        return len(text)

    def write_styled(self, text: str) -> None:
        """Write text with our own colours; the caller has made everything else in it printable."""
        super().write(_mark_all_but_colours(text))


def _mark_all_but_colours(text: str) -> str:
    parts = re.split(_COLOUR, text)
    parts[::2] = map(mark_controls, parts[::2])
    return "".join(parts)


def guard_terminals() -> None:
    """Put the filter before stdout and stderr, if they are terminals."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, TerminalStream) and stream.isatty():
            setattr(sys, name, TerminalStream(stream))


def write_styled(file: TextIO, text: str) -> None:
    """Write text with our own colours, which the filter lets through."""
    if isinstance(file, TerminalStream):
        file.write_styled(text)
    else:
        file.write(text)


BELL: Final = "\a"
SAVE_TITLE: Final = "\x1b[22;2t"
RESTORE_TITLE: Final = "\x1b]2;\a\x1b[23;2t"
"""Clears the title of the window, and takes back the saved one where the terminal keeps it."""


def title_sequence(title: str) -> str:
    """What sets the title of a terminal's window; whatever is not printable becomes a mark.

    >>> title_sequence("kettle\x07")
    '\\x1b]2;kettle�\\x07'
    """
    return f"\x1b]2;{printable(title)}{BELL}"


def write_control(file: TextIO, sequence: str) -> None:
    """Write a control sequence of our own, if the file is a terminal; never into a pipe or a file."""
    if is_terminal(file):
        target = file.unfiltered if isinstance(file, TerminalStream) else file
        target.write(sequence)
        target.flush()


class TerminalTitle:
    """The title of a terminal's window: what was there before is saved, and can be restored."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._title: str | None = None

    def set(self, title: str) -> None:
        """Set the title; an empty one restores what was there before."""
        if not title:
            self.restore()
        elif title != self._title:
            self._write(title_sequence(title) if self._title else SAVE_TITLE + title_sequence(title))
            self._title = title

    def restore(self) -> None:
        """Restore the title that was there before, if it was changed."""
        if self._title is not None:
            self._title = None
            self._write(RESTORE_TITLE)


def console(file: TextIO) -> Console:
    """A console that draws on this file: its own control sequences reach the terminal, those in the text do not."""
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
    from rich.control import Control
    from rich.segment import Segment

    class Filtered:
        def __init__(self, what: ConsoleRenderable) -> None:
            self._what = what

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for segment in console.render(self._what, options):
                yield segment if segment.control else Segment(mark_controls(segment.text), segment.style)

    class Hook(RenderHook):
        def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
            return [one if isinstance(one, Control) else Filtered(one) for one in renderables]

    target = file.unfiltered if isinstance(file, TerminalStream) else file
    made = Console(file=target, highlight=False, markup=False, emoji=False, soft_wrap=True)
    made.push_render_hook(Hook())
    return made


def is_terminal(*streams: TextIO | None) -> bool:
    """True if all of these streams are terminals; without any, if a full-screen program can run.

    Such a program reads from stdin and draws on stderr, and stdout must not be data for something else.
    """
    if not streams:
        return os.environ.get("TERM") != "dumb" and is_terminal(sys.stdin, sys.stdout, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def stream_width(stream: TextIO) -> int:
    """The columns of the terminal that a stream goes to, which need not be that of stdout; `$COLUMNS` counts first."""
    from shutil import get_terminal_size

    if not os.environ.get("COLUMNS", "").strip("0"):
        with suppress(OSError, ValueError):  # not a terminal, or closed
            if columns := os.get_terminal_size(stream.fileno()).columns:
                return columns
    return get_terminal_size().columns


def wrap_message(text: str, stream: TextIO) -> str:
    """A message as a stream gets it: on a terminal it breaks between words, anywhere else it is left as it is."""
    if not is_terminal(stream):
        return text
    from claude_session_player.util.tables import wrap_words

    width = stream_width(stream)
    return "\n".join(row for line in text.split("\n") for row in wrap_words(line, width))


# --- paging -------------------------------------------------------------------------------------------

_LESS: Final = "less"
_LESS_OPTIONS: Final = "FRX"
"""End if the text fits on the screen, show colours, and leave the text on the screen at the end."""


def pager_command() -> list[str]:
    """The words of `$PAGER`, else `less` or `more`; empty if there is none, or if it is `cat`.

    Raises `ValueError` for a quote in `$PAGER` that is not closed.
    """
    import shlex
    from shutil import which

    given = os.environ.get("PAGER")
    if given is not None:
        words = shlex.split(given, posix=os.name != "nt")
        return [] if words in ([], ["cat"]) or which(words[0]) is None else _with_colours(words)
    return next((_with_colours([name]) for name in (_LESS, "more") if which(name)), [])


def _with_colours(words: list[str]) -> list[str]:
    """The words with `-R` for `less`: without it, and with a `$LESS` that lacks it, colours appear as codes."""
    name = os.path.splitext(os.path.basename(words[0]))[0]
    return [*words, "-R"] if name == _LESS else words


def write_pages(command: list[str], pieces: Iterable[str]) -> None:
    """Write text with our own colours to a pager, as fast as it reads; returns when the user leaves the pager.

    The first piece is awaited before the pager starts, so that an error at the beginning is not hidden by it.
    """
    from itertools import chain
    from subprocess import PIPE, Popen

    rest = iter(pieces)
    if (first := next(rest, None)) is None:
        return
    pager = Popen(command, stdin=PIPE, env={"LESS": _LESS_OPTIONS, **os.environ})
    with _interrupts_left_to(pager), suppress(BrokenPipeError):  # the pager was left before the end
        assert pager.stdin is not None
        for piece in chain((first,), rest):
            pager.stdin.write(_mark_all_but_colours(piece).encode("utf-8", "backslashreplace"))
            pager.stdin.flush()


@contextmanager
def _interrupts_left_to(pager: Popen[bytes]) -> Iterator[None]:
    """Wait for the pager at the end; meanwhile Ctrl+C is a key of the pager, as it is for `git log`."""
    import signal

    before = None
    with suppress(ValueError):  # not in the main thread
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        with suppress(BrokenPipeError):
            if pager.stdin is not None:
                pager.stdin.close()
        pager.wait()
        if before is not None:
            signal.signal(signal.SIGINT, before)
