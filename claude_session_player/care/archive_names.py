"""The names that an archive may bring into a store: those that Claude Code writes, and that every system can hold.

Inside of a session's directory that is an alphabet, and no list: a new version of Claude Code may add a directory.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from claude_session_player.store.layout import AGENT

LONGEST_PATH: Final = 1024
"""Bytes of a path below the store: systems allow 1,024 to 4,096 for all of it, and a store is not at their end."""
_LONGEST_NAME: Final = 255
_WRITTEN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@=,-]*(?<!\.)")
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
"""Names that are devices on Windows."""
_PROJECT_SIGNS: Final = frozenset(" -_.+@=,")
_PATH_SIGNS: Final = _PROJECT_SIGNS | frozenset("~()[]'!&#")
"""Signs of working directories, as in `com~apple~CloudDocs` or `tea (copy)`: in a name with a dash, which stands for a
slash, and not at its beginning, where a shell would act on some of them."""
_LETTERS_MARKS_NUMBERS: Final = "LMN"


def is_written_name(name: str) -> bool:
    """True for a name that Claude Code may have given to a session file, or to anything in a session's directory.

    >>> is_written_name("agent-a1b2.meta.json"), is_written_name("agent-$(id).jsonl"), is_written_name(".envrc")
    (True, False, False)
    """
    rest = name.removeprefix(AGENT)
    return len(name) <= _LONGEST_NAME and _WRITTEN.fullmatch(rest) is not None and not _RESERVED.fullmatch(rest)


def is_project_name(name: str) -> bool:
    """True for the name of a project directory, as old and new versions of Claude Code spell a working directory.

    Old versions kept every sign but `/` and `.`. What makes a shell run a program or write a file, even between double
    quotes, is refused all the same.

    >>> is_project_name("-home-ada-my_engine"), is_project_name("-home-zoë"), is_project_name("-tmp-`id`")
    (True, True, False)
    """
    is_path = "-" in name and (name[0] == "-" or name[0].isalnum())
    signs = _PATH_SIGNS if is_path else _PROJECT_SIGNS
    return (
        not name.startswith((".", " "))
        and not name.endswith((".", " "))
        and all(sign in signs or unicodedata.category(sign)[0] in _LETTERS_MARKS_NUMBERS for sign in name)
        and 0 < len(name.encode()) <= _LONGEST_NAME
        and not _RESERVED.fullmatch(name)
    )
