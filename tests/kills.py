"""Runs the program in a process of its own, and kills it at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

_DRIVER = """
import os, signal, sys

place, last, said = sys.argv[1], int(sys.argv[2]), 0
EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.utime", "os.chmod", "fcntl.flock"}

def count(event, arguments):
    global said
    if event not in EVENTS:
        return
    if event != "fcntl.flock" and not any(str(argument).startswith(place) for argument in arguments):
        return
    said += 1
    if said == last:
        os.kill(os.getpid(), signal.SIGKILL)

from claude_session_player.cli import run
sys.addaudithook(count)
code = run(sys.argv[3:])
if last == 0:
    print("operations", said, file=sys.stderr)
sys.exit(code)
"""


def operations(place: Path, *arguments: str | Path) -> int:
    """How often a command does something to the files below a directory."""
    done = _run(place, 0, arguments)
    assert done.returncode == 0, done.stderr.decode()
    return int(done.stderr.split()[-1])


def killed(place: Path, at: int, *arguments: str | Path) -> bool:
    """Run a command that is killed before it does something to those files for the n-th time; False where it ended."""
    return _run(place, at, arguments).returncode == -signal.SIGKILL


def _run(place: Path, at: int, arguments: tuple[str | Path, ...]) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", _DRIVER, str(place), str(at), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=dict(os.environ), check=False, timeout=60)
