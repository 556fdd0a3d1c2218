"""`browse` on a real terminal, and where there is none."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pexpect
import pytest

from tests.program import PATIENCE, PROGRAM, csp, told_on_terminal
from tests.stores import ONE, TWO, StoreBuilder, settle

ENTERED, LEFT = "\x1b[?1049h", "\x1b[?1049l"
CURSOR_SHOWN, MOUSE_OFF = "\x1b[?25h", "\x1b[?1003l"


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    builder = StoreBuilder(tmp_path / "store")
    builder.session(ONE, "Start the engine")
    builder.session(TWO, "Boil water", days=1)
    settle(builder.root)
    return builder


def started(*arguments: str, root: Path, size: tuple[int, int] = (24, 80)) -> pexpect.spawn:  # type: ignore[type-arg]
    """The program on a terminal of its own."""
    environment = {**os.environ, "TERM": "xterm-256color", "CLAUDE_CONFIG_DIR": str(root)}
    command = [*PROGRAM, *arguments]
    child = pexpect.spawn(
        command[0], command[1:], env=environment, dimensions=size, encoding="utf-8", timeout=PATIENCE, echo=False
    )
    child.expect_exact(ENTERED)
    return child


def ended(child: pexpect.spawn) -> str:  # type: ignore[type-arg]
    """What the program wrote until its end."""
    child.expect(pexpect.EOF)
    child.close()
    return child.before or ""


def is_tidy(written: str) -> bool:
    """True where the terminal is as it was found."""
    return all(sign in written for sign in (LEFT, CURSOR_SHOWN, MOUSE_OFF)) and "Traceback" not in written


@pytest.mark.parametrize("arguments", [["browse"], []])
def test_a_session_is_found_in_a_terminal_which_is_left_as_it_was(builder: StoreBuilder, arguments: list[str]) -> None:
    child = started(*arguments, root=builder.root)
    child.expect_exact("Start the engine")
    child.send("/boil")
    child.expect_exact("1 of 2 sessions")
    child.send("\x1b")
    child.expect_exact("Start the engine")
    child.send("q")
    written = ended(child)
    assert is_tidy(written)
    assert child.exitstatus == 0


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGHUP, 128 + signal.SIGHUP)]
)
def test_the_terminal_is_left_as_it_was_when_the_program_is_ended(
    builder: StoreBuilder, number: int, code: int
) -> None:
    child = started("browse", root=builder.root)
    child.expect_exact("Start the engine")
    child.kill(number)
    assert is_tidy(ended(child))
    assert child.exitstatus == code


def test_ctrl_c_ends_it_like_any_other_program(builder: StoreBuilder) -> None:
    child = started("browse", "engine", root=builder.root, size=(5, 20))
    child.expect_exact("Start the engine")
    child.send("\x03")
    assert is_tidy(ended(child))
    assert child.exitstatus == 128 + signal.SIGINT


def test_without_a_terminal_another_command_is_named(builder: StoreBuilder) -> None:
    done = csp("browse", "--root", builder.root)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().startswith("claude-session-player: browse needs a terminal: use 'list'")
    assert done.stderr.count(b"\n") == 1


def test_a_store_that_is_none_is_told_before_the_terminal_is_taken(tmp_path: Path) -> None:
    written, code = told_on_terminal("browse", "--root", str(tmp_path), typed="")
    assert code == 6
    assert ENTERED not in written
    assert "not a Claude store" in " ".join(written.split())


def test_the_bare_command_shows_the_help_where_nobody_can_browse(builder: StoreBuilder) -> None:
    piped = csp(CLAUDE_CONFIG_DIR=str(builder.root))
    assert piped.returncode == 0
    assert piped.stdout.startswith(b"Usage: claude-session-player")


def test_browse_without_a_store_offers_the_demo(tmp_path: Path) -> None:
    written, code = told_on_terminal("browse", typed="", CLAUDE_CONFIG_DIR=str(tmp_path / "nothing"))
    assert code == 6
    assert ENTERED not in written
    assert " ".join(written.split()).endswith("claude-session-player demo --play")
