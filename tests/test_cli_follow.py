"""`follow`, as the real program, in pipes and on a real terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.builder import SessionBuilder, call, text
from tests.program import PATIENCE, PROGRAM, csp
from tests.stores import ONE, StoreBuilder, settle

NEW_SCREEN, OLD_SCREEN, CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"


class Live:
    """A session that is written while somebody follows it."""

    def __init__(self, root: Path) -> None:
        self.store = StoreBuilder(root)
        self.session = SessionBuilder(session_id=ONE, start=datetime.now(UTC)).prompt("Start the engine")
        self.path = self.session.write(self.store.home() / f"{ONE}.jsonl")
        self.session.flush()
        self.where = ["--root", str(root), "--no-cache"]

    def say(self, words: str) -> None:
        """Let the model say something."""
        self.add(self.session.response(text(words)))

    def add(self, session: SessionBuilder) -> None:
        """Append what is new in the session."""
        with self.path.open("ab") as file:
            file.write(session.flush())

    def end_turn(self) -> None:
        """Let the session wait for the person."""
        self.add(self.session.response(text("It runs.")).system("turn_duration", durationMs=1))


@pytest.fixture
def live(tmp_path: Path) -> Live:
    return Live(tmp_path / "store")


@pytest.fixture
def started() -> Iterator[list[Any]]:
    processes: list[Any] = []
    yield processes
    for process in processes:
        process.close(force=True)


@pytest.fixture
def terminal(live: Live, started: list[Any]) -> Any:
    """Begins the program on a terminal."""

    def spawn(*arguments: str, **environment: str) -> pexpect.spawn[str]:
        child: pexpect.spawn[str] = pexpect.spawn(
            PROGRAM[0],
            [*PROGRAM[1:], "follow", *arguments, *live.where],
            env={**os.environ, "TERM": "xterm-256color", "TMUX": ""} | environment,
            dimensions=(24, 80),
            timeout=PATIENCE,
            encoding="utf-8",
        )
        started.append(child)
        return child

    return spawn


def end_of(child: pexpect.spawn[str]) -> tuple[str, int | None]:
    """What was printed until the end, and the exit code."""
    child.expect(pexpect.EOF)
    child.wait()
    return child.before or "", child.exitstatus


# --- pipes -------------------------------------------------------------------------------------------


@contextmanager
def follower(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The program with pipes; it does not outlive the test."""
    command = [*PROGRAM, "follow", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, encoding="utf-8") as process:
        try:
            yield process
        finally:
            process.kill()


def lines_until(process: subprocess.Popen[str], words: str) -> list[str]:
    lines = []
    for line in process.stdout or ():
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(lines)


def test_in_a_pipe_what_is_appended_is_printed_at_once(live: Live) -> None:
    with follower(*live.where) as process:
        assert lines_until(process, "engine") == ["❯ Start the engine\n"]
        live.say("It runs.")
        assert lines_until(process, "It runs.") == ["\n", "● It runs.\n"]
        live.path.unlink()
        assert "the session: it was deleted" in (process.stderr or iter(())).readline()  # type: ignore[union-attr]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "")


def test_at_the_end_it_is_told_what_could_not_be_read(live: Live) -> None:
    with follower(*live.where) as process:
        lines_until(process, "engine")
        with live.path.open("ab") as file:
            file.write(live.session.raw(b"{broken\n").line({"type": "novelty"}).flush())
        live.say("It runs.")
        lines_until(process, "It runs.")
        process.send_signal(signal.SIGINT)
        warnings = process.communicate(timeout=PATIENCE)[1].splitlines()
    assert process.returncode == 130
    assert "1 malformed place skipped, the first in line 2" in warnings[0]
    assert "1 record of unknown type 'novelty' not shown, the first in line 3" in warnings[1]


