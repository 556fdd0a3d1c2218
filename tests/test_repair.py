"""Repaired copies: free of damage, and the same when they are replayed."""

from __future__ import annotations

import base64
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, strategies as st

from claude_session_player import replay
from claude_session_player.doctor.checks import CheckJob, inspect_file
from claude_session_player.doctor.findings import REPAIRABLE_KINDS
from claude_session_player.doctor.repair import RepairReport, repair_file
from claude_session_player.errors import CannotWrite
from tests import corpus
from tests.builder import SessionBuilder, call, text
from tests.damage import damage
from tests.program import csp

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("repair")


def repaired(folder: Path, data: bytes, name: str = "a.jsonl") -> tuple[bytes, list[dict[str, object]]]:
    """A repaired copy of a file, and what was rejected; both are compared with the original."""
    source, target = folder / name, folder / f"agent-{name}" if name.startswith("agent-") else folder / f"new-{name}"
    rejected = Path(f"{target}.rejected")
    for path in (target, rejected):
        path.unlink(missing_ok=True)
    source.write_bytes(data)
    done = repair_file(str(source), str(target))
    assert source.read_bytes() == data
    found = inspect_file(CheckJob(str(target), 0))
    assert not {finding.kind for finding in found.findings} & REPAIRABLE_KINDS
    assert found.tail is None
    assert replay(source).to_markdown() == replay(target).to_markdown()
    assert done.rejected == (len(rejected.read_bytes().splitlines()) if rejected.exists() else 0)
    lines = rejected.read_bytes().splitlines() if rejected.exists() else []
    return target.read_bytes(), [json.loads(line) for line in lines]


A, B = b'{"type":"user","message":{"content":"Hello"}}', b'{"type":"user","message":{"content":"there"}}'


def test_a_whole_file_is_copied_byte_for_byte(tmp_path: Path) -> None:
    data = A + b"\r\n\n  \n" + B
    assert repaired(tmp_path, data) == (data, [])


def test_glued_records_get_lines_of_their_own(tmp_path: Path) -> None:
    assert repaired(tmp_path, A + B + b"\n" + A) == (A + b"\n" + B + b"\n" + A, [])


