"""Every place of a session in which something can stand that must not be seen: a function for each."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.builder import SessionBuilder, call, text, thought
from tests.built_sessions import COMMAND
from tests.stores import StoreBuilder

MAIN: Final = "1f2e3d4c-0001-4000-8000-000000000001"
IMAGE: Final = "image"
WORDS: Final = "words of a command"
_PIXEL: Final = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(160))


class PlantedSession:
    """A session, and everything beside it, while it is written."""

    def __init__(self, root: Path, cwd: str) -> None:
        self.store = StoreBuilder(root)
        self.main = SessionBuilder(session_id=MAIN, cwd=cwd)
        self.home = self.store.home(cwd)
        self.beside = self.home / MAIN
        self._number = 0
        self.files: list[str] = []
        """Paths that tools used."""

    def number(self) -> int:
        """Another number."""
        self._number += 1
        return self._number

    def called(self, tool: str, given: dict[str, Any], result: Any = "ok", **extra: Any) -> str:
        """A call and its result."""
        id = f"toolu_{self.number():04}"
        self.main.response({"type": "tool_use", "id": id, "name": tool, "input": given})
        self.main.result(id, result, **extra)
        return id

    def agent(self, content: str, task: str = "Look around", **meta: Any) -> None:
        """A sub-agent with a file."""
        name = f"a{self.number():07}"
        self.called(
            "Task",
            {"description": "Look", "prompt": task, "subagent_type": "Explore"},
            f"agentId: {name}\nDone.",
            toolUseResult={"agentId": name, "status": "completed"},
        )
        agent = SessionBuilder(session_id=MAIN, sidechain=True, cwd=self.main.cwd)
        agent.prompt(task, agentId=name).response(call("Read", f"{name}_r", file_path="/srv/x"), agentId=name)
        agent.result(f"{name}_r", content, agentId=name).response(text(content), agentId=name)
        path = agent.write(self.beside / "subagents" / f"agent-{name}.jsonl")
        self.store.meta(path, agentType="Explore", description="Look", **meta)

    def file(self, name: str, content: str) -> None:
        """A file in the session's own directory."""
        path = self.beside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())

    def write(self) -> Path:
        """Write the session, and give its path."""
        self.main.response(text("That is all."))
        return self.main.write(self.home / f"{MAIN}.jsonl")


Put = Callable[[PlantedSession, str, str], object]


class Where(NamedTuple):
    """A place: how a text gets there, given the word beside it, and what kind of text fits."""

    name: str
    put: Put
    one_line: bool = False
    is_path: bool = False
    splits: bool = False
    """True if the place cuts the text in two: the secret itself must not be disguised."""


PLACES: Final[list[Where]] = []


def _place(name: str, *, one_line: bool = False, is_path: bool = False, splits: bool = False) -> Callable[[Put], Put]:
    def add(put: Put) -> Put:
        PLACES.append(Where(name, put, one_line or is_path, is_path, splits))
        return put

    return add


def _simple(name: str, put: Put, *, one_line: bool = False, is_path: bool = False) -> None:
    PLACES.append(Where(name, put, one_line or is_path, is_path))


# --- the conversation -----------------------------------------------------------------------------------

_simple("prompt", lambda plot, words, near: plot.main.prompt(words))
_simple("list prompt", lambda plot, words, near: plot.main.prompt([text("Look:"), text(words)]))
_simple("response", lambda plot, words, near: plot.main.response(text(words)))
_simple("response in markdown", lambda plot, words, near: plot.main.response(text(f"# Tea\n\n```\n{words}\n```\n")))
_simple("thinking", lambda plot, words, near: plot.main.response(thought(words)))
_simple("compact summary", lambda plot, words, near: plot.main.prompt(words, isCompactSummary=True))
_simple("meta prompt", lambda plot, words, near: plot.main.prompt(words, isMeta=True))
_simple("reminder", lambda plot, words, near: plot.main.prompt(f"<system-reminder>{words}</system-reminder>Go on"))
_simple("bash input", lambda plot, words, near: plot.main.prompt(f"<bash-input>{words}</bash-input>"))
_simple("bash output", lambda plot, words, near: plot.main.prompt(f"<bash-stdout>{words}</bash-stdout><bash-stderr/>"))
_simple("slash arguments", lambda plot, words, near: plot.main.prompt(COMMAND.format("review", words)))
_simple(
    "local output",
    lambda plot, words, near: plot.main.prompt(f"<local-command-stdout>{words}</local-command-stdout>"),
)
_simple(
    "notification",
    lambda plot, words, near: plot.main.prompt(f"<task-notification><summary>{words}</summary></task-notification>"),
)
_simple("memory", lambda plot, words, near: plot.main.prompt(f"<user-memory-input>{words}</user-memory-input>"))


