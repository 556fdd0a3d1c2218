"""`python -m tests.fuzz --seconds 1200 --seed 7`: fuzz in as many processes as there are cores."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time

from tests.fuzz.fuzzer import fuzz


def main() -> int:
    """The exit code is 1 where anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    print(f"fuzzing for {options.seconds:.0f} s with --seed {options.seed}", flush=True)
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        jobs = [(options.seed + number, options.seconds) for number in range(options.jobs)]
        done = pool.starmap(fuzz, jobs)
    tried, found = map(sum, zip(*done, strict=True))
    print(f"{tried} sessions, {found} findings", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
