"""What holds for every session file, whatever is in it."""

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


class Hangs(Exception):
    """A check took longer than any session of this size may."""


def commands_end_well(path: Path) -> None:
    """Every command ends with a documented code, and what it calls JSON is JSON."""
    for words in OF_A_SESSION:
        _run(words[0], str(path), *words[1:])


def lines_are_accounted_for(path: Path) -> None:
    """Each line of the file has an outcome."""
    data = path.read_bytes()
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    account = json.loads(_run("account", str(path), "--json")[1] or "{}") if data.strip() else {}
    if account:
        assert account["lines"] == lines, (account["lines"], lines)


def steps_end_where_the_whole_ends(path: Path) -> None:
    """A screen built from lines is the screen built from the file."""
    lines = list(io.BytesIO(path.read_bytes()))
    assert replay(lines).to_markdown() == replay(str(path)).to_markdown()


def a_repaired_copy_is_whole(path: Path) -> None:
    """A copy without damage has no damage, and shows what could be read before."""
    copy = path.with_suffix(".repaired")
    copy.unlink(missing_ok=True)
    if _run("repair", str(path), "-o", str(copy))[0] == 0 and copy.exists():
        left = json.loads(_run("verify", str(copy), "--json")[1] or "[]")
        assert not [one for one in left if one["severity"] == "error"], left


def an_archive_gives_back_every_byte(path: Path) -> None:
    """Archived, removed and restored, a session is what it was; and every look at the store ends well."""
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
    commands_end_well,
    lines_are_accounted_for,
    steps_end_where_the_whole_ends,
    a_repaired_copy_is_whole,
    an_archive_gives_back_every_byte,
)


def check(path: Path) -> None:
    """Raise whatever is wrong; also where something takes too long or too much."""
    with _limits():
        for one in CHECKS:
            one(path)


def _run(*words: str) -> tuple[int, str, str]:
    code, output, talk = csp(*words)
    assert code in EXIT_CODES, (words, code)
    assert "Traceback" not in talk, (words, talk)
    if ("--json" in words or "json" in words) and output.strip():
        _each_json(output)
    return code, output, talk


def _each_json(output: str) -> None:
    try:
        json.loads(output)
    except ValueError:
        for line in output.splitlines():
            json.loads(line)


@contextmanager
def _limits() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise Hangs(f"more than {_SECONDS} s")

    before: Any = signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
