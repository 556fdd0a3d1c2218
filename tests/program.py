"""The real program in a process of its own."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from tests.fork_server import fork_server

PROGRAM = [sys.executable, "-m", "claude_session_player"]
_PATIENCE: Final = 60.0
_STREAMS: Final = 3
_FOR_THE_INTERPRETER: Final = ("PYTHON", "LC_", "LANG")
"""How variables begin that are read when the interpreter starts: a fork would not see them."""


class Ran(NamedTuple):
    """What a terminal got of a command, and how it ended."""

    output: bytes
    code: int


def csp(
    *arguments: str | Path, stdin: bytes = b"", environment: Mapping[str, str] | None = None, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the program, with some variables of its environment changed."""
    pipes = [os.pipe() for _ in range(_STREAMS)]
    theirs, ours = (pipes[0][0], pipes[1][1], pipes[2][1]), (pipes[0][1], pipes[1][0], pipes[2][0])
    with ThreadPoolExecutor(_STREAMS) as threads:
        wait = _start(arguments, theirs, {**os.environ, **(environment or {}), **variables})
        threads.submit(_write, ours[0], stdin)
        stdout, stderr = (threads.submit(_read, handle) for handle in ours[1:])
        code = wait(_PATIENCE)
    return subprocess.CompletedProcess(list(arguments), code, stdout.result(), stderr.result())


def run_on_terminal(*arguments: str | Path, typed: str | None = None, **environment: str) -> Ran:
    """Run the program on a terminal; where something is typed, that is its standard input, too."""
    master, slave = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **environment}
    settings.pop("NO_COLOR", None) if "NO_COLOR" not in environment else None
    source = os.open(os.devnull, os.O_RDONLY) if typed is None else os.dup(slave)
    if typed is not None:
        os.write(master, typed.encode())
    wait = _start(arguments, (source, slave, os.dup(slave)), settings)
    output = b""
    with contextlib.suppress(OSError):  # the terminal is gone with its last user
        while data := _read_terminal(master):
            output += data
    os.close(master)
    return Ran(output, wait(_PATIENCE))


def on_terminal(*arguments: str | Path, typed: str | None = None, **environment: str) -> str:
    """What the program prints on a terminal."""
    return told_on_terminal(*arguments, typed=typed, **environment)[0]


def told_on_terminal(*arguments: str | Path, typed: str | None = None, **environment: str) -> tuple[str, int]:
    """The same, and the exit code."""
    output, code = run_on_terminal(*arguments, typed=typed, **environment)
    return output.decode().replace("\r\n", "\n"), code


def _start(
    arguments: Sequence[str | Path], streams: Sequence[int], environment: Mapping[str, str]
) -> Callable[[float], int]:
    """Start the program with these handles, which are closed here, as its streams. What it gives waits for the end."""
    words = list(map(str, arguments))
    try:
        if _is_for_the_interpreter(environment):
            stdin, stdout, stderr = streams
            return subprocess.Popen([*PROGRAM, *words], stdin=stdin, stdout=stdout, stderr=stderr, env=environment).wait
        server = fork_server()
        server.start(words, streams, environment, os.getcwd())
        return server.wait
    finally:
        for handle in streams:
            os.close(handle)


def _is_for_the_interpreter(environment: Mapping[str, str]) -> bool:
    names = {name for name in (*environment, *os.environ) if name.startswith(_FOR_THE_INTERPRETER)}
    return any(environment.get(name) != os.environ.get(name) for name in names)


def _write(handle: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(handle, "wb") as file:
        file.write(data)


def _read_terminal(master: int) -> bytes:
    assert select.select([master], [], [], _PATIENCE)[0], "the command hangs"
    return os.read(master, 65536)


def _read(handle: int) -> bytes:
    with open(handle, "rb") as file:
        return file.read()
