"""Every fact about a session, by every command that states it; they have to be equal.

`collect` runs the commands in this process, as the command line does, and gives a table: fact → {command: value}.
`disagreements` names the facts about which the commands differ. For one file or one session of a store:

    python -m tests.agreement FILE
    python -m tests.agreement ID --root DIR
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from claude_session_player.cli import run
from claude_session_player.cli._options import StoreOptions
from claude_session_player.cli._refs import find_source
from claude_session_player.cli.play import open_recording
from claude_session_player.formatter import PROMPT
from claude_session_player.live.running import SessionPeek
from claude_session_player.models import ScreenElement, ToolCall, UserMessage, View
from claude_session_player.player.chapters import list_chapters
from claude_session_player.player.follow import FileChange, FollowedGroup
from claude_session_player.player.playback import Playback
from claude_session_player.player.recording import recording_of_file
from claude_session_player.player.stream import Timing
from claude_session_player.store.layout import SessionFile, session_file_at
from claude_session_player.store.store import Store
from claude_session_player.util.text import truncate
from tests.reference_session import ReferenceSession, read_session

Record = dict[str, Any]

DEFINITIONS: Final[dict[str, str]] = {
    "session": "Whether it is a session at all: whether the command answers, or says that it is none.",
    "conversation": "Whether anything can be told or shown. A file of a store without a record that is known is listed "
    "and measured, but there is nothing to tell: there, it is a fact apart from the one above.",
    "title": "The best name of the session. A window without one shows the id, or nothing: both count as none here.",
    "project": "The real path of the project.",
    "events": "Records of the session's own file, one for each block; copies and sidechains are events, too.",
    "malformed": "Lines of the own file that could not be read.",
    "started": "The first time in the own file.",
    "ended": "The last time in the own file; only summary states it.",
    "last active": "The last time of the session and its sub-agents, helpers (warm-up, compaction) left out.",
    "duration": "From the first to the last time of the own file: what sub-agents did later is no part of it.",
    "played duration": "The same in milliseconds, and what the player counts until the last line; it never goes back.",
    "models": "The models of the own conversation, the last used first.",
    "git branch": "The last one of the own file; summary names all, the last one last.",
    "version": "The last one of the own file; summary names all, in the order of their first appearance.",
    "prompts": "How many prompts a person typed, copies once, all branches, also before compactions. In a sub-agent "
    "nobody types: what its caller wrote stands in their place, and show calls it a task.",
    "prompt lines": "The lines on which they stand; of a queued prompt, the line that took it up.",
    "first prompt": "The text of the first; cut after 2000 characters. Pictures and documents are told apart.",
    "last prompt": "The text of the last, likewise.",
    "prompts on the screen": "Lines of user messages with --history. The screen of seed 002 shows every line as it "
    "came: copies again, messages of other agents, empty prompts, and no queued ones.",
    "prompts of the player": "The same and the queued ones: nothing that a person typed is lost in play and follow.",
    "prompts in plain text": "How many lines begin with the mark of a prompt, with --plain --history.",
    "tool calls": "By the name of the tool, each call id once, those of sub-agents left out. get and the screen tell "
    "a call again for each copy of its line, so that their ids are counted once.",
    "errors": "Results that are errors, once for each call, and requests that failed; those of sub-agents left out.",
    "failed calls": "Call ids with a result that is an error; the screen knows those whose call or result it shows.",
    "sub-agents": "The ids of all sub-agents, at any depth, with a file or without.",
    "sub-agent count": "Their number.",
    "linked sub-agents": "How many sub-agents each call led to, by the call's id; those of workflows left out.",
    "unlinked sub-agents": "The ids of those of whom no call is known. Helpers and those of workflows have none.",
    "unlinked sub-agent files": "Of these, those that have a file of their own: verify looks at files.",
    "forks": "How often the conversation went back to an earlier place and took another way.",
    "compactions": "How often the conversation was compacted.",
    "tokens": "Of the session and all its sub-agents, each response once.",
    "own tokens": "Of the own file alone: what list and get state.",
    "cost": "Of the session and all its sub-agents in US dollars; none where no model has a price.",
    "files": "Files that the session itself touched, in any way; only files states it.",
    "files read": "Files that the session itself read; a call that failed did not.",
    "files changed": "Files that the session itself wrote or edited, likewise.",
    "in use": "Whether somebody writes to it, or may.",
}
"""What each fact means, wherever it is stated. What one command defines otherwise is a fact of its own here."""

_VIEW: Final = View(history=True).with_queue()
_NO_PROMPTS: Final = ("(Empty)", "(No content)")


def csp(*arguments: str) -> tuple[int, str, str]:
    """The exit code of a command, its stdout and its stderr; it runs in this process."""
    output, talk = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(talk):
        code = run(list(arguments))
    return code, output.getvalue(), talk.getvalue()


@dataclass
class Table:
    """Facts, and what each command says about them."""

    facts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, fact: str, command: str, value: Any) -> None:
        """What a command says."""
        assert fact in DEFINITIONS, fact
        self.facts.setdefault(fact, {})[command] = value

    def disagreements(self) -> dict[str, dict[str, Any]]:
        """The facts about which commands differ."""
        return {fact: told for fact, told in self.facts.items() if not _agree(list(told.values()))}


def _agree(values: list[Any]) -> bool:
    return all(value == values[0] for value in values)


_QUESTIONS: Final[dict[str, tuple[str, ...]]] = {
    "get": ("get", "--jsonl"),
    "summary": ("summary", "--json"),
    "stats": ("stats", "--json"),
    "tree": ("tree", "--prompts", "--json"),
    "show": ("show", "--format", "jsonl"),
    "heading": ("show", "--summary", "--only", "prompts"),
    "prompts": ("prompts", "--reverse", "--jsonl"),
    "files": ("files", "--main", "--jsonl"),
    "verify": ("verify", "--severity", "advice", "--jsonl"),
    "replay": ("replay", "--history", "--format", "jsonl"),
    "plain": ("play", "--plain", "--idle", "0", "--history"),
}
_FINDINGS: Final = 1
"""The exit code of a `verify` that found something."""


def collect(ref: str, root: Path | str | None = None, listed: Record | None = None) -> Table:
    """Every fact about a session, by every command; `listed` is its record in the output of `list`."""
    table = Table()
    roots = () if root is None else (str(root),)
    where = tuple(word for one in roots for word in ("--root", one))
    answers: dict[str, str] = {}
    for name, (command, *options) in _QUESTIONS.items():
        code, answers[name], _ = csp(command, ref, *options, *where)
        is_answer = code == 0 or (command == "verify" and code == _FINDINGS)
        if command not in ("verify", "prompts"):  # the one looks at any file, the other has nothing to say of many
            table.add("session", f"{name}", is_answer)
    if listed is not None:
        table.add("session", "list", True)
    _set_empty_apart(table, answers)
    if not all(table.facts["session"].values()) or "conversation" in table.facts:
        return table
    head, *events = _lines(answers["get"])
    if listed is not None:
        _from_record(table, "list", listed)
    _from_record(table, "get", head)
    is_agent = head["kind"] == "subagent" or not any(e["type"] in _SAID and not e.get("sidechain") for e in events)
    _from_events(table, head, events, is_agent)
    _from_summary(table, json.loads(answers["summary"]))
    _from_stats(table, head, json.loads(answers["stats"]))
    _from_tree(table, json.loads(answers["tree"]))
    _from_show(table, _lines(answers["show"]), is_agent)
    _from_heading(table, answers["heading"])
    if not is_agent:
        _from_prompts(table, _lines(answers["prompts"]))
    _from_files(table, _lines(answers["files"]))
    _from_verify(table, head, _lines(answers["verify"]))
    _from_replay(table, answers)
    _from_player(table, ref, roots, head, is_agent)
    _from_follow(table, session_file_at(head["path"]), roots)
    _from_naive(table, read_session(Path(head["path"]), is_agent, _paths(head), _helpers(head)))
    return table


_TELLING: Final = frozenset(("show", "heading", "replay", "plain"))


def _set_empty_apart(table: Table, answers: Mapping[str, str]) -> None:
    """Of a file without a record that is known, ask apart whether it is listed and whether it can be told."""
    told = table.facts["session"]
    if told["get"] and all(event["type"] in ("malformed", "unknown") for event in _lines(answers["get"])[1:]):
        for command in _TELLING & told.keys():
            table.add("conversation", command, told.pop(command))


_SAID: Final = ("user", "assistant", "tool_use", "tool_result", "thinking")


def _lines(output: str) -> list[Record]:
    return [json.loads(line) for line in output.splitlines()]


def listing(root: Path | str) -> list[Record]:
    """What `list` says about every session of a store, sub-agents included."""
    code, output, talk = csp("list", "--include-subagents", "--json", "--root", str(root))
    assert code == 0, talk
    found: list[Record] = json.loads(output)
    return found


# --- list, get, summary, stats --------------------------------------------------------------------------


def _from_record(table: Table, command: str, record: Record) -> None:
    table.add("title", command, record["title"])
    table.add("project", command, record["project"])
    table.add("events", command, record["event_count"])
    table.add("malformed", command, record["malformed"])
    table.add("started", command, record["created_at"])
    table.add("last active", command, record["updated_at"])
    table.add("duration", command, record["duration_seconds"])
    table.add("models", command, record["models"])
    table.add("git branch", command, record["git_branch"])
    table.add("version", command, record["version"])
    table.add("first prompt", command, _without_pictures(record["first_user_message"]))
    table.add("last prompt", command, _without_pictures(record["last_user_message"]))
    table.add("own tokens", command, record["usage"])
    table.add("in use", command, record["in_use"])
    table.add("sub-agent count", command, record["subagent_count"])


def _from_events(table: Table, head: Record, events: list[Record], is_agent: bool) -> None:
    own = [event for event in events if is_agent or not event.get("sidechain")]
    calls = {event["tool_use_id"] or number: event for number, event in enumerate(own) if event["type"] == "tool_use"}
    table.add("events", "get (events)", len(events))
    table.add("malformed", "get (events)", sum(event["type"] == "malformed" for event in events))
    table.add("tool calls", "get (events)", _counted(event["name"] or "unnamed" for event in calls.values()))
    failed = {event["tool_use_id"] for event in own if event["type"] == "tool_result" and event["is_error"]}
    table.add("failed calls", "get (events)", sorted(filter(None, failed)))
    ids = sorted(_ids(head["subagents"]))
    table.add("sub-agents", "get", ids)
    table.add("sub-agent count", "get (sub-agents)", len(ids))


def _from_summary(table: Table, record: Record) -> None:
    for fact in ("title", "project", "events", "forks", "compactions", "errors"):
        table.add(fact, "summary", record[fact])
    table.add("started", "summary", record["started_at"])
    table.add("ended", "summary", record["ended_at"])
    table.add("duration", "summary", record["duration_seconds"])
    table.add("played duration", "summary", round(record["duration_seconds"] * 1000))
    table.add("models", "summary", record["models"])
    table.add("git branch", "summary", (record["git_branches"] or [None])[-1])
    table.add("prompts", "summary", record["user_messages"])
    table.add("tool calls", "summary", dict(sorted(record["tool_calls"].items())))
    table.add("sub-agent count", "summary", sum(record["subagents"].values()))
    table.add("files read", "summary", record["files_read"])
    table.add("files changed", "summary", record["files_changed"])
    table.add("tokens", "summary", record["tokens"])
    table.add("cost", "summary", record["cost"])


def _from_stats(table: Table, head: Record, record: Record) -> None:
    tokens = {key: value for key, value in record["totals"]["tokens"].items() if key != "total"}
    table.add("tokens", "stats", tokens)
    table.add("cost", "stats", record["totals"]["cost_usd"])
    for group in record["by_session"]:  # none where nothing was answered
        if group["session"] == head["id"]:
            table.add("title", "stats", group["title"])
            table.add("project", "stats", group["project"])


# --- tree, show, files, verify --------------------------------------------------------------------------


def _from_tree(table: Table, root: Record) -> None:
    nodes = list(_walk(root))
    for fact in ("title", "project", "events"):
        table.add(fact, "tree", root[fact])
    lines = sorted(node["line"] for node in nodes if node["kind"] == "prompt")
    told = sum(node["prompts"] for node in nodes if node["kind"] in ("segment", "branch"))
    table.add("prompts", "tree", len(lines))
    table.add("prompts", "tree (counts)", told)
    table.add("prompt lines", "tree", lines)
    agents = [node for node in nodes if node["kind"] == "agent"]
    table.add("sub-agents", "tree", sorted(node["id"] for node in agents))
    table.add("sub-agent count", "tree", len(agents))
    table.add("forks", "tree", root["branches"] - 1)  # one node may stand for several, where all lead back to it
    table.add("compactions", "tree", sum(node["kind"] == "compaction" for node in nodes))
    unlinked = (node for node in agents if not node["linked"] and not is_helper(node["id"], node["title"]))
    table.add("unlinked sub-agents", "tree", sorted(node["id"] for node in unlinked))


def _from_show(table: Table, entries: list[Record], is_agent: bool) -> None:
    own = [entry for entry in entries if entry["depth"] == 0]
    kinds = ("prompt", "task") if is_agent else ("prompt",)
    prompts = [entry for entry in own if entry["kind"] in kinds and entry["text"] not in _NO_PROMPTS]
    table.add("prompts", "show", len(prompts))
    table.add("prompt lines", "show", sorted(entry["line"] for entry in prompts))
    texts = [_without_pictures(truncate(entry["text"], 2000)) for entry in prompts]
    table.add("first prompt", "show", texts[0] if texts else None)
    table.add("last prompt", "show", texts[-1] if texts else None)
    calls = [entry for entry in own if entry["kind"] == "call"]
    table.add("tool calls", "show", _counted(entry["tool"] or "unnamed" for entry in calls))
    failed = [entry for entry in own if (entry.get("result") or {}).get("is_error")]
    ids = {entry["tool_use_id"] for entry in failed if entry["tool_use_id"]}
    requests = sum(entry["kind"] == "error" for entry in own)
    table.add("failed calls", "show", sorted(ids))
    table.add("errors", "show", len(ids) + sum(not entry["tool_use_id"] for entry in failed) + requests)
    table.add("forks", "show", sum(entry["kind"] == "fork" for entry in own))
    table.add("compactions", "show", sum(entry["kind"] == "compaction" for entry in own))
    called = {entry["tool_use_id"]: entry["agents"] for entry in entries if entry.get("agents")}
    heads = [entry for entry in entries if entry["kind"] == "agent"]
    linked = {id for agents in called.values() for id in agents}
    everyone = {*linked, *(entry["id"] for entry in heads), *(e["agent"] for e in entries if e["agent"])}
    table.add("sub-agents", "show", sorted(everyone))
    table.add("sub-agent count", "show", len(everyone))
    loose = [entry for entry in heads if entry["id"] not in linked and not entry["workflow"]]
    names = (entry["id"] for entry in loose if not is_helper(entry["id"], entry["title"]))
    table.add("unlinked sub-agents", "show", sorted(names))
    workflows = {entry["id"] for entry in heads if entry["workflow"]}
    by_call = {call: len(set(agents) - workflows) for call, agents in called.items() if call}
    table.add("linked sub-agents", "show", {call: number for call, number in sorted(by_call.items()) if number})


def _from_prompts(table: Table, prompts: list[Record]) -> None:
    table.add("prompts", "prompts", len(prompts))
    table.add("prompt lines", "prompts", sorted(prompt["line"] for prompt in prompts))
    texts = [_without_pictures(truncate(prompt["text"], 2000)) for prompt in prompts]
    table.add("first prompt", "prompts", texts[0] if texts else None)
    table.add("last prompt", "prompts", texts[-1] if texts else None)


def _from_heading(table: Table, text: str) -> None:
    """The lines above a conversation; a person reads them, so only the title is looked for."""
    found = [line for line in text.partition("\n---\n")[0].splitlines() if line.startswith("- Title: ")]
    title = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", found[0].removeprefix("- Title: ")) if found else None
    table.add("title", "show", title)


def _from_files(table: Table, files: list[Record]) -> None:
    table.add("files", "files", len(files))
    table.add("files read", "files", sum(file["reads"] > 0 for file in files))
    table.add("files changed", "files", sum(file["writes"] + file["edits"] > 0 for file in files))


def _from_verify(table: Table, head: Record, findings: list[Record]) -> None:
    below = {agent["path"]: agent["id"] for agent in _flat(head["subagents"])}
    unlinked = (finding for finding in findings if finding["kind"] == "unlinked-subagent")
    ids = sorted(below[finding["path"]] for finding in unlinked if finding["path"] in below)
    table.add("unlinked sub-agent files", "verify", ids)
    files = {agent["id"] for agent in _flat(head["subagents"]) if agent["path"] != head["path"]}
    for command, loose in table.facts["unlinked sub-agents"].items():
        table.add("unlinked sub-agent files", command, sorted(files.intersection(loose)))
    table.add("in use", "verify", any(finding["kind"] == "in-use" for finding in findings))


# --- replay, play, follow -------------------------------------------------------------------------------


def _from_replay(table: Table, answers: Mapping[str, str]) -> None:
    elements = _lines(answers["replay"])
    prompts = [element["line"] for element in elements if element["kind"] == "user_message"]
    table.add("prompts on the screen", "replay", prompts)
    _from_calls(table, "replay", [element for element in elements if element["kind"] == "tool_call"])
    table.add("prompts in plain text", "play", _marks(answers["plain"]))


def _from_player(table: Table, ref: str, roots: tuple[str, ...], head: Record, is_agent: bool) -> None:
    stores = StoreOptions(roots)
    with open_recording(find_source(ref, stores), stores) as recording:
        projection = Playback(recording, _VIEW, lambda: 0.0, Timing())
        projection.finish()
        table.add("played duration", "play", _played_duration(projection))
        _from_chapters(table, "chapters", projection)
        _from_film(table, "play", projection)
        described = recording.describe()
        title = described[0] if described else recording.title
        table.add("title", "play", None if title == head["id"] else title)
        linked = {call: len(agents) for call, agents in sorted(recording.find_subagents().items())}
        table.add("linked sub-agents", "play", linked)


def _played_duration(projection: Playback) -> int | str:
    """The session's own time in milliseconds as the status line counts it, frame by frame."""
    before = 0.0
    for frame in range(projection.player.count):
        projection.player.seek(frame)
        so_far, total = projection.lasted
        if not before <= so_far <= total:
            return f"{before} s, {so_far} s of {total} s"
        before = so_far
    return round(projection.lasted.total * 1000)


