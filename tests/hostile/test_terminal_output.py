"""Nothing of a session, and no name of a file, reaches a terminal as something that it would obey."""

from __future__ import annotations

import io
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest
from rich.text import Text

from claude_session_player.cli.app import COMMANDS
from claude_session_player.format import blocks, events, partial_records, results
from claude_session_player.util import terminal
from claude_session_player.util.text import escape_controls, mark_controls
from tests import agreement
from tests.builder import SessionBuilder, call, text
from tests.hostile import sessions
from tests.hostile.commands import OF_A_SESSION, OF_A_STORE, WITHOUT_CACHE
from tests.hostile.effort import IS_FULL, sample
from tests.hostile.payloads import PAYLOADS, obeyed
from tests.hostile.windows import NEW_SCREEN, Window
from tests.program import Ran, csp, run_on_terminal, told_on_terminal
from tests.stores import settle

_KEYS: Final = (
    *(b"\r", b"\x1b[F", b" ", b"e", b"\x1b", b"i", b"\x1b", b"?", b"\x1b", b"/PWN\r", b"n"),
    *(b"\x1b[H", b"h", b"\x1b", b"\x1b", b"q", b"q"),
)


def screen(*arguments: str | Path, **environment: str) -> Ran:
    """Run a command to its end, on a terminal that is wide enough for most texts."""
    return run_on_terminal(*arguments, COLUMNS="100", LINES="30", **environment)


def check(ran: Ran, *words: object) -> None:
    assert not obeyed(ran.output), (words, obeyed(ran.output)[:3])
    assert b"Traceback" not in ran.output, (words, ran.output[-2000:])


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_command_on_a_store_lets_a_terminal_obey_it(tmp_path: Path, payload: str) -> None:
    root = sessions.hostile_store(tmp_path / "store", PAYLOADS[payload]).root
    turn = list(PAYLOADS).index(payload)
    for words in sample(OF_A_STORE, 5, turn):
        ran = screen(*words, "--root", root, *([] if words[0] in WITHOUT_CACHE else ["--no-cache"]))
        check(ran, payload, *words)
    named = [path for path in root.rglob("*.jsonl") if sessions.as_name(PAYLOADS[payload]) in path.name]
    for path in sample(named, 1):
        for words in sample(OF_A_SESSION, 7, turn):
            check(screen(words[0], path, *words[1:]), payload, *words)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_field_of_a_session_makes_a_terminal_obey_it(tmp_path: Path, payload: str) -> None:
    cases = [(made, words) for made in sessions.rounds(sessions.records(), PAYLOADS[payload]) for words in OF_A_SESSION]
    for made, words in sample(cases, 9, list(PAYLOADS).index(payload)):
        path = sessions.write(made, tmp_path / "s.jsonl")
        check(screen(words[0], path, *words[1:]), payload, *words)


@pytest.mark.parametrize("payload", sample(list(PAYLOADS), 5))
def test_no_command_that_changes_files_lets_a_terminal_obey_it(tmp_path: Path, payload: str) -> None:
    root = sessions.hostile_store(tmp_path / "store", PAYLOADS[payload]).root
    settle(root)
    damaged = root / "projects" / "-home-ada-engine" / f"{sessions.as_name(PAYLOADS[payload])}.jsonl"
    archive = tmp_path / f"archive{sessions.as_name(PAYLOADS[payload])}"
    word = PAYLOADS[payload].replace("\0", "").encode(errors="ignore").decode()
    for words in (
        ("repair", damaged, "-o", damaged.with_suffix(".mended")),
        ("repair", damaged, "-o", damaged.with_suffix(".mended")),
        ("redact", damaged, "-o", damaged.with_suffix(".redacted")),
        ("redact", damaged, "-o", damaged.with_suffix(".redacted")),
        ("archive", "add", "--all", "--root", root, "--archive", archive),
        ("archive", "list", "--archive", archive),
        ("archive", "list", "--json", "--archive", archive),
        ("archive", "verify", "--archive", archive),
        ("list", "--archive", archive),
        ("clean", "--older-than", "1d", "--root", root, "--archive", archive),
        ("clean", "--older-than", "1d", "--root", root, "--archive", archive, "--apply"),
        ("restore", "--all", "--root", root, "--archive", archive),
        ("restore", "--all", "--root", root, "--archive", archive),
        ("completion", word),
        ("demo", word),
        ("help", word),
    ):
        check(screen(*words), payload, *words)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_message_about_a_wrong_argument_makes_a_terminal_obey_it(tmp_path: Path, command: str) -> None:
    sessions.write(sessions.records(), tmp_path / "store" / "projects" / "-p" / "s.jsonl")
    for payload in sample(list(PAYLOADS.values()), 2, list(COMMANDS).index(command)):
        word = sessions.as_name(payload)
        for words in (
            (word,),
            (f"--{word}",),
            (tmp_path / f"{word}.jsonl",),
            ("--root", tmp_path / word),
            ("--from", word),
        ):
            ran = screen(command, *words)
            check(ran, command, *words)
            assert ran.code != 1 or ran.output


