"""Full-screen windows of the real program on a real pseudo-terminal, to which any bytes can be typed."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import Final

from tests.program import PATIENCE, PROGRAM, is_asleep, unread

NEW_SCREEN, OLD_SCREEN, CURSOR = b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?25h"
_MARK: Final = b"<the end of what was written>"
_ESCAPE_DELAY: Final = 20
"""Milliseconds after which Escape is a key by itself, and not the beginning of another one."""
_QUIET: Final = 0.1
_LOOK: Final = 0.01


class Window:
    """The program on a terminal of its own."""

    def __init__(
        self, *command: str | Path, program: list[str] = PROGRAM, cwd: Path | None = None, **environment: str
    ) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 110, 0, 0))
        self.settings = termios.tcgetattr(slave)
        self._slave = slave
        self.output = b""
        """What was written since the words that were waited for last."""
        self.everything = b""
        self.process = subprocess.Popen(
            [*program, *map(str, command)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env={**os.environ, "TERM": "xterm-256color", "ESCDELAY": str(_ESCAPE_DELAY), **environment},
            start_new_session=True,
        )

    def type(self, data: bytes) -> None:
        """Type bytes as fast as the program reads them, while its output is taken in."""
        until = time.monotonic() + PATIENCE
        while data and time.monotonic() < until and self.process.poll() is None:
            readable, writable, _ = select.select([self.master], [self.master], [], 0.2)
            if readable:
                self._read()
            if writable:
                data = data[os.write(self.master, data[:512]) :]

    def until(self, words: str | bytes) -> None:
        """Wait until something was drawn since the last time."""
        wanted = words.encode() if isinstance(words, str) else words
        until = time.monotonic() + PATIENCE
        while wanted not in self.output:
            assert time.monotonic() < until, (wanted, self.output[-3000:])
            self._take_in(0.2)
        self.output = self.output[self.output.index(wanted) + len(wanted) :]

    def until_it_draws_or_ends(self) -> None:
        """Wait until its screen is there and at rest, or there will be none."""
        until = time.monotonic() + PATIENCE
        while NEW_SCREEN not in self.everything and self.process.poll() is None:
            assert time.monotonic() < until, self.everything[-2000:]
            self._take_in(_LOOK)
        self.rest()

    def rest(self, seconds: float = _QUIET) -> None:
        """Wait until it has read all that was typed, and for so long has drawn nothing and had nothing to do.

        A program that waits for the processor has something to do: a busy machine makes this longer, and never shorter.
        """
        until = time.monotonic() + PATIENCE
        quiet = 0.0
        while quiet < seconds and self.process.poll() is None:
            assert time.monotonic() < until, "it never comes to rest"
            quiet = 0.0 if self._take_in(_LOOK) or self._is_busy() else quiet + _LOOK

    def press(self, keys: bytes) -> None:
        """Press one key after the other, each when the one before has done what it does."""
        for key in keys:
            self.type(bytes((key,)))
            self.rest()

    def end(self) -> int:
        """Wait for the end; gives the exit code."""
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < until, ("it does not end", self.output[-2000:])
            self._take_in(0.05)
        self._drain()
        return self.process.returncode

    def is_restored(self) -> bool:
        """True where the terminal is as it was before."""
        own = termios.tcgetattr(self._slave)
        return own[:4] == self.settings[:4] and self.output.rfind(OLD_SCREEN) > self.output.rfind(NEW_SCREEN)

    def close(self) -> None:
        """End it in any case."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.master)
        os.close(self._slave)

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_busy(self) -> bool:
        """True where something that was typed is not read, or a thread has or wants a processor."""
        return bool(unread(self._slave)) or not is_asleep(self.process.pid)

    def _drain(self) -> None:
        """Take in all that was written: a terminal passes on in order, but on a busy machine late."""
        left = _MARK
        until = time.monotonic() + PATIENCE
        while not self.output.endswith(_MARK):
            assert time.monotonic() < until, ("the terminal passes nothing on", self.output[-2000:])
            _, writable, _ = select.select([], [self._slave] if left else [], [], 0)
            if writable:
                left = left[os.write(self._slave, left) :]
            self._take_in(0.05)
        self.output = self.output.removesuffix(_MARK)
        self.everything = self.everything.removesuffix(_MARK)

    def _take_in(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], seconds)
        return bool(ready) and self._read()

    def _read(self) -> bool:
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.output += data
        self.everything += data
        return bool(data)