def _from_follow(table: Table, found: SessionFile, roots: tuple[str, ...]) -> None:
    company = FollowedGroup(found, _VIEW)
    text = "\n".join(piece.text for piece in company.initial_text())
    company.close()
    table.add("prompts in plain text", "follow", _marks(text))
    recording = recording_of_file(found, partial(Store.open, *roots, required=False))
    projection = Playback(recording, _VIEW, lambda: 0.0, Timing(), is_followed=True)
    while projection.read_more() is FileChange.GREW:
        pass
    _from_film(table, "follow", projection)
    glimpse = SessionPeek(found, Store.open(*roots, required=False).session_of)
    glimpse.catch_up()
    table.add("title", "follow --all", glimpse.title or None)


def _from_film(table: Table, command: str, projection: Playback) -> None:
    film = projection.frame_index
    _from_elements(table, command, film.screen(len(film.frames) - 1).elements)
    projection.close()


def _from_chapters(table: Table, command: str, projection: Playback) -> None:
    """The prompts of the chapters: those that the player shows, without copies and messages of other agents."""
    chapters = [chapter for chapter in list_chapters(projection.frame_index) if chapter.prompt]
    table.add("prompts", command, len(chapters))
    table.add("prompt lines", command, [chapter.line for chapter in chapters])


