"""Several users of one machine, for tests: only root can be all of them."""

from __future__ import annotations

import importlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.program import csp

ADA = 65530
BOB = 65531
"""Users that nobody else is: no process of theirs is there."""

needs_users = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can start processes of several users"
)

_WRITER = 'exec 3>>"$1" && echo ready && while read -r line; do printf "%s\\n" "$line" >&3 && echo done; done'


def csp_as(
    user: int, *arguments: str | Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the program as another user, who has no rights but his own."""
    return csp(*arguments, environment=environment, user=user)


class Writer:
    """A process of another user that has a file open to append to it."""

    def __init__(self, user: int, path: Path) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _WRITER, "sh", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            user=user,
            group=user,
            extra_groups=[],
        )
        assert self._told() == b"ready\n"

    def write(self, line: str) -> None:
        """Append a line to whatever the file is by now."""
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        assert self._told() == b"done\n"

    def end(self) -> None:
        """Let the process end."""
        self._process.communicate()

    def _told(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A directory that every user can reach; those of pytest are the caller's alone."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@contextmanager
def without_privileges(*modules: str) -> Iterator[None]:
    """Have no more rights than an ordinary user: root is Ada for a while.

    Modules that are needed are loaded before: the interpreter may be where another user cannot read.
    """
    for module in modules:
        importlib.import_module(module)
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(ADA)
    try:
        yield
    finally:
        os.seteuid(0)


def give(folder: Path, user: int) -> None:
    """Let everything below a directory belong to a user."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)
