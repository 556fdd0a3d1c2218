"""Tries one session after another: some that hypothesis invents, and some that are mutated.

What fails is made as small as it can be, and kept: sessions that were built here in tests/fuzz/findings, where a test
looks at them from then on, and those that were made of real ones in .fuzz, which is never committed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st
from hypothesis.errors import Flaky

from tests import corpus
from tests.fuzz.checks import check
from tests.fuzz.mutations import Lines, mutate
from tests.hostile import sessions
from tests.test_properties import records

FINDINGS: Final = Path(__file__).parent / "findings"
_PRIVATE: Final = Path(".fuzz")
_LARGEST: Final = 100_000
"""Real sessions above this size are left out: many small ones find more."""
_EXAMPLES: Final = 40
"""How many sessions hypothesis invents before the mutations have their turn."""


class Fuzzer:
    """One process that tries one session after another until its time is over."""

    def __init__(self, number: int, seconds: float) -> None:
        self._number = number
        self._chance = random.Random(number)
        self._end = time.monotonic() + seconds
        self.tried = 0
        self.found: set[str] = set()

    def run(self) -> None:
        """Take turns."""
        with tempfile.TemporaryDirectory() as folder:
            os.environ.update(HOME=folder, XDG_CACHE_HOME=folder, XDG_DATA_HOME=folder)
            os.environ.pop("CLAUDE_CONFIG_DIR", None)
            path = Path(folder, "session.jsonl")
            turn = 0
            while time.monotonic() < self._end:
                self._invented(path, turn)
                self._mutated(path)
                turn += 1

    def _mutated(self, path: Path) -> None:
        real = [file for file in corpus.session_files() if file.stat().st_size < _LARGEST]
        built = b"".join(json_lines(sessions.records()))
        for _ in range(_EXAMPLES):
            if time.monotonic() >= self._end:
                return
            is_real = bool(real) and self._chance.random() < 0.7
            data = self._chance.choice(real).read_bytes() if is_real else built
            lines = mutate(io.BytesIO(data).readlines() or [b""], self._chance)
            if (problem := self._problem(lines, path)) is not None:
                self._keep(problem, self._smaller(lines, problem, path), _PRIVATE if is_real else FINDINGS)

    def _invented(self, path: Path, turn: int) -> None:
        lines: Lines = []

        @seed(self._number * 1_000_000 + turn)
        @settings(
            max_examples=_EXAMPLES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
        )
        @given(st.lists(records, min_size=1, max_size=12))
        def holds(made: list[dict[str, object]]) -> None:
            if time.monotonic() >= self._end:
                return
            lines[:] = json_lines(made)
            problem = self._problem(lines, path)
            assert problem is None, problem

        try:
            holds()
        except (AssertionError, Flaky, BaseExceptionGroup) as error:  # when the time is over, nothing fails any more
            self._keep(str(error), lines, FINDINGS)

    def _problem(self, lines: Lines, path: Path) -> str | None:
        self.tried += 1
        path.write_bytes(b"".join(lines))
        try:
            check(path)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}"[:300]
        return None

    def _smaller(self, lines: Lines, problem: str, path: Path) -> Lines:
        """Leave out lines, many at a time and then one at a time, as long as the same kind of thing goes wrong."""
        size = len(lines) // 2
        while size:
            start = 0
            while start < len(lines):
                fewer = lines[:start] + lines[start + size :]
                found = self._problem(fewer, path) if fewer else None
                if found is not None and found.split(":")[:2] == problem.split(":")[:2]:
                    lines = fewer
                else:
                    start += size
            size //= 2
        return lines

    def _keep(self, problem: str, lines: Lines, folder: Path) -> None:
        place = ":".join(problem.split(":")[:2])
        if place in self.found:
            return
        self.found.add(place)
        folder.mkdir(parents=True, exist_ok=True)
        data = b"".join(lines)
        path = folder / f"{hashlib.sha256(data).hexdigest()[:12]}.jsonl"
        path.write_bytes(data)
        print(f"{path}: {problem}", file=sys.stderr, flush=True)


def json_lines(made: list[dict[str, object]]) -> Lines:
    """Records as the lines of a file."""
    return [json.dumps(record).encode() + b"\n" for record in made]


def fuzz(number: int, seconds: float) -> tuple[int, int]:
    """Fuzz for so long with this seed; gives how many sessions were tried and how many problems found."""
    fuzzer = Fuzzer(number, seconds)
    fuzzer.run()
    return fuzzer.tried, len(fuzzer.found)
