"""Pictures of one moment: what they show, that they load and run nothing, and the colours of their text."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from PIL import Image

from claude_session_player import View, replay
from claude_session_player.export import OutputKind, format_named
from claude_session_player.export.asciicast import RecordingSetup
from claude_session_player.export.colour_runs import DARK, LIGHT, colour_runs, run_colours
from claude_session_player.export.svg import write_svg
from claude_session_player.export.terminal_screen import last_rows
from claude_session_player.tui.jobs import write_export
from claude_session_player.tui.popups import ExportTarget
from scripts.check_site import remote_loads
from tests import corpus
from tests.builder import SessionBuilder, call, text
from tests.hostile import sessions
from tests.hostile.payloads import PAYLOADS
from tests.program import export_as_is
from tests.stores import ONE, StoreBuilder

SVG = "{http://www.w3.org/2000/svg}"
_CELL = re.compile(r"\x1b\[[0-9;]*m")


def picture(builder: SessionBuilder, view: View | None = None, **setup: object) -> str:
    """The end of a session as SVG."""
    file = StringIO()
    write_svg(replay(builder.lines, view or View.rich()), file, RecordingSetup(**setup))  # type: ignore[arg-type]
    return file.getvalue()


def shown_rows(svg: str) -> list[str]:
    """The text of each row of the terminal, without spaces: signs are placed by their columns."""
    rows: dict[int, list[tuple[float, str]]] = {}
    for node in ET.fromstring(svg).iter(f"{SVG}text"):
        if node.get("class") != "title":
            rows.setdefault(int(node.attrib["y"]), []).append((float(node.attrib["x"]), node.text or ""))
    return ["".join(part for _, part in sorted(parts)).replace(" ", "") for _, parts in sorted(rows.items())]


def expected_rows(rows: list[str]) -> list[str]:
    return [plain for row in rows if (plain := "".join(_CELL.sub("", row).split()))]


def session() -> SessionBuilder:
    builder = (
        SessionBuilder()
        .prompt("Make <tea> & 'toast'")
        .response(text("**Gladly**: 茶 é 👨‍👩‍👧"), call("Bash", command="boil"))
    )
    return builder.result("toolu_1", "no kettle", is_error=True).prompt("Thank you")


def test_a_picture_shows_the_last_rows_of_the_rich_view() -> None:
    state = replay(session().lines, View.rich())
    for height in (3, 24):
        svg = picture(session(), height=height)
        assert shown_rows(svg) == expected_rows(last_rows(state, 80, height))
    assert "**" not in svg


@pytest.mark.parametrize("path", corpus.session_files()[::16], ids=lambda path: path.name[:20])
def test_pictures_of_real_sessions_show_their_last_rows(path: Path) -> None:
    state, file = replay(path, View.rich()), StringIO()
    write_svg(state, file, RecordingSetup(width=100, height=40))
    assert shown_rows(file.getvalue()) == [
        row.replace("\u3000", "") for row in expected_rows(last_rows(state, 100, 40))
    ]


def test_a_picture_has_the_size_of_its_terminal_and_the_title_of_its_session() -> None:
    small, large = (ET.fromstring(picture(session(), width=width, title="Oil the <kettle>")) for width in (40, 80))
    assert float(large.attrib["width"]) > 1.8 * float(small.attrib["width"])
    titles = [node.text for node in large.iter() if node.tag == f"{SVG}title" or node.get("class") == "title"]
    assert titles == ["Oil the <kettle>"] * 2


def test_a_picture_without_a_title_has_no_text_in_its_bar() -> None:
    assert 'class="title"' not in picture(session())


@pytest.mark.parametrize("payload", sorted(PAYLOADS))
def test_a_picture_has_nothing_of_a_session_that_a_browser_would_obey(payload: str, tmp_path: Path) -> None:
    path = sessions.write(sessions.everywhere(sessions.records(), PAYLOADS[payload]), tmp_path / "s.jsonl")
    file = StringIO()
    setup = RecordingSetup(width=100, height=400, title=f"{PAYLOADS[payload]}<script>alert(1)</script>")
    write_svg(replay(path, View.rich()), file, setup)
    root = ET.fromstring(file.getvalue().encode())
    allowed = {"svg", "title", "style", "rect", "path", "circle", "text"}
    assert {node.tag.removeprefix(SVG) for node in root.iter()} <= allowed
    names = {name for node in root.iter() for name in node.attrib}
    assert not {name for name in names if name.startswith("on") or "href" in name or name == "style"}
    assert all(text.isprintable() or "\u200d" in text or not text.isascii() for text in root.itertext() if text.strip())
    (tmp_path / "x.svg").write_text(file.getvalue(), encoding="utf-8")
    assert not list(remote_loads(tmp_path))


def test_what_xml_cannot_hold_is_marked() -> None:
    record = json.dumps({"type": "user", "message": {"content": "a\ufffeb\uffffc\ud800d</text><script>"}})
    assert shown_rows(picture(SessionBuilder().raw(record.encode() + b"\n"))) == ["❯a�b�c�d</text><script>"]


def test_colours_are_legible_on_dark_and_on_light() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for palette in (DARK, LIGHT):
        ground = luminance(palette.background)
        for number, colour in enumerate((*palette.colours, palette.text)):
            high, low = sorted((luminance(colour), ground), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= (2.9 if number == 0 else 4.5), (number, colour)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("a b", [(0, 3, "a b")]),
        ("\x1b[1m  a  \x1b[0mb", [(2, 1, "a"), (5, 1, "b")]),
        ("茶x", [(0, 2, "茶"), (2, 1, "x")]),
        ("xe\u0301y", [(0, 1, "x"), (1, 1, "e\u0301"), (2, 1, "y")]),
        ("👨‍👩‍👧!", [(0, 2, "👨‍👩‍👧"), (2, 1, "!")]),
        ("\x1b[41m \x1b[0m", [(0, 1, " ")]),
    ],
)
def test_runs_stand_at_their_columns(row: str, expected: list[tuple[int, int, str]]) -> None:
    assert [(run.column, run.width, run.text) for run in colour_runs(row)] == expected


def test_runs_have_the_sixteen_colours_of_a_terminal() -> None:
    (red, bright, reverse) = colour_runs("\x1b[2;31mr\x1b[0m\x1b[97;104mb\x1b[0m\x1b[7;32mv\x1b[0m")
    assert (red.style.colour, red.style.dim) == (1, True)
    assert (bright.style.colour, bright.style.background) == (15, 12)
    assert run_colours(reverse.style, DARK) == (DARK.background, DARK.colours[2])


def test_a_moment_is_chosen_by_line_percentage_elapsed_time_and_time(tmp_path: Path) -> None:
    builder = session()
    path = builder.write(tmp_path / "s.jsonl")
    for place in ("3", "50%", "0:02", "2026-01-17T20:32:02Z"):
        svg = export_as_is(path, "--format", "svg", "--at", place, "--utc").stdout.decode()
        assert shown_rows(svg)[-2:] == ["●Bash", "$boil"], place
        assert "Thankyou" not in "".join(shown_rows(svg))
    for arguments in ((path,), ("-",)):
        done = export_as_is(*arguments, "--format", "svg", stdin=b"".join(builder.lines))
        assert shown_rows(done.stdout.decode())[-1] == "❯Thankyou"
    done = export_as_is("-", "--format", "svg", "--at", "1", stdin=b"".join(builder.lines))
    assert len(shown_rows(done.stdout.decode())) == 1


def test_browse_writes_a_picture_with_the_title_of_the_session(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.session()
    target = tmp_path / "a.svg"
    found = store.open().resolve(ONE)
    write_export(found, ExportTarget(str(target), format_named("svg", OutputKind.PICTURE)))
    assert ET.fromstring(target.read_text())[0].text == found.title


@pytest.mark.skipif(shutil.which("rsvg-convert") is None, reason="rsvg-convert is not installed")
def test_another_program_draws_the_picture() -> None:
    drawn = subprocess.run(["rsvg-convert"], input=picture(session()).encode(), capture_output=True, check=True).stdout
    with Image.open(BytesIO(drawn)) as image:
        assert image.size == (706, 24 * 19 + 50)
        assert len(image.convert("RGB").getcolors(1 << 16) or ()) > 50
