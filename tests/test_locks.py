"""Which sessions are in use, and how that is known."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import jsonschema
import pytest
from hypothesis import given, settings, strategies as st

from claude_session_player import SessionInUse, require_unused
from claude_session_player.archive.clean import CleanRules, plan_clean
from claude_session_player.doctor.verify import verify_files
from claude_session_player.store import in_use
from claude_session_player.store.filters import Filter
from claude_session_player.store.in_use import InUse, OpenFiles, Process, UseEvidence, UseKind, lock_holders
from tests.program import csp
from tests.stores import ONE, TWO, StoreBuilder

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))
HAS_PROC = os.path.isdir("/proc/self/fd")
needs_proc = pytest.mark.skipif(not HAS_PROC, reason="this system does not tell who has a file open")

_HOLDER = """
import fcntl, sys
file = open(sys.argv[1], sys.argv[2])
if "lock" in sys.argv: fcntl.flock(file, fcntl.LOCK_EX)
if "record" in sys.argv: fcntl.lockf(file, fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def somebody(path: Path, mode: str, *ways: str) -> Iterator[int]:
    """Another process that has a file open, or holds a lock on it; gives its number."""
    command = [sys.executable, "-c", _HOLDER, str(path), mode, *ways]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate()


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    """A store whose two sessions, one with a sub-agent, were written long ago."""
    builder = StoreBuilder(tmp_path / "store")
    for path in (builder.session(ONE), builder.session(TWO, "Stop it"), builder.agent(place="subagents")):
        os.utime(path, (1e9, 1e9))
    return builder


def signs(builder: StoreBuilder) -> dict[str, list[UseEvidence]]:
    """What is known of every session that somebody does something with."""
    store = builder.open()
    sessions, look = store.sessions(), store.look_for_use()
    return {session.id: found for session in sessions if (found := look.evidence(session.paths))}


def test_a_session_that_nobody_touches_is_not_in_use(builder: StoreBuilder) -> None:
    assert signs(builder) == {}
    for session in builder.open().sessions():
        require_unused(session)


def test_a_write_in_the_last_minute_is_a_sign(builder: StoreBuilder) -> None:
    os.utime(builder.home() / f"{TWO}.jsonl")
    found = signs(builder)
    assert [sign.how for sign in found.pop(TWO)] == [UseKind.WRITTEN]
    assert not found


@pytest.mark.parametrize("kind", ["lock", "record"])
@needs_proc
def test_a_lock_of_either_kind_is_a_sign_and_its_holder_is_named(builder: StoreBuilder, kind: str) -> None:
    with somebody(builder.home() / f"{ONE}.jsonl", "r+", kind) as pid:
        found = signs(builder)[ONE]
    assert [(sign.how, sign.process and sign.process.pid) for sign in found] == [
        (UseKind.LOCKED, pid),
        (UseKind.OPEN_FOR_WRITING, pid),
    ]
    assert f"(pid {pid})" in found[0].words
    assert signs(builder) == {}


@pytest.mark.parametrize(
    ("mode", "how"),
    [("r", UseKind.OPEN_FOR_READING), ("r+", UseKind.OPEN_FOR_WRITING), ("a", UseKind.OPEN_FOR_WRITING)],
)
@needs_proc
def test_an_open_file_is_a_sign_and_says_whether_it_is_written(builder: StoreBuilder, mode: str, how: str) -> None:
    with somebody(builder.home() / f"{ONE}.jsonl", mode) as pid:
        assert [(sign.how, sign.process and sign.process.pid) for sign in signs(builder)[ONE]] == [(how, pid)]


@needs_proc
def test_a_session_is_in_use_when_a_subagent_of_it_is(builder: StoreBuilder) -> None:
    with somebody(builder.home() / ONE / "subagents" / "agent-a5b6c7d8.jsonl", "a"):
        assert list(signs(builder)) == [ONE]


@needs_proc
def test_a_file_of_the_same_name_elsewhere_is_none_of_ours(builder: StoreBuilder, tmp_path: Path) -> None:
    other = tmp_path / f"{ONE}.jsonl"
    other.write_text("{}")
    with somebody(other, "a"):
        assert signs(builder) == {}


def test_ones_own_open_files_are_no_sign(builder: StoreBuilder) -> None:
    with (builder.home() / f"{ONE}.jsonl").open("rb"):
        assert signs(builder) == {}


def test_a_look_changes_nothing_and_does_not_wait(builder: StoreBuilder) -> None:
    path = builder.home() / f"{ONE}.jsonl"
    before = path.stat()
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert [sign.how for sign in signs(builder)[ONE]] == [UseKind.LOCKED]
    after = path.stat()
    assert (before.st_mtime_ns, before.st_size, before.st_ino) == (after.st_mtime_ns, after.st_size, after.st_ino)


def test_python_is_supported_by_an_error_that_says_how_it_is_known(builder: StoreBuilder) -> None:
    path = builder.home() / f"{ONE}.jsonl"
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(SessionInUse, match=rf"session {ONE} is in use \(locked"):
            require_unused(builder.open().at(path))


def test_a_system_without_proc_says_so(builder: StoreBuilder, tmp_path: Path) -> None:
    look = InUse(proc=str(tmp_path / "nothing"))
    assert look.methods == (True, False, False, 0)


def test_what_proc_says_is_understood(tmp_path: Path) -> None:
    opened = tmp_path / "s.jsonl"
    opened.touch()
    for folder in ("self/fd", "71/fd", "71/fdinfo", "72/fd", "net"):
        (tmp_path / "proc" / folder).mkdir(parents=True)
    (tmp_path / "proc/71/comm").write_text("claude\n")
    (tmp_path / "proc/71/fd/3").symlink_to(opened)
    (tmp_path / "proc/71/fd/4").symlink_to("socket:[123]")
    (tmp_path / "proc/71/fdinfo/3").write_text("pos:\t0\nflags:\t02100000\n")
    key = (opened.stat().st_dev, opened.stat().st_ino)
    device = f"{os.major(key[0]):02x}:{os.minor(key[0]):02x}:{key[1]}"
    lines = (
        f"1: FLOCK  ADVISORY  WRITE 71 {device} 0 EOF",
        f"1: -> FLOCK  ADVISORY  WRITE 72 {device} 0 EOF",
        "2: POSIX  ADVISORY  READ 72 00:01:5 0 EOF",
    )
    (tmp_path / "proc/locks").write_text("\n".join(lines))
    files = OpenFiles(str(tmp_path / "proc"))
    assert files.handles("s.jsonl", key) == [(Process(71, "claude"), False)]
    assert files.handles("s.jsonl", (0, 0)) == files.handles("t.jsonl", key) == []
    assert (files.is_supported, files.hidden) == (True, 0)
    assert lock_holders(str(tmp_path / "proc")) == {key: Process(71, "claude")}


@pytest.mark.parametrize("odd", ["<none>:0", "00:2f", "xx:00:1", f"{'f' * 40}:00:1", "00:00:x"])
def test_a_lock_that_is_supported_of_in_another_way_is_passed_over(tmp_path: Path, odd: str) -> None:
    lines = (f"1: FLOCK  ADVISORY  WRITE 12 {odd} 0 EOF", "2: OFDLCK ADVISORY  WRITE -1 00:01:5 0 EOF", "3: odd")
    (tmp_path / "locks").write_text("\n".join(lines))
    assert lock_holders(str(tmp_path)) == {(os.makedev(0, 1), 5): None}


@pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLK"), reason="this system has no locks of open files")
@needs_proc
def test_a_lock_that_belongs_to_no_process_is_a_sign_without_one(builder: StoreBuilder) -> None:
    path = builder.home() / f"{ONE}.jsonl"
    with path.open("r+b") as file:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        assert signs(builder)[ONE][0].words == "locked"


@pytest.mark.parametrize(("seconds", "expected"), [(50, True), (-50, True), (70, False), (-70, True), (-1e9, True)])
def test_a_write_counts_also_where_the_clock_of_the_files_is_ahead(
    builder: StoreBuilder, seconds: float, expected: bool
) -> None:
    path = str(builder.home() / f"{ONE}.jsonl")
    assert bool(InUse(now=1e9 + seconds).uses([path])) == expected


def test_a_session_that_is_modified_in_the_future_is_in_use_and_stays(builder: StoreBuilder, tmp_path: Path) -> None:
    os.utime(builder.home() / f"{ONE}.jsonl", (4e9, 4e9))
    assert [sign.how for sign in signs(builder)[ONE]] == [UseKind.FUTURE]
    assert answers(builder) == {ONE: {True}, TWO: {False}}
    options = ("--older-than", "1d", "--apply", "--root", builder.root, "--archive", tmp_path / "archive", "--no-cache")
    done = csp("clean", *options)
    assert f"skipped {ONE} (Start the engine): in use: its modification time is in the future" in done.stderr.decode()
    assert [path.stem for path in builder.home().glob("*.jsonl")] == [ONE]


@needs_proc
def test_processes_that_may_not_be_looked_into_are_counted(tmp_path: Path) -> None:
    for name in ("self", "71", "72"):
        (tmp_path / name / "fd").mkdir(parents=True)
    list_really = os.listdir

    def refuse(path: str) -> list[str]:
        if path.endswith("72/fd"):
            raise PermissionError(path)
        return list_really(path)

    with patch.object(os, "listdir", refuse):
        ways = InUse(proc=str(tmp_path)).methods
    assert ways == (True, False, True, 1)


# --- one rule for all commands ------------------------------------------------------------------------


def answers(builder: StoreBuilder) -> dict[str, set[bool]]:
    """Whether the two sessions are in use: what everybody says who is asked."""
    said: dict[str, set[bool]] = {}
    for id in (ONE, TWO):
        store = builder.open()
        session = next(one for one in store.sessions() if one.id == id)
        report = verify_files(store, [part.file for part in session.parts])
        cleaned = plan_clean(store, CleanRules(Filter(title="Stop it" if id == TWO else "Start the engine")))
        try:
            require_unused(session)
            is_refused = False
        except SessionInUse:
            is_refused = True
        said[id] = {
            session.in_use,
            bool(json.loads(session.json)["in_use"]),
            any(finding.kind.name == "in-use" for finding in report.findings),
            any(sign.is_use for sign in session.tree.in_use.renew().evidence(session.paths)),
            any(skipped.id == id for skipped in cleaned.skipped),
            is_refused,
            store.resolve(id).in_use,
        }
    return said


@pytest.mark.parametrize(
    ("mode", "ways", "expected"),
    [("r", [], False), ("r", ["lock"], True), ("r+", ["record"], True), ("r+", [], True), ("a", [], True)],
)
@pytest.mark.parametrize("place", [f"{ONE}.jsonl", f"{ONE}/subagents/agent-a5b6c7d8.jsonl"])
@needs_proc
def test_everybody_gives_the_same_answer_about_a_process(
    builder: StoreBuilder, place: str, mode: str, ways: list[str], expected: bool
) -> None:
    with somebody(builder.home() / place, mode, *ways):
        assert answers(builder) == {ONE: {expected}, TWO: {False}}
    assert answers(builder) == {ONE: {False}, TWO: {False}}


@pytest.mark.parametrize("kind", ["lock", "record"])
def test_a_lock_of_either_kind_is_known_without_the_list_of_locks(
    builder: StoreBuilder, tmp_path: Path, kind: str
) -> None:
    found = builder.open().resolve(ONE).file
    look = InUse(proc=str(tmp_path / "nothing"))
    with patch.object(in_use, "lock_holders", side_effect=AssertionError("to read it takes long")):
        assert not look(found)
        with somebody(builder.home() / f"{ONE}.jsonl", "r+", kind):
            assert look(found)
    with somebody(builder.home() / f"{ONE}.jsonl", "r+", kind):
        assert [sign.how for sign in look.evidence([found.path])] == [UseKind.LOCKED]


def test_a_file_that_opens_only_when_a_lease_is_given_back_is_in_use(builder: StoreBuilder) -> None:
    found = builder.open().resolve(ONE).file
    with patch.object(os, "open", side_effect=BlockingIOError):
        assert [sign.how for sign in InUse().evidence([found.path])] == [UseKind.LOCKED]
        assert InUse(proc="/nowhere")(found)


@pytest.mark.skipif(shutil.which("tail") is None, reason="there is no tail here")
@needs_proc
def test_a_reader_that_follows_a_session_is_no_use(builder: StoreBuilder) -> None:
    path = builder.home() / f"{ONE}.jsonl"
    with subprocess.Popen(["tail", "-f", str(path)], stdout=subprocess.PIPE) as tail:
        assert tail.stdout is not None
        tail.stdout.readline()
        try:
            assert [sign.words for sign in signs(builder)[ONE]] == [f"only read by tail (pid {tail.pid})"]
            assert answers(builder) == {ONE: {False}, TWO: {False}}
            listed = csp("locks", "--root", builder.root)
            named = csp("locks", ONE, "--root", builder.root)
            checked = csp("verify", ONE, "--root", builder.root)
        finally:
            tail.terminate()
    assert f"only read by tail (pid {tail.pid})".encode() in listed.stdout
    assert b"No session is in use." in listed.stderr
    assert named.returncode == 0
    assert b"in use" not in checked.stdout


@given(st.lists(st.tuples(st.sampled_from((ONE, TWO, "agent")), st.integers(-3600, 3600)), max_size=4))
@settings(max_examples=25, deadline=None)
def test_everybody_gives_the_same_answer_about_a_write(writes: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        builder = StoreBuilder(Path(folder) / "store")
        paths = {ONE: builder.session(ONE), TWO: builder.session(TWO, "Stop it"), "agent": builder.agent()}
        moments = dict.fromkeys(paths, 1e9) | {which: time.time() + seconds for which, seconds in writes}
        for which, moment in moments.items():
            os.utime(paths[which], (moment, moment))
        fresh = {which for which, moment in moments.items() if moment - time.time() >= -59}
        stale = {which for which, moment in moments.items() if moment - time.time() < -62}
        if fresh | stale != set(paths):
            return
        assert answers(builder) == {ONE: {bool(fresh & {ONE, "agent"})}, TWO: {TWO in fresh}}


def test_a_file_that_may_not_be_opened_and_a_pipe_are_looked_at_without_waiting(builder: StoreBuilder) -> None:
    path = builder.home() / f"{ONE}.jsonl"
    with patch.object(os, "open", side_effect=PermissionError):
        assert [sign.how for sign in InUse(now=1e9).evidence([str(path)])] == [UseKind.WRITTEN]
    pipe = builder.home() / "pipe.jsonl"
    os.mkfifo(pipe)
    assert InUse().evidence([str(pipe), str(builder.home() / "none.jsonl")]) == []


# --- the command ----------------------------------------------------------------------------------


def test_the_command_lists_what_is_in_use(builder: StoreBuilder) -> None:
    os.utime(builder.home() / f"{TWO}.jsonl")
    done = csp("locks", "--root", builder.root)
    assert done.returncode == 0
    heading, row = done.stdout.decode().splitlines()
    assert heading.split() == ["ID", "TITLE", "HOW", "WRITTEN"]
    assert row.split("  ")[1:] == ["Stop it", "written in the last minute", "just now"]


def test_the_command_says_that_none_is_in_use(builder: StoreBuilder) -> None:
    done = csp("locks", "--root", builder.root)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"No session is in use.\n")


def test_a_script_is_supported_by_the_exit_code_whether_a_session_is_in_use(builder: StoreBuilder) -> None:
    os.utime(builder.home() / f"{TWO}.jsonl")
    free, used = csp("locks", ONE, "--root", builder.root), csp("locks", TWO, "--root", builder.root)
    assert (free.returncode, used.returncode) == (0, 9)
    assert f"Session {ONE} is not in use." in free.stderr.decode()
    assert b"written in the last minute" in used.stdout


def test_a_strange_name_stays_on_one_line(builder: StoreBuilder) -> None:
    path = builder.session("new\nline")
    os.utime(path, (1e9, 1e9))
    done = csp("locks", path, "--root", builder.root)
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "Session new\ufffdline is not in use.".encode())


def test_json_says_how_it_is_known_and_which_ways_there_were(builder: StoreBuilder) -> None:
    os.utime(builder.home() / ONE / "subagents" / "agent-a5b6c7d8.jsonl")
    told = json.loads(csp("locks", "--json", "--root", builder.root).stdout)
    jsonschema.validate(told, {**SCHEMA, "$ref": "#/$defs/locks"})
    assert told["ways"] == {"lock": True, "lock_holder": HAS_PROC, "open": HAS_PROC, "written": True}
    (session,) = told["sessions"]
    assert (session["id"], session["in_use"]) == (ONE, True)
    assert [sign["how"] for sign in session["evidence"]] == [UseKind.WRITTEN]
    told = json.loads(csp("locks", TWO, "--json", "--root", builder.root).stdout)
    assert [(session["id"], session["in_use"]) for session in told["sessions"]] == [(TWO, False)]
