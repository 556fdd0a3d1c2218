"""Integrity: every kind of finding, by a session that has it and nothing else."""

from __future__ import annotations

import fcntl
import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, strategies as st

from claude_session_player.doctor import findings as kinds
from claude_session_player.doctor.checks import CheckJob, Inspection, inspect_file
from claude_session_player.doctor.findings import FINDING_KINDS, REPAIRABLE_KINDS, Finding, FindingKind
from claude_session_player.doctor.verify import VerifyReport, verify_files
from claude_session_player.util import workers
from tests import corpus
from tests.builder import SessionBuilder, call, text
from tests.damage import damage
from tests.program import csp, on_terminal
from tests.stores import AGENT, ENGINE, ONE, THREE, TWO, StoreBuilder

HOUR = 60 * 60
SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))
_MADE = REPAIRABLE_KINDS | {kinds.DUPLICATE_UUID}


def checked(builder: StoreBuilder) -> VerifyReport:
    store = builder.open()
    return verify_files(store, store.files())


def of_kinds(report: VerifyReport) -> Counter[str]:
    return Counter(finding.kind.name for finding in report.findings)


def rest(path: Path, hours: float = 1) -> Path:
    """Let a file be written to some time ago, so that nobody uses it."""
    moment = time.time() - hours * HOUR
    os.utime(path, (moment, moment))
    return path


def looked_at(path: Path, data: bytes) -> Inspection:
    path.write_bytes(data)
    return inspect_file(CheckJob(str(path), len(data)))


def all_of(inspection: Inspection) -> list[Finding]:
    return [*inspection.findings, *([inspection.tail] if inspection.tail else [])]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch") / "a.jsonl"


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "claude")


def talk() -> SessionBuilder:
    session = SessionBuilder(session_id=ONE, cwd=ENGINE).prompt("Start the engine")
    return session.response(call("Bash", "toolu_1", command="make")).result("toolu_1").response(text("It runs."))


def put(builder: StoreBuilder, session: SessionBuilder, id: str = ONE) -> Path:
    return rest(session.write(builder.home() / f"{id}.jsonl"))


def test_nothing_is_wrong_with_a_whole_session(builder: StoreBuilder) -> None:
    path = put(builder, talk())
    assert checked(builder) == VerifyReport(1, path.stat().st_size, ())


LINE = b'{"type":"mode","mode":"plan"}'


@pytest.mark.parametrize(
    ("data", "kind", "line", "offset"),
    [
        (LINE + b"\noops\n", kinds.MALFORMED_LINE, 2, 30),
        (LINE + b"\n" + LINE[:-5] + b"\n" + LINE, kinds.CUT_LINE, 2, 30),
        (LINE + LINE + b"\n", kinds.GLUED_RECORDS, 1, 29),
        (LINE + b"\n\0\0\0" + LINE + b"\n", kinds.NUL_BYTES, 2, 30),
        (LINE + b"\n\0\0\0", kinds.NUL_BYTES, 2, 30),
        (LINE.replace(b"plan", b"pl\xe4n"), kinds.INVALID_UTF8, 1, 25),
        (b"[1]\n" + LINE, kinds.NOT_AN_OBJECT, 1, 0),
        (b"\xef\xbb\xbf" + LINE, kinds.BYTE_ORDER_MARK, 1, 0),
        (LINE.replace(b"plan", b"pl\tan"), kinds.MALFORMED_LINE, 1, 0),
        (LINE.replace(b'"plan"', b"NaN"), kinds.MALFORMED_LINE, 1, 0),
        (b'{"type":"user","timestamp":"soon"}', kinds.BAD_TIMESTAMP, 1, 0),
        (b'{"type":"user","timestamp":1768682000}', kinds.BAD_TIMESTAMP, 1, 0),
    ],
)
def test_damage_is_found_with_its_line_and_its_byte(
    tmp_path: Path, data: bytes, kind: FindingKind, line: int, offset: int
) -> None:
    (finding,) = all_of(looked_at(tmp_path / "a.jsonl", data))
    assert (finding.kind, finding.line, finding.offset) == (kind, line, offset)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n  \r\n",
        LINE,
        LINE + b"\r\n",
        LINE.replace(b"plan", rb"\ud83d"),
        LINE.replace(b'"plan"', b"[" * 3000 + b"]" * 3000),
        b'{"type":7,"uuid":[],"message":{"content":{}},"cwd":1}',
        b'{"type":"user","timestamp":"2026-01-17 20:31:59"}',
        b'{"type":"message","role":"user","content":"Hello","timestamp":"2025-01-23T10:30:01Z"}',
    ],
)
def test_what_every_reader_understands_is_no_damage(tmp_path: Path, data: bytes) -> None:
    assert not all_of(looked_at(tmp_path / "a.jsonl", data))


