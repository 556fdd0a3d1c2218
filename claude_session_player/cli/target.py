"""Where an export goes: standard output, or a file that is there when it is complete."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Final, TextIO

from claude_session_player.cli.output import stdout
from claude_session_player.errors import CannotWrite

STANDARD_OUTPUT: Final = "-"


def is_terminal(path: str) -> bool:
    """True where what is written goes to a terminal."""
    return path == STANDARD_OUTPUT and sys.stdout is not None and sys.stdout.isatty()


@contextmanager
def target(path: str, *, force: bool) -> Iterator[TextIO]:
    """The file to write to. A path that is there already is refused, unless with `force`; pipes and devices are not.

    A file comes to its place when all of it is written; whatever goes wrong before, there is none.
    """
    if path == STANDARD_OUTPUT:
        yield stdout()
        return
    if _is_stream(path):
        with _opened(path) as file:
            yield file
        return
    path = os.path.realpath(path) if force else path
    _refuse(path, force)
    try:
        folder = TemporaryDirectory(prefix=".export-", dir=os.path.dirname(os.path.abspath(path)))
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror or error}") from error
    with folder as name:
        part = os.path.join(name, "part")
        with _opened(part) as file:
            yield file
        _put(part, path, force)


def _is_stream(path: str) -> bool:
    """True for a pipe or a device, where nothing can be lost."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _refuse(path: str, force: bool) -> None:
    if os.path.isdir(path):
        raise CannotWrite(f"{path} is a directory: name a file")
    if not force and os.path.lexists(path):
        raise CannotWrite(f"{path} is there already: --force overwrites it")


def _opened(path: str) -> TextIO:
    try:
        return open(path, "w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror or error}") from error


def _put(part: str, path: str, force: bool) -> None:
    from claude_session_player.care.durable import place

    try:
        os.replace(part, path) if force else place(part, path)
    except FileExistsError:
        raise CannotWrite(f"{path} appeared meanwhile: --force overwrites it") from None
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror or error}") from error
