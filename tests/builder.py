"""The one builder of sessions, shared by all tests and by the benchmark.

Every method appends one line as Claude Code would write it, with its envelope, and returns the builder; a call of
a tool is named by the caller (`id`), so that results and progress can point at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

START = datetime(2026, 1, 17, 20, 31, 59, 197000, tzinfo=UTC)
_USAGE = {
    "input_tokens": 4,
    "cache_creation_input_tokens": 1830,
    "cache_read_input_tokens": 41216,
    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1830},
    "output_tokens": 12,
    "service_tier": "standard",
    "inference_geo": "not_available",
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
}


class SessionBuilder:
    """Writes a session line by line; time moves on by one second a line."""

    def __init__(
        self,
        *,
        session_id: str = "11111111-2222-4333-8444-555555555555",
        sidechain: bool = False,
        cwd: str = "/home/ada/engine",
        branch: str = "main",
        start: datetime = START,
    ) -> None:
        self.session_id = session_id
        self.sidechain = sidechain
        self.cwd = cwd
        self.branch = branch
        self.start = start
        self.lines: list[bytes] = []
        self._parent: str | None = None
        self._response = 0
        self._flushed = 0

    # --- conversation -------------------------------------------------------------------------

    def prompt(self, text: Any, **extra: Any) -> Self:
        """What a person typed: a string, or a list of blocks."""
        return self._record("user", message={"role": "user", "content": text}, **extra)

    def response(self, *blocks: dict[str, Any], request: str | None = None, **extra: Any) -> Self:
        """One response of the model, a line for each block."""
        self._response += 1
        request = request or f"req_{self._response:04}"
        for block in blocks:
            self.block(block, request=request, **extra)
        return self

    def block(
        self,
        block: dict[str, Any],
        *,
        request: str,
        model: str = "claude-opus-4-5-20251101",
        usage: Any = _USAGE,
        **extra: Any,
    ) -> Self:
        """One line of a response."""
        message = {
            "id": f"msg_{request}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        return self._record("assistant", message=message, requestId=request, **extra)

    def result(self, call: str, content: Any = "ok", *, error: bool | None = None, **extra: Any) -> Self:
        """A tool's result."""
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": content}
        if error is not None:
            block["is_error"] = error
        return self.prompt([block], **extra)

    def progress(self, kind: str, call: str | None, **data: Any) -> Self:
        """A running tool's sign of life."""
        return self._record("progress", data={"type": kind, **data}, toolUseID=f"{kind}-0", parentToolUseID=call)

    def system(self, subtype: str | None, **extra: Any) -> Self:
        """A remark of the harness."""
        return self._record("system", **({"subtype": subtype} if subtype else {}), **extra)

    def attachment(self, kind: str, **content: Any) -> Self:
        """Context that the model saw."""
        return self._record("attachment", attachment={"type": kind, **content})

    def compaction(self, trigger: str = "auto", tokens: int = 167503) -> Self:
        """The boundary of a compaction."""
        return self.system("compact_boundary", compactMetadata={"trigger": trigger, "preTokens": tokens})

    def back_to(self, line: int | None) -> Self:
        """Go on from the line of this number, counted from 1; `None` for no parent at all."""
        self._parent = None if line is None else uuid_of(line)
        return self

    def go_on_from(self, uuid: str) -> Self:
        """Go on from the line of this uuid."""
        self._parent = uuid
        return self

    # --- anything else ------------------------------------------------------------------------

    def line(self, record: Any) -> Self:
        """A line of any JSON value, exactly as given."""
        return self.raw(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def raw(self, data: bytes) -> Self:
        """Bytes as they are, with their line end or without."""
        self.lines.append(data)
        return self

    def data(self) -> bytes:
        """The whole file."""
        return b"".join(self.lines)

    def flush(self) -> bytes:
        """What was written since the last time; lines go on being numbered where they were."""
        data = self.data()
        self._flushed += len(self.lines)
        self.lines.clear()
        return data

    def write(self, path: Path) -> Path:
        """Write the session to a file, in a directory that is made where it is missing."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data())
        return path

    def _record(self, kind: str, **fields: Any) -> Self:
        number = self._flushed + len(self.lines) + 1
        record = {
            "parentUuid": self._parent,
            "isSidechain": self.sidechain,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": "2.1.29",
            "gitBranch": self.branch,
            "entrypoint": "cli",
            "slug": "gentle-humming-engine",
            **({**fields, "type": kind} if kind == "assistant" else {"type": kind, **fields}),
            "uuid": uuid_of(number),
            "timestamp": timestamp(number, self.start),
        } | {key: fields[key] for key in ("timestamp", "uuid") if key in fields}
        self._parent = str(record["uuid"])
        return self.line(record)


def uuid_of(number: int) -> str:
    """The uuid of the builder's line of this number."""
    return f"00000000-0000-4000-8000-{number:012}"


def timestamp(number: int, start: datetime = START) -> str:
    """The time of the builder's line of this number."""
    moment = start + timedelta(seconds=number - 1)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def thought(words: str = "Hm.") -> dict[str, Any]:
    """A thinking block."""
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmF0dXJl" * 30}


def call(name: str, id: str = "toolu_1", **arguments: Any) -> dict[str, Any]:
    """A tool_use block."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def parsed(lines: Iterable[bytes]) -> list[Any]:
    """The lines as parsed JSON, for `render`."""
    return [json.loads(line) for line in lines]
