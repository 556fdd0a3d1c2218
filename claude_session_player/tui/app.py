"""What all full-screen programs share: terminal colours, plain notifications, signals, and a safe way out."""

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
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from rich.cells import cell_len
from rich.console import RenderableType
from rich.segment import Segment
from rich.text import Text
from textual.actions import ActionParseResult
from textual.app import App, ReturnType
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.color import Color
from textual.command import CommandPalette
from textual.dom import DOMNode
from textual.driver import Driver
from textual.drivers import linux_driver
from textual.filter import LineFilter
from textual.screen import Screen

from claude_session_player.tui.themes import apply_theme, ground_filters, next_theme
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.settings import TERMINAL_THEME, remember_theme, remembered_theme
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import mark_controls, printable, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

    from textual.notifications import SeverityLevel

    _AnyScreen = Screen[Any]
else:
    _AnyScreen = object  # Textual looks for styles in the first base that is a node

_RETRY_SECONDS: Final = 0.05
"""Seconds until the keyboard is read again: a persistent error must not keep a core busy."""


class TerminalDriver(linux_driver.LinuxDriver):
    """Skips input that Textual cannot parse, which would end the program otherwise, and ends with the terminal."""

    def run_input_thread(self) -> None:
        """Read keys until the program ends; start again after a sequence that cannot be parsed."""
        while not self.exit_event.is_set():
            try:
                super().run_input_thread()
            except OSError:  # the terminal is gone, perhaps without a signal
                _end_by_force_after(signal.SIGHUP)  # whoever draws may wait for the terminal for ever
                os.kill(os.getpid(), signal.SIGHUP)
                return
            except Exception:
                self.exit_event.wait(_RETRY_SECONDS)


def _lenient_decoder(encoding: str) -> Callable[[], _KeyDecoder]:
    """Bytes that are not valid text become replacement characters, so that no key around them is lost."""
    return partial(_KeyDecoder, codecs.getincrementaldecoder(encoding)("replace"))


class _KeyDecoder:
    """Decodes what is typed. A terminal gives no empty bytes as long as it is there: Textual would ask for ever."""

    def __init__(self, decoder: codecs.IncrementalDecoder) -> None:
        self._decoder = decoder

    def decode(self, data: bytes, final: bool = False) -> str:
        """The text; raises `OSError` at the end of the input."""
        if not data and not final:
            raise OSError("the terminal is gone")
        return self._decoder.decode(data, final)


_module: Any = linux_driver
_module.getincrementaldecoder = _lenient_decoder


class HarmlessFilter(LineFilter):
    """Replaces control characters and links in whatever a widget draws. No row changes its width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments; only those with a control character or a link are changed."""
        return [segment if segment.control or _is_harmless(segment) else _as_text(segment) for segment in segments]


def _is_harmless(segment: Segment) -> bool:
    return segment.text.isprintable() and not (segment.style and segment.style.link)


def _as_text(segment: Segment) -> Segment:
    text, style, _ = segment
    if mark_controls(text) != text:
        text = "".join(char if mark_controls(char) == char else "�" * cell_len(char) for char in text)
    return Segment(text, style.update_link(None) if style and style.link else style)


HARMLESS: Final = HarmlessFilter()


