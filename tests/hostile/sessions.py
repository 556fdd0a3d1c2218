"""Stores in which every field of every record can hold anything."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from claude_session_player.format.events import TITLE_KEYS
from tests.builder import SessionBuilder, call, text, thought
from tests.stores import StoreBuilder

Json = Any
Place = tuple[str | int, ...]
"""Where a text is in a list of records: keys and indices, the record's number first."""

_LONGEST_NAME: Final = 200
_PICTURE: Final = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=", "url": "https://example.org/p"}
_PATCH: Final = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-cold", "+hot"]}]
_CALLS: Final[dict[str, dict[str, Any]]] = {
    "Bash": {"command": "boil --water", "description": "Boil it"},
    "Read": {"file_path": "/home/ada/engine/kettle.py", "offset": 1, "limit": 9},
    "Write": {"file_path": "/home/ada/engine/cup.py", "content": "cup = 1\n"},
    "Edit": {"file_path": "/home/ada/engine/kettle.py", "old_string": "cold", "new_string": "hot"},
    "MultiEdit": {"file_path": "/home/ada/pot.py", "edits": [{"old_string": "a", "new_string": "b"}]},
    "NotebookEdit": {"notebook_path": "/home/ada/tea.ipynb", "new_source": "brew()"},
    "Grep": {"pattern": "tea", "path": "/home/ada", "glob": "*.py"},
    "WebSearch": {"query": "how to brew"},
    "WebFetch": {"url": "https://example.org/tea", "prompt": "What does it say?"},
    "TodoWrite": {"todos": [{"content": "Boil", "status": "in_progress", "activeForm": "Boiling"}]},
    "TaskCreate": {"subject": "Pour", "description": "Into a cup"},
    "TaskUpdate": {"taskId": "1", "status": "completed", "subject": "Pour"},
    "AskUserQuestion": {
        "questions": [{"question": "Milk?", "header": "Milk", "options": [{"label": "Yes", "description": "A drop"}]}]
    },
    "ExitPlanMode": {"plan": "# Tea\n\n1. Boil"},
    "Skill": {"skill": "brewing", "args": "--strong"},
    "SendMessage": {"to": "waiter", "message": "Ready", "summary": "It is ready"},
    "Workflow": {"script": "await brew()", "name": "tea"},
    "mcp__kettle__boil": {"degrees": 100, "how": "gently"},
    "Task": {"description": "Look", "prompt": "Look around", "subagent_type": "Explore"},
}
_RESULTS: Final[dict[str, Json]] = {
    "Bash": {"stdout": "hot", "stderr": "loud", "output": "hot", "content": "hot", "text": "hot"},
    "Read": {"type": "text", "file": {"filePath": "kettle.py", "content": "cold", "startLine": 1, "totalLines": 1}},
    "Write": {
        "type": "create",
        "filePath": "cup.py",
        "content": "cup = 1\n",
        "structuredPatch": [],
        "originalFile": "x",
    },
    "Edit": {
        "oldString": "cold",
        "newString": "hot",
        "replaceAll": True,
        "originalFile": "cold",
        "structuredPatch": _PATCH,
    },
    "MultiEdit": {"edits": [{"old_string": "a", "new_string": "b", "replace_all": True}], "originalFileContents": "a"},
    "TaskCreate": {"task": {"id": "1", "subject": "Pour"}},
    "AskUserQuestion": {"questions": [], "answers": {"Milk?": "Yes"}},
    "Workflow": {"runId": "wf_1", "status": "started"},
    "Grep": {
        "mode": "content",
        "numFiles": 1,
        "numLines": 2,
        "numMatches": 2,
        "filenames": ["tea.py"],
        "content": "tea",
    },
    "Task": {
        "agentId": "a5b6c7d8",
        "content": [{"type": "text", "text": "Nothing there."}],
        "status": "completed",
        "isAsync": False,
        "totalToolUseCount": 3,
        "totalTokens": 900,
        "totalDurationMs": 4000,
    },
}
_REMARKS: Final = (
    ("stop_hook_summary", {"hookInfos": [{"command": "lint"}], "hookErrors": ["bad"], "hookAdditionalContext": ["c"]}),
    ("api_error", {"error": {"message": "overloaded", "status": 529}, "level": "error"}),
    ("local_command", {"content": "<command-name>/cost</command-name>", "level": "info", "hasOutput": True}),
    ("turn_duration", {"durationMs": 61000}),
    ("informational", {"content": "Remember the milk", "stopReason": "because", "preventedContinuation": True}),
    ("away_summary", {"content": "You were away"}),
)
_ATTACHMENTS: Final[dict[str, dict[str, Any]]] = {
    "queued_command": {"prompt": "And sugar", "commandMode": "prompt"},
    "file": {"filename": "/home/ada/tea.txt", "displayPath": "tea.txt", "content": {"type": "text", "file": {}}},
    "directory": {"path": "/home/ada", "displayPath": "ada", "content": "tea.txt"},
    "edited_text_file": {"filename": "/home/ada/tea.txt", "snippet": "1→tea"},
    "diagnostics": {"files": [{"uri": "file:///t.py", "filePath": "t.py", "diagnostics": [{"message": "no cup"}]}]},
    "hook_blocking_error": {"hookName": "Stop", "blockingError": {"blockingError": "no", "command": "lint"}},
    "hook_non_blocking_error": {"hookName": "Stop", "stderr": "no", "exitCode": 1, "command": "lint"},
    "hook_stopped_continuation": {"hookName": "Stop", "message": "enough"},
    "hook_success": {"hookName": "PostToolUse:Bash", "toolUseID": "toolu_0", "content": "fine"},
    "plan_mode": {"reminderType": "full", "planFilePath": "/home/ada/plan.md"},
    "never heard of": {"content": "new"},
}
_QUIET: Final[tuple[dict[str, Any], ...]] = (
    *({"type": kind, key: "Tea"} for kind, key in TITLE_KEYS.items()),
    {"type": "pr-link", "prNumber": 7, "prUrl": "https://example.org/7", "prRepository": "ada/tea"},
    {"type": "permission-mode", "permissionMode": "plan"},
    {"type": "queue-operation", "operation": "enqueue", "content": "And a spoon"},
    {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {"a.py": {"backupFileName": "b@v1"}}}},
    {"type": "file-history-delta", "trackingPath": "a.py", "backup": {"realParentDir": "/home", "backupTime": "now"}},
    {"type": "agent-setting", "agentSetting": "brewer"},
    {"type": "never heard of", "content": "new"},
    {"type": "metadata", "model": "claude-opus-4-5"},
    {"type": "message", "role": "user", "content": "Another dialect"},
    {"type": "tool_use", "tool_use_id": "toolu_x", "tool_name": "Bash", "tool_input": {"command": "ls"}},
    {"type": "tool_result", "tool_use_id": "toolu_x", "tool_name": "Bash", "tool_output": {"output": "tea.txt"}},
    {
        "type": "tool_use",
        "id": "toolu_y",
        "tool": "Bash",
        "arguments": {"command": "ls"},
        "parent_tool_use_id": "toolu_18",
    },
    {"type": "tool_result", "tool": "Bash", "content": "tea.txt"},
    {"type": "usage", "cache_creation_tokens": 1, "cache_read_tokens": 1},
    {"type": "system", "subtype": "init", "model": "claude-opus-4-5"},
    {"type": "system", "subtype": "compact_boundary", "compact_metadata": {"trigger": "auto", "pre_tokens": 9}},
    {"type": "result", "duration_ms": 9, "result": "Tea"},
)