def _from_elements(table: Table, command: str, elements: Iterable[ScreenElement]) -> None:
    kept = list(elements)
    table.add("prompts of the player", command, [one.line for one in kept if isinstance(one, UserMessage)])
    calls = [{name: getattr(one, name) for name in _CALL_FIELDS} for one in kept if isinstance(one, ToolCall)]
    _from_calls(table, command, calls)


_CALL_FIELDS: Final = ("id", "tool_name", "is_error", "input")


def _from_calls(table: Table, command: str, calls: list[Record]) -> None:
    """The calls of a screen. A block that nobody knows looks like a call there."""
    own = [call for call in calls if not _is_block(call)]
    once = {call["id"] or number: call["tool_name"] or "unnamed" for number, call in enumerate(own)}
    table.add("tool calls", command, _counted(once.values()))


def _is_block(call: Record) -> bool:
    body = call["input"]
    is_unknown = isinstance(body, dict) and body.get("type") == call["tool_name"]
    return is_unknown or (call["id"] is None and str(call["tool_name"]).endswith("tool_result"))


# --- a plain reading of FORMAT.md -----------------------------------------------------------------------


def _from_naive(table: Table, session: ReferenceSession) -> None:
    command = "FORMAT.md"
    if not session.is_certain:
        return
    table.add("prompts", command, len(session.prompts))
    table.add("prompt lines", command, sorted(session.prompts))
    texts = [_without_pictures(truncate(text, 2000)) for text in session.prompts.values()]
    table.add("first prompt", command, texts[0] if texts else None)
    table.add("last prompt", command, texts[-1] if texts else None)
    table.add("prompts on the screen", command, session.screen_prompts)
    table.add("prompts of the player", command, sorted(session.screen_prompts + session.queued))
    table.add("tool calls", command, _counted(session.calls.values()))
    table.add("failed calls", command, sorted(id for id in session.failed if isinstance(id, str) and id))
    table.add("errors", command, len(session.failed) + session.failed_requests)
    table.add("compactions", command, session.compactions)
    table.add("tokens", command, session.tokens._asdict())
    table.add("own tokens", command, session.own_usage)
    table.add("started", command, session.started)
    table.add("ended", command, session.ended)
    table.add("duration", command, session.duration)
    if session.last_active is not None:  # without any time it is that of the file
        table.add("last active", command, session.last_active)
    if session.title is not None:
        table.add("title", command, session.title)
    if session.agents is not None:
        table.add("sub-agents", command, sorted(session.agents))
        table.add("unlinked sub-agents", command, sorted(session.unlinked))
        table.add("linked sub-agents", command, _counted(session.links.values()))


