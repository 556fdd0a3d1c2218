"""Measure jobs: the best of several rounds, with all jobs in turn, so that noise affects them alike."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import pexpect

_TERMINAL: Final = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}


@dataclass(frozen=True)
class Row:
    """One line of the report: a measured value, its reference and its target."""

    job: str
    reference: str
    value: float
    target: float
    unit: str
    more_is_better: bool = True
    details: str = ""

    @property
    def is_met(self) -> bool:
        """True if the value meets the target."""
        return self.value >= self.target if self.more_is_better else self.value <= self.target

    def __str__(self) -> str:
        bound = "at least" if self.more_is_better else "at most"
        verdict = "met" if self.is_met else "MISSED"
        head = f"{self.job:<44} {self.value:8.2f} {self.unit:<4} {bound} {self.target:<5g} {verdict:<7}"
        return f"{head} compared to {self.reference}  [{self.details}]"


class Moment(NamedTuple):
    """A reading of the clock at the moment that counts."""

    seconds: float


def best_times(rounds: int, *jobs: Callable[[], object]) -> list[float]:
    """The shortest time of each job, in seconds. A job that gives a `Moment` ended then; what it did later is free."""
    best = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for number, job in enumerate(jobs):
            gc.collect()
            start = time.perf_counter()
            result = job()
            end = result.seconds if isinstance(result, Moment) else time.perf_counter()
            best[number] = min(best[number], end - start)
    return best


def best_process_times(rounds: int, *commands: list[str]) -> list[float]:
    """The shortest time of each command, including the start of its process, in seconds."""
    return best_times(rounds, *[process(command) for command in commands])


def process(command: list[str]) -> Callable[[], object]:
    """A job that runs a command in a process."""
    return lambda: subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=ordinary_environment()
    )


def until_shown(command: list[str], words: str) -> Callable[[], Moment]:
    """A job that runs a full-screen command on a terminal until it shows these words.

    It ends with the words: closing the terminal is none of the command's time, and pexpect sleeps for 0.2 s there.
    """

    def run() -> Moment:
        child = pexpect.spawn(command[0], command[1:], env={**ordinary_environment(), **_TERMINAL}, dimensions=(24, 80))
        try:
            child.expect_exact(words.encode(), timeout=30)
            return Moment(time.perf_counter())
        finally:
            child.close(force=True)

    return run


def ordinary_environment() -> dict[str, str]:
    """The environment without variables for Python, so that compiled modules are cached as usual."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def peak_memory(*command: str) -> int:
    """The peak resident memory of a process, in bytes."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    kilobytes = int(done.stdout)
    return kilobytes if sys.platform == "darwin" else kilobytes * 1024
