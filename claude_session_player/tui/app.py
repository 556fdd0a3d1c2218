"""What all full-screen programs have in common: the colours of the terminal, and nothing that is not asked for."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import App, ReturnType
from textual.binding import Binding
from textual.color import Color
from textual.filter import LineFilter

from claude_session_player.text import harmless
from claude_session_player.tui.theme import terminal_theme

_ENDINGS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)
"""How a program is told from outside that it is over. By default it would not tidy up the terminal."""
_PATIENCE: Final = 3.0
"""Seconds for which a program may tidy up that has no terminal any more."""
_KILLED: Final = 128
"""What a shell adds to the number of a signal, as an exit code."""


class _HarmlessFilter(LineFilter):
    """Lets nothing through that a terminal would obey, whichever widget drew it. No row changes its width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Segments are as they were, unless they hold something of that kind, or a link."""
        return [segment if segment.control or _is_harmless(segment) else _as_text(segment) for segment in segments]


def _is_harmless(segment: Segment) -> bool:
    return segment.text.isprintable() and not (segment.style and segment.style.link)


def _as_text(segment: Segment) -> Segment:
    text, style, _ = segment
    if harmless(text) != text:
        text = "".join(sign if harmless(sign) == sign else "�" * cell_len(sign) for sign in text)
    return Segment(text, style.update_link(None) if style and style.link else style)


_FILTER: Final = _HarmlessFilter()


class TerminalApp(App[ReturnType]):
    """A full-screen program in the terminal's own sixteen colours, on its own background."""

    ENABLE_COMMAND_PALETTE: ClassVar = False
    BINDING_GROUP_TITLE = "Everywhere"
    BINDINGS: ClassVar = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(self) -> None:
        super().__init__(ansi_color=True)
        gc.enable()  # whoever looks may stay for hours
        self.theme = terminal_theme()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Every row of every widget goes through these on its way to the terminal; ours is the last."""
        return [*super().get_line_filters(), _FILTER]

    def on_mount(self) -> None:
        """The terminal is left as it was found, also where somebody ends the program from outside."""
        loop = asyncio.get_running_loop()
        for number in _ENDINGS:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # only Unix, only the main thread
                loop.add_signal_handler(number, self._end, number)
        _go_on_only_in_a_terminal()

    def _end(self, number: int) -> None:
        """End as a signal wants it. Where the terminal is gone, nothing can keep the program from it."""
        if not _has_terminal():
            last = threading.Timer(_PATIENCE, os._exit, (_KILLED + number,))
            last.daemon = True
            last.start()
        self.exit(return_code=_KILLED + number)

    def action_interrupt(self) -> None:
        """End like any other program that is interrupted."""
        self.exit(return_code=_KILLED + signal.SIGINT)


def _go_on_only_in_a_terminal() -> None:
    """A lost connection also tells a program to go on. Textual would start to draw once more, and wait for ever.

    What it does is done only where there is still a terminal, as when somebody stopped the program for a while.
    """
    go_on = signal.getsignal(signal.SIGCONT) if hasattr(signal, "SIGCONT") else None
    if not callable(go_on):  # nothing draws on a terminal
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if _has_terminal():
            go_on(number, frame)

    signal.signal(signal.SIGCONT, handle)


def _has_terminal() -> bool:
    return sys.__stderr__ is not None and sys.__stderr__.isatty()
