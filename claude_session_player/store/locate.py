"""Where the stores of this machine are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from claude_session_player.errors import NoStore

VARIABLE: Final = "CLAUDE_CONFIG_DIR"
DEFAULT: Final = "~/.claude"
PROJECTS: Final = "projects"
TRANSCRIPTS: Final = "transcripts"
HISTORIES: Final = "pre-compact-session-histories"
_SIGNS: Final = (PROJECTS, TRANSCRIPTS, HISTORIES, "todos", "memories", "settings.json", "history.jsonl")
"""One of these makes a directory a store."""


class Places(NamedTuple):
    """Where stores are, by their absolute paths, and where one was named that is none."""

    roots: tuple[str, ...]
    missing: tuple[str, ...] = ()


def locate(given: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Places:
    """The stores: those given, else `$CLAUDE_CONFIG_DIR`, else `~/.claude`.

    Each is named once, however many ways lead to it. Raises `NoStore` where there is none, and where one that was
    given is none.
    """
    environment = os.environ if environment is None else environment
    if given:
        for path in given:
            _require(path)
        return Places(_distinct(given))
    source = f"${VARIABLE}" if environment.get(VARIABLE, "").strip(" ,") else "the default place"
    places = usual_places(environment)
    stores = [place for place in places if os.path.isdir(place)]
    if not stores:
        raise NoStore(
            f"there is no Claude store at {', '.join(places)} ({source}): "
            f"name one with --root DIR, or set {VARIABLE} to its path"
        )
    return Places(_distinct(stores), tuple(place for place in places if place not in stores))


def usual_places(environment: Mapping[str, str] | None = None) -> list[str]:
    """Where stores are unless others are named: there may be none yet."""
    environment = os.environ if environment is None else environment
    named = [place.strip() for place in environment.get(VARIABLE, "").split(",") if place.strip()]
    return [os.path.expanduser(place) for place in named or [DEFAULT]]


def is_store(path: str) -> bool:
    """True for a directory that can be given as a store."""
    return any(os.path.exists(os.path.join(path, sign)) for sign in _SIGNS)


def store_around(path: str) -> str | None:
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
