"""A session that is replaced by a pipe, a socket, a device or a directory keeps nobody waiting."""

from __future__ import annotations

import ast
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import claude_session_player
from claude_session_player.util import fsutil
from claude_session_player.util.fsutil import regular_opener
from tests.builder import START, SessionBuilder
from tests.hostile.effort import sample
from tests.hostile.windows import Window
from tests.program import PATIENCE, PROGRAM, not_measured
from tests.stores import ONE, THREE, StoreBuilder

PACKAGE = Path(claude_session_player.__file__).parent


def to_pipe(path: Path) -> None:
    os.mkfifo(path)


def to_socket(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{folder}/{path.name}")
    os.close(folder)


def to_directory(path: Path) -> None:
    path.mkdir()


def to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": to_pipe,
    "socket": to_socket,
    "directory": to_directory,
    "device": to_device,
}


def swap(path: Path, make: Callable[[Path], None]) -> None:
    """Put something else into the place of a file, in one step."""
    other = path.with_name("other")
    make(other)
    if path.is_dir() or other.is_dir():
        path.unlink()
    os.rename(other, path)


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    store = StoreBuilder(tmp_path / "store")
    store.session(days=(datetime.now(UTC) - START).days)  # else it would count as restored
    return store


def session_of(store: StoreBuilder) -> Path:
    return store.home() / f"{ONE}.jsonl"


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_not_regular_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    KINDS[kind](tmp_path / "odd")
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        regular_opener(str(tmp_path / "odd"), os.O_RDONLY)


def test_a_file_with_a_lease_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fsutil, "_LEASE_SECONDS", PATIENCE)
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "leased"
    path.write_text("words")
    script = (
        "import fcntl, os, signal, sys, time\n"
        "handle = os.open(sys.argv[1], os.O_RDWR)\n"
        "def let_go(*_):\n"
        "    time.sleep(0.1); fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK); os._exit(0)\n"
        "signal.signal(signal.SIGIO, let_go)\n"
        "fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n"
        "print('held', flush=True)\n"
        f"time.sleep({PATIENCE})\n"
    )
    if not hasattr(fcntl, "F_SETLEASE"):
        pytest.skip("this system has no leases")
    with subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        if holder.stdout.readline() != "held\n":
            pytest.skip("this file system has no leases")
        with open(path, opener=regular_opener) as file:
            assert file.read() == "words"


