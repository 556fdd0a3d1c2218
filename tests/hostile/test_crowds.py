"""Too much of something: lines that are too long, too many or too deep, directories without end, crowds of sessions.

In the short form the bound on a line is lowered, and a line of some megabytes stands for one of a gigabyte.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from claude_session_player import Store, read_events, replay
from claude_session_player.doctor.checks import CheckJob, inspect_file
from claude_session_player.doctor.repair import repair_file
from claude_session_player.format import line_reader
from claude_session_player.format.line_reader import LongLine, read_batches, read_lines
from claude_session_player.live.running import FileTail
from claude_session_player.parser import decode_lines
from claude_session_player.player.follow import FollowedFile
from claude_session_player.player.frame_index import FrameIndex
from claude_session_player.player.recording import FileSource, MemorySource
from claude_session_player.store.index import StoreIndex
from claude_session_player.store.layout import MAX_DEPTH, TOO_DEEP_REASON, ReadProblem, StoreWalk
from claude_session_player.store.watch import WatchedDir, watched_files
from claude_session_player.transcript.chains import _records
from tests.builder import SessionBuilder, call, text
from tests.hostile.effort import IS_FULL, pick, sample
from tests.hostile.work import assert_linear
from tests.stores import AGENT, ONE, TWO, StoreBuilder

MEGABYTE = 1 << 20
BOUND = line_reader.LONGEST if IS_FULL else 4 * MEGABYTE
LENGTH = 1 << 30 if IS_FULL else 8 * BOUND
"""The length of a line that is too long."""
FLAT = 120 * MEGABYTE
"""What the program takes in memory by itself, at most."""

_CHILD = """
import re, sys
from claude_session_player.format import line_reader
line_reader.LONGEST, line_reader.HEAVIEST = int(sys.argv[1]), 4 * int(sys.argv[1])
from claude_session_player.cli import run
code = run(sys.argv[2:])
sys.stdout.flush()
peak = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())  # ru_maxrss would know the parent's, too
print(peak[1], file=sys.stderr)
sys.exit(code)
"""


class Ran(NamedTuple):
    """What a command printed, and the most memory that it took, in bytes."""

    code: int
    out: bytes
    err: str
    peak: int


def run(*arguments: str | Path, bound: int = BOUND, stdin: Any = subprocess.DEVNULL) -> Ran:
    """Run the program in a process of its own, with a bound on the length of a line."""
    command = [sys.executable, "-c", _CHILD, str(bound), *map(str, arguments)]
    done = subprocess.run(command, stdin=stdin, capture_output=True, check=False, timeout=300)
    *err, peak = done.stderr.decode().splitlines()
    return Ran(done.returncode, done.stdout, "\n".join(err), int(peak) * 1024)


def long_session(path: Path, length: int = LENGTH, *, is_closed: bool = True, fill: bytes = b"x") -> Path:
    """A session whose third line is so long, with its line end; without one, it is the last."""
    session = SessionBuilder(session_id=ONE).prompt("Hello").response(text("First."))
    path.parent.mkdir(parents=True, exist_ok=True)
    before = session.flush()
    with path.open("wb") as file:
        file.write(before)
        head, tail = b'{"type":"user","message":{"role":"user","content":"', b'"}}\n'
        left = length - len(head) - len(tail)
        file.write(head)
        while left >= len(fill):
            left -= file.write(fill * (min(left, MEGABYTE) // len(fill)))
        file.write(b"x" * left)
        file.write(tail if is_closed else b"xxxx")
        if is_closed:
            file.write(session.response(text("Last.")).flush())
    return path


@pytest.fixture
def low_bound(monkeypatch: pytest.MonkeyPatch) -> int:
    """Lines of more than so many bytes are too long."""
    monkeypatch.setattr(line_reader, "LONGEST", 1000)
    return 1000


# --- a line that is too long ----------------------------------------------------------------------

MARK = "Line 3: "
SHOWN: list[tuple[str, ...]] = [
    ("replay", "--format", "text"),
    ("play", "--plain", "--idle", "0"),
    ("show",),
    ("export", "--format", "text"),
    ("account",),
    ("get", "--jsonl"),
    ("verify",),
]


@pytest.mark.parametrize("command", SHOWN, ids=" ".join)
def test_a_long_line_is_a_mark_with_its_length_and_takes_no_memory(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = long_session(tmp_path / f"{ONE}.jsonl")
    ran = run(command[0], path, *command[1:])
    told = ran.out.decode()
    assert ("1 GB" if IS_FULL else "32 MB") in told, ran.err
    assert ran.peak < FLAT + 3 * BOUND
    if command[0] != "verify":
        assert "get --line 3 prints it" in told
    else:
        assert "too long to read" in told


@pytest.mark.parametrize("command", [("summary",), ("files",), ("tree",), ("list", "--json")], ids=" ".join)
def test_commands_that_only_count_pass_over_a_long_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = long_session(tmp_path / "projects" / "-w" / f"{ONE}.jsonl")
    where = ("--root", tmp_path) if command[0] == "list" else (path,)
    ran = run(*command, *where)
    assert ran.code == 0, ran.err
    assert ran.peak < FLAT + 3 * BOUND


def test_a_long_line_is_counted_as_malformed_by_the_index(tmp_path: Path) -> None:
    long_session(tmp_path / "projects" / "-w" / f"{ONE}.jsonl")
    ran = run("list", "--json", "--no-cache", "--root", tmp_path)
    assert [record["malformed"] for record in json.loads(ran.out)] == [1]


def test_get_prints_a_long_line_to_the_letter_in_constant_memory(tmp_path: Path) -> None:
    path = long_session(tmp_path / f"{ONE}.jsonl")
    with (tmp_path / "out").open("wb") as out:
        command = [sys.executable, "-c", _CHILD, str(BOUND), "get", str(path), "--line", "3"]
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=True, timeout=300)
    assert (tmp_path / "out").stat().st_size == LENGTH
    assert int(done.stderr.split()[-1]) * 1024 < FLAT
    with path.open("rb") as file, (tmp_path / "out").open("rb") as out_file:
        file.readline()
        file.readline()
        while data := out_file.read(MEGABYTE):
            assert file.read(len(data)) == data


@pytest.mark.parametrize(("number", "told"), [(1, "Hello"), (2, "First."), (4, "Last.")])
def test_get_prints_any_other_line(tmp_path: Path, number: int, told: str) -> None:
    ran = run("get", long_session(tmp_path / f"{ONE}.jsonl"), "--line", str(number))
    assert told in ran.out.decode()
    assert ran.out.count(b"\n") == 1


def test_get_says_where_a_session_ends(tmp_path: Path) -> None:
    ran = run("get", long_session(tmp_path / f"{ONE}.jsonl"), "--line", "5")
    assert ran.code != 0
    assert "has no line 5: its last line is 4" in ran.err


def test_repair_keeps_a_long_line_to_the_letter(tmp_path: Path) -> None:
    path = long_session(tmp_path / f"{ONE}.jsonl")
    with path.open("ab") as file:
        file.write(b"oops\n")
    ran = run("repair", path, "-o", tmp_path / "copy.jsonl")
    assert ran.code == 0, ran.err
    assert ran.peak < FLAT + 3 * BOUND
    assert (tmp_path / "copy.jsonl").stat().st_size == path.stat().st_size - len(b"oops\n")


def test_a_long_line_on_standard_input_is_a_mark(tmp_path: Path) -> None:
    with long_session(tmp_path / f"{ONE}.jsonl").open("rb") as file:
        ran = run("replay", "-", "--format", "text", stdin=file)
    assert MARK in ran.out.decode()
    assert "Last." in ran.out.decode()
    assert ran.peak < FLAT + 3 * BOUND


def test_a_first_line_on_standard_input_that_is_too_long_is_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "first.jsonl"
    path.write_bytes(b'{"type":"user","x":"' + b"x" * LENGTH + b'"}\n' + SessionBuilder().prompt("Hello").data())
    with path.open("rb") as file:
        ran = run("replay", "-", "--format", "text", stdin=file)
    assert "Line 1: " in ran.out.decode()
    assert "Hello" in ran.out.decode()


@pytest.mark.parametrize("command", ["show", "replay"])
def test_a_file_that_is_one_long_line_says_so(tmp_path: Path, command: str) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(b'{"type":"user","x":"' + b"x" * (2 * BOUND))
    ran = run(command, path)
    assert "too large to show" in ran.out.decode() + ran.err
    assert ran.peak < FLAT + 3 * BOUND


@pytest.mark.parametrize("command", [("show",), ("play", "--plain", "--idle", "0"), ("get", "--jsonl")], ids=" ".join)
def test_a_line_below_the_bound_takes_little_more_than_four_times_its_length(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    length = pick(24, 100) * MEGABYTE
    path = long_session(tmp_path / f"{ONE}.jsonl", length)
    small = run(command[0], long_session(tmp_path / "small.jsonl", 1000), *command[1:], bound=line_reader.LONGEST)
    large = run(command[0], path, *command[1:], bound=line_reader.LONGEST)
    assert large.code == 0
    assert large.peak - small.peak < 4.3 * length


@pytest.mark.parametrize("fill", [b"*", b"> a\\n", b"<b", b"\\\\", b"```\\na\\n", b"``a "], ids=repr)
def test_a_text_that_is_escaped_all_over_takes_little_more(tmp_path: Path, fill: bytes) -> None:
    length = pick(6, 100) * MEGABYTE
    small = run("show", long_session(tmp_path / "small.jsonl", 1000), bound=line_reader.LONGEST)
    large = run("show", long_session(tmp_path / f"{ONE}.jsonl", length, fill=fill), bound=line_reader.LONGEST)
    assert large.code == 0
    assert large.peak - small.peak < 6 * length


HEAVY = {
    "wide signs": ('{"type":"user","message":{"role":"user","content":"%s"}}', "x" * 1000 + "😀", ""),
    "escaped signs": ('{"type":"user","message":{"role":"user","content":"%s"}}', "\\ud83d\\ude00", ""),
    "blocks": ('{"type":"user","message":{"role":"user","content":[%s]}}', "{}", ","),
    "input": ('{"type":"assistant","message":{"content":[{"type":"tool_use","input":{"a":[%s]}}]}}', '{"a":1}', ","),
    "rows": ('{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}', "a\\n", ""),
    "glued numbers": ('{"type":"user","message":{"role":"user","content":"x"}} %s', "1", " "),
    "glued texts": ('{"type":"user","message":{"role":"user","content":"x"}} %s', '""', ""),
    "NULs": ('{"type":"user","message":{"role":"user","content":"x"}}%s', "a", "\0"),
    "strings": ('{"type":"zebra","a":[%s]}', '"ab"', ","),
    "lists": ('{"type":"user","message":{"role":"user","content":[%s]}}', "[]", ","),
    "numbers": ('{"type":"user","message":{"role":"user","content":[%s]}}', "1", ","),
}
"""Records, what is repeated in them, and what stands between."""
LOOKED = [
    ("show", "--full"),
    ("play", "--plain", "--idle", "0"),
    ("export", "--format", "asciicast"),
    ("verify",),
    ("summary",),
]
_HEAVY_LOOKS = [(name, command) for name in HEAVY for command in LOOKED]
_ONCE_TOO_HEAVY = ("wide signs", ("export", "--format", "asciicast"))
"""The one that held most: the text, what is drawn of it, and what is written."""


def heavy_line(name: str, size: int) -> bytes:
    """A line of a kind, of about this size."""
    record, piece, comma = HEAVY[name]
    return (record % comma.join([piece] * (size // len(piece + comma)))).encode()


def is_held(line: bytes, bound: int) -> bool:
    """True where a line is read with this bound on its length."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_reader, "LONGEST", bound)
        patch.setattr(line_reader, "HEAVIEST", 4 * bound)
        return not isinstance(line_reader.bounded_line(line), LongLine)


