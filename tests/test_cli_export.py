"""`export`, as people run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from claude_session_player.export import OutputKind, formats
from tests.builder import SessionBuilder, call, text
from tests.program import PATIENCE, PROGRAM, csp, export_as_is, not_measured, on_terminal, told_on_terminal
from tests.recordings import parse_recording, play_back
from tests.stores import AGENT, ONE, StoreBuilder

CAST = ("--format", "asciicast")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return SessionBuilder().prompt("Make tea").response(text("Gladly.")).compaction().write(tmp_path / "s.jsonl")


@pytest.mark.parametrize("format", [one.name for one in formats(OutputKind.SCREEN)])
def test_a_screen_is_exported_as_replay_prints_it_with_its_history(format: str, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    done = export_as_is(path, "--format", format, "-o", target)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    printed = csp("replay", path, "--format", format, "--history").stdout
    assert b"Make tea" in printed
    assert target.read_bytes() == printed == export_as_is(path, "--format", format, "--history").stdout


def test_what_came_before_the_last_compaction_is_left_out_on_demand_and_counted(tmp_path: Path) -> None:
    builder = SessionBuilder().prompt("One").compaction().prompt("Two").response(text("Yes.")).compaction()
    path = builder.prompt("Three").write(tmp_path / "s.jsonl")
    done = export_as_is(path, "--since-compaction")
    assert done.stdout == csp("replay", path).stdout == "❯ Three\n".encode()
    words = "note: 3 elements from before the last compaction are not shown; use --history to include them\n"
    assert done.stderr.decode() == csp("replay", path).stderr.decode() == words
    assert export_as_is(path, *CAST, "--since-compaction").stderr == b""  # it shows everything in its time


def test_where_nothing_is_left_out_nothing_is_said(tmp_path: Path) -> None:
    path = SessionBuilder().compaction().prompt("One").response(text("Yes.")).write(tmp_path / "s.jsonl")
    for command in (
        "replay",
        "export --no-redact",
        "export --no-redact --since-compaction",
        "play --plain --idle 0",
        "show",
    ):
        assert csp(*command.split(), path).stderr == b"", command


def test_a_recording_has_the_size_and_the_times_that_were_asked_for(path: Path) -> None:
    done = export_as_is(path, *CAST, "--width", "30", "--height", "9", "--speed", "4", "--history")
    cast = parse_recording(done.stdout.decode())
    assert (cast.header["width"], cast.header["height"]) == (30, 9)
    assert [time for time, _ in cast.of("o")] == [0.0, 0.25, 0.5]
    assert play_back(cast).rows[:3] == ["❯ Make tea", "", "● Gladly."]


def test_a_recording_shows_the_rich_view_unless_the_screen_is_asked_for(tmp_path: Path) -> None:
    edit = {"file_path": "/k/kettle.py", "old_string": "cold = 1", "new_string": "hot = 2"}
    builder = SessionBuilder().prompt("Boil").response(text("**Done**"), call("Edit", **edit))
    path = builder.result("toolu_1", "The file has been updated successfully.").write(tmp_path / "s.jsonl")
    rich = play_back(parse_recording(export_as_is(path, *CAST).stdout.decode())).rows
    screen = play_back(parse_recording(export_as_is(path, *CAST, "--view", "screen").stdout.decode())).rows
    assert rich[2] == "● Done"
    assert any("+ hot = 2" in row for row in rich)
    assert screen[2] == "● **Done**"
    assert any("updated successfully" in row for row in screen)


@not_measured
def test_a_recording_takes_no_more_memory_for_a_longer_session(tmp_path: Path) -> None:
    peaks = []
    for count in (50, 2000):
        builder = SessionBuilder()
        for number in range(count):
            builder.response(text(f"**{number}** is `a number`:\n\n```python\nx = {number}\n```"))
        path = builder.write(tmp_path / f"{count}.jsonl")
        process = subprocess.Popen([*PROGRAM, "export", path, *CAST], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
    assert peaks[1] - peaks[0] < 20 << 20


def test_version_3_is_written_where_it_is_asked_for(path: Path) -> None:
    cast = parse_recording(export_as_is(path, *CAST, "--v3").stdout.decode())
    assert cast.header["version"] == 3


def test_it_reads_standard_input_and_names_of_the_store(tmp_path: Path, path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.session()
    store.agent()
    data = export_as_is("-", *CAST, stdin=path.read_bytes()).stdout
    assert data == export_as_is(path, *CAST).stdout
    for ref, words in ((ONE[:13], "It runs."), (AGENT, "Nothing there."), ("latest", "It runs.")):
        assert words in export_as_is(ref, *CAST, "--root", store.root).stdout.decode()


def test_a_file_that_is_there_is_overwritten_only_by_force(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    target.write_text("precious")
    done = export_as_is(path, "--history", "-o", target)
    assert done.returncode == 5
    assert done.stderr.decode() == f"claude-session-player: {target} already exists: use --force to overwrite it\n"
    assert target.read_text() == "precious"
    assert export_as_is(path, "--history", "-o", target, "--force").returncode == 0
    assert target.read_text() == "❯ Make tea\n\n● Gladly.\n\n── compacted (auto, 167503 tokens) ──\n"


def test_where_the_export_fails_no_file_is_left(path: Path, tmp_path: Path) -> None:
    before = sorted(os.listdir(tmp_path))
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"a": 1}\n')
    assert export_as_is(broken, *CAST, "-o", tmp_path / "out.cast").returncode == 4
    broken.unlink()
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    ("target", "what"), [("", "is a directory: name a file"), ("no/where.cast", "No such file or directory")]
)
def test_a_place_that_cannot_be_written_to_is_named(target: str, what: str, path: Path, tmp_path: Path) -> None:
    done = export_as_is(path, "-o", tmp_path / target)
    assert done.returncode == 5
    assert what in done.stderr.decode()


def test_a_file_gets_the_permissions_of_any_other(path: Path, tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    export_as_is(path, "-o", tmp_path / "out.md")
    assert (tmp_path / "out.md").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_device_is_written_to_without_force(path: Path) -> None:
    assert export_as_is(path, "-o", os.devnull).returncode == 0


def test_no_session_gives_no_output(tmp_path: Path) -> None:
    broken = tmp_path / "todo.jsonl"
    broken.write_text('{"type": "todo", "id": "1", "text": "Oil it", "completed": false}\n')
    done = export_as_is(broken, *CAST)
    assert (done.returncode, done.stdout) == (4, b"")


@pytest.mark.parametrize("format", ["asciicast", "svg", "gif", "mp4"])
def test_what_is_drawn_does_not_go_to_a_terminal(path: Path, format: str) -> None:
    output, code = told_on_terminal("export", path, "--format", format)
    assert code == 2
    assert "name a file with -o, or use a pipe" in " ".join(output.split())
    assert "Make tea" in on_terminal("export", path, "--history", "--format", "text")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--width", "40"), "--width applies to asciicast, svg, gif, mp4 only, not to markdown"),
        (("--real-time",), "--real-time applies to asciicast, gif, mp4 only, not to markdown"),
        (("--view", "screen"), "--view applies to asciicast, svg, gif, mp4 only, not to markdown"),
        (("--format", "svg", "--speed", "2"), "--speed applies to asciicast, gif, mp4 only, not to svg"),
        (("--format", "gif", "--v3"), "--v3 applies to asciicast only, not to gif"),
        ((*CAST, "--at", "50%"), "--at applies to svg only, not to asciicast"),
        (("--format", "svg", "--at", "soon"), "'soon' is not a position; use line: 120"),
        ((*CAST, "--idle", "soon"), "'soon' is not a number of seconds, or none"),
        ((*CAST, "--idle", "-1"), "'-1' is not a number of seconds, or none"),
        ((*CAST, "--speed", "0"), "0 is not from 0.01 to 1000"),
        ((*CAST, "--speed", "nan"), "'nan' is not a number"),
        ((*CAST, "--real-time", "--speed", "2"), "--real-time and --speed are mutually exclusive"),
        ((*CAST, "--paced", "--idle", "2"), "--paced and --idle are mutually exclusive"),
        ((*CAST, "--paced", "--real-time"), "--paced and --real-time are mutually exclusive"),
        ((*CAST, "--width", "9"), "9 is not in the range"),
    ],
)
def test_what_makes_no_sense_is_refused(options: tuple[str, ...], what: str, path: Path) -> None:
    done = export_as_is(path, *options)
    assert (done.returncode, done.stdout) == (2, b"")
    assert what in done.stderr.decode()


def test_a_sub_agent_inside_of_its_parents_file_is_recorded(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.every_layout()
    (agent,) = (agent for session in store.open().sessions() for agent in session.subagents if agent.is_inline)
    cast = parse_recording(export_as_is(agent.id, *CAST, "--root", store.root).stdout.decode())
    assert cast.of("m") == [(0.0, "What is it?")]
    told = csp("play", agent.id, "--idle", "0", "--from", "2", "--root", store.root).stdout.decode()
    assert told == "❯ What is it?\n\n● A kettle.\n"


def test_a_named_pipe_is_read_once(path: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([*PROGRAM, "play", pipe, "--idle", "0", "--from", "1"], stdout=subprocess.PIPE) as process:
        pipe.write_bytes(path.read_bytes())
        assert process.communicate(timeout=PATIENCE)[0].decode() == "❯ Make tea\n\n● Gladly.\n\n── compacted ──\n"


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.json", "json"), ("a.JSONL", "jsonl"), ("a.txt", "text"), ("a.md", "markdown"), ("a", "markdown")]
    + [(".json", "markdown")],
)
def test_the_suffix_decides_the_format(name: str, format: str, path: Path, tmp_path: Path) -> None:
    done = export_as_is(path, "-o", tmp_path / name)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / name).read_bytes() == export_as_is(path, "--format", format).stdout


def test_a_suffix_that_no_format_has_is_refused_unless_a_format_is_named(path: Path, tmp_path: Path) -> None:
    done = export_as_is(path, "-o", tmp_path / "a.HTML")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        "claude-session-player: no format has the suffix .html: name one with --format: markdown (.md), json (.json), "
        "jsonl (.jsonl), text (.txt), asciicast (.cast), svg (.svg), gif (.gif), mp4 (.mp4) "
        "(see 'claude-session-player export --help')\n"
    )
    assert not list(tmp_path.glob("a*"))
    assert export_as_is(path, "-o", tmp_path / "a.html", "--format", "markdown").returncode == 0


def test_the_suffix_of_what_is_drawn_decides_too(path: Path, tmp_path: Path) -> None:
    done = export_as_is(path, "-o", tmp_path / "a.cast", "--width", "30")
    assert (done.returncode, done.stderr) == (0, b"")
    assert parse_recording((tmp_path / "a.cast").read_text()).header["width"] == 30
    assert export_as_is(path, "-o", tmp_path / "a.svg", "--at", "50%").returncode == 0
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_a_suffix_of_another_format_is_remarked_on(path: Path, tmp_path: Path) -> None:
    done = export_as_is(path, "--format", "json", "-o", tmp_path / "a.gif")
    assert (done.returncode, done.stderr) == (0, b"warning: a.gif is written as json, though .gif is for gif\n")
    assert (tmp_path / "a.gif").read_bytes() == export_as_is(path, "--format", "json").stdout
    for name in ("a.json", "a.dat"):
        assert export_as_is(path, "--format", "json", "-o", tmp_path / name).stderr == b""
