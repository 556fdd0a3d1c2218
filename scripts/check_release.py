"""Checks the wheel and the sdist in a directory, and runs what each of them installs: `make release`."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from packaging.metadata import Metadata

from claude_session_player import __version__

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = "claude_session_player"
PROGRAM: Final = "claude-session-player"
STORE: Final = ROOT / "tests" / "fixtures" / "store"
IN_SDIST: Final = ("pyproject.toml", "PKG-INFO", "README.md", "LICENSE", "Makefile", "tests/conftest.py")
"""What the sdist needs besides the package, so that it can be built and tested."""

_BIN: Final = "Scripts" if os.name == "nt" else "bin"


def package_files(root: Path = ROOT) -> set[str]:
    """The files of the package in the source tree, relative to the project."""
    found = (path for path in (root / PACKAGE).rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(root).as_posix() for path in found}


def wheel_problems(wheel: Path, expected: set[str]) -> Iterator[str]:
    """What is wrong with a wheel that should hold these files of the package, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = f"{PACKAGE}-{__version__}.dist-info"
        metadata = archive.read(f"{info}/METADATA") if f"{info}/METADATA" in names else b""
    ours = {name for name in names if not name.startswith(f"{info}/")}
    yield from (f"{wheel.name}: {name} is missing" for name in sorted(expected - ours))
    yield from (f"{wheel.name}: {name} does not belong there" for name in sorted(ours - expected))
    for name in (f"{info}/entry_points.txt", f"{info}/licenses/LICENSE"):
        if name not in names:
            yield f"{wheel.name}: {name} is missing"
    yield from metadata_problems(wheel.name, metadata)


def sdist_problems(sdist: Path, expected: set[str]) -> Iterator[str]:
    """What is wrong with an sdist that should hold these files of the package, and all that its tests need."""
    base = f"{PACKAGE}-{__version__}/"
    with tarfile.open(sdist) as archive:
        names = {name.removeprefix(base) for name in archive.getnames()}
        info = archive.extractfile(f"{base}PKG-INFO") if "PKG-INFO" in names else None
        metadata = info.read() if info else b""
    yield from (f"{sdist.name}: {name} is missing" for name in sorted({*expected, *IN_SDIST} - names))
    hidden = {name for name in names if "__pycache__" in name or name.startswith((".venv", "dist/"))}
    yield from (f"{sdist.name}: {name} does not belong there" for name in sorted(hidden))
    yield from metadata_problems(sdist.name, metadata)


def metadata_problems(name: str, metadata: bytes) -> Iterator[str]:
    """What is wrong with the metadata of an archive."""
    try:
        known = Metadata.from_email(metadata, validate=True)
    except ExceptionGroup as group:
        yield from (f"{name}: {error}" for error in group.exceptions)
        return
    if str(known.version) != __version__:
        yield f"{name}: the version is {known.version}, not {__version__}"
    if not known.description or known.description_content_type != "text/markdown":
        yield f"{name}: the README is not its description"


def run_installed(archive: Path) -> Iterator[str]:
    """Install an archive in a clean environment, away from the source tree, and run it with an empty home."""
    with tempfile.TemporaryDirectory() as folder:
        place, home = Path(folder) / "venv", Path(folder) / "home"
        home.mkdir()
        venv.create(place, with_pip=True)
        python = str(place / _BIN / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", archive], check=True)
        environment = clean_environment(home)
        program, short = (str(place / _BIN / name) for name in (PROGRAM, "csp"))
        is_typed = (
            f"import {PACKAGE}, pathlib; print(pathlib.Path({PACKAGE}.__file__).with_name('py.typed').read_text())"
        )
        for command, words in (
            ([program, "--version"], f"{PROGRAM} {__version__}"),
            ([short, "--version"], f"{PROGRAM} {__version__}"),
            ([program, "demo"], "❯ "),
            ([program, "list", "--root", str(STORE)], "5d1f"),
            ([python, "-m", PACKAGE, "show", "5d1f", "--root", str(STORE)], "5d1f"),
            ([python, "-c", is_typed], ""),
        ):
            done = subprocess.run(command, cwd=home, env=environment, capture_output=True, check=False)
            if problem := _problem(done, words):
                yield f"{archive.name}: {' '.join([Path(command[0]).name, *command[1:]])}: {problem}"


def clean_environment(home: Path) -> dict[str, str]:
    """The environment without anything that says where sessions, settings, or modules are."""
    dropped = ("PYTHON", "XDG_", "CLAUDE", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "HOME": str(home), "USERPROFILE": str(home), "PYTHONIOENCODING": "utf-8"}


def _problem(done: subprocess.CompletedProcess[bytes], words: str) -> str:
    """What is wrong with a command that should have succeeded and printed these words; empty if nothing is."""
    if done.returncode or b"Traceback" in done.stderr:
        return f"exit code {done.returncode}: {done.stderr.decode(errors='replace').strip()}"
    return "" if words in done.stdout.decode() else f"does not print {words!r}"


def check(folder: Path) -> list[str]:
    """Everything that is wrong with the release in a directory."""
    wheels, sdists = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        return [f"{folder}: expected one wheel and one sdist, found {len(wheels)} and {len(sdists)}"]
    expected = package_files()
    problems = [*wheel_problems(wheels[0], expected), *sdist_problems(sdists[0], expected)]
    for archive in (*wheels, *sdists):
        print(f"Installing and running {archive.name} in a clean environment", flush=True)
        problems.extend(run_installed(archive.resolve()))
    return problems


if __name__ == "__main__":
    found = check(Path(sys.argv[1]))
    print("\n".join(found) or "The wheel and the sdist are complete and run.")
    sys.exit(bool(found))
