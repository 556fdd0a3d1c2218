"""The real program in a process of its own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PROGRAM = [sys.executable, "-m", "claude_session_player"]


def csp(
    *arguments: str | Path, stdin: bytes = b"", environment: Mapping[str, str] | None = None, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the program, with some variables of its environment changed."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env={**os.environ, **(environment or {}), **variables},
        check=False,
        timeout=60,
    )


def on_terminal(*arguments: str | Path, typed: str | None = None, **environment: str) -> str:
    """What the program prints on a terminal; where something is typed, that is its standard input, too."""
    return told_on_terminal(*arguments, typed=typed, **environment)[0]


def told_on_terminal(*arguments: str | Path, typed: str | None = None, **environment: str) -> tuple[str, int]:
    """The same, and the exit code."""
    master, slave = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **environment}
    settings.pop("NO_COLOR", None) if "NO_COLOR" not in environment else None
    source = None if typed is None else slave
    command = [*PROGRAM, *map(str, arguments)]
    with subprocess.Popen(command, stdin=source, stdout=slave, stderr=slave, env=settings) as process:
        os.close(slave)
        if typed is not None:
            os.write(master, typed.encode())
        output = b""
        try:
            while data := os.read(master, 65536):
                output += data
        except OSError:  # the terminal is gone with its last user
            pass
        code = process.wait(30)
    os.close(master)
    return output.decode().replace("\r\n", "\n"), code
