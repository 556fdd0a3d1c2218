"""The tool registry: what represents a tool's input on the screen, and how its calls look in a transcript.

A new tool is one entry here. A tool without an entry is shown by its name on the screen, and as JSON in a transcript.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from claude_session_player.format import lenient_json
from claude_session_player.format.content import agent_response, result_parts
from claude_session_player.tools import brief, parts
from claude_session_player.tools.brief import CallBrief, CallCount, fold_call
from claude_session_player.tools.parts import PartsBuilder, ToolReply
from claude_session_player.util.text import base_name, strip_escapes, to_title

if TYPE_CHECKING:
    from msgspec import Raw

    from claude_session_player.format.blocks import ToolResult
    from claude_session_player.format.content import CallParts, Picture


class FileTouch(Enum):
    """What a tool does with the file that its input names."""

    READ = "read"
    WRITE = "written"
    EDIT = "edited"


class Tool(Struct, frozen=True):
    """How a tool is shown, and what it does with files.

    The label is the first of `fields` that the input has, shortened by `shape`. The response of a sub-agent
    (`is_agent`) is shown on one line. `to_parts` turns a call and its result into parts for a transcript. The rich view
    shows what `count` says of a result, and nothing else of it if it `hides_output`. A tool with a `touch` reads or
    changes the file that its input has under the key `file`. If it `asks`, its result comes from a person. While a call
    runs, `running` says what it does, where that is not the label.
    """

    fields: tuple[str, ...] = ()
    shape: Callable[[str], str] | None = None
    is_agent: bool = False
    to_parts: PartsBuilder = parts.generic_parts
    touch: FileTouch | None = None
    file: str = "file_path"
    asks: bool = False
    count: CallCount | None = None
    hides_output: bool = False
    running: Callable[[dict[str, Any]], str] | None = None


def _running_fields(*names: str) -> Callable[[dict[str, Any]], str]:
    """The texts of these fields of the input, as far as it has them, each once, with a dash between them."""

    def text(given: dict[str, Any]) -> str:
        values = (given.get(name) for name in names)
        texts = dict.fromkeys(value.strip() for value in values if isinstance(value, str))
        return " — ".join(filter(None, texts))

    return text


def _running_question(given: dict[str, Any]) -> str:
    """The questions that a person is asked."""
    questions = given.get("questions")
    asked = questions if isinstance(questions, list) else []
    texts = (entry.get("question") for entry in asked if isinstance(entry, dict))
    return " ".join(text for text in texts if isinstance(text, str))


_AGENT = Tool(
    ("description",),
    is_agent=True,
    to_parts=parts.agent_parts,
    count=brief.agent_effort,
    running=_running_fields("description", "prompt"),
)
_SHELL = Tool(
    ("description", "command"),
    to_parts=parts.shell_parts,
    count=brief.exit_code,
    running=_running_fields("command"),
)
_PLAN = Tool(to_parts=parts.plan_parts, asks=True)

TODO_LIST: Final = "TodoWrite"
"""The tool that writes a whole task list."""

TOOLS: Final[dict[str, Tool]] = {
    "Bash": _SHELL,
    "Read": Tool(("file_path",), base_name, to_parts=parts.read_parts, touch=FileTouch.READ),
    "Write": Tool(
        ("file_path",), base_name, to_parts=parts.write_parts, touch=FileTouch.WRITE, count=brief.changed_lines
    ),
    "Edit": Tool(("file_path",), base_name, to_parts=parts.edit_parts, touch=FileTouch.EDIT, count=brief.changed_lines),
    "MultiEdit": Tool(to_parts=parts.edit_parts, touch=FileTouch.EDIT, count=brief.changed_lines),
    "NotebookRead": Tool(to_parts=parts.read_parts, touch=FileTouch.READ, file="notebook_path"),
    "NotebookEdit": Tool(to_parts=parts.notebook_parts, touch=FileTouch.EDIT, file="notebook_path"),
    "Glob": Tool(("pattern",), to_parts=parts.search_parts, count=brief.found, hides_output=True),
    "Grep": Tool(("pattern",), to_parts=parts.search_parts, count=brief.found, hides_output=True),
    "LS": Tool(to_parts=parts.search_parts, count=brief.entry_count, hides_output=True),
    "Task": _AGENT,
    "Agent": _AGENT,  # the name of Task since 2.1.63
    "Workflow": Tool(to_parts=parts.workflow_parts),
    "WebSearch": Tool(("query",), to_parts=parts.web_parts),
    "WebFetch": Tool(("url",), to_parts=parts.web_parts),
    TODO_LIST: Tool(to_parts=parts.todo_parts),
    "TaskCreate": Tool(to_parts=parts.task_parts),
    "TaskUpdate": Tool(to_parts=parts.task_parts),
    "AskUserQuestion": Tool(to_parts=parts.question_parts, asks=True, running=_running_question),
    "ExitPlanMode": _PLAN,
    "exit_plan_mode": _PLAN,  # its name in 1.0
    "Skill": Tool(to_parts=parts.skill_parts, running=_running_fields("skill", "command")),
    "SlashCommand": Tool(to_parts=parts.skill_parts, running=_running_fields("command")),
    "SendMessage": Tool(to_parts=parts.message_parts),
}

_OTHER: Final = Tool()
_TASK_LINES: Final = 2
"""Lines of a sub-agent's task that are shown at a glance."""


