"""Random sessions for benchmarks, with the sizes, kinds and repetitions of lines of real sessions.

There is a line for each block, every tool output appears twice (for the model and for the screen), there are progress
and attachment lines, and a few very long lines.
"""

from __future__ import annotations

import random
import uuid
from pathlib import Path
from typing import Any

from tests.builder import SessionBuilder, call, text, thought

_WORDS = (  # noqa: SIM905 - a list of forty strings is no easier to read
    "the session player reads every line and keeps its place while results arrive out of order self.state = "
    "parse render(screen) element result[index] buffer cursor stream 'quoted' \"value\" return None # see path/to/file"
).split()
_LAST_TURN = 0.09  # in MB: sessions exceed the requested size by about half a turn
_RARE = ("→", "✓", "naïve", "—")


class SessionWriter:
    """Writes the turns of a session; the same seed gives the same bytes."""

    def __init__(self, seed: int, *, output: float = 6.6) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.session = SessionBuilder()
        self.output = output
        self.calls = 0
        self.responses = 0

    def turn(self) -> None:
        """Write a prompt, some rounds of thinking, text and tools, and the duration."""
        chance = self.random.random
        self.session.prompt(self.words(5.0))
        self.attachments()
        for _ in range(self.random.randint(2, 7)):
            blocks = [thought(self.words(6.8))] if chance() < 0.4 else []
            if chance() < 0.6:
                blocks.append(text(self.words(5.3)))
            calls = [self.call() for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
            self.respond(*blocks, *calls)
            for tool in calls:
                self.run(tool)
        self.respond(text(self.words(6.0)))
        self.session.system("turn_duration", durationMs=self.random.randint(900, 400_000), isMeta=False)
        self.session.line({"type": "last-prompt", "lastPrompt": "…", "sessionId": self.session.session_id})
        if chance() < 0.5:
            self.session.line({"type": "file-history-snapshot", "messageId": "m", "snapshot": {"files": ["f.py"] * 20}})

    def respond(self, *blocks: dict[str, Any]) -> None:
        """Write a response with an id that no other session has."""
        self.responses += 1
        self.session.response(*blocks, request=f"req_011CVQ{self.seed:05}x{self.responses:08}")

    def call(self) -> dict[str, Any]:
        """A call of a common tool."""
        self.calls += 1
        id = f"toolu_{self.calls:08}"
        path = f"/home/ada/engine/src/module_{self.random.randint(1, 99)}.py"
        match self.random.choice(("Bash",) * 7 + ("Read",) * 6 + ("Edit",) * 4 + ("Grep",) * 3 + ("Write", "Task")):
            case "Task":
                return call("Task", id, description="Explore the code", prompt=self.words(6.5), subagent_type="Explore")
            case "Bash":
                return call("Bash", id, command=self.words(3.5), description=self.words(2.5))
            case "Read":
                return call("Read", id, file_path=path)
            case "Edit":
                return call("Edit", id, file_path=path, old_string=self.code(6.0), new_string=self.code(6.3))
            case "Grep":
                return call("Grep", id, pattern="def .*render", path="/home/ada/engine")
        return call("Write", id, file_path=path, content=self.code(7.5))

    def run(self, tool: dict[str, Any]) -> None:
        """Write progress lines, attachments and the result of a tool call."""
        id = tool["id"]
        for _ in range(self.random.choice((0, 0, 0, 0, 1, 3)) if tool["name"] == "Bash" else 0):
            self.session.progress("bash_progress", id, fullOutput=self.code(5.0), elapsedTimeSeconds=3)
        for _ in range(self.random.randint(1, 6) if tool["name"] == "Task" else 0):
            read = {"type": "tool_result", "tool_use_id": f"inner_{self.calls}", "content": self.code(7.5)}
            inner = {"type": "user", "message": {"role": "user", "content": [read]}}
            agent = {"agentId": f"a{self.calls:07}", "normalizedMessages": [], "prompt": self.words(6.0)}
            self.session.progress("agent_progress", id, message=inner, **agent)
        if self.random.random() < 0.2:
            self.session.progress("hook_progress", id, hookEvent="PreToolUse", hookName="PreToolUse:" + tool["name"])
        output = self.code(self.output, mark="→" if tool["name"] == "Read" else "\t")
        if self.random.random() < 1 / 400:
            output *= max(1, 300_000 // len(output))
        content: Any = output
        if self.random.random() < 1 / 600:
            content = [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO" * 60_000}}
            ]
        structured = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        self.session.result(id, content, error=self.random.random() < 0.05, toolUseResult=structured)
        self.attachments()

    def attachments(self) -> None:
        """Write context lines, as current versions do after tools and prompts."""
        for _ in range(self.random.choice((0, 0, 1, 2))):
            self.session.attachment("hook_success", hookName="PostToolUse", stdout=self.code(6.0), exitCode=0)

    def words(self, size: float) -> str:
        """Text of about e**size characters, in a third of the cases not only ASCII."""
        words = self.random.choices(_WORDS, k=max(1, int(self.random.lognormvariate(size, 0.7) / 6)))
        if self.random.random() < 0.3:
            words.append(self.random.choice(_RARE))
        return " ".join(words)

    def code(self, size: float, mark: str = "\t") -> str:
        """Numbered lines of about e**size characters in total, as tools print them."""
        count = max(1, int(self.random.lognormvariate(size, 1.3) / 40))
        words = self.random.choices
        return "\n".join(f"{number:6}{mark}{' '.join(words(_WORDS, k=5))}" for number in range(1, count + 1))


def write_session(path: Path, megabytes: float, *, seed: int = 1, output: float = 6.6) -> Path:
    """Write a session file of about this size; a larger `output` makes more of it tool output."""
    writer = SessionWriter(seed, output=output)
    left = int(megabytes * 1_000_000)
    with path.open("wb") as file:
        while left > 0:
            writer.turn()
            left -= file.write(writer.session.flush())
    return path


def write_long_line(path: Path, megabytes: int, kind: str, character: str) -> Path:
    """Write a session with one line of this size, an output or a prompt, that has this character in it."""
    words = f"a line of sixty characters, as plain as the day, and {character} long\n"
    words *= megabytes * 1_000_000 // (len(words.encode()) + 1)
    session = SessionBuilder().response(call("Bash", "a", command="yes"))
    session = session.result("a", words) if kind == "output" else session.prompt(words)
    return session.write(path)


def write_store(root: Path, megabytes: float, files: int, *, seed: int = 1) -> Path:
    """Write a store of about this size; most of its sessions are small and a few large, as in real stores."""
    chance = random.Random(seed)
    weights = [chance.lognormvariate(0, 1.3) for _ in range(files)]
    for number, weight in enumerate(weights):
        folder = root / "projects" / f"-home-ada-project{number % 30:02}"
        folder.mkdir(parents=True, exist_ok=True)
        id = uuid.UUID(int=chance.getrandbits(128), version=4)
        share = megabytes * weight / sum(weights)
        write_session(folder / f"{id}.jsonl", max(share - _LAST_TURN, 0.01), seed=number)
    return root
