"""Events become entries: each thing that was said or done is told once, in the order of the file."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, TypeGuard
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st

from claude_session_player import Conversation
from claude_session_player.export.transcript import TranscriptStyle
from claude_session_player.format.events import Event, User
from claude_session_player.line_audit import LineStatus
from claude_session_player.linking import copies
from claude_session_player.linking.prompts import human_prompt, with_queued_prompts
from claude_session_player.parser import read_events
from claude_session_player.transcript.entries import EntryKind, TranscriptCall
from claude_session_player.transcript.walk import PlacedEntry
from tests import corpus
from tests.builder import SessionBuilder, call, text, thought
from tests.conversations import agent, entry_lines, markdown, walk
from tests.test_properties import records


def calls(told: list[PlacedEntry]) -> list[TranscriptCall]:
    return [one.entry for one in told if isinstance(one.entry, TranscriptCall)]


def test_a_conversation_is_told_as_the_specification_shows_it() -> None:
    session = SessionBuilder().prompt("Line 1 of message\nLine 2 of message").response(thought("Hm."), text("Done."))
    assert markdown(session) == (
        "**User** (2026-01-17 20:31:59)\nLine 1 of message\nLine 2 of message\n"
        "\n**Thinking** (2026-01-17 20:32:00)\nHm.\n"
        "\n**Assistant** (2026-01-17 20:32:01)\nDone.\n"
    )


def test_empty_and_missing_content_and_time_are_named_as_the_specification_says() -> None:
    session = SessionBuilder().line({"type": "user", "message": {"content": []}})
    session.line({"type": "user", "message": {}}).line({"type": "assistant", "message": {"content": "Hi"}})
    told = markdown(session)
    assert "**User** (Unknown time)\n(No content)" in told
    assert "(Empty)" in told
    assert "**Assistant** (Unknown time)\nHi" in told


def test_a_result_belongs_to_its_call() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="ls"), call("Bash", "b", command="pwd"))
    session.result("b", "/home").result("a", "kettle")
    (first, second) = calls(walk(session)[1])
    assert first.result is not None
    assert second.result is not None
    assert (first.result.line, second.result.line) == (4, 3)


def test_a_result_that_stands_before_its_call_belongs_to_it() -> None:
    session = SessionBuilder().result("a", "kettle").response(call("Bash", "a", command="ls"))
    (one,) = calls(walk(session)[1])
    assert one.kind is EntryKind.CALL
    assert one.result is not None


def test_a_result_without_a_call_is_told_alone() -> None:
    told = markdown(SessionBuilder().result("nowhere", "kettle"))
    assert told == "**Result** (2026-01-17 20:31:59)\n\n```\nkettle\n```\n"


def test_a_second_result_of_a_call_names_the_line_of_the_call() -> None:
    session = (
        SessionBuilder().response(call("DelegateToAgent", "a")).result("a", "agentId: abc").result("a", "All done")
    )
    assert "**Result: DelegateToAgent** (2026-01-17 20:32:01) of line 1\n\n```\nAll done\n```" in markdown(session)


@pytest.mark.parametrize("before", [0, 1, 150, 199, 200, 399])
@pytest.mark.parametrize(("between", "together"), [(0, True), (199, True), (200, False), (500, False)])
def test_a_call_waits_for_its_result_only_so_long(before: int, between: int, together: bool) -> None:
    session = waiting(SessionBuilder(), before).response(call("Bash", "a", command="sleep"))
    waiting(session, between).result("a", "late")
    found = calls(walk(session)[1])
    assert [entry.kind for entry in found] == ([EntryKind.CALL] if together else [EntryKind.CALL, EntryKind.RESULT])
    assert (found[0].result is not None) == together
    assert together or found[1].body == before + 1


@pytest.mark.parametrize("before", [0, 1, 170, 199, 200, 399])
@pytest.mark.parametrize(("between", "together"), [(0, True), (29, True), (30, False), (250, False)])
def test_a_result_waits_for_its_call_only_so_long(before: int, between: int, together: bool) -> None:
    session = waiting(SessionBuilder(), before).result("a", "early")
    waiting(session, between).response(call("Bash", "a", command="sleep"))
    found = calls(walk(session)[1])
    assert [entry.kind for entry in found] == ([EntryKind.CALL] if together else [EntryKind.RESULT, EntryKind.CALL])
    assert (found[-1].result is not None) == together


def waiting(session: SessionBuilder, entries: int) -> SessionBuilder:
    for number in range(entries):
        session.response(text(f"Still waiting {number}"))
    return session


def test_an_unanswered_call_is_told() -> None:
    assert "**Tool: Bash**" in markdown(SessionBuilder().response(call("Bash", "a", command="ls")))


def test_results_without_ids_go_to_the_calls_of_their_name_in_order() -> None:
    session = SessionBuilder()
    session.line({"type": "tool_use", "tool_name": "bash", "tool_input": {"command": "one"}})
    session.line({"type": "tool_use", "tool_name": "read", "tool_input": {"path": "two"}})
    session.line({"type": "tool_result", "tool_name": "read", "tool_output": "second"})
    session.line({"type": "tool_result", "tool_name": "bash", "tool_output": "first"})
    replies = [one.reply() for one in calls(walk(session)[1])]
    assert [reply.text for reply in replies if reply] == ["first", "second"]


def test_a_copy_of_a_line_is_told_once() -> None:
    session = SessionBuilder().prompt("Once")
    session.raw(session.lines[0])
    assert markdown(session).count("Once") == 1


def test_other_words_under_the_same_uuid_are_told_and_their_copy_is_not() -> None:
    session = SessionBuilder().prompt("First", uuid="u").prompt("Second", uuid="u")
    session.raw(session.lines[1])
    assert (markdown(session).count("First"), markdown(session).count("Second")) == (1, 1)


def test_remarks_under_one_uuid_that_differ_are_all_told() -> None:
    session = SessionBuilder().prompt("Go", uuid="u")
    for words in ("first", "second", "second"):
        session.line({"type": "system", "subtype": "api_error", "content": words, "uuid": "u"})
    assert [markdown(session).count(word) for word in ("first", "second")] == [1, 1]


def test_the_same_words_without_a_time_are_copies_only_under_the_same_uuid() -> None:
    session = SessionBuilder().prompt("Yes", uuid="u", timestamp=None).prompt("Yes", uuid="v", timestamp=None)
    session.raw(session.lines[0])
    assert markdown(session).count("Yes") == 2


def test_a_prompt_that_was_written_anew_as_a_block_is_a_copy() -> None:
    session = SessionBuilder().prompt("Once").prompt([text("Once")], timestamp=None)
    record = json.loads(session.lines[1]) | {"timestamp": json.loads(session.lines[0])["timestamp"]}
    session.lines[1] = json.dumps(record).encode()
    assert markdown(session).count("Once") == 1


def test_a_conversation_that_was_written_anew_with_other_uuids_is_told_once() -> None:
    at = "2026-02-03T06:17:55.835Z"
    session = SessionBuilder().prompt([text("<ide_selection>x</ide_selection>"), text("What is it?")], timestamp=at)
    session.response(text("A kettle."), request="r1", timestamp="2026-02-03T06:18:00.000Z")
    session.prompt([text("<ide_selection>x</ide_selection>")], timestamp=at)
    session.prompt([text("What is it?")], timestamp=at)
    session.response(text("A kettle."), request="r1", timestamp="2026-02-03T06:18:00.000Z")
    session.prompt("And now?")
    assert Conversation.from_events(read_events(session.lines)).prompts == ["What is it?", "And now?"]
    assert markdown(session).count("A kettle.") == 1


def test_pictures_of_one_moment_are_told_apart() -> None:
    session = SessionBuilder()
    for data in ("aaaa", "bbbb"):
        source = {"type": "base64", "media_type": "image/png", "data": data}
        session.prompt([{"type": "image", "source": source}], timestamp="2026-01-17T20:31:59.197Z")
    assert markdown(session).count("[image") == 2


def test_a_copy_of_a_result_without_an_id_is_told_once() -> None:
    session = SessionBuilder().prompt([{"type": "tool_result", "content": "kettle"}])
    session.raw(session.lines[0])
    assert markdown(session).count("kettle") == 1


def test_a_fork_is_told_where_it_happens() -> None:
    session = SessionBuilder().prompt("First").response(text("One")).prompt("Second").response(text("Two"))
    session.prompt("Another", parentUuid="00000000-0000-4000-8000-000000000002").response(text("Three"))
    mark = "**Fork** (2026-01-17 20:32:03) goes back to line 2 and continues from there"
    assert f"{mark}\n\n**User** (2026-01-17 20:32:03)\nAnother" in markdown(session)


def test_parallel_tools_are_no_fork() -> None:
    session = SessionBuilder().prompt("Look").response(call("Read", "a"), call("Read", "b"))
    session.result("a", "1", parentUuid="00000000-0000-4000-8000-000000000002").result("b", "2").response(text("Fine"))
    assert EntryKind.FORK not in {one.entry.kind for one in walk(session)[1]}


def test_a_compaction_and_its_summary_are_told() -> None:
    session = SessionBuilder().prompt("Go").compaction("auto", 155000)
    session.prompt("This session is being continued from a previous conversation. All is well.", isCompactSummary=True)
    told = markdown(session)
    assert "**Compaction** (2026-01-17 20:32:00) auto, 155,000 tokens" in told
    assert "**Summary** (2026-01-17 20:32:01)\nThis session is being continued" in told


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ({"type": "summary", "summary": "All is well", "leafUuid": "x"}, "**Summary** (Unknown time)\nAll is well"),
        ({"type": "system", "subtype": "away_summary", "content": "So far"}, "**Summary** (Unknown time)\nSo far"),
        ({"type": "system", "level": "warning", "content": "Careful"}, "**Note** (Unknown time)\nCareful"),
        (
            {"type": "system", "subtype": "api_error", "error": {"message": "overloaded"}},
            "**Error** (Unknown time)\n\n```\noverloaded\n```",
        ),
        (
            {"type": "assistant", "isApiErrorMessage": True, "message": {"content": [text("API Error: 500")]}},
            "**Error** (Unknown time)\n\n```\nAPI Error: 500\n```",
        ),
        (
            {"type": "user", "message": {"content": "<local-command-stdout>Set model</local-command-stdout>"}},
            "**Output** (Unknown time)\n\n```\nSet model\n```",
        ),
        (
            {"type": "user", "message": {"content": "<teammate-message>Hi</teammate-message>"}},
            "**Message** (Unknown time)\n\n\\<teammate-message>Hi\\</teammate-message>",
        ),
        (
            {"type": "assistant", "message": {"content": [{"type": "brand_new", "deep": {}}]}},
            '**Block: brand_new** (Unknown time)\n\n```json\n{\n  "type": "brand_new",\n  "deep": {}\n}\n```',
        ),
    ],
)
def test_each_kind_of_line_is_told_in_its_own_way(line: dict[str, Any], wanted: str) -> None:
    assert markdown(SessionBuilder().line(line)) == f"{wanted}\n"


def test_what_the_harness_put_in_is_told_only_in_full() -> None:
    session = SessionBuilder().prompt("Base directory for this skill: /x", isMeta=True)
    session.system("turn_duration", durationMs=12000).prompt("<system-reminder>Be kind</system-reminder>")
    assert markdown(session) == ""
    told = markdown(session, style=TranscriptStyle.full())
    assert "Base directory" in told
    assert "turn took 12s" in told
    assert "Be kind" in told


def test_what_a_person_typed_while_the_model_worked_is_a_prompt() -> None:
    session = SessionBuilder().prompt("Go").attachment("queued_command", prompt="And hurry").attachment("date")
    assert Conversation.from_events(read_events(session.lines)).prompts == ["Go", "And hurry"]


def test_in_a_sub_agents_own_file_nobody_is_a_person() -> None:
    _, told = walk(agent("Look around", "Nothing there."), is_agent=True)
    assert list(entry_lines(told)) == ["task: Look around", "answer: Nothing there."]


def test_a_turn_is_a_prompt_and_all_that_follows() -> None:
    session = SessionBuilder().response(text("Welcome")).prompt("One").response(call("Bash", "a", command="ls"))
    session.result("a").prompt("Two")
    turns = Conversation.from_events(read_events(session.lines)).turns
    assert [turn.prompt.text if turn.prompt else None for turn in turns] == [None, "One", "Two"]
    assert [one.name for one in turns[1].calls] == ["Bash"]


# --- properties -----------------------------------------------------------------------------------------

steps = st.lists(
    st.tuples(
        st.sampled_from(("prompt", "queued", "answer", "tools", "rewind", "compact", "copy", "meta", "command")),
        st.integers(0, 30),
    ),
    max_size=25,
)


def lived(steps: list[tuple[str, int]]) -> SessionBuilder:
    """A session with forks, copies, compactions, queued commands: each prompt has words of its own."""
    session = SessionBuilder()
    for number, (step, seed) in enumerate(steps):
        word = f"prompt-{number}-"
        back = {"parentUuid": f"00000000-0000-4000-8000-{seed % max(len(session.lines), 1):012}"}
        if step == "prompt":
            session.prompt(word)
        elif step == "queued":
            session.attachment("queued_command", prompt=word)
        elif step == "answer":
            session.response(thought(), text("Well."))
        elif step == "tools":
            ids = [f"{number}-{one}" for one in range(seed % 4)]
            session.response(*(call("Bash", id, command="ls") for id in ids))
            for id in ids[: seed % 5]:
                session.result(id, "kettle")
        elif step == "rewind":
            session.prompt(word, **back)
        elif step == "compact":
            session.compaction()
            session.prompt("This session is being continued from a previous conversation", isCompactSummary=True)
        elif step == "copy" and session.lines:
            session.raw(session.lines[seed % len(session.lines)])
        elif step == "meta":
            session.prompt(word, isMeta=True)
        elif step == "command":
            session.prompt(f"<command-name>/{word}</command-name><command-args>now</command-args>")
    return session


@given(steps)
def test_each_prompt_of_a_person_is_told_exactly_once(steps: list[tuple[str, int]]) -> None:
    session = lived(steps)
    unique = {event.uuid: event for event in read_events(session.lines)}
    wanted = [prompt for event in unique.values() if (prompt := human_prompt(event)) is not None]
    document = markdown(session)
    assert Counter(Conversation.from_events(read_events(session.lines)).prompts) == Counter(wanted)
    assert all(document.count(prompt.split()[0].lstrip("/")) == 1 for prompt in wanted)
    assert document.count("**User**") == len(wanted)


@given(steps, st.lists(records, max_size=12), st.integers(1, 9))
def test_how_many_lines_are_told_at_a_time_changes_nothing(
    steps: list[tuple[str, int]], lines: list[Any], many: int
) -> None:
    session = lived(steps)
    for line in lines:
        session.raw(json.dumps(line).encode() + b"\n")
    at_once = markdown(session, style=TranscriptStyle.full())
    with patch.object(copies, "_BATCH", many):
        assert markdown(session, style=TranscriptStyle.full()) == at_once


@given(steps, st.integers(0, 25))
def test_a_resumed_session_tells_only_what_is_new(steps: list[tuple[str, int]], at: int) -> None:
    session = lived(steps)
    first, _ = walk(SessionBuilder().raw(b"".join(session.lines[:at])))
    again = Conversation.from_events(read_events(session.lines), known=first.main.lazy_tree.tree.uuids)
    whole = Conversation.from_events(read_events(session.lines))
    begun = Conversation.from_events(read_events(session.lines[:at]))
    assert Counter(begun.prompts) + Counter(again.prompts) == Counter(whole.prompts)


@given(st.lists(records, max_size=12))
def test_every_line_of_any_session_is_accounted_for(lines: list[Any]) -> None:
    session = SessionBuilder()
    for line in lines:
        session.raw(json.dumps(line).encode() + b"\n")
    found, told = walk(session)
    assert found.main.account.lines == len(lines)
    assert sum(found.main.account.total(fate) for fate in LineStatus) == len(lines)
    markdown(session, style=TranscriptStyle.full())
    shown = {one.entry.line for one in told} | {one.result.line for one in calls(told) if one.result}
    outcomes = found.main.account.outcomes
    assert all(number + 1 in shown for number, outcome in enumerate(outcomes) if outcome.status <= LineStatus.MERGED)


def is_typed_command(event: Event) -> TypeGuard[User]:
    """True for a command as it was typed; another record may say that it was run."""
    return isinstance(event, User) and bool(event.prompt_id) and str(event.message_content).startswith("/")


@pytest.mark.skipif(not corpus.session_files(), reason="there is no corpus")
def test_real_sessions_tell_each_prompt_once() -> None:
    for path in corpus.session_files():
        events = list(read_events(path))
        if not any(event.is_sidechain for event in events):
            spoken = with_queued_prompts(events)
            said = [(event, prompt) for event in spoken if (prompt := human_prompt(event))]
            typed = {(event.prompt_id, prompt) for event, prompt in said if is_typed_command(event)}
            prompts = [
                (event.timestamp, prompt)
                for event, prompt in said
                if is_typed_command(event) or (getattr(event, "prompt_id", None), prompt) not in typed
            ]
            told = Conversation.from_events(events).turns
            found = [(turn.prompt.timestamp, turn.prompt.text) for turn in told if turn.prompt]
            found = [one for one in found if one[1] and not one[1].startswith(("(No content)", "(Empty)"))]
            wanted = {(time, re.sub(r"\[image\]\s*", "", prompt)) for time, prompt in prompts}
            assert sorted(found, key=str) == sorted({one for one in wanted if one[1]}, key=str), path
