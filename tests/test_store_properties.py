"""Any tree of files: nothing raises, every session file is listed or named, and the index changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st

from claude_session_player import Filter, read_events
from claude_session_player.flat_events import count_flat_events
from claude_session_player.format.blocks import ToolResult, ToolUse
from claude_session_player.format.events import CONVERSATION, Assistant, Event, Progress, Title, User
from claude_session_player.linking.agent_records import has_prompt, named_agents, reported_events
from claude_session_player.linking.copies import drop_copies
from claude_session_player.linking.prompts import human_prompt, with_queued_prompts
from claude_session_player.linking.subagents import BY_PROGRESS, Naming, strongest_namings
from claude_session_player.linking.titles import PROMPT_LENGTH
from claude_session_player.store import extract
from claude_session_player.store.facts import (
    LINE_KEY,
    ExtractJob,
    FileFacts,
    Response,
    decode_responses,
    encode_responses,
)
from claude_session_player.store.layout import FileStamp, SessionFile
from claude_session_player.tools import AGENTS
from claude_session_player.util.text import truncate
from tests import corpus
from tests.stores import StoreBuilder
from tests.test_properties import records

EVERYTHING = Filter(include_subagents=True)

lines = st.lists(records.map(lambda record: json.dumps(record).encode() + b"\n"), max_size=6)
damaged = st.lists(
    records.map(lambda record: json.dumps(record).encode() + b"\n") | st.binary(max_size=30) | st.just(b"\n"),
    max_size=6,
)
parts = st.sampled_from(
    ["projects", "-home-ada", "subagents", "workflows", "wf_1", "transcripts", "1f2e3d4c", "agent-a1", "tool-results"]
    + ["pre-compact-session-histories", "todos", ".hidden", "x y", "é", "caf\udce9"]
)
names = st.sampled_from(
    [
        "1f2e3d4c.jsonl",
        "agent-a1.jsonl",
        "agent-a2.jsonl",
        "agent-a1.meta.json",
        "agent-a2.meta.json",
        "loop",
        "todo.jsonl",
        "journal.jsonl",
    ]
    + ["._x.jsonl", "wf_1.json", "settings.json", "notes.txt", "ses_1.jsonl", "agent-.jsonl", ".jsonl"]
)
metas = st.sampled_from(
    [b'{"parentAgentId": "a1"}', b'{"parentAgentId": "a2"}', b'{"toolUseId": "a"}', b'{"agentType": 7}']
)
targets = st.sampled_from([".", "..", "1f2e3d4c.jsonl", "nowhere", "agent-a1", "subagents", "../../projects"])
trees = st.dictionaries(
    st.tuples(st.lists(parts, max_size=6).map(tuple), names),
    damaged.map(b"".join) | metas | targets,
    max_size=8,
)


@contextmanager
def built(tree: dict[tuple[tuple[str, ...], str], bytes | str]) -> Iterator[StoreBuilder]:
    """A store with these files and links, as far as none is where a directory should be."""
    folder = Path(tempfile.mkdtemp())
    try:
        builder = StoreBuilder(folder / "store")
        for (place, name), data in tree.items():
            path = (
                builder.root.joinpath("projects", "-home-ada", *place)
                if len(place) % 2
                else builder.root.joinpath(*place)
            )
            try:
                path.mkdir(parents=True, exist_ok=True)
                if isinstance(data, str):
                    (path / name).symlink_to(data)
                else:
                    (path / name).write_bytes(data)
            except OSError:
                continue
        yield builder
    finally:
        shutil.rmtree(folder)


def told(builder: StoreBuilder, cache: Path | None = None) -> list[str]:
    return [session.json for session in builder.open(cache).sessions(EVERYTHING)]


@given(trees)
def test_any_tree_is_listed_and_remembered_as_it_is(tree: dict[tuple[tuple[str, ...], str], bytes | str]) -> None:
    with built(tree) as builder:
        expected = told(builder)
        cache = builder.root.parent / "cache"
        assert told(builder, cache) == expected == told(builder, cache)
        store = builder.open(cache)
        for session in store.sessions(EVERYTHING):
            record = json.loads(session.json)
            assert session.summary._asdict() == record
            assert record["event_count"] == sum(count_flat_events(event) for event in session.events())
            assert record["subagent_count"] == sum(1 + child.subagent_count for child in session.subagents)
            assert store.at(session.path).summary == session.summary
        listed = {session.path for session in store.sessions(EVERYTHING)}
        assert listed == {file.path for file in store.files()} - {trouble.path for trouble in store.problems}
        assert sum(project.size for project in store.projects()) == sum(
            os.path.getsize(file.path) for file in store.files() if file.project
        )


@given(st.lists(damaged, min_size=1, max_size=4), st.booleans())
def test_a_file_that_grows_is_known_as_one_that_was_read_at_once(portions: list[list[bytes]], is_agent: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "agent-a.jsonl" if is_agent else "s.jsonl")
        path.write_bytes(b"")
        found = SessionFile(str(path), "a", "subagent" if is_agent else "session", FileStamp(0, 0, 0))
        state = None
        for portion in portions:
            with path.open("ab") as file:
                file.write(b"".join(portion))
            grown = extract.extract_file(ExtractJob(found, state))
            whole = extract.extract_file(ExtractJob(found))
            assert grown == whole
            assert grown.facts is not None
            assert whole.facts is not None
            assert (grown.facts.responses, grown.facts.state) == (whole.facts.responses, whole.facts.state)
            state = grown.facts.state


# --- columns are what rows would be ---------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
keys = texts | st.integers(1, 9).map(lambda line: f"{LINE_KEY}{line}")
times = st.none() | texts | st.just("2026-01-17T20:31:59.197Z")
counts = st.tuples(*[st.integers(0, 1 << 53)] * 5)
responses = st.dictionaries(keys, st.tuples(counts, st.none() | st.sampled_from(["m", "n"]), times), max_size=6)


@given(responses, st.dictionaries(keys, st.sampled_from(["a1", "a2"]), max_size=4))
def test_encoded_responses_are_those_that_were_given(said: dict[str, Response], speakers: dict[str, str]) -> None:
    expected = []
    for key, (tokens, model, time) in said.items():
        name = f"/p {key}" if key.startswith(LINE_KEY) else key
        minute = time[:16] if time and time.endswith("Z") else time or ""
        expected.append((name.replace("\n", "\0"), (tokens, model, minute.replace("\n", "\0")), speakers.get(key)))
    rows = decode_responses(encode_responses("/p", said, speakers)).rows()
    assert rows == expected


# --- a peek yields as much as a full decode ------------------------------------------------------------


def slowly(path: Path, is_agent: bool) -> dict[str, Any]:
    """What an extraction should find: the plain implementation, which decodes every event."""
    events = list(read_events(path))
    own = [event for event in events if is_agent or not (event.is_sidechain or event.agent_call)]
    if not any(isinstance(event, CONVERSATION) for event in own):
        own = events
    spoken = drop_copies(with_queued_prompts(own))
    prompts = [truncate(prompt, PROMPT_LENGTH) for event in spoken if (prompt := human_prompt(event))]
    return {
        "events": sum(map(count_flat_events, events)),
        "prompts": (prompts[0], prompts[-1]) if prompts else None,
        "cwds": tuple(dict.fromkeys(event.cwd for event in events if event.cwd)),
        "entrypoints": tuple(dict.fromkeys(event.entrypoint for event in events if event.entrypoint)),
        "branch": next((event.git_branch for event in reversed(events) if event.git_branch), None),
        "titles": {event.kind for event in events if isinstance(event, Title) and (event.title or "").strip()},
        "calls": _calls(events),
        "tokens": _tokens(events),
        "malformed": sum(event.kind == "(malformed)" for event in events),
    }


def quickly(path: Path, is_agent: bool) -> dict[str, Any]:
    facts = extracted(path, is_agent)
    conversation = facts.conversation
    first, last = conversation.first_prompt, conversation.last_prompt or conversation.first_prompt
    return {
        "events": conversation.events,
        "prompts": (first, last) if first else None,
        "cwds": facts.cwds,
        "entrypoints": facts.entrypoints,
        "branch": facts.branches[-1] if facts.branches else None,
        "titles": set(facts.titles),
        "calls": [(call.id, sorted(call.named)) for call in facts.calls],
        "tokens": conversation.usage[1],
        "malformed": facts.malformed,
    }


def extracted(path: Path, is_agent: bool) -> FileFacts:
    facts = extract.extract_file(
        ExtractJob(SessionFile(str(path), "a", "subagent" if is_agent else "session", FileStamp(0, 0, 0)))
    ).facts
    assert facts is not None
    return facts


def _calls(events: list[Event]) -> list[tuple[str | None, list[Naming]]]:
    """The calls that start sub-agents, and the sub-agents that results and progress name for them."""
    made = [block for event in events for block in _blocks(event)]
    own = [block.id for block in made if block.name in AGENTS or has_prompt(block)]
    named: dict[str, list[Naming]] = {}
    seen: set[str | None] = set()
    for event in events:
        seen |= {block.id or "" for block in _blocks(event) if block.name in AGENTS}
        if isinstance(event, Progress) and event.data is not None and event.data.agent_id and event.parent_call:
            named.setdefault(event.parent_call, []).append((event.data.agent_id, BY_PROGRESS))
        if not isinstance(event, User) or not isinstance(event.message_content, list):
            continue
        for block in event.message_content:
            if isinstance(block, ToolResult) and block.tool_use_id:
                is_agent_tool = block.tool_use_id in seen
                for naming in named_agents(event.tool_use_result, block, is_agent_tool=is_agent_tool):
                    named.setdefault(block.tool_use_id, []).append(naming)
    best = {call: sorted(strongest_namings(namings)) for call, namings in named.items()}
    return [(call, best.pop(call or "", [])) for call in own] + list(best.items())


def _blocks(event: Event) -> list[ToolUse]:
    if not isinstance(event, Assistant):
        return []
    return (
        [block for block in event.message_content if type(block) is ToolUse]
        if isinstance(event.message_content, list)
        else []
    )


def _tokens(events: list[Event]) -> int:
    most: dict[str, int] = {}
    reports = [inner for event in events if isinstance(event, Progress) for inner in reported_events(event)]
    known = [one for one in reports if isinstance(one, Assistant) and (one.request_id or _message_id(one))]
    for event in events + known:
        if event.kind == "usage":
            most[f"line {event.line}"] = getattr(event, "output_tokens", None) or 0
        if isinstance(event, Assistant) and (message := event.message) and message.model != "<synthetic>":
            ids = (
                f"{message.id or ''} {event.request_id or ''}"
                if message.id or event.request_id
                else f"line {event.line}"
            )
            if message.usage:
                most[ids] = max(most.get(ids, 0), message.usage.output_tokens or 0)
    return sum(most.values())


def _message_id(event: Assistant) -> str | None:
    return event.message.id if event.message is not None else None


@given(damaged, st.booleans())
def test_a_glance_at_any_lines_sees_as_much_as_a_close_look(portion: list[bytes], is_agent: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(b"".join(portion))
        assert quickly(path, is_agent) == slowly(path, is_agent)


def test_a_glance_at_real_files_sees_as_much_as_a_close_look() -> None:
    for path in corpus.session_files():
        is_agent = path.name.startswith("agent-")
        assert quickly(path, is_agent) == slowly(path, is_agent), path
