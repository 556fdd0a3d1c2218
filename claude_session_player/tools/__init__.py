"""The tool registry: what stands for a tool's input on the screen, and how its call is told in a conversation.

A new tool is one entry here. A tool without an entry is shown by its name, and told as JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from claude_session_player import rawjson
from claude_session_player.parts import Sketch
from claude_session_player.text import clean, file_name
from claude_session_player.tools import looks
from claude_session_player.tools.looks import Look, Reply


@dataclass(frozen=True, slots=True)
class Tool:
    """How a tool is shown.

    The label is the first of `fields` that the input has, made shorter by `shape`. The answer of a sub-agent
    (`is_agent`) is shown on one line. `look` tells the call, and what came back, in a conversation.
    """

    fields: tuple[str, ...] = ()
    shape: Callable[[str], str] | None = None
    is_agent: bool = False
    look: Look = looks.anything


_AGENT = Tool(("description",), is_agent=True, look=looks.agent)
_SHELL = Tool(("description", "command"), look=looks.shell)
_PLAN = Tool(look=looks.plan)

TOOLS: Final[dict[str, Tool]] = {
    "Bash": _SHELL,
    "Read": Tool(("file_path",), file_name, look=looks.read),
    "Write": Tool(("file_path",), file_name, look=looks.write),
    "Edit": Tool(("file_path",), file_name, look=looks.edit),
    "MultiEdit": Tool(look=looks.edit),
    "NotebookEdit": Tool(look=looks.notebook),
    "Glob": Tool(("pattern",), look=looks.search),
    "Grep": Tool(("pattern",), look=looks.search),
    "LS": Tool(look=looks.search),
    "Task": _AGENT,
    "Agent": _AGENT,  # the name of Task since 2.1.63
    "Workflow": Tool(look=looks.workflow),
    "WebSearch": Tool(("query",), look=looks.web),
    "WebFetch": Tool(("url",), look=looks.web),
    "TodoWrite": Tool(look=looks.todos),
    "TaskCreate": Tool(look=looks.task),
    "TaskUpdate": Tool(look=looks.task),
    "AskUserQuestion": Tool(look=looks.questions),
    "ExitPlanMode": _PLAN,
    "exit_plan_mode": _PLAN,  # its name in 1.0
    "Skill": Tool(look=looks.skill),
    "SlashCommand": Tool(look=looks.skill),
    "SendMessage": Tool(look=looks.message),
}

_OTHER: Final = Tool()


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


def told(name: str, tool_input: Any, reply: Reply | None) -> Sketch:
    """How a call is told, and what came back where anything did.

    >>> told("Read", {"file_path": "/a/b.py"}, Reply("1\tone\n2\ttwo")).outcome
    '2 lines'
    """
    return TOOLS.get(name, _OTHER).look(tool_input if isinstance(tool_input, dict) else {"input": tool_input}, reply)


def file_of(tool_input: Any) -> str | None:
    """The file that a tool is asked for.

    >>> file_of({"notebook_path": "/a/b.ipynb"}), file_of({"file_path": 7}), file_of("odd")
    ('/a/b.ipynb', None, None)
    """
    given = tool_input if isinstance(tool_input, dict) else {}
    path = given.get("file_path") or given.get("notebook_path")
    return path if isinstance(path, str) else None
