"""What is imported is declared, what is declared is imported, and the lowest versions are stated once."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

from scripts.lowest_versions import PYPROJECT, lowest_versions, requirements

ROOT = PYPROJECT.parent
OURS = {"claude_session_player", "tests", "bench", "scripts"}


def imported(folder: str) -> set[str]:
    """The distributions of all modules that are imported below a directory, also inside of functions."""
    modules = {module.partition(".")[0] for path in (ROOT / folder).rglob("*.py") for module in _modules(path)}
    foreign = modules - sys.stdlib_module_names - OURS
    distributions = packages_distributions()
    return {_canonical(distributions.get(module, [module])[0]) for module in foreign}


def _modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def _extra(name: str) -> list[str]:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    declared: list[str] = project["optional-dependencies"][name]
    return declared


def test_the_package_imports_what_it_declares_and_nothing_else() -> None:
    assert imported("claude_session_player") == lowest_versions().keys()


@pytest.mark.parametrize("folder", ["tests", "bench", "scripts"])
def test_development_imports_only_what_is_declared(folder: str) -> None:
    declared = lowest_versions().keys() | {
        _canonical(re.split(r"[<>=]", tool)[0]) for tool in (*_extra("dev"), *_extra("docs"))
    }
    assert imported(folder) - declared == set()


def test_pins_for_development_are_not_below_the_lowest_versions() -> None:
    lowest = lowest_versions()
    pins = dict(tool.split("==") for tool in _extra("dev") if "==" in tool)
    assert [name for name in pins.keys() & lowest.keys() if _numbers(pins[name]) < _numbers(lowest[name])] == []


def test_what_is_installed_is_not_below_the_lowest_versions() -> None:
    assert [name for name, lowest in lowest_versions().items() if _numbers(version(name)) < _numbers(lowest)] == []


def test_lowest_versions_are_installed_exactly_and_tools_in_any_version() -> None:
    lines = requirements()
    assert set(lines) >= {f"{name}=={lowest}" for name, lowest in lowest_versions().items()}
    names = [re.split(r"[<>=]", line)[0] for line in lines]
    assert len(names) == len(set(names))
    assert {"pytest", "hypothesis"} <= set(names)


def test_a_dependency_without_a_lowest_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\ndependencies = ["click"]\n')
    with pytest.raises(ValueError, match="click: declare a dependency as name>=version"):
        lowest_versions(path)
