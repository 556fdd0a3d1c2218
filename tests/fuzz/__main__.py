"""`python -m tests.fuzz --seconds 1200 --seed 7`: fuzz in one process per core."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time

from tests.fuzz.fuzzer import fuzz


def main() -> int:
    """Fuzz; the exit code is 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    print(f"fuzzing for {options.seconds:.0f} s with --seed {options.seed}", flush=True)
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        jobs = [(options.seed + number, options.seconds) for number in range(options.jobs)]
        counts = pool.starmap(fuzz, jobs)
    sessions, findings = map(sum, zip(*counts, strict=True))
    print(f"{sessions} sessions, {findings} findings", flush=True)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
