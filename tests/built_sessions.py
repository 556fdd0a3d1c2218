"""Sessions of any shape for property tests: a store is built step by step, each step one thing that real files show."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

from tests.builder import START, SessionBuilder, call, text, thought, timestamp, uuid_of
from tests.stores import ONE, StoreBuilder, settle

PICTURE: Final = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
COMMAND: Final = (
    "<command-name>/{0}</command-name>\n<command-message>{0}</command-message>\n<command-args>{1}</command-args>"
)


class Built:
    """A session of a store, while it is written."""

    def __init__(self, store: StoreBuilder) -> None:
        self.store = store
        self.main = SessionBuilder(session_id=ONE)
        self.prompts: list[int] = []
        """The lines of prompts that have a parent: the conversation can go back to before them."""
        self.agents = 0
        self._calls = 0

    @property
    def line(self) -> int:
        """The number of the line that comes next."""
        return len(self.main.lines) + 1

    def call_id(self) -> str:
        """An id for one more call."""
        self._calls += 1
        return f"toolu_{self._calls:03}"

    def queue(self, operation: str, **more: Any) -> None:
        """One operation on the queue of prompts."""
        time = timestamp(self.line)
        self.main.line({"type": "queue-operation", "operation": operation, "timestamp": time, "sessionId": ONE, **more})

    def record(self, kind: str, **more: Any) -> None:
        """A record without an envelope."""
        self.main.line({"type": kind, **more})

    def write(self) -> Path:
        """Put the session into its store."""
        return self.main.write(self.store.home() / f"{ONE}.jsonl")


Step = Callable[[Built], object]


@contextmanager
def built_store(steps: list[Step], *, is_settled: bool = True) -> Iterator[Path]:
    """A store with one session that these steps built, and its sub-agents."""
    folder = Path(tempfile.mkdtemp())
    try:
        store = StoreBuilder(folder / "store")
        built = Built(store)
        for step in steps:
            step(built)
        built.write()
        if is_settled:
            settle(store.root)
        yield store.root
    finally:
        shutil.rmtree(folder)


# --- what people type -----------------------------------------------------------------------------------


def prompt(words: Any) -> Step:
    """A prompt, or anything else in a user's place."""

    def step(built: Built) -> None:
        if built.main.lines:
            built.prompts.append(built.line)
        built.main.prompt(words)

    return step


def flagged(words: str, **flags: Any) -> Step:
    """A text in a user's place with flags that say whose it is."""
    return lambda built: built.main.prompt(words, **flags)


def slash(name: str, arguments: str = "") -> Step:
    """A slash command."""
    return prompt(COMMAND.format(name, arguments))


def attached(words: Any) -> Step:
    """A prompt typed mid-turn, as newer versions keep it."""
    return lambda built: built.main.attachment("queued_command", prompt=words)


def queued(words: str, ending: str) -> Step:
    """A prompt typed mid-turn, as older versions keep it, and what became of it."""

    def step(built: Built) -> None:
        built.queue("enqueue", content=words)
        built.main.response(text("Meanwhile."))
        if ending == "popAll":
            built.queue("popAll", content=words)
        elif ending == "dequeue":
            built.queue("dequeue")
            built.main.prompt(words)
        elif ending == "attachment":
            built.queue("remove")
            built.main.attachment("queued_command", prompt=words)
        elif ending == "remove":
            built.queue("remove")

    return step


def two_queued(built: Built) -> None:
    """Two wait, and the first is taken up."""
    built.queue("enqueue", content="First in the queue")
    built.queue("enqueue", content="Second in the queue")
    built.queue("remove")
    built.queue("dequeue")
    built.main.prompt("Second in the queue")


# --- what the model does --------------------------------------------------------------------------------


def answer(built: Built) -> None:
    """Thoughts and words."""
    built.main.response(thought(), text("All is well."))


