"""The command line as a person meets it: every test runs the real program in a process of its own."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from claude_session_player import __version__
from claude_session_player.cli import app
from claude_session_player.cli.app import ALIASES, COMMANDS
from tests.builder import SessionBuilder, call, text, thought
from tests.program import (
    PATIENCE,
    PROGRAM,
    csp,
    is_asleep,
    not_measured,
    on_terminal,
    told_on_terminal,
    unread,
    wait_until,
)
from tests.stores import StoreBuilder


@pytest.fixture
def session(tmp_path: Path) -> Path:
    builder = (
        SessionBuilder()
        .prompt("Hi")
        .response(thought("Hm."), call("Bash", "a", command="x" * 99))
        .result("a", "1\n" * 9)
    )
    return builder.response(text("Ho")).write(tmp_path / "session.jsonl")


SCREEN = f"❯ Hi\n\n✱ Thinking…\n● Bash({'x' * 60}…)\n  └ 1\n    1\n    1\n    1\n  └ …\n\n● Ho\n"


# --- replay ---------------------------------------------------------------------------------------


def test_a_session_alone_is_short_for_replay(session: Path) -> None:
    short, long = csp(session), csp("replay", session)
    assert short.stdout.decode() == long.stdout.decode() == SCREEN
    assert (short.returncode, short.stderr) == (0, b"")


def test_options_may_come_before_the_session(session: Path) -> None:
    assert csp("--until", "1", session).stdout.decode() == "❯ Hi\n"


def test_a_dash_is_standard_input(session: Path) -> None:
    assert csp("-", stdin=session.read_bytes()).stdout.decode() == SCREEN


def test_a_named_pipe_is_read_once(session: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["bash", "-c", 'cat "$1" > "$2"', "bash", session, pipe]):
        assert csp(pipe, "--until", "1").stdout.decode() == "❯ Hi\n"


def test_until_and_at_give_the_screen_as_it_was_then(session: Path) -> None:
    assert csp(session, "--until", "2").stdout.decode() == "❯ Hi\n\n✱ Thinking…\n"
    assert csp(session, "--at", "2026-01-17T20:32:00.5Z").stdout.decode() == "❯ Hi\n\n✱ Thinking…\n"


def test_thinking_full_and_history_show_more(session: Path, tmp_path: Path) -> None:
    assert "✱ Thinking…\n  Hm.\n" in csp(session, "--thinking").stdout.decode()
    assert "x" * 99 + ")" in csp(session, "--full").stdout.decode()
    compacted = SessionBuilder().prompt("a").compaction().prompt("b").write(tmp_path / "c.jsonl")
    rule = "── compacted (auto, 167503 tokens) ──"
    assert csp(compacted, "--history").stdout.decode() == f"❯ a\n\n{rule}\n\n❯ b\n"


def test_json_is_an_array_of_elements_with_their_fields_and_source_lines(session: Path) -> None:
    elements = json.loads(csp(session, "--format", "json").stdout)
    assert [(e["kind"], e["line"]) for e in elements] == [
        ("user_message", 1),
        ("thinking_indicator", 2),
        ("tool_call", 3),
        ("assistant_text", 5),
    ]
    tool: dict[str, Any] = elements[2]
    assert tool["input"] == {"command": "x" * 99}
    assert (tool["result_line"], tool["result"], tool["cut"]) == (4, "1\n1\n1\n1", "lines")
    assert tool["time"] == "2026-01-17 20:32:01"


@pytest.mark.parametrize("command", ["replay", "export"])
def test_jsonl_has_the_elements_of_json_one_per_line(session: Path, command: str) -> None:
    array, lines = (csp(command, session, "--format", format).stdout for format in ("json", "jsonl"))
    assert [json.loads(line) for line in lines.splitlines()] == json.loads(array)
    assert array.count(b"\n") == lines.count(b"\n") == 4


def test_an_empty_screen_is_an_empty_array(tmp_path: Path) -> None:
    quiet = SessionBuilder().line({"type": "mode", "mode": "normal"}).write(tmp_path / "quiet.jsonl")
    assert csp(quiet, "--format", "json").stdout == b"[]\n"
    assert csp(quiet, "--format", "jsonl").stdout == b""


def test_text_in_a_pipe_is_the_markdown_to_the_letter(session: Path) -> None:
    assert csp(session, "--format", "text").stdout.decode() == SCREEN


def test_output_is_utf_8_whatever_the_locale(session: Path) -> None:
    assert csp(session, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0").stdout.decode() == SCREEN


def test_text_on_a_terminal_is_coloured(session: Path) -> None:
    assert "\x1b[" in on_terminal(session, "--format", "text")


def test_no_color_is_honoured(session: Path) -> None:
    assert on_terminal(session, "--format", "text", NO_COLOR="1") == SCREEN


def test_a_terminal_is_not_made_to_obey_what_a_session_says(tmp_path: Path) -> None:
    evil = SessionBuilder().prompt("\x9b31mred\x07\x08").write(tmp_path / "evil.jsonl")
    shown = on_terminal(evil, "--format", "text")
    assert "\x9b" not in shown
    assert "\x07" not in shown


def test_an_empty_screen_prints_nothing_and_says_so(session: Path, tmp_path: Path) -> None:
    quiet = SessionBuilder().line({"type": "mode", "mode": "normal"}).write(tmp_path / "quiet.jsonl")
    for done in (csp(quiet), csp(session, "--at", "2001-01-01")):
        assert (done.stdout, done.stderr, done.returncode) == (b"", b"note: the screen is empty at this point\n", 0)


# --- trouble inside a session ---------------------------------------------------------------------


@pytest.fixture
def troubled(tmp_path: Path) -> Path:
    builder = SessionBuilder().prompt("Hi").raw(b"oops\n").line({"type": "hologram"}).line({"type": "hologram"})
    return builder.raw(b'{"cut').write(tmp_path / "troubled.jsonl")


def test_trouble_is_warned_about_once_per_kind(troubled: Path) -> None:
    done = csp(troubled)
    start = len(troubled.read_bytes().splitlines(keepends=True)[0])
    assert done.stdout.decode() == "❯ Hi\n"
    assert done.stderr.decode().splitlines() == [
        f"warning: 2 malformed places skipped, the first in line 2 (byte {start}): no JSON value here",
        "warning: 2 records of unknown type 'hologram' not shown, the first in line 3",
    ]


def test_strict_fails_where_anything_was_unknown_or_malformed(troubled: Path, session: Path) -> None:
    assert csp(troubled).returncode == 0
    assert csp(troubled, "--strict").returncode == 1
    assert csp(session, "--strict").returncode == 0


def test_the_account_adds_up(troubled: Path) -> None:
    facts = json.loads(csp("account", troubled, "--json").stdout)
    assert facts["lines"] == 5
    assert [facts[fate] for fate in ("shown", "merged", "hidden", "unknown", "malformed")] == [1, 0, 0, 2, 2]
    assert facts["unknown_types"] == {"hologram": 2}
    assert [issue["line"] for issue in facts["issues"]] == [2, 5]
    assert facts["issues"][1]["offset"] == len(troubled.read_bytes()) - len(b'{"cut')


def test_the_account_for_people_names_rules_types_and_places(troubled: Path) -> None:
    shown = csp("account", troubled).stdout.decode()
    assert "5 lines" in shown
    assert "hologram (first in line 3)" in shown
    assert "line 2, byte " in shown


def test_a_flood_of_unknown_types_is_summed_up(tmp_path: Path) -> None:
    builder = SessionBuilder().prompt("Hi")
    for number in range(50):
        builder.line({"type": f"{number:02}" + "x" * 100})
    warnings = csp(builder.write(tmp_path / "flood.jsonl")).stderr.decode().splitlines()
    assert len(warnings) == 11
    assert "40 more unknown types" in warnings[-1]
    assert max(map(len, warnings)) < 150


# --- the rest -------------------------------------------------------------------------------------


def test_the_demo_plays_without_a_file() -> None:
    done = csp("demo", "--history")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "── compacted" in done.stdout.decode()


def test_the_version_is_printed_alone() -> None:
    assert csp("--version").stdout.decode() == f"claude-session-player {__version__}\n"


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("replay", "--help"), ("account", "-h")])
def test_help_is_printed_on_stdout(arguments: tuple[str, ...]) -> None:
    done = csp(*arguments)
    assert done.returncode == 0
    assert b"Usage: claude-session-player" in done.stdout


# --- bad input: one line that says what, where and what to do ---------------------------------------


def refused(done: subprocess.CompletedProcess[bytes], code: int, *words: str) -> bool:
    """True for one line on stderr with these words, nothing on stdout, and the exit code."""
    message = done.stderr.decode()
    assert done.returncode == code, message
    assert done.stdout == b""
    assert message.startswith("claude-session-player: ")
    assert message.count("\n") == 1
    assert all(word in message for word in words), message
    return True


def test_a_missing_file(tmp_path: Path) -> None:
    assert refused(csp(tmp_path / "gone.jsonl"), 3, "gone.jsonl", "No such file")


def test_a_directory(tmp_path: Path) -> None:
    assert refused(csp(tmp_path), 3, str(tmp_path), "is a directory")


COMMANDS_WITH_REF = [
    *("replay", "play", "follow", "export", "show", "get", "summary", "tree", "files", "verify", "locks", "stats"),
    *("account", "repair -o x"),
]


@pytest.mark.parametrize("name", ["some", "some/"])
@pytest.mark.parametrize("command", COMMANDS_WITH_REF)
def test_a_directory_is_refused_as_one_also_where_there_is_no_store(
    tmp_path: Path, command: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some").mkdir()
    monkeypatch.chdir(tmp_path)
    words = f"{name} is a directory: name a session file (*.jsonl) in it"
    assert refused(csp(*command.split(), name), 2 if command == "verify" else 3, words)


@pytest.mark.parametrize("inside", ["", "projects", "projects/-home-ada"])
def test_a_directory_of_a_store_is_refused_with_the_commands_that_list_it(tmp_path: Path, inside: str) -> None:
    store = tmp_path / "my store"
    (store / "projects" / "-home-ada").mkdir(parents=True)
    listed = f"use 'list --root '{store}'' or 'browse --root '{store}''"
    assert refused(csp("replay", store / inside), 3, "is a directory", listed)


@not_measured
def test_a_file_without_permission(session: Path) -> None:
    session.chmod(0)
    code = f"""