class ClosedOnce(_AnyScreen):
    """A screen that can be closed once. Textual closes what is on top, and keys may come faster than it does so."""

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close this screen, unless it is closed already."""
        return super().dismiss(result) if self.is_current else AwaitComplete()


_THREAD_SECONDS: Final = 1.0
"""Seconds in which threads may finish by themselves, and again in which interrupted ones may clean up."""


class DaemonThreads(ThreadPoolExecutor):
    """Runs each job in a thread of its own. Shutting down waits for a short time only, because a job may hang."""

    def __init__(self) -> None:
        super().__init__(max_workers=1)  # the pool of the base class is never used
        self._running: set[threading.Thread] = set()

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start at once."""
        future: Future[Any] = Future()
        thread = threading.Thread(target=self._run, args=(future, work, args, kwargs), daemon=True)
        self._running.add(thread)
        thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for a while, then interrupt what still runs, so that it can remove what is half written."""
        if wait and not self._have_ended():
            for thread in tuple(self._running):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
                )
            self._have_ended()

    def _have_ended(self) -> bool:
        until = time.monotonic() + _THREAD_SECONDS
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
"""Signals that end a program. By default it would not restore the terminal."""
_CLEANUP_SECONDS: Final = 3.0
"""Seconds for which a program without a terminal may clean up."""
_CRASH_CODE: Final = 1
_FIRST_FRAME_SECONDS: Final = 0.5
"""Seconds after which the first frame has been drawn for sure."""
_ERROR_LENGTH: Final = 200
_SIGNAL_CODE: Final = 128
"""What a shell adds to the number of a signal to get an exit code."""


_MOVES: Final = frozenset(("cursor", "page", "move", "first", "last", "scroll", "scroll_side"))
"""Actions that only move the cursor or scroll: a notification can still be read after them."""


class TerminalApp(App[ReturnType]):
    """A full-screen program in the terminal's own sixteen colours, on its own background."""

    DEFAULT_CSS = """
    /* Textual measures notifications without the width of this scrollbar: of one that wraps, only the end was shown. */
    TerminalApp ToastRack { scrollbar-size-vertical: 0; }
    TerminalApp Toast { width: 100%; max-width: 100%; margin-top: 0; padding: 0 1; }
    TerminalApp Toast:ansi { background: ansi_default; }
    TerminalApp CommandPalette {
        & > Vertical { margin-top: 1; width: 84; max-width: 100%; }
        & #--input { border: round ansi_cyan; }
        & #--input.--list-visible { border: round ansi_cyan; }
        & SearchIcon { display: none; }
        & CommandInput, & CommandInput:focus { padding-left: 1; border: none; height: 1; }
        & CommandList { border: none; padding: 0 1; max-height: 75vh; scrollbar-size-vertical: 1; }
        & CommandList > .option-list--option { text-style: none; padding: 0 1; }
        & .command-palette--highlight { text-style: bold underline; }
    }
    """

    BINDING_GROUP_TITLE = "Everywhere"
    BINDINGS: ClassVar = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(self, theme: str | None = None) -> None:
        """With a theme by name, or in that which was chosen last."""
        self.theme_name = TERMINAL_THEME
        """The theme in use, by the name that people know."""
        super().__init__(ansi_color=True)
        self.theme_name = apply_theme(self, remembered_theme() if theme is None else theme)

    def action_command_palette(self) -> None:
        """Let a command of the present screen be found by its name."""
        from claude_session_player.tui.commands import KeyCommands, KeyPalette

        if not CommandPalette.is_open(cast("App[object]", self)):
            self.push_screen(KeyPalette([KeyCommands], placeholder="Find a command…", id="--command-palette"))

    def action_theme(self, name: str = "") -> None:
        """Draw everything in another theme, or in the next one, and remember it."""
        if os.environ.get("NO_COLOR"):
            self.notify("NO_COLOR is set: themes are off.")
            return
        self.theme_name = apply_theme(self, name or next_theme(self.theme_name))
        remember_theme(self.theme_name)
        self.notify(f"Theme: {self.theme_name}")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The filters for every row of every widget; the one that keeps it harmless is the last."""
        return [*ground_filters(self.theme_name), *super().get_line_filters(), HARMLESS]

    def get_driver_class(self) -> type[Driver]:
        """Textual's own driver, except for Unix terminals."""
        usual = super().get_driver_class()
        return TerminalDriver if usual.__name__ == "LinuxDriver" else usual

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notification instead of earlier ones. It is plain text, because it may quote a session."""
        self.clear_notifications()
        super().notify(printable(message), title=title, severity=severity, timeout=timeout, markup=False)

    def _clear_notice(self, screen: Screen[Any] | None = None) -> None:
        """Show no notification any more, as when another screen is shown."""
        if self._notifications:
            self.clear_notifications()

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action, unless its screen is not mounted yet: keys may arrive before it opens.

        What was said about the action before is over then, and would only hide what this one changes.
        """
        if isinstance(default_namespace, Screen) and not default_namespace.is_mounted:
            return False
        name = action.partition("(")[0].rpartition(".")[2] if isinstance(action, str) else action[1]
        if name not in _MOVES and all(notice.severity != "error" for notice in self._notifications):
            self._clear_notice()
        return await super().run_action(action, default_namespace, namespaces)

    def run(self, **options: Any) -> ReturnType | None:
        """Run until the viewer quits. An error on the way out is reported in one line, too."""
        try:
            return super().run(**options)
        except Exception as error:
            self._return_code = _CRASH_CODE
            self._finish_drawing()
            print(_crash_line(_crash_of(error)), file=sys.stderr)
            return None

    def _finish_drawing(self) -> None:
        """Wait until the drawing thread has restored the terminal: the message would be lost in its output."""
        if self._driver is not None:
            with contextlib.suppress(Exception):  # the first error is the one to report
                self._driver.close()

    async def run_async(self, **options: Any) -> ReturnType | None:
        """Run until the viewer quits, and then do not wait for threads that hang."""
        asyncio.get_running_loop().set_default_executor(DaemonThreads())
        return await super().run_async(**options)

    def panic(self, *renderables: RenderableType) -> None:
        """End because of a bug: restore the terminal, and report the error in one line."""
        self._return_code = _CRASH_CODE
        if not self._exit_renderables:
            error = sys.exc_info()[1] or self._exception
            where = _crash_of(error) if error else next(filter(None, map(_crash_in, renderables)), "unknown")
            super().panic(Text(_crash_line(where), overflow="fold"))

    def _fatal_error(self) -> None:
        """Textual would print all local variables, and with them parts of the session."""
        self.panic()

    def on_mount(self) -> None:
        """Restore the terminal when a signal ends the program, too; collect garbage from the first frame on."""
        self.set_timer(_FIRST_FRAME_SECONDS, _collect_garbage)
        self.screen_change_signal.subscribe(self, self._clear_notice, immediate=True)
        loop = asyncio.get_running_loop()
        for number in _ENDINGS:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # only Unix, only the main thread
                loop.add_signal_handler(number, self._end, number)
        _resume_only_in_a_terminal()

    def _end(self, number: int) -> None:
        """End because of a signal; without a terminal, by force if need be."""
        if not _has_terminal():
            _end_by_force_after(number)
        self.exit(return_code=_SIGNAL_CODE + number)

    def action_interrupt(self) -> None:
        """End with the exit code of an interrupted program."""
        self.exit(return_code=_SIGNAL_CODE + signal.SIGINT)


