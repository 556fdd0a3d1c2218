"""Audits of generated and real stores for secrets, compared to decoding all of their lines."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from bench.measure import Row, best_times, ordinary_environment
from bench.search_store import write_search_store
from tests import corpus

_MEGABYTE: Final = 1_000_000
_SECONDS: Final = 0.02
_MEGABYTES: Final = 240
_FILES: Final = 400
_ROUNDS: Final = 3


def measure_secrets(folder: Path, program: str) -> Iterator[Row]:
    """Audit a store of 240 MB and the real sessions, if there are any; the memory must not grow with the store."""
    large = write_search_store(folder / "large", _MEGABYTES, _FILES)
    small = write_search_store(folder / "small", _MEGABYTES / 4, _FILES // 4)
    command = [program, "secrets", "--all", "--no-cache", "--root"]
    for root, name in ((large, "generated"), (corpus.STORE, "real")):
        if not root.exists():
            print(f"secrets of real sessions: skipped, there is no store in {root}")
            continue
        lines = [line for path in root.rglob("*.jsonl") for line in path.read_bytes().splitlines()]
        ours, loads = best_times(_ROUNDS, _audit([*command, str(root)]), _decoding(lines))
        size = sum(map(len, lines)) / _MEGABYTE
        details = f"{ours * 1000:.0f} ms, {loads * 1000:.0f} ms"
        yield Row(
            f"secrets --all of {size:.0f} MB, {name}", "json.loads, one core", loads / ours, 0.7, "×", details=details
        )
    low, high = (peak_of_tree([*command, str(root)]) for root in (small, large))
    details = f"{high / _MEGABYTE:.0f} MB, {low / _MEGABYTE:.0f} MB"
    above = (high - low) / _MEGABYTE
    yield Row(f"secrets of {_MEGABYTES} MB: memory above", "that for a quarter", above, 40, "MB", False, details)


def _audit(command: list[str]) -> Callable[[], object]:
    """A job that runs the command, which exits with 1 if it finds something."""
    silent = subprocess.DEVNULL
    return lambda: subprocess.run(command, stdout=silent, stderr=silent, check=False, env=ordinary_environment())


def _decoding(lines: list[bytes]) -> Callable[[], None]:
    def decode() -> None:
        for line in lines:
            try:
                json.loads(line)
            except ValueError:
                continue

    return decode


def peak_of_tree(command: list[str]) -> int:
    """The most resident memory that a process and its children had at a time, in bytes; 0 where it is not known."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ordinary_environment()
    )
    peak = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, _memory_of(process.pid))
            time.sleep(_SECONDS)

    watcher = threading.Thread(target=watch)
    watcher.start()
    process.wait()
    done.set()
    watcher.join()
    return peak


def _memory_of(pid: int) -> int:
    """The proportional memory of a process and of its children."""
    if sys.platform != "linux":
        return 0
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        children = [
            one for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()
        ]
    except OSError:
        return 0
    own = next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
    return own * 1024 + sum(_memory_of(int(child)) for child in children)
