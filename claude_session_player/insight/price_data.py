"""The data module of genai-prices, read without the package around it.

Importing genai-prices takes a quarter of a second, because it brings validation and a network client along. Its prices
are one module of plain constructors: run with records that only hold what they are given, it is there in 20 ms.
Whatever is not as expected raises, and then the package itself is asked.
"""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from importlib.machinery import PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, Final

_PACKAGE: Final = "genai_prices"
_DATA: Final = "data"
_INFO: Final = re.compile(rf"{_PACKAGE}-(.+)\.dist-info")


class Record:
    """Anything that the data is made of: it has what it was given."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class _AnyRecord(ModuleType):
    """Stands for the module of types: every name in it makes a record."""

    def __getattr__(self, name: str) -> Any:
        return Record


def folder() -> str:
    """Where the package is; raises `LookupError`."""
    spec = PathFinder.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise LookupError(_PACKAGE)
    return os.path.dirname(spec.origin)


def stamp() -> str | None:
    """What tells the installed data from any other."""
    try:
        file = os.stat(os.path.join(folder(), f"{_DATA}.py"))
    except (OSError, LookupError):
        return None
    return f"{file.st_size}-{file.st_mtime_ns}"


def version() -> str:
    """The version of the package; raises where none is to be found."""
    matches = map(_INFO.fullmatch, os.listdir(os.path.dirname(folder())))
    return next(match[1] for match in matches if match)


@cache
def providers() -> Sequence[Any]:
    """The providers, with their models and prices, as records."""
    name = f"{_PACKAGE}.{_DATA}"
    code = SourceFileLoader(name, os.path.join(folder(), f"{_DATA}.py")).get_code(name)
    assert code is not None
    types = _AnyRecord("types")
    types.__all__ = [name for name in code.co_names if name[:1].isupper() and name != Decimal.__name__]  # type: ignore[attr-defined]

    def load(name: str, *details: Any) -> Any:
        return types if details[-1:] == (1,) else __import__(name, *details)

    space: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": load}, "__name__": name}
    exec(code, space)
    found: Sequence[Any] = space["providers"]
    return found


def find_model(providers: Sequence[Any], model: str) -> Any:
    """The model of a name, of the first provider that has such names; raises `LookupError`."""
    name = model.lower()
    provider = next((p for p in providers if getattr(p, "model_match", None) and _fits(p.model_match, name)), None)
    found = next((info for info in provider.models if _fits(info.match, name)), None) if provider else None
    if found is None:
        raise LookupError(model)
    return found


def _fits(clause: Any, name: str) -> bool:
    ((kind, value),) = vars(clause).items()
    return _CLAUSES[kind](name, value)


_CLAUSES: Final[Mapping[str, Callable[[str, Any], bool]]] = {
    "equals": lambda name, value: name == value.lower(),
    "starts_with": lambda name, value: name.startswith(value.lower()),
    "ends_with": lambda name, value: name.endswith(value.lower()),
    "contains": lambda name, value: value.lower() in name,
    "regex": lambda name, value: re.search(value, name) is not None,
    "or_": lambda name, value: any(_fits(clause, name) for clause in value),
    "and_": lambda name, value: all(_fits(clause, name) for clause in value),
}