@_place("text beside an image")
def _beside_image(plot: PlantedSession, words: str, near: str) -> None:
    data = base64.b64encode(_PIXEL).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    plot.main.prompt([text(words), image])


@_place(IMAGE)
def _image(plot: PlantedSession, words: str, near: str) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image_data(words)}}
    plot.main.prompt([text(f"See {near}"), image])


def image_data(words: str) -> str:
    """A picture that says something, in base64."""
    return base64.b64encode(_PIXEL + words.encode() + _PIXEL).decode()


@_place("streamed pieces", splits=True)
def _streamed(plot: PlantedSession, words: str, near: str) -> None:
    middle = _middle(words, near)
    request = f"req_s{plot.number():05}"
    for piece in (words[:middle], words[middle:]):
        plot.main.block(text(piece), request=request)


@_place("stream events", splits=True)
def _stream_events(plot: PlantedSession, words: str, near: str) -> None:
    middle, index = _middle(words, near), plot.number()
    for piece in (words[:middle], words[middle:]):
        event = {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": piece}}
        plot.main.line({"type": "stream_event", "event": event, "session_id": MAIN})


def _middle(words: str, near: str) -> int:
    """A place in the middle of what stands beside a word."""
    begin = words.find(near)
    rest = words.removeprefix(near).strip()
    return len(words) - len(rest) // 2 if begin == 0 else len(words) // 2


# --- calls and results ----------------------------------------------------------------------------------

_simple("command", lambda plot, words, near: plot.called("Bash", {"command": words, "description": "Do it"}))
_simple("tool input", lambda plot, words, near: plot.called("mcp__tea__brew", {"leaf": {"inner": [words, 1]}}))
_simple(
    "JSON in an input",
    lambda plot, words, near: plot.called("mcp__tea__brew", {"payload": json.dumps({"env": {"value": words}})}),
)
_simple(
    "JSON in JSON",
    lambda plot, words, near: plot.called("Bash", {"command": "cat x"}, json.dumps(json.dumps({"value": words}))),
)
_simple("object key", lambda plot, words, near: plot.called("mcp__tea__brew", {"headers": {words: near}}))
_simple("result", lambda plot, words, near: plot.called("Bash", {"command": "make"}, words))
_simple("failed result", lambda plot, words, near: plot.called("Bash", {"command": "make"}, words, error=True))
_simple("result blocks", lambda plot, words, near: plot.called("Bash", {"command": "x"}, [text("a"), text(words)]))
_simple(
    "structured result",
    lambda plot, words, near: plot.called("WebFetch", {"url": "x"}, toolUseResult={"code": 200, "result": words}),
)
_simple(
    "result list",
    lambda plot, words, near: plot.called("mcp__tea__list", {}, toolUseResult=[text(words), text("b")]),
)
_simple(
    "result string",
    lambda plot, words, near: plot.called("Bash", {"command": "x"}, "no", toolUseResult=f"Error: {words}"),
)
_simple(
    "stdout",
    lambda plot, words, near: plot.called(
        "Bash", {"command": "x"}, words, toolUseResult={"stdout": words, "stderr": "", "interrupted": False}
    ),
)
_simple(
    "stderr",
    lambda plot, words, near: plot.called(
        "Bash", {"command": "x"}, words, toolUseResult={"stdout": "", "stderr": words, "interrupted": False}
    ),
)
_simple("question", lambda plot, words, near: plot.called("AskUserQuestion", {"questions": [{"question": words}]}))
_simple("task list", lambda plot, words, near: plot.called("TodoWrite", {"todos": [{"content": words}]}))
_simple("search", lambda plot, words, near: plot.called("Grep", {"pattern": words, "path": "/srv"}))
_simple("task", lambda plot, words, near: plot.agent("Nothing there.", words))


@_place(WORDS, one_line=True)
def _words(plot: PlantedSession, words: str, near: str) -> None:
    plot.called("mcp__tea__run", {"command": words.split(" ")})


@_place("document")
def _document(plot: PlantedSession, words: str, near: str) -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": words}}
    plot.called("Read", {"file_path": "/srv/x.txt"}, [document])


@_place("structured patch")
def _patch(plot: PlantedSession, words: str, near: str) -> None:
    path = f"/srv/tea/patched{plot.number()}.py"
    lines = [f"+{line}" for line in words.split("\n")]
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1 + len(lines), "lines": [" tea", *lines]}]
    done = {"filePath": path, "oldString": "x", "newString": "y", "originalFile": "tea\n", "structuredPatch": patch}
    plot.called("Edit", {"file_path": path, "old_string": "x", "new_string": "y"}, toolUseResult=done)