def heaviest_line(name: str, bound: int) -> bytes:
    """The longest line of a kind that is read, or nearly so: weight grows with length, so that a small one tells it."""
    scale = 16
    size = 4 * bound // scale
    while not is_held(heavy_line(name, size), bound // scale):
        size = size * 9 // 10
    return heavy_line(name, size * scale)


@pytest.mark.parametrize(("name", "command"), dict.fromkeys([_ONCE_TOO_HEAVY, *sample(_HEAVY_LOOKS, 9)]))
def test_no_line_takes_more_than_the_heaviest(tmp_path: Path, name: str, command: tuple[str, ...]) -> None:
    bound = pick(8, 128) * MEGABYTE
    held = heaviest_line(name, bound)
    assert is_held(held, bound)
    path = tmp_path / f"{ONE}.jsonl"
    path.write_bytes(SessionBuilder().prompt("Hello").data() + heavy_line(name, 1000))
    small = run(command[0], path, *command[1:], bound=bound)
    path.write_bytes(SessionBuilder().prompt("Hello").data() + held)
    large = run(command[0], path, *command[1:], bound=bound)
    assert large.peak - small.peak < 4.8 * bound + 2 * MEGABYTE
    assert "too large" not in large.err


def test_signs_inside_of_texts_do_not_weigh_as_items() -> None:
    rows = "1.25,2.50,3.75,4\n" * 300_000
    record = {"type": "user", "message": {"content": rows}, "picture": "A" * (40 << 20), "who": "é"}
    line = json.dumps(record, ensure_ascii=False).encode()
    assert line_reader.bounded_line(line) is line


def test_a_text_with_more_than_a_parser_can_take_is_a_block_of_code(tmp_path: Path) -> None:
    """Lists before a fence in a quote: where the code ends, only a parser could tell."""
    path = tmp_path / f"{ONE}.jsonl"
    items = "- a\n" * 60_000
    path.write_bytes(SessionBuilder().prompt(f"{items}> ```\n").data())
    small = run("show", path, bound=line_reader.LONGEST)
    path.write_bytes(SessionBuilder().prompt(f"{items * pick(2, 20)}> ```\n").data())
    large = run("show", path, bound=line_reader.LONGEST)
    assert small.peak < 400 * MEGABYTE
    assert large.peak < 120 * MEGABYTE
    assert "```markdown" in large.out.decode()


@pytest.mark.parametrize("size", [998, 999, 1000, 1001, 1002, 5000, 3 * MEGABYTE])
@pytest.mark.parametrize("is_closed", [True, False])
def test_all_readers_agree_on_which_lines_are_too_long(
    tmp_path: Path, low_bound: int, size: int, is_closed: bool
) -> None:
    _assert_agreement(long_session(tmp_path / "a.jsonl", size, is_closed=is_closed), low_bound + is_closed)


@pytest.mark.parametrize(("size", "fill"), [(2000, "é".encode()), (2000, b"\\u00e9"), (500, b"\\n")])
@pytest.mark.parametrize("is_closed", [True, False])
def test_all_readers_agree_on_which_lines_are_too_heavy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, fill: bytes, is_closed: bool
) -> None:
    monkeypatch.setattr(line_reader, "HEAVIEST", 33_000)
    usual = long_session(tmp_path / "usual.jsonl", size, is_closed=is_closed)
    _assert_agreement(usual, longest=10**9)
    path = long_session(tmp_path / "a.jsonl", size, is_closed=is_closed, fill=fill)
    _assert_agreement(path, longest=99, numbers=(3,))


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("more", [0, 1])
def test_all_readers_agree_on_the_lightest_line_that_is_too_heavy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int, is_closed: bool
) -> None:
    """A line end weighs nothing."""
    path = long_session(tmp_path / "a.jsonl", 4000, is_closed=False, fill="é".encode())
    *_, line = path.read_bytes().splitlines()
    path.write_bytes(path.read_bytes() + b'"}}' + b"\n" * is_closed)
    heaviest = _weight_of(line + b'"}}')
    monkeypatch.setattr(line_reader, "HEAVIEST", heaviest - more)
    _assert_agreement(path, longest=1000, numbers=(3,) if more else ())


