"""Sessions that once failed under fuzzing pass all checks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.fuzz.checks import check

FINDINGS = sorted((Path(__file__).parent / "fuzz" / "findings").glob("*.jsonl"))


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda path: path.stem)
def test_a_fuzz_finding_stays_fixed(finding: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    check(Path(shutil.copy(finding, tmp_path / "session.jsonl")))
