"""Tool outputs that were too large for a session file: whole, where the store still has them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from claude_session_player.regular_file import only_small
from claude_session_player.store.layout import TOOL_RESULTS, Found
from claude_session_player.text import display_path

_OPEN, _CLOSE, _SAVED_TO = "<persisted-output>", "</persisted-output>", "saved to: "


class Reference(NamedTuple):
    """A part of a text that stands for an output in a file: where it is, and the name of that file."""

    start: int
    end: int
    name: str


def resolver(files: Sequence[Found], *, is_once: bool = False) -> Callable[[str], str]:
    """Gives texts of sessions with all outputs in full that they refer to.

    With `is_once`, for texts that are told in one transcript: only the first that refers to an output has it in full,
    because n results may refer to one output.
    """
    known = set[str]()
    return lambda text: resolved(text, files, known if is_once else None)


def resolved(text: str, files: Sequence[Found], known: set[str] | None = None) -> str:
    """A result with the whole output that it refers to; as it is, with a remark, where that is gone.

    Only the name counts: the store may have moved, and nothing outside of the sessions' directories is read. What is
    `known` already is not put in again.
    """
    if _OPEN not in text:
        return text
    parts, at = list[str](), 0
    known = set() if known is None else known
    for reference in references(text):
        if reference.name not in known:  # an output is told once, however often a text refers to it
            known.add(reference.name)
            parts += (text[at : reference.start], _whole(text[reference.start : reference.end], reference.name, files))
            at = reference.end
    return "".join(parts) + text[at:]


def references(text: str) -> Iterator[Reference]:
    """The references in a text, one behind the other; what is never closed goes on to the end."""
    end = 0
    while (start := text.find(_OPEN, end)) >= 0:
        place = text.find(_SAVED_TO, start + len(_OPEN))
        while place >= 0 and text.startswith("\n", place + len(_SAVED_TO)):
            place = text.find(_SAVED_TO, place + len(_SAVED_TO))
        line_end = text.find("\n", place) if place >= 0 else -1
        if line_end < 0:  # what is missing here is missing behind every further tag, too
            return
        told = text[place + len(_SAVED_TO) : line_end]
        path = told.rstrip() or told[:1]
        close = text.find(_CLOSE, line_end)
        end = close + len(_CLOSE) if close >= 0 else len(text)
        yield Reference(start, end, path.replace("\\", "/").rpartition("/")[2])


def persisted_name(text: str) -> str | None:
    """The name of the file with the whole output, where a result is nothing but a reference to it.

    >>> persisted_name("<persisted-output>\\nFull output saved to: /home/ada/tool-results/b1.txt\\n\\nPreview:")
    'b1.txt'
    """
    if not text.startswith(_OPEN):
        return None
    found = next(references(text), None)
    return found.name if found is not None else None


def _whole(text: str, name: str, files: Sequence[Found]) -> str:
    """The output that a reference stands for."""
    reason = ""
    for found in files:
        folder = os.path.join(found.home, found.parent or found.id, TOOL_RESULTS)
        path = os.path.join(folder, name)
        try:
            if os.path.realpath(path) != os.path.join(os.path.realpath(os.path.dirname(folder)), TOOL_RESULTS, name):
                raise OSError(0, "a link")
            with open(path, encoding="utf-8", errors="replace", opener=only_small) as file:
                return file.read().rstrip()
        except (OSError, ValueError) as error:
            reason = f"{display_path(found.called(path))}: {getattr(error, 'strerror', None) or error}"
    return f"{text}\n(the whole output is not there: {reason})"