def _weight_of(line: bytes) -> int:
    """The least that `HEAVIEST` may be for a line to be held."""
    low, high = 0, 1 << 30
    while low < high:
        middle = (low + high) // 2
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(line_reader, "HEAVIEST", middle)
            low, high = (middle + 1, high) if line_reader.bounded_line(line) is not line else (low, middle)
    return low


@pytest.mark.parametrize("read_before", [0, 50, 3000])
def test_a_tail_takes_a_heavy_line_for_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_before: int
) -> None:
    monkeypatch.setattr(line_reader, "HEAVIEST", 30_000)
    path = SessionBuilder().prompt("Hello").write(tmp_path / "a.jsonl")
    tail, followed = FileTail(str(path)), FollowedFile(str(path))
    lines = tail.read_lines()
    followed.catch_up()
    heavy = json.dumps({"type": "user", "message": {"content": "é" * 2000}}, ensure_ascii=False).encode()
    parts = (heavy[:read_before], heavy[read_before:], b"\n", b'{"type":"user","message":{"content":"x"}}\n')
    for part in parts:
        with path.open("ab") as file:
            file.write(part)
        lines += tail.read_lines()
        followed.catch_up()
    assert [event.kind for event in decode_lines(lines, 0, 0)] == ["user", "(too long)", "user"]
    assert sum(map(len, lines)) == path.stat().st_size
    assert [issue.line for issue in followed.frame_index.audit.issues] == [2]


