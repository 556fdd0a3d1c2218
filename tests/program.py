"""The real program in a process of its own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.fork_server import fork_server

PROGRAM = [sys.executable, "-m", "claude_session_player"]
PATIENCE: Final = 120
"""Seconds until a test gives up waiting for a state: more than a busy machine needs. Tests that pass never spend it."""
not_measured = pytest.mark.skipif(
    "COVERAGE_PROCESS_CONFIG" in os.environ, reason="coverage loads modules, writes files and ends threads of its own"
)
_STREAMS: Final = 3
_FOR_THE_INTERPRETER: Final = ("PYTHON", "LC_", "LANG")
"""How variables begin that are read when the interpreter starts: a fork would not see them."""


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait for a state of another process; `what` says which where it never comes."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, f"waited in vain: {what}"
        time.sleep(0.01)


def is_asleep(process: int) -> bool:
    """True where no thread of a process has or wants a processor; always where the system has no /proc."""
    return not any(state in "RD" for state in _thread_states(process))


def unread(handle: int) -> int:
    """How many bytes of a pipe or a terminal its reader has not read."""
    return int(struct.unpack("i", fcntl.ioctl(handle, termios.FIONREAD, struct.pack("i", 0)))[0])


def _thread_states(process: int) -> Iterator[str]:
    """A letter for each thread."""
    for stat in Path(f"/proc/{process}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # it is over
            yield stat.read_text().rpartition(")")[2].split()[0]


class Ran(NamedTuple):
    """What a terminal got of a command, and how it ended."""

    output: bytes
    code: int


def csp(
    *arguments: str | Path,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    user: int | None = None,
    system: str = "",
    **variables: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run the program, with some variables of its environment changed; as another user or system where one is given."""
    pipes = [os.pipe() for _ in range(_STREAMS)]
    theirs, ours = (pipes[0][0], pipes[1][1], pipes[2][1]), (pipes[0][1], pipes[1][0], pipes[2][0])
    with ThreadPoolExecutor(_STREAMS) as threads:
        wait = _start(arguments, theirs, {**os.environ, **(environment or {}), **variables}, user, system)
        threads.submit(_write, ours[0], stdin)
        stdout, stderr = (threads.submit(_read, handle) for handle in ours[1:])
        code = wait(PATIENCE)
    return subprocess.CompletedProcess(list(arguments), code, stdout.result(), stderr.result())


def export_as_is(*arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run `export` on a session as it is; that it redacts, unless told otherwise, is tested in tests/redact."""
    return csp("export", "--no-redact", *arguments, **more)


def run_on_terminal(*arguments: str | Path, typed: str | None = None, system: str = "", **environment: str) -> Ran:
    """Run the program on a terminal; where something is typed, that is its standard input, too."""
    master, slave = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", "PAGER": "cat", **environment}
    settings.pop("NO_COLOR", None) if "NO_COLOR" not in environment else None
    source = os.open(os.devnull, os.O_RDONLY) if typed is None else os.dup(slave)
    if typed is not None:
        os.write(master, typed.encode())
    wait = _start(arguments, (source, slave, os.dup(slave)), settings, None, system)
    output = b""
    with contextlib.suppress(OSError):  # the terminal is gone with its last user
        while data := _read_terminal(master):
            output += data
    os.close(master)
    return Ran(output, wait(PATIENCE))


def on_terminal(*arguments: str | Path, typed: str | None = None, **environment: str) -> str:
    """What the program prints on a terminal."""
    return told_on_terminal(*arguments, typed=typed, **environment)[0]


def told_on_terminal(*arguments: str | Path, typed: str | None = None, **environment: str) -> tuple[str, int]:
    """The same, and the exit code."""
    output, code = run_on_terminal(*arguments, typed=typed, **environment)
    return output.decode().replace("\r\n", "\n"), code


def _start(
    arguments: Sequence[str | Path],
    streams: Sequence[int],
    environment: Mapping[str, str],
    user: int | None,
    system: str,
) -> Callable[[float], int]:
    """Start the program with these handles, which are closed here, as its streams. What it gives waits for the end."""
    words = list(map(str, arguments))
    try:
        if _is_for_the_interpreter(environment):
            stdin, stdout, stderr = streams
            assert (user, system) == (None, ""), "only a fork can be another user, or on another system"
            return subprocess.Popen([*PROGRAM, *words], stdin=stdin, stdout=stdout, stderr=stderr, env=environment).wait
        server = fork_server(system)
        server.start(words, streams, environment, os.getcwd(), user)
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
    assert select.select([master], [], [], PATIENCE)[0], "the command hangs"
    return os.read(master, 65536)


def _read(handle: int) -> bytes:
    with open(handle, "rb") as file:
        return file.read()
