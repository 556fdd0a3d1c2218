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

from tests.program import PROGRAM

PATIENCE: Final = 30.0
NEW_SCREEN, OLD_SCREEN, CURSOR = b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?25h"
_MARK: Final = b"<the end of what was written>"


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
            env={**os.environ, "TERM": "xterm-256color", **environment},
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

    def until(self, words: str | bytes, seconds: float = PATIENCE) -> None:
        """Wait until something was drawn since the last time."""
        wanted = words.encode() if isinstance(words, str) else words
        until = time.monotonic() + seconds
        while wanted not in self.output:
            assert time.monotonic() < until, (wanted, self.output[-3000:])
            self._take_in(0.2)
        self.output = self.output[self.output.index(wanted) + len(wanted) :]

    def rest(self, seconds: float = 0.2) -> None:
        """Let it draw until nothing is drawn for so long."""
        until = time.monotonic() + PATIENCE
        while self._take_in(seconds):
            assert time.monotonic() < until, "it never comes to rest"

    def end(self, seconds: float = PATIENCE) -> int:
        """Wait for the end; gives the exit code."""
        until = time.monotonic() + seconds
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
