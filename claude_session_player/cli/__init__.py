"""The command line. `main` is the entry point and the one place where errors become exit codes."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time

from claude_session_player import __version__
from claude_session_player.errors import CannotRead, CannotWrite, NoSuchSession, SessionError
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.terminal import guard_terminals, wrap_message
from claude_session_player.util.text import printable

COMPLETION_VARIABLES = {PROGRAM: "_CLAUDE_SESSION_PLAYER_COMPLETE", "csp": "_CSP_COMPLETE"}
"""By program: the variable with which a shell asks for completions."""

INTERRUPTED = 130
USAGE = 2


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        guard_terminals()
        gc.disable()  # a command ends before collecting would pay off
        code = run(sys.argv[1:])
    except BrokenPipeError:  # the reader of our output has seen enough
        code = 0
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else "cannot write the output"
        _print_error(f"{where}: {error.strerror or error}")
        code = CannotRead.exit_code if error.filename else CannotWrite.exit_code
    except OverflowError:
        if _has_clock():
            raise
        _print_error("the system clock is before 1677 or after 2262: set it, and try again")
        code = SessionError.exit_code
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # once is enough
        code = INTERRUPTED
    _discard_output()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors go to stderr in one line."""
    if arguments == ["--version"]:  # without loading anything else
        print(f"{PROGRAM} {__version__}", flush=True)
        return _exit_code_after_print(0)

    import click

    from claude_session_player.cli.app import app, command_hint

    if any(name in os.environ for name in COMPLETION_VARIABLES.values()):
        from claude_session_player.cli.completion import answer_shell

        return answer_shell(app)
    try:
        with app.make_context(PROGRAM, arguments) as context:  # `app.main` would swallow a closed pipe
            code = app.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as leave:  # help was printed
        return _exit_code_after_print(leave.exit_code)
    except click.ClickException as error:
        failed = getattr(error, "ctx", None)
        where = failed.command_path if failed else PROGRAM
        _print_error(f"{error.format_message().rstrip('.')} (see '{where} --help')")
        return USAGE
    except SessionError as error:
        needs_hint = isinstance(error, NoSuchSession) and error.meant is None
        hint = command_hint(arguments) if needs_hint else None
        _print_error(str(error), *error.details, *filter(None, (hint,)))
        return error.exit_code
    return code if isinstance(code, int) else 0


def _exit_code_after_print(code: int) -> int:
    """The exit code after a text was printed that may have gone nowhere, because standard output is closed."""
    if sys.stdout is not None:
        return code
    _print_error("cannot write the output: standard output is closed")
    return CannotWrite.exit_code


def _has_clock() -> bool:
    """False if Python cannot read the clock; some libraries cannot even be imported then."""
    try:
        time.time()
    except OverflowError:
        return False
    return True


def _print_error(message: str, *details: str) -> None:
    """Print an error, and its details below it, one per line."""
    if sys.stderr is None:
        return
    lines = [f"{PROGRAM}: {_one_line(message)}", *(f"  {_detail_line(detail)}" for detail in details)]
    with contextlib.suppress(OSError):
        print(wrap_message("\n".join(lines), sys.stderr), file=sys.stderr, flush=True)


def _one_line(message: str) -> str:
    """A message may quote a name with any characters."""
    return printable(" ".join(message.split()))


def _detail_line(detail: str) -> str:
    """A detail keeps its spaces: a caret in it stands below a place of the line above."""
    return printable("".join(" " if char.isspace() else char for char in detail)).rstrip()


def _discard_output() -> None:
    """Drop output that could not be written: Python would try again at exit, and fail with its own exit code."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
