"""The command line. `main` is the entry point and the one place where errors become exit codes."""

from __future__ import annotations

import contextlib
import os
import sys

from claude_session_player import __version__
from claude_session_player.errors import CannotWrite, SessionError

PROGRAM = "claude-session-player"

INTERRUPTED = 130
USAGE = 2


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        code = run(sys.argv[1:])
    except BrokenPipeError:  # whoever read our output has seen enough
        code = 0
    except OSError as error:
        _tell(f"cannot write the output: {error.strerror or error}")
        code = CannotWrite.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    _forget_output()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command and give its exit code; a mistake is told in one line on stderr."""
    if arguments == ["--version"]:  # answered without loading anything else
        print(f"{PROGRAM} {__version__}", flush=True)
        return 0

    import click

    from claude_session_player.cli.app import app

    try:
        with app.make_context(PROGRAM, arguments) as context:  # `app.main` would swallow a closed pipe
            code = app.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        failed = getattr(error, "ctx", None)
        where = failed.command_path if failed else PROGRAM
        _tell(f"{error.format_message().rstrip('.')} (see '{where} --help')")
        return USAGE
    except SessionError as error:
        _tell(str(error))
        return error.exit_code
    return code if isinstance(code, int) else 0


def _tell(message: str) -> None:
    one_line = " ".join(message.split())
    with contextlib.suppress(OSError, AttributeError):  # nobody listens, but the exit code still tells
        print(f"{PROGRAM}: {one_line}", file=sys.stderr, flush=True)


def _forget_output() -> None:
    """Let nothing be written at the exit that could not be written before."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
