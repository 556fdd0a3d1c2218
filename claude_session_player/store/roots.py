"""Where the stores of this machine are."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.errors import NoStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

VARIABLE: Final = "CLAUDE_CONFIG_DIR"
DEFAULT: Final = "~/.claude"
PROJECTS: Final = "projects"
TRANSCRIPTS: Final = "transcripts"
HISTORIES: Final = "pre-compact-session-histories"
_SIGNS: Final = (PROJECTS, TRANSCRIPTS, HISTORIES, "todos", "memories", "settings.json", "history.jsonl")
"""One of these makes a directory a store."""


class StoreRoots(NamedTuple):
    """Where stores are, by their absolute paths, and where one was named that is none."""

    roots: tuple[str, ...]
    missing: tuple[str, ...] = ()


def find_stores(given: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> StoreRoots:
    """The stores: those given, else `$CLAUDE_CONFIG_DIR`, else `~/.claude`.

    Each is named once, however many ways lead to it. Raises `NoStore` where there is none, and where one that was
    given is none.
    """
    environment = os.environ if environment is None else environment
    if given:
        for path in given:
            _require(path)
        return StoreRoots(_distinct(given))
    source = f"${VARIABLE}" if environment.get(VARIABLE, "").strip(" ,") else "the default place"
    places = default_roots(environment)
    stores = [place for place in places if os.path.isdir(place)]
    if not stores:
        raise NoStore(
            f"there is no Claude store at {', '.join(places)} ({source}): "
            f"name one with --root DIR, or set {VARIABLE} to its path"
        )
    return StoreRoots(_distinct(stores), tuple(place for place in places if place not in stores))


def default_roots(environment: Mapping[str, str] | None = None) -> list[str]:
    """Where stores are unless others are named: there may be none yet."""
    environment = os.environ if environment is None else environment
    named = [place.strip() for place in environment.get(VARIABLE, "").split(",") if place.strip()]
    return [os.path.expanduser(place) for place in named or [DEFAULT]]


def is_store(path: str) -> bool:
    """True for a directory that can be given as a store."""
    return any(os.path.exists(os.path.join(path, sign)) for sign in _SIGNS)


def enclosing_store(path: str) -> str | None:
    """The store that a directory is, or whose projects, or one of whose projects, it holds."""
    path = os.path.abspath(path)
    above, name = os.path.split(path)
    outer, name_above = os.path.split(above)
    if is_store(path):
        return path
    return above if name == PROJECTS else outer if name_above == PROJECTS else None


def _require(path: str) -> None:
    if not os.path.isdir(path):
        raise NoStore(f"--root {path}: there is no such directory")
    if is_store(path):
        return
    above = os.path.dirname(os.path.abspath(path))
    hint = f" (did you mean {above}?)" if os.path.basename(os.path.abspath(path)) in _SIGNS else ""
    raise NoStore(f"--root {path}: this is no Claude store, there is no {PROJECTS}/ in it{hint}")


def _distinct(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple({os.path.realpath(path): os.path.abspath(path) for path in reversed(paths)}.values())[::-1]


_LONGEST: Final = 200
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9]")


def encode_project_path(path: str) -> str:
    """The name of a working directory's project directory, as Claude Code writes it.

    >>> encode_project_path("/home/ada/my.engine")
    '-home-ada-my-engine'
    """
    return _NOT_PLAIN.sub("-", path)


def project_dir_spellings(path: str) -> tuple[str, ...]:
    """Every name that a working directory's project directory may have, today's first.

    >>> project_dir_spellings("/home/ada/my_engine")
    ('-home-ada-my-engine', '-home-ada-my_engine', 'home-ada-my-engine', 'home-ada-my_engine')
    """
    today, older = encode_project_path(path), path.replace("/", "-").replace(".", "-")
    return tuple(dict.fromkeys((today, older, today.lstrip("-"), older.lstrip("-"))))


def normalize_project_path(path: str) -> str:
    """The oldest name of a working directory's project directory: `/` and `.` become `-`, without those in front.

    >>> normalize_project_path("/Users/jane/Sites/app.demo")
    'Users-jane-Sites-app-demo'
    """
    return project_dir_spellings(path)[-1]


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
    return match_spelling(directory, cwds) or (cwds[0] if cwds else None)


def match_spelling(directory: str, cwds: Iterable[str]) -> str | None:
    """The first of some working directories, or the parent of one, that is spelled like a project directory.

    Only the beginning of a long name counts: Claude Code cuts it there, and adds a checksum.

    >>> match_spelling("-home-ada", ["/tmp", "/home/ada/engine"]), match_spelling("-home-ada", ["/home/bob"])
    ('/home/ada', None)
    """
    wanted = directory.casefold()[:_LONGEST]
    for cwd in cwds:
        for path in _upwards(cwd):
            if wanted in {spelling.casefold()[:_LONGEST] for spelling in project_dir_spellings(path)}:
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