def test_a_first_line_on_standard_input_that_is_too_heavy_is_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "first.jsonl"
    heavy = json.dumps({"type": "user", "x": "é" * (BOUND // 4)}, ensure_ascii=False).encode()
    path.write_bytes(heavy + b"\n" + SessionBuilder().prompt("Hello").data())
    with path.open("rb") as file:
        ran = run("replay", "-", "--format", "text", stdin=file)
    assert "Line 1: " in ran.out.decode()
    assert "Hello" in ran.out.decode()


def _assert_agreement(path: Path, longest: int, numbers: Collection[int] = range(9)) -> None:
    """Everybody takes the same lines for too long: those of these numbers that have more bytes."""
    with path.open("rb") as file:
        one_by_one = [(len(line), type(line)) for line in read_lines(file)]
    with path.open("rb") as file:
        batches = [(len(line), type(line)) for batch in read_batches(file) for line in batch]
    film = FrameIndex(FileSource(str(path)))
    film.finish()
    events = list(read_events(path))
    assert one_by_one == batches
    assert sum(length for length, _ in batches) == path.stat().st_size == film.size
    expected = [length > longest and line in numbers for line, (length, _) in enumerate(batches, 1)]
    assert [kind is LongLine for _, kind in batches] == expected
    assert [event.kind for line in range(1, film.line_count + 1) for event in film.events_on(line)] == [
        e.kind for e in events
    ]
    assert film.audit.issues == replay(path).account.issues
    kept = MemorySource(read_lines(path.open("rb")))
    again = FrameIndex(kept)
    again.finish()
    assert [issue.reason for issue in again.audit.issues] == [issue.reason for issue in film.audit.issues]
    assert again.screen(len(again.frames) - 1).to_markdown() == replay(path).to_markdown()


def test_a_long_line_that_grows_while_it_is_followed_becomes_one_mark(tmp_path: Path, low_bound: int) -> None:
    session = SessionBuilder().prompt("Hello")
    path = session.write(tmp_path / "a.jsonl")
    followed, tail = FollowedFile(str(path)), FileTail(str(path))
    followed.catch_up()
    lines = tail.read_lines()
    with path.open("ab", buffering=0) as file:
        for part in (b'{"type":"user","x":"', *[b"{x}" * 100] * 20, b'"}\n'):
            file.write(part)
            followed.catch_up()
            lines += tail.read_lines()
        file.write(b'{"type":"user","message":{"content":"And on"}}\n')
    followed.catch_up()
    lines += tail.read_lines()
    assert [event.kind for event in decode_lines(lines, 0, 0)] == ["user", "(too long)", "user"]
    assert [issue.line for issue in followed.frame_index.audit.issues] == [2]
    assert followed.frame_index.line_count == 3


def test_a_tail_holds_no_more_of_a_line_than_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "LONGEST", MEGABYTE)
    path = SessionBuilder().prompt("Hello").write(tmp_path / "a.jsonl")
    os.truncate(path, 1 << 40)
    tail = FileTail(str(path))
    assert [event.kind for event in decode_lines(tail.read_lines(), 0, 0)] == ["user"]
    with path.open("ab") as file:
        file.write(b'"}\n{"type":"user"}\n')
    assert [event.kind for event in decode_lines(tail.read_lines(), 0, 0)] == ["(too long)", "user"]
    os.truncate(path, 2 << 40)
    tail.read_lines()
    assert tail.bytes_read < 16 * MEGABYTE


# --- sparse files ---------------------------------------------------------------------------------


def sparse(path: Path, head: bytes) -> Path:
    """A file of a terabyte, all of it a hole but its beginning."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head)
    try:
        os.truncate(path, 1 << 40)
    except OSError:
        pytest.skip("the file system holds no file of a terabyte")
    return path


@pytest.mark.parametrize(
    "command",
    [("list",), ("verify", "--all"), ("show", ONE), ("play", ONE, "--plain", "--idle", "0"), ("tree", ONE)],
    ids=" ".join,
)
def test_a_hole_of_a_terabyte_is_stepped_over(tmp_path: Path, command: tuple[str, ...]) -> None:
    sparse(tmp_path / "projects" / "-w" / f"{ONE}.jsonl", SessionBuilder(session_id=ONE).prompt("Hello").data())
    sparse(tmp_path / "projects" / "-w" / f"{TWO}.jsonl", b"")
    ran = run(*command, "--no-cache", "--root", tmp_path)
    assert ran.code in (0, 1), ran.err
    assert ran.peak < FLAT + 3 * BOUND


# --- lines of nothing, and of brackets -------------------------------------------------------------

NOTHING: dict[str, bytes] = {"line feeds": b"\n", "spaces": b" \n", "carriage returns": b"\r\n"}
READERS: dict[str, Callable[[Path], Any]] = {
    "replay": replay,
    "verify": lambda path: inspect_file(CheckJob(str(path), 0)),
    "list": lambda path: Store.open(path.parent.parent.parent, cache=None).sessions(),
    "repair": lambda path: _repaired(path),
    "tree": lambda path: list(_records(str(path))),
}


def _repaired(path: Path) -> None:
    target = path.with_suffix(".copy")
    for leftover in path.parent.glob("*.copy*"):
        leftover.unlink()
    repair_file(str(path), str(target))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("nothing", NOTHING)
def test_a_blank_line_costs_next_to_nothing(
    tmp_path: Path, reader: str, nothing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shape(n: int) -> Callable[[], Any]:
        path = tmp_path / str(n) / "projects" / "-w" / f"{ONE}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(SessionBuilder(session_id=ONE).prompt("Hello").data() + NOTHING[nothing] * n)
        return lambda: READERS[reader](path)

    n = pick(2000, 50_000)
    assert_linear(shape, n)
    steps = 0

    def count(frame: Any, event: str, argument: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return count

    call = shape(n)
    call()
    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    assert steps < 30 * n + 20_000


BRACKETS: dict[str, Callable[[int], bytes]] = {
    "open": lambda n: b"[" * n,
    "closed": lambda n: b"[" * n + b"]" * n,
    "objects": lambda n: b'{"a":' * n,
    "mixed": lambda n: b"[{" * n,
    "in a record": lambda n: b'{"type":"user","uuid":"u","message":{"content":' + b"[" * n + b"]" * n + b"}}",
    "behind a cut record": lambda n: b'{"type":"user","x":"' + b'{"type":' * n + b"}",
    "glued": lambda n: b"[1]" * n,
    "pairs": lambda n: b"[" * 2000 + b"[]," * n,
    "closing": lambda n: b"{}" + b"]" * n,
}


@pytest.mark.parametrize("reader", ["replay", "verify", "repair"])
@pytest.mark.parametrize("brackets", BRACKETS)
def test_brackets_cost_what_other_signs_do(tmp_path: Path, reader: str, brackets: str) -> None:
    def shape(n: int) -> Callable[[], Any]:
        path = tmp_path / f"{n}.jsonl"
        path.write_bytes(SessionBuilder().prompt("Hello").data() + BRACKETS[brackets](n) + b"\n")
        return lambda: READERS[reader](path)

    assert_linear(shape, pick(3000, 100_000))


def test_a_million_brackets_are_a_handful_of_steps() -> None:
    steps = 0

    def count(frame: Any, event: str, argument: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return count

    line = b"[" * 1_000_000 + b"]" * 1_000_000
    before = sys.gettrace()
    sys.settrace(count)
    try:
        events = decode_lines((line,), 0, 0)
    finally:
        sys.settrace(before)
    assert len(events) == 1
    assert steps < 2000


# --- directories without end ------------------------------------------------------------------------


def dig(folder: Path, depth: int, *, name: str = "a", content: bytes = b"") -> None:
    """Make directories in each other, and a file in the last; by steps, because paths may be too long."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=handle)
        inner = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    with open(os.open("agent-a1.jsonl", os.O_CREAT | os.O_WRONLY, dir_fd=handle), "wb") as file:
        file.write(content)
    os.close(handle)


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store in which the directories of a session go 1,100 deep: too deep for pytest to remove them.

    Nothing changes a store but what says so: it is built once.
    """
    store = StoreBuilder(tmp_path_factory.mktemp("deep") / "store")
    home = store.session(ONE).parent
    store.session(TWO)
    agent = SessionBuilder(session_id=ONE, sidechain=True).prompt("Dig").data()
    for name in ("subagents", "tool-results", "workflows"):
        dig(home / ONE / name, 1100, content=agent)
    yield store.root
    subprocess.run(["rm", "-rf", str(store.root)], check=True)


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("verify", "--all"),
        ("show", ONE),
        ("summary", ONE),
        ("tree", ONE),
        ("files", ONE),
        ("get", ONE),
        ("stats",),
        ("todos",),
        ("play", ONE, "--plain", "--idle", "0"),
    ],
    ids=" ".join,
)
def test_directories_without_end_are_named_and_left_alone(deep: Path, command: tuple[str, ...]) -> None:
    ran = run(*command, "--no-cache", "--root", deep)
    assert "Traceback" not in ran.err
    assert TOO_DEEP_REASON in ran.err


def test_a_session_with_directories_without_end_is_not_archived_and_others_are(deep: Path, tmp_path: Path) -> None:
    refused = run("archive", ONE, TWO, "--archive", tmp_path / "archive", "--root", deep)
    assert "Traceback" not in refused.err
    assert TOO_DEEP_REASON in refused.err
    assert len(list((tmp_path / "archive").rglob("*.tar.*"))) == 1


def test_as_deep_as_claimed_is_read(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path)
    home = store.session(ONE).parent
    dig(
        home / ONE / "subagents", MAX_DEPTH, content=SessionBuilder(session_id=ONE, sidechain=True).prompt("Dig").data()
    )
    walk = StoreWalk()
    assert [found.id for found in walk.store(str(tmp_path))] == ["a1", ONE]
    assert walk.problems == []
    assert len(list(watched_files(WatchedDir(str(home), is_deep=True)))) in (1, 2)


def test_watching_ends_where_the_walk_ends(deep: Path) -> None:
    assert sorted(
        os.path.basename(path) for path in watched_files(WatchedDir(str(deep / "projects"), is_deep=True))
    ) == [
        f"{ONE}.jsonl",
        f"{TWO}.jsonl",
    ]


def test_links_in_circles_are_walked_once(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    home = store.session(ONE).parent
    store.agent("a1", place="subagents/x")
    (home / ONE / "subagents" / "x" / "up").symlink_to("..")
    (home / ONE / "subagents" / "self").symlink_to(".")
    (home / "again").symlink_to(home)
    walk = StoreWalk()
    assert [found.id for found in walk.store(str(store.root))] == ["a1", ONE]


@pytest.mark.parametrize("name", ["n" * 249, "ü" * 124])
def test_a_name_of_255_bytes_is_a_name(tmp_path: Path, name: str) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.session(name)
    for command in (("list", "--json"), ("verify", "--all"), ("show", name)):
        ran = run(*command, "--no-cache", "--root", store.root)
        assert "Traceback" not in ran.err
        assert ran.code in (0, 1)


# --- crowds ---------------------------------------------------------------------------------------


def crowd(root: Path, n: int, *, agents: bool = False) -> Path:
    """A store with so many sessions, or with so many sub-agents of one session, in one directory."""
    store = StoreBuilder(root)
    home = store.session(ONE).parent
    session = (home / f"{ONE}.jsonl").read_bytes()
    agent = store.agent("a0", place="subagents").read_bytes() if agents else b""
    for number in range(n):
        if agents:
            (home / ONE / "subagents" / f"agent-a{number}.jsonl").write_bytes(agent)
        else:
            id = str(UUID(int=number + (1 << 100)))
            (home / f"{id}.jsonl").write_bytes(session.replace(ONE.encode(), id.encode()))
    return root


@pytest.mark.parametrize("agents", [False, True], ids=["sessions", "sub-agents"])
def test_a_list_costs_what_its_sessions_cost(tmp_path: Path, agents: bool) -> None:
    def shape(n: int) -> Callable[[], Any]:
        root = crowd(tmp_path / f"{n}", n, agents=agents)

        def look() -> None:
            with_index = Store.open(root, cache=str(tmp_path / f"cache-{n}"))
            assert [session.summary.subagent_count for session in with_index.sessions()]
            with_index.close()

        return look

    assert_linear(shape, pick(150, 2000))


def test_a_list_walks_its_store_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = StoreBuilder(tmp_path)
    store.session(ONE)
    walks = 0
    real = StoreWalk.store

    def counted(self: StoreWalk, root: str) -> Any:
        nonlocal walks
        walks += 1
        return real(self, root)

    monkeypatch.setattr(StoreWalk, "store", counted)
    opened = store.open()
    assert [file.id for file in opened.sessions() and opened.last_files()] == [ONE]
    assert walks == 1
    assert [file.id for file in store.open().last_files()] == [ONE]


def test_a_crowd_of_unreadable_files_is_noted_in_one_go() -> None:
    def shape(n: int) -> Callable[[], Any]:
        def note() -> None:
            index = StoreIndex()
            for number in range(n):
                index.note([ReadProblem(f"/{number}", "gone"), ReadProblem(f"/{number}", "gone")])
            assert len(index.problems) == n

        return note

    assert_linear(shape, pick(5_000, 50_000))


@pytest.mark.parametrize(
    "place",
    [
        Path("settings.json"),
        Path("memories", "m.json"),
        Path("projects", "-home-ada-engine", "todo.jsonl"),
        Path("projects", "-home-ada-engine", ONE, "subagents", f"agent-{AGENT}.meta.json"),
        Path("projects", "-home-ada-engine", ONE, "tool-results", "b1.txt"),
    ],
    ids=str,
)
def test_a_hole_of_a_terabyte_beside_a_session_is_not_read(tmp_path: Path, place: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    reference = "<persisted-output>\nFull output saved to: /x/tool-results/b1.txt\n</persisted-output>"
    session = SessionBuilder(session_id=ONE).prompt("Hello").response(call("Bash", "toolu_1", command="cat"))
    session.result("toolu_1", reference).write(store.home() / f"{ONE}.jsonl")
    store.agent(AGENT, place="subagents")
    (store.root / place).parent.mkdir(parents=True, exist_ok=True)
    with (store.root / place).open("wb") as file:
        file.truncate(1 << 40)
    for command in (["list", "--no-cache"], ["show", ONE, "--full"], ["todos"], ["memories"], ["settings"]):
        ran = run(*command, "--root", store.root)
        assert "Traceback" not in ran.err
        assert ran.peak < FLAT
