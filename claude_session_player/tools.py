"""The tool registry: what stands for a tool's input, and how its result is shown.

A new tool is one entry here. A tool without an entry is shown by its name alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from claude_session_player import rawjson
from claude_session_player.text import clean, file_name


class Touch(Enum):
    """What a tool does with the file that its input names."""

    READ = "read"
    WRITE = "written"
    EDIT = "edited"


@dataclass(frozen=True, slots=True)
class Tool:
    """How a tool is shown, and what it does with files.

    The label is the first of `fields` that the input has, made shorter by `shape`. The answer of a sub-agent
    (`is_agent`) is shown on one line. A tool that `touch`es a file names it under the key `file`.
    """

    fields: tuple[str, ...] = ()
    shape: Callable[[str], str] | None = None
    is_agent: bool = False
    touch: Touch | None = None
    file: str = "file_path"


def _file(touch: Touch) -> Tool:
    return Tool(("file_path",), shape=file_name, touch=touch)


_PATTERN = Tool(("pattern",))
_AGENT = Tool(("description",), is_agent=True)

TOOLS: Final[dict[str, Tool]] = {
    "Bash": Tool(("description", "command")),
    "Read": _file(Touch.READ),
    "Write": _file(Touch.WRITE),
    "Edit": _file(Touch.EDIT),
    "MultiEdit": Tool(touch=Touch.EDIT),
    "NotebookRead": Tool(touch=Touch.READ, file="notebook_path"),
    "NotebookEdit": Tool(touch=Touch.EDIT, file="notebook_path"),
    "Glob": _PATTERN,
    "Grep": _PATTERN,
    "Task": _AGENT,
    "Agent": _AGENT,  # the name of Task since 2.1.63
    "WebSearch": Tool(("query",)),
    "WebFetch": Tool(("url",)),
}


AGENTS: Final = frozenset(name for name, tool in TOOLS.items() if tool.is_agent)
"""The tools that are sub-agents."""


def touched_file(name: str | None, tool_input: Any) -> tuple[Touch, str] | None:
    """What a call does with which file, as its input spells it; `None` where it is known of none.

    >>> touched_file("Read", {"file_path": "a.py"}), touched_file("Bash", {"command": "rm a.py"})
    ((<Touch.READ: 'read'>, 'a.py'), None)
    """
    tool = TOOLS.get(name or "")
    if tool is None or tool.touch is None or not isinstance(tool_input, dict):
        return None
    path = tool_input.get(tool.file)
    return (tool.touch, path) if isinstance(path, str) and path else None


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