def called(tool: str, result: str = "ok", **arguments: Any) -> Step:
    """A call and its result: ok, error, early (before the call), twice, none."""

    def step(built: Built) -> None:
        id, main = built.call_id(), built.main
        if result == "early":
            line = built.line
            main.result(id, "done", parentUuid=uuid_of(line + 1))
            main.back_to(line - 1 if line > 1 else None)
            main.response(call(tool, id, **arguments))
            main.back_to(line)
            main.response(text("Done."))
            return
        main.response(text("I try."), call(tool, id, **arguments))
        if result != "none":
            main.result(id, "done", error=True if result == "error" else None)
        if result == "twice":
            main.result(id, "done again", error=True)

    return step


def parallel(built: Built) -> None:
    """Two calls of one response, each followed by its result; the conversation goes on from the last."""
    one, two, main = built.call_id(), built.call_id(), built.main
    request = f"req_parallel_{built.line}"
    first = built.line
    main.block(call("Bash", one, command="ls"), request=request)
    main.block(call("Grep", two, pattern="x"), request=request)
    main.back_to(first).result(one, "a")
    main.back_to(first + 1).result(two, "b", error=True)
    main.response(text("Both are there."))


def failed_request(built: Built) -> None:
    """The API refuses, twice, and then it is said so."""
    built.main.system("api_error", error={"message": "overloaded"}, retryAttempt=1)
    built.main.response(text("API Error: overloaded"), isApiErrorMessage=True, model="<synthetic>")


def exported(built: Built) -> None:
    """Lines of the transcript export."""
    time = timestamp(built.line)
    built.record("user", timestamp=time, content="Exported words")
    built.record(
        "tool_use", timestamp=time, tool_name="Bash", tool_input={"command": "ls"}, tool_use_id=built.call_id()
    )
    built.record(
        "tool_result", timestamp=time, tool_name="Bash", tool_output="a b", tool_use_id=f"toolu_{built._calls:03}"
    )


def plain_result(built: Built) -> None:
    """A result that is a record of its own, with its output in the message."""
    built.main.response(call("Bash", built.call_id(), command="echo"))
    built.record("tool_result", timestamp=timestamp(built.line), message={"role": "tool", "content": "hello"})


# --- the shape of a conversation ------------------------------------------------------------------------


def fork(back: int) -> Step:
    """Go back to before an earlier prompt, and take another way."""

    def step(built: Built) -> None:
        if built.prompts:
            built.main.back_to(built.prompts[back % len(built.prompts)] - 1)
            built.main.prompt(f"Rather this, on line {built.line}").response(text("As you like."))

    return step


def compaction(built: Built) -> None:
    """An automatic compaction and its summary."""
    last, main = built.line - 1, built.main
    main.back_to(None).system("compact_boundary", logicalParentUuid=uuid_of(last), compactMetadata={"trigger": "auto"})
    main.prompt("This session is being continued from a previous conversation: …", isCompactSummary=True)


def typed_compaction(built: Built) -> None:
    """A typed /compact: the command's lines hang on the summary, beside the next prompt."""
    compaction(built)
    summary, main = built.line - 1, built.main
    main.prompt("Caveat: The messages below were generated by the user while running local commands.", isMeta=True)
    main.prompt(COMMAND.format("compact", ""))
    main.prompt("<local-command-stdout>Compacted </local-command-stdout>")
    main.back_to(summary).prompt("Go on after the compaction").response(text("On it."))


def compaction_recorded_twice(built: Built) -> None:
    """A typed /compact: recorded as it was typed, and again in tags below the summary, with the same id."""
    id = f"prompt {built.line}"
    built.main.prompt("/compact", promptId=id)
    compaction(built)
    main = built.main
    main.prompt("Caveat: The messages below were generated by the user while …", isMeta=True, promptId=id)
    main.prompt(COMMAND.format("compact", ""), promptId=id)
    main.prompt("<local-command-stdout>Compacted </local-command-stdout>", promptId=id)


