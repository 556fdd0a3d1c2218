"""A store for benchmarks of search, with the vocabulary and the shares of bytes of real sessions.

Both follow a measured corpus: `python -m bench.search_compare` prints the two side by side. All words are
written down here or made of syllables. A project learns words as its text grows (Heaps' law), and uses those that it
learned first most often (Zipf's law).
"""

from __future__ import annotations

import base64
import random
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.search_words import PATH_WORDS, Project, SourceFile, language

_SUBAGENT_WEIGHT: Final = 0.4
_START = datetime(2026, 3, 2, 9, tzinfo=UTC)
_NOISE = base64.b64encode(random.Random(1).randbytes(3_000_000), b"aZ").decode()
_TOOLS = ("Bash", "Read", "Edit", "TodoWrite", "Grep", "Write", "Agent"), (36, 19, 14, 8, 5, 4, 1)
_HOOK = {"hookName": "PostToolUse:Bash", "hookEvent": "PostToolUse", "toolUseID": "toolu_hook", "durationMs": 65}

ToolRun = tuple[dict[str, Any], Any, Any]
"""The input of a tool call, its result for the model, and its result for the screen."""


class SessionText:
    """The lines of one session, or of one of its sub-agents."""

    def __init__(self, project: Project, listings: list[dict[str, Any]], session_id: str, agent_id: str = "") -> None:
        self.project = project
        self.chance = project.chance
        self.listings = listings
        self.agent_id = agent_id
        self.subagents: list[str] = []
        """The ids of sub-agents that are still to be started."""
        self.lines: list[bytes] = []
        self.size = 0
        self.parent: str | None = None
        self.is_current = self.chance.random() < 0.6
        """True for versions with attachments; older ones have progress instead."""
        self.files = [project.file() for _ in range(3)]
        self.time = _START + timedelta(hours=self.chance.uniform(0, 3000))
        self.response: dict[str, Any] = {}
        self.envelope: dict[str, Any] = {
            "isSidechain": bool(agent_id),
            **({"agentId": agent_id} if agent_id else {}),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": project.cwd,
            "sessionId": session_id,
            "version": "2.1.120" if self.is_current else "2.1.42",
            "gitBranch": "main",
            "slug": "-".join(project.language.rare.draw(self.chance, 3)),
        }

    def write(self, path: Path, size: float) -> int:
        """Write a file of about this size; returns the size that it has."""
        self.add_prompt()
        self.add_round()
        while self.size < size or self.subagents:
            self.add_round()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join([*self.lines, b""]))
        return self.size

    def add_line(self, record: dict[str, Any]) -> None:
        """Add a line as it is."""
        self.lines.append(msgspec.json.encode(record))
        self.size += len(self.lines[-1]) + 1

    def add_record(self, type: str, **fields: Any) -> None:
        """Add a line with an envelope, a child of the line before."""
        self.time += timedelta(seconds=self.chance.expovariate(0.2))
        own = {"type": type, "uuid": _uuid(self.chance), "timestamp": f"{self.time:%Y-%m-%dT%H:%M:%S.000Z}"}
        self.add_line({"parentUuid": self.parent, **fields, **own, **self.envelope})
        self.parent = own["uuid"]

    def add_block(self, **block: Any) -> None:
        """Add a line of the response."""
        message = {**self.response, "content": [block]}
        self.add_record("assistant", message=message, requestId=self.response["id"].replace("msg_", "req_"))

    def add_attachment(self, **attachment: Any) -> None:
        """Add context that the model saw."""
        self.add_record("attachment", attachment=attachment)

    def add_progress(self, type: str, call: str, **data: Any) -> None:
        """Add a running tool's sign of life."""
        self.add_record("progress", data={"type": type, **data}, toolUseID=f"{type}-0", parentToolUseID=call)

    def add_prompt(self) -> None:
        """Add what a person typed, and the context that comes with it."""
        chance = self.chance.random
        text = self.text("prose", 5.2, 1.75)
        has_image = not self.agent_id and chance() < 0.05
        content = [{"type": "text", "text": text}, self.image()] if has_image else text
        self.add_record("user", message={"role": "user", "content": content}, promptId=_uuid(self.chance))
        self.add_line({"type": "last-prompt", "lastPrompt": text[:200], "sessionId": self.envelope["sessionId"]})
        if chance() < 0.6:
            backups = {file.path: {"backupFileName": _uuid(self.chance), "version": 2} for file in self.files[-8:]}
            snapshot = {"messageId": self.parent, "trackedFileBackups": backups}
            self.add_line({"type": "file-history-snapshot", "messageId": self.parent, "snapshot": snapshot})
        if self.is_current:
            for attachment in self.listings if chance() < 0.13 else ():
                self.add_attachment(**attachment)
            if chance() < 0.4:
                self.add_attachment(type="hook_additional_context", content=[self.text("prose", 7.4, 1.0)], **_HOOK)

    def add_round(self) -> None:
        """Add a response with thinking, text and a tool call, and the result of the tool."""
        chance = self.chance.random
        self.response = _response(self.chance, self.noise(22), self.is_current)
        if chance() < 0.28:
            thinking = self.text("prose", 5.5, 1.1) if chance() < 0.7 else ""
            self.add_block(type="thinking", thinking=thinking, signature=self.noise(self.length(6.75, 0.95)))
        if chance() < 0.53:
            self.add_block(type="text", text=self.text("prose", 5.15, 1.2))
        tool = "Agent" if self.subagents and chance() < 0.2 else self.chance.choices(*_TOOLS)[0]
        id = f"toolu_01{self.noise(22)}"
        input, content, result = getattr(self, f"run_{tool.lower()}")()
        self.add_block(type="tool_use", id=id, name=tool, input=input, caller={"type": "direct"})
        self.add_side_lines(tool, id)
        message = {"role": "user", "content": [{"tool_use_id": id, "type": "tool_result", "content": content}]}
        self.add_record("user", message=message, toolUseResult=result, sourceToolAssistantUUID=self.parent)
        if chance() < 0.19 and not self.agent_id:
            self.add_record("system", subtype="turn_duration", durationMs=self.chance.randint(900, 400_000))
            self.add_prompt()

    def add_side_lines(self, tool: str, id: str) -> None:
        """Add the lines that come with a tool call: of hooks, or of progress."""
        if self.is_current:
            for _ in range(self.chance.choice((0, 0, 1, 2))):
                hook = {"type": "hook_success", "content": "", "stderr": "", "exitCode": 0, **_HOOK}
                output = self.project.output(self.length(4.2, 1.3))
                self.add_attachment(stdout=output, command=self.text("command", 4.0, 0.4), **hook)
            if self.chance.random() < 0.25:
                self.add_attachment(type="total_tokens_reminder", text=f"{self.size} tokens left")
        elif self.chance.random() < 0.045:
            data = {"normalizedMessages": [], "prompt": self.text("prose", 7.5, 0.8), "agentId": _agent_id(self.chance)}
            for _ in range(self.chance.randint(2, 8)):
                read = {"type": "tool_result", "tool_use_id": id, "content": self.project.output(self.length(7.0, 1.2))}
                inner = {"type": "user", "message": {"role": "user", "content": [read]}, "uuid": _uuid(self.chance)}
                self.add_progress("agent_progress", id, message=inner, **data)
        elif tool == "Bash":
            for _ in range(self.chance.choice((0, 0, 1, 2, 3))):
                output = self.project.output(self.length(4.4, 1.3))
                self.add_progress("bash_progress", id, output=output[-80:], fullOutput=output, elapsedTimeSeconds=3)

    def run_bash(self) -> ToolRun:
        """A command and its output; some fail."""
        output = self.project.output(self.length(6.1, 1.65))
        input = {"command": self.text("command", 4.0, 1.0), "description": self.text("prose", 3.0, 0.2)}
        if self.chance.random() < 0.05:
            return input, f"Exit code 1\n{output}", f"Error: Exit code 1\n{output}"
        return input, output, {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}

    def run_read(self) -> ToolRun:
        """A file or a part of it, mostly of one that the session has read before."""
        file = self.pick_file()
        total = len(file.lines)
        start, count = 0, total
        if self.chance.random() < 0.4:
            start, count = self.chance.randrange(total), self.length(4.2, 1.0)
        content = "\n".join(file.lines[start : start + count])
        lines = {"numLines": content.count("\n") + 1, "startLine": start + 1, "totalLines": total}
        result = {"type": "text", "file": {"filePath": file.path, "content": content, **lines}}
        numbered = file.numbered(start, count, "\t" if self.is_current else "→")
        return {"file_path": file.path, "offset": start + 1, "limit": count}, numbered, result

    def run_edit(self) -> ToolRun:
        """Some lines of a file, replaced by fresh ones."""
        file = self.pick_file()
        lines = file.lines
        original = "\n".join(lines)
        start = self.chance.randrange(len(lines))
        end = start + self.length(1.9, 0.9)
        old, new = lines[start:end], self.text("code", 5.8, 1.0).split("\n")
        parts = (" ", lines[max(0, start - 3) : start]), ("-", old), ("+", new), (" ", lines[end : end + 3])
        patch = {"oldStart": start, "newStart": start, "lines": [sign + line for sign, part in parts for line in part]}
        lines[start:end] = new
        shown = file.numbered(max(0, start - 3), len(new) + 6, "→") if self.chance.random() < 0.4 else ""
        before, after = "\n".join(old), "\n".join(new)
        change = {"oldString": before, "newString": after, "originalFile": original, "structuredPatch": [patch]}
        input = {"file_path": file.path, "old_string": before, "new_string": after}
        text = f"The file {file.path} has been updated successfully.\n{shown}"
        return input, text, {"filePath": file.path, **change, "userModified": False, "replaceAll": False}

    def run_write(self) -> ToolRun:
        """A new file."""
        file = self.project.new_file(self.length(7.2, 1.2))
        self.files.append(file)
        content = "\n".join(file.lines)
        result = {"type": "create", "filePath": file.path, "content": content, "structuredPatch": []}
        return {"file_path": file.path, "content": content}, f"File created successfully at: {file.path}", result

    def run_grep(self) -> ToolRun:
        """Lines of some files."""
        content = "\n".join(
            f"{file.path}:{number}:{file.lines[number]}"
            for file in self.chance.choices(self.project.files, k=2)
            for number in range(0, len(file.lines), self.chance.choice((15, 40)))
        )
        result = {"mode": "content", "numFiles": 0, "filenames": [], "content": content, "numLines": 1}
        pattern = self.chance.choice(self.project.identifiers.words)
        return {"pattern": pattern, "path": self.project.cwd, "output_mode": "content"}, content, result

    def run_todowrite(self) -> ToolRun:
        """A list of what is to be done."""
        names = [self.text("prose", 3.4, 0.2) for _ in range(3)]
        todos = [{"content": name, "status": "pending", "activeForm": name} for name in names]
        return {"todos": todos}, "Todos have been modified successfully.", {"oldTodos": [], "newTodos": todos}

    def run_agent(self) -> ToolRun:
        """A sub-agent and its report."""
        agent = self.subagents.pop() if self.subagents else _agent_id(self.chance)
        prompt, report = self.text("prose", 7.0, 0.8), {"type": "text", "text": self.text("prose", 7.0, 1.2)}
        input = {"description": self.text("prose", 3.0, 0.2), "prompt": prompt, "subagent_type": "Explore"}
        result = {
            "status": "completed",
            "prompt": prompt,
            "agentId": agent,
            "content": [report],
            "totalTokens": self.size,
        }
        return input, [report, {"type": "text", "text": f"agentId: {agent}"}], result

    def pick_file(self) -> SourceFile:
        """A file that the session works on, sometimes another one."""
        if self.chance.random() < 0.25:
            self.files.append(self.project.file())
        return self.chance.choice(self.files[-8:])

    def text(self, kind: str, mean: float, deviation: float) -> str:
        """Fresh text of a random length."""
        return self.project.text(kind, self.length(mean, deviation))

    def length(self, mean: float, deviation: float) -> int:
        """A length from a log-normal distribution; `mean` and `deviation` are those of its logarithm."""
        return min(int(self.chance.lognormvariate(mean, deviation)) + 1, 60_000)

    def noise(self, size: int) -> str:
        """Letters and digits without meaning, as in ids, signatures and images."""
        start = self.chance.randrange(len(_NOISE) - size)
        return _NOISE[start : start + size]

    def image(self) -> dict[str, Any]:
        """A picture."""
        data = self.noise(min(int(self.chance.lognormvariate(11.2, 0.6)), 1_000_000))
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def _uuid(chance: random.Random) -> str:
    digits = f"{chance.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _agent_id(chance: random.Random) -> str:
    return f"a{chance.getrandbits(64):016x}"


