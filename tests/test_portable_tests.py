"""The choice of tests that run on Windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.portable_tests import TESTS, portable_tests


def chosen(tests: Path, **modules: str) -> set[str]:
    """The names of the test modules that are chosen from these modules."""
    for name, text in modules.items():
        path = tests / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return {path.stem for path in portable_tests(tests)}


@pytest.mark.parametrize(
    "text",
    [
        "import fcntl",
        "def f():\n    from pexpect import spawn",
        "os.mkfifo('x')",
        "run('/bin/sh')",
        "import subprocess",
    ],
)
def test_a_module_that_uses_what_only_posix_has_is_left_out(text: str, tmp_path: Path) -> None:
    assert chosen(tmp_path / "tests", test_one=text, test_two="import os") == {"test_two"}


def test_a_module_is_left_out_if_a_helper_that_it_imports_uses_what_only_posix_has(tmp_path: Path) -> None:
    helpers = {"first": "from tests import second", "second": "import pty", "plain": "import os"}
    tests = {"test_one": "from tests.first import run", "test_two": "from tests.plain import run"}
    assert chosen(tmp_path / "tests", **helpers, **tests) == {"test_two"}


def test_hostile_tests_and_helpers_are_left_out(tmp_path: Path) -> None:
    assert chosen(tmp_path / "tests", hostile__test_one="", test_two="", helper="") == {"test_two"}


def test_the_core_of_the_program_is_tested_on_every_system() -> None:
    names = {path.stem for path in portable_tests()}
    assert {"test_parser", "test_renderer", "test_formatter", "test_playback", "test_tools"} <= names
    assert all(path.is_file() and path.is_relative_to(TESTS) for path in portable_tests())