@pytest.mark.parametrize("payload", ["all of them", *(PAYLOADS if IS_FULL else ())])
@pytest.mark.parametrize("command", ["browse", "play", "follow", "follow --all"])
def test_no_window_lets_a_terminal_obey_it(tmp_path: Path, command: str, payload: str) -> None:
    root = sessions.hostile_store(tmp_path / "store", PAYLOADS.get(payload, " ".join(PAYLOADS.values()))).root
    output = windowed(*command.split(), "--root", root, home=tmp_path)
    assert b"PWN" in output
    assert not obeyed(output, is_full_screen=True), obeyed(output, is_full_screen=True)[:3]
    assert b"Traceback" not in output


@pytest.mark.parametrize("payload", sample(list(PAYLOADS), 5))
def test_following_line_by_line_lets_a_terminal_obey_nothing(tmp_path: Path, payload: str) -> None:
    path = sessions.write(sessions.everywhere(sessions.records(), PAYLOADS[payload]), tmp_path / "s.jsonl")
    with Window("follow", "--plain", "--lines", "999", path, HOME=str(tmp_path)) as window:
        window.until("Coffee")
        with path.open("ab") as file:
            file.write(json.dumps({"type": "user", "message": {"content": f"More {PAYLOADS[payload]}"}}).encode())
            file.write(b"\n")
        window.until("More")
        window.process.send_signal(signal.SIGINT)
        assert window.end() == 130
    assert not obeyed(window.everything), obeyed(window.everything)[:3]