@_place("edit")
def _edit(plot: PlantedSession, words: str, near: str) -> None:
    path = f"/srv/tea/edited{plot.number()}.py"
    plot.files.append(path)
    plot.called("Write", {"file_path": path, "content": "tea\nold\nend\n"})
    given = {"file_path": path, "old_string": "old", "new_string": words, "replace_all": False}
    patch = [{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3, "lines": [" tea", "-old", f"+{words}"]}]
    plot.called(
        "Edit",
        given,
        toolUseResult={
            "filePath": path,
            "oldString": "old",
            "newString": words,
            "originalFile": "tea\nold\nend\n",
            "structuredPatch": patch,
        },
    )


@_place("written file")
def _written(plot: PlantedSession, words: str, near: str) -> None:
    path = f"/srv/tea/written{plot.number()}.py"
    plot.files.append(path)
    plot.called("Write", {"file_path": path, "content": f"tea\n{words}\n"})


@_place("read file")
def _read(plot: PlantedSession, words: str, near: str) -> None:
    path = f"/srv/tea/read{plot.number()}.py"
    plot.files.append(path)
    numbered = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(words.split("\n"), 1))
    file = {"filePath": path, "content": words, "numLines": 1, "startLine": 1, "totalLines": 1}
    plot.called("Read", {"file_path": path}, numbered, toolUseResult={"type": "text", "file": file})


@_place("path", is_path=True)
def _path(plot: PlantedSession, words: str, near: str) -> None:
    plot.called(("Read", "Write", "Edit")[plot.number() % 3], {"file_path": f"/srv/tea {words}"})


@_place("persisted output")
def _persisted(plot: PlantedSession, words: str, near: str) -> None:
    name = f"b{plot.number():05}.txt"
    plot.file(f"tool-results/{name}", f"begin\n{words}\nend\n")
    saved = os.path.join("/srv/tool-results", name)
    told = (
        f"<persisted-output>\nOutput too large. Full output saved to: {saved}\n\nPreview:\nbegin\n</persisted-output>"
    )
    plot.called("Bash", {"command": "make"}, told)


@_place("name of an output", is_path=True)
def _output_name(plot: PlantedSession, words: str, near: str) -> None:
    name = words.replace("/", "-").replace("\0", "")[:200]
    if len(words.encode()) < 200 and "/" not in words:
        plot.file(f"tool-results/{name} {near}.txt", "Nothing\n")
    plot.called("Bash", {"command": f"cat '{words}'"})


# --- progress, attachments, state -----------------------------------------------------------------------


@_place("progress of a command")
def _bash_progress(plot: PlantedSession, words: str, near: str) -> None:
    id = f"toolu_{plot.number():04}"
    plot.main.response(call("Bash", id, command="make"))
    plot.main.progress("bash_progress", id, output=words, fullOutput=words, elapsedTimeSeconds=2, totalLines=1)


