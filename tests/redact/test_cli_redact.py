"""`--redact` and `redact` on the command line: what people see, and what is left behind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.builder import SessionBuilder
from tests.program import csp

ID = "aaaaaaaa-1111-4111-8111-111111111111"
OTHER = "bbbbbbbb-1111-4111-8111-111111111111"
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
PROJECT = "-srv-teapot"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store with one session that says a token."""
    root = tmp_path / "store"
    path = root / "projects" / PROJECT / f"{ID}.jsonl"
    session(path, f"Make tea with {TOKEN}")
    os.utime(path, (10**9, 10**9))  # it is not in use
    return root


def session(path: Path, *prompts: str) -> Path:
    builder = SessionBuilder()
    for prompt in prompts:
        builder.prompt(prompt)
    path.parent.mkdir(parents=True, exist_ok=True)
    return builder.write(path)


# --- archives -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_place", [True, False], ids=["--archive", "--archived"])
@pytest.mark.parametrize(
    "words",
    [
        ["export", ID],
        ["show", ID, "--redact"],
        ["replay", ID, "--redact"],
        ["get", ID, "--line", "1", "--redact"],
        ["find", "tea", "--redact"],
        ["find", "tea", "--redact", "--show"],
    ],
    ids=" ".join,
)
def test_an_archived_session_is_redacted(
    words: list[str], has_place: bool, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    place = ["--archive", str(tmp_path / "archive")] if has_place else []
    assert csp("archive", "add", ID, *place, "--root", root).returncode == 0
    done = csp(*words, *(place or ["--archived"]))
    assert (done.returncode, b"Make tea with [github-" in done.stdout) == (0, True), done
    assert TOKEN.encode() not in done.stdout + done.stderr


def test_an_archived_session_is_copied(root: Path, tmp_path: Path) -> None:
    place = ["--archive", str(tmp_path / "archive")]
    assert csp("archive", "add", ID, *place, "--root", root).returncode == 0
    done = csp("redact", ID, *place, "-o", tmp_path / "tea.jsonl")
    assert done.returncode == 0, done
    assert "Make tea with [github-" in (tmp_path / "tea.jsonl").read_text()
