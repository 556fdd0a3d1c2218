"""Recordings as GIF and MP4: frames and their times, the programs that are called, and what is said without them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from claude_session_player import View, replay
from claude_session_player.cli import run
from claude_session_player.errors import NotInstalled
from claude_session_player.export import frame_images
from claude_session_player.export.asciicast import RecordingSetup
from claude_session_player.export.colour_runs import DARK
from claude_session_player.export.terminal_screen import last_rows
from claude_session_player.export.video import timed_frames
from claude_session_player.playback import start_replay
from claude_session_player.player import Timing
from tests.builder import SessionBuilder, text
from tests.program import PATIENCE, export_as_is, run_on_terminal, wait_until
from tests.recordings import parse_recording, play_back

STAND_IN = """\
#!{python}
import json, pathlib, sys
pathlib.Path({log!r}).write_text(json.dumps(sys.argv[1:]) + "\\n" + pathlib.Path(sys.argv[-2]).read_text())
if {code}:
    print("reading\\nno \\x1b[31mfont", file=sys.stderr)
    sys.exit({code})
pathlib.Path(sys.argv[-1]).write_bytes(b"GIF89a" + bytes(range(256)))
"""


def require_ffmpeg() -> None:
    """Skip where ffmpeg is missing, except in CI, where it is installed."""
    if shutil.which("ffmpeg") is None and not (os.environ.get("CI") == "true" and sys.platform == "linux"):
        pytest.skip("ffmpeg is not installed")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Four changes of the screen, one second each."""
    builder = SessionBuilder().prompt("Make tea").response(text("**Gladly.**")).prompt("Thank you")
    return builder.response(text("It was nothing.")).write(tmp_path / "s.jsonl")


def stand_in(folder: Path, name: str, code: int = 0) -> Path:
    """A program that notes its arguments and the file before the last; what it wrote them to."""
    log = folder / f"{name}.log"
    program = folder / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(STAND_IN.format(python=sys.executable, log=str(log), code=code))
    program.chmod(0o755)
    return log


def frames(path: Path, **setup: object) -> list[tuple[tuple[str, ...], float]]:
    state, events = start_replay(path, View.rich())
    return [(one.rows, one.seconds) for one in timed_frames(events, state, RecordingSetup(**setup))]  # type: ignore[arg-type]


def test_a_frame_is_shown_until_the_next_and_the_last_one_for_three_seconds(path: Path) -> None:
    made = frames(path)
    assert [seconds for _, seconds in made] == [1.0, 1.0, 1.0, 3.0]
    for line, (rows, _) in enumerate(made, 1):
        assert list(rows) == last_rows(replay(path, View.rich(), until=line), 80, 24)
    assert [seconds for _, seconds in frames(path, timing=Timing(speed=4))] == [0.25, 0.25, 0.25, 3.0]


def test_what_changes_faster_than_a_video_is_one_frame(path: Path) -> None:
    for timing in (Timing(idle=0), Timing(speed=1000)):
        ((rows, seconds),) = frames(path, timing=timing)
        assert (len([row for row in rows if row]), seconds) == (4, 3.0)


def test_a_frame_is_drawn_in_colour_and_each_row_once() -> None:
    require_ffmpeg()  # its font comes with it
    artist = frame_images.FrameArtist(40, 5)
    image = artist.draw(["\x1b[31mred\x1b[0m", "", "茶 é ☑ \x1b[2;4mdim\x1b[0m"])
    assert image.size == artist.size
    assert (image.width % 2, image.height % 2) == (0, 0)
    colours = {colour for _, colour in image.getcolors(1 << 16) or ()}
    assert tuple(bytes.fromhex(DARK.colours[1][1:])) in colours
    assert tuple(bytes.fromhex(DARK.background[1:])) in colours
    artist.draw(["\x1b[31mred\x1b[0m", "new"])
    assert artist._draw_row.cache_info().misses == 3


def test_without_a_font_it_is_said_which_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_images, "_FONTS", (("no such font.ttf", "no such font.ttf"),))
    frame_images._load_fonts.cache_clear()
    try:
        with pytest.raises(NotInstalled, match=r"no monospace font .* is installed: install DejaVu Sans Mono"):
            frame_images.FrameArtist(80, 24)
    finally:
        frame_images._load_fonts.cache_clear()


