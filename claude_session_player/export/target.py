"""Where an export goes: a file that is there when it is complete."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TextIO

from claude_session_player.errors import AlreadyThere, CannotWrite
from claude_session_player.placing import place


@contextmanager
def whole_file(path: str, *, may_replace: bool) -> Iterator[TextIO]:
    """The file to write to. Raises `AlreadyThere` for one that may not be replaced, or `CannotWrite`.

    A file comes to its place when all of it is written; whatever goes wrong before, there is none. Pipes and devices
    are written to as they are.
    """
    if _is_stream(path):
        with _open_text(path) as file:
            yield file
        return
    path = os.path.realpath(path) if may_replace else path
    _refuse(path, may_replace)
    try:
        folder = TemporaryDirectory(prefix=".export-", dir=os.path.dirname(os.path.abspath(path)))
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror or error}") from error
    with folder as name:
        part = os.path.join(name, "part")
        with _open_text(part) as file:
            yield file
        _put(part, path, may_replace)


def _is_stream(path: str) -> bool:
    """True for a pipe or a device, where nothing can be lost."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _refuse(path: str, may_replace: bool) -> None:
    if os.path.isdir(path):
        raise CannotWrite(f"{path} is a directory: name a file")
    if not may_replace and os.path.lexists(path):
        raise AlreadyThere(f"{path} is there already")


def _open_text(path: str) -> TextIO:
    try:
        return open(path, "w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror or error}") from error


def _put(part: str, path: str, may_replace: bool) -> None:
    try:
        os.replace(part, path) if may_replace else place(part, path)
    except FileExistsError:
        raise AlreadyThere(f"{path} appeared meanwhile") from None
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror or error}") from error