@_place("message of an agent")
def _agent_progress(plot: PlantedSession, words: str, near: str) -> None:
    id, name = f"toolu_{plot.number():04}", f"b{plot.number():07}"
    plot.main.response(call("Task", id, description="Listen", prompt="Listen", subagent_type="Explore"))
    message = {"type": "assistant", "message": {"role": "assistant", "content": [text(words)]}, "uuid": f"{name}-2"}
    plot.main.progress("agent_progress", id, agentId=name, prompt="Listen", message=message)
    plot.main.result(id, "It was quiet.")


_simple("hook progress", lambda plot, words, near: plot.main.progress("hook_progress", None, command=words))
_simple("queued prompt", lambda plot, words, near: plot.main.attachment("queued_command", prompt=words))
_simple(
    "attached file",
    lambda plot, words, near: plot.main.attachment(
        "file", filename="/srv/x.txt", content={"type": "text", "file": {"filePath": "/srv/x.txt", "content": words}}
    ),
)
_simple(
    "edited text file",
    lambda plot, words, near: plot.main.attachment("edited_text_file", filename="/srv/x.txt", snippet=words),
)
_simple(
    "hook output",
    lambda plot, words, near: plot.main.attachment(
        "hook_success", hookName="x", content=words, stdout=words, exitCode=0
    ),
)
_simple(
    "stop hook",
    lambda plot, words, near: plot.main.system(
        "stop_hook_summary", hookCount=1, hookInfos=[{"command": words}], hookErrors=[words]
    ),
)
_simple("system text", lambda plot, words, near: plot.main.system("informational", content=words, level="info"))
_simple("away summary", lambda plot, words, near: plot.main.system("away_summary", content=words))
_simple("local command", lambda plot, words, near: plot.main.system("local_command", content=words))
_simple(
    "error of the API",
    lambda plot, words, near: plot.main.system("api_error", error={"message": words}, retryAttempt=1, retryInMs=5),
)
_simple("unknown record", lambda plot, words, near: plot.main.line({"type": "future-type", "teapot": {"lid": words}}))
_simple("unknown block", lambda plot, words, near: plot.main.response({"type": "future_block", "teapot": words}))
_simple("last prompt", lambda plot, words, near: plot.main.line({"type": "last-prompt", "lastPrompt": words}))
_simple(
    "custom title",
    lambda plot, words, near: plot.main.line({"type": "custom-title", "customTitle": words, "sessionId": MAIN}),
    one_line=True,
)
_simple(
    "title by the model",
    lambda plot, words, near: plot.main.line({"type": "ai-title", "aiTitle": words, "sessionId": MAIN}),
    one_line=True,
)
_simple(
    "name of the agent",
    lambda plot, words, near: plot.main.line({"type": "agent-name", "agentName": words, "sessionId": MAIN}),
    one_line=True,
)
_simple(
    "summary",
    lambda plot, words, near: plot.main.line({"type": "summary", "summary": words, "leafUuid": "x"}),
    one_line=True,
)
_simple("git branch", lambda plot, words, near: plot.main.prompt("Here", gitBranch=words), one_line=True)
_simple("working directory", lambda plot, words, near: plot.main.prompt("Here", cwd=f"/srv/{words}"), is_path=True)
_simple(
    "tag", lambda plot, words, near: plot.main.line({"type": "tag", "tag": words, "sessionId": MAIN}), one_line=True
)


@_place("queue")
def _queue(plot: PlantedSession, words: str, near: str) -> None:
    for operation in ("enqueue", "remove"):
        more = {"content": words} if operation == "enqueue" else {}
        plot.main.line(
            {
                "type": "queue-operation",
                "operation": operation,
                "timestamp": "2026-01-17T20:40:00Z",
                "sessionId": MAIN,
                **more,
            }
        )


