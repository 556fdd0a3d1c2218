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
from typing import Any

import pytest

from tests.builder import SessionBuilder, text
from tests.hostile.effort import sample
from tests.hostile.windows import Window
from tests.program import PATIENCE, PROGRAM
from tests.stores import ONE, THREE, StoreBuilder

LIBRARY = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *moment) {
    int failed = syscall(SYS_clock_gettime, clock, moment);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) moment->tv_sec += atol(getenv("CLOCK_SHIFT"));
    return failed;
}

int gettimeofday(struct timeval *moment, void *zone) {
    int failed = syscall(SYS_gettimeofday, moment, zone);
    moment->tv_sec += atol(getenv("CLOCK_SHIFT"));
    return failed;
}

time_t time(time_t *seconds) {
    struct timespec moment;
    clock_gettime(CLOCK_REALTIME, &moment);
    if (seconds) *seconds = moment.tv_sec;
    return moment.tv_sec;
}
"""
"""The clock of the C library, some seconds ahead: what Python makes of it is left to Python, which refuses some."""

SHIFTS = [0, 10**11, -(10**11), 7 * 10**9, 3 * 10**11, -(3 * 10**9)]
MTIMES = [0, 10**11, -(10**11), 2**33, -1, 253402300800, -62135596801]
ZONES = ["UTC", "XXX-167:59:59", "Pacific/Kiritimati", "<+99>-99", "nonsense/there", ":" * 300, "AAA12BBB,J1/0,J365/0"]
COMMANDS = [
    ["list"],
    ["list", "--json"],
    ["list", "--from", "2h"],
    ["list", "--from", "week", "--to", "today", "--sort", "created"],
    ["projects"],
    ["show", "1f2e"],
    ["replay", "1f2e"],
    ["summary", "1f2e"],
    ["summary", "1f2e", "--json"],
    ["stats"],
    ["stats", "--by", "day", "--from", "month"],
    ["get", "1f2e"],
    ["files", "1f2e"],
    ["tree", "1f2e"],
    ["locks"],
    ["todos"],
    ["verify", "--all"],
    ["account", "1f2e"],
    ["play", "1f2e", "--plain", "--speed", "1000", "--idle", "0"],
    ["export", "1f2e", "--format", "asciicast", "-o", "out.cast"],
    ["archive", "add", "--all", "--archive", "archive"],
    ["restore", "--all", "--archive", "kept"],
    ["clean", "--before", "30d", "--archive", "archive"],
    ["clean", "--before", "30d", "--apply", "--archive", "archive"],
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


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that goes before the C library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        reason = "a clock is shifted by a library, which needs Linux and a C compiler"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(LIBRARY)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "clock.so", folder / "clock.c"], check=True)
    return folder / "clock.so"


def environment(folder: Path, library: Path, shift: int, zone: str = "UTC") -> dict[str, Any]:
    return {
        "CLOCK_SHIFT": str(shift),
        "LD_PRELOAD": str(library),
        "TZ": zone,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "HOME": str(folder),
    }


def run(folder: Path, command: Sequence[str], variables: dict[str, Any]) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [*PROGRAM, *command, "--root", folder / "store"],
        capture_output=True,
        check=False,
        timeout=PATIENCE,
        cwd=folder,
        env={**os.environ, **variables},
    )
    told = done.stderr.decode()
    assert "Traceback" not in told, told
    assert "--help'" not in told, told  # a mistake of this test
    assert done.returncode in range(11), told
    return done


@pytest.mark.parametrize(("shift", "mtime", "zone", "command"), sample(CASES, 10))
def test_no_clock_makes_a_command_crash(
    folder: Path, library: Path, shift: int, mtime: int, zone: str, command: Sequence[str]
) -> None:
    build(folder, mtime)
    variables = environment(folder, library, shift, zone)
    if command[0] == "restore":
        run(folder, ["archive", "add", "--all", "--archive", "kept"], variables)
        shutil.rmtree(folder / "store" / "projects")
    for _ in range(2):  # the second time, files are known
        run(folder, command, variables)


@pytest.mark.parametrize("shift", [10**11, -(10**11)])
def test_a_clock_that_cannot_be_read_makes_nothing_old(folder: Path, library: Path, shift: int) -> None:
    build(folder, 10**9)
    before = sorted((folder / "store").rglob("*.jsonl"))
    run(folder, ["clean", "--before", "30d", "--apply", "--archive", "archive"], environment(folder, library, shift))
    assert sorted((folder / "store").rglob("*.jsonl")) == before


WINDOWS = [["play", "1f2e"], ["browse"], ["follow", "1f2e"], ["follow", "--all"]]


@pytest.mark.parametrize("shift", sample([10**11, 7 * 10**9, -(3 * 10**9), -(10**11), 3 * 10**11], 2))
@pytest.mark.parametrize("command", sample(WINDOWS, 2))
def test_no_clock_makes_a_window_crash(folder: Path, library: Path, shift: int, command: Sequence[str]) -> None:
    """Where Python cannot read the clock, the libraries of a window cannot be loaded: that is told in one line."""
    build(folder, 10**11)
    variables = environment(folder, library, shift)
    with Window(*command, "--root", folder / "store", "--no-cache", program=PROGRAM, **variables) as window:
        window.until_it_draws_or_ends()
        window.press(b"q")
        code = window.end()
        assert b"Traceback" not in window.output
        assert code == 0 or (code == 1 and b"set it, and try again" in window.output), window.output


def test_a_session_far_out_can_be_played(folder: Path) -> None:
    store = build(folder, 10**11)
    with Window("play", store.home() / f"{THREE}.jsonl", "--root", store.root) as window:
        window.until("When?")
        window.press(b"Gg][i\x1bq")
        assert window.end() == 0, window.output
    assert (store.home() / f"{ONE}.jsonl").exists()
