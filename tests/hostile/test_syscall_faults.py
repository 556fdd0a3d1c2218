"""System calls that fail: no traceback, a documented exit code, a line that says what, and nothing is lost.

Each command runs once without faults, while strace counts its calls: those that read count where they are about files
of the world that it works on, those that write count always, because the interpreter itself writes nothing. Then the
n-th call fails, for as many n as there is time for.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.hostile.effort import IS_FULL
from tests.hostile.strace import require_strace, traced
from tests.program import PATIENCE, csp
from tests.stores import ONE, TWO, StoreBuilder, settle

SEED = int(os.environ.get("FAULT_SEED", "1"))
"""What the faults are chosen by."""
FAULTS: Final = int(os.environ.get("FAULTS", "2"))
"""How many are tried of each command, unless all are."""

READS: Final = {"openat": ("EIO", "EMFILE", "EACCES"), "read": ("EIO",), "getdents64": ("EIO",), "lseek": ("EIO",)}
WRITES: Final = {
    "write": ("EIO", "ENOSPC"),
    "fsync": ("EIO", "ENOSPC"),
    "rename": ("EIO", "EXDEV"),
    "link,linkat": ("EIO", "EPERM"),
    "mkdir": ("ENOSPC", "EACCES"),
    "unlink,unlinkat,rmdir": ("EIO", "EACCES"),
    "utimensat": ("EPERM",),
    "flock": ("EIO", "EINTR"),
}

COMMANDS: Final = {
    "list": ["list", "--json", "--no-cache"],
    "show": ["show", ONE, "--no-cache"],
    "replay": ["replay", ONE],
    "summary": ["summary", ONE, "--json"],
    "stats": ["stats", "--json", "--no-cache"],
    "files": ["files", ONE, "--json"],
    "tree": ["tree", ONE, "--json"],
    "verify": ["verify", "--all", "--json"],
    "get": ["get", ONE],
    "todos": ["todos", "--json"],
    "settings": ["settings"],
    "projects": ["projects", "--json"],
    "play": ["play", ONE, "--plain", "--idle", "0", "--speed", "1000"],
    "export": ["export", ONE, "--format", "markdown", "-o", "out.md"],
    "archive": ["archive", "add", "--all", "--archive", "archive"],
    "restore": ["restore", "--all", "--archive", "kept"],
    "clean": ["clean", "--before", "2026-06-01", "--apply", "--archive", "archive", "--no-cache"],
}
OUTPUT = "out.md"
CODES = range(11)


class Fault(NamedTuple):
    """One call that fails."""

    calls: str
    error: str
    number: int

    def __str__(self) -> str:
        return f"{self.calls} {self.number}: {self.error}"


class World:
    """A store, an archive, and a command that works on them."""

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        self.folder, self._origin = folder / "world", folder / "origin"
        self._log = folder / "log"
        self._command = [*arguments, "--root", "store"]
        build(self.folder)
        if arguments[0] == "restore":
            shutil.rmtree(self.folder / "store" / "projects")
        shutil.copytree(self.folder, self._origin)
        self.before = tree(self.folder)

    def run(self, fault: Fault | None, calls: str) -> subprocess.CompletedProcess[bytes]:
        """Run the command in the world as it was in the beginning."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._origin, self.folder)
        command = traced(
            calls,
            *self._command,
            log=str(self._log),
            fault=f"error={fault.error}:when={fault.number}" if fault else "",
            only=self._paths() if calls in READS else (),
        )
        return subprocess.run(
            command,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONSAFEPATH": "1",  # else the interpreter looks for modules in the world
                "HOME": str(self.folder),
                "XDG_CACHE_HOME": str(self.folder.parent / "cache"),
            },
        )

    def counted(self, calls: str) -> int:
        """How many such calls one thread makes at most, where none fails."""
        self.run(None, calls)
        lines = self._log.read_text(errors="replace").splitlines()
        return max(Counter(line.split()[0] for line in lines if re.match(r"\d+ +\w+\(", line)).values(), default=0)

    def _paths(self) -> list[Path]:
        return [self.folder, *self.folder.rglob("*")]


def build(world: Path) -> None:
    store = StoreBuilder(world / "store")
    store.session()
    store.session(TWO, "Another one")
    agent = store.agent(place="subagents")
    store.meta(agent, agentType="Explore")
    (store.root / "settings.json").write_text('{"cleanupPeriodDays": 99999}')
    settle(store.root)
    done = csp("archive", "add", "--all", "--archive", world / "kept", "--root", store.root, "--no-cache")
    assert done.returncode == 0, done.stderr


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if path.name not in (".lock", "lock")
    }


