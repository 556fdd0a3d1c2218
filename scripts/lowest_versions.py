"""Prints the lowest versions that pyproject.toml allows, as requirements for pip: `make test-lowest` installs them.

Test tools come in any version; development pins of packages that the program itself needs are left out.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

PYPROJECT: Final = Path(__file__).parents[1] / "pyproject.toml"
RUNTIME_EXTRAS: Final = ("search",)
"""The extras that the program itself uses."""
_LOWER_BOUND: Final = re.compile(r"(?P<name>[A-Za-z0-9._-]+)>=(?P<version>[0-9.]+)")


def lowest_versions(pyproject: Path = PYPROJECT) -> dict[str, str]:
    """The lowest allowed version of each dependency, those of extras included.

    Raises if one has none, or says more than that.
    """
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    optional = project.get("optional-dependencies", {})
    extras = [requirement for name in RUNTIME_EXTRAS for requirement in optional.get(name, ())]
    found = {}
    for requirement in (*project["dependencies"], *extras):
        match = _LOWER_BOUND.fullmatch(requirement)
        if match is None:
            raise ValueError(f"{requirement}: declare a dependency as name>=version")
        found[match["name"]] = match["version"]
    return found


def requirements(pyproject: Path = PYPROJECT) -> list[str]:
    """The lines of a requirements file to run the tests on the lowest versions."""
    lowest = lowest_versions(pyproject)
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    installed = (*lowest, project.get("name"))  # development needs the extras of the project itself
    tools = project["optional-dependencies"]["dev"]
    others = [tool for tool in tools if re.split(r"[<>=!~ \[]", tool)[0] not in installed]
    return [*(f"{name}=={version}" for name, version in lowest.items()), *others]


if __name__ == "__main__":
    print("\n".join(requirements()))
