"""Whatever is typed into a window, it neither ends nor hangs; and `q` ends it with 0."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from tests.builder import START
from tests.hostile.effort import pick, sample
from tests.hostile.windows import Window
from tests.stores import StoreBuilder

SEED = 20260713

LEAVE: Final = b"\x1b\x1bq"
"""Escape may first empty a filter, and then close what it is in."""
WINDOWS: dict[str, tuple[list[str], bytes]] = {
    "play": (["play", "1f2e"], b""),
    "follow": (["follow", "1f2e"], b""),
    "browse": (["browse"], b""),
    "follow --all": (["follow", "--all"], b""),
    "help": (["play", "1f2e"], b"?"),
    "details": (["play", "1f2e"], b"\r"),
    "search": (["play", "1f2e"], b"/"),
    "go to": (["play", "1f2e"], b":"),
    "filter": (["browse"], b"/"),
    "projects": (["browse"], b"p"),
    "summary": (["browse"], b"v"),
    "export": (["browse"], b"e"),
    "player over browse": (["browse"], b"\r"),
}
"""A command, and what is typed to get to a window."""


def noise() -> Iterator[bytes]:
    """Bytes that no keyboard sends."""
    yield b"\xff"
    yield b"\x80\xbf\xc0\xc1\xf5\xfe"
    yield b"\xe2\x82"  # the beginning of a sign
    yield bytes(range(0x80, 0x100))
    yield b"\xed\xa0\x80\xf8\x88\x80\x80\x80"
    yield b"\0\0\0"
    yield b"\x1b[200~" + b"pasted \xff\xfe words " * 500 + b"\x1b[201~"
    yield b"\x1b[<0;99999999999999999999;1M\x1b[<64;1;1M\x1b[<0;0;0m"
    yield b"\x1b[?2048;0$y\x1b[48;1;1;1;1t\x1b[99;99R\x1b[?1;2c"
    yield b"\x1b]52;c;AAAA\x07\x1bP1$r0m\x1b\\\x1b_Gi=1\x1b\\"
    yield b"\x1b[27;5;99999999~\x1b[1114112u\x1b[55296u\x1b[;;;;u\x1b[1;1:9u"
    yield b"\x1b[" + b"1" * 3000 + b"~"
    yield b"\x1bO\x1b[[\x1b[\x1b"
    yield b"\x1b[O"  # the terminal is in the background
    chance = random.Random(SEED)
    for _ in range(pick(1, 40)):
        pieces = [
            b"\x1b[",
            b"\x1b",
            b";",
            b"<",
            b"M",
            b"u",
            b"~",
            b"9" * 30,
            b"\xff",
            b"\0",
            b"-1",
            b"\x9b",
            b"?",
            b"$y",
        ]
        yield b"".join(chance.choice(pieces) for _ in range(60)).replace(b"\x03", b"")


NEUTRAL = b"\x1b[201~\x07"
"""Ends a paste, and any string that a terminal sends."""


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    store = StoreBuilder(tmp_path / "store")
    store.session(days=(datetime.now(UTC) - START).days)  # else it would count as restored
    return store


@pytest.mark.parametrize("name", sample(list(WINDOWS), 5))
def test_bytes_that_are_no_keys_neither_end_nor_hang_a_window(store: StoreBuilder, name: str) -> None:
    command, way = WINDOWS[name]
    with Window(*command, "--root", store.root, "--no-cache") as window:
        window.until("engine")
        window.rest()
        window.press(way)
        for data in noise():
            window.type(data + NEUTRAL)
            assert window.process.poll() is None, (data, window.output)
        window.rest()
        assert window.process.poll() is None, window.output[-2000:]
        window.press(6 * LEAVE)  # some of it may have opened other windows
        assert window.end() == 0
        assert window.is_restored()
        assert b"Traceback" not in window.output


CRASH = """
import sys, time
from claude_session_player.tui import player
from textual.drivers import linux_driver

class SlowTerminal:
    def __init__(self, file):
        self.fileno, self.flush = file.fileno, file.flush
        self.write = lambda text: (time.sleep(0.02), file.write(text))

class SlowWriter(linux_driver.WriterThread):
    def __init__(self, file):
        super().__init__(SlowTerminal(file))

linux_driver.WriterThread = SlowWriter

def crash(self, *args):
    raise KeyError("a mistake \\x1b[31m of the program")

setattr(player.PlayerScreen, sys.argv.pop(1), crash)
from claude_session_player.cli import main
main()
"""


@pytest.mark.parametrize("method", ["on_mount", "tick", "_describe", "on_unmount"])
def test_a_window_that_crashes_restores_the_terminal_and_says_so_in_one_line(store: StoreBuilder, method: str) -> None:
    program = [sys.executable, "-c", CRASH, method]
    with Window("play", "1f2e", "--root", store.root, "--no-cache", program=program) as window:
        if method in ("_describe", "on_unmount"):
            window.until("engine")
            window.type(b"q")
        code = window.end()
        _, _, after = window.output.rpartition(b"\x1b[?1049l")
        assert window.is_restored()
        assert b"Traceback" not in window.output
        if method != "_describe":
            assert code == 1
            assert b"a mistake" in after
            assert b"\x1b[31m" not in after
