"""The lowest versions that pyproject.toml declares, as requirements for pip: `make test-floors` installs them.

Tools for tests come in any version; the development pins of what the program itself needs are left out.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

PYPROJECT: Final = Path(__file__).parents[1] / "pyproject.toml"
_FLOOR: Final = re.compile(r"(?P<name>[A-Za-z0-9._-]+)>=(?P<version>[0-9.]+)")


def floors(pyproject: Path = PYPROJECT) -> dict[str, str]:
    """The lowest version of each package that the program needs. Raises where one has none, or says more."""
    declared = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["dependencies"]
    found = {}
    for requirement in declared:
        match = _FLOOR.fullmatch(requirement)
        if match is None:
            raise ValueError(f"{requirement}: a dependency is declared as name>=version")
        found[match["name"]] = match["version"]
    return found


def requirements(pyproject: Path = PYPROJECT) -> list[str]:
    """What `pip install -r` needs to run the tests on the lowest versions."""
    lowest = floors(pyproject)
    tools = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["optional-dependencies"]["dev"]
    others = [tool for tool in tools if re.split(r"[<>=!~ ]", tool)[0] not in lowest]
    return [*(f"{name}=={version}" for name, version in lowest.items()), *others]


if __name__ == "__main__":
    print("\n".join(requirements()))
