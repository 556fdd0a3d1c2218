"""Properties of every session file, whatever its content."""

from __future__ import annotations

import io
import json
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

from claude_session_player import replay
from tests.agreement import csp
from tests.hostile.commands import EXIT_CODES, OF_A_SESSION, OF_A_STORE, WITHOUT_CACHE
from tests.stores import ONE, settle

_SECONDS: Final = 20
_MEMORY: Final = 6 << 30


class CheckTimeout(Exception):
    """A check took longer than a session of this size may."""


def commands_exit_properly(path: Path) -> None:
    """Every command exits with a documented code, and its JSON is valid."""
    for words in OF_A_SESSION:
        _run(words[0], str(path), *words[1:])


def lines_are_accounted_for(path: Path) -> None:
    """Each line of the file is counted."""
    data = path.read_bytes()
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    account = json.loads(_run("account", str(path), "--json")[1] or "{}") if data.strip() else {}
    if account:
        assert account["lines"] == lines, (account["lines"], lines)


def lines_and_file_give_the_same_screen(path: Path) -> None:
    """The screen of the lines is the screen of the file."""
    lines = list(io.BytesIO(path.read_bytes()))
    assert replay(lines).to_markdown() == replay(str(path)).to_markdown()


def a_repaired_copy_is_valid(path: Path) -> None:
    """A repaired copy has no errors."""
    copy = path.with_suffix(".repaired")
    copy.unlink(missing_ok=True)
    if _run("repair", str(path), "-o", str(copy))[0] == 0 and copy.exists():
        findings = json.loads(_run("verify", str(copy), "--json")[1] or "[]")
        assert not [finding for finding in findings if finding["severity"] == "error"], findings


def an_archive_restores_every_byte(path: Path) -> None:
    """A session that is archived, removed and restored is unchanged, and every command on the store exits properly."""
    data = path.read_bytes()
    root, archive = path.parent / "store", path.parent / "archive"
    for folder in (root, archive):
        shutil.rmtree(folder, ignore_errors=True)
    home = root / "projects" / "-home-ada"
    home.mkdir(parents=True, exist_ok=True)
    session = home / f"{ONE}.jsonl"
    session.write_bytes(data)
    settle(root)
    for words in OF_A_STORE:
        _run(*words, "--root", str(root), *([] if words[0] in WITHOUT_CACHE else ["--no-cache"]))
    _run("archive", "add", ONE, "--root", str(root), "--archive", str(archive))
    session.unlink()
    if archive.is_dir() and _run("restore", ONE, "--root", str(root), "--archive", str(archive))[0] == 0:
        assert session.read_bytes() == data


CHECKS: Final[tuple[Callable[[Path], None], ...]] = (
    commands_exit_properly,
    lines_are_accounted_for,
    lines_and_file_give_the_same_screen,
    a_repaired_copy_is_valid,
    an_archive_restores_every_byte,
)


def check(path: Path) -> None:
    """Run all checks within limits of time and memory; raises on failure."""
    with _limits():
        for run_check in CHECKS:
            run_check(path)


def _run(*words: str) -> tuple[int, str, str]:
    code, output, messages = csp(*words)
    assert code in EXIT_CODES, (words, code)
    assert "Traceback" not in messages, (words, messages)
    if ("--json" in words or "json" in words) and output.strip():
        _each_json(output)
    return code, output, messages


def _each_json(output: str) -> None:
    try:
        json.loads(output)
    except ValueError:
        for line in output.splitlines():
            json.loads(line)


@contextmanager
def _limits() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise CheckTimeout(f"more than {_SECONDS} s")

    before: Any = signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