def copied(how: str) -> Step:
    """Lines that were there before: the same, or written anew."""

    def step(built: Built) -> None:
        answer(built)  # a last prompt without an answer could as well be typed again
        lines = list(built.main.lines)
        if how == "last":
            lines = lines[-1:]
        known: dict[str, str] = {}
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record.get("type") not in ("user", "assistant", "system", "attachment") or "uuid" not in record:
                continue
            if how in ("time", "anew"):
                known[record["uuid"]] = uuid_of(100_000 + built.line)
                record["uuid"] = known[record["uuid"]]
                record["parentUuid"] = known.get(record["parentUuid"])
            if how == "anew":
                record["timestamp"] = timestamp(1000)
            built.main.line(record)
            built.main.go_on_from(record["uuid"])

    return step


def titled(kind: str, name: str) -> Step:
    """A record that names the session."""
    keys = {"custom-title": "customTitle", "ai-title": "aiTitle", "agent-name": "agentName", "summary": "summary"}
    return lambda built: built.record(kind, **{keys[kind]: name})


def odd_line(data: bytes) -> Step:
    """A line that is no record."""
    return lambda built: built.main.raw(data)


# --- sub-agents -----------------------------------------------------------------------------------------


def subagent(link: str, place: str, tool: str = "Task") -> Step:
    """A sub-agent with a file, and how its call is known: result, words, prompt, meta, progress, or none."""

    def step(built: Built) -> None:
        built.agents += 1
        number, id, main = built.agents, built.call_id(), built.main
        name, task = f"a{number:07}", f"Look around, number {number}"
        given = {"prompt": task if link == "prompt" else "Something else"}
        more: dict[str, Any] = {"toolUseResult": {"agentId": name, "status": "completed"}} if link == "result" else {}
        if link != "none":
            main.response(call(tool, id, description=f"Look {number}", subagent_type="Explore", **given))
        if link == "progress":
            main.progress("agent_progress", id, agentId=name, prompt=task)
        if link != "none":
            main.result(id, f"agentId: {name}\nDone." if link == "words" else "Done.", **more)
        late = START + timedelta(seconds=built.line, days=1 if link == "warmup" else 0)
        agent = SessionBuilder(session_id=ONE, sidechain=True, start=late)
        agent.prompt("Warmup" if link == "warmup" else task, agentId=name)
        agent.response(call("Read", f"{id}_read", file_path="/tmp/x"), agentId=name).result(f"{id}_read", agentId=name)
        agent.response(text("Nothing there."), agentId=name)
        folder = built.store.home() / ONE / place if place else built.store.home()
        path = agent.write(folder / f"agent-{name}.jsonl")
        if link == "meta":
            built.store.meta(path, agentType="Plan", description=f"Plan {number}", toolUseId=id)

    return step


def heard_subagent(built: Built) -> None:
    """A sub-agent without a file: only signs of life carry its messages."""
    built.agents += 1
    id, main, name = built.call_id(), built.main, f"b{built.agents:07}"
    main.response(call("Task", id, description="Listen", prompt="Listen well", subagent_type="Explore"))
    said = {"type": "user", "message": {"role": "user", "content": "Listen well"}, "uuid": f"{name}-1"}
    replied = {"type": "assistant", "message": {"role": "assistant", "content": [text("I hear.")]}, "uuid": f"{name}-2"}
    for message in (said, replied):
        stamped = {**message, "timestamp": timestamp(built.line)}
        main.progress("agent_progress", id, agentId=name, prompt="Listen well", message=stamped)
    main.result(id, "It was quiet.")


def inline_subagent(built: Built) -> None:
    """A sub-agent inside of the file, as version 1 wrote it."""
    id, main = built.call_id(), built.main
    task = f"What is on line {built.line}?"
    main.response(call("Task", id, description="Ask", prompt=task, subagent_type="Explore"))
    last = built.line - 1
    main.sidechain = True
    main.prompt(task, parentUuid=None).response(call("Bash", f"{id}_in", command="ls")).result(f"{id}_in", error=True)
    main.response(text("A kettle."))
    main.sidechain = False
    main.back_to(last).result(id, "A kettle.").response(text("A kettle, they say."))


