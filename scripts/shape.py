"""Prints how the package is laid out, against limits: `make shape`. With `--check`, fails where one is exceeded.

Almost everything is counted in the source. What a command loads and how long it takes is measured by running it on the
fixtures of the tests.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.source_tree import Module, Package

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "claude_session_player"

LATER_ROOMS: Final = frozenset({"search", "redact", "web", "mcp", "lake"})
"""Rooms that the limit for the number of modules was set without."""
LATER_MODULES: Final = 68
"""Modules that were added to the other rooms since: six for search, four for the commands and options of redaction, the
others for the second edition of the player."""
SEPARATE_ROOMS: Final = frozenset({"cli", "tui"})
"""Rooms whose modules need no second importer: a command has its row in a table, and a widget its window."""
ROOMS_WITH_ONE_DOOR: Final = ("store", "transcript", "archive", "player", "search")
"""Rooms that the rest of the package enters through their façades."""
CONVENTIONAL_NAMES: Final = frozenset({"command", "main"})
"""Functions that every command module has; they are not counted as names defined more than once."""

_FIXTURES: Final = ROOT / "tests" / "fixtures"
_STORE: Final = ("--root", "store")
COMMANDS: Final = {
    "list": (("list", *_STORE), 24),
    "show": (("show", "5d1f", *_STORE), 51),  # the goal is 34
    "replay FILE": (("replay", "project.jsonl"), 20),
}
"""The commands whose modules are counted, with their limits: a module runs if one of its functions is called.

Where a goal is not reached, the limit is the number of today, so that it gets no worse.

The commands run in a directory with copies of the fixtures.
"""
_TIMED: Final = ("list", "--json", *_STORE)
_OBSERVE: Final = """\
import inspect, json, sys, threading
from claude_session_player.cli import run

def is_ours(name):
    return name.partition(".")[0] == "claude_session_player"

def is_called_by_an_import(frame):
    while frame := frame.f_back:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"] != "__main__":
            return True
    return False

def note_call(frame, event, _):
    name = frame.f_globals.get("__name__", "")
    is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
    if event == "call" and is_function and is_ours(name) and not is_called_by_an_import(frame):
        called.add(name)