def test_all_of_them_in_a_pipe_are_a_line_for_each_change(live: Live) -> None:
    with follower("--all", *live.where) as process:
        (first,) = lines_until(process, "\n")
        assert re.match(r"\d\d:\d\d:\d\d  1f2e3d4c  engine  thinking +prompt", first)
        live.say("It runs.")
        assert "1f2e3d4c  engine  waits for you" in lines_until(process, "\n")[0]
        live.path.unlink()
        assert "1f2e3d4c  engine  gone" in lines_until(process, "\n")[0]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130


def test_in_a_pipe_there_is_what_runs_and_what_it_cost_but_no_bell(live: Live) -> None:
    with follower("--all", "--bell", *live.where) as process:
        lines_until(process, "thinking")
        live.add(live.session.response(call("Bash", "b", command="mix test", description="Test")))
        assert re.search(r"running +Bash: mix test  no result for [\w ]+; running, or", lines_until(process, "\n")[0])
        live.add(live.session.result("b").response(text("Done.")).system("turn_duration", durationMs=1))
        (line,) = lines_until(process, "\n")
        assert re.search(r"waits for you  turn ended [\w ]+ ago  \d+% of 200 k  \$0\.\d\d$", line)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "")


def test_a_reader_that_has_seen_enough_ends_it(live: Live) -> None:
    with follower(*live.where) as process:
        lines_until(process, "engine")
        assert process.stdout is not None
        process.stdout.close()
        live.say("Nobody reads this.")
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_without_a_ref_the_session_is_followed_that_was_written_to_last(live: Live) -> None:
    live.store.session("a9b8c7d6-0003-4000-8000-000000000003", "Another")
    settle(live.store.root)
    agent = live.store.agent(place="subagents")
    os.utime(agent)
    with follower(*live.where) as process:
        assert lines_until(process, "\n") == ["❯ Start the engine\n"]
        process.send_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["--all", "1f2e"], "--all and REF are mutually exclusive", 2),
        (["-"], "standard input cannot be followed", 3),
        (["nothing-like-it"], "no file and none of", 7),
        (["./nothing.jsonl"], "No such file", 3),
        (["/"], "is a directory", 3),
        (["/dev/null"], "not a regular file", 3),
    ],
)
def test_a_mistake_is_told_in_one_line(live: Live, arguments: list[str], words: str, code: int) -> None:
    done = csp("follow", *arguments, *live.where, stdin=b'{"type":"user"}\n')
    assert words in done.stderr.decode()
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (code, b"", 1)


