"""Clocks, times of change and timestamps that are far out: no command ends with a traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest

from tests.builder import SessionBuilder, text
from tests.hostile.effort import sample
from tests.hostile.windows import Window
from tests.stores import ONE, THREE, StoreBuilder

DRIVER = """
import datetime, sys, time

shift, now, calendar = float(sys.argv.pop(1)), time.time, datetime.datetime

class Kind(type):
    def __instancecheck__(self, value):
        return isinstance(value, calendar)

class Shifted(calendar, metaclass=Kind):
    @classmethod
    def now(cls, zone=None):
        return calendar.fromtimestamp(time.time(), zone)

time.time = lambda: now() + shift
time.time_ns = lambda: int((now() + shift) * 10**9)
datetime.datetime = Shifted
from claude_session_player.cli import main
main()
"""
"""The program with another clock: everything that asks for the present moment is told another one."""

SHIFTS = [0, 10**11, -(10**11), 10**10, 3 * 10**11, -(10**10), 10**18]
MTIMES = [0, 10**11, -(10**11), 2**33, -1, 253402300800, -62135596801]
ZONES = ["UTC", "XXX-167:59:59", "Pacific/Kiritimati", "<+99>-99", "nonsense/there", ":" * 300, "AAA12BBB,J1/0,J365/0"]
COMMANDS = [
    ["list"],
    ["list", "--json"],
    ["list", "--since", "2h", "--sort", "time"],
    ["projects"],
    ["show", "1f2e"],
    ["replay", "1f2e"],
    ["summary", "1f2e"],
    ["summary", "1f2e", "--json"],
    ["stats"],
    ["stats", "--by", "day"],
    ["get", "1f2e"],
    ["files", "1f2e"],
    ["tree", "1f2e"],
    ["locks"],
    ["todos"],
    ["verify", "--all"],
    ["account", "1f2e"],
    ["play", "1f2e", "--plain", "--speed", "1000", "--idle", "0"],
    ["export", "1f2e", "--format", "asciicast", "-o", "out.cast"],
    ["archive", "1f2e", "--to", "archive"],
    ["clean", "--before", "30d", "--to", "archive"],
    ["clean", "--before", "30d", "--apply", "--to", "archive"],
]
CASES = [
    (shift, mtime, "UTC", command) for shift, mtime, command in product(SHIFTS, MTIMES, COMMANDS) if shift or mtime
] + [(shift, 0, zone, command) for shift, zone, command in product(SHIFTS[:2], ZONES[1:], COMMANDS)]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory, where there is one: its files can have any time of change."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


def build(folder: Path, mtime: int) -> StoreBuilder:
    store = StoreBuilder(folder / "store")
    store.session()
    store.agent(place="subagents")
    odd = SessionBuilder(session_id=THREE)
    for time in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-12:00", "5138-11-16T09:46:40Z", "", "soon"):
        odd.prompt("When?", timestamp=time).response(text("Then."), timestamp=time)
    odd.write(store.home() / f"{THREE}.jsonl")
    for path in sorted(store.root.rglob("*"), reverse=True) if mtime else ():
        os.utime(path, ns=(mtime * 10**9, mtime * 10**9))
    return store


def run(folder: Path, shift: int, zone: str, command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", DRIVER, str(shift), *command, "--root", folder / "store"],
        capture_output=True,
        check=False,
        timeout=60,
        cwd=folder,
        env={**os.environ, "TZ": zone, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)},
    )


@pytest.mark.parametrize(("shift", "mtime", "zone", "command"), sample(CASES, 10))
def test_no_clock_makes_a_command_crash(
    folder: Path, shift: int, mtime: int, zone: str, command: Sequence[str]
) -> None:
    build(folder, mtime)
    for _ in range(2):  # the second time, files are known
        done = run(folder, shift, zone, command)
        told = done.stderr.decode()
        assert "Traceback" not in told, told
        assert done.returncode in range(11), told
        if (folder / "archive").exists():
            shutil.rmtree(folder / "archive")


@pytest.mark.parametrize("shift", sample(SHIFTS[1:], 1))
@pytest.mark.parametrize("command", sample([["play", "1f2e"], ["browse"], ["follow", "1f2e"], ["follow", "--all"]], 2))
def test_no_clock_makes_a_window_crash(folder: Path, shift: int, command: Sequence[str]) -> None:
    build(folder, 10**11)
    program = [sys.executable, "-c", DRIVER, str(shift)]
    with Window(*command, "--root", folder / "store", "--no-cache", program=program, HOME=str(folder)) as window:
        window.rest(1)
        window.type(b"q")
        assert window.end(10) == 0, window.output


def test_a_session_far_out_can_be_played(folder: Path) -> None:
    store = build(folder, 10**11)
    with Window("play", store.home() / f"{THREE}.jsonl", "--root", store.root) as window:
        window.until("When?")
        for key in (b"G", b"g", b"]", b"[", b"i", b"\x1b"):
            window.type(key)
            window.rest()
        window.type(b"q")
        assert window.end(10) == 0, window.output
    assert (store.home() / f"{ONE}.jsonl").exists()