def test_fontconfig_is_asked_once_for_each_block_of_signs_that_no_known_font_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_ffmpeg()  # its font comes with it
    log = tmp_path / "log"
    program = tmp_path / "fc-match"
    program.write_text(f'#!/bin/sh\necho "$2" >> {log}\nprintf "no such font.ttf"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    frame_images._font_for_block.cache_clear()
    try:
        frame_images.FrameArtist(40, 2).draw(["\U00013000\U00013001 \U00012000", "a é"])
    finally:
        frame_images._font_for_block.cache_clear()
    assert log.read_text().split() == ["monospace:charset=13000-130ff", "monospace:charset=12000-120ff"]


@pytest.fixture
def only_font(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of the font, which is the only one."""
    require_ffmpeg()
    monkeypatch.setattr(frame_images, "_FALLBACKS", ())
    monkeypatch.setattr(frame_images, "_font_for_block", lambda block: None)
    frame_images._load_fonts.cache_clear()
    yield frame_images._load_fonts().regular.getname()[0] or ""
    frame_images._load_fonts.cache_clear()


def test_characters_that_no_font_has_are_counted_and_named(only_font: str) -> None:
    artist = frame_images.FrameArtist(40, 2)
    artist.draw(["Tea, é, ✓\u3000\u00a0", "Tea"])
    assert artist.missing_glyphs() == ""
    artist.draw(["\U00013000", "\U00013000"])
    assert artist.missing_glyphs() == (
        f"1 character has no glyph in the font {only_font}, nor in another: \U00013000; "
        "install GNU Unifont (package unifont)"
    )
    artist.draw(["차를 끓여 주세요, 물이 없네요"])
    assert artist.missing_glyphs() == (
        f"12 characters have no glyph in the font {only_font}, nor in another: \U00013000차를끓여주세요…; "
        "install Noto Sans CJK (package fonts-noto-cjk)"
    )


def test_an_export_warns_once_of_what_no_font_has(
    only_font: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = SessionBuilder().prompt("Make \U00013000").response(text("\U00013000 \U00013001"))
    path = session.write(tmp_path / "s.jsonl")
    assert run(["export", "--no-redact", str(path), "-o", str(tmp_path / "a.mp4")]) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"warning: 2 characters have no glyph in the font {only_font}, nor in another: ")
    assert said.count("\n") == 1


def test_ffmpeg_makes_a_gif_with_the_times_of_the_recording(path: Path, tmp_path: Path) -> None:
    require_ffmpeg()
    (tmp_path / "bin").mkdir()
    os.symlink(shutil.which("ffmpeg") or "", tmp_path / "bin" / "ffmpeg")
    target = tmp_path / "tea.gif"
    done = export_as_is(path, "--format", "gif", "-o", target, "--speed", "2", PATH=str(tmp_path / "bin"))
    assert (done.returncode, done.stderr) == (0, b"")
    with Image.open(target) as image:
        assert image.info["loop"] == 0
        durations = []
        for number in range(image.n_frames):  # type: ignore[attr-defined]
            image.seek(number)
            durations.append(image.info["duration"])
        assert durations[:3] == pytest.approx([500] * 3, abs=40)  # 25 frames a second
        assert sum(durations) == pytest.approx(4500, abs=100)
        red, green, blue = bytes.fromhex(DARK.background[1:])
        assert image.convert("RGB").getpixel((2, 2)) == pytest.approx((red, green, blue), abs=4)


def test_ffmpeg_makes_a_video_that_a_pipe_takes_too(path: Path) -> None:
    require_ffmpeg()
    done = export_as_is(path, "--format", "mp4", "--width", "40")
    assert done.returncode == 0
    assert done.stdout[4:8] == b"ftyp"
    assert done.stdout.index(b"moov") < done.stdout.index(b"mdat")  # it plays while it is loaded
    probe = ["-v", "error", "-show_entries", "format=duration:stream=pix_fmt", "-of", "json", "-"]
    told = json.loads(subprocess.run(["ffprobe", *probe], input=done.stdout, capture_output=True, check=True).stdout)
    assert told["streams"][0]["pix_fmt"] == "yuv420p"
    assert float(told["format"]["duration"]) == pytest.approx(6, abs=0.2)


def test_agg_is_given_the_recording_without_a_limit_of_its_own(path: Path, tmp_path: Path) -> None:
    log, other = stand_in(tmp_path, "agg"), stand_in(tmp_path, "ffmpeg")
    done = export_as_is(path, "--format", "gif", "--width", "40", "--idle", "0.5", PATH=str(tmp_path / "bin"))
    assert (done.returncode, done.stdout) == (0, b"GIF89a" + bytes(range(256)))
    arguments, _, cast = log.read_text().partition("\n")
    assert json.loads(arguments) == ["--idle-time-limit", "1000000", "session.cast", "session.gif"]
    recording = parse_recording(cast)
    assert recording.header["version"] == 2
    assert [time for time, _ in recording.of("o")][:4] == [0.0, 0.5, 1.0, 1.5]
    assert "● Gladly." in play_back(recording).rows
    assert not other.exists()


@pytest.mark.parametrize(("format", "names"), [("gif", "agg or ffmpeg"), ("mp4", "ffmpeg")])
def test_without_a_program_it_is_said_what_to_install(format: str, names: str, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    done = export_as_is(path, "--format", format, "-o", target, PATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, b"")
    said = done.stderr.decode()
    assert said.startswith(f"claude-session-player: {format} needs {names}: install ")
    assert said.count("\n") == 1
    assert not target.exists()


def test_a_program_that_fails_leaves_no_file_and_its_last_words_are_told(path: Path, tmp_path: Path) -> None:
    stand_in(tmp_path, "agg", code=3)
    target = tmp_path / "out.gif"
    done = export_as_is(path, "--format", "gif", "-o", target, PATH=str(tmp_path / "bin"))
    assert done.returncode == 5
    assert done.stderr.decode() == "claude-session-player: agg failed: no �[31mfont\n"
    assert sorted(os.listdir(tmp_path)) == ["agg.log", "bin", "s.jsonl"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_an_export_that_is_ended_takes_the_program_and_its_pictures_with_it(
    number: signal.Signals, path: Path, tmp_path: Path
) -> None:
    require_ffmpeg()  # its font comes with it
    started, scratch, program = tmp_path / "started", tmp_path / "scratch", tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    scratch.mkdir()
    program.write_text(f"#!/bin/sh\necho $$ > {started}.new && mv {started}.new {started}\nexec sleep 600\n")
    program.chmod(0o755)
    words = [sys.executable, "-m", "claude_session_player", "export", str(path), "--format", "mp4"]
    paths = {"PATH": f"{program.parent}:/usr/bin:/bin", "TMPDIR": str(scratch)}
    target = tmp_path / "out.mp4"
    with subprocess.Popen([*words, "-o", str(target)], env={**os.environ, **paths}, stderr=subprocess.PIPE) as running:
        wait_until(started.exists, "ffmpeg was started")
        assert list(scratch.rglob("*.png"))
        running.send_signal(number)
        _, said = running.communicate(timeout=PATIENCE)
    assert (running.returncode, said) == (128 + number, b"")
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    assert (os.listdir(scratch), target.exists()) == ([], False)


def test_a_file_that_is_there_is_replaced_only_by_force(path: Path, tmp_path: Path) -> None:
    stand_in(tmp_path, "agg")
    target = tmp_path / "out.gif"
    target.write_text("precious")
    programs = str(tmp_path / "bin")
    assert export_as_is(path, "--format", "gif", "-o", target, PATH=programs).returncode == 5
    assert target.read_text() == "precious"
    assert export_as_is(path, "--format", "gif", "-o", target, "--force", PATH=programs).returncode == 0
    assert target.read_bytes().startswith(b"GIF89a")


def test_a_terminal_gets_a_progress_bar_that_disappears(path: Path, tmp_path: Path) -> None:
    stand_in(tmp_path, "agg")
    target = tmp_path / "out.gif"
    ran = run_on_terminal("export", path, "--format", "gif", "-o", target, PATH=str(tmp_path / "bin"))
    assert ran.code == 0
    assert b"drawing the gif" in ran.output
    assert target.exists()
