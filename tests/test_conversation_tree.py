"""Forks are told from parallel tools, and every line belongs to its branches."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings, strategies as st

from claude_session_player import read_events
from claude_session_player.format.events import Event
from claude_session_player.linking.copies import CopyDetector
from claude_session_player.linking.prompts import human_prompt
from claude_session_player.transcript.tree import ConversationTree, LazyTree, LineRole
from tests import corpus
from tests.builder import SessionBuilder, call, text, thought, uuid_of
from tests.reference_tree import ReferenceRow, ReferenceTree, fork_or_return


def grown(lines: Iterable[bytes]) -> ConversationTree:
    branches = ConversationTree()
    for event, is_copy in CopyDetector().mark(read_events(lines)):
        if is_copy:
            branches.add_copy(event)
        else:
            branches.add(event)
    return branches


def rewound() -> SessionBuilder:
    """Two prompts, then back to the first answer and another prompt."""
    session = SessionBuilder().prompt("Make tea").response(text("Done.")).system("turn_duration", durationMs=5)
    session.prompt("Now with milk").response(text("With milk."))
    return session.back_to(3).prompt("No, with lemon").response(text("With lemon."))


def test_a_conversation_has_one_branch_that_is_live() -> None:
    branches = grown(SessionBuilder().prompt("Make tea").response(thought(), text("Done.")).lines)
    (branch,) = branches.branches()
    assert (branch.number, branch.fork, branch.first, branch.last, branch.lines) == (1, None, 1, 2, 3)
    assert branch is branches.live_branch
    assert not branches.forks
    assert not branches.problems


def test_a_rewind_is_a_fork_at_the_line_to_which_it_went_back() -> None:
    branches = grown(rewound().lines)
    assert branches.forks == [(3, uuid_of(3))]
    first, second = branches.branches()
    assert (first.first, first.last, first.lines, first.is_live) == (4, 5, 2, False)
    assert (second.first, second.last, second.lines, second.is_live) == (6, 7, 2, True)
    assert first.fork == second.fork == branches.forks[0]


def test_lines_before_a_fork_are_on_all_branches_and_lines_behind_it_on_one() -> None:
    session = rewound().line({"type": "ai-title", "aiTitle": "Tea"})
    branches = grown(session.lines)
    assert [line for line in range(1, 9) if branches.is_on(1, line)] == [1, 2, 3, 4, 5, 8]
    assert [line for line in range(1, 9) if branches.is_on(2, line)] == [1, 2, 3, 6, 7, 8]


def test_the_fork_is_told_when_the_prompt_behind_it_comes() -> None:
    branches = ConversationTree()
    told = {event.line: branches.add(event) for event in read_events(rewound().lines)}
    assert {line: fork for line, fork in told.items() if fork} == {6: (3, uuid_of(3))}


def test_the_live_branch_is_that_of_the_last_prompt_or_response_and_not_of_the_last_line() -> None:
    session = rewound().back_to(5).system("turn_duration", durationMs=5).attachment("date", date="today")
    assert [branch.is_live for branch in grown(session.lines).branches()] == [False, True]


def test_who_returns_to_an_old_branch_makes_it_live_again() -> None:
    session = rewound().back_to(5).prompt("Milk it is").response(text("Yes."))
    branches = grown(session.lines)
    assert [(branch.last, branch.is_live) for branch in branches.branches()] == [(9, True), (7, False)]
    assert len(branches.forks) == 1


def test_a_request_that_was_made_again_is_a_fork() -> None:
    session = SessionBuilder().prompt("Make tea").response(text("D")).back_to(1).response(text("Done."))
    assert [(branch.last, branch.is_live) for branch in grown(session.lines).branches()] == [(2, False), (3, True)]


def test_forks_inside_of_a_branch_split_only_that_branch() -> None:
    session = rewound().back_to(6).response(text("With lime."))
    branches = grown(session.lines)
    assert [(branch.first, branch.last) for branch in branches.branches()] == [(4, 5), (7, 7), (8, 8)]
    assert [line for line in range(1, 9) if branches.is_on(3, line)] == [1, 2, 3, 6, 8]


def test_parallel_tools_are_no_forks_even_where_both_sides_go_on() -> None:
    session = SessionBuilder().prompt("Look").response(call("Read", "a"), call("Read", "b"), call("Read", "c"))
    session.back_to(2).result("a").attachment("queued_command", prompt="And be quick")
    session.back_to(4).result("c").back_to(3).result("b").response(text("Seen."))
    branches = grown(session.lines)
    assert branches.forks == []
    assert len(branches.branches()) == 1


def test_hooks_attachments_and_remarks_are_no_forks() -> None:
    session = SessionBuilder().prompt("Look").response(call("Bash", "a"))
    session.progress("hook_progress", "a").back_to(2).attachment("hook_success").back_to(2).system("api_error")
    session.back_to(2).result("a").response(text("Seen.")).back_to(3).progress("bash_progress", "a")
    assert grown(session.lines).forks == []


def test_local_commands_that_hang_on_one_remark_are_no_forks() -> None:
    session = SessionBuilder().prompt("Caveat: The messages below were generated by the user", isMeta=True)
    for name in ("doctor", "status", "mcp"):
        session.back_to(1).prompt(f"<command-name>/{name}</command-name>")
        session.prompt("<local-command-stdout>fine</local-command-stdout>")
    assert grown(session.lines).forks == []


def test_a_compaction_continues_its_logical_parent_and_is_no_fork() -> None:
    session = SessionBuilder().prompt("Make tea").response(text("Done.")).system("turn_duration")
    boundary = {"compactMetadata": {"trigger": "auto", "preTokens": 9}, "logicalParentUuid": uuid_of(2)}
    session.back_to(None).system("compact_boundary", **boundary)
    session.prompt("This session is being continued …", isCompactSummary=True).prompt("More").response(text("Here."))
    branches = grown(session.lines)
    assert not branches.forks
    assert not branches.problems
    assert all(branches.is_on(1, line) for line in range(1, 8))


def test_who_goes_back_behind_a_compaction_makes_a_fork() -> None:
    session = SessionBuilder().prompt("Make tea").response(text("Done."))
    session.back_to(None).system("compact_boundary", logicalParentUuid=uuid_of(2)).prompt("More")
    session.back_to(2).prompt("Something else")
    branches = grown(session.lines)
    assert branches.forks == [(2, uuid_of(2))]
    assert [branch.is_live for branch in branches.branches()] == [False, True]


def test_a_conversation_that_was_written_anew_into_the_same_file_is_no_fork() -> None:
    session = SessionBuilder().prompt("Make tea", timestamp="2026-01-17T20:00:00.000Z").response(text("Done."))
    session.prompt("<ide_opened_file>x</ide_opened_file>", parentUuid=None)
    session.prompt("Make tea", timestamp="2026-01-17T20:00:00.000Z").block(text("Done."), request="req_0001")
    session.prompt("More").response(text("Here."))
    assert grown(session.lines).forks == []


def test_a_prompt_that_was_written_anew_beside_itself_is_no_fork() -> None:
    session = SessionBuilder().prompt("Make tea").response(text("Done."))
    session.prompt("More", timestamp="2026-01-17T20:40:00.000Z").response(text("Here."))
    session.back_to(2).prompt("More", timestamp="2026-01-17T20:40:00.000Z").block(text("Here."), request="req_0002")
    assert grown(session.prompt("And more").lines).forks == []


def test_a_line_without_a_parent_and_one_with_go_on_together() -> None:
    session = SessionBuilder().prompt("Make tea").response(text("A notice."), parentUuid=None)
    assert grown(session.back_to(1).response(text("Done.")).lines).forks == []


def test_a_compaction_may_continue_an_event_that_others_continue_already() -> None:
    session = SessionBuilder().prompt("Make tea").response(text("Done."))
    session.back_to(None).system("compact_boundary", logicalParentUuid=uuid_of(1)).prompt("More")
    assert grown(session.lines).forks == []


def test_a_subagent_that_hangs_on_a_line_of_the_session_is_no_fork() -> None:
    session = SessionBuilder().prompt("Ask").response(text("I will ask."))
    session.sidechain = True
    session.prompt("Look").response(text("Hm."))
    session.sidechain = False
    assert grown(session.back_to(2).prompt("And?").lines).forks == []


def test_the_same_uuid_twice_is_one_event() -> None:
    session = SessionBuilder().prompt("Make tea").response(text("Done."))
    events = list(read_events([*session.lines, *session.lines]))
    branches = ConversationTree()
    for event in events:
        branches.add(event)
    assert branches.problems == [(3, "has the uuid of line 1"), (4, "has the uuid of line 2")]
    assert branches.branches()[0].lines == 2


def test_subagents_inside_of_the_file_make_no_branches() -> None:
    session = SessionBuilder().prompt("Ask").response(call("Task", "a", prompt="Look"))
    session.sidechain = True
    session.back_to(None).prompt("Look").response(text("Hm.")).back_to(3).response(text("Again."))
    session.sidechain = False
    session.back_to(2).result("a").response(text("Seen."))
    branches = grown(session.lines)
    assert not branches.forks
    assert not branches.problems
    assert len(branches.branches()) == 1


def test_a_file_of_nothing_but_a_subagent_has_branches() -> None:
    session = SessionBuilder(sidechain=True).prompt("Look").response(text("Hm.")).back_to(1).response(text("Again."))
    assert len(grown(session.lines).branches()) == 2


# --- bad input ------------------------------------------------------------------------------------


def test_a_second_root_continues_the_conversation_and_is_named() -> None:
    session = SessionBuilder().prompt("Make tea").response(text("Done.")).back_to(None).prompt("Anew")
    branches = grown(session.lines)
    assert len(branches.branches()) == 1
    assert branches.problems == [(3, "has no parent, but is not the first line")]


def test_a_parent_that_is_nowhere_is_named_and_the_line_continues_the_conversation() -> None:
    session = SessionBuilder().prompt("Make tea").prompt("More", parentUuid="gone").response(text("Here."))
    branches = grown(session.lines)
    assert len(branches.branches()) == 1
    assert branches.problems == [(2, "parent gone is not in the file")]


def test_a_line_before_its_parent_is_fine() -> None:
    session = SessionBuilder().prompt("Look").response(call("Read", "a")).result("a").response(text("Seen."))
    first, second, third, fourth = session.lines
    branches = grown([first, third, second, fourth])
    assert not branches.forks
    assert not branches.problems


@pytest.mark.parametrize("length", [1, 2, 3])
def test_lines_that_are_their_own_ancestors_are_named_once_and_hang_nothing(length: int) -> None:
    session = SessionBuilder().prompt("Make tea")
    for number in range(length):
        session.prompt("Round", parentUuid=uuid_of(2 + (number - 1) % length))
    branches = grown(session.lines)
    assert [problem.what for problem in branches.problems] == ["is its own ancestor"]
    assert len(branches.branches()) == 1


def test_no_line_is_missed_where_no_line_names_a_parent() -> None:
    session = SessionBuilder()
    for number in range(4):
        session.prompt(f"Prompt {number}", parentUuid=None)
    assert not grown(session.lines).forks
    assert not grown(session.lines).problems


def test_lines_without_uuids_are_one_branch() -> None:
    branches = grown([b'{"type":"user","content":"Hi"}', b'{"type":"assistant","content":"Hi"}'])
    assert len(branches.branches()) == 1
    assert branches.is_on(1, 1)


def test_no_events_are_one_branch_too() -> None:
    assert len(grown([]).branches()) == 1


# --- any conversation -----------------------------------------------------------------------------

STEPS = st.lists(
    st.sampled_from(["turn", "tools", "quick tools", "rewind", "retry", "compaction", "noise"]), max_size=25
)


@given(STEPS, st.randoms(use_true_random=False))
def test_there_is_one_branch_more_than_somebody_went_back(steps: list[str], chance: object) -> None:
    session = SessionBuilder().prompt("Start").response(text("Yes."))
    answered, prompted, backs = [2], [1], 0
    pick = getattr(chance, "choice")  # noqa: B009 - hypothesis' own Random has no type
    for number, step in enumerate(steps):
        at = len(session.lines)
        if step == "compaction":
            session.back_to(None).system("compact_boundary", logicalParentUuid=uuid_of(at))
            session.prompt("This session is being continued from …", isCompactSummary=True)
        elif step == "noise":
            session.attachment("hook_success").back_to(at).progress("hook_progress", None).back_to(at)
        elif step in ("tools", "quick tools"):
            ids = [f"{number}-{part}" for part in range(pick([2, 3, 4]))]
            session.response(*(call("Read", id) for id in ids))
            lines = list(range(at + 1, at + 1 + len(ids)))
            for line in pick([lines, lines[::-1]]):
                session.back_to(line).result(ids[line - at - 1])
                if step == "quick tools":
                    session.attachment("queued_command", prompt=f"Quick {line}")
            session.response(text("Seen."))
        else:
            if step == "rewind" and answered[-1] != pick(answered):
                earlier = pick(answered[:-1])
                session.back_to(earlier)
                answered = [line for line in answered if line <= earlier]
                prompted = prompted[: len(answered)]
                backs += 1
            if step == "retry":
                session.back_to(prompted[-1]).response(text("Once more."))
                backs += 1
                answered[-1] = len(session.lines)
                continue
            session.prompt(f"Prompt {number}").response(thought(), text("Yes."))
            prompted.append(len(session.lines) - 2)
            answered.append(len(session.lines))
    branches = grown(session.lines)
    assert len(branches.branches()) == 1 + backs
    assert len(branches.forks) == backs
    assert branches.problems == []
    prompts = [event.line for event in read_events(session.lines) if human_prompt(event) is not None]
    assert all(any(branches.is_on(b.number, line) for b in branches.branches()) for line in prompts)
    assert branches.live_branch.last <= len(session.lines)
    assert branches.is_on(branches.live_branch.number, answered[-1])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 9), st.sampled_from(["prompt", "answer", "remark"]))))
def test_any_tree_has_branches_and_exactly_one_is_live(lines: list[tuple[int, int, str]]) -> None:
    session = SessionBuilder()
    for number, parent, kind in lines:
        extra = {"uuid": f"u{number}", "parentUuid": None if parent < 0 else f"u{parent}"}
        if kind == "prompt":
            session.prompt("Hi", **extra)
        elif kind == "answer":
            session.response(text("Hi"), **extra)
        else:
            session.system("informational", **extra)
    branches = grown(session.lines)
    assert sum(branch.is_live for branch in branches.branches()) == 1
    assert [branch.number for branch in branches.branches()] == list(range(1, len(branches.branches()) + 1))
    for line in range(1, len(lines) + 1):
        assert any(branches.is_on(branch.number, line) for branch in branches.branches())


# --- the plain reference --------------------------------------------------------------------------

NAMES = ("turn", "tool", "copy", "sidechain", "compaction", "meta")
ROLES = st.one_of(
    st.sampled_from([frozenset({"turn"}), frozenset({"tool"}), frozenset[str]()]),
    st.frozensets(st.sampled_from(NAMES), max_size=3),
    st.just(frozenset({"absent"})),
)


def role_bits(names: frozenset[str]) -> int:
    return LineRole.ABSENT if "absent" in names else sum(getattr(LineRole, name.upper()) for name in names)


@st.composite
def reference_rows(draw: st.DrawFn, *, is_sound: bool) -> list[ReferenceRow]:
    """Lines of any role, most of which continue one of the last lines.

    A sound conversation has no uuid twice, no line before its parent, and no sub-agents.
    """
    rows: list[ReferenceRow] = []
    for line in range(1, draw(st.integers(0, 14)) + 1):
        recent = [f"u{number}" for number in range(max(line - 4, 1), line)]
        odd = [] if is_sound else [f"u{line + 1}", f"u{line}"]
        parent = draw(st.sampled_from([*recent[-1:] * 3, *recent, *odd, "gone", None]))
        uuid = f"u{line}" if is_sound else draw(st.sampled_from([f"u{line}"] * 6 + ["u1", None]))
        role = draw(ROLES)
        rows.append((uuid, parent, line, role - {"sidechain", "absent"} if is_sound else role))
    return rows


@settings(max_examples=500)
@given(reference_rows(is_sound=False))
def test_any_lines_have_the_forks_and_branches_of_the_reference(rows: list[ReferenceRow]) -> None:
    tree, reference = ConversationTree(), ReferenceTree()
    for uuid, parent, line, role in rows:
        found = tree.add_rows([(uuid, parent, line, role_bits(role))])
        assert found == reference.add((uuid, parent, line, role))
    assert tree.forks == reference.forks
    assert [branch._replace(strand=0) for branch in tree.branches()] == reference.branches()
    for number in range(1, len(tree.branches()) + 1):
        for line in range(1, len(rows) + 1):
            assert tree.is_on(number, line) == reference.is_on(number, line), (number, line)


@settings(max_examples=500)
@given(reference_rows(is_sound=True))
def test_a_lazy_tree_notices_forks_and_returns_as_soon_as_the_reference_does(rows: list[ReferenceRow]) -> None:
    lazy, reference, last_turn = LazyTree(), ReferenceTree(), None
    for uuid, parent, line, role in rows:
        found = lazy._add(Event(uuid=uuid, parent_uuid=parent, line=line), role_bits(role))
        if "turn" in role:
            assert found == fork_or_return(reference, (uuid, parent, line, role), last_turn)
            last_turn = uuid
        else:
            assert reference.add((uuid, parent, line, role)) is found is None
    assert lazy.tree.forks == reference.forks
    assert [branch._replace(strand=0) for branch in lazy.tree.branches()] == reference.branches()


def test_every_node_is_climbed_over_once() -> None:
    """A prompt at the end of a long chain of remarks climbs over it; the next one does not again."""

    class Counted(list[int]):
        climbs = 0

        def __getitem__(self, place: object) -> int:  # type: ignore[override]
            Counted.climbs += 1
            return super().__getitem__(place)  # type: ignore[call-overload,no-any-return]

    branches = ConversationTree()
    branches._parents = Counted()
    rows = [(f"u{n}", f"u{n - 1}", n, 1 if n % 100 == 0 else 0) for n in range(1, 5001)]
    branches.add_rows(rows)
    branches.add_rows((f"v{n}", f"u{n}", 5000 + n, 1) for n in range(1, 5001))
    assert len(branches.forks) == 4999
    assert Counted.climbs <= 2 * 10_000


@pytest.mark.skipif(not corpus.session_files(), reason=f"there are no real sessions at {corpus.ROOT}")
def test_real_sessions_are_rarely_forked() -> None:
    """Each of these was looked at: people who went back, prompts that were sent again, a resume that lost its end."""
    forked = 0
    for path in corpus.session_files():
        branches = grown(path.read_bytes().splitlines(keepends=True))
        assert len(branches.branches()) == 1 + len(branches.forks)
        forked += bool(branches.forks)
    assert 0 < forked <= 0.03 * len(corpus.session_files())
