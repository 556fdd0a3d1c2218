"""What says again what was said before: a copy is known by its uuid, its time, or the ids of calls and messages."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from msgspec import Raw
from msgspec.structs import replace

from claude_session_player.format.blocks import Block, Message, Text, Thinking, ToolResult, ToolUse
from claude_session_player.format.events import (
    QUEUED,
    Assistant,
    Attachment,
    AttachmentData,
    Event,
    Progress,
    System,
    User,
)
from claude_session_player.linking import copies as module
from claude_session_player.linking.copies import CopyDetector, drop_copies
from claude_session_player.parser import read_events
from tests import corpus
from tests.builder import SessionBuilder, call, text, uuid_of

COMPACT = "<command-name>/compact</command-name>\n<command-args></command-args>"


def copies(session: SessionBuilder) -> list[int]:
    """The lines that are copies."""
    return [event.line for event, is_copy in CopyDetector().mark(read_events(session.lines)) if is_copy]


def anew(number: int, time: str = "2026-01-18T00:00:00.000Z") -> dict[str, Any]:
    """Another uuid and time, as a program has them that writes a conversation anew."""
    return {"uuid": uuid_of(number + 900), "timestamp": time}


def test_the_same_uuid_and_words_are_a_copy_and_other_words_are_not() -> None:
    session = SessionBuilder().prompt("Hi").prompt("Hi", uuid=uuid_of(1)).prompt("Ho", uuid=uuid_of(1))
    assert copies(session) == [2]


def test_the_same_time_and_words_are_a_copy() -> None:
    session = SessionBuilder().prompt("Hi", timestamp="2026-01-17T20:00:00.000Z")
    assert copies(session.prompt("Hi", timestamp="2026-01-17T20:00:00.000Z")) == [2]


def test_a_conversation_that_was_written_anew_is_a_copy_with_its_prompts() -> None:
    session = SessionBuilder().prompt("Go").response(call("Bash", "t1"), request="r1").result("t1")
    session.prompt("On").response(text("Done."), request="r2")
    session.prompt("Go", **anew(6)).block(call("Bash", "t1"), request="r1", **anew(7))
    session.result("t1", **anew(8)).prompt("On", **anew(9))
    session.block(text("Done."), request="r2", **anew(10)).prompt("More")
    assert copies(session) == [6, 7, 8, 9, 10]


def test_a_prompt_behind_a_copy_is_none_where_a_new_response_follows() -> None:
    session = SessionBuilder().prompt("Go").response(text("Yes."), request="r1").prompt("On")
    session.prompt("Go", **anew(4)).block(text("Yes."), request="r1", **anew(5))
    session.prompt("On", **anew(6)).response(text("New."), request="r2")
    assert copies(session) == [4, 5]


def test_the_same_prompt_before_a_new_response_is_no_copy() -> None:
    session = SessionBuilder()
    for number in range(3):
        session.prompt("Go on").response(text(f"Step {number}"))
    assert copies(session) == []


def test_a_second_result_of_a_call_with_other_words_is_no_copy() -> None:
    session = SessionBuilder().response(call("DelegateToAgent", "d")).result("d", "agentId: a1").result("d", "Complete")
    assert copies(session) == []


def test_long_results_are_told_apart_by_their_ends() -> None:
    long = "x" * 5000
    session = SessionBuilder().response(call("Bash", "a")).result("a", long + "1").result("a", long + "2")
    assert copies(session.result("a", long + "1", **anew(4))) == [4]


def test_records_without_uuid_are_always_new_unless_they_name_a_call() -> None:
    said = {"type": "user", "timestamp": "2026-01-17T20:00:00Z", "message": {"content": "Hi"}}
    made = {"type": "assistant", "message": {"content": [call("Bash", "a")]}}
    assert copies(SessionBuilder().line(said).line(said).line(made).line(made)) == [4]


def test_everything_that_is_no_copy_is_told_in_the_order_of_the_file() -> None:
    session = SessionBuilder().prompt("Go on").response(text("A")).prompt("Go on").progress("bash_progress", None)
    session.prompt("Go on").response(text("B"))
    assert [event.line for event in drop_copies(read_events(session.lines))] == [1, 2, 3, 4, 5, 6]


def test_an_id_that_is_used_again_for_another_call_is_no_copy() -> None:
    session = SessionBuilder().response(call("Bash", "call_0", command="ls")).result("call_0", "a").prompt("More")
    session.response(call("Bash", "call_0", command="ls -l")).result("call_0", "b")
    assert copies(session.response(call("Read", "call_0", file_path="/x"))) == []


def test_the_order_of_inputs_tells_calls_apart() -> None:
    session = SessionBuilder().response(call("Edit", "call_0", old_string="long", new_string="a")).prompt("More")
    assert copies(session.response(call("Edit", "call_0", old_string="a", new_string="long"))) == []


def test_a_block_of_a_type_that_has_no_rule_is_known_by_its_place_and_type() -> None:
    class Chart(Block, tag="chart"):
        """A block that was added to the event model, and nowhere else."""

    charts: list[Any] = [Chart()]
    events = [Assistant(line=line, uuid=uuid, content=charts) for line, uuid in ((1, "a"), (2, "b"), (3, "a"))]
    assert [event.line for event, is_copy in CopyDetector().mark(events) if is_copy] == [3]


# --- many at a time -----------------------------------------------------------------------------


def test_a_command_is_recorded_as_it_was_typed_and_again_when_it_was_run() -> None:
    session = SessionBuilder().prompt("Go", promptId="a").response(text("Done.")).prompt("/compact", promptId="b")
    session.prompt(COMPACT, promptId="b").prompt("On", promptId="c").response(text("Done."))
    assert copies(session) == [4]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((COMPACT, "a"), (COMPACT, "a")),
        (("/compact", "a"), (COMPACT, "b")),
        (("/compact", None), (COMPACT, None)),
        (("/compact", "a"), ("/compact", "a")),
        (("/clear", "a"), (COMPACT, "a")),
        (("Please /compact", "a"), (COMPACT, "a")),
    ],
)
def test_other_commands_of_one_prompt_are_no_copies(first: tuple[str, str], second: tuple[str, str]) -> None:
    session = SessionBuilder()
    for words, id in (first, second):
        session.prompt(words, promptId=id)
    assert copies(session) == []


def test_each_typed_command_has_one_copy() -> None:
    session = SessionBuilder().prompt("/compact", promptId="a").prompt(COMPACT, promptId="a")
    assert copies(session.prompt(COMPACT, promptId="a")) == [2]


words = st.sampled_from(("Go", "On", ""))
ids = st.sampled_from(("a", "b", None))
raw = words.map(lambda said: Raw(f'"{said}"'.encode()))
block = st.one_of(
    st.builds(Text, words),
    st.builds(Thinking, raw),
    st.builds(ToolUse, ids, st.just("Bash"), st.fixed_dictionaries({"command": words})),
    st.builds(ToolResult, ids, raw),
)
content = st.one_of(words, st.lists(block, max_size=2), st.none())
place = {"uuid": st.sampled_from((*"abcdefghijkl", None)), "timestamp": st.sampled_from((*"123456789", None))}
asked = st.builds(User, **place, content=st.sampled_from(("Go", "On")))
command = st.builds(User, **place, content=st.sampled_from(("/compact", COMPACT)), prompt_id=ids)
answered = st.builds(
    Assistant, **place, message=st.builds(Message, st.just("a"), st.builds(Text, words).map(lambda b: [b]))
)
event = st.one_of(
    *(asked, answered) * 3,
    command,
    st.builds(User, **place, content=content),
    st.builds(Assistant, **place, message=st.builds(Message, ids, content), request_id=ids),
    st.builds(Attachment, **place, attachment=st.builds(AttachmentData, st.sampled_from((QUEUED, "file")), content)),
    st.builds(System, **place, content=raw),
    st.builds(Progress, **place),
)


def one_by_one(events: Iterable[Event], known: Set[str | None] = frozenset()) -> list[bool]:
    """The plain way to mark copies."""
    return [is_copy for _, is_copy in CopyDetector(known)._mark_each(events, iter(()))]


@st.composite
def written_anew(draw: st.DrawFn) -> list[Event]:
    """A conversation of which a stretch was written anew, with other uuids and times."""
    events = draw(st.lists(event, max_size=8))
    start = draw(st.integers(0, len(events)))
    anew = [replace(event, uuid=f"new {event.uuid}", timestamp=None) for event in events[start:]]
    return events + anew + draw(st.lists(event, max_size=2))


def said_twice() -> list[Event]:
    """A response before which nobody asked anything, and its copy, before which somebody did."""
    answers = [Assistant(uuid=uuid, message=Message("a", [Text("Yes.")])) for uuid in "13"]
    return [answers[0], User(uuid="2", content="Go"), User(uuid="4", content="Go"), answers[1]]


@settings(max_examples=500)
@example(events=said_twice(), size=2, known=frozenset())
@given(events=written_anew(), size=st.integers(1, 12), known=st.sampled_from((frozenset(), frozenset("ab"))))
def test_copies_are_the_same_many_at_a_time_and_one_by_one(
    events: list[Event], size: int, known: frozenset[str | None]
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_BATCH", size)
        batches = list(CopyDetector(known).batches(events))
        marked = list(CopyDetector(known).mark(events))
    assert [event for event, _ in marked] == events
    assert [is_copy for _, is_copy in marked] == one_by_one(events, known)
    assert [len(some) for some, _ in batches[:-1]] == [size] * (len(batches) - 1)


@pytest.mark.parametrize("path", corpus.session_files(), ids=lambda path: path.stem)
def test_copies_of_real_sessions_are_the_same_many_at_a_time_and_one_by_one(path: Any) -> None:
    events = list(read_events(path))
    assert [is_copy for _, is_copy in CopyDetector().mark(events)] == one_by_one(events)
