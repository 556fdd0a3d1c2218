"""Kills the real program at many moments, and looks at what is left: what holds for every command that changes things.

A scenario is a world to begin with, a command, and what has to be true: after any kill, and when the same command has
run once more. Kills come right before the n-th thing that the command does to the files of that world, which no hook
of the program is needed for; and after any time, in the middle of whatever it does then.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.program import PATIENCE, PROGRAM, csp

KILLS = int(os.environ.get("KILLS", "4"))
"""How often each scenario is killed."""
SEED = int(os.environ.get("KILL_SEED", time.time_ns()))
"""What the moments of the kills follow from: others in every run, unless it is given."""

Kill = Callable[[int], str | None]
"""Gets how often it was tried before; says when the command was killed, and `None` where it ended before."""

_DRIVER = """
import os, signal, sys

world, last, done = sys.argv[1], int(sys.argv[2]), 0
EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.utime", "os.chmod",
          "os.scandir", "os.listdir", "shutil.rmtree", "fcntl.flock"}

def is_inside(one):  # a name alone is one in an open directory, which is given as a number
    return isinstance(one, str) and (one.startswith(world) or not os.path.isabs(one)) or type(one) is int and one > 2

def count(event, arguments):
    global done
    if event in EVENTS and any(map(is_inside, arguments[: 1 if event == "open" else 2])):
        done += 1
        if done == last:
            os.kill(os.getpid(), signal.SIGKILL)

from claude_session_player.cli import run
sys.addaudithook(count)
code = run(sys.argv[3:])
print(done, file=sys.stderr)
sys.exit(code)
"""


class Scenario(NamedTuple):
    """A world, a command, and what has to be true. Everything happens below the directory that each of them gets."""

    setup: Callable[[Path], None]
    command: Callable[[Path], list[str | Path]]
    after_kill: Callable[[Path, Path], None]
    """Gets the world after the kill, and as it was in the beginning."""
    after_rerun: Callable[[Path, Path], None]


def survives(scenario: Scenario, folder: Path, kills: int = KILLS) -> None:
    """Kill a command so often, each time in the same world; half of the times at its operations, half at any moment."""
    before, world = folder / "before", folder / "world"
    scenario.setup(world)  # paths are absolute: it is built where it is used
    shutil.copytree(world, before, symlinks=True)
    command = list(map(str, scenario.command(world)))
    for kill in _kills(world, command, kills):
        where = _killed(kill, world, before)
        try:
            scenario.after_kill(world, before)
            again = csp(*command)
            assert again.returncode == 0, again.stderr.decode()
            scenario.after_rerun(world, before)
        except AssertionError as error:
            raise AssertionError(f"killed {where} (KILL_SEED={SEED}): {error}") from error


def _killed(kill: Kill, world: Path, before: Path) -> str:
    """Kill the command in the world as it was in the beginning; says when."""
    for attempt in range(20):
        shutil.rmtree(world)
        shutil.copytree(before, world, symlinks=True)
        if (where := kill(attempt)) is not None:
            return where
    raise AssertionError("the command cannot be killed: it always ends before")


def _kills(world: Path, command: list[str], count: int) -> Iterator[Kill]:
    started = time.monotonic()
    whole = _driven(world, command, 0)
    lasted = time.monotonic() - started
    assert whole.returncode == 0, whole.stderr.decode()
    operations = int(whole.stderr.split()[-1])
    assert operations > 10
    chance = random.Random(SEED)
    moments = chance.sample(range(1, operations + 1), min(operations, count - count // 2))
    for moment in moments:
        yield lambda _, moment=moment: _killed_at(world, command, moment)  # type: ignore[misc]
    for _ in range(count - len(moments)):
        yield lambda attempt: _killed_after(command, chance.uniform(0, lasted) / 2**attempt)


def _killed_at(world: Path, command: list[str], operation: int) -> str:
    assert _driven(world, command, operation).returncode == -signal.SIGKILL
    return f"before operation {operation}"


def _killed_after(command: list[str], seconds: float) -> str | None:
    with subprocess.Popen([*PROGRAM, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        time.sleep(seconds)
        process.kill()
    return f"after {seconds:.3f} s" if process.returncode == -signal.SIGKILL else None


def _driven(world: Path, command: list[str], operation: int) -> subprocess.CompletedProcess[bytes]:
    arguments = [sys.executable, "-c", _DRIVER, str(world), str(operation), *command]
    return subprocess.run(arguments, capture_output=True, check=False, timeout=PATIENCE)
