"""The plain reference for which call started each sub-agent: slow and obvious, nothing of the package's code."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Records = list[tuple[int, Record]]


@dataclass
class ReferenceLinks:
    """What the files say about calls and sub-agents."""

    prompts: dict[str, str] = field(default_factory=dict)
    """What each call asks for, by its id."""
    named: dict[str, str] = field(default_factory=dict)
    """The call whose result names a sub-agent beside its text, by the sub-agent."""
    signs: dict[str, str] = field(default_factory=dict)
    """The call that a sign of life belongs to, by the sub-agent."""
    mentioned: dict[str, str] = field(default_factory=dict)
    """The call whose result names a sub-agent in its text, by the sub-agent."""

    def read(self, records: Records) -> None:
        """Take in the records of one file."""
        for _, record in records:
            data = record.get("data")
            if isinstance(data, dict) and data.get("agentId") and record.get("parentToolUseID"):
                self.signs.setdefault(data["agentId"], record["parentToolUseID"])
            message = record.get("message")
            content = message.get("content") if isinstance(message, dict) else None
            for block in content if isinstance(content, list) else ():
                if isinstance(block, dict):
                    self._take(record, block)

    def _take(self, record: Record, block: Record) -> None:
        given = block.get("input")
        if block.get("type") == "tool_use" and block.get("id"):
            prompt = given.get("prompt") if isinstance(given, dict) else None
            self.prompts.setdefault(block["id"], prompt.strip() if isinstance(prompt, str) else "")
        call = block.get("tool_use_id")
        if block.get("type") != "tool_result" or not call:
            return
        beside = record.get("toolUseResult")
        if isinstance(beside, dict) and isinstance(beside.get("agentId"), str):
            self.named.setdefault(beside["agentId"], call)
        for agent in re.findall(r"agentId:\s*([a-zA-Z0-9_-]+)", _text(block.get("content"))):
            self.mentioned.setdefault(agent, call)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def linked_calls(
    agents: Collection[str], tasks: dict[str, str], files: dict[str, Path], links: ReferenceLinks
) -> dict[str, str]:
    """The call of each sub-agent, as far as it is known; `tasks` and `files` are those of sub-agents with a file."""
    found: dict[str, str] = {}
    for agent in sorted(agents):
        ways = (
            _described(files.get(agent)),
            links.named.get(agent),
            links.signs.get(agent),
            links.mentioned.get(agent),
        )
        call = next((call for call in ways if call in links.prompts), None)
        if call is not None:
            found[agent] = call
    for agent, task in tasks.items():  # in the order of their beginnings
        free = (call for call, prompt in links.prompts.items() if prompt == task and call not in found.values())
        if agent not in found and task and (call := next(free, None)) is not None:
            found[agent] = call
    return found


def _described(path: Path | None) -> str | None:
    """The call that the file beside a sub-agent names."""
    try:
        told = json.loads(path.with_suffix(".meta.json").read_bytes()) if path else None
    except (OSError, ValueError):
        return None
    return told.get("toolUseId") if isinstance(told, dict) else None