def _response(chance: random.Random, id: str, is_current: bool) -> dict[str, Any]:
    """A message of the model without its content."""
    tokens: dict[str, Any] = {
        "input_tokens": 4,
        "cache_creation_input_tokens": chance.randint(0, 9000),
        "cache_read_input_tokens": chance.randint(9000, 150_000),
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1830},
        "output_tokens": chance.randint(1, 2000),
    }
    usage = {**tokens, "service_tier": "standard"}
    if is_current:
        usage |= {"inference_geo": "not_available", "iterations": [{**tokens, "type": "message"}], "speed": "standard"}
    message = {"model": "claude-opus-4-5-20251101", "id": f"msg_01{id}", "type": "message", "role": "assistant"}
    return {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}


def _listings(project: Project) -> list[dict[str, Any]]:
    """Attachments that are the same in all sessions of a person: the skills, agents and tools at hand."""
    names = [name.lower() for name in project.language.identifiers.words[:140]]
    lines = [f"- {name}: " + project.text("prose", 250).replace("\n", " ") for name in names]
    return [
        {"type": "skill_listing", "content": "\n".join(lines), "skillCount": 140, "isInitial": True, "names": names},
        {"type": "agent_listing_delta", "addedTypes": names[:45], "addedLines": lines[:45], "isInitial": True},
        {"type": "deferred_tools_delta", "addedNames": names[:70], "addedLines": names[:70], "removedNames": []},
    ]