import os
from claude_session_player import parser, playback
from claude_session_player.cli import run, app, replay
if os.geteuid() == 0: os.setuid(65534)
raise SystemExit(run([{str(session)!r}]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert refused(done, 3, "session.jsonl", "Permission denied")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n\n  \n", "only blank lines"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "binary"),
        (b"Dear diary,\ntoday\n", "not JSON lines: line 1"),
        (b'{"name":"x"}\n{"name":"y"}\n', "no Claude Code session"),
        (b'{"type":"todo","id":"1","text":"x"}\n', "no Claude Code session"),
        (b"[1,2,3]\n", "not JSON lines: line 1: not a JSON object"),
        (gzip.compress(b'{"type":"user"}', mtime=0), "gzip"),
        ('{"type":"user"}'.encode("utf-16"), "UTF-16"),
    ],
)
@pytest.mark.parametrize("command", [("replay",), ("account",)])
def test_a_file_that_is_no_session(tmp_path: Path, command: tuple[str, ...], content: bytes, words: str) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(content)
    assert refused(csp(*command, path), 4, "file.jsonl", words)
    assert refused(csp(*command, "-", stdin=content), 4, "standard input", words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--colour", "x.jsonl"), "--colour"),
        (("x.jsonl", "--until", "soon"), "'soon' is not a valid integer"),
        (("x.jsonl", "--until", "-1"), "--until"),
        (("x.jsonl", "--at", "teatime"), "'teatime' is not a time"),
        (("x.jsonl", "--format", "pdf"), "'pdf'"),
        (("repair", "-o", "x"), "REF"),
        (("account", "a", "b"), "unexpected extra argument"),
    ],
)
def test_a_wrong_option_or_argument(arguments: tuple[str, ...], words: str) -> None:
    assert refused(csp(*arguments), 2, words, "--help")