def records() -> list[dict[str, Any]]:
    """A session with a record of every kind, and in them every field that anything reads."""
    built = SessionBuilder()
    for record in _QUIET:
        built.line(record)
    built.compaction().prompt("Summary of tea", isCompactSummary=True).prompt("Go on", isMeta=True)
    built.prompt("Make tea", permissionMode="default", promptSource="typed", promptId="p1", origin={"kind": "human"})
    built.prompt([text("And look"), {"type": "image", "source": _PICTURE}, {"type": "document", "source": _PICTURE}])
    built.prompt("<command-name>/brew</command-name><command-args>now</command-args>")
    built.prompt("<bash-input>ls</bash-input>").prompt("<bash-stdout>tea</bash-stdout><bash-stderr>no</bash-stderr>")
    built.prompt("<local-command-stdout>done</local-command-stdout>")
    built.response(
        thought("Hm."), text("I **will** `brew`.\n\n```py\nbrew()\n```"), {"type": "never heard of", "x": "y"}
    )
    built.response({"type": "redacted_thinking", "data": "x"}, {"type": "server_tool_use", "id": "s", "name": "web"})
    found = [{"type": "web_search_result", "title": "Tea", "url": "https://example.org/tea"}]
    steps = {"input_tokens": 2, "iterations": [{"type": "message", "input_tokens": 1}]}
    built.response({"type": "web_search_tool_result", "tool_use_id": "s", "content": found}, usage=steps)
    for number, (tool, arguments) in enumerate(_CALLS.items()):
        id = f"toolu_{number}"
        built.response({**call(tool, id), "input": arguments})
        if tool == "Task":
            said = {"type": "assistant", "message": {"role": "assistant", "content": [text("Looking")]}}
            built.progress("agent_progress", id, agentId="a5b6c7d8", prompt="Look around", message=said)
        built.progress("bash_progress", id, fullOutput="boiling", output="boiling")
        built.progress(
            "hook_progress", id, hookName="PreToolUse", command="lint", taskDescription="t", query="q", resultCount="3"
        )
        built.result(
            id, [text("It worked"), {"type": "tool_reference", "tool_name": "t"}], toolUseResult=_RESULTS.get(tool)
        )
    built.response(call("Bash", "toolu_bad", command="spill")).result("toolu_bad", "It burns", error=True)
    for subtype, fields in _REMARKS:
        built.system(subtype, **fields)
    for kind, fields in _ATTACHMENTS.items():
        built.attachment(kind, **fields)
    built.prompt("Failed", isApiErrorMessage=True).response(
        text("API Error: no"), isApiErrorMessage=True, error="limit"
    )
    built.prompt("Copied", forkedFrom={"sessionId": built.session_id, "messageUuid": "u"}, logicalParentUuid="u")
    built.prompt("Put in", sourceToolUseID="toolu_0", sourceToolAssistantUUID="u", isVisibleInTranscriptOnly=True)
    built.back_to(1).prompt("Or coffee").response(text("Coffee it is."), request="req_99")
    return [json.loads(line) for line in built.lines]


