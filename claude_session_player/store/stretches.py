"""Stretches of a file's lines, read without what stands between them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from claude_session_player.line_reader import read_lines
from claude_session_player.regular_file import only_regular

Stretch = tuple[int, int]
"""The numbers of the first and of the last line."""


class StretchReader:
    """Knows where stretches of lines begin in a file, so that n of them are read without reading all of it n times.

    The file is read through once, for the places of all stretches, and again only where it is another file by then.
    """

    def __init__(self, path: str, stretches: Iterable[Stretch]) -> None:
        self._path = path
        self._firsts = sorted({first for first, _ in stretches})
        self._known: tuple[int, ...] = ()
        self._offsets: dict[int, int] = {}

    def lines(self, stretches: Sequence[Stretch]) -> Iterator[tuple[int, bytes]]:
        """The lines of some of the stretches with their numbers, in the order of the file. Raises `OSError`."""
        with open(self._path, "rb", opener=only_regular) as file:
            status = os.fstat(file.fileno())
            version = (status.st_ino, status.st_size, status.st_mtime_ns)
            if version != self._known:
                self._offsets = dict(_offsets(read_lines(file), self._firsts))
                self._known = version
            done = 0
            for first, last in sorted(stretches):
                if first in self._offsets:
                    file.seek(self._offsets[first])
                    for number, line in zip(range(first, last + 1), read_lines(file), strict=False):
                        if number > done:  # stretches may overlap
                            yield number, line
                    done = max(done, last)


def _offsets(lines: Iterable[bytes], firsts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The offset of each of these lines, as far as the file has them."""
    wanted = iter(firsts)
    first = next(wanted, None)
    offset = 0
    for number, line in enumerate(lines, 1):
        if number == first:
            yield number, offset
            first = next(wanted, None)
            if first is None:
                return
        offset += len(line)