@pytest.mark.parametrize("stop", [("--until", "1"), ("--at", "2030-01-01")])
def test_a_file_that_is_no_session_is_refused_where_the_replay_stops_early_too(
    tmp_path: Path, stop: tuple[str, str]
) -> None:
    path = tmp_path / "package.json"
    path.write_text('{"name": "x"}\n')
    assert refused(csp(path, *stop), 4, "no Claude Code session")


def test_a_comment_before_the_session_does_not_make_it_none(session: Path) -> None:
    session.write_bytes(b"// a comment\n" + session.read_bytes())
    assert csp(session, "--until", "1").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ("rpelay x.jsonl", "did you mean 'replay'?"),
        ("grep login", "did you mean 'find'?"),
        ("serach login", "did you mean 'search'?"),
        ("continue latest", "did you mean 'resume'?"),
        ("delete x", "did you mean 'clean'?"),
        ("rm x y", "did you mean 'clean'?"),
        ("ls", "did you mean 'list'?"),
        ("ls --json", "did you mean 'list'?"),
        ("cat latest", "did you mean 'show'?"),
        ("open latest", "did you mean 'play'?"),
        ("watch", "did you mean 'follow'?"),
        ("tail -f", "did you mean 'follow'?"),
        ("cost --by day", "did you mean 'stats'?"),
        ("man list", "did you mean 'help'?"),
        ("Fix the bug", "put a title with spaces in quotes"),
        ("boil the kettle", "put a title with spaces in quotes, or search for the words with 'find boil the kettle'"),
        ("LIST", "did you mean 'list'?"),
        ("lits", "did you mean 'list'?"),
        ("serch kettle timer", "did you mean 'search'?"),
        ("serch kettle --tool Bash", "did you mean 'search'?"),
        ("make play", "did you mean 'play'? A title with spaces needs quotes"),
        ("make play --speed 2", "did you mean 'play'? A title with spaces needs quotes"),
        ("file changes", "did you mean 'files'?"),
        ("session list", "did you mean 'list'?"),
        ("session", "did you mean 'list'?"),
        ("sessions show latest", "did you mean 'show'?"),
        ("history serch kettle", "did you mean 'search'?"),
        ("show-all", "did you mean 'show'?"),
        ("find-all x", "did you mean 'find'?"),
        ("session_list", "did you mean 'list'?"),
        ("re play latest", "did you mean 'replay'?"),
        ("sum mary", "did you mean 'summary'?"),
        ("cleen-up everything", "did you mean 'clean'?"),
    ],
)
def test_a_word_that_is_no_command_is_answered_with_the_one_that_is_meant(arguments: str, advice: str) -> None:
    words = arguments.split()
    assert refused(csp(*words), 2, f"there is no command {words[0]!r}: {advice}")


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ("list sesions", "'list' takes no words: leave out 'sesions'"),
        ("list todos", "did you mean the command 'todos'?"),
        ("list project kettle", "did you mean 'list --project kettle'?"),
        ("list projct kettle", "did you mean 'list --project kettle'?"),
        ("list project tea timer", "did you mean \"list --project 'tea timer'\"?"),
        ("list json", "did you mean 'list --json'?"),
        ("list jsn", "did you mean 'list --json'?"),
        ("list json kettle", "use 'find json kettle' to search, or a filter like --title or --project"),
        ("list sort kettle", "use 'find sort kettle' to search, or a filter like --title or --project"),
        ("list limit 5", "did you mean 'list --limit 5'?"),
        ("clean befor 3d", "did you mean 'clean --before 3d'?"),
        ("clean before supper", "'clean' takes no words, only options"),
        ("list projcts", "did you mean the command 'projects'?"),
        ("list archive", "did you mean 'archive list'?"),
        ("list kettle timer", "use 'find kettle timer' to search, or a filter like --title or --project"),
        ("settings kettle", "'settings' takes no words, only options"),
        ("show kettle timer", "put a title with spaces in quotes"),
        ("todos tea timer", "put a name with spaces in quotes"),
    ],
)
def test_more_words_than_a_command_takes_are_answered_with_what_they_may_mean(arguments: str, advice: str) -> None:
    done = csp(*arguments.split())
    assert refused(done, 2, "Got unexpected extra argument", f"): {advice} (see 'claude-session-player {arguments[:4]}")


