"""The log of what was removed: a line of JSON for each session, beside the archives."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from claude_session_player.care.bins import Log, Note
from claude_session_player.care.durable import make_folders
from claude_session_player.errors import CannotWrite
from claude_session_player.regular_file import only_regular
from claude_session_player.text import display_path
from claude_session_player.times import format_time, local_now

NAME: Final = "log.jsonl"


@contextmanager
def journal(folder: str) -> Iterator[Log]:
    """The log in a directory, open to be written to. Raises `CannotWrite`, before anything else is done if possible."""
    path = os.path.join(folder, NAME)
    try:
        make_folders(folder)
        file = open(path, "ab", buffering=0, opener=only_regular)  # noqa: SIM115 - what happens inside is not an error of the log
    except OSError as error:
        raise CannotWrite(f"{display_path(path)}: {error.strerror or error}") from error

    def log(note: Note) -> None:
        try:
            file.write((json.dumps(_record(note)) + "\n").encode())
        except OSError as error:
            raise CannotWrite(f"{display_path(path)}: {error.strerror or error}") from error

    with file:
        yield log


def _record(note: Note) -> dict[str, object]:
    return {
        "time": format_time(local_now()),
        "action": "deleted" if note.archive is None else "removed",
        "id": display_path(note.id),
        "title": note.title,
        "path": display_path(note.path),
        "size": note.size,
        "archive": None if note.archive is None else display_path(note.archive),
    }