def test_an_empty_store_has_nothing_to_follow(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    done = csp("follow", "--root", store.root)
    assert (done.returncode, done.stdout) == (7, b"")
    assert b"there is no session" in done.stderr


# --- a terminal --------------------------------------------------------------------------------------


def test_on_a_terminal_a_session_is_followed_in_the_players_window(live: Live, terminal: Any) -> None:
    child = terminal("1f2e")
    child.expect_exact(NEW_SCREEN)
    child.expect_exact("engine")
    live.say("The kettle boils.")
    child.expect_exact("kettle")
    child.sendintr()
    out, code = end_of(child)
    assert OLD_SCREEN in out
    assert CURSOR in out
    assert "Traceback" not in out
    assert code == 130


@pytest.mark.parametrize("arguments", [["1f2e"], ["--all"]])
def test_q_is_the_usual_end_and_leaves_the_terminal_as_it_was(live: Live, terminal: Any, arguments: list[str]) -> None:
    child = terminal(*arguments)
    child.expect_exact("engine")
    child.send("q")
    out, code = end_of(child)
    assert OLD_SCREEN in out
    assert CURSOR in out
    assert code == 0


def test_a_session_that_is_deleted_meanwhile_is_told_and_can_be_left(live: Live, terminal: Any) -> None:
    child = terminal("1f2e")
    child.expect_exact("engine")
    live.path.unlink()
    child.expect_exact("deleted")
    child.send("q")
    assert end_of(child)[1] == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_ended_from_outside_it_leaves_the_terminal_as_it_was(live: Live, terminal: Any, number: int) -> None:
    child = terminal("--all")
    child.expect_exact("Start")
    child.kill(number)
    out, code = end_of(child)
    assert OLD_SCREEN in out
    assert code == 128 + number


def test_a_lost_terminal_ends_it(live: Live, terminal: Any) -> None:
    child = terminal("--all")
    child.expect_exact("Start")
    child.ptyproc.fileobj.close()
    child.wait()
    assert not child.isalive()
    assert child.exitstatus == 128 + signal.SIGHUP


@pytest.mark.parametrize(
    ("arguments", "what"),
    [(["1f2e", "--plain"], "something to be written to "), (["--all", "--plain"], "a session to be written to in ")],
)
def test_where_nothing_is_there_yet_it_is_said_what_is_waited_for(
    live: Live, terminal: Any, arguments: list[str], what: str
) -> None:
    live.path.write_bytes(b"")
    if "--all" in arguments:
        live.path.unlink()
    child = terminal(*arguments)
    child.expect(r"\s+".join(f"waiting for {what}".split()))
    child.expect(r"\(Ctrl-C\s+to\s+stop\)")
    live.say("It runs.")
    child.expect("It runs|1f2e3d4c  engine  waits for you")
    child.sendintr()
    assert end_of(child)[1] == 130


def test_plain_on_a_terminal_prints_in_colour_and_leaves_it_alone(live: Live, terminal: Any) -> None:
    child = terminal("1f2e", "--plain")
    child.expect_exact("engine")
    live.say("It runs.")
    child.expect_exact("It runs.")
    child.sendintr()
    out, code = end_of(child)
    assert NEW_SCREEN not in out
    assert code == 130


# --- the person's attention ----------------------------------------------------------------------------

TITLE = "\x1b]2;❯ engine waits for you\x07"
RESTORED = "\x1b]2;\x07\x1b[23;2t"


@pytest.mark.parametrize("how", [[], ["--plain"]])
def test_a_session_that_begins_to_wait_rings_and_sets_the_title_until_the_end(
    live: Live, terminal: Any, how: list[str]
) -> None:
    child = terminal("--all", *how)
    child.expect_exact("thinking")
    live.end_turn()
    child.expect_exact(TITLE)
    child.expect_exact("\a")
    live.add(live.session.prompt("Go on"))
    child.expect_exact(RESTORED)
    live.end_turn()
    child.expect_exact(TITLE)
    child.sendintr()
    out, code = end_of(child)
    assert RESTORED in out
    assert code == 130


@pytest.mark.parametrize("how", [[], ["--plain"]])
@pytest.mark.parametrize(("arguments", "tmux"), [([], "/tmp/tmux-1/default,1,0"), (["--no-bell"], "")])
def test_in_tmux_and_without_a_bell_nothing_rings(
    live: Live, terminal: Any, how: list[str], arguments: list[str], tmux: str
) -> None:
    child = terminal("--all", *how, *arguments, TMUX=tmux)
    child.expect_exact("thinking")
    live.end_turn()
    child.expect("turn ended")
    child.sendintr()
    shown = (child.before or "") + end_of(child)[0]
    assert "\a" not in shown
    assert "\x1b]2;" not in shown


def test_in_tmux_the_bell_rings_if_it_is_asked_for(live: Live, terminal: Any) -> None:
    child = terminal("--all", "--bell", TMUX="/tmp/tmux-1/default,1,0")
    child.expect_exact("thinking")
    live.end_turn()
    child.expect_exact(TITLE)


def test_a_session_that_waits_from_the_start_does_not_ring(live: Live, terminal: Any) -> None:
    live.end_turn()
    child = terminal("--all")
    child.expect_exact("turn ended")
    child.send("q")
    assert "\x1b]2;" not in (child.before or "") + end_of(child)[0]
