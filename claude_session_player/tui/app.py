"""What all full-screen programs have in common: the colours of the terminal, and nothing that is not asked for."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import ctypes
import gc
import os
import signal
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.cells import cell_len
from rich.console import RenderableType
from rich.segment import Segment
from rich.text import Text
from textual.actions import ActionParseResult
from textual.app import App, ReturnType
from textual.binding import Binding
from textual.color import Color
from textual.dom import DOMNode
from textual.driver import Driver
from textual.drivers import linux_driver
from textual.filter import LineFilter
from textual.screen import Screen

from claude_session_player.tui.widgets.rows import terminal_theme
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.text import mark_controls, printable, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

_REST: Final = 0.05
"""Seconds until the keyboard is read again: an error that stays must not keep a core busy."""


class TerminalDriver(linux_driver.LinuxDriver):
    """Passes over what Textual cannot read: it would end the program."""

    def run_input_thread(self) -> None:
        """Read keys until the program ends; after a sequence that is refused, begin anew."""
        while not self.exit_event.is_set():
            try:
                super().run_input_thread()
            except OSError:  # there is no terminal any more
                raise
            except Exception:
                self.exit_event.wait(_REST)


def _lenient_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    """Bytes that are no text become signs that no key has, and nothing around them is lost."""
    return partial(codecs.getincrementaldecoder(encoding), "replace")


_module: Any = linux_driver
_module.getincrementaldecoder = _lenient_decoder


class HarmlessFilter(LineFilter):
    """Lets nothing through that a terminal would obey, whichever widget drew it. No row changes its width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Segments are as they were, unless they hold something of that kind, or a link."""
        return [segment if segment.control or _is_harmless(segment) else _as_text(segment) for segment in segments]


def _is_harmless(segment: Segment) -> bool:
    return segment.text.isprintable() and not (segment.style and segment.style.link)


def _as_text(segment: Segment) -> Segment:
    text, style, _ = segment
    if mark_controls(text) != text:
        text = "".join(sign if mark_controls(sign) == sign else "�" * cell_len(sign) for sign in text)
    return Segment(text, style.update_link(None) if style and style.link else style)


HARMLESS: Final = HarmlessFilter()


_THREAD_PATIENCE: Final = 1.0
"""Seconds in which work may come to its end by itself, and again as many in which it may tidy up."""


class DaemonThreads(ThreadPoolExecutor):
    """A thread for each piece of work. At the end it is waited for a short time only, because it may hang."""

    def __init__(self) -> None:
        super().__init__(max_workers=1)  # it is never used
        self._running: set[threading.Thread] = set()

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Begin at once."""
        future: Future[Any] = Future()
        thread = threading.Thread(target=self._run, args=(future, work, args, kwargs), daemon=True)
        self._running.add(thread)
        thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for a while; then interrupt what still runs, so that it leaves nothing behind that is half done."""
        if wait and not self._have_ended():
            for thread in tuple(self._running):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
                )
            self._have_ended()

    def _have_ended(self) -> bool:
        until = time.monotonic() + _THREAD_PATIENCE
        for thread in tuple(self._running):
            thread.join(max(until - time.monotonic(), 0))
        return not self._running

    def _run(self, future: Future[Any], work: Callable[..., Any], args: Any, kwargs: Any) -> None:
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(work(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        finally:
            self._running.discard(threading.current_thread())


_ENDINGS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)
"""How a program is told from outside that it is over. By default it would not tidy up the terminal."""
_PATIENCE: Final = 3.0
"""Seconds for which a program may tidy up that has no terminal any more."""
_CRASHED: Final = 1
_LONGEST: Final = 200
_KILLED: Final = 128
"""What a shell adds to the number of a signal, as an exit code."""


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
        return [*super().get_line_filters(), HARMLESS]

    def get_driver_class(self) -> type[Driver]:
        """The usual one, but for terminals of Unix."""
        usual = super().get_driver_class()
        if usual.__name__ != "LinuxDriver":
            return usual

        return TerminalDriver

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action, unless it belongs to a screen that is not built yet: keys may come faster than it opens."""
        if isinstance(default_namespace, Screen) and not default_namespace.is_mounted:
            return False
        return await super().run_action(action, default_namespace, namespaces)

    def run(self, **options: Any) -> ReturnType | None:
        """Run until somebody has seen enough. What goes wrong while it ends is told in one line, too."""
        try:
            return super().run(**options)
        except Exception as error:
            self._return_code = _CRASHED
            self._finish_drawing()
            print(_crash_line(_crash_of(error)), file=sys.stderr)
            return None

    def _finish_drawing(self) -> None:
        """Wait until the thread that draws has given the terminal back: the message would be lost among its output."""
        if self._driver is not None:
            with contextlib.suppress(Exception):  # nothing may hide the first error
                self._driver.close()

    async def run_async(self, **options: Any) -> ReturnType | None:
        """Run until somebody has seen enough, and then wait for no thread."""
        asyncio.get_running_loop().set_default_executor(DaemonThreads())
        return await super().run_async(**options)

    def panic(self, *renderables: RenderableType) -> None:
        """End because of a mistake in the program: the terminal is given back, and one line says what happened."""
        self._return_code = _CRASHED
        if not self._exit_renderables:
            error = sys.exc_info()[1] or self._exception
            where = _crash_of(error) if error else next(filter(None, map(_crash_in, renderables)), "unknown")
            super().panic(Text(_crash_line(where), overflow="fold"))

    def _fatal_error(self) -> None:
        """Textual would print all variables of the program, and with them what is in the session."""
        self.panic()

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


def _crash_line(where: str) -> str:
    return f"{PROGRAM}: the window had to be closed: {where}; please report this"


def _crash_in(renderable: RenderableType) -> str | None:
    """What Textual has to tell of an error in one of its own threads: a traceback of rich, which takes long to load."""
    stacks = getattr(getattr(renderable, "trace", None), "stacks", ())
    if not stacks:
        return None
    stack = stacks[0]
    place = f" at {os.path.basename(stack.frames[-1].filename)}:{stack.frames[-1].lineno}" if stack.frames else ""
    return printable(f"{stack.exc_type}: {stack.exc_value}{place}")


def _crash_of(error: BaseException) -> str:
    """The kind of an error and where it happened."""
    place, trace = "", error.__traceback__
    while trace is not None:
        place, trace = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}", trace.tb_next
    return printable(f"{type(error).__name__}: {truncate(str(error), _LONGEST)}{place}")


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