def test_nul_bytes_and_byte_order_marks_are_dropped(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + A + b"\n\0\0\0\0" + B + b"\n\0\0"
    assert repaired(tmp_path, data) == (A + b"\n" + B + b"\n", [])


def test_what_is_no_record_is_set_aside_with_its_line_and_place(tmp_path: Path) -> None:
    data = A + b"\noops\n[1]\n" + A[:20] + b'\n"\xff\n' + B
    copy, rejected = repaired(tmp_path, data)
    assert copy == A + b"\n" + B
    assert rejected == [
        {"line": 2, "offset": 46, "reason": "no JSON value here", "text": "oops"},
        {"line": 3, "offset": 51, "reason": "not a JSON object", "text": "[1]"},
        {"line": 4, "offset": 55, "reason": "cut short: the JSON ends in the middle", "text": A[:20].decode()},
        {
            "line": 5,
            "offset": 76,
            "reason": "cut short: the JSON ends in the middle",
            "base64": base64.b64encode(b'"\xff').decode(),
        },
    ]


def test_a_whole_record_behind_a_cut_one_is_kept(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("One").prompt("Two")
    first, second = session.lines
    copy, rejected = repaired(tmp_path, first[:50] + second)
    assert copy == second
    assert [piece["text"] for piece in rejected] == [first[:50].decode()]


def test_what_only_some_readers_understand_is_written_so_that_all_do(tmp_path: Path) -> None:
    copy, _ = repaired(tmp_path, A.replace(b"Hello", b"a\tb\0c\xffd"))
    assert json.loads(copy)["message"]["content"] == "a\tb\0c\udcffd"


@given(seed=st.integers(0, 1 << 32), count=st.integers(0, 20))
def test_a_copy_is_free_of_damage_and_replays_like_the_original(folder: Path, seed: int, count: int) -> None:
    session = SessionBuilder()
    for turn in range(8):
        session.prompt(f"Grüße {turn} 😀").response(call("Bash", f"toolu_{turn}", command="ls"))
        session.result(f"toolu_{turn}", "viele\nDateien").response(text("Fertig ✓"))
    lines, _ = damage(session.lines, count, random.Random(seed))
    repaired(folder, b"".join(lines))


@given(st.lists(st.binary(max_size=30) | st.sampled_from([A, B, b"\n", b"\0\0", b"{", A[:30], b"\xef\xbb\xbf"])))
def test_any_bytes_can_be_repaired(folder: Path, pieces: list[bytes]) -> None:
    repaired(folder, b"".join(pieces))


@pytest.mark.skipif(not corpus.session_files(), reason="there are no real sessions")
def test_real_sessions_that_were_damaged_replay_like_their_copies(tmp_path: Path) -> None:
    chance = random.Random(2)
    for source in corpus.session_files():
        lines = [line + b"\n" for line in source.read_bytes().split(b"\n") if len(line) > 10]
        if source.stat().st_size < 200_000:
            repaired(tmp_path, b"".join(damage(lines, 5, chance)[0]), source.name)


# --- the command ----------------------------------------------------------------------------------


def test_the_command_tells_what_was_done(tmp_path: Path) -> None:
    source, target = tmp_path / "a.jsonl", tmp_path / "new.jsonl"
    source.write_bytes(A + B + b"\n\0\0" + A + b"\noops\n" + B + b"\n")
    done = csp("repair", source, "-o", target)
    assert done.stdout.decode() == (
        f"{target}: 1 line unchanged, 3 records out of 3 damaged lines\n"
        "  1 line with several records split\n"
        "  2 NUL bytes dropped\n"
        f"  1 piece that no record can be made of: {target}.rejected\n"
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert target.stat().st_mtime_ns == source.stat().st_mtime_ns
    assert csp("verify", target).returncode == 0


def test_the_command_tells_scripts_what_was_done(tmp_path: Path) -> None:
    source, target = tmp_path / "a.jsonl", tmp_path / "new.jsonl"
    source.write_bytes(A + b"\n")
    told = json.loads(csp("repair", "--json", source, "-o", target).stdout)
    jsonschema.validate(told, {**SCHEMA, "$ref": "#/$defs/repaired"})
    assert told == {"source": str(source), "copy": str(target), "rejected_file": None, **vars(RepairReport(lines=1))}
    assert csp("repair", source, "-o", f"{target}2").stdout.endswith(b"1 line unchanged: nothing was damaged\n")


def test_nothing_is_ever_overwritten(tmp_path: Path) -> None:
    source, target = tmp_path / "a.jsonl", tmp_path / "new.jsonl"
    source.write_bytes(A + b"\noops\n")
    for taken in (source, target, Path(f"{target}.rejected")):
        taken.touch()
        named = source if taken == source else target
        done = csp("repair", source, "-o", named)
        assert (done.returncode, done.stdout) == (5, b"")
        assert f"{taken} already exists" in done.stderr.decode()
        if taken != source:
            taken.unlink()
    assert source.read_bytes() == A + b"\noops\n"


def test_files_that_are_called_like_unfinished_ones_are_left_alone(tmp_path: Path) -> None:
    source, other = tmp_path / "a.jsonl.partial", tmp_path / "b.jsonl.partial"
    source.write_bytes(A + b"\noops\n")
    other.symlink_to(source)
    for target in ("a.jsonl", "b.jsonl"):
        assert csp("repair", source, "-o", tmp_path / target).returncode == 0
        assert (tmp_path / target).read_bytes() == A + b"\n"
        assert source.read_bytes() == A + b"\noops\n"
    assert other.is_symlink()


def test_a_copy_that_appears_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "a.jsonl", tmp_path / "new.jsonl"
    source.write_bytes(A + b"\n")
    monkeypatch.setattr(os.path, "lexists", lambda path: False)
    target.write_bytes(b"mine")
    with pytest.raises(CannotWrite, match="has just been created"):
        repair_file(str(source), str(target))
    assert target.read_bytes() == b"mine"
    assert sorted(os.listdir(tmp_path)) == ["a.jsonl", "new.jsonl"]


def test_mistakes_are_told_in_one_line(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(A)
    wrong: list[tuple[tuple[str | Path, ...], int]] = [
        (("repair", tmp_path / "gone.jsonl", "-o", tmp_path / "b"), 3),
        (("repair", source, "-o", tmp_path / "no" / "b"), 5),
        (("repair", "-", "-o", tmp_path / "b"), 2),
        (("repair", source), 2),
    ]
    for arguments, code in wrong:
        done = csp(*arguments, stdin=A)
        assert (done.returncode, done.stderr.count(b"\n")) == (code, 1), arguments
    assert os.listdir(tmp_path) == ["a.jsonl"]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes((A + b"\n") * 3000)
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)); "
        "from claude_session_player.cli import main; sys.argv[0] = 'csp'; main()"
    )
    command = [sys.executable, "-c", script, "repair", str(source), "-o", str(tmp_path / "new.jsonl")]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 5
    assert b"File too large" in done.stderr
    assert os.listdir(tmp_path) == ["a.jsonl"]
