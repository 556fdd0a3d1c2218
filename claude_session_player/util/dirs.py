"""The directories in which the program keeps its files, and the name that they have there."""

from __future__ import annotations

import os
import sys
from typing import Final

PROGRAM: Final = "claude-session-player"

_IS_LINUX: Final[bool] = sys.platform == "linux"
_XDG: Final = {
    "cache": ("XDG_CACHE_HOME", "~/.cache"),
    "data": ("XDG_DATA_HOME", "~/.local/share"),
    "config": ("XDG_CONFIG_HOME", "~/.config"),
}
"""For each kind of files on Linux, the variable that names their directory, and its default."""


def cache_dir() -> str | None:
    """The directory for files that can be deleted at any time; `None` if the platform has none."""
    return _user_dir("cache")


def data_dir() -> str | None:
    """The directory for files that must not be lost; `None` if the platform has none."""
    return _user_dir("data")


def config_dir() -> str | None:
    """The directory for settings that a person writes; `None` if the platform has none."""
    return _user_dir("config")


def _user_dir(kind: str) -> str | None:
    if _IS_LINUX:  # what platformdirs says, without the time that it takes to import
        variable, default = _XDG[kind]
        return os.path.join(os.environ.get(variable, "").strip() or os.path.expanduser(default), PROGRAM)
    import platformdirs

    functions = {
        "cache": platformdirs.user_cache_dir,
        "data": platformdirs.user_data_dir,
        "config": platformdirs.user_config_dir,
    }
    try:
        return functions[kind](PROGRAM, appauthor=False)
    except (OSError, RuntimeError, KeyError):
        return None
