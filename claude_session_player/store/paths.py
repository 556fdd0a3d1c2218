"""Project directories: how a working directory is spelled as one, and which real path one stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

_LONGEST: Final = 200
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9]")


def encode(path: str) -> str:
    """The name of a working directory's project directory, as Claude Code writes it.

    >>> encode("/home/ada/my.engine")
    '-home-ada-my-engine'
    """
    return _NOT_PLAIN.sub("-", path)


def spellings(path: str) -> tuple[str, ...]:
    """Every name that a working directory's project directory may have, today's first.

    >>> spellings("/home/ada/my_engine")
    ('-home-ada-my-engine', '-home-ada-my_engine', 'home-ada-my-engine', 'home-ada-my_engine')
    """
    today, older = encode(path), path.replace("/", "-").replace(".", "-")
    return tuple(dict.fromkeys((today, older, today.lstrip("-"), older.lstrip("-"))))


def normalize_project_path(path: str) -> str:
    """The oldest name of a working directory's project directory: `/` and `.` become `-`, without those in front.

    >>> normalize_project_path("/Users/jane/Sites/app.demo")
    'Users-jane-Sites-app-demo'
    """
    return spellings(path)[-1]


@lru_cache(maxsize=1024)
def real_path(directory: str, cwds: tuple[str, ...]) -> str | None:
    """The path that a project directory stands for, by the working directories inside of its files.

    It is the first of them, or the parent of one, that is spelled like the directory; else simply the first. The
    name is never decoded: `-a-b-c` may be `/a/b/c`, `/a/b-c` or `/a-b/c`.

    >>> real_path("-home-ada-engine", ("/home/ada/engine/src", "/tmp"))
    '/home/ada/engine'
    >>> real_path("-somewhere-else", ("/home/ada",))
    '/home/ada'
    """
    return spelled_like(directory, cwds) or (cwds[0] if cwds else None)


def spelled_like(directory: str, cwds: Iterable[str]) -> str | None:
    """The first of some working directories, or the parent of one, that is spelled like a project directory.

    Only the beginning of a long name counts: Claude Code cuts it there, and adds a checksum.

    >>> spelled_like("-home-ada", ["/tmp", "/home/ada/engine"]), spelled_like("-home-ada", ["/home/bob"])
    ('/home/ada', None)
    """
    wanted = directory.casefold()[:_LONGEST]
    for cwd in cwds:
        for path in _upwards(cwd):
            if wanted in {spelling.casefold()[:_LONGEST] for spelling in spellings(path)}:
                return path
    return None


def _upwards(path: str) -> Iterator[str]:
    """A path and all of its parents, of any system."""
    path = path.rstrip("/\\") or path
    while path:
        yield path
        shorter = path[: max(path.rfind("/"), path.rfind("\\"), 0)]
        if shorter == path:
            return
        path = shorter