def all_faults(world: World) -> list[Fault]:
    faults = []
    for table in (READS, WRITES):
        for calls, errors in table.items():
            for number in range(1, world.counted(calls) + 1):
                faults += [Fault(calls, error, number) for error in errors]
    return faults


def some_faults(name: str) -> list[Fault]:
    """A few faults, without counting every call first: counting takes a run of the program for each kind."""
    chance = random.Random(f"{SEED} {name}")
    kinds = [(calls, error) for table in (READS, WRITES) for calls in table for error in table[calls]]
    return [Fault(calls, error, chance.randint(1, 4)) for calls, error in chance.sample(kinds, FAULTS)]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_system_call_that_fails_never_makes_a_command_lie_or_lose(tmp_path: Path, name: str) -> None:
    require_strace()
    world = World(tmp_path, COMMANDS[name])
    truth = world.run(None, "flock")
    after = tree(world.folder)
    assert truth.returncode in (0, 1), truth.stderr
    failures = []
    for fault in all_faults(world) if IS_FULL else some_faults(name):
        done = world.run(fault, fault.calls)
        try:
            check(world, done, truth, after)
        except AssertionError as error:
            failures.append(f"{name}, {fault}: {error}")
    assert not failures, "\n".join([f"FAULT_SEED={SEED}", *failures])


def check(
    world: World,
    done: subprocess.CompletedProcess[bytes],
    truth: subprocess.CompletedProcess[bytes],
    after: dict[str, bytes | None],
) -> None:
    told = done.stderr.decode()
    assert "Traceback" not in told, told
    assert done.returncode in CODES, (done.returncode, told)
    now = tree(world.folder)
    if done.returncode == truth.returncode and without_times(done.stdout) != without_times(truth.stdout):
        assert told.strip(), f"other output, and not a word: {done.stdout!r} instead of {truth.stdout!r}"
    if done.returncode != truth.returncode:
        assert told.strip() or b" error" in done.stdout or b"denied" in done.stdout or b"Too many" in done.stdout, (
            f"exit code {done.returncode}, and not a word"
        )
    assert_output_whole(now, after)
    assert_nothing_lost(world, now)


def without_times(output: bytes) -> bytes:
    """What is printed apart from the times at which something was done, and sizes of archives, in which these stand."""
    return re.sub(rb" *(\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\d{8}T\d+Z?|[\d.]+ K?B)", b"", output)


def assert_output_whole(now: dict[str, bytes | None], after: dict[str, bytes | None]) -> None:
    """A file that is written is there as it should be, or not at all."""
    assert now.get(OUTPUT) in (None, after.get(OUTPUT))


def assert_nothing_lost(world: World, now: dict[str, bytes | None]) -> None:
    """What was in the store is there, or comes back from the archive; what was in the archive is there."""
    kept = {path: data for path, data in world.before.items() if path.startswith("kept/")}
    assert {path: now.get(path) for path in kept} == kept
    sessions = {path: data for path, data in world.before.items() if path.startswith("store/") and data is not None}
    if {path: now.get(path) for path in sessions} == sessions:
        return
    again = csp(
        "clean", "--before", "1900", "--apply", "--archive", world.folder / "archive", "--root", world.folder / "store"
    )
    assert again.returncode == 0, again.stderr
    back = csp("restore", "--all", "--archive", world.folder / "archive", "--root", world.folder / "store")
    assert back.returncode == 0, back.stderr
    there = tree(world.folder)
    assert {path: there.get(path) for path in sessions} == sessions


def test_a_relative_that_cannot_be_read_is_named_by_tree(tmp_path: Path) -> None:
    require_strace()
    build(tmp_path / "world")
    store = tmp_path / "world" / "store"
    other = next(store.rglob(f"{TWO}.jsonl"))
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = ["tree", ONE, "--root", str(store)]
    assert b"Another one" in csp(*command, environment=environment).stdout  # from now on, the index knows it
    done = subprocess.run(
        traced("read", *command, fault="error=EIO", only=[other]), capture_output=True, check=False, env=environment
    )
    assert b"Another one" not in done.stdout
    assert f"{other}: Input/output error" in done.stderr.decode()
