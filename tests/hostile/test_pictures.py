"""Pictures that mean harm start no program, end no player, and cost no more than a moment."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pexpect
import pytest
from msgspec import Raw
from PIL import Image

from claude_session_player.format.content import Picture, image_type, to_picture
from claude_session_player.tui.widgets import parts
from claude_session_player.tui.widgets.parts import PixelBudget, picture_rows
from tests.builder import SessionBuilder
from tests.hostile.effort import pick
from tests.hostile.pictures import MAGIC, ODD_PICTURES, ODD_PICTURES_SHOWN, SHOWN, block, every_format, png, saved
from tests.program import PATIENCE, PROGRAM, csp

FORMATS: Final = every_format()
ALL: Final[dict[str, Callable[[], bytes]]] = {
    **{name: (lambda data=data: data) for name, data in FORMATS.items()},  # type: ignore[misc]
    **ODD_PICTURES,
}
_PLUGINS: Final = ["GifImagePlugin", "JpegImagePlugin", "PngImagePlugin", "WebPImagePlugin"]
_SECONDS: Final = 3
"""Processor time for one picture at most; those that are refused take less than a tenth of a second."""
_SUFFIXES: Final = {".png", ".jpg", ".gif", ".webp", ".pdf", ".bin"}
_PLAY: Final = """
import sys
from tests.players import keys, of_file, played
shown = played(keys("enter"), of_file(sys.argv[1]), size=(60, 1500))
loaded = {name.removeprefix("PIL.") for name in sys.modules if name.startswith("PIL.") and name.endswith("Plugin")}
print(shown.count("[image image/png]"), *sorted(loaded))
"""


def rows(source: Any, allowance: PixelBudget | None = None) -> int:
    return len(picture_rows(to_picture("image", Raw(json.dumps(source).encode())), 80, allowance))


def rows_of(data: bytes, allowance: PixelBudget | None = None) -> int:
    return rows(block(data)["source"], allowance)


def traps(folder: Path) -> dict[str, str]:
    """An environment in which programs that Pillow knows leave a file behind when they are run."""
    folder.mkdir()
    for name in ("gs", "gswin64c", "djpeg", "cjpeg", "ppmtogif", "convert", "xv", "display"):
        (folder / name).write_text(f"#!/bin/sh\n: > {folder}/started-{name}\nexit 1\n")
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": os.getcwd()}


def started(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith("started")]


def session_of(folder: Path, *data: bytes) -> Path:
    path = folder / "session.jsonl"
    path.write_bytes(b"\n".join(SessionBuilder().prompt([block(one) for one in data]).lines))
    return path


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_many_formats_are_tried() -> None:
    assert len(FORMATS) >= 20
    assert {"EPS", "TIFF", "ICO", "BMP", "PPM", "PDF"} <= FORMATS.keys()


def test_the_player_loads_four_plugins_and_starts_no_program(tmp_path: Path) -> None:
    path = session_of(tmp_path, *(make() for make in ALL.values()))
    environment = traps(tmp_path / "bin")
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", _PLAY, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=PATIENCE)
    assert (done.stdout.split(), done.stderr) == ([str(len(ALL)), *_PLUGINS], "")
    assert started(tmp_path / "bin") == []


def test_the_player_goes_on_after_postscript_on_a_terminal(tmp_path: Path) -> None:
    path = session_of(tmp_path, ODD_PICTURES["postscript"](), FORMATS["EPS"], FORMATS["PNG"])
    environment = {**traps(tmp_path / "bin"), "TERM": "xterm-256color"}
    child = pexpect.spawn(
        PROGRAM[0], [*PROGRAM[1:], "play", str(path)], env=environment, dimensions=(40, 80), timeout=PATIENCE
    )
    child.expect("image")
    child.send("\r")
    child.expect("image/png")
    child.send("q")
    child.expect(pexpect.EOF)
    child.close()
    assert (child.exitstatus, started(tmp_path / "bin")) == (0, [])


@pytest.mark.parametrize("name", ALL)
def test_a_picture_is_drawn_or_marked_in_a_moment(name: str) -> None:
    data = ALL[name]()
    before = time.process_time()
    count = rows_of(data)
    assert time.process_time() - before < _SECONDS
    is_shown = name in SHOWN or name in ODD_PICTURES_SHOWN or name == "MPO"  # of one frame, which is a JPEG
    assert (count > 1) == is_shown


@pytest.mark.parametrize("format", sorted(SHOWN))
def test_a_damaged_picture_never_raises(format: str) -> None:
    chance = random.Random(format)
    whole = saved(format, Image.effect_noise((32, 32), 80).convert("RGB"))
    for _ in range(pick(150, 20_000)):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        cut = chance.randrange(len(data)) if chance.random() < 0.3 else len(data)
        assert rows_of(bytes(data[:cut])) >= 1


@pytest.mark.parametrize(
    "source",
    [
        {"data": None},
        {"data": 7},
        {"data": ["iVBORw0KGgo="]},
        {"data": {"a": 1}},
        {"data": "\ud800"},
        {"data": "é" * 99},
        {"data": "A" * 17_000_000},
        {"data": "=" * 99},
        {"media_type": ["image/png"], "data": "iVBORw0KGgo="},
        ["data"],
        "data",
        json.loads("[" * 500 + "]" * 500),
        {"data": json.loads("[" * 500 + "]" * 500)},
    ],
    ids=lambda source: str(source)[:30],
)
def test_data_of_any_form_is_a_mark(source: Any) -> None:
    assert rows(source) == 1


@pytest.mark.parametrize("error", [MemoryError, RecursionError, SystemError, KeyError, Image.DecompressionBombWarning])
def test_whatever_a_decoder_raises_is_a_mark(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(data: bytes) -> Image.Image:
        raise error

    monkeypatch.setattr(parts, "_DECODERS", dict.fromkeys(parts._DECODERS, failing))
    assert rows_of(FORMATS["PNG"]) == 1


def test_all_pictures_of_an_element_share_what_may_be_decoded() -> None:
    allowance, large = PixelBudget(), png(4_000, 4_000, bytes(12_001 * 4_000))
    assert [rows_of(large, allowance) > 1 for _ in range(4)] == [True, True, False, False]
    assert rows_of(FORMATS["PNG"], allowance) > 1


def test_warnings_of_a_decoder_are_not_written_across_the_screen(recwarn: pytest.WarningsRecorder) -> None:
    for name in ("gif-disposed", "jpeg-exif", "png-frames"):
        rows_of(ODD_PICTURES[name]())
    assert list(recwarn) == []


# --- pictures as files ----------------------------------------------------------------------------------

_CLAIMS: Final = (
    "image/png",
    "image/svg+xml",
    "text/html",
    "application/x-sh",
    "../../x",
    "image/png\0.exe",
    "",
    "pdf",
)


def test_names_of_written_pictures_come_from_their_content(tmp_path: Path) -> None:
    made = [make() for make in ALL.values()]
    blocks = [block(data, _CLAIMS[number % len(_CLAIMS)]) for number, data in enumerate(made)]
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"\n".join(SessionBuilder().prompt(blocks).lines))
    environment = traps(tmp_path / "bin")
    done = csp("show", path, "--assets", tmp_path / "assets", environment=environment)
    assert (done.returncode, done.stderr, started(tmp_path / "bin")) == (0, b"", [])
    written = {file.read_bytes(): file for file in (tmp_path / "assets").iterdir()}
    assert written.keys() == {data for data in made if data}
    for data, file in written.items():
        type = image_type(data)
        assert file.suffix == (type.suffix if type else ".pdf" if data.startswith(b"%PDF-") else ".bin")
        assert file.suffix in _SUFFIXES
        assert file.stem.isalnum()
        assert not file.stat().st_mode & 0o111


def test_types_are_told_apart_as_pillow_does() -> None:
    known = {name for name, data in FORMATS.items() if image_type(data)}
    assert known == SHOWN | {"MPO"}
    assert image_type(MAGIC) is not None


def _picture(data: bytes) -> Picture:
    return to_picture("image", Raw(json.dumps(block(data)["source"]).encode()))


def test_a_picture_with_too_much_data_is_not_even_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _picture(saved("PNG"))
    assert len(picture_rows(made, 80)) > 1
    monkeypatch.setattr(parts, "_MOST_DATA", len(made.data) - 1)
    assert len(picture_rows(made, 80)) == 1


def test_a_webp_is_bounded_before_it_takes_memory_for_its_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)  # what it was is put back in the end
    monkeypatch.setattr(parts, "MOST_PIXELS", 2)
    with pytest.raises(Image.DecompressionBombError):
        parts._open_image(_picture(saved("WEBP")), PixelBudget())
