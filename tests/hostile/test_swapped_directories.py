"""A directory of a store is swapped for a link to somewhere else while sessions are removed or restored.

The swap comes right before the n-th thing that the command does to files, for any n. Whatever the command does then,
nothing outside of the store is touched, and no session is lost.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from claude_session_player.archive.archive_dir import ArchiveDir
from tests.archives import archived, contents
from tests.hostile.effort import pick, sample
from tests.interrupted_removals import interrupted
from tests.program import PATIENCE
from tests.stores import ONE, TWO, Opened, StoreBuilder, settle

STORE, ARCHIVE, OUTSIDE, ASIDE = "store", "archive", "outside", "aside"
SWAPS = pick(3, 40)
"""How many moments are tried for each directory that is swapped."""
CODES = {0, 1, 5}

_DRIVER = """
import os, sys

world, place, link, last, done = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), 0
EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.utime", "os.chmod",
          "os.scandir", "os.listdir", "shutil.rmtree", "fcntl.flock", "fcntl.fcntl"}

def is_inside(one):
    return isinstance(one, str) and (one.startswith(world) or not os.path.isabs(one)) or type(one) is int and one > 2

def count(event, arguments):
    global done
    if event in EVENTS and any(map(is_inside, arguments[: 1 if event == "open" else 2])):
        done += 1
        if done == last:
            if os.path.lexists(place):
                os.rename(place, os.path.join(world, "aside"))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.symlink(link, place)

from claude_session_player.cli import main
sys.addaudithook(count)
sys.argv[1:] = sys.argv[5:]
try:
    main()
finally:
    print(done, file=sys.__stderr__)
    open(os.path.join(world, "operations"), "w").write(str(done))
"""


class Swap(NamedTuple):
    """A command, and the directory that is swapped while it runs, below the store."""

    command: Callable[[Path], list[str | Path]]
    place: str


def clean(world: Path) -> list[str | Path]:
    options = ["--before", "2026-06-01", "--apply", "--no-cache"]
    return ["clean", *options, "--root", world / STORE, "--archive", world / ARCHIVE]


def delete(world: Path) -> list[str | Path]:
    return [*clean(world), "--delete", "--yes"]


def restore(world: Path) -> list[str | Path]:
    return ["restore", "--all", "--archive", world / ARCHIVE, "--root", world / STORE]


def recover(world: Path) -> list[str | Path]:
    return ["clean", "--recover", "--no-cache", "--root", world / STORE, "--archive", world / ARCHIVE]


HOME = Opened(Path()).home()
PLACES: dict[Callable[[Path], list[str | Path]], list[Path]] = {
    clean: [Path("projects"), HOME, HOME / ONE, HOME / f".removing-{ONE}", HOME / f".removing-{ONE}/content"],
    delete: [HOME, HOME / ONE, HOME / f".removing-{TWO}", HOME / f".removed-{ONE}"],
    restore: [Path("projects"), HOME, HOME / ONE, HOME / f".restore-{ONE}"],
    recover: [HOME, HOME / f".removing-{ONE}", HOME / f".removing-{ONE}/content"],
}
CASES = [Swap(command, str(place)) for command, places in PLACES.items() for place in places]


def build(world: Path, command: Callable[[Path], list[str | Path]]) -> dict[str, bytes]:
    """A store, or an archive of one, and something else that looks like it; gives the files of its sessions."""
    store = StoreBuilder(world / STORE)
    store.every_layout()
    settle(store.root)
    files = {path.name: path.read_bytes() for path in store.home().rglob("*") if path.is_file()}
    shutil.copytree(store.root, world / OUTSIDE)
    for path in (world / OUTSIDE).rglob("*"):
        if path.is_file():
            path.write_bytes(b"somebody else's\n")
    home = world / OUTSIDE / HOME
    for mark in (".removing-", ".removed-", ".restore-"):
        for id in (ONE, TWO):
            inside = home / f"{mark}{id}" / "content" / "projects" / HOME.name
            inside.mkdir(parents=True)
            (inside / f"{id}.jsonl").write_bytes(b"somebody else's\n")
    if command is recover:
        interrupted(store, ONE, is_gone=False)
        store.session(ONE, "Something new")
        settle(store.root)
    if command is restore:
        archived(store, ArchiveDir(world / ARCHIVE))
        shutil.rmtree(store.root)
        (store.root / "projects").mkdir(parents=True)
    return files


def state(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a directory; the time of a directory tells whether anything in it came or went."""
    return {
        str(path.relative_to(folder)): (status.st_mode, status.st_mtime_ns, status.st_ino, status.st_nlink)
        for path in (folder, *folder.rglob("*"))
        if (status := path.lstat())
    }


def run(world: Path, swap: Swap, operation: int) -> subprocess.CompletedProcess[bytes]:
    """Run a command; the directory is swapped right before an operation."""
    place, link = world / STORE / swap.place, world / OUTSIDE / swap.place
    arguments = [str(world), str(place), str(link), str(operation), *map(str, swap.command(world))]
    command = [sys.executable, "-c", _DRIVER, *arguments]
    return subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)


def kept(world: Path) -> set[bytes]:
    """The contents of everything in the store, aside and in the archive."""
    found = {path.read_bytes() for name in (STORE, ASIDE) for path in (world / name).rglob("*") if path.is_file()}
    for path in ArchiveDir(world / ARCHIVE).archive_paths():
        found |= set(contents(path).values())
    return found


@pytest.mark.parametrize("swap", CASES, ids=lambda swap: f"{swap.command.__name__} {Path(swap.place).name}")
def test_a_directory_that_is_swapped_for_a_link_leads_nobody_out_of_the_store(swap: Swap, tmp_path: Path) -> None:
    build(tmp_path / "whole", swap.command)
    whole = run(tmp_path / "whole", swap, 0)
    assert whole.returncode == 0, whole.stderr
    operations = int((tmp_path / "whole" / "operations").read_text())
    assert operations > 50
    for operation in sample(range(1, operations + 1), SWAPS):
        world = tmp_path / "world"
        files = build(world, swap.command)
        before = state(world / OUTSIDE)
        done = run(world, swap, operation)
        where = f"swapped before operation {operation}: {done.stderr.decode()}"
        assert state(world / OUTSIDE) == before, where
        assert done.returncode in CODES, where
        assert b"Traceback" not in done.stderr, where
        if swap.command in (clean, recover):
            assert set(files.values()) <= kept(world), where
        shutil.rmtree(world)
