"""Prints the test modules that need no POSIX system, one path per line: what runs on Windows.

A module is left out if it, or a module of the tests that it imports, uses something that only POSIX systems have.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.source_tree import Module, Package

TESTS: Final = Path(__file__).parents[1] / "tests"

POSIX_MODULES: Final = frozenset({"fcntl", "grp", "pexpect", "pty", "pwd", "resource", "subprocess", "termios", "tty"})
"""`subprocess` because the tests compare what a program prints byte by byte, with POSIX line endings."""
POSIX_ATTRIBUTES: Final = frozenset(
    {
        "O_DIRECTORY",
        "O_NOFOLLOW",
        "SIGCONT",
        "SIGHUP",
        "SIGKILL",
        "SIGPIPE",
        "SIGSTOP",
        "SIGTSTP",
        "SIGUSR1",
        "SIGWINCH",
        "chmod",  # exists on Windows, but knows no rights of owners and groups
        "fork",
        "geteuid",
        "getpgid",
        "getuid",
        "killpg",
        "mkfifo",
        "openpty",
        "send_signal",
        "setsid",
        "statvfs",
        "symlink",
        "symlink_to",
        "tzset",
        "umask",
    }
)
POSIX_FOLDERS: Final = frozenset({"hostile"})
"""Tests about other users, links, pipes and signals."""
POSIX_PATHS: Final = ("/bin/", "/dev/", "/proc/", "/usr/")


def portable_tests(tests: Path = TESTS) -> list[Path]:
    """The test modules that need no POSIX system, in order."""
    package = Package(tests)
    posix = {name for name, module in package.modules.items() if _is_for_posix(name, module)}
    found = [
        tests.parent / Path(*name.split(".")).with_suffix(".py")
        for name in package.modules
        if name.rpartition(".")[2].startswith("test_") and not _reachable(package, name) & posix
    ]
    return sorted(found)


def _is_for_posix(name: str, module: Module) -> bool:
    return not POSIX_FOLDERS.isdisjoint(name.split(".")) or any(_posix_features(module))


def _posix_features(module: Module) -> Iterator[str]:
    """What the source of a module uses that Windows lacks."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name in POSIX_MODULES)
            case ast.ImportFrom(module=str(name)) if name.partition(".")[0] in POSIX_MODULES:
                yield name
            case ast.Attribute(attr=name) if name in POSIX_ATTRIBUTES:
                yield name
            case ast.Constant(value=str(text)) if text.startswith(POSIX_PATHS):
                yield text


def _reachable(package: Package, name: str) -> set[str]:
    """A module, and all modules of the package that it imports, directly or not."""
    found, waiting = set(), [name]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting.extend(package.entered(package.modules[current]))
    return found


if __name__ == "__main__":
    for path in portable_tests():
        print(path.relative_to(TESTS.parent).as_posix())