# --- any of these ---------------------------------------------------------------------------------------

typing = st.sampled_from(
    ["Fix the kettle", "go on", "Why?\n\nTell me", "/review the parser", "  spaces  ", "é 日本語 ✅"]
)
users = st.one_of(
    typing.map(prompt),
    st.sampled_from(
        [
            prompt([PICTURE]),
            prompt([text("What is this?"), PICTURE]),
            prompt([text("one"), text("two")]),
            prompt([]),
            prompt(""),
            slash("clear"),
            slash("review", "the parser"),
            prompt("<bash-input>ls</bash-input>"),
            prompt("<bash-stdout>a\nb</bash-stdout><bash-stderr></bash-stderr>"),
            prompt("<local-command-stdout>Set model</local-command-stdout>"),
            prompt("[Request interrupted by user for tool use]"),
            prompt("<task-notification><summary>Done</summary></task-notification>"),
            prompt("<system-reminder>Mind the gap</system-reminder>"),
            prompt("<ide_opened_file>x.py</ide_opened_file>And this?"),
            prompt("<teammate-message teammate_id='lead'>Hello</teammate-message>"),
            prompt("Unknown skill: tea"),
            flagged("Base directory for this skill: /x", isMeta=True),
            flagged("Injected by a tool", sourceToolUseID="toolu_x"),
            flagged("Typed by a person", origin={"kind": "human"}, promptSource="typed"),
            flagged("By the system", promptSource="system"),
            attached("Typed meanwhile"),
            attached([text("Typed with a picture"), PICTURE]),
            two_queued,
        ]
    ),
    st.builds(
        queued,
        st.sampled_from(["Why not so?", "<task-notification>x</task-notification>", "/compact"]),
        st.sampled_from(["remove", "dequeue", "popAll", "attachment", "none"]),
    ),
)
paths = st.sampled_from(["/home/ada/engine/a.py", "a.py", "C:\\work\\b.py", "c:\\work\\b.py", "/tmp/x"])
fates = st.sampled_from(["ok", "error", "early", "twice", "none"])
models = st.one_of(
    st.just(answer),
    st.just(parallel),
    st.just(failed_request),
    st.just(exported),
    st.just(plain_result),
    st.builds(
        lambda tool, fate, path: called(tool, fate, file_path=path),
        st.sampled_from(["Read", "Write", "Edit"]),
        fates,
        paths,
    ),
    st.builds(lambda fate: called("Bash", fate, command="ls"), fates),
    st.builds(lambda fate: called("mcp__tea__brew", fate), fates),
)
shapes = st.one_of(
    st.integers(0, 5).map(fork),
    st.sampled_from([compaction, typed_compaction, compaction_recorded_twice]),
    st.sampled_from(["last", "uuid", "time", "anew"]).map(copied),
    st.builds(
        titled,
        st.sampled_from(["custom-title", "ai-title", "agent-name", "summary"]),
        st.sampled_from(["Tea", "Café", "x" * 300]),
    ),
    st.sampled_from([odd_line(b"{broken\n"), odd_line(b"\n"), odd_line(b'{"type":"future-type"}\n')]),
)
agents = st.one_of(
    st.builds(
        subagent,
        st.sampled_from(["result", "words", "prompt", "meta", "progress", "none", "warmup"]),
        st.sampled_from(["", "subagents", "subagents/deeper"]),
        st.sampled_from(["Task", "Agent", "DelegateToAgent"]),
    ),
    st.sampled_from([heard_subagent, inline_subagent]),
)
sessions = st.lists(st.one_of(users, models, shapes, agents), min_size=1, max_size=8)