AGENTS: Final = frozenset(name for name, tool in TOOLS.items() if tool.is_agent)
"""The tools that call sub-agents."""
ASKING: Final = frozenset(name for name, tool in TOOLS.items() if tool.asks)
"""The tools that wait for a person's answer."""


def touched_file(name: str | None, tool_input: Any) -> tuple[FileTouch, str] | None:
    """What a call does with a file, and the file's path as in the input; `None` for tools without files.

    >>> touched_file("Read", {"file_path": "a.py"}), touched_file("Bash", {"command": "rm a.py"})
    ((<FileTouch.READ: 'read'>, 'a.py'), None)
    """
    tool = TOOLS.get(name or "")
    if tool is None or tool.touch is None or not isinstance(tool_input, dict):
        return None
    path = tool_input.get(tool.file)
    return (tool.touch, path) if isinstance(path, str) and path else None


def label(name: str, tool_input: Any) -> str:
    """The whole text that represents a tool's input on the screen; empty if there is none.

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


def running_label(name: str, tool_input: Any) -> str:
    """What a running call does, on one line that begins with the tool's name.

    >>> running_label("Bash", {"command": "mix test", "description": "Run the tests"}), running_label("New", {"a": 1})
    ('Bash: mix test', 'New')
    >>> running_label("Agent", {"description": "Find the gauge", "prompt": "Look for\\nthe gauge"})
    'Agent: Find the gauge — Look for the gauge'
    """
    running = TOOLS.get(name, _OTHER).running
    about = running(tool_input) if running is not None and isinstance(tool_input, dict) else label(name, tool_input)
    return to_title(": ".join(filter(None, (name or "a tool", strip_escapes(about)))))


def call_parts(name: str, tool_input: Any, reply: ToolReply | None) -> CallParts:
    """A call, and its result if there is one, as parts for a transcript.

    >>> call_parts("Read", {"file_path": "/a/b.py"}, ToolReply("one, and two")).outcome
    '1 line'
    """
    fields = tool_input if isinstance(tool_input, dict) else {"input": tool_input}
    return TOOLS.get(name, _OTHER).to_parts(fields, reply)


def read_reply(name: str, result: ToolResult, structured: Raw) -> tuple[ToolReply, tuple[Picture, ...]]:
    """What a tool returned, and the pictures in it; of a sub-agent the response alone, without its id and totals."""
    text, pictures = result_parts(result)
    if name in AGENTS:
        text = agent_response(structured) or text
    return ToolReply(text, result.is_error is True, structured), pictures


def call_brief(name: str, tool_input: Any, reply: ToolReply | None) -> CallBrief:
    """A call at a glance, as the rich view shows it.

    >>> call_brief("Read", {"file_path": "/a/b.py"}, ToolReply("one, and two")).count
    '1 line'
    """
    tool = TOOLS.get(name, _OTHER)
    return fold_call(
        call_parts(name, tool_input, reply),
        reply,
        tool.count,
        hides_output=tool.hides_output,
        prose_lines=_TASK_LINES if tool.is_agent else brief.PROSE_LINES,
    )


def list_brief(items: list[dict[str, Any]], above: int, below: int, reply: ToolReply) -> CallBrief:
    """A task list at a glance: the items that are shown, and how many there are above and below them."""
    whole = call_brief(TODO_LIST, {"todos": items}, reply)
    given = tuple(replace(folded, more=below, above=above) for folded in whole.given) if items else whole.given
    return replace(whole, given=given)


def display_name(name: str) -> str:
    """The name of a tool for people: that of an MCP tool as its server and what it does there.

    >>> display_name("mcp__linear-server__get_issue"), display_name("Bash")
    ('linear-server: get_issue', 'Bash')
    """
    prefix, _, rest = name.partition("__")
    server, _, method = rest.partition("__")
    return f"{server}: {method}" if prefix == "mcp" and method else name
