"""Tool outputs that were too large for a session file: whole, where the store still has them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Final

from claude_session_player.store.layout import TOOL_RESULTS, Found
from claude_session_player.store.record import shown

_PERSISTED: Final = re.compile(r"<persisted-output>.*?saved to: ([^\n]+?)\s*\n.*?(?:</persisted-output>|\Z)", re.DOTALL)


def resolver(found: Found) -> Callable[[str], str]:
    """Gives texts of a session with all outputs in full that they refer to."""
    session = found.parent or found.id
    folder = os.path.join(found.home, session, TOOL_RESULTS)
    return lambda text: resolved(text, folder)


def resolved(text: str, folder: str) -> str:
    """A result with the whole output that it refers to; as it is, with a remark, where that is gone.

    Only the name counts: the store may have moved, and nothing outside of the folder is read.
    """
    if "<persisted-output>" not in text:
        return text
    return _PERSISTED.sub(lambda match: _whole(match, folder), text)


def _whole(match: re.Match[str], folder: str) -> str:
    name = match[1].replace("\\", "/").rpartition("/")[2]
    path = os.path.join(folder, name)
    try:
        if os.path.islink(path):
            raise OSError(0, "a link")
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().rstrip()
    except OSError as error:
        return f"{match[0]}\n(the whole output is not there: {shown(path)}: {error.strerror or error})"