def _end_by_force_after(number: int) -> None:
    """End the program because of a signal, if it has not ended by itself in time."""
    last = threading.Timer(_CLEANUP_SECONDS, os._exit, (_SIGNAL_CODE + number,))
    last.daemon = True
    last.start()


def _collect_garbage() -> None:
    """Collect garbage from now on, because the program may run for hours; what is loaded by now stays anyway."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _crash_line(where: str) -> str:
    return f"{PROGRAM}: internal error: {where}; please report this"


def _crash_in(renderable: RenderableType) -> str | None:
    """The error in a traceback of rich, with which Textual reports errors of its own threads."""
    stacks = getattr(getattr(renderable, "trace", None), "stacks", ())
    if not stacks:
        return None
    stack = stacks[0]
    place = f" at {os.path.basename(stack.frames[-1].filename)}:{stack.frames[-1].lineno}" if stack.frames else ""
    return printable(f"{stack.exc_type}: {stack.exc_value}{place}")


def _crash_of(error: BaseException) -> str:
    """The type of an error, its message, and where it happened."""
    place, trace = "", error.__traceback__
    while trace is not None:
        place, trace = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}", trace.tb_next
    return printable(f"{type(error).__name__}: {truncate(str(error), _ERROR_LENGTH)}{place}")


def _resume_only_in_a_terminal() -> None:
    """Resume drawing after SIGCONT only if there is still a terminal, as after Ctrl+Z.

    A lost connection sends SIGCONT as well, and Textual would draw again and wait for ever.
    """
    resume = signal.getsignal(signal.SIGCONT) if hasattr(signal, "SIGCONT") else None
    if not callable(resume):  # no driver draws on a terminal
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if _has_terminal():
            resume(number, frame)

    signal.signal(signal.SIGCONT, handle)


def _has_terminal() -> bool:
    return is_terminal(sys.__stderr__)
