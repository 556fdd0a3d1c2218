"""The directories in which the program keeps its files, and the name that they have there."""

from __future__ import annotations

import os
import stat
import sys
from typing import Final

PROGRAM: Final = "claude-session-player"
SHORT_PROGRAM: Final = "csp"
"""The short name of the program: examples fit into a line of a help page with it."""

_UNUSABLE: Final = ("locked", "readonly", "full", "unable to open", "disk I/O")
"""Words of SQLite's messages about a database that is not damaged, but cannot be used now."""
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
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


# --- files that only their owner may read --------------------------------------------------------


def distrust_reason(path: str) -> str | None:
    """Why a file of the cache cannot be trusted: other users can write to it, or to its directory."""
    if os.name != "posix":
        return None
    for place, look in ((os.path.dirname(path), os.stat), (os.path.dirname(path), os.lstat), (path, os.lstat)):
        try:
            status = look(place)
        except OSError:  # it does not exist yet, or cannot be used anyway
            continue
        is_link = stat.S_ISLNK(status.st_mode)
        if is_link and place == path:
            return f"{place} is a symbolic link: delete it"
        if status.st_uid not in (os.geteuid(), 0):
            return f"{place} belongs to another user: delete it, or keep the cache elsewhere"
        if not is_link and status.st_mode & _WRITABLE_BY_OTHERS:
            return f"other users may write to {place}: take that permission away"
    return None


def create_private_file(path: str) -> None:
    """Create a file, and its directory, that no other user may read: it will hold what people typed."""
    if os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def is_unusable_database(error: Exception) -> bool:
    """True for an error of SQLite about a database that is not damaged, but cannot be used now."""
    return any(words in str(error) for words in _UNUSABLE)
