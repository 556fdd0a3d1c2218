"""The tool registry: what stands for a tool's input on the screen, and how its call is told in a conversation.

A new tool is one entry here. A tool without an entry is shown by its name, and told as JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from claude_session_player.format import lenient_json
from claude_session_player.tools import parts
from claude_session_player.tools.parts import Look, ToolReply
from claude_session_player.util.text import base_name, strip_escapes

if TYPE_CHECKING:
    from claude_session_player.format.content import CallParts


class FileTouch(Enum):
    """What a tool does with the file that its input names."""

    READ = "read"
    WRITE = "written"
    EDIT = "edited"


class Tool(Struct, frozen=True):
    """How a tool is shown, and what it does with files.

    The label is the first of `fields` that the input has, made shorter by `shape`. The answer of a sub-agent
    (`is_agent`) is shown on one line. `look` tells the call, and what came back, in a conversation.
    A tool that `touch`es a file names it under the key `file`. One that `asks` has its result from the person.
    """

    fields: tuple[str, ...] = ()
    shape: Callable[[str], str] | None = None
    is_agent: bool = False
    look: Look = parts.generic_parts
    touch: FileTouch | None = None
    file: str = "file_path"
    asks: bool = False


_AGENT = Tool(("description",), is_agent=True, look=parts.agent_parts)
_SHELL = Tool(("description", "command"), look=parts.shell_parts)
_PLAN = Tool(look=parts.plan_parts, asks=True)

TOOLS: Final[dict[str, Tool]] = {
    "Bash": _SHELL,
    "Read": Tool(("file_path",), base_name, look=parts.read_parts, touch=FileTouch.READ),
    "Write": Tool(("file_path",), base_name, look=parts.write_parts, touch=FileTouch.WRITE),
    "Edit": Tool(("file_path",), base_name, look=parts.edit_parts, touch=FileTouch.EDIT),
    "MultiEdit": Tool(look=parts.edit_parts, touch=FileTouch.EDIT),
    "NotebookRead": Tool(look=parts.read_parts, touch=FileTouch.READ, file="notebook_path"),
    "NotebookEdit": Tool(look=parts.notebook_parts, touch=FileTouch.EDIT, file="notebook_path"),
    "Glob": Tool(("pattern",), look=parts.search_parts),
    "Grep": Tool(("pattern",), look=parts.search_parts),
    "LS": Tool(look=parts.search_parts),
    "Task": _AGENT,
    "Agent": _AGENT,  # the name of Task since 2.1.63
    "Workflow": Tool(look=parts.workflow_parts),
    "WebSearch": Tool(("query",), look=parts.web_parts),
    "WebFetch": Tool(("url",), look=parts.web_parts),
    "TodoWrite": Tool(look=parts.todo_parts),
    "TaskCreate": Tool(look=parts.task_parts),
    "TaskUpdate": Tool(look=parts.task_parts),
    "AskUserQuestion": Tool(look=parts.question_parts, asks=True),
    "ExitPlanMode": _PLAN,
    "exit_plan_mode": _PLAN,  # its name in 1.0
    "Skill": Tool(look=parts.skill_parts),
    "SlashCommand": Tool(look=parts.skill_parts),
    "SendMessage": Tool(look=parts.message_parts),
}

_OTHER: Final = Tool()


AGENTS: Final = frozenset(name for name, tool in TOOLS.items() if tool.is_agent)
"""The tools that are sub-agents."""
ASKING: Final = frozenset(name for name, tool in TOOLS.items() if tool.asks)
"""The tools that wait for an answer of the person."""


def touched_file(name: str | None, tool_input: Any) -> tuple[FileTouch, str] | None:
    """What a call does with which file, as its input spells it; `None` if it is known of none.

    >>> touched_file("Read", {"file_path": "a.py"}), touched_file("Bash", {"command": "rm a.py"})
    ((<FileTouch.READ: 'read'>, 'a.py'), None)
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
                return lenient_json.compact(value)
            return tool.shape(strip_escapes(value)) if tool.shape else strip_escapes(value)
    return ""


def call_parts(name: str, tool_input: Any, reply: ToolReply | None) -> CallParts:
    """How a call is told, and what came back where anything did.

    >>> call_parts("Read", {"file_path": "/a/b.py"}, ToolReply("one, and two")).outcome
    '1 line'
    """
    return TOOLS.get(name, _OTHER).look(tool_input if isinstance(tool_input, dict) else {"input": tool_input}, reply)
