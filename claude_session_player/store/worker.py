"""A process that reads session files for another one: jobs come on stdin, results go to stdout, both pickled."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from importlib import import_module


def main(module: str, function: str) -> None:
    """Do with each job what a function of a module does, until stdin is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this process ends it, too
    gc.disable()
    work = getattr(import_module(module), function)
    jobs, results = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            portion = pickle.load(jobs)
        except EOFError:
            os._exit(0)  # there is nothing to tidy up
        pickle.dump([work(job) for job in portion], results)
        results.flush()
