"""The tool registry: what stands for a tool's input, and how its result is shown.

A new tool is one entry here. A tool without an entry is shown by its name alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from claude_session_player import rawjson
from claude_session_player.text import clean, file_name


@dataclass(frozen=True, slots=True)
class Tool:
    """How a tool is shown.

    The label is the first of `fields` that the input has, made shorter by `shape`. The answer of a sub-agent
    (`is_agent`) is shown on one line.
    """

    fields: tuple[str, ...] = ()
    shape: Callable[[str], str] | None = None
    is_agent: bool = False


_FILE = Tool(("file_path",), shape=file_name)
_PATTERN = Tool(("pattern",))
_AGENT = Tool(("description",), is_agent=True)

TOOLS: Final[dict[str, Tool]] = {
    "Bash": Tool(("description", "command")),
    "Read": _FILE,
    "Write": _FILE,
    "Edit": _FILE,
    "Glob": _PATTERN,
    "Grep": _PATTERN,
    "Task": _AGENT,
    "Agent": _AGENT,  # the name of Task since 2.1.63
    "WebSearch": Tool(("query",)),
    "WebFetch": Tool(("url",)),
}


AGENTS: Final = frozenset(name for name, tool in TOOLS.items() if tool.is_agent)
"""The tools that are sub-agents."""


def label(name: str, tool_input: Any) -> str:
    """The whole text that stands for a tool's input; empty where there is none.

    >>> label("Bash", {"command": "ls"}), label("Read", {"file_path": "/a/b.py"}), label("New", {})
    ('ls', 'b.py', '')
    """
    tool = TOOLS.get(name)
    if tool is None or not isinstance(tool_input, dict):
        return ""
    for field in tool.fields:
        if (value := tool_input.get(field)) not in (None, ""):
            if not isinstance(value, str):
                return rawjson.compact(value)
            return tool.shape(clean(value)) if tool.shape else clean(value)
    return ""


def file_of(tool_input: Any) -> str | None:
    """The file that a tool is asked for.

    >>> file_of({"notebook_path": "/a/b.ipynb"}), file_of({"file_path": 7}), file_of("odd")
    ('/a/b.ipynb', None, None)
    """
    given = tool_input if isinstance(tool_input, dict) else {}
    path = given.get("file_path") or given.get("notebook_path")
    return path if isinstance(path, str) else None
