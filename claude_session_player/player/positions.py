"""Where a person left each session, remembered in a private file of the data directory.

What cannot be read or written is as if nothing were remembered: the player never fails because of it.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.store import default_roots, enclosing_store
from claude_session_player.util.dirs import data_dir, distrust_reason
from claude_session_player.util.fsutil import regular_opener

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE_NAME: Final = "positions.json"
_MAX_POSITIONS: Final = 1000
_MAX_SIZE: Final = 1 << 20


class LeftPosition(NamedTuple):
    """Where a session was left, and how it was shown."""

    line: int
    percent: int
    view: str = ""
    """The name of the view; empty if it is unknown."""
    highlights: bool = False


class PositionStore:
    """The positions in a file; the latest comes last, and the oldest are forgotten when there are too many."""

    def __init__(self, path: str | None = None, *, forbidden: Iterable[str] = ()) -> None:
        """Without a path, the file is in the data directory. Below `forbidden` directories nothing is written."""
        folder = data_dir()
        self._path = path or (os.path.join(folder, FILE_NAME) if folder else None)
        if self._path is not None and any(_is_below(self._path, place) for place in forbidden):
            self._path = None

    @classmethod
    def of_user(cls, session: str) -> PositionStore:
        """The positions of the user, for a session; they are never kept in a store."""
        own = enclosing_store(os.path.dirname(os.path.realpath(session)))
        return cls(forbidden=filter(None, (*default_roots(), own)))

    def find(self, session: str) -> LeftPosition | None:
        """Where a session was left; `session` is the path of its file."""
        found = self._read().get(_key(session))
        return found and _to_position(found)

    def remember(self, session: str, position: LeftPosition) -> None:
        """Remember where a session was left."""
        self._change(_key(session), list(position))

    def forget(self, session: str) -> None:
        """Forget where a session was left."""
        self._change(_key(session), None)

    def _change(self, key: str, value: list[Any] | None) -> None:
        known = self._read()
        before = known.pop(key, None)
        if value is not None:
            known[key] = value
        elif before is None:
            return
        with suppress(OSError):
            self._write(_latest(known))

    def _read(self) -> dict[str, Any]:
        if self._path is None or distrust_reason(self._path):
            return {}
        try:
            with open(self._path, "rb", opener=regular_opener) as file:
                data = file.read(_MAX_SIZE + 1)
            known = json.loads(data) if len(data) <= _MAX_SIZE else {}
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}

    def _write(self, known: dict[str, Any]) -> None:
        """Replace the file as a whole, so that another player never reads half of it. Raises `OSError`."""
        if self._path is None or distrust_reason(self._path):
            return
        folder = os.path.dirname(self._path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, part = tempfile.mkstemp(prefix=".positions-", dir=folder)  # no other user may read it
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(known, file)
            os.replace(part, self._path)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise


def _key(session: str) -> str:
    return os.path.realpath(session)


def _latest(known: dict[str, Any]) -> dict[str, Any]:
    """The latest positions, as many as are kept and as fit into a file that is read again."""
    kept: list[str] = []
    size = 0
    for key in reversed(known):
        size += len(json.dumps({key: known[key]}))  # the braces count for the separator
        if size > _MAX_SIZE or len(kept) == _MAX_POSITIONS:
            break
        kept.append(key)
    return {key: known[key] for key in reversed(kept)}


def _is_below(path: str, place: str) -> bool:
    return os.path.join(os.path.realpath(path), "").startswith(os.path.join(os.path.realpath(place), ""))


def _to_position(value: Any) -> LeftPosition | None:
    match value:
        case [int(line), int(percent), str(view), bool(highlights)] if line > 0:
            return LeftPosition(line, min(max(percent, 0), 100), view, highlights)
    return None
