"""Tests use neither the stores, archive and cache of whoever runs them, nor their terminal's taste and time zone."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from hypothesis import settings

from tests.hostile.effort import IS_FULL

_TASTE = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLORFGBG", "COLUMNS", "LINES")
for _name in (*_TASTE, *(name for name in os.environ if name.startswith("TEXTUAL"))):
    os.environ.pop(_name, None)  # before anything is imported that looks at them
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs that tests start would ignore it, too

settings.register_profile("sample", deadline=None, max_examples=40)  # work is counted, not timed
settings.register_profile("full", deadline=None)
settings.load_profile("full" if IS_FULL else "sample")


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: many tests wait for a terminal, a shell or another process."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True, scope="session")
def _own_places(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    patch = pytest.MonkeyPatch()
    patch.setenv("HOME", str(home))
    patch.setenv("USERPROFILE", str(home))  # the same on Windows
    patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    patch.setenv("XDG_DATA_HOME", str(home / "data"))
    patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    patch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert Path.home() == home
