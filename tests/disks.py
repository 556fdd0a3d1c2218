"""Small disks that can be full or read-only, where the machine allows to mount some."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def disk(place: Path, size: str = "4m") -> Iterator[Path]:
    """An empty file system at a directory; the test is skipped where none can be mounted."""
    place.mkdir(parents=True, exist_ok=True)
    if not _done("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place):
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        _done("umount", place)


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Let nobody write to a disk."""
    assert _done("mount", "-o", "remount,ro", place)
    try:
        yield
    finally:
        _done("mount", "-o", "remount,rw", place)


def _done(*command: str | Path) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
