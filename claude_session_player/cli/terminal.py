"""Whether there is a terminal in which somebody can look and type."""

from __future__ import annotations

import os
import sys


def is_terminal() -> bool:
    """True where a full-screen program can run: it reads from stdin and draws on stderr; stdout is data."""
    return os.environ.get("TERM") != "dumb" and all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)
    )