def places(value: Json, before: Place = ()) -> Iterator[Place]:
    """Where there are texts; keys of objects that a person or a model chose are texts, too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*before, key))
            if "input" in before:
                yield (*before, key, "")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*before, index))
    elif isinstance(value, str):
        yield before


def poisoned(value: Json, place: Place, payload: str) -> Json:
    """A copy with a payload in one text; its beginning and end stay, so that it is taken for what it was."""
    made = copy.deepcopy(value)
    *way, last = place
    if last == "":
        *way, last = way
    inner = made
    for step in way:
        inner = inner[step]
    if place[-1] == "" and len(place) > 1:
        inner[_with(str(last), payload)] = inner.pop(last)
    else:
        inner[last] = _with(inner[last], payload)
    return made


def _with(text: str, payload: str) -> str:
    middle = len(text) // 2
    return text[:middle] + payload + text[middle:]


def rounds(records: list[dict[str, Any]], payload: str) -> list[list[dict[str, Any]]]:
    """Sessions that together have the payload in every text of every record, in one text of each record at a time."""
    ways = [list(places(record)) for record in records]
    return [
        [poisoned(record, way[number % len(way)], payload) for record, way in zip(records, ways, strict=True)]
        for number in range(max(map(len, ways)))
    ]


def everywhere(value: Json, payload: str) -> Json:
    """A copy with a payload in every text but ids, times and types: without these, nothing would be shown."""
    if isinstance(value, dict):
        return {key: inner if key in _STRUCTURE else everywhere(inner, payload) for key, inner in value.items()}
    if isinstance(value, list):
        return [everywhere(inner, payload) for inner in value]
    return _with(value, payload) if isinstance(value, str) else value


_STRUCTURE: Final = frozenset(
    (
        *("type", "subtype", "role", "uuid", "parentUuid", "sessionId", "timestamp", "id", "tool_use_id"),
        *("parentToolUseID", "requestId", "agentId", "data"),
    )
)


def write(records: list[dict[str, Any]], path: Path) -> Path:
    """A session file of these records."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    return path


def hostile_store(root: Path, payload: str) -> StoreBuilder:
    """A store of one of everything, with the payload in every text and in as many names as the system allows."""
    store = StoreBuilder(root)
    store.every_layout()
    for path in sorted(root.rglob("*.json*")):
        lines = path.read_bytes().splitlines()
        values = [everywhere(json.loads(line), payload) for line in lines]
        path.write_bytes(b"".join(json.dumps(value).encode() + b"\n" for value in values))
    store.json(
        Path("settings.json"), {"model": payload, payload: {"env": {"KEY": payload}}, "hooks": {"Stop": [payload]}}
    )
    memory = {"id": payload, "content": payload, "tags": [payload], "projects": [payload], "created": payload}
    store.json(Path("memories", "one.json"), memory)
    name = as_name(payload)
    for folder in (store.home(), root / "projects" / f"-home-{name}"):
        write(everywhere(records(), payload), folder / f"zz{name}.jsonl")
        write([{**record, "isSidechain": True} for record in records()[:2]], folder / f"agent-zz{name}.jsonl")
    (store.home() / f"{name}.jsonl").write_bytes(b"{broken\n" + json.dumps({"type": payload}).encode() + b"\n")
    return store


def as_name(payload: str) -> str:
    """What of it can stand in the name of a file; instead of a lone surrogate, a byte that is not UTF-8."""
    name = re.sub("[\0/]", "", re.sub("[\ud800-\udfff]", "\udcff", payload))
    return os.fsdecode(os.fsencode(name)[:_LONGEST_NAME])