def test_help_is_printed_whatever_the_other_words_are() -> None:
    assert csp("list", "sesions", "--help").stdout == csp("list", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("show todos", "the command 'todos'"),
        ("archive lits", "'archive list'"),
        ("play stats", "the command 'stats'"),
        ("follow al", "'follow --all'"),
        ("stats by day", "'stats --by day'"),
        ("get json", "'get --json'"),
    ],
)
def test_a_command_in_the_place_of_a_session_is_suggested(tmp_path: Path, arguments: str, hint: str) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.session()
    done = csp(*arguments.split(), "--root", store.root)
    assert (done.returncode, done.stdout) == (7, b"")
    assert done.stderr.decode().endswith(f"  did you mean {hint}?\n")
    assert b"did you mean" not in csp("show", "kettle", "--root", store.root).stderr


def test_a_title_with_the_name_of_a_command_in_it_is_no_command(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.session("delete01", "fix-login")
    assert "❯ fix-login" in csp("fix-login", "--root", store.root).stdout.decode()
    assert refused(csp("fix-logout", "--root", store.root), 2, "did you mean 'repair'?")


def test_every_suggested_command_exists() -> None:
    assert set(app._SYNONYMS) <= set(COMMANDS)
    assert not (set(app._MEANT) | set(app._ADVICE)) & {*COMMANDS, *ALIASES}


def test_a_file_or_an_id_is_a_session_also_where_it_is_called_like_a_command(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grep").write_bytes(session.read_bytes())
    assert csp("grep").stdout.decode() == SCREEN
    assert refused(csp("grep", "login"), 2, "unexpected extra argument (login)")
    store = StoreBuilder(tmp_path / "store")
    store.session("delete01", "Oil it")
    for ref in ("delete01", "delete"):
        assert "❯ Oil it" in csp(ref, "--root", store.root).stdout.decode()


def test_a_directory_called_like_a_synonym_hides_no_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "grep").mkdir()
    monkeypatch.chdir(tmp_path)
    assert refused(csp("grep", "login"), 2, "there is no command 'grep'")


# --- without a command ------------------------------------------------------------------------------


def test_options_of_browse_alone_browse(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.session()
    for options in (("--root", store.root), (f"--root={store.root}", "--no-cache")):
        assert refused(csp(*options), 2, "browse needs a terminal", "use 'list'")
    assert refused(csp("--root"), 2, "'--root' requires an argument")
    assert csp("--root", store.root, "-h").stdout.startswith(b"Usage: claude-session-player browse")


def test_options_of_browse_before_a_session_replay_it(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.session()
    assert csp("--root", store.root, "latest").stdout == csp("replay", "latest", "--root", store.root).stdout != b""


def test_without_a_store_it_says_where_it_looked_and_offers_the_demo(tmp_path: Path) -> None:
    places = f"{tmp_path / 'a'}, {tmp_path / 'b'}"
    done = csp(CLAUDE_CONFIG_DIR=places)
    assert (done.returncode, done.stdout) == (6, b"")
    message, offer = done.stderr.decode().splitlines()
    assert f"there is no Claude store at {places} ($CLAUDE_CONFIG_DIR)" in message
    assert offer.endswith("claude-session-player demo --play")
    told, code = told_on_terminal(CLAUDE_CONFIG_DIR=places, typed="")
    assert (told.split(), code) == (done.stderr.decode().split(), 6)


def shell(script: str, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """Run the program, as `csp`, in a shell."""
    code = f'csp() {{ {" ".join(PROGRAM)} "$@"; }}; {script}'
    return subprocess.run(["bash", "-c", code, "bash", *arguments], capture_output=True, check=False, timeout=PATIENCE)


@pytest.mark.parametrize(
    "command",
    ["replay", "replay --format json", "account", "replay --format text", "get --line 1", "--version #"],
)
def test_a_full_disk(session: Path, command: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    assert refused(shell(f'> /dev/full csp {command} "$1"', session), 5, "cannot write", "No space left")


def test_closed_standard_streams(session: Path) -> None:
    assert refused(shell('csp "$1" >&-', session), 5, "standard output is closed")
    assert refused(shell("csp - <&-"), 3, "standard input is closed")
    assert shell("csp gone.jsonl 2>&-").returncode == 3


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    builder = SessionBuilder()
    for _ in range(3000):
        builder.prompt("x" * 200)
    path = builder.write(tmp_path / "long.jsonl")
    command = " ".join(PROGRAM)
    done = subprocess.run(
        ["bash", "-c", f'set -o pipefail; {command} "$1" | head -n 1', "bash", path], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"❯ {'x' * 200}\n"


def test_ctrl_c_ends_with_130() -> None:
    code = "import sys, claude_session_player.cli.replay as r; from claude_session_player.cli import main\n"
    code += "sys.argv[1:] = ['-']; print('ready', flush=True); main()"
    command = [sys.executable, "-c", code]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write(b'{"type":"mode"}\n')
        process.stdin.flush()
        handle = process.stdin.fileno()
        wait_until(lambda: not unread(handle) and is_asleep(process.pid), "it reads, and waits for more")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert b"Traceback" not in process.stderr.read()


def test_messages_break_between_words_on_a_terminal_only(tmp_path: Path) -> None:
    binary = tmp_path / "s.jsonl"
    binary.write_bytes(b"\0\1" * 99)
    whole = csp("replay", binary).stderr.decode()
    assert whole.count("\n") == 1
    shown, code = told_on_terminal("replay", str(binary), COLUMNS="40")
    assert (code, " ".join(shown.split())) == (4, whole.strip())
    assert all(len(row) <= 40 or " " not in row for row in shown.splitlines())
    assert "JSON lines" in shown


def test_notes_break_between_words_too(tmp_path: Path) -> None:
    path = SessionBuilder().prompt("One").compaction().prompt("Two").write(tmp_path / "s.jsonl")
    shown = on_terminal("replay", str(path), COLUMNS="40", NO_COLOR="1")
    assert "note: 1 element from before the last\ncompaction is not shown; use --history\nto include" in shown


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [("latst", "latest"), ("show latets", "latest"), ("get Latest:2", "latest:2")],
)
@pytest.mark.parametrize("has_store", [False, True])
def test_a_misspelt_latest_is_recognized_with_or_without_a_store(
    arguments: str, meant: str, has_store: bool, tmp_path: Path
) -> None:
    built = StoreBuilder(tmp_path / "claude")
    if has_store:
        SessionBuilder().prompt("Go").write(built.home() / "1f2e3d4c-0001-4000-8000-000000000001.jsonl")
    done = csp(*arguments.split(), CLAUDE_CONFIG_DIR=str(built.root if has_store else tmp_path / "none"))
    word = next(one for one in arguments.split() if one.casefold().startswith("lat"))
    message = f"claude-session-player: no file or session matches {word!r}: did you mean {meant!r}?\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (7, b"", message)


def test_what_only_resembles_latest_needs_a_store(tmp_path: Path) -> None:
    assert csp("show", "lasting", CLAUDE_CONFIG_DIR=str(tmp_path / "none")).returncode == 6
