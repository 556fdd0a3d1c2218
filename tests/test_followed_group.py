"""A session that is followed together with its sub-agents."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from claude_session_player import View
from claude_session_player.export.terminal import FollowWriter
from claude_session_player.player import follow as follow_module
from claude_session_player.player.follow import FileChange, FollowedGroup, FollowedText
from claude_session_player.store.layout import session_file_at
from tests.builder import SessionBuilder, call, text
from tests.stores import ONE, TWO, StoreBuilder


class Following:
    """A session in a store that grows, and what is printed of it."""

    def __init__(self, root: Path) -> None:
        self.store = StoreBuilder(root)
        self.main = SessionBuilder(session_id=ONE).prompt("Start the engine")
        self.path = self.main.write(self.store.home() / f"{ONE}.jsonl")
        self.main.flush()
        self.file = io.StringIO()

    def begin(self, lines: int = 20) -> None:
        """Begin to follow it."""
        self.group = FollowedGroup(session_file_at(str(self.path)), View())
        self.teller = FollowWriter(self.file, View())
        self.teller.write_last_lines(self.group.initial_text(), lines)

    def agent_file(self, id: str, folder: str = f"{ONE}/subagents") -> Path:
        """The file of a sub-agent."""
        return self.store.home() / folder / f"agent-{id}.jsonl"

    def grow(self, path: Path, session: SessionBuilder) -> list[FollowedText]:
        """Append to a file, and print what that tells."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(session.flush())
        found = list(self.group.read_changes([str(path)]))
        for told in found:
            self.teller.write_new(told)
        return found

    @property
    def printed(self) -> str:
        """What was printed since the last time."""
        text = self.file.getvalue()
        self.file.seek(0)
        self.file.truncate()
        return text


@pytest.fixture
def following(tmp_path: Path) -> Following:
    return Following(tmp_path / "store")


def agent(session: str = ONE) -> SessionBuilder:
    return SessionBuilder(session_id=session, sidechain=True)


def test_the_past_is_shown_first_and_then_what_is_appended(following: Following) -> None:
    following.begin()
    assert following.printed == "❯ Start the engine\n"
    following.grow(following.path, following.main.response(call("Bash", "a", command="ls")))
    following.grow(following.path, following.main.result("a", "one"))
    assert following.printed == "\n● Bash(ls)\n  └ one\n"


def test_no_more_of_the_past_is_shown_than_is_wanted(following: Following) -> None:
    with following.path.open("ab") as file:
        file.write(following.main.response(text("one\ntwo\nthree")).flush())
    following.begin(lines=2)
    assert following.printed == "  two\n  three\n"
    following.begin(lines=0)
    assert following.printed == ""
    following.grow(following.path, following.main.prompt("More"))
    assert following.printed == "❯ More\n"


def test_a_sub_agent_is_told_when_it_starts_and_its_lines_have_its_name(following: Following) -> None:
    following.begin()
    following.grow(following.path, following.main.response(call("Task", "t", description="Look")))
    path = following.agent_file("a1")
    path.parent.mkdir(parents=True)
    following.store.meta(path, agentType="Explore", description="Look around")
    explorer = agent()
    following.grow(path, explorer.prompt("Look"))
    following.grow(path, explorer.response(text("One.\nTwo."), call("Grep", "g", pattern="x")))
    following.grow(path, explorer.result("g", "found"))
    following.grow(following.path, following.main.result("t", "Nothing."))
    assert following.printed == (
        "❯ Start the engine\n\n● Task(Look)\n"
        "\n● Agent(Explore) started: Look around\nExplore │ ❯ Look\n"
        "\nExplore │ ● One.\nExplore │   Two.\nExplore │ ● Grep(x)\nExplore │   └ found\n"
        "\n● Task(Look)\n  └ Nothing.\n"
    )


def test_two_sub_agents_of_one_kind_are_told_apart(following: Following) -> None:
    following.begin()
    for id in ("a1", "a2"):
        path = following.agent_file(id)
        path.parent.mkdir(parents=True, exist_ok=True)
        following.store.meta(path, agentType="Explore")
        following.grow(path, agent().prompt("Look"))
    assert "Agent(Explore) started\nExplore │ ❯ Look\n" in (printed := following.printed)
    assert "Agent(Explore a2) started\nExplore a2 │ ❯ Look\n" in printed


def test_the_call_of_a_sub_agent_is_told_before_it_starts_even_if_its_file_is_noticed_first(
    following: Following,
) -> None:
    following.begin()
    with following.path.open("ab") as file:
        file.write(following.main.response(call("Task", "t", description="Dig")).flush())
    following.grow(following.agent_file("a1"), agent().prompt("Dig deep"))
    assert following.printed == ("❯ Start the engine\n\n● Task(Dig)\n\n● Agent(a1) started\na1 │ ❯ Dig deep\n")


