"""The package as another operating system would load it: what is missing there is missing for the package.

Its modules see the system that is asked for where they import `os`, `sys`, `signal` and `fcntl`; the standard library
and the libraries below see the real one.
"""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import importlib
import os
import pkgutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final, NamedTuple

PACKAGE: Final = "claude_session_player"
_AGAIN: Final = (PACKAGE, "platformdirs")
"""What looks at the system when it is imported."""


class System(NamedTuple):
    """What is another value, and what is missing, in modules of the standard library."""

    values: Mapping[str, Mapping[str, Any]]
    missing: Mapping[str, frozenset[str]]
    modules: frozenset[str] = frozenset()
    """What cannot be imported."""


class _Changed(ModuleType):
    """A module with other values, and without some of its names."""

    def __init__(self, real: ModuleType, values: Mapping[str, Any], missing: frozenset[str]) -> None:
        super().__init__(real.__name__)
        self.__dict__.update(_real=real, _values=values, _missing=missing)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__["_missing"]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} on this system")
        values = self.__dict__["_values"]
        return values[name] if name in values else getattr(self.__dict__["_real"], name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["_real"], name, value)


# --- how functions differ ---------------------------------------------------------------------------


def _without_handles(call: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Windows, where directories have no handles."""

    def checked(path: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(path, int):
            raise TypeError(f"{call.__name__}: path should be string, bytes or os.PathLike, not int")
        if any(options.get(name) is not None for name in ("dir_fd", "src_dir_fd", "dst_dir_fd")):
            raise NotImplementedError(f"{call.__name__}: dir_fd unavailable on this platform")
        return call(path, *arguments, **options)

    return checked


def _windows_open(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return os.open(path, flags, *arguments, **options)


def _windows_rename(old: Any, new: Any, **options: Any) -> None:
    if os.path.lexists(new):
        raise FileExistsError(17, "File exists", old, None, new)
    os.rename(old, new, **options)


def _is_directory(path: Any) -> bool:
    return os.path.isdir(path) and not str(path).startswith("/proc")


def _open(file: Any, *arguments: Any, **options: Any) -> Any:
    if isinstance(file, str) and file.startswith("/proc/"):
        raise FileNotFoundError(2, "No such file or directory", file)
    return _REAL_OPEN(file, *arguments, **options)


_REAL_OPEN: Final = builtins.open
_NO_PROC: Final = {"path": _Changed(os.path, {"isdir": _is_directory}, frozenset())}
_LEASES: Final = frozenset(("F_SETLEASE", "F_GETLEASE", "F_SETSIG"))
_WINDOWS_LACKS: Final = frozenset(
    ("O_NONBLOCK", "O_NOFOLLOW", "O_DIRECTORY", "O_NOCTTY", "O_CLOEXEC", "SEEK_DATA", "SEEK_HOLE")
    + ("sched_getaffinity", "pread", "pwrite", "fork", "mkfifo", "makedev", "chown", "fchown", "fchmod", "uname")
    + ("getuid", "geteuid", "getgid", "getegid", "getpgid", "setsid", "killpg", "openpty")
)
_BY_PATH: Final = ("chmod", "utime", "listdir", "scandir", "mkdir", "rmdir", "remove", "unlink", "readlink", "link")
SYSTEMS: Final[Mapping[str, System]] = {
    "macos": System(
        {"sys": {"platform": "darwin"}, "os": _NO_PROC},
        {"os": frozenset(("sched_getaffinity",)), "fcntl": _LEASES},
    ),
    "windows": System(
        {
            "sys": {"platform": "win32"},
            "os": {
                **_NO_PROC,
                **{name: _without_handles(getattr(os, name)) for name in _BY_PATH},
                "name": "nt",
                "O_BINARY": 0,
                "open": _without_handles(_windows_open),
                "rename": _without_handles(_windows_rename),
            },
        },
        {"os": _WINDOWS_LACKS, "signal": frozenset(("SIGHUP", "SIGQUIT", "SIGCONT", "SIGURG", "SIGWINCH", "SIGPIPE"))},
        frozenset(("fcntl", "termios", "pwd", "resource")),
    ),
}


@contextlib.contextmanager
def _seen_as(system: System) -> Iterator[None]:
    """What is imported meanwhile sees another system."""
    real = {module.__name__: module for module in (os, sys, signal, fcntl)}
    try:
        for name, module in real.items():
            sys.modules[name] = _Changed(module, system.values.get(name, {}), system.missing.get(name, frozenset()))
        for name in system.modules:
            sys.modules[name] = None  # type: ignore[assignment]
        yield
    finally:
        sys.modules.update({name: module for name, module in real.items() if name not in system.modules})


def load_package() -> None:
    """Load the package, all but its windows, and so the libraries below."""
    package = importlib.import_module(PACKAGE)
    for module in pkgutil.walk_packages(package.__path__, f"{PACKAGE}."):
        if not module.name.endswith("__main__") and ".tui" not in module.name:
            importlib.import_module(module.name)


def load_again(system: str) -> None:
    """Load the package once more, as another system would; the libraries below stay as they are."""
    for name in [name for name in sys.modules if name.partition(".")[0] in _AGAIN]:
        del sys.modules[name]
    with _seen_as(SYSTEMS[system]):
        load_package()
        importlib.import_module("platformdirs")
    builtins.open = _open
