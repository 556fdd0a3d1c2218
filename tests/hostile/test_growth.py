"""No command takes more than its share for a session of any shape: twice the session, twice the work."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from claude_session_player import View
from claude_session_player.archive.clean import UnreadableFiles
from claude_session_player.cli import run
from claude_session_player.export.outline import draw_outline
from claude_session_player.live.running import SessionPeek
from claude_session_player.player.follow import FollowedGroup
from claude_session_player.player.frame_index import FrameIndex
from claude_session_player.player.recording import FileSource
from claude_session_player.player.search import FrameSearch
from claude_session_player.store.extras import find_references, mask_secrets, resolve_output
from claude_session_player.store.layout import ReadProblem, session_file_at
from claude_session_player.transcript.outline import Node, NodeKind
from tests.hostile.effort import IS_FULL, pick, sample
from tests.hostile.shapes import SHAPES
from tests.hostile.work import assert_linear
from tests.stores import ENGINE, ONE, StoreBuilder

_FILE: Final = "/home/ada/engine/boiler.py"
_MANY_FILES: Final = frozenset(
    ("sub-agents", "sub-agents without names", "sub-agents with one task", "sub-agents in sub-agents")
    + ("sub-agents that nobody called", "agents of a workflow")
)

_SIZES: Final = {"calls of one source, with ids": 1_500}
"""A screen looks for the call of a result that names only its source among the last 1,000 elements."""

Command = Callable[[Path, Path], object]
"""Is given a session and the store that it is in."""


def _command(*arguments: str) -> Command:
    def call(path: Path, store: Path) -> int:
        copy = store / "copy.jsonl"
        copy.unlink(missing_ok=True)
        copy.with_name("copy.jsonl.rejected").unlink(missing_ok=True)
        words = {"PATH": str(path), "STORE": str(store), "COPY": str(copy), "FILE": _FILE}
        return run([words.get(argument, argument) for argument in arguments])

    return call


def _film(path: Path, store: Path) -> None:
    film = FrameIndex(FileSource(str(path)), View(history=True, thinking=True))
    film.finish()
    for frame in range(len(film.frames)):
        film.screen(frame)
    search = FrameSearch(film, "engine")
    while not search.is_complete:
        search.search_more()


def _follow(path: Path, store: Path) -> None:
    company = FollowedGroup(session_file_at(str(path)), View())
    company.initial_text()
    company.close()


def _glimpse(path: Path, store: Path) -> None:
    glimpse = SessionPeek(session_file_at(str(path)))
    glimpse.catch_up()
    glimpse.status(0)


COMMANDS: Final[dict[str, Command]] = {
    "replay": _command("replay", "PATH"),
    "replay in full": _command("replay", "PATH", "--full", "--history", "--thinking", "--format", "json"),
    "replay as text": _command("replay", "PATH", "--history", "--format", "text"),
    "account": _command("account", "PATH"),
    "play": _command("play", "PATH", "--plain", "--idle", "0"),
    "play in full": _command("play", "PATH", "--plain", "--idle", "0", "--history", "--full", "--thinking"),
    "asciicast": _command("export", "PATH", "--format", "asciicast"),
    "show": _command("show", "PATH"),
    "show in full": _command("show", "PATH", "--full", "--line-numbers", "--strict"),
    "show as JSON": _command("show", "PATH", "--format", "json"),
    "show a branch": _command("show", "PATH", "--fork", "1"),
    "tree": _command("tree", "PATH", "--prompts", "--strict"),
    "tree as JSON": _command("tree", "PATH", "--json"),
    "summary": _command("summary", "PATH"),
    "stats": _command("stats", "PATH", "--root", "STORE", "--no-cache"),
    "files": _command("files", "PATH"),
    "a file": _command("files", "PATH", "FILE"),
    "get": _command("get", "PATH", "--json"),
    "verify": _command("verify", "PATH", "--severity", "advice"),
    "repair": _command("repair", "PATH", "-o", "COPY"),
    "list": _command("list", "--root", "STORE", "--no-cache", "--json"),
    "film": _film,
    "follow": _follow,
    "glimpse": _glimpse,
}

ONCE_WORSE: Final = [
    *(("open calls", "play", 200), ("late results", "play", 200), ("progress of open calls", "play in full", 200)),
    *(("results before calls", "replay", 200), ("results before calls, reversed", "film", 200)),
    *(("results before each call", "account", 200), ("calls and results without any name", "replay", 200)),
    *(("calls and results without any name", "show as JSON", 200), ("calls of one source, with ids", "files", 200)),
    *(("sub-agents in the file", "show", 200), ("sub-agents in the file at once", "show in full", 200)),
    *(("forks in a comb", "tree", 600), ("queued prompts", "list", 200)),
    *(("queued prompts that are taken, reversed", "show as JSON", 400),),
    *(("queued prompts that are said again", "show as JSON", 400), ("queued prompts beside others", "list", 500)),
    *(("contradicting reads", "a file", 600), ("attachments edited_text_file", "a file", 500)),
    *(("glued records", "verify", 1_200), ("text: persisted without a path", "show in full", 500)),
    *(("text: tabs", "asciicast", 2_000), ("text: tabs between", "asciicast", 2_000)),
]
"""Shapes and commands that took n² before, and an n at which that is seen."""
TOLERATED: Final[frozenset[tuple[str, str]]] = frozenset(
    ("a file", shape)
    for shape in ("edits of a long file", "edits of a long file with hunks", "edits of a partly known file")
    + ("many edits at once",)
) | {("glimpse", "text: all tags")}
"""The words of an edit are looked for in all that is known of a file, and may stand anywhere in it: n edits of n lines
are n² however they are done. A glimpse of long lines reads four times as much where it found no end of a line."""


@pytest.fixture(autouse=True)
def _own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Print nothing: pytest would keep all of it until the end, which was 15 GB."""
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield


def check(shape: str, command: str, root: Path, n: int) -> None:
    """Run a command on sessions of a shape, at n and at twice that."""

    def built(size: int) -> Callable[[], Any]:
        store = StoreBuilder(root / str(size))
        path = store.home(ENGINE) / f"{ONE}.jsonl"
        path.parent.mkdir(parents=True)
        SHAPES[shape](path, size)
        return lambda: COMMANDS[command](path, store.root)

    with _quiet():
        COMMANDS[command](_warm(root), root / "warm")
        assert_linear(built, n)


def _warm(root: Path) -> Path:
    """A small session: what a command loads, it has loaded by then."""
    shutil.rmtree(root / "warm", ignore_errors=True)
    path = StoreBuilder(root / "warm").home(ENGINE) / f"{ONE}.jsonl"
    path.parent.mkdir(parents=True)
    SHAPES["edits of one file"](path, 2)
    return path


def _size(shape: str) -> int:
    """So many of what a shape repeats that n² is seen."""
    if shape in _MANY_FILES:
        return 20
    return 2_000 if shape.startswith("text:") else _SIZES.get(shape, 200)


PAIRS: Final = [
    (shape, command)
    for number, shape in enumerate(SHAPES)
    for place, command in enumerate(COMMANDS)
    if (command, shape) not in TOLERATED and (IS_FULL or (number + place) % len(COMMANDS) == 0)
]
"""All shapes with all commands in a full run; else each shape with one of them, and each command with some."""


@pytest.mark.parametrize(("shape", "command", "n"), ONCE_WORSE)
def test_work_grows_with_the_session_where_it_once_did_not(shape: str, command: str, n: int, tmp_path: Path) -> None:
    check(shape, command, tmp_path, n)


@pytest.mark.parametrize(("shape", "command"), sample(PAIRS, 24))
def test_work_grows_with_the_session(shape: str, command: str, tmp_path: Path) -> None:
    check(shape, command, tmp_path, _size(shape))


@pytest.mark.parametrize(
    "piece",
    ["token", "-token", "token=", "-eyJ", "eyJ", "max", "max_token", "a ", '"', "token: ", "-----BEGIN ", "x", "://a"],
)
@pytest.mark.parametrize("end", ["", "!"])
def test_masking_takes_time_in_proportion_to_a_setting(piece: str, end: str) -> None:
    def built(n: int) -> Callable[[], Any]:
        words = piece * n + end
        return lambda: mask_secrets({"hook": words, words: "x", "args": [words, "y"]})

    assert_linear(built, pick(3_000, 50_000))


@pytest.mark.parametrize(
    "piece", ["<persisted-output>", "<persisted-output> saved to: ", "saved to: x", "saved to: \n", " ", "\n"]
)
def test_outputs_elsewhere_are_found_in_proportion_to_a_text(piece: str) -> None:
    assert_linear(
        lambda n: lambda: resolve_output("<persisted-output>saved to: x" + piece * n, []), pick(10_000, 50_000)
    )


def test_an_output_elsewhere_is_told_once_however_often_a_text_refers_to_it(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path)
    session = store.session()
    output = session.with_suffix("") / "tool-results" / "b1.txt"
    output.parent.mkdir(parents=True)
    output.write_text("all of it")
    reference = "<persisted-output>\nsaved to: /x/b1.txt\n</persisted-output>"
    found = session_file_at(str(session))
    assert resolve_output(f"{reference}{reference}", [found]) == f"all of it{reference}"
    assert [one.name for one in find_references(reference * 2)] == ["b1.txt"] * 2


def test_a_deep_tree_is_drawn_in_proportion_to_its_nodes() -> None:
    """Each level has one node that goes deeper, and one that waits until the deeper ones are drawn."""

    def built(n: int) -> Callable[[], Any]:
        tree = Node(NodeKind.FORK, {"line": 0}, [])
        for line in range(n):
            tree = Node(NodeKind.FORK, {"line": line}, [tree, Node(NodeKind.FORK, {"line": line}, [])])
        return lambda: sum(len(line) for line in draw_outline(tree, None))

    assert_linear(built, 1_500)


def test_what_cannot_be_read_is_looked_up_in_proportion_to_sessions_and_files() -> None:
    def built(n: int) -> Callable[[], Any]:
        troubles = [ReadProblem(f"/p/agent-{number:08}.jsonl", "Permission denied") for number in range(n)]
        sessions: list[Any] = [
            SimpleNamespace(
                id=f"s{number}",
                file=SimpleNamespace(home="/p"),
                facts=SimpleNamespace(calls=[SimpleNamespace(named=((f"{number + n:08}", 1),))]),
            )
            for number in range(n)
        ]

        def look() -> None:
            unreadable = UnreadableFiles(troubles)
            assert not any(map(unreadable.reason_for, sessions))

        return look

    assert_linear(built, 1_000)
