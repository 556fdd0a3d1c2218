"""Tool outputs that were too large for a session file: whole, where the store still has them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Final

from claude_session_player.regular_file import only_regular
from claude_session_player.store.layout import TOOL_RESULTS, Found
from claude_session_player.store.record import shown

_PERSISTED: Final = re.compile(r"<persisted-output>.*?saved to: ([^\n]+?)\s*\n.*?(?:</persisted-output>|\Z)", re.DOTALL)


def resolver(files: Sequence[Found]) -> Callable[[str], str]:
    """Gives texts of sessions with all outputs in full that they refer to."""
    return lambda text: resolved(text, files)


def resolved(text: str, files: Sequence[Found]) -> str:
    """A result with the whole output that it refers to; as it is, with a remark, where that is gone.

    Only the name counts: the store may have moved, and nothing outside of the sessions' directories is read.
    """
    if "<persisted-output>" not in text:
        return text
    return _PERSISTED.sub(lambda match: _whole(match, files), text)


def persisted_name(text: str) -> str | None:
    """The name of the file with the whole output, where a result is nothing but a reference to it.

    >>> persisted_name("<persisted-output>\\nFull output saved to: /home/ada/tool-results/b1.txt\\n\\nPreview:")
    'b1.txt'
    """
    match = _PERSISTED.match(text)
    return _name(match) if match else None


def _name(match: re.Match[str]) -> str:
    return match[1].replace("\\", "/").rpartition("/")[2]


def _whole(match: re.Match[str], files: Sequence[Found]) -> str:
    name = _name(match)
    reason = ""
    for found in files:
        folder = os.path.join(found.home, found.parent or found.id, TOOL_RESULTS)
        path = os.path.join(folder, name)
        try:
            if os.path.realpath(path) != os.path.join(os.path.realpath(os.path.dirname(folder)), TOOL_RESULTS, name):
                raise OSError(0, "a link")
            with open(path, encoding="utf-8", errors="replace", opener=only_regular) as file:
                return file.read().rstrip()
        except (OSError, ValueError) as error:
            reason = f"{shown(found.called(path))}: {getattr(error, 'strerror', None) or error}"
    return f"{match[0]}\n(the whole output is not there: {reason})"
