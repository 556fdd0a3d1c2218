"""Standard streams that are closed: every command says in one line what is wrong, or does without."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.hostile.effort import sample
from tests.program import PATIENCE, PROGRAM
from tests.stores import ONE, StoreBuilder

STDIN, STDOUT, STDERR = 0, 1, 2
CLOSED = {"no stdin": (STDIN,), "no stdout": (STDOUT,), "no stderr": (STDERR,), "nothing": (STDIN, STDOUT, STDERR)}
LONG = 65 << 20
"""More than what is read without a progress bar."""

OF_STORE = (
    ("list",),
    ("list", "--json"),
    ("show", ONE),
    ("get", ONE),
    ("replay", ONE),
    ("play", "--plain", ONE),
    ("summary", ONE),
    ("tree", ONE),
    ("files", ONE),
    ("verify", "--all"),
    ("verify", "--all", "--json"),
    ("locks",),
    ("clean", "--empty"),
    ("clean", "--title", "engine"),
    ("projects",),
    ("stats",),
    ("stats", "--csv"),
    ("todos",),
    ("memories",),
    ("settings",),
    ("account", ONE),
    ("export", ONE),
    ("browse",),
)
OTHERS = (
    ("demo",),
    ("completion", "bash"),
    ("archive", "list"),
    ("verify",),
    ("--help",),
    ("--version",),
    ("show", "-"),
)
CASES = [(*command, how) for command in (*OF_STORE, *OTHERS) for how in CLOSED]
CODES = {0, 2, 3, 4, 5}
"""Not 1, which is what Python itself leaves with; only `verify` means something by it."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one of everything."""
    root = tmp_path_factory.mktemp("closed") / "store"
    StoreBuilder(root).every_layout()
    return root


def run(*command: str | Path, closed: tuple[int, ...]) -> subprocess.CompletedProcess[bytes]:
    """Run the program without some of its standard streams."""

    def close() -> None:
        for number in closed:
            os.close(number)

    return subprocess.run(
        [*PROGRAM, *map(str, command)], capture_output=True, check=False, timeout=PATIENCE, preexec_fn=close, input=b""
    )


@pytest.mark.parametrize("case", sample(CASES, 12), ids=" ".join)
def test_a_closed_stream_is_no_traceback(store: Path, case: tuple[str, ...]) -> None:
    *command, how = case
    where = ("--no-cache", "--root", store) if tuple(command) in OF_STORE else ()
    done = run(*command, *where, closed=CLOSED[how])
    assert b"Traceback" not in done.stderr
    assert done.returncode in CODES | ({1} if command[0] == "verify" else set())


@pytest.mark.parametrize("command", [("verify", "--all"), ("list",), ("show", ONE)])
def test_output_that_cannot_be_written_is_told_by_the_exit_code(store: Path, command: tuple[str, ...]) -> None:
    done = run(*command, "--root", store, "--no-cache", closed=CLOSED["no stdout"])
    assert (done.returncode, done.stderr.count(b"\n")) == (5, 1)
    assert b"standard output is closed" in done.stderr


@pytest.mark.parametrize("command", [("--version",), ("--help",), ("list", "--help")], ids=" ".join)
def test_help_that_cannot_be_printed_is_told_by_the_exit_code(command: tuple[str, ...]) -> None:
    done = run(*command, closed=CLOSED["no stdout"])
    assert (done.returncode, done.stderr.count(b"\n")) == (5, 1)


def test_a_long_session_is_replayed_without_stderr(tmp_path: Path) -> None:
    path = StoreBuilder(tmp_path / "store").session()
    with path.open("ab") as file:
        file.truncate(LONG)  # a hole costs nothing, and counts as one line of NUL bytes
    done = run("replay", path, closed=CLOSED["no stderr"])
    assert (done.returncode, b"It runs." in done.stdout) == (0, True)
