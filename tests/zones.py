"""The zone of the system, changed for a while, as `TZ` changes it for a program."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def system_zone(name: str) -> Iterator[None]:
    """Let the system be in a zone."""
    before = os.environ["TZ"]
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        os.environ["TZ"] = before
        time.tzset()
