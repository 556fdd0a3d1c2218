"""What is redacted stays as it is when it is redacted again, and is a session of the same lines and structure."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings, strategies as st

from claude_session_player.redact import Redactor, SourceFile, copy_redacted
from claude_session_player.redact.report import Place
from claude_session_player.redact.session_copy import learn_file, redacted_line
from tests import corpus
from tests.agreement import csp
from tests.built_sessions import built_store, sessions
from tests.hostile.effort import sample
from tests.redact.copies import audit, records, redacted, structure
from tests.redact.garden import planted_sessions
from tests.redact.planted import identity_seeds, secret_seeds

MOST: Final = 1 << 20
"""Bytes of a real session that is looked at in a sample."""
FILES: Final = [path for path in corpus.session_files() if path.stat().st_size < MOST]
real = pytest.mark.parametrize("path", sample(FILES, 30), ids=lambda path: path.name)
TEXTS: Final = [
    *(seed.text for seed in list(secret_seeds(7))[::40]),
    *(seed.text for seed in identity_seeds(7)),
    *("plain", "[token-1]", "~/tea", "person-1@example.com", "é 日本 \x1b[31m", "\ud83d", "a\0b", "\\n", '"'),
]


def lines_of(text: str) -> list[bytes]:
    """A text in lines of every kind: whole, cut, glued, damaged, and in none of these."""
    record = {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": text}}
    whole = json.dumps(record).encode()
    plain = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    deep = b'{"type":"user","x":' + b"[" * 300 + json.dumps(text).encode() + b"]" * 300 + b"}"
    return [
        *(whole + b"\n", plain + b"\n", whole + b"\r\n", whole + b"  \t\n", b"  " + whole + b"\n"),
        *(whole[:-5] + b"\n", whole[:-30] + b"\n", whole + whole + b"\n", whole + b",,\n", b"\n", b"   \n"),
        *(b"\xef\xbb\xbf" + whole + b"\n", b"\0\0\0" + whole + b"\n", whole[:-3] + b"\xff\xfe" + whole[-3:] + b"\n"),
        *(whole[:-1] + b',"n":123456789012345678901234567890,"f":NaN,"e":1e400}\n', deep + b"\n"),
        *(
            text.encode("utf-8", "surrogatepass").replace(b"\n", b" ") + b"\n",
            b"# " + whole + b"\n",
            b"[1,2]\n",
            b'"x"\n',
        ),
    ]


def check_fixed_point(path: Path, folder: Path) -> None:
    """The copy has the same lines and the same structure, and a copy of the copy is the same file."""
    once, again = folder / "once.jsonl", folder / "again.jsonl"
    first = redacted(path, once)
    redactor = Redactor(reports_places=False)
    second = redacted(once, again, redactor)
    assert second == first
    assert redactor.report.summary == ""
    before = path.read_bytes()
    assert first.count(b"\n") == before.count(b"\n")
    assert audit(once) == audit(path)
    for one, other in zip(records(before), records(first), strict=True):
        assert structure(one) == structure(other)


@real
def test_a_redacted_copy_of_a_real_session_is_a_fixed_point(path: Path, tmp_path: Path) -> None:
    check_fixed_point(path, tmp_path)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(TEXTS).flatmap(lambda text: st.sampled_from(lines_of(text))), max_size=8), st.booleans()
)
def test_a_redacted_copy_of_damaged_lines_is_a_fixed_point(lines: list[bytes], is_cut: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        path.write_bytes(b"".join(lines)[: -1 if is_cut else None])
        check_fixed_point(path, Path(folder))


def test_a_redacted_copy_of_planted_sessions_is_a_fixed_point(tmp_path: Path) -> None:
    for number, garden in enumerate(planted_sessions(tmp_path, 3, 2)):
        (path,) = (garden.root / "projects").glob("*/*.jsonl")
        folder = tmp_path / f"copy{number}"
        folder.mkdir()
        check_fixed_point(path, folder)


# --- the fast lane ----------------------------------------------------------------------------------------


def check_lanes(path: Path, folder: Path) -> None:
    """Lines that are copied as bytes say what they say when each line is decoded."""
    fast = redacted(path, folder / "fast.jsonl", Redactor(reports_places=False))
    redactor = Redactor()
    cuts = learn_file(SourceFile(str(path), "one"), redactor).cuts
    lines = enumerate(path.read_bytes().splitlines(keepends=True), 1)
    plain = b"".join(redacted_line(line, redactor, Place(), cuts=cuts.get(number, ())) for number, line in lines)
    assert list(map(repr, records(fast))) == list(map(repr, records(plain)))
    assert redacted(path, folder / "reported.jsonl", Redactor(reports_places=True)) == plain


@real
def test_the_fast_lane_says_the_same_about_real_sessions(path: Path, tmp_path: Path) -> None:
    check_lanes(path, tmp_path)


@settings(max_examples=40)
@given(sessions)
def test_the_fast_lane_says_the_same_about_built_sessions(steps: list[Any]) -> None:
    with built_store(steps) as root, tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(sorted(root.rglob("*.jsonl"))):
            place = Path(folder, str(number))
            place.mkdir()
            check_lanes(path, place)


def test_the_fast_lane_says_the_same_about_planted_sessions(tmp_path: Path) -> None:
    for number, garden in enumerate(planted_sessions(tmp_path, 2, 2)):
        (path,) = (garden.root / "projects").glob("*/*.jsonl")
        folder = tmp_path / f"lanes{number}"
        folder.mkdir()
        check_lanes(path, folder)


def test_masks_have_the_same_numbers_in_each_run(tmp_path: Path) -> None:
    (garden,) = planted_sessions(tmp_path, 1, 2)
    (path,) = (garden.root / "projects").glob("*/*.jsonl")
    assert redacted(path, tmp_path / "a.jsonl") == redacted(path, tmp_path / "b.jsonl")


def test_what_is_added_while_a_file_is_copied_is_not_in_the_copy(tmp_path: Path) -> None:
    path, target = tmp_path / "session.jsonl", tmp_path / "copy.jsonl"
    path.write_bytes(b'{"type":"user","message":{"content":"one"}}\n')

    def grown(source: SourceFile) -> str:
        with path.open("ab") as file:
            file.write(b'{"type":"user","message":{"content":"never learned"}}\n')
        return str(target)

    copy_redacted([SourceFile(str(path), "one")], Redactor(), grown)
    assert target.read_bytes() == b'{"type":"user","message":{"content":"one"}}\n'


# --- what commands say ------------------------------------------------------------------------------------


def told(*words: str) -> Any:
    code, output, _ = csp(*words, "--no-cache")
    return [json.loads(line) for line in output.splitlines()] if code in (0, 1) else code


def facts(path: Path) -> dict[str, Any]:
    """What commands say about a session, without its texts."""
    name = str(path)
    summary = told("summary", name, "--json")
    entries = told("show", name, "--format", "jsonl")
    return {
        "summary": summary and summary != 4 and _numbers(summary),
        "entries": _kinds(entries),
        "tree": _kinds(told("tree", name, "--json")),
        "files": _count(told("files", name, "--jsonl")),
        "prompts": _count(told("prompts", name, "--jsonl")),
    }


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items() if key not in ("id", "path", "files", "size")}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return value if isinstance(value, int | float) else None


def _kinds(value: Any) -> Any:
    kinds: Counter[str] = Counter()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            kinds[str(one.get("kind", one.get("type")))] += 1
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return kinds


def _count(value: Any) -> Any:
    return len(value) if isinstance(value, list | tuple | dict) else value


@pytest.mark.parametrize("path", sample(FILES, 12, turn=1), ids=lambda path: path.name)
def test_commands_tell_the_same_facts_about_a_redacted_copy(path: Path, tmp_path: Path) -> None:
    original, copy = tmp_path / "a" / path.name, tmp_path / "b" / path.name
    original.parent.mkdir()
    copy.parent.mkdir()
    original.write_bytes(path.read_bytes())
    redacted(original, copy)
    assert facts(copy) == facts(original)
