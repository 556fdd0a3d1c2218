"""What is installed is what the project describes, and a release is checked for what it must and must not hold."""

from __future__ import annotations

import io
import re
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import Distribution, distribution, entry_points
from importlib.resources import files
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from claude_session_player import __version__
from claude_session_player.cli import main
from scripts import check_release
from scripts.check_release import IN_SDIST, PACKAGE, PROGRAM, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = ROOT / ".github" / "workflows" / "test.yml"
INFO = f"{PACKAGE}-{__version__}.dist-info"
METADATA = f"""\
Metadata-Version: 2.4
Name: {PROGRAM}
Version: {__version__}
Description-Content-Type: text/markdown

# A README
"""


@pytest.fixture(scope="module")
def installed() -> Distribution:
    """What the environment of the tests knows about the program."""
    return distribution(PROGRAM)


@pytest.mark.parametrize("name", [PROGRAM, "csp"])
def test_each_console_script_runs_the_command_line(name: str) -> None:
    (script,) = entry_points(group="console_scripts", name=name)
    assert script.load() is main
    assert PROJECT["scripts"][name] == script.value


def test_the_installed_version_is_that_of_the_package(installed: Distribution) -> None:
    assert installed.version == __version__, "install the project again: touch pyproject.toml"


def test_the_package_is_marked_as_typed_and_has_its_data() -> None:
    package = files(PACKAGE)
    assert package.joinpath("py.typed").is_file()
    assert {"demo.jsonl", "prices.jsonl"} <= {path.name for path in package.joinpath("data").iterdir()}


def test_the_lowest_python_is_checked_by_the_setup_as_well(installed: Distribution) -> None:
    assert installed.metadata["Requires-Python"] == PROJECT["requires-python"] == ">=3.11"
    assert sys.version_info >= (3, 11)
    assert "version_info < (3, 11)" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.skipif(not WORKFLOW.exists(), reason="the workflow is not part of an sdist")
def test_every_python_version_that_is_named_is_tested() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    matrices = re.findall(r"python: \[(.*)\]", WORKFLOW.read_text(encoding="utf-8"))
    assert matrices
    assert all(re.findall(r"3\.\d+", matrix) == named for matrix in matrices)


@pytest.mark.skipif(not WORKFLOW.exists(), reason="the workflow is not part of an sdist")
def test_the_workflow_calls_targets_that_the_makefile_has() -> None:
    called = set(re.findall(r"run: make (\S+)", WORKFLOW.read_text(encoding="utf-8")))
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert called - targets == set()


def make_wheel(folder: Path, *names: str, metadata: str = METADATA) -> Path:
    """A wheel with these files, and all that belongs to any wheel."""
    path = folder / f"{PACKAGE}-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (*names, f"{INFO}/entry_points.txt", f"{INFO}/licenses/LICENSE"):
            archive.writestr(name, "")
        archive.writestr(f"{INFO}/METADATA", metadata)
    return path


def make_sdist(folder: Path, *names: str) -> Path:
    """An sdist with these files."""
    path = folder / f"{PACKAGE}-{__version__}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(f"{PACKAGE}-{__version__}/{name}")
            member.size = len(METADATA)
            archive.addfile(member, io.BytesIO(METADATA.encode()))
    return path


def without_name(problems: list[str]) -> list[str]:
    """Problems without the archive that has them."""
    return [problem.partition(": ")[2] for problem in problems]


EXPECTED = {f"{PACKAGE}/__init__.py", f"{PACKAGE}/py.typed"}


def test_a_complete_wheel_and_a_complete_sdist_have_no_problems(tmp_path: Path) -> None:
    assert list(check_release.wheel_problems(make_wheel(tmp_path, *EXPECTED), EXPECTED)) == []
    assert list(check_release.sdist_problems(make_sdist(tmp_path, *EXPECTED, *IN_SDIST), EXPECTED)) == []


def test_a_wheel_with_tests_or_without_its_marker_of_types_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, f"{PACKAGE}/__init__.py", "tests/test_a.py")
    problems = [f"{PACKAGE}/py.typed is missing", "tests/test_a.py does not belong there"]
    assert without_name(list(check_release.wheel_problems(wheel, EXPECTED))) == problems


def test_an_sdist_without_tests_or_with_leftovers_is_refused(tmp_path: Path) -> None:
    names = [name for name in IN_SDIST if not name.startswith("tests")]
    sdist = make_sdist(tmp_path, *EXPECTED, *names, "tests/__pycache__/a.pyc", ".venv/bin/python")
    assert without_name(list(check_release.sdist_problems(sdist, EXPECTED))) == [
        "tests/conftest.py is missing",
        ".venv/bin/python does not belong there",
        "tests/__pycache__/a.pyc does not belong there",
    ]


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (METADATA.replace(__version__, "0.0.1"), f"the version is 0.0.1, not {__version__}"),
        (METADATA.replace("text/markdown", "text/plain"), "the README is not its description"),
        (METADATA.replace(f"Name: {PROGRAM}\n", ""), "'name' is a required field"),
    ],
)
def test_wrong_metadata_is_refused(metadata: str, problem: str, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, *EXPECTED, metadata=metadata)
    assert without_name(list(check_release.wheel_problems(wheel, EXPECTED))) == [problem]


def test_a_release_is_one_wheel_and_one_sdist(tmp_path: Path) -> None:
    assert without_name(check_release.check(tmp_path)) == ["expected one wheel and one sdist, found 0 and 0"]


def test_the_files_of_the_package_are_those_in_the_source_tree() -> None:
    found = check_release.package_files()
    assert {f"{PACKAGE}/py.typed", f"{PACKAGE}/data/demo.jsonl", f"{PACKAGE}/cli/__init__.py"} <= found
    assert not any("__pycache__" in name for name in found)


@pytest.mark.parametrize(
    ("done", "problem"),
    [
        (CompletedProcess([], 0, b"demo 1\n", b"note: short\n"), ""),
        (CompletedProcess([], 0, b"", b""), "does not print 'demo'"),
        (CompletedProcess([], 2, b"demo", b"no such option\n"), "exit code 2: no such option"),
        (CompletedProcess([], 0, b"demo", b"Traceback"), "exit code 0: Traceback"),
    ],
)
def test_a_command_of_a_release_has_to_succeed_and_print_what_is_expected(
    done: CompletedProcess[bytes], problem: str
) -> None:
    assert check_release._problem(done, "demo") == problem


def test_what_is_installed_runs_without_the_settings_of_whoever_checks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONPATH", "XDG_CACHE_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(name, "/elsewhere")
    environment = check_release.clean_environment(tmp_path)
    assert environment["HOME"] == str(tmp_path)
    assert "/elsewhere" not in environment.values()
