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
