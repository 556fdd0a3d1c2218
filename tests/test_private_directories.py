"""What is put aside while a command runs is removed, however the command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builder import SessionBuilder
from tests.program import PATIENCE, not_measured, wait_until

pytestmark = not_measured


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_redacted_copy_is_removed_when_the_command_is_told_to_end(number: signal.Signals, tmp_path: Path) -> None:
    path = SessionBuilder().prompt("Make tea").write(tmp_path / "s.jsonl")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    code = f"""
import time
from claude_session_player.cli import export, run
export.export.write_session = lambda *rest, **more: time.sleep(600)
run(["export", {str(path)!r}])
"""
    with subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(scratch)}) as running:
        wait_until(lambda: list(scratch.rglob("*.jsonl")) != [], "the copy was made")
        running.send_signal(number)
        running.wait(PATIENCE)
    assert os.listdir(scratch) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_what_came_from_standard_input_is_removed_when_the_command_is_told_to_end(
    number: signal.Signals, tmp_path: Path
) -> None:
    path = SessionBuilder().prompt("Make tea").write(tmp_path / "s.jsonl")
    scratch, copies = tmp_path / "scratch", tmp_path / "copies"
    scratch.mkdir()
    copies.mkdir()
    code = f"""
import time
from claude_session_player.cli import run
from claude_session_player.redact import written_copy
written_copy.copy_redacted = lambda *rest: time.sleep(600)
run(["redact", "-", "-o", {str(copies / "tea.jsonl")!r}])
"""
    environ = {**os.environ, "TMPDIR": str(scratch)}
    with path.open("rb") as file, subprocess.Popen([sys.executable, "-c", code], env=environ, stdin=file) as running:
        wait_until(lambda: os.listdir(copies) != [] and list(scratch.rglob("*.jsonl")) != [], "it was read")
        running.send_signal(number)
        running.wait(PATIENCE)
    assert (os.listdir(scratch), os.listdir(copies)) == ([], [])
