"""`resume`: what Claude Code is started with, and why it is not started. A script takes its place on PATH."""

from __future__ import annotations

import fcntl
import os
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from tests.builder import SessionBuilder
from tests.program import Ran, csp, run_on_terminal
from tests.stores import AGENT, ONE, THREE, TWO, StoreBuilder, settle

FAKE = """\
#!/bin/sh
exec > {log}
pwd
echo "$PWD"
echo "${{CLAUDE_CONFIG_DIR-}}"
grep SigIgn /proc/$$/status || echo SigIgn: 0
printf '%s\\n' "$@"
exit 7
"""


class Home:
    """A home directory with a store, a project, and a `claude` that records how it is started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "my kettle"
        self.store = StoreBuilder(folder / ".claude")
        self.log = folder / "log"
        self.path = folder / "bin"
        self.project.mkdir()
        self.path.mkdir()
        self.store.session(ONE, "Boil the water", cwd=str(self.project))

    def install(self, name: str = "bin/claude") -> None:
        """Put the script at a path below the home directory."""
        fake = self.folder / name
        fake.parent.mkdir(parents=True, exist_ok=True)
        fake.write_text(FAKE.format(log=shlex.quote(str(self.log))))
        fake.chmod(0o755)

    def resume(self, *arguments: str | Path, typed: str = "", system: str = "", **variables: str) -> Ran:
        """Run the command on a terminal."""
        path = {"PATH": f"{self.path}:/usr/bin:/bin", "COLUMNS": "400"}
        return run_on_terminal("resume", *arguments, typed=typed, system=system, **path, **variables)

    def started(self) -> tuple[str, list[str]]:
        """The directory that claude was started in, and its arguments."""
        directory, pwd, _, _, *words = self.log.read_text().splitlines()
        assert pwd == directory
        return directory, words


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    folder = tmp_path / "ada"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)
    home = Home(folder)
    home.install()
    settle(home.store.root)
    return home


def refused(ran: Ran, code: int, words: str) -> bool:
    """True for one line with these words, and the exit code."""
    *notes, line = ran.output.decode().splitlines()
    assert (ran.code, notes) == (code, []), ran.output
    assert words in line
    return True


# --- started ----------------------------------------------------------------------------------------


def test_it_becomes_claude_in_the_directory_of_the_project(home: Home) -> None:
    ran = home.resume(ONE[:13])
    assert ran.code == 7, "the exit code is that of claude"
    assert home.started() == (str(home.project), ["--resume", ONE])
    assert ran.output.decode().splitlines() == [f"resuming {ONE[:8]} 'Boil the water' in {home.project}"]


def test_it_resumes_the_latest_of_this_project_by_default(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    (home.folder / "engine").mkdir()
    home.store.session(THREE, "Start the engine", cwd=str(home.folder / "engine"), days=1)
    settle(home.store.root)
    assert home.resume().code == 7
    assert home.started() == (str(home.folder / "engine"), ["--resume", THREE])
    monkeypatch.chdir(home.project)
    assert home.resume().code == 7
    assert home.started() == (str(home.project), ["--resume", ONE])


def test_claude_is_started_as_a_shell_would_start_it(home: Home) -> None:
    home.resume(ONE)
    ignored = int(home.log.read_text().splitlines()[3].split()[1], 16)
    assert not ignored & 1 << 12, "a broken pipe ends the commands that claude runs"


def test_a_session_of_another_store_is_resumed_with_that_store(home: Home, tmp_path: Path) -> None:
    other = StoreBuilder(tmp_path / "other store")
    other.session(TWO, "Elsewhere", cwd=str(home.project))
    settle(other.root)
    assert home.resume(TWO, "--root", other.root).code == 7
    assert home.log.read_text().splitlines()[2] == str(other.root)
    printed = csp("resume", TWO, "--print", "--root", other.root).stdout.decode()
    assert printed == f"cd '{home.project}' && CLAUDE_CONFIG_DIR='{other.root}' claude --resume {TWO}\n"
    assert home.resume(TWO, CLAUDE_CONFIG_DIR=str(other.root)).code == 7
    assert csp("resume", TWO, "--print", CLAUDE_CONFIG_DIR=str(other.root)).stdout.decode().count(str(other.root)) == 0


def test_a_claude_of_the_project_is_not_what_runs(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    (home.project / "bin").mkdir()
    trap = home.project / "bin" / "claude"
    trap.write_text("#!/bin/sh\nexit 66\n")
    trap.chmod(0o755)
    ran = run_on_terminal("resume", ONE, typed="", PATH="bin:/usr/bin:/bin")
    assert ran.code == 7


def test_a_local_installation_is_found_that_is_not_on_the_path(home: Home) -> None:
    (home.path / "claude").unlink()
    home.install(".claude/local/claude")
    assert home.resume(ONE).code == 7


def test_windows_waits_for_claude(home: Home) -> None:
    ran = home.resume(ONE, system="windows", LOCALAPPDATA=str(home.folder))
    assert ran.code == 7
    assert home.started() == (str(home.project), ["--resume", ONE])


def test_a_title_and_a_directory_are_not_obeyed(home: Home) -> None:
    cwd = home.folder / "a\x1b]0;owned\x07"
    cwd.mkdir()
    home.store.session(TWO, "Beep \x1b[2J\x07", cwd=str(cwd))
    settle(home.store.root)
    ran = home.resume(TWO)
    assert (ran.code, b"\x1b" in ran.output, b"\x07" in ran.output) == (7, False, False)
    assert home.started()[0] == str(cwd)


# --- printed ----------------------------------------------------------------------------------------


def test_the_printed_command_does_the_same_in_a_shell(home: Home) -> None:
    done = csp("resume", ONE, "--print")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"cd '{home.project}' && claude --resume {ONE}\n"
    environment = {**os.environ, "PATH": f"{home.path}:/usr/bin:/bin"}
    assert subprocess.run(["sh", "-c", done.stdout], env=environment, check=False).returncode == 7
    assert home.started() == (str(home.project), ["--resume", ONE])


def test_printing_needs_neither_claude_nor_the_directory(home: Home) -> None:
    (home.path / "claude").unlink()
    home.project.rmdir()
    assert csp("resume", ONE, "--print").stdout.decode() == f"cd '{home.project}' && claude --resume {ONE}\n"


def test_a_directory_with_control_characters_is_not_printed(home: Home) -> None:
    cwd = home.folder / "a\nrm -rf b"
    cwd.mkdir()
    home.store.session(TWO, "Careful", cwd=str(cwd))
    settle(home.store.root)
    done = csp("resume", TWO, "--print")
    assert (done.returncode, done.stdout) == (11, b"")
    assert b"control characters: not printed" in done.stderr
    assert home.resume(TWO).code == 7, "no shell reads it here"


# --- refused ----------------------------------------------------------------------------------------


def test_without_claude_it_says_how_to_install_it(home: Home) -> None:
    (home.path / "claude").unlink()
    assert refused(home.resume(ONE), 11, "claude is not on PATH: install Claude Code (npm install")


def test_a_project_directory_that_is_gone_is_named(home: Home) -> None:
    home.project.rmdir()
    assert refused(
        home.resume(ONE), 11, f"the project directory {home.project} is gone: create it again, or add --print"
    )


def test_a_subagent_names_its_session(home: Home) -> None:
    home.store.agent(AGENT)
    settle(home.store.root)
    assert refused(home.resume(AGENT), 11, f"{AGENT} is a sub-agent")
    assert f"resume {ONE}'" in home.resume(AGENT, "--print").output.decode()


def test_a_session_without_a_directory_is_resumed_by_hand(home: Home) -> None:
    line = {"type": "user", "timestamp": "2026-01-17T10:00:00Z", "message": {"role": "user", "content": "Boil"}}
    SessionBuilder().line(line).write(home.store.home() / f"{TWO}.jsonl")
    settle(home.store.root)
    assert refused(home.resume(TWO), 11, "names no working directory: add --print")
    assert csp("resume", TWO, "--print").stdout.decode() == f"claude --resume {TWO}\n"


@pytest.mark.parametrize("option", [[], ["--print"]])
def test_only_sessions_of_a_store_are_resumed(home: Home, tmp_path: Path, option: list[str]) -> None:
    home.store.every_layout()
    outside = SessionBuilder(session_id=TWO, cwd=str(home.project)).prompt("Hi").write(tmp_path / f"{TWO}.jsonl")
    settle(home.store.root)
    assert refused(home.resume("ses_0001", *option), 11, "ses_0001 is an exported transcript")
    assert refused(home.resume(f"{ONE}-2026", *option), 11, "is a copy from before a compaction")
    assert refused(home.resume(outside, *option), 11, "is not in a store")


def test_a_name_that_claude_would_take_for_an_option_is_not_passed_on(home: Home) -> None:
    path = home.store.session("--dangerously-skip-permissions", "Trust me", cwd=str(home.project))
    settle(home.store.root)
    assert refused(home.resume(path), 11, "is not a session id")
    assert not home.log.exists()


def test_an_archived_session_has_to_be_restored_first(home: Home) -> None:
    assert csp("archive", "add", ONE).returncode == 0
    next(home.store.root.rglob(f"{ONE}.jsonl")).unlink()
    assert refused(home.resume(ONE), 7, f"session {ONE} is archived: restore it first with")


def test_an_unknown_session_is_unknown(home: Home) -> None:
    assert home.resume("qqqqqqqq").code == 7


def test_without_a_terminal_nothing_is_started(home: Home) -> None:
    done = csp("resume", ONE, PATH=f"{home.path}:/usr/bin:/bin")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"resume needs a terminal: add --print" in done.stderr
    assert not home.log.exists()


@pytest.mark.parametrize(("answer", "code"), [("y\n", 7), ("Yes\n", 7), ("\n", 9), ("n\n", 9)])
def test_a_session_in_use_is_resumed_only_by_a_person_who_wants_it(home: Home, answer: str, code: int) -> None:
    path = next(home.store.root.rglob(f"{ONE}.jsonl"))
    os.utime(path, (time.time(), time.time()))
    ran = home.resume(ONE, typed=answer)
    assert "Resume it anyway? [y/N]" in ran.output.decode()
    assert (ran.code, home.log.exists()) == (code, code == 7)


def test_force_resumes_a_session_in_use_without_asking(home: Home) -> None:
    with next(home.store.root.rglob(f"{ONE}.jsonl")).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "is in use (" in home.resume(ONE, typed="\n").output.decode()
        ran = home.resume(ONE, "--force")
        assert ran.code == 7
        assert b"?" not in ran.output
