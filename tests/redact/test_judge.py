"""An independent judge: kingfisher finds secrets in planted sessions, and none in what was redacted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from claude_session_player.redact import Redactor
from tests import corpus
from tests.hostile.effort import sample
from tests.redact.copies import redacted
from tests.redact.garden import Garden, planted_sessions
from tests.redact.outputs import copy

MOST: Final = 2 << 20
"""Bytes of a real session that is looked at in a sample."""
_QUIET: Final = ("--no-validate", "--no-update-check", "--no-dedup", "--git-history", "none", "--confidence", "low")
"""Nothing is asked of any network."""


@cache
def judge() -> str:
    """The program; empty where it is not there, or does not run."""
    beside = Path(sys.executable).with_name("kingfisher")
    program = str(beside) if beside.exists() else shutil.which("kingfisher") or ""
    try:
        ran = subprocess.run([program, "--version"], capture_output=True, timeout=60, check=False) if program else None
    except OSError:
        return ""
    return program if ran is not None and ran.returncode == 0 else ""


pytestmark = pytest.mark.skipif(
    not judge() and os.environ.get("CI") != "true", reason="kingfisher is not installed, or does not run here"
)


def findings(folder: Path, work: Path) -> list[dict[str, Any]]:
    """What the judge finds in a directory."""
    output = work / "findings.json"
    subprocess.run(
        [judge(), "scan", str(folder), *_QUIET, "--format", "json", "--output", str(output)],
        capture_output=True,
        timeout=120,
        check=False,  # the exit code says whether there are findings
        env={**os.environ, "KF_RULE_CACHE_DIR": str(work.parent / "rules")},
    )
    found: list[dict[str, Any]] = json.loads(output.read_text())["findings"]
    return found


def described(found: list[dict[str, Any]]) -> list[str]:
    return [f"{one['rule']['id']} in line {one['finding']['line']}: {one['finding']['snippet'][:60]}" for one in found]


@pytest.fixture(scope="module")
def gardens(tmp_path_factory: pytest.TempPathFactory) -> list[Garden]:
    return list(planted_sessions(tmp_path_factory.mktemp("gardens"), 2, 5))


def test_the_judge_finds_secrets_in_planted_sessions_and_none_when_they_are_redacted(
    gardens: list[Garden], tmp_path: Path
) -> None:
    before = findings(gardens[0].root.parent.parent, tmp_path)
    kinds = Counter(one["rule"]["id"] for one in before)
    assert len(before) > 100
    assert len(kinds) > 60
    copies = tmp_path / "copies"
    for number, garden in enumerate(gardens):
        work = copies / str(number)
        work.mkdir(parents=True)
        assert list(copy(garden.root, work, ["--known", str(garden.known)]))
    assert described(findings(copies, tmp_path)) == []


def test_the_judge_finds_nothing_in_redacted_real_sessions(tmp_path: Path) -> None:
    files = [path for path in corpus.session_files() if path.stat().st_size < MOST]
    if not files:
        pytest.skip(f"there are no real sessions at {corpus.ROOT}")
    folder = tmp_path / "copies"
    folder.mkdir()
    for number, path in enumerate(sample(files, 20)):
        redacted(path, folder / f"{number}.jsonl", Redactor(reports_places=False))
    assert described(findings(folder, tmp_path)) == []
