"""A film of a file that grows. Somebody else says when to look; here it is told what has happened to the file.

Only what was appended is read. A last line without an end waits until it is whole. A file that was cut off, or that
another one has replaced, is filmed anew, from its beginning.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from typing import Final

from claude_session_player.errors import CannotRead
from claude_session_player.parser import is_subagent_file
from claude_session_player.play.film import PORTION, Film
from claude_session_player.play.tape import FileTape
from claude_session_player.view import View

_SAMPLE: Final = 64
"""Bytes before the end of what was read that are compared: they change when somebody writes a file anew."""


class News(Enum):
    """What has happened to a file since the last look."""

    NOTHING = "nothing"
    GREW = "it grew"
    SHORTENED = "it was cut off and is read anew"
    REPLACED = "another file took its place and is read anew"
    DELETED = "it was deleted"

    @property
    def is_new_film(self) -> bool:
        """True where the film that was is over, and another one begins."""
        return self in (News.SHORTENED, News.REPLACED)


class Followed:
    """A session file and its film. When the file is deleted, the film stays as it was."""

    def __init__(self, path: str, view: View | None = None, opener: Callable[[str], FileTape] = FileTape) -> None:
        """Takes in nothing yet. Raises `CannotRead`."""
        self.path = path
        self.is_deleted = False
        self._view = view or View()
        self._open = opener
        self._tape = opener(path)
        self.film = self._new_film()

    def catch_up(self, portion: int | None = None) -> News:
        """Take in what was appended, and say what has happened; with `portion`, only about so many bytes of it.

        While it says that the file grew, there may be more. Raises `CannotRead` where the file may not be read any
        more.
        """
        news = self._fate()
        has_grown = self._develop(portion)
        return News.GREW if news is News.NOTHING and has_grown else news

    def film_anew(self, view: View) -> None:
        """Begin another film of the same file, for another view."""
        self._view = view
        self.film = self._new_film()

    def close(self) -> None:
        """Let go of the file."""
        self._tape.close()

    def _fate(self) -> News:
        """What has become of the file and of its name; begins a new film where that is needed."""
        try:
            status = os.stat(self.path)
            news = self._compared(status)
            if news.is_new_film:
                before, self._tape = self._tape, self._open(self.path)
                before.close()
                self.film = self._new_film()
        except (OSError, CannotRead) as error:
            if os.path.lexists(self.path):
                if isinstance(error, CannotRead):  # which names the file already
                    raise
                raise CannotRead(f"{self.path}: {error.strerror or error}") from error
            was_deleted, self.is_deleted = self.is_deleted, True
            return News.NOTHING if was_deleted else News.DELETED
        self.is_deleted = False
        return news

    def _compared(self, there: os.stat_result) -> News:
        own = self._tape.status()
        if (own.st_dev, own.st_ino) != (there.st_dev, there.st_ino):
            return News.REPLACED
        return News.NOTHING if own.st_size >= self.film.seen and self._read_sample() == self._sample else News.SHORTENED

    def _develop(self, portion: int | None) -> bool:
        """Take in what was appended; true where there are more lines, or may be."""
        lines, seen, has_more = self.film.lines, self.film.seen, False
        if portion is None:
            while self.film.develop(PORTION):
                pass
        else:
            has_more = self.film.develop(portion)
        if self.film.seen != seen:
            self._sample = self._read_sample()
        return has_more or self.film.lines != lines

    def _read_sample(self) -> bytes:
        """The end of what was looked at, as it stands in the file now: a line without an end may be taken back."""
        start = max(self.film.seen - _SAMPLE, 0)
        return self._tape.read(start, self.film.seen - start)

    def _new_film(self) -> Film:
        self._sample = b""
        return Film(self._tape, self._view.of_subagent() if is_subagent_file(self.path) else self._view)