def readers() -> Iterator[str]:
    """Calls of `open` in the package that read, without the opener that refuses pipes."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or any(keyword.arg == "opener" for keyword in node.keywords):
                continue
            name = ast.unparse(node.func)
            mode = ast.unparse(node.args[1]) if len(node.args) > 1 else ""
            is_read = name in ("open", "io.open", "os.open", "io.FileIO") and not set(mode) & set("wx")
            if is_read or name.endswith((".read_text", ".read_bytes")):
                yield f"{path.relative_to(PACKAGE)}: {ast.unparse(node)}"


ALLOWED = (
    "util/fsutil.py: ",  # the owner
    "cli/__init__.py: os.open(os.devnull",
    "cli/_refs.py: open(path, 'rb')",  # what is named on the command line may be a pipe
    "stats/prices.py: ",  # and so may this; the other is a file of the package
    "archive/directories.py: os.open(path, os.O_RDONLY",  # directories
    "archive/directories.py: ",  # waits for nothing, and follows no link
    "archive/trash.py: open(_open_info(trash)",  # opened in such a directory
    "archive/locks.py: os.open(path, _OPEN_FLAGS)",  # waits for nothing, and has no use for what is in it
    "archive/pack.py: os.open(session.path_of(item), _OPEN_FLAGS)",  # does not wait, and compares what it opened
    "archive/pack.py: open(handle",
    "archive/pack.py: os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL",
    "util/dirs.py: os.open(path, os.O_CREAT",
    "util/workers.py: open(task_end, 'rb')",  # a pipe of our own
    "redact/deep_audit.py: os.open(path, flags, 384)",  # creates a file in a directory of our own
    "redact/deep_audit.py: open(path, 'rb')",  # reads it again
    "redact/sketch.py: open(SKETCHES_PATH",  # a file of the package
    "store/in_use.py: os.open(path, _OPEN)",  # does not wait, and asks what it opened
    "store/in_use.py: ",  # /proc
)


def test_every_file_of_a_store_is_opened_by_the_owner_of_the_rule() -> None:
    assert [call for call in readers() if not call.startswith(ALLOWED)] == []


COMMANDS = [
    ["replay", "1f2e"],
    ["show", "1f2e"],
    ["list"],
    ["summary", "1f2e"],
    ["stats"],
    ["files", "1f2e"],
    ["tree", "1f2e"],
    ["verify", "--all"],
    ["get", "1f2e"],
    ["todos"],
    ["memories"],
    ["settings"],
    ["locks"],
    ["archive", "1f2e", "--archive", "archive"],
    ["clean", "--before", "1d", "--archive", "archive"],
]


@pytest.mark.parametrize("command", sample(COMMANDS, 5), ids=" ".join)
def test_no_command_waits_for_pipes_in_a_store(store: StoreBuilder, tmp_path: Path, command: list[str]) -> None:
    """Everything that a store can hold is a pipe, beside one session."""
    agent = store.agent(place="subagents")
    store.meta(agent, agentType="Explore")
    fill_with_pipes(store)
    run = subprocess.run(
        [*PROGRAM, *command, "--root", store.root],
        capture_output=True,
        check=False,
        timeout=PATIENCE,
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)},
    )
    assert b"Traceback" not in run.stderr
    assert run.returncode in range(11), run.stderr


def fill_with_pipes(store: StoreBuilder) -> None:
    home, root = store.home(), store.root
    places = [
        home / f"{THREE}.jsonl",
        home / ONE / "subagents" / "agent-b1b2b3b4.jsonl",
        home / ONE / "tool-results" / "b1.txt",
        home / ONE / "workflows" / "wf_1.json",
        home / "memory" / "MEMORY.md",
        home / "todo.jsonl",
        home / "sessions-index.json",
        root / "settings.json",
        root / "settings.local.json",
        root / "CLAUDE.md",
        root / "history.jsonl",
        root / "todos" / f"{ONE}-agent-{ONE}.json",
        root / "sessions" / "1.json",
        root / "file-history" / ONE / "abc@v1",
    ]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            os.mkfifo(place)
    meta = next(home.rglob("*.meta.json"))
    meta.unlink()
    os.mkfifo(meta)


WATCHED = [["follow", "1f2e"], ["follow", "--all"], ["play", "1f2e"], ["browse"]]


@pytest.mark.parametrize("kind", sample(list(KINDS), 2))
@pytest.mark.parametrize("command", WATCHED, ids=" ".join)
def test_a_window_outlives_its_session_and_ends_with_q(store: StoreBuilder, command: list[str], kind: str) -> None:
    with Window(*command, "--root", store.root, "--no-cache") as window:
        window.until("engine")
        window.rest()
        swap(session_of(store), KINDS[kind])
        window.rest(0.3)  # most notice it by then, without being asked
        window.press(b"r\r")  # browse reads anew, and plays what is under the cursor
        window.press(b"\x1bq\x1bq")
        assert window.end() == 0
        assert window.is_restored()


@pytest.mark.parametrize("kind", sample(list(KINDS), 2))
def test_following_in_a_pipe_says_that_its_session_is_no_file_any_more(store: StoreBuilder, kind: str) -> None:
    command = [*PROGRAM, "follow", "--plain", "--root", str(store.root), "--no-cache"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        assert process.stdout is not None
        assert "engine" in process.stdout.readline()
        swap(session_of(store), KINDS[kind])
        out, err = process.communicate()
        watchdog.cancel()
    assert process.returncode == 3, (out, err)
    assert err.count("\n") == 1
    assert "not a regular file" in err or "Is a directory" in err


HANG = """
import sys, time
from claude_session_player.tui.widgets import preview
mark = sys.argv.pop(1)
def hang(*_, **__):
    open(mark, "w").close()
    time.sleep(600)
preview.preview_of = hang
from claude_session_player.cli import main
main()
"""


@not_measured
def test_q_ends_a_window_whose_thread_hangs(store: StoreBuilder, tmp_path: Path) -> None:
    program = [sys.executable, "-c", HANG, str(tmp_path / "hangs")]
    with Window("browse", "--root", store.root, "--no-cache", program=program) as window:
        window.until("engine")
        while not (tmp_path / "hangs").exists():
            window.rest()
        window.type(b"q")
        assert window.end() == 0
        assert window.is_restored()


def test_a_file_that_comes_back_is_followed_again(store: StoreBuilder) -> None:
    with Window("follow", "1f2e", "--root", store.root, "--no-cache") as window:
        window.until("engine")
        window.rest()
        path = session_of(store)
        shutil.copy(path, path.with_name("copy"))
        swap(path, to_pipe)
        window.until(str(path)[:20])  # what is wrong with it is said
        os.replace(path.with_name("copy"), path)
        with path.open("ab") as file:
            file.write(SessionBuilder(session_id=ONE).prompt("Kettle").flush())
        window.until("Kettle")
        window.type(b"q")
        assert window.end() == 0
