"""Runs many commands on one pseudo-terminal: the real `main`, each time in a fork of a process that has it loaded."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

_DRIVER: Final = """
import gc, importlib, json, os, pkgutil, sys
import rich.console, rich.progress, claude_session_player
for module in pkgutil.walk_packages(claude_session_player.__path__, "claude_session_player."):
    if not module.name.endswith("__main__") and ".tui" not in module.name:
        importlib.import_module(module.name)
from claude_session_player.cli import main
gc.freeze()
status = int(sys.argv[1])
for line in sys.stdin:
    if not (child := os.fork()):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = ["csp", *map(os.fsdecode, map(bytes.fromhex, json.loads(line)))]
        main()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(status, b"%d\\n" % code)
"""


class Ran(NamedTuple):
    """What a terminal got of a command, and how it ended."""

    output: bytes
    code: int


class Terminal:
    """A terminal on which commands run one after another."""

    def __init__(self, process: subprocess.Popen[bytes], master: int, status: int) -> None:
        self._process = process
        self._master = master
        self._status = status

    def run(self, *arguments: str | Path) -> Ran:
        """Run a command to its end."""
        assert self._process.stdin is not None
        words = [os.fsencode(str(argument)).hex() for argument in arguments]
        self._process.stdin.write(json.dumps(words).encode() + b"\n")
        self._process.stdin.flush()
        output, code = b"", b""
        while not code.endswith(b"\n"):
            ready = select.select([self._master, self._status], [], [], 60)[0]
            assert ready, f"{arguments} hangs; so far: {output[-500:]!r}"
            if self._master in ready:
                output += os.read(self._master, 65536)
            elif self._status in ready:  # only when nothing more is on the terminal
                code += os.read(self._status, 1)
        return Ran(output, int(code))


@contextmanager
def terminal(**environment: str) -> Iterator[Terminal]:
    """A terminal in an environment of its own."""
    master, slave = pty.openpty()
    status, told = os.pipe()
    settings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30", **environment}
    settings.pop("NO_COLOR", None) if "NO_COLOR" not in environment else None
    command = [sys.executable, "-c", _DRIVER, str(told)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=slave, stderr=slave, pass_fds=[told], env=settings
    ) as process:
        os.close(slave)
        os.close(told)
        try:
            yield Terminal(process, master, status)
        finally:
            process.kill()
            os.close(master)
            os.close(status)