called = set()
threading.setprofile(note_call)
sys.setprofile(note_call)
code = run(sys.argv[1:])
sys.setprofile(None)
print(json.dumps({"loaded": sorted(filter(is_ours, sys.modules)), "called": sorted(called)}), file=sys.stderr)
sys.exit(code)
"""
"""Runs a command, and prints which modules are loaded, and in which of them a function was called by the command."""


@dataclass(frozen=True)
class Measurement:
    """One number and its limit."""

    what: str
    value: float
    limit: float | None = None
    unit: str = ""
    is_minimum: bool = False
    depends_on_load: bool = False
    """True for a time: a busy machine must not fail a check that is not about time."""
    details: tuple[str, ...] = ()
    """What the number consists of, one line each."""

    @property
    def is_met(self) -> bool:
        """True where the number keeps to its limit, or has none."""
        if self.limit is None:
            return True
        return self.value >= self.limit if self.is_minimum else self.value <= self.limit

    def cells(self) -> tuple[str, str, str, str]:
        """The number as a row of the table."""
        decimals = 1 if self.unit else 0
        now = f"{self.value:.{decimals}f}{self.unit}"
        if self.limit is None:
            return self.what, now, "", ""
        bound = "at least" if self.is_minimum else "at most"
        return self.what, now, f"{bound} {self.limit:g}{self.unit}", "ok" if self.is_met else "worse"


def measure_modules(package: Package) -> Iterator[Measurement]:
    """How many modules there are, how long they are, and how many stand alone."""
    modules = list(package.modules.values())
    counted = [module for module in modules if _room(module) not in LATER_ROOMS]
    yield Measurement("modules", len(counted), 160 + LATER_MODULES)
    average = sum(module.lines for module in modules) / len(modules)
    yield Measurement("lines per module, on average", average, 165, is_minimum=True)
    named = {module.name for module in modules if _room(module) in SEPARATE_ROOMS}
    single = {name: by for name, by in package.importers().items() if len(by) == 1 and name not in named}
    details = _lines((name, by) for name, by in single.items())
    yield Measurement(
        "modules imported by exactly one other",
        100 * len(single) / (len(modules) - len(named)),
        15,
        " %",
        details=details,
    )
    loose = [module.name for module in modules if _is_loose(module)]
    yield Measurement("modules at the top level", len(loose), 12, details=tuple(loose))


def measure_names(package: Package) -> Iterator[Measurement]:
    """Public names at module level that more than one module defines."""
    classes = _defined_twice(package, Module.public_classes)
    yield Measurement("public class names defined more than once", len(classes), 0, details=_lines(classes.items()))
    functions = _defined_twice(package, Module.public_functions)
    functions = {name: by for name, by in functions.items() if name not in CONVENTIONAL_NAMES}
    what = f"public function names, likewise (but {', '.join(sorted(CONVENTIONAL_NAMES))})"
    yield Measurement(what, len(functions), 5, details=_lines(functions.items()))


def measure_doors(package: Package) -> Iterator[Measurement]:
    """How many modules of a room the rest of the package imports."""
    for room in ROOMS_WITH_ONE_DOOR:
        doors = package.doors(room)
        yield Measurement(f"doors into {room}", len(doors), 5, details=_lines(doors.items()))


def measure_lengths(package: Package) -> Iterator[Measurement]:
    """The longest function and the longest file."""
    functions = sorted(((lines, name) for module in package.modules.values() for name, lines in module.functions()))
    files = sorted((module.lines, module.name) for module in package.modules.values())
    for what, found, limit in (("longest function, lines", functions, 60), ("longest file, lines", files, 500)):
        longest = found[-5:][::-1]
        details = tuple(f"{name}: {lines}" for lines, name in longest)
        yield Measurement(what, longest[0][0] if longest else 0, limit, details=details)


def measure_readme(readme: Path) -> Measurement:
    """How long the README is."""
    return Measurement("README, lines", len(readme.read_text(encoding="utf-8").splitlines()), 150)


def measure_commands() -> Iterator[Measurement]:
    """How many modules of the package a command loads, and how many of them do something; the index is warm."""
    with _workplace() as folder:
        observed = {what: _observe(arguments, folder) for what, (arguments, _) in COMMANDS.items()}
    for what, (_, limit) in COMMANDS.items():
        called = observed[what]["called"]
        yield Measurement(f"modules that run for `{what}`", len(called), limit, details=tuple(called))
    for what, modules in observed.items():
        loaded = modules["loaded"]
        yield Measurement(f"modules loaded by `{what}`", len(loaded), details=tuple(loaded))


def measure_time(runs: int) -> Measurement:
    """How long `list --json` takes as a process, as a multiple of an empty Python process; the best run counts."""
    program = [sys.executable, "-m", "claude_session_player", *_TIMED]
    with _workplace() as folder:
        ours, python = _best_times(runs, folder, program, [sys.executable, "-c", "pass"])
    details = (f"{ours * 1000:.1f} ms, `python -c pass` {python * 1000:.1f} ms",)
    return Measurement("`list --json`, times `python -c pass`", ours / python, 10, " ×", False, True, details)


def measure(root: Path, runs: int) -> Iterator[Measurement]:
    """All numbers of the package in the project at this path."""
    package = Package(root / PACKAGE.name)
    for numbers in (measure_modules, measure_names, measure_doors, measure_lengths):
        yield from numbers(package)
    yield from measure_commands()
    yield measure_time(runs)
    yield measure_readme(root / "README.md")


def table(measurements: Sequence[Measurement], with_details: bool = False) -> str:
    """The numbers as text in columns."""
    head = ("what", "now", "limit", "")
    rows = [head, *(each.cells() for each in measurements)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = []
    for row, details in zip(rows, [(), *(each.details for each in measurements)], strict=True):
        what, now, limit, verdict = row
        lines.append(f"{what:<{widths[0]}}  {now:>{widths[1]}}  {limit:<{widths[2]}}  {verdict}".rstrip())
        lines.extend(f"    {line}" for line in details if with_details)
    return "\n".join(lines)


def failures(measurements: Iterable[Measurement], with_time: bool) -> list[Measurement]:
    """The numbers that a check fails for."""
    return [each for each in measurements if not each.is_met and (with_time or not each.depends_on_load)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and give the exit code."""
    parser = argparse.ArgumentParser(prog="scripts.shape", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail where a number exceeds its limit")
    parser.add_argument("--time", action="store_true", help="with --check, fail for a time as well")
    parser.add_argument("--details", action="store_true", help="print what each number consists of")
    parser.add_argument("--runs", type=int, default=10, help="how often to run what is timed (default: 10)")
    options = parser.parse_args(arguments)
    measurements = list(measure(ROOT, options.runs))
    print(table(measurements, options.details))
    return 1 if options.check and failures(measurements, options.time) else 0


def _room(module: Module) -> str:
    """The first name below the package."""
    return (module.name.split(".") + [""])[1]


def _is_loose(module: Module) -> bool:
    """True for a file that is directly in the package's directory."""
    return module.name.count(".") == (0 if module.is_door else 1)


def _defined_twice(package: Package, names: Callable[[Module], set[str]]) -> dict[str, list[str]]:
    homes = defaultdict(list)
    for module in package.modules.values():
        for name in names(module):
            homes[name].append(module.name)
    return {name: homes[name] for name in sorted(homes) if len(homes[name]) > 1}


def _lines(found: Iterable[tuple[str, Iterable[str]]]) -> tuple[str, ...]:
    return tuple(f"{name}: {', '.join(sorted(others))}" for name, others in sorted(found))


@contextmanager
def _workplace() -> Iterator[Path]:
    """A directory with copies of the fixtures, which is a home as well; the index of the store is warm.

    The copies are a day old: a session that has just changed, as in a fresh clone, is looked at more closely.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(_FIXTURES / "store", folder / "store")
        shutil.copy(_FIXTURES / "project.jsonl", folder)
        yesterday = time.time() - 24 * 3600
        for path in folder.rglob("*"):
            os.utime(path, (yesterday, yesterday))
        _observe(_TIMED, folder)
        yield folder


def _environment(home: Path) -> dict[str, str]:
    """The environment with a home of its own, and the package of this project."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    places = dict.fromkeys(("HOME", "USERPROFILE", "XDG_CACHE_HOME", "LOCALAPPDATA"), str(home))
    return {**inherited, **places, "PYTHONPATH": str(ROOT)}


def _observe(arguments: Sequence[str], folder: Path) -> dict[str, list[str]]:
    """The modules of the package that a command loads and calls, run in a process of its own."""
    command = [sys.executable, "-c", _OBSERVE, *arguments]
    done = subprocess.run(command, cwd=folder, env=_environment(folder), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"`{' '.join(arguments)}` failed: {done.stderr.strip()}")
    observed: dict[str, list[str]] = json.loads(done.stderr.splitlines()[-1])
    return observed


def _best_times(runs: int, folder: Path, *commands: list[str]) -> list[float]:
    """The shortest time of each command in seconds; they take turns, so that noise hits them alike."""
    environment = _environment(folder)
    best = [float("inf")] * len(commands)
    for _ in range(runs):
        for number, command in enumerate(commands):
            start = time.perf_counter()
            subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
            best[number] = min(best[number], time.perf_counter() - start)
    return best


if __name__ == "__main__":
    sys.exit(main())