def test_every_file_that_is_followed_gives_account_of_its_lines(following: Following) -> None:
    following.begin()
    following.grow(following.path, following.main.raw(b"{broken\n"))
    following.grow(following.agent_file("a1"), agent().prompt("Dig").line({"type": "novelty"}))
    (name, main), (agent_name, other) = following.group.audits()
    assert (name, [issue.line for issue in main.issues]) == ("", [2])
    assert (agent_name, dict(other.unknown_events)) == ("a1", {"novelty": 1})


def test_a_sub_agent_that_was_there_is_told_from_now_on(following: Following) -> None:
    path, old = following.agent_file("a1"), agent().prompt("Look").response(text("Before."))
    old.write(path)
    old.flush()
    following.begin()
    assert following.grow(path, old) == []
    following.grow(path, old.response(text("After.")))
    assert following.printed == "❯ Start the engine\n\na1 │ ● After.\n"


def test_flat_sub_agents_of_other_sessions_are_left_alone(following: Following) -> None:
    following.begin()
    assert following.grow(following.agent_file("b1", ""), agent(TWO).prompt("Not ours")) == []
    (told,) = following.grow(following.agent_file("b2", ""), agent().prompt("Ours"))
    assert (told.agent, told.task) == ("b2", "")


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not say which files are open")
def test_however_many_sub_agents_there_are_few_files_are_held_open(following: Following) -> None:
    following.begin()
    before = open_files()
    for number in range(100):
        (told,) = following.grow(following.agent_file(f"a{number}"), agent().prompt("Look"))
        assert told.task is not None
    assert open_files() - before <= 32
    following.group.close()
    assert open_files() < before


def test_what_could_not_be_read_of_a_sub_agent_that_was_let_go_is_not_forgotten(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow_module, "_MAX_FOLLOWED", 1)
    following.begin()
    following.grow(following.agent_file("a1"), agent().prompt("Look").raw(b"oops\n"))
    following.grow(following.agent_file("a2"), agent().prompt("Look"))
    assert sum(len(account.issues) for _, account in following.group.audits()) == 1


def test_a_sub_agent_that_was_let_go_goes_on_where_it_was(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow_module, "_MAX_FOLLOWED", 2)
    following.begin()
    agents = {id: agent().prompt("Look") for id in ("a1", "a2", "a3")}
    for id, session in agents.items():
        path = following.agent_file(id)
        path.parent.mkdir(parents=True, exist_ok=True)
        following.store.meta(path, agentType="Explore")
        following.grow(path, session.response(call("Grep", id, pattern="x")))
    assert following.printed.count(" started\n") == 3
    following.grow(following.agent_file("a1"), agents["a1"].result("a1", "found"))
    assert following.printed == "\nExplore │ ● Grep(x)\nExplore │   └ found\n"
    following.grow(following.agent_file("a2"), agents["a2"].result("a2", "found"))
    assert following.printed == "\nExplore a2 │ ● Grep(x)\nExplore a2 │   └ found\n"


def test_the_one_that_is_let_go_is_the_one_that_was_silent_for_longest(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow_module, "_MAX_FOLLOWED", 2)
    following.begin()
    first, second = agent().prompt("Look"), agent().prompt("Look")
    following.grow(following.agent_file("a1"), first)
    following.grow(following.agent_file("a2"), second)
    following.grow(following.agent_file("a1"), first.response(text("Here.")))
    following.grow(following.agent_file("a3"), agent().prompt("Look"))
    following.agent_file("a2").unlink()
    assert list(following.group.read_changes([str(following.agent_file("a2"))])) == []
    following.agent_file("a1").unlink()
    assert [told.change for told in following.group.read_changes([str(following.agent_file("a1"))])] == [
        FileChange.DELETED
    ]


def test_a_sub_agent_that_cannot_be_read_is_told_once_and_shown_as_soon_as_it_can(following: Following) -> None:
    following.begin()
    path = following.agent_file("a1")
    path.mkdir(parents=True)
    (told,) = following.group.read_changes([str(path)])
    assert (told.agent, told.problem) == ("a1", "not a regular file")
    assert list(following.group.read_changes([str(path)])) == []
    path.rmdir()
    assert list(following.group.read_changes([str(path)])) == []
    assert [told.task for told in following.grow(path, agent().prompt("Look"))] == [""]


def test_a_file_that_is_replaced_or_deleted_is_told_as_that(following: Following) -> None:
    following.begin()
    following.path.write_bytes(b"")
    assert [told.change for told in following.grow(following.path, SessionBuilder().prompt("Again"))] == [
        FileChange.SHORTENED
    ]
    assert following.printed.endswith("❯ Again\n")
    following.path.unlink()
    assert [told.change for told in following.group.read_changes([str(following.path)])] == [FileChange.DELETED]
    following.group.close()


def test_on_a_terminal_there_are_colours_and_nothing_that_it_would_obey(following: Following) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    following.file = Terminal()
    following.begin()
    following.grow(following.path, following.main.response(text("It \x07runs.\x1b]0;title\x07")))
    assert "\x1b[" in (printed := following.printed)
    assert "\x07" not in printed
    assert "It �runs." in printed