@pytest.mark.parametrize("setting", [{"TTY_COMPATIBLE": "0"}, {"FORCE_COLOR": ""}, {"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_colours_of_a_session_are_not_ours_on_any_kind_of_terminal(tmp_path: Path, setting: dict[str, str]) -> None:
    tool = call("odd\x1b[8mHID\x1b[41m", "t1")
    path = SessionBuilder().prompt("Go \x1b[31mred").response(tool).write(tmp_path / "s.jsonl")
    with Window("follow", "--plain", path, HOME=str(tmp_path), **setting) as window:  # type: ignore[arg-type]
        window.until("HID")
        window.process.send_signal(signal.SIGINT)
        window.end()
    assert not {b"\x1b[8m", b"\x1b[41m", b"\x1b[31m"} & set(re.findall(rb"\x1b\[[0-9;]*m", window.everything))
    for words in (("play", "--plain", "--idle", "0"), ("replay", "--format", "text"), ("show", "--full"), ("tree",)):
        assert b"\x1b[8m" not in screen(words[0], path, *words[1:], **setting).output


@pytest.mark.parametrize("payload", sample(list(PAYLOADS), 5))
def test_an_export_from_a_window_names_its_file_without_being_obeyed(tmp_path: Path, payload: str) -> None:
    name = sessions.as_name(PAYLOADS[payload])
    (folder := tmp_path / f"here{name}").mkdir()
    path = sessions.write(sessions.records(), tmp_path / "store" / "projects" / "-p" / f"s{name}.jsonl")
    with Window("browse", "--root", tmp_path / "store", cwd=folder, HOME=str(tmp_path)) as window:
        window.until("tea.txt")
        window.type(b"e")
        window.until("Enter export")
        window.type(b"\r")
        window.rest()
        window.press(b"q")
        window.end()
    assert not obeyed(window.everything, is_full_screen=True), obeyed(window.everything, is_full_screen=True)[:3]
    assert path.exists()
    assert list(folder.iterdir())


def windowed(*arguments: str | Path, home: Path) -> bytes:
    """All that a full-screen program writes while somebody presses many keys, each when nothing more is drawn."""
    with Window(*arguments, HOME=str(home)) as window:
        window.until(NEW_SCREEN)
        for key in _KEYS:
            window.rest()
            window.type(key)
        window.end()
        return window.everything


def test_pipes_get_data_to_the_letter_and_json_escapes_what_a_terminal_would_obey(tmp_path: Path) -> None:
    words = f"a{PAYLOADS['C1']}{PAYLOADS['DEL']}{PAYLOADS['bidi override']}b"
    path = (
        SessionBuilder().prompt("Go").response(call("Bash", command="x")).result("toolu_1", words).write(tmp_path / "s")
    )
    assert words.encode() in csp("show", path, "--full").stdout
    told = csp("show", path, "--format", "json").stdout.decode()
    assert not obeyed(told.encode())
    assert words in json.dumps(json.loads(told), ensure_ascii=False).replace("\\u007f", "\x7f")


def test_colours_of_a_session_are_not_ours(tmp_path: Path) -> None:
    path = SessionBuilder().prompt("red \x9b31m").response(text("It \x1b[31mis\x1b[0m red")).write(tmp_path / "s.jsonl")
    ran = screen("replay", path, "--format", "text")
    assert b"\x1b[31m" not in ran.output
    assert b"\x1b[1m" in ran.output


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_gets_utf_8_whatever_the_locale(tmp_path: Path, encoding: str) -> None:
    path = SessionBuilder().prompt("Tee für zwei").response(text("It is “hot” 🫖")).write(tmp_path / "s.jsonl")
    for words in (("play", "--plain", "--idle", "0"), ("replay", "--format", "text"), ("show",), ("tree",)):
        ran = screen(words[0], path, *words[1:], PYTHONIOENCODING=encoding)
        assert ran.code == 0, ran.output
        assert "für" in ran.output.decode()


@pytest.mark.parametrize("payload", sample(list(PAYLOADS), 6))
def test_a_pager_gets_nothing_that_a_terminal_would_obey(tmp_path: Path, payload: str) -> None:
    path = sessions.write(sessions.everywhere(sessions.records(), PAYLOADS[payload]), tmp_path / "s.jsonl")
    printed, code = told_on_terminal("show", path, "--full", "--pager", typed="", PAGER="cat", HOME=str(tmp_path))
    assert code == 0
    assert "PWN" in printed
    assert not obeyed(printed.encode())


def test_a_console_filters_what_it_draws_and_not_what_it_says_itself() -> None:
    class Tty(io.StringIO):
        def isatty(self) -> bool:
            return True

    for payload in PAYLOADS.values():
        drawn = terminal.console(file := Tty())
        drawn.print(Text(f"{payload} words", style="bold"))
        assert "words" in file.getvalue()
        assert not obeyed(file.getvalue().encode(errors="replace"))


def test_no_command_refuses_its_words(tmp_path: Path) -> None:
    root = sessions.hostile_store(tmp_path / "store", "").root
    path = sessions.write(sessions.records(), tmp_path / "s.jsonl")
    for words in OF_A_SESSION:
        assert agreement.csp(words[0], str(path), *words[1:])[0] < 2, words
    for words in OF_A_STORE:
        options = [] if words[0] in WITHOUT_CACHE else ["--no-cache"]
        assert agreement.csp(*words, "--root", str(root), *options)[0] < 2, words


def test_every_command_is_run() -> None:
    run = {words[0] for words in OF_A_SESSION + OF_A_STORE} | {
        "browse",
        "follow",
        "redact",
        "repair",
        "resume",
        "archive",
        "clean",
        "restore",
    }
    assert set(COMMANDS) == run | {"completion", "demo", "help"}


def test_the_built_session_has_every_field_that_anything_reads() -> None:
    built = set(_keys(sessions.records()))
    structs = [
        kind
        for module in (blocks, events, results, partial_records)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__module__ == module.__name__
    ]
    read = [kind for kind in structs if not str(kind.__struct_config__.tag).startswith("(")]  # not made by us
    fields = {field.encode_name for kind in read for field in msgspec.structs.fields(kind)}
    assert {name for name in fields - built if not name.startswith("(")} <= {"title"}


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _keys(inner)


def test_json_escapes_all_that_a_terminal_obeys() -> None:
    for code in (*range(0x7F, 0xA0), *range(0x2020, 0x2070)):
        is_obeyed = mark_controls(chr(code)) != chr(code)
        assert escape_controls(chr(code)) == (f"\\u{code:04x}" if is_obeyed else chr(code))
