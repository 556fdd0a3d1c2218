"""The player in a real terminal: it is left as it was found, however the player ends."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pexpect
import pytest

from tests.builder import SessionBuilder, text
from tests.program import PATIENCE, PROGRAM, wait_until
from tests.stores import ONE, StoreBuilder

ALTERNATE, ORDINARY = b"\x1b[?1049h", b"\x1b[?1049l"
SHOW_CURSOR, NO_MOUSE = b"\x1b[?25h", b"\x1b[?1000l"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    made = SessionBuilder().prompt("Is the water hot?").response(text("It is **hot**."))
    return made.prompt("Thank you.").write(tmp_path / "s.jsonl")


def player(*arguments: object, rows: int = 24, columns: int = 80, **environment: str) -> pexpect.spawn[bytes]:
    settings = {**os.environ, "TERM": "xterm-256color", **environment}
    return pexpect.spawn(
        PROGRAM[0], [*PROGRAM[1:], *map(str, arguments)], env=settings, dimensions=(rows, columns), timeout=PATIENCE
    )


def ended(child: pexpect.spawn[bytes]) -> tuple[bytes, int]:
    """The last that the player said, and its exit code."""
    child.expect(pexpect.EOF)
    said = child.before or b""
    child.close()
    return said, child.exitstatus if child.exitstatus is not None else -(child.signalstatus or 0)


def is_tidy(said: bytes) -> bool:
    return ORDINARY in said and SHOW_CURSOR in said and NO_MOUSE in said and ALTERNATE not in said.split(ORDINARY)[-1]


def test_a_session_is_played_from_its_first_frame_until_somebody_quits(session: Path) -> None:
    child = player("play", session)
    child.expect_exact(ALTERNATE)
    child.expect_exact("❯".encode())
    child.expect_exact(b"Is the water hot?")
    child.send("\x1b[F")  # End
    child.expect_exact(b"Thank you.")
    child.send("q")
    said, code = ended(child)
    assert code == 0
    assert is_tidy(said)


def test_what_is_typed_fast_behind_a_slash_is_searched_for(session: Path) -> None:
    child = player("play", session)
    child.expect_exact(b"Is the water hot?")
    child.send("/ghost/g\r")
    child.expect_exact(b"No match for 'ghost/g'.")
    child.send("g3\r")
    child.expect_exact(b"Thank you.")
    child.send("q")
    assert ended(child)[1] == 0


def test_it_goes_on_by_itself_as_time_passes(session: Path) -> None:
    child = player("play", session, "--speed", "8")
    child.expect_exact(b"Thank you.")
    child.send("q")
    assert ended(child)[1] == 0


def test_scrolling_away_keeps_playing_and_end_returns(tmp_path: Path) -> None:
    made = SessionBuilder()
    for number in range(1, 81):
        made.prompt(f"Prompt {number}")
    child = player("play", made.write(tmp_path / "s.jsonl"), "--from", "40", "--speed", "8")
    child.expect_exact(b"Prompt 40")
    child.send("\x1b[5~")  # PgUp
    child.expect("↓ [0-9]+ new · End".encode())
    child.expect_exact(b"line 80/80")  # it plays on, to its end
    child.send("\x1b[F")
    child.expect_exact(b"Prompt 80")
    child.send("q")
    assert ended(child)[1] == 0


def test_escape_leads_from_the_player_to_the_list_and_q_out_of_both(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.session(ONE, "Start the engine")
    child = player("browse", "--root", store.root, "--no-cache")
    child.expect_exact(b"1 session")
    for key in ("\r", "f"):  # play, follow
        child.send(key)
        child.expect_exact(b"back")
        child.send("\x1b")
        child.expect_exact(b"1 session")
    child.send("\r")
    child.expect_exact(b"back")
    child.send("q")
    said, code = ended(child)
    assert code == 0
    assert is_tidy(said)


def test_a_session_that_nobody_writes_to_is_not_live(session: Path) -> None:
    os.utime(session, (0, 0))
    child = player("follow", session)
    child.expect_exact(b"line 3/3")
    drawn = (child.before or b"").decode()
    assert "○ idle" in drawn
    assert "● live" not in drawn
    child.send("q")
    assert ended(child)[1] == 0


def test_ctrl_c_ends_it_like_any_program(session: Path) -> None:
    child = player("play", session)
    child.expect_exact(b"Is the water hot?")
    child.send("\x03")
    said, code = ended(child)
    assert code == 130
    assert is_tidy(said)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_whoever_ends_it_from_outside_finds_the_terminal_as_it_was(session: Path, number: signal.Signals) -> None:
    child = player("play", session)
    child.expect_exact(b"Is the water hot?")
    child.kill(number)
    said, code = ended(child)
    assert code == 128 + number
    assert is_tidy(said)


def test_a_lost_connection_ends_it(session: Path) -> None:
    child = player("play", session)
    child.expect_exact(b"Is the water hot?")
    os.close(child.child_fd)
    child.ptyproc.closed = True  # type: ignore[attr-defined]
    wait_until(lambda: os.waitpid(child.pid or 0, os.WNOHANG)[0] != 0, "it ends where nobody can look")


def test_a_terminal_that_vanishes_without_a_signal_ends_it(session: Path) -> None:
    """It is not the controlling terminal of the program, so that the system sends no signal."""
    master, slave = os.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    child = subprocess.Popen([*PROGRAM, "play", str(session)], stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    said = b""
    while b"Is the water hot?" not in said:
        said += os.read(master, 4096)
    os.close(master)
    assert child.wait(PATIENCE) == 128 + signal.SIGHUP


def test_a_terminal_may_change_its_size_while_it_plays(session: Path) -> None:
    child = player("play", session)
    child.expect_exact(b"Is the water hot?")
    child.send("\x1b[F")
    for rows, columns in ((5, 20), (1, 1)):
        child.setwinsize(rows, columns)
    for rows in range(40, 40 + PATIENCE // 2):  # of several sizes at the same moment, the last may not be noticed
        child.setwinsize(rows, 120)
        if child.expect_exact([b"Thank you.", pexpect.TIMEOUT], timeout=2) == 0:
            break
    child.send("q")
    assert ended(child)[1] == 0


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "vt100"}, {"COLORFGBG": "0;15"}])
def test_terminals_of_all_kinds_will_do(session: Path, environment: dict[str, str]) -> None:
    child = player("play", session, rows=5, columns=20, **environment)
    child.expect_exact(b"Is the")
    child.send("q")
    assert ended(child)[1] == 0


def test_without_a_terminal_it_plays_as_text(session: Path) -> None:
    command = f"{' '.join(PROGRAM)} play {session} --idle 0 | cat"
    child: pexpect.spawn[bytes] = pexpect.spawn("/bin/sh", ["-c", command], timeout=PATIENCE)
    child.expect_exact(b"Thank you.")
    said, _ = ended(child)
    assert ALTERNATE not in said


def test_a_terminal_that_can_do_nothing_gets_text(session: Path) -> None:
    said, code = ended(player("play", session, "--idle", "0", TERM="dumb"))
    assert (ALTERNATE in said, b"Thank you." in said, code) == (False, True, 0)


def test_lines_that_could_not_be_read_are_told_of_when_the_terminal_is_back(session: Path) -> None:
    with session.open("ab") as file:
        file.write(b"no JSON at all\n")
    child = player("play", session)
    child.expect_exact(b"Is the water hot?")
    child.send("q")
    said, _ = ended(child)
    assert b"warning" in said.split(ORDINARY)[-1]