def test_a_record_without_a_uuid_is_found_only_where_records_have_one(tmp_path: Path) -> None:
    with_envelope = SessionBuilder().prompt("Hi", uuid="").line({"type": "mode", "sessionId": "1"})
    plain = SessionBuilder().line({"type": "user", "message": {"role": "user", "content": "Hi"}})
    found = all_of(looked_at(tmp_path / "a.jsonl", with_envelope.data()))
    assert [(finding.kind, finding.line) for finding in found] == [(kinds.MISSING_UUID, 1)]
    assert not all_of(looked_at(tmp_path / "b.jsonl", plain.data()))


def test_every_further_record_with_a_uuid_is_found(tmp_path: Path) -> None:
    session = talk()
    session.lines += [session.lines[0], session.lines[0]]
    found = all_of(looked_at(tmp_path / "a.jsonl", session.data()))
    assert [(finding.kind, finding.line) for finding in found] == [(kinds.DUPLICATE_UUID, 5), (kinds.DUPLICATE_UUID, 6)]


def test_every_record_whose_parent_is_missing_is_found_and_a_later_parent_is_not_missing(tmp_path: Path) -> None:
    session = talk()
    assert not all_of(looked_at(tmp_path / "a.jsonl", b"".join(reversed(session.lines))))
    del session.lines[0]
    (finding,) = all_of(looked_at(tmp_path / "a.jsonl", session.data()))
    assert (finding.kind, finding.line) == (kinds.MISSING_PARENT, 1)