# --- helpers --------------------------------------------------------------------------------------------


def is_helper(id: str, task: str | None) -> bool:
    """True for a sub-agent that Claude Code starts for itself: `acompact-…`, `aside_question-…`, a warm-up."""
    return re.match("a[^-]+-", id) is not None or task == "Warmup"


def _helpers(head: Record) -> set[str]:
    agents = _flat(head["subagents"])
    return {agent["path"] for agent in agents if is_helper(agent["id"], agent["first_user_message"])}


def _paths(head: Record) -> list[Path]:
    return [Path(path) for path in dict.fromkeys([head["path"], *(a["path"] for a in _flat(head["subagents"]))])]


def _flat(agents: Iterable[Record]) -> Iterator[Record]:
    for agent in agents:
        yield agent
        yield from _flat(agent["subagents"])


def _ids(agents: Iterable[Record]) -> Iterator[str]:
    return (agent["id"] for agent in _flat(agents))


def _walk(node: Record) -> Iterator[Record]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node["children"]


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _marks(text: str) -> int:
    """How many lines begin as a prompt does."""
    return sum(line.startswith(PROMPT) for line in text.splitlines())


def _without_pictures(text: str | None) -> str | None:
    """A prompt without what stands for its pictures: show tells those apart."""
    if text is None:
        return None
    return "\n".join(line for line in text.splitlines() if line not in ("[image]", "[document]")).strip()


def main() -> None:
    """Print the facts about which the commands differ, for one session."""
    ref, *rest = sys.argv[1:]
    root = rest[1] if rest[:1] == ["--root"] else None
    listed = next((one for one in listing(root) if one["id"] == ref), None) if root else None
    found = collect(ref, root, listed).disagreements()
    for fact, told in found.items():
        print(f"{fact}: {DEFINITIONS[fact]}")
        for command, value in told.items():
            print(f"    {command}: {value!r}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
