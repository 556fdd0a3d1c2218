"""Runs kingfisher, a scanner for secrets that comes with the extra `secrets`, on texts in a private directory.

It validates nothing, asks no server, and writes only below that directory. Its output holds secrets: it is read through
a pipe, and neither kept nor shown.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

import msgspec

from claude_session_player.errors import MissingExtra, NotInstalled

_PACKAGE: Final = "kingfisher"
_LIBRARY: Final = "kingfisher-bin"
_SUCCESS: Final = (0, 200, 205)
"""Exit codes: nothing found, something found."""
_OPTIONS: Final = (
    *("--no-validate", "--no-update-check", "--quiet", "--no-dedup", "--no-extract-archives", "--format", "json"),
    *("--git-history", "none"),
)
_START_SECONDS: Final = 60


class KingfisherFind(NamedTuple):
    """What kingfisher found in a file."""

    file: str
    line: int
    rule: str
    value: str

    def __repr__(self) -> str:
        return f"KingfisherFind({self.file!r}, {self.line}, {self.rule!r})"


def find_kingfisher() -> str:
    """The path of the program. Raises `MissingExtra`, or `NotInstalled` if it does not run on this machine."""
    path = _path()
    if path is None:
        from claude_session_player.util.installing import install_command

        raise MissingExtra(f"--deep needs {_LIBRARY}: install it with {install_command(_LIBRARY)}")
    try:
        subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_START_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise NotInstalled(f"--deep: kingfisher does not run on this machine: {reason}") from None
    return path


def _path() -> str | None:
    name = f"{_PACKAGE}.exe" if sys.platform == "win32" else _PACKAGE
    spec = find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if os.path.isfile(path := os.path.join(folder, "bin", name)):
            return path
    return shutil.which(name)


def run_kingfisher(program: str, folder: str, private: str) -> list[KingfisherFind]:
    """What kingfisher finds in the files of a folder. What it writes, it writes into a private directory.

    Raises `NotInstalled` if it fails.
    """
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    places = dict.fromkeys(
        ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), private
    )
    try:
        done = subprocess.run(
            [program, "scan", folder, *_OPTIONS, "--rule-cache-dir", os.path.join(private, "rules")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=private,
            env={**kept, **places},
            check=False,
        )
    except OSError as error:
        raise NotInstalled(f"--deep: kingfisher does not run on this machine: {error.strerror}") from None
    if done.returncode not in _SUCCESS:
        raise NotInstalled(f"--deep: kingfisher failed with exit code {done.returncode}")
    try:
        return [_to_find(one) for one in msgspec.json.decode(done.stdout)["findings"]]
    except (ValueError, KeyError, TypeError):
        raise NotInstalled("--deep: this version of kingfisher prints something that is not understood") from None


def _to_find(finding: dict[str, Any]) -> KingfisherFind:
    found = finding["finding"]
    return KingfisherFind(
        os.path.basename(found["path"]), int(found["line"]), finding["rule"]["name"], found["snippet"]
    )
