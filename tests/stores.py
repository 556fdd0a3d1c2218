"""Stores for tests: built in a directory, with sessions in every layout."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from claude_session_player import Store
from claude_session_player.store.layout import encode_project_path
from tests.builder import START, SessionBuilder, call, text

ONE = "1f2e3d4c-0001-4000-8000-000000000001"
TWO = "1f2e3d4c-0002-4000-8000-000000000002"
THREE = "a9b8c7d6-0003-4000-8000-000000000003"
AGENT = "a5b6c7d8"
ENGINE = "/home/ada/engine"


class StoreBuilder:
    """A store below a directory; each method writes one thing and gives its path."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "projects").mkdir(parents=True)

    def open(self, cache: Path | None = None) -> Store:
        """The store, with an index or without."""
        return Store.open(self.root, cache=str(cache) if cache else None)

    def home(self, cwd: str = ENGINE) -> Path:
        """The directory of a project."""
        return self.root / "projects" / encode_project_path(cwd)

    def session(
        self, id: str = ONE, prompt: str = "Start the engine", *, cwd: str = ENGINE, days: int = 0, home: str = ""
    ) -> Path:
        """A session of one prompt and one answer, some days after the first."""
        session = SessionBuilder(session_id=id, cwd=cwd, start=START + timedelta(days=days))
        session.prompt(prompt).response(text("It runs."))
        return session.write((self.root / "projects" / home if home else self.home(cwd)) / f"{id}.jsonl")

    def agent(self, id: str = AGENT, session: str = ONE, *, place: str = "", task: str = "Look around") -> Path:
        """A sub-agent: beside its session, or, with a place, in a directory below `<session>/`."""
        agent = SessionBuilder(session_id=session, sidechain=True)
        agent.prompt(task, agentId=id).response(text("Nothing there."), agentId=id)
        folder = self.home() / session / place if place else self.home()
        return agent.write(folder / f"agent-{id}.jsonl")

    def meta(self, agent: Path, **told: Any) -> Path:
        """The description beside a sub-agent."""
        return self.json(agent.with_suffix(".meta.json"), told)

    def json(self, path: Path, value: Any) -> Path:
        """A JSON file at a path below the store."""
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    def every_layout(self) -> None:
        """One of everything that a store may hold."""
        main = SessionBuilder(session_id=ONE).prompt("Start the engine")
        main.response(call("Task", "toolu_t1", description="Look", prompt="Look around", subagent_type="Explore"))
        main.response(call("Task", "toolu_t2", description="Dig", prompt="Dig deep", subagent_type="Plan"))
        main.response(text("It runs.")).write(self.home() / f"{ONE}.jsonl")
        self.agent("flat0001", task="Look around")
        self.meta(self.agent("nest0001", place="subagents"), agentType="Plan", description="Dig", toolUseId="toolu_t2")
        self.agent("work0001", place="subagents/workflows/wf_1")
        self.json(self.home() / ONE / "workflows" / "wf_1.json", {"runId": "wf_1", "status": "completed"})
        (self.home() / ONE / "tool-results").mkdir()
        (self.home() / ONE / "tool-results" / "toolu_9.txt").write_text("much")
        inline = SessionBuilder(session_id=TWO, start=START + timedelta(days=1)).prompt("Ask somebody")
        inline.response(call("Task", "toolu_i", description="Ask", prompt="What is it?", subagent_type="Explore"))
        inline.sidechain = True
        inline.prompt("What is it?", parentUuid=None).response(text("A kettle."))
        inline.sidechain = False
        inline.response(text("A kettle, they say.")).write(self.home() / f"{TWO}.jsonl")
        transcript = SessionBuilder().line({"type": "user", "timestamp": "2026-01-19T10:00:00Z", "content": "Exported"})
        transcript.write(self.root / "transcripts" / "ses_0001.jsonl")
        copy = self.root / "pre-compact-session-histories" / f"{ONE}-2026-01-17.jsonl"
        SessionBuilder(session_id=ONE).prompt("Start the engine").write(copy)
        for name in ("todo.jsonl", "journal.jsonl", "history.jsonl", "._hidden.jsonl", ".secret.jsonl"):
            (self.home() / name).write_text('{"type": "todo", "id": "1", "text": "Oil it", "completed": false}\n')
        (self.root / "history.jsonl").write_text("{}\n")
        journal = self.home() / ONE / "subagents" / "workflows" / "wf_1" / "journal.jsonl"
        journal.write_text('{"type": "started"}\n')


class Opened(StoreBuilder):
    """A store that is there already."""

    def __init__(self, root: Path) -> None:
        self.root = root


def touch(path: Path, seconds: int = 1) -> None:
    """Let a file's time of change be another one."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + seconds * 1_000_000_000))


def settle(root: Path) -> None:
    """Let no file of a store look as if somebody worked with it just now."""
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (1_700_000_000, 1_700_000_000))


def only(store: Store) -> dict[str, object]:
    """The summary of the one session of a store."""
    (session,) = store.sessions()
    return session.summary._asdict()