def write_search_store(root: Path, megabytes: float, files: int, *, seed: int = 1) -> Path:
    """Write a store of about this size; three of ten files are sub-agents, and those are small."""
    chance = random.Random(seed)
    projects = [Project(chance, number) for number in range(6 + int(files**0.5))]
    listings = _listings(projects[0])
    sessions = files - files * 3 // 10
    weights = [chance.lognormvariate(0, 1.3) for _ in range(sessions)]
    subagents = Counter(chance.choices(range(sessions), weights, k=files - sessions))
    size_of_one = megabytes * 1_000_000 / (sum(weights) + _SUBAGENT_WEIGHT * (files - sessions))
    missing = 0.0
    for number, weight in enumerate(weights):
        project = projects[int(len(projects) * chance.random() ** 2)]
        folder = root / "projects" / re.sub(r"[^A-Za-z0-9]", "-", project.cwd)
        id = _uuid(chance)
        session = SessionText(project, listings, id)
        for _ in range(subagents[number]):
            agent = _agent_id(chance)
            session.subagents.append(agent)
            path = folder / id / "subagents" / f"agent-{agent}.jsonl"
            missing += size_of_one * _SUBAGENT_WEIGHT
            missing -= SessionText(project, listings, id, agent).write(path, missing)
            path.with_suffix(".meta.json").write_bytes(b'{"agentType":"Explore"}')
        missing += size_of_one * weight
        missing -= session.write(folder / f"{id}.jsonl", missing)
    return root


def sample_queries(seed: int, count: int) -> list[str]:
    """As many different queries; most of their words occur in a store of 50 MB."""
    chance = random.Random(seed)
    words = language()
    queries: dict[str, None] = {}
    while len(queries) < count:
        [first, second, third], [rare] = words.common.draw(chance, 3), words.rare.draw(chance, 1)
        [name], [cjk] = words.identifiers.draw(chance, 1), words.cjk.draw(chance, 1)
        [tool], path = chance.choices(*_TOOLS), chance.choice(words.common.words[PATH_WORDS])
        kinds = (
            *(first, rare, name, cjk, f"{first} {second}", f"{first} {rare}", f"{first} {second} {third}"),
            *(f'"{first} {second}"', f'"updated successfully" {first}', f"{rare[:4]}*", f"{name[:6]}*", f"path:{path}"),
            *(f"tool:{tool} {second}", f"tool:{tool} {name}", f"in:prompt {first}", f"in:prompt {second} {rare}"),
        )
        queries[chance.choice(kinds)] = None
    return list(queries)
