"""A process that digests session files for another one: jobs come on stdin, results go to stdout, both pickled."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys

from claude_session_player.store.digest import digest


def main() -> None:
    """Work until stdin is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this process ends it, too
    gc.disable()
    jobs, results = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            portion = pickle.load(jobs)
        except EOFError:
            os._exit(0)  # there is nothing to tidy up
        pickle.dump([digest(job) for job in portion], results)
        results.flush()
