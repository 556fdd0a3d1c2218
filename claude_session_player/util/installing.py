"""How to install a library that comes with an extra, into the environment in which this program runs."""

from __future__ import annotations

import os
import shlex
import sys

from claude_session_player.util.dirs import PROGRAM

_PIPX_FILE = "pipx_metadata.json"
"""What pipx writes into the environment of each program."""


def install_command(library: str, prefix: str = "", *, has_pip: bool | None = None) -> str:
    """The command that installs a library, quoted for the shell; `prefix` is the directory of the environment.

    >>> install_command("kettle", has_pip=False).startswith("uv pip install --python ")
    True
    """
    requirement = _requirement(library)
    if os.path.exists(os.path.join(prefix or sys.prefix, _PIPX_FILE)):
        words = ["pipx", "inject", PROGRAM, requirement]
    elif _has_pip() if has_pip is None else has_pip:
        words = [sys.executable, "-m", "pip", "install", requirement]
    else:  # uv makes environments without pip
        words = ["uv", "pip", "install", "--python", sys.executable, requirement]
    if os.name == "nt":
        from subprocess import list2cmdline

        return list2cmdline(words[:-1]) + f' "{requirement}"'
    return shlex.join(words)


def _has_pip() -> bool:
    from importlib.util import find_spec

    return find_spec("pip") is not None


def _requirement(library: str) -> str:
    """The library with the versions that this program needs; its name alone where the program is not installed."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        known = requires(PROGRAM) or []
    except PackageNotFoundError:
        known = []
    plain = (one.partition(";")[0].replace(" ", "") for one in known)
    return next((one for one in plain if one.startswith(library)), library)
