"""Runs the `console` examples of README.md and docs/, and writes their output back into the pages."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PROGRAMS: Final = ("claude-session-player", "csp")

_BLOCK: Final = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_MODIFIED: Final = 1768658400.0  # 2026-01-17 14:00 UTC: long enough ago that no session counts as in use
_UNSET: Final = ("COLUMNS", "FORCE_COLOR", "NO_COLOR")


def blocks(text: str) -> list[str]:
    """The contents of all `console` blocks of a page."""
    return _BLOCK.findall(text)


def commands(block: str) -> Iterator[str]:
    """The command lines of a block: each follows a `$` prompt."""
    for line in block.splitlines():
        if line.startswith("$ "):
            yield line.removeprefix("$ ")


def rewritten(text: str) -> str:
    """The page with the output that its examples print now."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        _copy_fixtures(directory)
        return _BLOCK.sub(lambda block: "".join(_transcripts(block[0], directory)), text)


def _transcripts(block: str, directory: Path) -> Iterator[str]:
    """Each command of a block, followed by what it prints."""
    for command in commands(block):
        yield f"$ {command}\n{_output(command, directory)}"


def _output(command: str, directory: Path) -> str:
    """What a command prints on stdout and then on stderr."""
    program, *arguments = shlex.split(command)
    if program not in PROGRAMS:
        raise ValueError(f"only {' and '.join(PROGRAMS)} can be run in a console block, not {program!r}")
    done = subprocess.run(
        [sys.executable, "-m", "claude_session_player", *arguments],
        capture_output=True,
        cwd=directory,
        env=_environment(directory),
        check=False,
    )
    return (done.stdout + done.stderr).decode()


def _environment(directory: Path) -> dict[str, str]:
    """A person's environment without anything that changes the output.

    The example store is that of Claude Code, so that no path of this machine is in the commands that resume a session.
    """
    home = str(directory / "home")
    kept = {name: value for name, value in os.environ.items() if name not in _UNSET}
    python_path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    directories = {f"XDG_{kind}_HOME": str(directory / "home" / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
    store = str(directory / "tests" / "fixtures" / "store")
    return {**kept, **directories, "CLAUDE_CONFIG_DIR": store, "HOME": home, "PYTHONPATH": python_path, "TZ": "UTC"}


def _copy_fixtures(directory: Path) -> None:
    """A copy that examples may write to, with the same times on every machine."""
    fixtures = directory / "tests" / "fixtures"
    shutil.copytree(ROOT / "tests" / "fixtures", fixtures, ignore=shutil.ignore_patterns("screens"))
    for path in fixtures.rglob("*"):
        os.utime(path, (_MODIFIED, _MODIFIED))


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")
