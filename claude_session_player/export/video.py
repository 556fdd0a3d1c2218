"""Recordings as GIF and MP4, made by other programs: agg plays an asciicast, ffmpeg joins frames that are drawn here.

What a session says reaches these programs as escaped asciicast, or as pixels; never as arguments.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from claude_session_player.errors import CannotWrite, NotInstalled
from claude_session_player.export.asciicast import OUTPUT, cast_events, write_asciicast
from claude_session_player.export.registry import OutputKind, format_named
from claude_session_player.export.terminal_screen import TerminalScreen
from claude_session_player.util.fsutil import private_directory, regular_opener
from claude_session_player.util.text import last_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claude_session_player.export.asciicast import RecordingSetup
    from claude_session_player.format.events import Event
    from claude_session_player.models import ScreenState

AGG, FFMPEG = "agg", "ffmpeg"
_SOURCES: Final = {
    AGG: "agg (github.com/asciinema/agg)",
    FFMPEG: "ffmpeg (ffmpeg.org, or the package ffmpeg of your system)",
}
_SHORTEST: Final = 0.04
"""Seconds that a frame is shown at least: what changes sooner is in the next one."""
_LAST: Final = 3.0
"""Seconds that the last frame is shown."""
_NO_LIMIT: Final = "1000000"
"""Seconds: pauses are already as long as they were asked to be."""
_LOOK_SECONDS: Final = 0.2
_PATIENCE: Final = 2.0
"""Seconds that a program has to end by itself."""
_LIST: Final = "frames.txt"
_PALETTE: Final = "palette.png"
_FFMPEG_OPTIONS: Final = ("-nostdin", "-hide_banner", "-loglevel", "error", "-y", "-f", "concat", "-i", _LIST)


class TimedFrame(NamedTuple):
    """The rows of the terminal, and for how many seconds they are shown."""

    rows: tuple[str, ...]
    seconds: float


def write_gif(events: Iterable[Event], state: ScreenState, file: TextIO, setup: RecordingSetup) -> None:
    """Write a recording as an animated GIF, with agg or else with ffmpeg. Raises `NotInstalled`."""
    program = _find_program("gif")
    with private_directory() as folder:
        if os.path.basename(program).startswith(AGG):
            with open(os.path.join(folder, "session.cast"), "w", encoding="utf-8", newline="\n") as cast:
                write_asciicast(events, state, cast, setup._replace(version=2))
            _run(folder, program, "--idle-time-limit", _NO_LIMIT, "session.cast", "session.gif")
        else:
            _draw_frames(events, state, setup, folder)
            palette = ("-i", _PALETTE, "-lavfi", "paletteuse=dither=none", "-loop", "0", "-final_delay", "4")
            _run(folder, program, *_FFMPEG_OPTIONS, *palette, "session.gif")
        _copy(os.path.join(folder, "session.gif"), file)


def write_mp4(events: Iterable[Event], state: ScreenState, file: TextIO, setup: RecordingSetup) -> None:
    """Write a recording as a video, with ffmpeg. Raises `NotInstalled`."""
    program = _find_program("mp4")
    with private_directory() as folder:
        _draw_frames(events, state, setup, folder)
        video = ("-pix_fmt", "yuv420p", "-movflags", "+faststart")  # what browsers play, while it is loaded
        try:
            _run(folder, program, *_FFMPEG_OPTIONS, *video, "-fps_mode", "vfr", "session.mp4")
        except CannotWrite:  # before version 5.1; then each frame is encoded 25 times a second
            _run(folder, program, *_FFMPEG_OPTIONS, *video, "session.mp4")
        _copy(os.path.join(folder, "session.mp4"), file)


def timed_frames(events: Iterable[Event], state: ScreenState, setup: RecordingSetup) -> Iterator[TimedFrame]:
    """What the terminal shows, from one change to the next."""
    screen = TerminalScreen(state, setup.width, setup.height)
    start, rows = 0.0, tuple[str, ...]()
    for event in cast_events(events, screen, setup.timing):
        new = tuple(screen.rows)
        if event.kind != OUTPUT or new == rows:
            continue
        if event.moment - start >= _SHORTEST:
            yield TimedFrame(rows, event.moment - start)
            start = event.moment
        rows = new
    yield TimedFrame(rows, _LAST)


def _draw_frames(events: Iterable[Event], state: ScreenState, setup: RecordingSetup, folder: str) -> None:
    """Write each frame as a picture, and the list of them with their durations."""
    from claude_session_player.export.frame_images import FrameArtist, frame_palette

    artist = FrameArtist(setup.width, setup.height)
    frame_palette().save(os.path.join(folder, _PALETTE))
    name = ""
    with open(os.path.join(folder, _LIST), "w", encoding="utf-8", newline="\n") as file:
        file.write("ffconcat version 1.0\n")
        for number, frame in enumerate(timed_frames(events, state, setup)):
            name = f"{number:08}.png"
            artist.draw(frame.rows).save(os.path.join(folder, name), compress_level=1)
            file.write(f"file '{name}'\nduration {frame.seconds:.6f}\n")
        file.write(f"file '{name}'\n")  # else the last duration would not count
    if setup.warn is not None and (warning := artist.missing_glyphs()):
        setup.warn(warning)


# --- programs -----------------------------------------------------------------------------------------


def _find_program(name: str) -> str:
    """The path of the program that makes this format. Raises `NotInstalled`."""
    format = format_named(name, OutputKind.VIDEO)
    if (path := format.program) is not None:
        return path
    sources = " or ".join(_SOURCES[program] for program in format.programs)
    raise NotInstalled(f"{name} needs {' or '.join(format.programs)}: install {sources}")


def _run(folder: str, program: str, *arguments: str) -> None:
    """Run a program in a directory; if it fails, what it said last is the reason."""
    with Popen((program, *arguments), cwd=folder, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE) as process:
        try:
            said = _wait_for(process)
        except BaseException:
            _end(process)
            raise
    if process.returncode:
        reason = last_line(said.decode("utf-8", "replace")) or f"exit code {process.returncode}"
        raise CannotWrite(f"{os.path.basename(program)} failed: {printable(reason)}")


def _wait_for(process: Popen[bytes]) -> bytes:
    """What a program said until its end. A thread can be interrupted between two looks at it."""
    while True:
        with suppress(TimeoutExpired):
            return process.communicate(timeout=_LOOK_SECONDS)[1]


def _end(process: Popen[bytes]) -> None:
    """End a program, which must not outlive the directory that it works in."""
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except TimeoutExpired:
        process.kill()


def _copy(path: str, file: TextIO) -> None:
    """Write the bytes of a file to the binary stream below a text stream."""
    if not os.path.isfile(path):
        raise CannotWrite(f"{os.path.basename(path)} was not made")
    file.flush()
    with open(path, "rb", opener=regular_opener) as made:
        shutil.copyfileobj(made, file.buffer)
