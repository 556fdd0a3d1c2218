"""A walk through the player on a real terminal, with a real session where the corpus is at hand."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pexpect
import pyte
import pytest

from tests import corpus
from tests.players import teapot
from tests.program import PATIENCE, PROGRAM

WIDTH, HEIGHT = 110, 34
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[><=][0-9;]*[a-z]|\x1b\[\?[0-9;]*\$p|\x1bP[^\x1b]*\x1b\\")
"""Questions and modes that the emulator would print."""
_UNFINISHED: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[P\]][^\x1b\x07]*\x1b?)?\Z")
"""The beginning of a sequence whose end comes with the next read."""


class Walk:
    """The program on a terminal: keys go in, and the screen is read until it shows something."""

    def __init__(self, home: Path, *arguments: str) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "HOME": str(home), "TZ": "UTC"}
        for kind in ("CACHE", "DATA", "CONFIG"):
            environment[f"XDG_{kind}_HOME"] = str(home / kind)
        for name in ("NO_COLOR", "COLUMNS", "LINES", "CI"):
            environment.pop(name, None)
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        self._stream = pyte.ByteStream(self.screen)
        self._rest = b""
        self.child = pexpect.spawn(
            sys.executable, [*PROGRAM[1:], *arguments], dimensions=(HEIGHT, WIDTH), env=environment
        )

    @property
    def text(self) -> str:
        """What the terminal shows."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, holds: Callable[[str], object]) -> str:
        """Read what the program writes until the screen is as it should be."""
        limit = time.monotonic() + PATIENCE
        while not holds(self.text):
            assert time.monotonic() < limit, f"waited in vain:\n{self.text}"
            try:
                data: bytes = self.child.read_nonblocking(1 << 16, timeout=0.1)  # type: ignore[assignment]
            except pexpect.TIMEOUT:
                continue
            data = self._rest + data
            unfinished = _UNFINISHED.search(data)
            end = unfinished.start() if unfinished else len(data)
            self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data[:end]))
            self._rest = data[end:]
        return self.text

    def press(self, keys: str, shows: str) -> str:
        """Press keys, and wait until the screen shows some words."""
        self.child.send(keys)
        return self.until(lambda text: shows in text)

    def leave(self) -> int | None:
        """Quit; gives the exit code."""
        self.child.send("q")
        self.child.expect(pexpect.EOF, timeout=PATIENCE)
        self.child.close()
        return self.child.exitstatus


END, ESCAPE, LEFT = "\x1b[F", "\x1b", "\x1b[D"


def test_a_walk_through_the_player_on_a_real_terminal(tmp_path: Path) -> None:
    walk = Walk(tmp_path, "play", str(teapot().write(tmp_path / "tea.jsonl")), "--idle", "0")
    walk.until(lambda text: "The bell of my tea timer" in text)
    assert "● Edit  timer.py  +1  −2" in walk.press(END, "● You are welcome.")
    assert "test 8 of the kettle" in walk.press("e", "test 8 of the kettle")
    walk.press("E", "+4 lines")
    walk.press("v", "● Bash(Run the tests)")
    walk.press("v", "● Bash  Run the tests")
    chapters = walk.press("c", "Chapters")
    assert "Thank you." in chapters
    walk.press("bell\r", "1 of ")
    walk.press("]e", "✗ Read")
    walk.child.send("m[d")  # in one read
    walk.until(lambda text: "▌● Edit" in text and "highlights" in text)
    walk.child.send("m]e")
    walk.until(lambda text: "▌✗ Read" in text and "highlights" not in text)
    walk.press("m", "highlights")
    walk.press("m", "no such file")
    assert "Play" in walk.press("?", "next or previous frame")
    walk.press(ESCAPE, "")
    walk.until(lambda text: "next or previous frame" not in text)
    assert walk.leave() == 0


def test_the_player_continues_where_it_was_left(tmp_path: Path) -> None:
    path = str(teapot().write(tmp_path / "tea.jsonl"))
    first = Walk(tmp_path, "play", path, "--idle", "none", "--from", "7")
    first.until(lambda text: "line 7/13" in text)
    assert first.leave() == 0
    again = Walk(tmp_path, "play", path, "--idle", "none", "--resume-here")
    assert "Continued at line 7" in again.until(lambda text: "Continued at line 7" in text)
    assert again.leave() == 0


@pytest.mark.skipif(not corpus.STORE.is_dir(), reason="the corpus is not at hand")
def test_a_walk_through_a_real_session(tmp_path: Path) -> None:
    path = max(corpus.STORE.glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_size)
    walk = Walk(tmp_path, "play", str(path), "--from", "40%")
    walk.until(lambda text: "●" in text and "context" in text)
    walk.press(" ", "play")
    walk.press(LEFT, "❚❚")
    walk.press("]d", "")
    walk.until(lambda text: re.search("▌[●✗] (Edit|Write)", text))
    walk.press("\r", "Enter fold")
    walk.press("\r", "Enter unfold")
    walk.press("]e", "✗ ")
    walk.press("c", "type to filter")
    walk.press(ESCAPE, "")
    walk.until(lambda text: "type to filter" not in text)
    walk.press("v", "screen")
    walk.press("v", "● ")
    walk.press(END, "100%")
    assert "internal error" not in walk.text
    assert walk.leave() == 0
