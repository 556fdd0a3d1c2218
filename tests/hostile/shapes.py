"""Sessions of a shape that costs too much where something is done for each pair of their parts.

Each shape writes a session of `n` parts to a path; what belongs to it besides is written beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.builder import SessionBuilder, call, text, uuid_of

Shape = Callable[[Path, int], None]
_FILE: Final = "/home/ada/engine/boiler.py"


def _session(path: Path) -> SessionBuilder:
    return SessionBuilder(session_id=path.stem).prompt("Start the engine")


def _agent(path: Path, number: int, task: str) -> SessionBuilder:
    agent = SessionBuilder(session_id=path.stem, sidechain=True)
    return agent.prompt(task, agentId=f"a{number:07}")


def _agent_path(path: Path, number: int) -> Path:
    return path.with_suffix("") / "subagents" / f"agent-a{number:07}.jsonl"


# --- calls and results ----------------------------------------------------------------------------


def open_calls(path: Path, n: int, *, name: str = "Bash", id: str = "toolu_{}") -> None:
    """Calls that are never answered."""
    session = _session(path)
    for number in range(n):
        session.response(call(name.format(number), id.format(number), command="ls"))
    session.write(path)


def one_open_turn(path: Path, n: int) -> None:
    """Calls of one response that are never answered."""
    session = _session(path)
    for number in range(n):
        session.block(call("Bash", f"toolu_{number}", command="ls"), request="req_1")
    session.write(path)


def answered_calls(path: Path, n: int) -> None:
    """All calls first, then all results."""
    session = _session(path)
    for number in range(n):
        session.response(call("Bash", f"toolu_{number}", command="ls"))
    for number in range(n):
        session.result(f"toolu_{number}")
    session.write(path)


def late_results(path: Path, n: int) -> None:
    """All calls first, then all results, the last one first."""
    session = _session(path)
    for number in range(n):
        session.response(call("Bash", f"toolu_{number}", command="ls"))
    for number in reversed(range(n)):
        session.result(f"toolu_{number}")
    session.write(path)


def open_beside_answered(path: Path, n: int) -> None:
    """Calls that are never answered, and behind each one that is."""
    session = _session(path)
    for number in range(n):
        session.response(call("Bash", f"toolu_open_{number}", command="ls"))
        session.response(call("Bash", f"toolu_{number}", command="ls")).result(f"toolu_{number}")
    session.write(path)


def results_alone(path: Path, n: int, *, id: str = "toolu_{}") -> None:
    """Results without any call."""
    session = _session(path)
    for number in range(n):
        session.result(id.format(number))
    session.write(path)


def results_first(path: Path, n: int, *, order: int = 1, tool: str = "Bash") -> None:
    """All results first, then all calls, in their order or the other way round."""
    session = _session(path)
    for number in range(n):
        session.result(f"toolu_{number}")
    for number in range(n)[::order]:
        session.response(call(tool, f"toolu_{number}", command="ls"))
    session.write(path)


def results_first_of_each(path: Path, n: int) -> None:
    """Each result before its call, among results without one."""
    session = _session(path)
    for number in range(n):
        session.result(f"toolu_alone_{number}").result(f"toolu_{number}")
        session.response(call("Bash", f"toolu_{number}", command="ls"))
    session.write(path)


def results_of_one_call(path: Path, n: int) -> None:
    """One call with many results."""
    session = _session(path).response(call("Bash", "toolu_1", command="ls"))
    for _ in range(n):
        session.result("toolu_1")
    session.write(path)


def calls_of_one_id(path: Path, n: int) -> None:
    """Many calls with the same id, each with a result."""
    session = _session(path)
    for _ in range(n):
        session.response(call("Bash", "toolu_1", command="ls")).result("toolu_1")
    session.write(path)


def calls_without_id(path: Path, n: int, *, name: str = "Bash", named: bool = True) -> None:
    """Calls without an id, of one tool or of many, then as many results without one."""
    session = _session(path)
    for number in range(n):
        session.response({"type": "tool_use", "name": name.format(number), "input": {"command": "ls"}})
    for number in range(n):
        block = {"type": "tool_result", "content": "ok"} | ({"name": name.format(number)} if named else {})
        session.prompt([block])
    session.write(path)


def calls_of_one_source(path: Path, n: int, *, id: str | None = None) -> None:
    """Calls of one record, then results that name nothing but that record."""
    session = _session(path)
    extra = [{} if id is None else {"id": id.format(number)} for number in range(n)]
    blocks = [{"type": "tool_use", "name": f"Tool{number % 7}", "input": {}} | extra[number] for number in range(n)]
    session.prompt("x").raw(session.lines.pop())
    message = {"id": "msg_1", "role": "assistant", "content": blocks}
    session._record("assistant", message=message, requestId="req_1")
    source = session._parent
    for _ in range(n):
        session.prompt([{"type": "tool_result", "content": "ok", "name": "Other"}], sourceToolAssistantUUID=source)
    session.write(path)


def parallel_calls(path: Path, n: int) -> None:
    """Calls of one response, each a line below the one before; each result below its own call."""
    session = _session(path)
    for number in range(n):
        session.block(call("Bash", f"toolu_{number}", command="ls"), request="req_1")
    for number in range(n):
        session.back_to(2 + number).result(f"toolu_{number}")
    session.response(text("Done.")).write(path)


def answered_parallel_calls(path: Path, n: int) -> None:
    """The same, and below each result a response."""
    session = _session(path)
    for number in range(n):
        session.block(call("Bash", f"toolu_{number}", command="ls"), request="req_1")
    for number in range(n):
        session.back_to(2 + number).result(f"toolu_{number}").response(text("Yes."))
    session.write(path)


def progress_of_one_call(path: Path, n: int) -> None:
    """A tool that tells of its progress again and again."""
    session = _session(path).response(call("Bash", "toolu_1", command="make"))
    for number in range(n):
        session.progress("bash_progress", "toolu_1", fullOutput=f"step {number}")
    session.result("toolu_1").write(path)


def progress_of_open_calls(path: Path, n: int) -> None:
    """Calls that are never answered, each with progress."""
    session = _session(path)
    for number in range(n):
        session.response(call("Bash", f"toolu_{number}", command="make"))
        session.progress("bash_progress", f"toolu_{number}", fullOutput=f"step {number}")
    session.write(path)


def progress_of_agents(path: Path, n: int) -> None:
    """A sub-agent that tells what it does inside of the progress."""
    session = _session(path).response(call("Task", "toolu_1", description="Look", prompt="Look around"))
    for number in range(n):
        said = {"type": "assistant", "message": {"role": "assistant", "content": [call("Bash", f"t_{number}")]}}
        session.progress("agent_progress", "toolu_1", message=said, agentId="a0000001", prompt="Look around")
    session.result("toolu_1").write(path)


# --- sub-agents -----------------------------------------------------------------------------------


def subagents(path: Path, n: int, *, named: bool = True, task: str = "Look at {}") -> None:
    """Calls of sub-agents, each with a file of its own."""
    session = _session(path)
    for number in range(n):
        words = task.format(number)
        session.response(call("Task", f"toolu_{number}", description="Look", prompt=words, subagent_type="Explore"))
        told = {"agentId": f"a{number:07}", "content": []} if named else {}
        session.result(f"toolu_{number}", "Nothing there.", toolUseResult=told)
        _agent(path, number, words).response(text("Nothing there.")).write(_agent_path(path, number))
    session.write(path)


def nested_subagents(path: Path, n: int) -> None:
    """A sub-agent that calls another one, and so on."""
    inside = call("Task", "toolu_0", description="Look", prompt="Look at 0", subagent_type="Explore")
    told = {"agentId": "a0000000", "content": []}
    _session(path).response(inside).result("toolu_0", "Done.", toolUseResult=told).write(path)
    for number in range(n):
        agent = _agent(path, number, f"Look at {number}")
        words = f"Look at {number + 1}"
        agent.response(call("Task", f"toolu_{number + 1}", description="Look", prompt=words, subagent_type="Explore"))
        agent.result(f"toolu_{number + 1}", "Done.", toolUseResult={"agentId": f"a{number + 1:07}", "content": []})
        agent.response(text("Done.")).write(_agent_path(path, number))


def uncalled_subagents(path: Path, n: int) -> None:
    """Sub-agents that nobody called."""
    for number in range(n):
        _agent(path, number, "Look").response(text("Nothing.")).write(_agent_path(path, number))
    _session(path).response(text("It runs.")).write(path)


def inline_subagents(path: Path, n: int, *, task: str = "Look at {}") -> None:
    """Sub-agents inside of the file."""
    session = _session(path)
    for number in range(n):
        words = task.format(number)
        session.response(call("Task", f"toolu_{number}", description="Look", prompt=words, subagent_type="Explore"))
        before = session._parent
        session.sidechain = True
        session.back_to(None).prompt(words).response(text("Nothing there."))
        session.sidechain = False
        session.go_on_from(str(before)).result(f"toolu_{number}", "Nothing there.")
    session.write(path)


def inline_subagents_at_once(path: Path, n: int) -> None:
    """Sub-agents inside of the file: all calls first, then all tasks, then all results."""
    session = _session(path)
    for number in range(n):
        session.response(call("Task", f"toolu_{number}", description="Look", prompt="Look", subagent_type="Explore"))
    session.sidechain = True
    for _ in range(n):
        session.back_to(None).prompt("Look").response(text("Nothing there."))
    session.sidechain = False
    session.go_on_from(uuid_of(2))
    for number in range(n):
        session.result(f"toolu_{number}", "Nothing there.")
    session.write(path)


def workflow_agents(path: Path, n: int) -> None:
    """A workflow with many agents."""
    session = _session(path).response(call("Workflow", "toolu_1", script="run()"))
    session.result("toolu_1", "Started.", toolUseResult={"runId": "wf_1"}).write(path)
    for number in range(n):
        place = path.with_suffix("") / "subagents" / "workflows" / "wf_1" / f"agent-a{number:07}.jsonl"
        _agent(path, number, f"Step {number}").response(text("Done.")).write(place)


# --- the tree -------------------------------------------------------------------------------------


def forks_at_one_point(path: Path, n: int) -> None:
    """Prompts that all continue the first response."""
    session = _session(path).response(text("It runs."))
    for number in range(n):
        session.back_to(2).prompt(f"Try {number}").response(text("No."))
    session.write(path)


def forks_in_a_comb(path: Path, n: int) -> None:
    """A conversation that goes one step on, back, and on from there, again and again."""
    session = _session(path).response(text("It runs."))
    for number in range(n):
        line = len(session.lines)
        session.prompt(f"Wrong {number}").response(text("No."))
        session.back_to(line).prompt(f"Right {number}").response(text("Yes."))
    session.write(path)


def forks_left_behind(path: Path, n: int) -> None:
    """The same, but all of it is left behind: the conversation goes on from its beginning."""
    session = _session(path).response(text("It runs."))
    for number in range(n):
        line = len(session.lines)
        session.prompt(f"Wrong {number}").response(text("No."))
        session.back_to(line).prompt(f"Right {number}").response(text("Yes."))
    session.back_to(2).prompt("Back to the beginning").response(text("Yes.")).write(path)


def forks_by_turns(path: Path, n: int) -> None:
    """Two branches that go on in turns."""
    session = _session(path).response(text("It runs."))
    ends = [2, 2]
    for number in range(n):
        session.back_to(ends[number % 2]).prompt(f"Step {number}").response(text("Yes."))
        ends[number % 2] = len(session.lines)
    session.write(path)


def forks_far_below(path: Path, n: int) -> None:
    """Plain lines in a long chain, and behind it prompts that continue one of them each."""
    session = _session(path).response(text("It runs."))
    for number in range(n):
        session.system("informational", content=f"Remark {number}")
    for number in range(n):
        session.back_to(2 + n - number).prompt(f"Step {number}")
    session.write(path)


def long_way_up(path: Path, n: int) -> None:
    """A long chain of plain lines, a fork, and below the chain a result and a response again and again."""
    session = _session(path).response(text("It runs."))
    session.prompt("Other").back_to(2).prompt("Again")
    for number in range(n):
        session.system("informational", content=f"Remark {number}")
    end = len(session.lines)
    for number in range(n):
        session.back_to(end).response(text(f"Yes {number}."), request="req_same")
    session.write(path)


def prompts_at_the_end_of_a_chain(path: Path, n: int) -> None:
    """A long chain of plain lines that leads nowhere, and prompts that all hang on its end."""
    session = _session(path).response(text("It runs."))
    for number in range(n):
        session.system("informational", content=f"Remark {number}")
    end = len(session.lines)
    for number in range(n):
        session.back_to(end).prompt(f"Step {number}")
    session.write(path)


def parents_reversed(path: Path, n: int) -> None:
    """Each line continues the one behind it."""
    session = SessionBuilder(session_id=path.stem)
    for number in range(1, n + 1):
        session.go_on_from(uuid_of(number + 1)).prompt(f"Step {number}")
    session.write(path)


def plain_parents_reversed(path: Path, n: int) -> None:
    """The same with lines that carry no weight, and prompts at the end."""
    session = SessionBuilder(session_id=path.stem)
    for number in range(1, n + 1):
        session.go_on_from(uuid_of(number + 1)).system("informational", content="Remark")
    for number in range(n):
        session.go_on_from(uuid_of(1)).prompt(f"Step {number}")
    session.write(path)


def parents_in_circles(path: Path, n: int) -> None:
    """Pairs of lines, each the parent of the other."""
    session = SessionBuilder(session_id=path.stem)
    for number in range(1, 2 * n, 2):
        session.go_on_from(uuid_of(number + 1)).prompt("Round").go_on_from(uuid_of(number)).prompt("and round")
    session.write(path)


def parents_in_one_circle(path: Path, n: int) -> None:
    """One circle of all lines."""
    session = SessionBuilder(session_id=path.stem).go_on_from(uuid_of(n)).prompt("Round")
    for _ in range(n - 1):
        session.prompt("and round")
    session.write(path)


def parents_missing(path: Path, n: int) -> None:
    """Lines whose parents are nowhere."""
    session = SessionBuilder(session_id=path.stem)
    for number in range(n):
        session.go_on_from(uuid_of(10_000_000 + number)).prompt(f"Step {number}")
    session.write(path)


def one_missing_parent(path: Path, n: int) -> None:
    """Lines whose parent is nowhere: the same one."""
    session = SessionBuilder(session_id=path.stem)
    for number in range(n):
        session.go_on_from(uuid_of(10_000_000)).prompt(f"Step {number}").response(text("Yes."))
    session.write(path)


def no_parents(path: Path, n: int) -> None:
    """Every line begins anew."""
    session = SessionBuilder(session_id=path.stem)
    for number in range(n):
        session.back_to(None).prompt(f"Step {number}").back_to(None).response(text("Yes."))
    session.write(path)


def one_uuid(path: Path, n: int) -> None:
    """Every line has the same uuid."""
    session = SessionBuilder(session_id=path.stem)
    for number in range(n):
        session.prompt(f"Step {number}", uuid=uuid_of(1)).response(text(f"Yes {number}."), uuid=uuid_of(2))
    session.write(path)


def copied_lines(path: Path, n: int) -> None:
    """A conversation that stands in the file twice."""
    session = SessionBuilder(session_id=path.stem)
    for number in range(n):
        session.prompt(f"Step {number}").response(call("Bash", f"toolu_{number}", command="ls"))
        session.result(f"toolu_{number}")
    session.raw(session.data()).write(path)


def rewritten_lines(path: Path, n: int) -> None:
    """A conversation that stands in the file twice, with other uuids."""
    session = SessionBuilder(session_id=path.stem)
    for _ in range(2):
        for number in range(n):
            session.prompt(f"Step {number}").response(text(f"Yes {number}."), request=f"req_{number}")
    session.write(path)


def one_prompt(path: Path, n: int) -> None:
    """The same prompt again and again, without an answer; then answers of one response."""
    session = SessionBuilder(session_id=path.stem)
    for _ in range(n):
        session.prompt("Go on")
    for _ in range(n):
        session.response(text("Yes."), request="req_1").prompt("Go on")
    session.write(path)


def one_response(path: Path, n: int) -> None:
    """A response of many lines."""
    session = _session(path)
    for number in range(n):
        session.block(text(f"Line {number}"), request="req_1")
    session.write(path)


def compactions(path: Path, n: int) -> None:
    """A conversation that is compacted again and again."""
    session = _session(path)
    for number in range(n):
        session.prompt(f"Step {number}").response(call("Bash", f"toolu_{number}")).compaction()
        session.prompt("This session is being continued from a previous conversation", isCompactSummary=True)
    session.write(path)


def compactions_of_one_parent(path: Path, n: int) -> None:
    """Compactions that continue the same line."""
    session = _session(path).response(text("It runs."))
    for number in range(n):
        session.back_to(None).system("compact_boundary", logicalParentUuid=uuid_of(2)).prompt(f"Step {number}")
    session.write(path)


# --- the queue, titles and other records ------------------------------------------------------------


def _operate(session: SessionBuilder, operation: str, content: str | None = None) -> None:
    told = {} if content is None else {"content": content}
    session.line({"type": "queue-operation", "operation": operation, "timestamp": "2026-01-17T20:31:59.197Z"} | told)


def queued_prompts(path: Path, n: int) -> None:
    """Prompts that wait for ever, and prompts that are typed meanwhile."""
    session = _session(path)
    for number in range(n):
        _operate(session, "enqueue", f"Wait {number}")
    for number in range(n):
        session.prompt(f"Step {number}")
    session.write(path)


def queued_and_taken(path: Path, n: int, *, operation: str = "remove", named: bool = True, order: int = 1) -> None:
    """Prompts that wait, and are taken up later, in their order or the other way round."""
    session = _session(path)
    for number in range(n):
        _operate(session, "enqueue", f"Wait {number}")
    for number in range(n)[::order]:
        _operate(session, operation, f"Wait {number}" if named else None)
    session.response(text("Yes.")).write(path)


def taken_without_answer(path: Path, n: int) -> None:
    """Prompts that are taken up, and as many that say the same, before any response."""
    session = _session(path)
    for number in range(n):
        _operate(session, "enqueue", f"Wait {number}")
        _operate(session, "remove")
    for number in range(n):
        session.prompt(f"Wait {number}")
    session.response(text("Yes.")).write(path)


def taken_with_others(path: Path, n: int) -> None:
    """The same with prompts that say something else."""
    session = _session(path)
    for number in range(n):
        _operate(session, "enqueue", f"Wait {number}")
        _operate(session, "remove")
    for number in range(n):
        session.prompt(f"Step {number}")
    session.response(text("Yes.")).write(path)


def titles(path: Path, n: int) -> None:
    """A session that is renamed again and again."""
    session = _session(path).response(text("It runs."))
    for number in range(n):
        session.line({"type": "custom-title", "customTitle": f"Title {number}", "sessionId": path.stem})
        session.line({"type": "ai-title", "aiTitle": f"Title {number}", "sessionId": path.stem})
        session.line({"type": "summary", "summary": f"Title {number}", "leafUuid": uuid_of(number)})
    session.write(path)


def kinds(path: Path, n: int) -> None:
    """Records, attachments, remarks, blocks and tools of types that nobody knows, each another one."""
    session = _session(path)
    for number in range(n):
        session.line({"type": f"kind-{number}", "uuid": uuid_of(10_000_000 + number)})
        session.attachment(f"kind-{number}", content="x").system(f"kind-{number}", content="x")
        session.response({"type": f"block-{number}", "text": "x"}).response(call(f"Tool{number}", f"toolu_{number}"))
    session.write(path)


def attachments(path: Path, n: int, *, kind: str = "queued_command") -> None:
    """Attachments of one kind."""
    session = _session(path)
    for number in range(n):
        session.attachment(kind, prompt=f"Step {number}", content="x", filename=_FILE, snippet="1→x")
    session.write(path)


def environments(path: Path, n: int) -> None:
    """Directories, git branches, versions, models and session ids that change with every line."""
    session = _session(path)
    for number in range(n):
        session.cwd, session.branch = f"/home/ada/{number}", f"branch-{number}"
        session.prompt(f"Step {number}", version=f"2.{number}.0", slug=f"slug-{number}", permissionMode=f"m{number}")
        session.response(text("Yes."), model=f"claude-{number}", sessionId=f"{number:08}-2222-4333-8444-555555555555")
    session.write(path)


def malformed_lines(path: Path, n: int) -> None:
    """Lines that are no records."""
    session = _session(path)
    for number in range(n):
        session.raw(b'{"type":"user","message":{"content":"cut off %d\n' % number)
    session.write(path)


def glued_records(path: Path, n: int) -> None:
    """All records on one line."""
    session = _session(path)
    for number in range(n):
        session.prompt(f"Step {number}").response(text("Yes."))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line.rstrip(b"\n") for line in session.lines) + b"\n")


def cut_records(path: Path, n: int) -> None:
    """Beginnings of records, all on one line."""
    session = _session(path)
    session.raw(b'{"type":"user","message":{"content":"cut off' * n + b"\n").write(path)


def nul_bytes(path: Path, n: int) -> None:
    """NUL bytes between records, and inside of one."""
    session = _session(path)
    session.raw(b"\0" * n + session.lines[0])
    session.raw(session.lines[0].replace(b"Start", b"St\0art" * n)).write(path)


def bad_bytes(path: Path, n: int) -> None:
    """Bytes that are no UTF-8, and lone surrogates."""
    session = _session(path)
    session.raw(session.lines[0].replace(b"Start", b"\xff\xc3(" * n))
    session.raw(session.lines[0].replace(b"Start", b"\\ud800" * n))
    session.raw(session.lines[0].replace(b"Start", b"\\" * n)).write(path)


def long_numbers(path: Path, n: int) -> None:
    """Numbers of many digits."""
    session = _session(path)
    session.raw(b'{"type":"system","subtype":"turn_duration","durationMs":%s}\n' % (b"9" * n))
    session.raw(session.lines[0].replace(b'"Start the engine"', b"9" * n)).write(path)


# --- blocks ---------------------------------------------------------------------------------------


def blocks(path: Path, n: int, *, kinds: Iterable[str] = ("text",)) -> None:
    """One message of many blocks."""
    made: dict[str, Callable[[int], dict[str, Any]]] = {
        "text": lambda number: text(f"Line {number}"),
        "call": lambda number: call("Bash", f"toolu_{number}", command="ls"),
        "result": lambda number: {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "ok"},
        "image": lambda number: {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}},
    }
    listed = [made[kind](number) for number in range(n) for kind in kinds]
    session = _session(path)
    session._record("assistant", message={"id": "msg_1", "role": "assistant", "content": listed}, requestId="req_1")
    session.prompt(listed)
    session.prompt([{"type": "tool_result", "tool_use_id": "toolu_0", "content": listed}])
    session.write(path)


# --- files ----------------------------------------------------------------------------------------


def _edit(session: SessionBuilder, number: int, old: str, new: str, result: Any = None) -> None:
    session.response(call("Edit", f"toolu_{number}", file_path=_FILE, old_string=old, new_string=new))
    session.result(f"toolu_{number}", "The file has been updated.", toolUseResult=result or {})


def edits_of_one_file(path: Path, n: int) -> None:
    """A small file that is edited again and again."""
    session = _session(path).response(call("Write", "toolu_w", file_path=_FILE, content="step 0\n"))
    session.result("toolu_w", "Written.")
    for number in range(n):
        _edit(session, number, f"step {number}", f"step {number + 1}")
    session.write(path)


def edits_of_a_long_file(path: Path, n: int, *, told: bool = False) -> None:
    """A file of many lines, each of which is edited."""
    content = "".join(f"line {number};\n" for number in range(n))
    session = _session(path).response(call("Write", "toolu_w", file_path=_FILE, content=content))
    session.result("toolu_w", "Written.")
    for number in range(n):
        lines = [f"-line {number};", f"+LINE {number};"]
        hunk = {"oldStart": number + 1, "oldLines": 1, "newStart": number + 1, "newLines": 1, "lines": lines}
        _edit(session, number, f"line {number};", f"LINE {number};", {"structuredPatch": [hunk]} if told else None)
    session.write(path)


def edits_of_a_partly_known_file(path: Path, n: int) -> None:
    """A file of which every other line is known, and that is edited there."""
    session = _session(path)
    for number in range(n):
        session.response(call("Read", f"toolu_r{number}", file_path=_FILE, offset=2 * number + 1, limit=1))
        session.result(f"toolu_r{number}", f"{2 * number + 1}→line {number};")
    for number in range(n):
        _edit(session, number, f"line {number};", f"LINE {number};")
    session.write(path)


def many_edits_at_once(path: Path, n: int) -> None:
    """One call with many edits of a file of many lines."""
    content = "".join(f"line {number};\n" for number in range(n))
    edits = [{"old_string": f"line {number};", "new_string": f"LINE {number};"} for number in range(n)]
    hunks = [
        {"oldStart": number + 1, "newStart": number + 1, "lines": [f"-line {number};", f"+LINE {number};"]}
        for number in range(n)
    ]
    session = _session(path).response(call("Read", "toolu_r", file_path=_FILE, offset=1, limit=n))
    session.result("toolu_r", "\n".join(f"{number + 1}→line {number};" for number in range(n)))
    session.response(call("MultiEdit", "toolu_1", file_path=_FILE, edits=edits))
    session.result("toolu_1", "Updated.", toolUseResult={"structuredPatch": hunks})
    session.response(call("Write", "toolu_w", file_path=_FILE, content=content)).result("toolu_w", "Written.")
    session.response(call("MultiEdit", "toolu_2", file_path=_FILE, edits=edits)).result("toolu_2", "Updated.")
    session.write(path)


def long_edit(path: Path, n: int, *, old: str = "old {}", new: str = "new {}", told: bool = False) -> None:
    """One edit that replaces many lines by as many others."""
    before, after = ("\n".join(words.format(number) for number in range(n)) for words in (old, new))
    session = _session(path).response(call("Read", "toolu_r", file_path=_FILE, offset=1, limit=9))
    session.result("toolu_r", "1→x\n2→y")
    lines = [f"-{line}" for line in before.split("\n")] + [f"+{line}" for line in after.split("\n")]
    patch = {"structuredPatch": [{"oldStart": 3, "newStart": 3, "lines": lines}]} if told else None
    _edit(session, 1, before, after, patch)
    session.response(call("Write", "toolu_w", file_path=_FILE, content=after))
    session.result("toolu_w", "Written.", toolUseResult={"type": "update", "content": after, "originalFile": before})
    session.write(path)


def reads_of_one_file(path: Path, n: int, *, order: int = 1) -> None:
    """A file that is read line by line."""
    session = _session(path)
    for number in range(1, 2 * n, 2)[::order]:
        session.response(call("Read", f"toolu_{number}", file_path=_FILE, offset=number, limit=1))
        session.result(f"toolu_{number}", f"{number}→line {number}")
    session.write(path)


def contradicting_reads(path: Path, n: int) -> None:
    """A file that is another one whenever it is read."""
    session = _session(path)
    for number in range(n):
        session.response(call("Read", f"toolu_{number}", file_path=_FILE)).result(f"toolu_{number}", f"1→{number}")
        _edit(session, 10_000_000 + number, "nowhere", "else")
    session.write(path)


def files(path: Path, n: int, *, name: str = "/home/ada/{}/boiler.py") -> None:
    """Many files that are read, written and edited."""
    session = _session(path)
    for number in range(n):
        session.response(call("Read", f"toolu_{number}", file_path=name.format(number))).result(f"toolu_{number}")
        session.response(call("Write", f"toolu_w{number}", file_path=name.format(number), content="x"))
        session.result(f"toolu_w{number}")
    session.write(path)


def deep_file(path: Path, n: int) -> None:
    """A file in a directory of many levels, in several spellings."""
    session = _session(path)
    for number, name in enumerate(("/a" * n, "a/" * n + "b", "../" * n + "b", "./" * n + "b", "/" * n + "b")):
        session.response(call("Read", f"toolu_{number}", file_path=name)).result(f"toolu_{number}", "1→x")
    session.write(path)


def file_history(path: Path, n: int) -> None:
    """A history that keeps a copy of one file again and again."""
    session = _session(path)
    session.response(call("Read", "toolu_1", file_path=_FILE)).result("toolu_1", "1→x")
    for number in range(n):
        backup = {"backupFileName": f"abc@v{number}", "version": number, "backupTime": "2027-01-17T20:31:59.197Z"}
        session.line(
            {
                "type": "file-history-snapshot",
                "messageId": uuid_of(number),
                "snapshot": {"messageId": uuid_of(number), "trackedFileBackups": {_FILE: backup}},
                "isSnapshotUpdate": False,
            }
        )
    session.write(path)


def todo_lists(path: Path, n: int) -> None:
    """The list of what is to be done, written again and again."""
    session = _session(path)
    for number in range(n):
        todos = [{"content": f"Step {number}", "status": "pending", "activeForm": "Stepping"}]
        session.response(call("TodoWrite", f"toolu_{number}", todos=todos)).result(f"toolu_{number}")
    session.write(path)


def long_todo_list(path: Path, n: int) -> None:
    """One list of many entries."""
    todos = [{"content": f"Step {number}", "status": "pending", "activeForm": "Stepping"} for number in range(n)]
    _session(path).response(call("TodoWrite", "toolu_1", todos=todos)).result("toolu_1").write(path)


def tasks(path: Path, n: int) -> None:
    """Tasks that are made, and changed."""
    session = _session(path)
    for number in range(n):
        session.response(call("TaskCreate", f"toolu_{number}", subject=f"Step {number}", description="x"))
        session.result(f"toolu_{number}", f"Task #{number} created", toolUseResult={"task": {"id": str(number)}})
        session.response(call("TaskUpdate", f"toolu_u{number}", taskId=str(number), status="completed"))
        session.result(f"toolu_u{number}", f"Updated task #{number}")
    session.write(path)


def long_question(path: Path, n: int) -> None:
    """A question with many options, all of which are chosen."""
    options = [{"label": f"Option {number}", "description": "x"} for number in range(n)]
    asked = [{"question": "Which?", "header": "x", "options": options, "multiSelect": True}]
    chosen = ", ".join(f"Option {number}" for number in range(n))
    session = _session(path).response(call("AskUserQuestion", "toolu_1", questions=asked))
    session.result("toolu_1", "Answered.", toolUseResult={"questions": asked, "answers": {"Which?": chosen}})
    session.write(path)


# --- texts ----------------------------------------------------------------------------------------


def text_everywhere(path: Path, n: int, *, piece: str, before: str = "", end: str = "") -> None:
    """One text in every place that a session has for texts."""
    words = before + piece * n + end
    session = _session(path)
    session.prompt(words).response(text(words)).response({"type": "thinking", "thinking": words, "signature": ""})
    session.response(call("Bash", "toolu_1", command=words, description=words)).result("toolu_1", words)
    session.response(call("Task", "toolu_2", description=words, prompt=words, subagent_type="Explore"))
    session.result("toolu_2", [{"type": "text", "text": words}], error=True)
    session.response(call("Write", "toolu_3", file_path=_FILE, content=words)).result("toolu_3", "Written.")
    session.response(call("Read", "toolu_4", file_path=_FILE)).result("toolu_4", words)
    session.response(call("Edit", "toolu_5", file_path=_FILE, old_string=words, new_string=words + "!"))
    session.result("toolu_5", words)
    session.response(call("Grep", "toolu_6", pattern=words, path=words)).result("toolu_6", words)
    session.response(call("Open", "toolu_7")).progress("bash_progress", "toolu_7", fullOutput=words)
    session.response(call("TodoWrite", "toolu_8", todos=[{"content": words, "status": "pending"}]))
    session.response(call("ExitPlanMode", "toolu_9", plan=words)).result("toolu_9", words)
    session.system("local_command", content=words).attachment("queued_command", prompt=words)
    session.prompt(f"<local-command-stdout>{words}").prompt(f"<bash-stdout>{words}").prompt(f"<command-name>{words}")
    session.line({"type": "custom-title", "customTitle": words, "sessionId": path.stem})
    _operate(session, "enqueue", words)
    _operate(session, "remove", words)
    session.write(path)


_TAGS: Final = (
    *("system-reminder", "ide_opened_file", "ide_selection", "user-prompt-submit-hook", "new-diagnostics"),
    *("post-tool-use-hook", "local-command-stdout", "local-command-stderr", "local-command-caveat", "command-name"),
    *("command-message", "command-args", "bash-input", "bash-stdout", "bash-stderr", "task-notification", "summary"),
    *("status", "tool_use_error", "persisted-output", "teammate-message", "agent-message"),
)

TEXTS: Final[dict[str, dict[str, Any]]] = {
    **{f"<{tag}>": {"piece": f"<{tag}>"} for tag in _TAGS},
    **{f"</{tag}>": {"piece": f"</{tag}>", "before": f"<{tag}>"} for tag in ("system-reminder", "persisted-output")},
    "all tags": {"piece": "".join(f"<{tag}>" for tag in _TAGS)},
    "persisted paths": {"piece": "saved to: /x\n", "before": "<persisted-output>"},
    "persisted outputs": {"piece": "<persisted-output>\nFull output saved to: /x/tool-results/b.txt\n"},
    "persisted blanks": {"piece": " ", "before": "<persisted-output>saved to: x", "end": "x"},
    "persisted without a path": {"piece": "<persisted-output> saved to: "},
    "lines": {"piece": "a line\n"},
    "blank lines": {"piece": "\n"},
    "one word": {"piece": "x"},
    "words": {"piece": "x "},
    "spaces": {"piece": " ", "end": "x"},
    "spaces on lines": {"piece": " \n", "end": "x"},
    "tabs": {"piece": "\t"},
    "tabs between": {"piece": "x\t"},
    "wide signs": {"piece": "漢"},
    "combining signs": {"piece": "\u0301"},
    "joined signs": {"piece": "👩\u200d"},
    "zero width": {"piece": "\u200b"},
    "carriage returns": {"piece": "\r"},
    "overwritten lines": {"piece": "x\r"},
    "line ends of two": {"piece": "\r\n"},
    "line separators": {"piece": "\u2028"},
    "NUL": {"piece": "\0"},
    "digits": {"piece": "1"},
    "quotes": {"piece": '"'},
    "curly quotes": {"piece": "“"},
    "backslashes": {"piece": "\\"},
    "slashes": {"piece": "/"},
    "escape": {"piece": "\x1b"},
    "CSI": {"piece": "\x1b["},
    "CSI parameters": {"piece": "1;", "before": "\x1b["},
    "CSI intermediates": {"piece": "\x1b[1 "},
    "one CSI": {"piece": "\x9b0"},
    "OSC": {"piece": "\x1b]"},
    "OSC text": {"piece": "\x1b]0;x"},
    "DCS": {"piece": "\x1bP"},
    "APC": {"piece": "\x1b_x"},
    "escape intermediates": {"piece": "\x1b "},
    "escape spaces": {"piece": " ", "before": "\x1b"},
    "colours": {"piece": "\x1b[31mx\x1b[0m"},
    "backticks": {"piece": "`"},
    "backticks between": {"piece": "`x"},
    "fences": {"piece": "```\n"},
    "fences with words": {"piece": "``` x\n"},
    "tildes": {"piece": "~~~\n", "before": "```\n"},
    "fences in a list": {"piece": "- ```\n"},
    "deep fences": {"piece": " ", "end": "```"},
    "brackets": {"piece": "[", "before": "```\n"},
    "brackets closed": {"piece": "[]", "before": "<!--"},
    "open brackets": {"piece": "[a](", "before": "<!--\n\n"},
    "pictures": {"piece": "![", "before": "<pre>x</pre>\n\n"},
    "asterisks": {"piece": "*", "before": "<pre>x</pre>\n\n"},
    "asterisks between": {"piece": "*a ", "before": "<pre>x</pre>\n\n"},
    "emphasis": {"piece": "*a**a", "before": "<pre>x</pre>\n\n"},
    "underscores": {"piece": "_a", "before": "<pre>x</pre>\n\n"},
    "pipes": {"piece": "|", "before": "<pre>x</pre>\n\n|a|\n|-|\n"},
    "table rows": {"piece": "|a|b|\n", "before": "|a|b|\n|-|-|\n"},
    "table columns": {"piece": "|a", "end": "\n"},
    "quotes in quotes": {"piece": ">", "before": "<pre>x</pre>\n\n"},
    "lists in lists": {"piece": "- ", "before": "<pre>x</pre>\n\n"},
    "lists": {"piece": "- x\n"},
    "numbers of a list": {"piece": "1. x\n", "before": "<pre>x</pre>\n\n"},
    "headings": {"piece": "# x\n"},
    "underlines": {"piece": "-\n", "before": "x\n"},
    "underlined": {"piece": "=", "before": "x\n", "end": "x"},
    "less than": {"piece": "<"},
    "less than on lines": {"piece": "<\n"},
    "html": {"piece": "<div>\n"},
    "comments": {"piece": "<!--"},
    "comments on lines": {"piece": "<!--\n"},
    "instructions": {"piece": "<?"},
    "declarations": {"piece": "<!A"},
    "data": {"piece": "<![CDATA["},
    "scripts": {"piece": "<script>\n"},
    "html attributes": {"piece": "a=b ", "before": "<pre>x</pre>\n\n<a "},
    "ampersands": {"piece": "&"},
    "entities": {"piece": "&#1;"},
    "references": {"piece": "[a]: /x\n", "before": "<pre>x</pre>\n\n"},
    "open references": {"piece": "[a", "before": "<pre>x</pre>\n\n", "end": "]: /x"},
    "links": {"piece": "http://a.b/ "},
    "at signs": {"piece": "@a"},
    "agent ids": {"piece": "agentId: "},
    "agent id blanks": {"piece": " ", "before": "agentId:", "end": "-"},
    "numbered lines": {"piece": "    1→x\n"},
    "numbers": {"piece": "#1 "},
    "slash command": {"piece": " ", "before": "/x"},
    "unknown skills": {"piece": "Unknown skill: x Did you mean "},
}

_KINDS: Final = ("queued_command", "file", "edited_text_file", "hook_success", "diagnostics", "todo_reminder")

SHAPES: Final[dict[str, Shape]] = {
    "open calls": open_calls,
    "open calls of different tools": partial(open_calls, name="Tool{}"),
    "open calls of one response": one_open_turn,
    "open calls of sub-agents": partial(open_calls, name="Task"),
    "open questions": partial(open_calls, name="AskUserQuestion"),
    "open calls with one id": partial(open_calls, id="toolu_1"),
    "open calls without an id": partial(open_calls, id=""),
    "answered calls": answered_calls,
    "late results": late_results,
    "open calls beside answered ones": open_beside_answered,
    "results without calls": results_alone,
    "results without calls, of one id": partial(results_alone, id="toolu_1"),
    "results without calls, without an id": partial(results_alone, id=""),
    "results before calls": results_first,
    "results before calls, reversed": partial(results_first, order=-1),
    "results before calls of sub-agents": partial(results_first, tool="Task"),
    "results before each call": results_first_of_each,
    "results of one call": results_of_one_call,
    "calls of one id": calls_of_one_id,
    "calls without an id": calls_without_id,
    "calls without an id, of different tools": partial(calls_without_id, name="Tool{}"),
    "calls and results without any name": partial(calls_without_id, name="Tool{}", named=False),
    "calls of one source": calls_of_one_source,
    "calls of one source, with ids": partial(calls_of_one_source, id="toolu_{}"),
    "parallel calls": parallel_calls,
    "answered parallel calls": answered_parallel_calls,
    "progress of one call": progress_of_one_call,
    "progress of open calls": progress_of_open_calls,
    "progress of sub-agents": progress_of_agents,
    "sub-agents": subagents,
    "sub-agents without names": partial(subagents, named=False),
    "sub-agents with one task": partial(subagents, named=False, task="Look"),
    "sub-agents in sub-agents": nested_subagents,
    "sub-agents that nobody called": uncalled_subagents,
    "sub-agents in the file": inline_subagents,
    "sub-agents in the file, with one task": partial(inline_subagents, task="Look"),
    "sub-agents in the file at once": inline_subagents_at_once,
    "agents of a workflow": workflow_agents,
    "forks at one point": forks_at_one_point,
    "forks in a comb": forks_in_a_comb,
    "forks left behind": forks_left_behind,
    "forks by turns": forks_by_turns,
    "forks far below": forks_far_below,
    "a long way up": long_way_up,
    "prompts at the end of a chain": prompts_at_the_end_of_a_chain,
    "parents reversed": parents_reversed,
    "plain parents reversed": plain_parents_reversed,
    "parents in circles": parents_in_circles,
    "parents in one circle": parents_in_one_circle,
    "missing parents": parents_missing,
    "one missing parent": one_missing_parent,
    "no parents": no_parents,
    "one uuid": one_uuid,
    "copies": copied_lines,
    "copies with other uuids": rewritten_lines,
    "one prompt": one_prompt,
    "one response": one_response,
    "compactions": compactions,
    "compactions of one parent": compactions_of_one_parent,
    "queued prompts": queued_prompts,
    "queued prompts that are taken": queued_and_taken,
    "queued prompts that are taken, reversed": partial(queued_and_taken, order=-1),
    "queued prompts that are taken without a name": partial(queued_and_taken, named=False),
    "queued prompts that leave": partial(queued_and_taken, operation="dequeue", order=-1),
    "queued prompts that are said again": taken_without_answer,
    "queued prompts beside others": taken_with_others,
    "titles": titles,
    "unknown kinds": kinds,
    **{f"attachments {kind}": partial(attachments, kind=kind) for kind in _KINDS},
    "environments": environments,
    "malformed lines": malformed_lines,
    "glued records": glued_records,
    "cut records": cut_records,
    "NUL bytes": nul_bytes,
    "bad bytes": bad_bytes,
    "long numbers": long_numbers,
    "blocks of text": blocks,
    "blocks of calls": partial(blocks, kinds=("call",)),
    "blocks of results": partial(blocks, kinds=("result",)),
    "blocks of pictures": partial(blocks, kinds=("image",)),
    "blocks of all kinds": partial(blocks, kinds=("call", "text", "result", "image")),
    "edits of one file": edits_of_one_file,
    "edits of a long file": edits_of_a_long_file,
    "edits of a long file with hunks": partial(edits_of_a_long_file, told=True),
    "edits of a partly known file": edits_of_a_partly_known_file,
    "many edits at once": many_edits_at_once,
    "a long edit": long_edit,
    "a long edit with hunks": partial(long_edit, told=True),
    "a long edit of like lines": partial(long_edit, old="same", new="same\n{}"),
    "a long edit of two lines": partial(long_edit, old="a\nb", new="b\na"),
    "reads of one file": reads_of_one_file,
    "reads of one file, reversed": partial(reads_of_one_file, order=-1),
    "contradicting reads": contradicting_reads,
    "files": files,
    "files of one directory": partial(files, name="/home/ada/engine/{}.py"),
    "a deep file": deep_file,
    "file history": file_history,
    "todo lists": todo_lists,
    "a long todo list": long_todo_list,
    "tasks": tasks,
    "a long question": long_question,
    **{f"text: {name}": partial(text_everywhere, **pieces) for name, pieces in TEXTS.items()},
}