def test_calls_and_results_without_each_other_are_found(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("Go").response(call("Bash", "toolu_1"), call("Read", "toolu_2"))
    session.result("toolu_2").result("toolu_2").result("toolu_3")
    found = all_of(looked_at(tmp_path / "a.jsonl", session.data()))
    assert [(finding.kind, finding.line, finding.detail) for finding in found] == [
        (kinds.CALL_WITHOUT_RESULT, 2, "toolu_1"),
        (kinds.RESULT_WITHOUT_CALL, 6, "toolu_3"),
    ]


def test_a_sub_agent_that_no_call_leads_to_is_found(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Look")
    session.response(call("Task", "toolu_1", prompt="Look around")).result("toolu_1", "Nothing.")
    put(builder, session)
    rest(builder.agent())
    rest(builder.agent("b1b1b1b1", place="subagents", task="Nobody asked for this"))
    rest(builder.agent("c1c1c1c1", session=TWO))
    rest(builder.agent("acompact-1", place="subagents", task="Helpers come by themselves"))
    rest(builder.agent("d1d1d1d1", place="subagents/workflows/wf_1", task="Workflows call in their own way"))
    found = {Path(finding.path).stem: finding for finding in checked(builder).findings}
    assert found.keys() == {"agent-b1b1b1b1", "agent-c1c1c1c1"}
    assert {finding.kind for finding in found.values()} == {kinds.UNLINKED_SUBAGENT}


@pytest.mark.parametrize("place", ["", "subagents", "subagents/nested"])
@pytest.mark.parametrize("in_store", [True, False])
def test_the_session_of_a_sub_agent_that_is_checked_alone_is_looked_up(
    builder: StoreBuilder, tmp_path: Path, place: str, in_store: bool
) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Look")
    session.response(call("Task", "toolu_1", prompt="Look around")).result("toolu_1", "Nothing.")
    put(builder, session)
    called, lost = rest(builder.agent(place=place)), rest(builder.agent("b1b1b1b1", place=place, task="Nobody asked"))
    for path, id, words in ((called, AGENT, ""), (lost, "b1b1b1b1", f"session {ONE} has no call that started it")):
        for ref in (path, id) if in_store else (path,):
            root = builder.root if in_store else tmp_path / "none"
            done = csp("verify", ref, "--json", CLAUDE_CONFIG_DIR=str(root))
            found = json.loads(done.stdout)
            assert [finding["detail"] for finding in found] == ([words] if words else [])
            assert done.returncode == bool(words)


def test_a_tools_output_that_is_gone_is_found(builder: StoreBuilder) -> None:
    folder = builder.home() / ONE / "tool-results"
    folder.mkdir(parents=True)
    (folder / "b1.txt").write_text("all of it")
    session = SessionBuilder(session_id=ONE).prompt("Go").response(call("Bash", "toolu_1"), call("Bash", "toolu_2"))
    for number, id in enumerate(("toolu_1", "toolu_2"), 1):
        words = f"Output too large (9KB). Full output saved to: /elsewhere/tool-results/b{number}.txt"
        session.result(id, f"<persisted-output>\n{words}\n\nPreview:\n</persisted-output>")
    session.prompt("What does <persisted-output>\nsaved to: b3.txt\n mean?")
    put(builder, session)
    (finding,) = checked(builder).findings
    assert (finding.kind, finding.line, finding.detail) == (
        kinds.MISSING_OUTPUT,
        5,
        os.path.join("tool-results", "b2.txt"),
    )


@pytest.mark.parametrize(
    ("home", "cwd", "is_wrong"),
    [
        ("-home-ada-engine", "/home/ada/engine", False),
        ("home-ada-engine", "/home/ada/engine", False),
        ("-home-ada-engine", "/home/ada/engine/src", False),
        ("c--Users-ada-engine", r"C:\Users\ada\engine", False),
        ("-home-ada-engine", "/home/ada", True),
        ("-home-ada-engine", "/tmp", True),
    ],
)
def test_a_project_directory_that_no_working_directory_is_spelled_like_is_wrong(
    builder: StoreBuilder, home: str, cwd: str, is_wrong: bool
) -> None:
    rest(builder.session(cwd=cwd, home=home))
    assert of_kinds(checked(builder)) == Counter(["wrong-project"] if is_wrong else [])


@pytest.mark.parametrize(
    ("id", "is_wrong"),
    [(ONE, False), ("abcdef1234567890ABCDEF1234", False), ("notes", True), ("abcdef", True), (f"{ONE} copy", True)],
)
def test_a_file_name_that_is_no_session_id_is_found(builder: StoreBuilder, id: str, is_wrong: bool) -> None:
    rest(builder.session(id))
    assert of_kinds(checked(builder)) == Counter(["bad-id"] if is_wrong else [])


def test_outside_of_a_store_names_say_nothing(tmp_path: Path, builder: StoreBuilder) -> None:
    store = builder.open()
    path = rest(talk().write(tmp_path / "notes.jsonl"))
    assert verify_files(store, [store.file_at(path)]).findings == ()


@pytest.mark.parametrize("nothing", [b"", b"\n", b" \n\t\n" * 1000])
def test_large_old_and_empty_sessions_are_found(builder: StoreBuilder, nothing: bytes) -> None:
    put(builder, talk().line({"type": "mode", "mode": "x" * (10 << 20)}), ONE)
    rest(builder.session(TWO), hours=25)
    empty = rest(builder.session("abcdef1234567890ABCDEF1234"))
    empty.write_bytes(nothing)
    rest(empty)
    assert of_kinds(checked(builder)) == {"too-large": 1, "old": 1, "empty": 1}


def test_a_session_in_use_is_found_and_what_may_still_come_is_not_missed(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Go").response(call("Bash", "toolu_1")).raw(b'{"type":"us')
    path = session.write(builder.home() / f"{ONE}.jsonl")
    assert of_kinds(checked(builder)) == {"in-use": 1}
    rest(path)
    assert of_kinds(checked(builder)) == {"call-without-result": 1, "cut-line": 1}
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert of_kinds(checked(builder)) == {"in-use": 1}


def test_a_call_waits_while_a_sub_agent_of_its_session_works(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Go").response(call("Task", "toolu_1", prompt="Look around"))
    put(builder, session)
    agent = builder.agent(place="subagents")
    assert of_kinds(checked(builder)) == {"in-use": 1}
    rest(agent)
    assert of_kinds(checked(builder)) == {"call-without-result": 1}


def test_outside_of_a_store_a_file_that_was_just_written_is_not_in_use(tmp_path: Path, builder: StoreBuilder) -> None:
    store = builder.open()
    path = talk().raw(b'{"type":"us').write(tmp_path / "copy.jsonl")
    assert [finding.kind for finding in verify_files(store, [store.file_at(path)]).findings] == [kinds.CUT_LINE]


def test_a_call_that_is_repeated_behind_its_result_has_a_result(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("Go").response(call("Bash", "toolu_1")).result("toolu_1")
    session.response(call("Bash", "toolu_1"))
    assert not all_of(looked_at(tmp_path / "a.jsonl", session.data()))


def test_a_file_that_cannot_be_read_costs_nothing_else(builder: StoreBuilder) -> None:
    put(builder, talk())
    gone = rest(builder.session(TWO))
    store = builder.open()
    files = store.files()
    gone.unlink()
    report = verify_files(store, files)
    assert of_kinds(report) == {"unreadable": 1}
    assert report.files == 2


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (kinds.BAD_ID, "Session not found"),
        (kinds.CUT_LINE, "Session corrupted"),
        (kinds.IN_USE, "Session locked"),
        (kinds.TOO_LARGE, "Session too large"),
        (kinds.WRONG_PROJECT, "Wrong project"),
    ],
)
def test_the_common_problems_have_the_names_that_people_know(kind: FindingKind, problem: str) -> None:
    assert kind.problem == problem


def test_every_kind_says_what_to_do() -> None:
    assert all(kind.what and kind.advice for kind in FINDING_KINDS)
    assert len({kind.name for kind in FINDING_KINDS}) == len(FINDING_KINDS)


def long_session(turns: int) -> SessionBuilder:
    session = SessionBuilder(session_id=ONE)
    for turn in range(turns):
        session.prompt(f"Grüße, Nummer {turn} 😀").response(call("Bash", f"toolu_{turn}", command="ls\n", n=-1.5e-7))
        session.result(f"toolu_{turn}", "ein Haufen\tDateien").response(text("Fertig → ✓"))
    return session


@given(seed=st.integers(0, 1 << 32), count=st.integers(0, 20))
def test_the_kinds_and_counts_of_damage_that_are_found_are_those_that_were_made(
    scratch: Path, seed: int, count: int
) -> None:
    lines, made = damage(long_session(12).lines, count, random.Random(seed))
    found = Counter(finding.kind for finding in all_of(looked_at(scratch, b"".join(lines))))
    assert {kind: n for kind, n in found.items() if kind in _MADE} == made


@pytest.mark.skipif(not corpus.session_files(), reason="there are no real sessions")
def test_damage_made_to_real_sessions_is_found(scratch: Path) -> None:
    chance = random.Random(1)
    tried = 0
    for source in corpus.session_files():
        lines = [line for line in source.read_bytes().splitlines(keepends=True) if b'"uuid"' in line]
        lines = [line if line.endswith(b"\n") else line + b"\n" for line in lines]
        if not lines or {finding.kind for finding in all_of(looked_at(scratch, b"".join(lines)))} & _MADE:
            continue
        damaged, made = damage(lines, 10, chance)
        found = Counter(finding.kind for finding in all_of(looked_at(scratch, b"".join(damaged))))
        assert {kind: n for kind, n in found.items() if kind in _MADE} == made, source
        tried += 1
    assert tried > 50


@given(st.lists(st.binary(max_size=40) | st.sampled_from([*talk().lines, b"\n", b"\0", b"{", LINE + b"\n"])))
def test_any_bytes_can_be_inspected(scratch: Path, pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    inspection = looked_at(scratch, data)
    assert inspection.bytes_read == len(data)
    assert all(0 <= (finding.offset or 0) < len(data) for finding in all_of(inspection))


def test_several_processes_find_what_one_does(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        session = talk().raw(b"oops\n") if number % 2 else talk()
        put(builder, session, f"1f2e3d4c-0000-4000-8000-00000000000{number}")
    alone = checked(builder)
    monkeypatch.setattr(workers, "PARALLEL_BYTES", 0)
    monkeypatch.setattr(workers, "_PORTION_BYTES", 1)
    monkeypatch.setattr(workers, "_cores", lambda: 3)
    assert checked(builder) == alone
    assert of_kinds(alone) == {"malformed-line": 3}


# --- the command ----------------------------------------------------------------------------------


def test_the_exit_code_tells_clean_from_found_from_unreadable(builder: StoreBuilder) -> None:
    whole, broken = put(builder, talk()), put(builder, talk().raw(b"oops\n"), TWO)
    where = ("--root", builder.root)
    assert csp("verify", ONE, *where).returncode == 0
    assert csp("verify", TWO, *where).returncode == 1
    assert csp("verify", "--all", *where).returncode == 1
    assert csp("verify", "--all", "--project", "nowhere", *where).returncode == 0
    missing = csp("verify", "nosuchsession", *where)
    assert missing.returncode == 2
    assert missing.stderr.startswith(b"claude-session-player: Session not found: ")
    assert csp("verify", builder.root / "gone.jsonl", *where).returncode == 2
    assumed, named = csp("verify", *where), csp("verify", "latest", *where)
    assert (assumed.stdout, assumed.returncode) == (named.stdout, named.returncode)
    assert csp("verify", "1f2e", *where).returncode == 2
    assert csp("verify", "--all", "--root", builder.root / "gone").returncode == 2
    assert csp("verify", whole, broken).returncode == 1


def test_findings_are_told_with_line_byte_and_what_to_do(builder: StoreBuilder) -> None:
    path = put(builder, talk().raw(b"oops\n"))
    offset = path.stat().st_size - 5
    told = csp("verify", ONE, "--root", builder.root).stdout.decode()
    assert told == (
        f"{path}\n"
        "  error: Session corrupted: a line that is not valid JSON\n"
        f"    line 5, byte {offset}: no JSON value here\n"
        f"    → claude-session-player repair {path} -o NEW.jsonl moves it to a separate file\n"
        "\n"
        f"1f2e3d4c 'Start the engine', 1 file, {path.stat().st_size / 1024:.1f} KB: 1 error\n"
    )
    coloured = on_terminal("verify", ONE, "--root", builder.root)
    assert "\x1b[31merror\x1b[0m: Session corrupted" in coloured


@pytest.fixture
def damaged(builder: StoreBuilder) -> StoreBuilder:
    """Three sessions, two of them with malformed lines, one of these with a sub-agent that nobody called."""
    put(builder, talk().raw(b"oops\n").raw(b"oops\n"))
    rest(builder.agent(place="subagents")).write_bytes(b"oops\n")
    rest(builder.home() / ONE / "subagents" / f"agent-{AGENT}.jsonl")
    put(builder, SessionBuilder(session_id=TWO).prompt("Go").response(call("Bash", "toolu_1")).raw(b"oops\n"), TWO)
    put(builder, talk(), THREE)
    return builder


def test_the_total_names_the_session_unless_a_path_did_or_there_are_several(builder: StoreBuilder) -> None:
    path = put(builder, talk())
    checked = f"1 file, {path.stat().st_size / 1024:.1f} KB: nothing is wrong\n"
    named = f"1f2e3d4c 'Start the engine', {checked}"
    for words, total in (((), named), ((ONE[:8],), named), (("latest",), named), ((path,), checked)):
        assert csp("verify", *words, "--root", builder.root).stdout.decode() == total
    put(builder, talk(), TWO)
    assert csp("verify", ONE, TWO, "--root", builder.root).stdout.startswith(b"2 files, ")


def test_many_sessions_are_summed_up_by_kind_the_worst_first(damaged: StoreBuilder) -> None:
    done = csp("verify", "--all", "--root", damaged.root)
    head, *rows, blank, total = done.stdout.decode().splitlines()
    assert head.split() == ["KIND", "SEVERITY", "FINDINGS", "SESSIONS", "WHAT", "EXAMPLE"]
    cells = [row.split() for row in rows]
    assert [(row[0], row[1], row[2], row[3]) for row in cells] == [
        ("malformed-line", "error", "4", "2"),
        ("call-without-result", "warning", "1", "1"),
        ("unlinked-subagent", "warning", "1", "1"),
    ]
    assert "a line that is not valid JSON" in rows[0]
    assert rows[1].endswith(f"{TWO[:8]}, line 2")
    assert (blank, total.partition(": ")[2]) == ("", "4 errors, 2 warnings")
    assert done.stderr == b"note: --kind KIND lists the findings of a kind, --details lists all of them\n"
    assert done.returncode == 1
    assert csp("verify", "--title", "engine", "--root", damaged.root).stdout.startswith(b"KIND ")


def test_a_kind_is_listed_finding_by_finding(damaged: StoreBuilder) -> None:
    done = csp("verify", "--all", "--kind", "unlinked-subagent", "--root", damaged.root)
    told = done.stdout.decode()
    assert ("a sub-agent without a tool call" in told, "not valid JSON" in told, done.stderr) == (True, False, b"")
    assert told.endswith(": 1 warning (4 errors, 1 warning of other kinds)\n")
    kinds = [finding["kind"] for finding in findings_of("--all", "--kind", "malformed-line", "--root", damaged.root)]
    assert kinds == ["malformed-line"] * 4
    nothing = csp("verify", "--all", "--kind", "cut-line", "--root", damaged.root)
    assert (nothing.returncode, b": no such findings (" in nothing.stdout) == (0, True)
    assert b"'oops' is not one of" in csp("verify", "--all", "--kind", "oops", "--root", damaged.root).stderr


def test_a_kind_is_listed_whatever_its_severity(builder: StoreBuilder) -> None:
    rest(builder.session(ONE), hours=48)
    assert csp("verify", "--all", "--root", builder.root).returncode == 0
    assert b"advice: not written to" in csp("verify", "--all", "--kind", "old", "--root", builder.root).stdout


def test_details_follow_the_summary_where_they_are_asked_for(damaged: StoreBuilder) -> None:
    summary, details = (csp("verify", "--all", *more, "--root", damaged.root) for more in ([], ["--details"]))
    table = summary.stdout.decode().partition("\n\n")[0]
    assert details.stdout.decode().startswith(f"{table}\n\n{damaged.root}")
    assert details.stdout.decode().count("no JSON value here") == 4
    assert details.stderr == b""


def test_a_summary_without_findings_is_the_total_alone(builder: StoreBuilder) -> None:
    put(builder, talk())
    done = csp("verify", "--all", "--root", builder.root)
    assert (done.stdout.count(b"\n"), done.stderr) == (1, b"")


def findings_of(*arguments: str | Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(csp("verify", "--json", *arguments).stdout)
    return found


def test_the_severity_decides_what_is_told(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Go").response(call("Bash", "toolu_1")).raw(b"oops\n")
    rest(put(builder, session), hours=48)
    where = ("--root", builder.root, ONE)
    counted = {
        level: [finding["kind"] for finding in findings_of(*where, "--severity", level)]
        for level in ("advice", "warning", "error")
    }
    assert counted == {
        "advice": ["call-without-result", "malformed-line", "old"],
        "warning": ["call-without-result", "malformed-line"],
        "error": ["malformed-line"],
    }
    assert csp("verify", *where).stdout.endswith(b": 1 error, 1 warning\n"), "nearly every session is old"
    assert csp("verify", *where, "--severity", "error").stdout.endswith(
        b": 1 error (1 warning left out: see --severity)\n"
    )


def test_json_tells_all_of_a_finding(builder: StoreBuilder) -> None:
    path = put(builder, talk().raw(b"oops\n"))
    assert findings_of("--root", builder.root, ONE) == [
        {
            "path": str(path),
            "kind": "malformed-line",
            "severity": "error",
            "problem": "Session corrupted",
            "line": 5,
            "offset": path.stat().st_size - 5,
            "what": "a line that is not valid JSON",
            "detail": "no JSON value here",
            "advice": f"claude-session-player repair {path} -o NEW.jsonl moves it to a separate file",
        }
    ]


def test_findings_keep_the_contract(builder: StoreBuilder) -> None:
    contract = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/finding"})
    put(builder, talk().raw(b"oops\n"))
    builder.session(TWO, home="somewhere-else")
    found = findings_of("--root", builder.root, "--all", "--severity", "advice")
    assert {finding["problem"] for finding in found} == {"Session corrupted", "Wrong project", "Session locked"}
    for finding in found:
        contract.validate(finding)


def test_a_session_is_checked_with_its_sub_agents(builder: StoreBuilder) -> None:
    put(builder, talk())
    agent = rest(builder.agent(place="subagents"))
    assert [finding["kind"] for finding in findings_of("--root", builder.root, ONE)] == ["unlinked-subagent"]
    assert b"2 files" in csp("verify", "--root", builder.root, ONE).stdout
    agent.write_bytes(b"oops\n")
    rest(agent)
    assert "malformed-line" in {finding["kind"] for finding in findings_of("--root", builder.root, AGENT)}


def test_a_real_store_is_checked_without_a_mistake() -> None:
    home = corpus.STORE
    if not home.exists():
        pytest.skip("there is no real store")
    done = csp("verify", "--all", "--root", home, "--no-cache", "--severity", "advice", "--details")
    assert done.returncode == 1
    assert done.stderr == b""


@pytest.mark.parametrize("command", [("verify",), ("verify", "--json"), ("list", "--project", "x"), ("list", "--json")])
def test_half_a_surrogate_pair_in_a_record_is_told(tmp_path: Path, command: tuple[str, ...]) -> None:
    record = SessionBuilder(session_id=ONE).prompt("Hi", uuid="<half>", parentUuid="<half>", cwd="/home/<half>").data()
    path = StoreBuilder(tmp_path / "store").home() / f"{ONE}.jsonl"
    path.parent.mkdir()
    path.write_bytes(2 * record.replace(b"<half>", b"\\ud800"))
    done = csp(*command, *((path,) if command[0] == "verify" else ()), "--root", tmp_path / "store", "--no-cache")
    assert b"Traceback" not in done.stderr
    assert (b"\\ud800" in done.stdout) or command[0] == "list"
