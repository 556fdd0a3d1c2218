"""System calls of the real program that fail, by strace."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.program import PROGRAM


@cache
def _reason() -> str | None:
    """Why strace cannot be used here."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", "-o", os.devnull, "true"], capture_output=True, check=False
    )
    return None if tried.returncode == 0 else f"strace may not trace here: {tried.stderr.decode().strip()}"


def require_strace() -> None:
    """Skip the test that asks where nothing can be traced; continuous integration has to have it."""
    if reason := _reason():
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


def traced(calls: str, *arguments: str, log: str = os.devnull, fault: str = "", only: Sequence[Path] = ()) -> list[str]:
    """The command that runs the program while some system calls are traced, and maybe fail as `fault` says.

    With `only`, none but those that are about these files and directories.
    """
    chosen = ["-e", f"trace={calls}", *(word for path in only for word in ("-P", str(path)))]
    injected = ["-e", f"inject={calls}:{fault}"] if fault else []
    return ["strace", "-f", "-qq", "--seccomp-bpf", "-o", log, *chosen, *injected, *PROGRAM, *arguments]
