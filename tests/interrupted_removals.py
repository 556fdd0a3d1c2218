"""Removals that were killed, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from claude_session_player import Filter
from claude_session_player.archive import removal
from claude_session_player.archive.session_files import SessionFiles, collect_session_files
from claude_session_player.archive.trash import REMOVED_PREFIX, REMOVING_PREFIX
from tests.stores import StoreBuilder


class Killed(BaseException):
    """Ends a removal where nothing can be done about it any more, as a kill does."""


def session_files(store: StoreBuilder, id: str) -> SessionFiles:
    """All that belongs to a session."""
    opened = store.open()
    sessions = [session for session in opened.sessions(Filter()) if session.id == id]
    (found,) = collect_session_files(sessions, opened.roots).sessions
    return found


def fine(sessions: Sequence[SessionFiles]) -> list[None]:
    """Nothing speaks against a removal."""
    return [None] * len(sessions)


def interrupted(store: StoreBuilder, id: str, *, is_gone: bool) -> Path:
    """The trash of a session whose removal was killed after everything was moved into it, or when it was decided."""

    def kill(*_: object) -> None:
        raise Killed

    found = session_files(store, id)
    steps: dict[str, Any] = {"delete_trashed": kill} if is_gone else {"describe_change": kill, "move_back": kill}
    try:
        with patch.multiple(removal, **steps):
            list(removal.remove_sessions([removal.Removal(found)], fine, lambda _: None))
    except Killed:
        pass
    mark = REMOVED_PREFIX if is_gone else REMOVING_PREFIX
    (trash,) = store.root.rglob(f"{mark}{id}")
    return trash