@_place("file history", is_path=True)
def _snapshot(plot: PlantedSession, words: str, near: str) -> None:
    backup = {"backupFileName": "abc@v1", "version": 1, "backupTime": "2026-01-17T20:40:00Z"}
    snapshot = {
        "messageId": "m",
        "trackedFileBackups": {f"/srv/tea {words}": backup},
        "timestamp": backup["backupTime"],
    }
    plot.main.line({"type": "file-history-snapshot", "messageId": "m", "snapshot": snapshot})


@_place("backup of a file")
def _backup(plot: PlantedSession, words: str, near: str) -> None:
    name, path = f"c{plot.number():05}@v1", f"/srv/tea/backed{plot.number()}.py"
    plot.called("Write", {"file_path": path, "content": "tea\n"})
    backup = {"backupFileName": name, "version": 1, "backupTime": "2026-01-17T20:40:00Z"}
    plot.main.line(
        {
            "type": "file-history-snapshot",
            "messageId": "m",
            "snapshot": {"messageId": "m", "trackedFileBackups": {path: backup}, "timestamp": backup["backupTime"]},
        }
    )
    kept = plot.store.root / "file-history" / MAIN / name
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(f"{words}\n".encode())
    plot.files.append(path)


# --- sub-agents, workflows, other dialects, damage ------------------------------------------------------

_simple("sub-agent", lambda plot, words, near: plot.agent(words))
_simple("description of a sub-agent", lambda plot, words, near: plot.agent("Nothing there.", note=words))
_simple(
    "workflow",
    lambda plot, words, near: plot.file(
        f"workflows/wf_{plot.number()}.json", json.dumps({"runId": "wf_1", "status": "completed", "summary": words})
    ),
)
_simple(
    "journal",
    lambda plot, words, near: plot.file(
        f"subagents/workflows/wf_{plot.number()}/journal.jsonl", json.dumps({"type": "result", "result": words}) + "\n"
    ),
)
_simple(
    "message of another dialect",
    lambda plot, words, near: plot.main.line({"type": "message", "role": "user", "content": words}),
)
_simple(
    "call of another dialect",
    lambda plot, words, near: plot.main.line({"type": "tool_use", "tool": "Bash", "arguments": {"command": words}}),
)
_simple(
    "exported call",
    lambda plot, words, near: plot.main.line(
        {"type": "tool_use", "timestamp": "2026-01-17T20:40:00Z", "tool_name": "Bash", "tool_input": {"command": words}}
    ),
)
_simple(
    "exported result",
    lambda plot, words, near: plot.main.line(
        {"type": "tool_result", "timestamp": "2026-01-17T20:40:00Z", "tool_name": "Bash", "tool_output": words}
    ),
)
_simple(
    "final result",
    lambda plot, words, near: plot.main.line({"type": "result", "subtype": "success", "result": words, "num_turns": 1}),
)
_simple(
    "raw result",
    lambda plot, words, near: plot.main.line({"type": "tool_result", "message": {"role": "tool", "content": words}}),
)
_simple(
    "cut line",
    lambda plot, words, near: plot.main.raw(
        json.dumps({"type": "user", "message": {"role": "user", "content": f"{words} and"}})[:-4].encode() + b"\n"
    ),
)
_simple(
    "damaged line",
    lambda plot, words, near: plot.main.raw(json.dumps({"type": "user", "x": words}).encode()[:-1] + b",,}\n"),
)


@_place("glued records")
def _glued(plot: PlantedSession, words: str, near: str) -> None:
    first = {"type": "user", "message": {"role": "user", "content": "First"}}
    second = {"type": "user", "message": {"role": "user", "content": words}}
    plot.main.raw(json.dumps(first).encode() + json.dumps(second, ensure_ascii=False).encode() + b"\n")


@_place("inline sub-agent")
def _inline(plot: PlantedSession, words: str, near: str) -> None:
    id, main = f"toolu_{plot.number():04}", plot.main
    main.response(call("Task", id, description="Ask", prompt=f"Ask {id}", subagent_type="Explore"))
    last = len(main.lines)
    main.sidechain = True
    main.prompt(f"Ask {id}", parentUuid=None).response(text(words))
    main.sidechain = False
    main.back_to(last).result(id, "A kettle.")
