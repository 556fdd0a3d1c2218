"""Real shells on a terminal: words are typed, TAB and Enter are pressed, and what reached the program is looked at."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pexpect
import pytest

from tests.program import PATIENCE, PROGRAM, csp

SHELLS: Final = ("bash", "zsh", "fish")
_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "--private", "-i"),
}
_SETUPS: Final = {
    "bash": "source {script}",
    "zsh": "autoload -Uz compinit; compinit -D -u; source {script}",
    "fish": "source {script}",
}


def require(shell: str) -> None:
    """Skip where a shell is missing, except in CI, where all of them are installed."""
    if shutil.which(shell) is None and os.environ.get("CI") != "true":
        pytest.skip(f"{shell} is not installed")


class Shell:
    """An interactive shell in a directory, with completion for `csp`.

    Completions come from the real program; a command that is run writes its arguments into a file instead.
    """

    def __init__(self, shell: str, home: Path, store: Path, folder: Path) -> None:
        self.output: bytes = b""
        self._log = home / "arguments"
        self._log.write_bytes(b"")
        script = home / f"script.{shell}"
        script.write_bytes(csp("completion", shell).stdout)
        program = home / "csp"
        program.write_text(
            f'#!/bin/sh\nif [ -n "$_CSP_COMPLETE" ]; then exec {" ".join(PROGRAM)}; fi\n'
            f"{{ printf '%s\\0' \"$@\"; printf '\\0'; }} >> {self._log}\n"
        )
        program.chmod(0o755)
        environment = {
            **os.environ,
            "PATH": f"{home}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.getcwd(),
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(store),
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8",
        }
        program_name, *arguments = _COMMANDS[shell]
        self._child: Any = pexpect.spawn(
            program_name, arguments, env=environment, cwd=str(folder), dimensions=(50, 400), timeout=PATIENCE
        )
        self._child.delaybeforesend = None
        self.run(f"{_SETUPS[shell].format(script=script)}; csp ready")

    def __enter__(self) -> Shell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close(force=True)

    def complete(self, words: str, tabs: int = 1) -> list[bytes]:
        """Type words, press TAB and Enter, and give the arguments that the program got."""
        return self.run(words + "\t" * tabs)

    def run(self, line: str) -> list[bytes]:
        """Type a line and press Enter; the arguments of the program that it ran, or none where it ran none."""
        before = self._log.stat().st_size
        self._child.send(line + "\r")
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            self._read()
            data = self._log.read_bytes()[before:]
            if data.endswith(b"\0\0"):
                return data[:-2].split(b"\0")
        self._child.send("\x03")  # whatever was typed is forgotten
        self.settle()
        return []

    def settle(self) -> None:
        """Wait until the shell says nothing more."""
        while self._read():
            pass

    def _read(self) -> bool:
        try:
            self.output += self._child.read_nonblocking(65536, timeout=0.2)
        except pexpect.TIMEOUT:
            return False
        return True
