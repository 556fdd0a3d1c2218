"""The modules of a package and who imports whom, read from the source: nothing of the package is imported."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

LAZY_NAMES: Final = "_HOMES"
"""The table in the `__init__` of a package that says in which module a name is defined: `{"Store": "store.store"}`."""

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES: Final = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    tree: ast.Module = field(repr=False)
    lines: int
    is_door: bool
    """True for `__init__`: it is the door of its package, and may hand out names that other modules define."""

    def top_level(self) -> Iterator[ast.AST]:
        """Every node outside of functions and classes, their `def` and `class` statements included."""
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            node = waiting.pop()
            yield node
            if not isinstance(node, _SCOPES):
                waiting.extend(ast.iter_child_nodes(node))

    def public_classes(self) -> set[str]:
        """The names of the classes at module level that do not start with an underscore."""
        return {node.name for node in self.top_level() if isinstance(node, ast.ClassDef) and node.name[0] != "_"}

    def public_functions(self) -> set[str]:
        """The names of the functions at module level that do not start with an underscore."""
        return {node.name for node in self.top_level() if isinstance(node, _FUNCTIONS) and node.name[0] != "_"}

    def functions(self) -> Iterator[tuple[str, int]]:
        """Each function and method, nested ones included, with its number of lines from `def` to its end."""
        for node in ast.walk(self.tree):
            if isinstance(node, _FUNCTIONS):
                yield f"{self.name}.{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


@dataclass(frozen=True)
class Import:
    """One name that a module imports, before it is known whether the name is a module."""

    source: str
    """The module that the import statement names."""
    name: str = ""
    """The name taken from it; empty where the module itself is imported."""
    alias: str = ""
    """What the importing module calls it."""


class Package:
    """All modules of a package, by their dotted names."""

    def __init__(self, root: Path) -> None:
        self.name: Final = root.name
        self.modules: Final = {module.name: module for module in _read_modules(root)}
        self._doors = {name: self._handed_out(module) for name, module in self.modules.items() if module.is_door}

    def entered(self, module: Module) -> set[str]:
        """The modules of the package that this one imports by name, in functions and for type checking, too."""
        return {self._module_of(found) for found in self._imports(module)} - {"", module.name}

    def used(self, module: Module) -> set[str]:
        """Like `entered`, but a name that comes through a door stands for the module that defines it."""
        found = {self._home_of(source, name) for source, name in self._names_used(module)}
        return found - {"", module.name}

    def importers(self) -> dict[str, set[str]]:
        """Which modules use each module. The doors of the packages that a module is in do not count."""
        found: dict[str, set[str]] = {name: set() for name in self.modules}
        for module in self.modules.values():
            for target in self.used(module):
                if not (module.is_door and target.startswith(f"{module.name}.")):
                    found[target].add(module.name)
        return found

    def doors(self, room: str) -> dict[str, set[str]]:
        """The modules of a room that are imported from outside of it, and by which modules."""
        inside = f"{self.name}.{room}"
        found: defaultdict[str, set[str]] = defaultdict(set)
        for module in self.modules.values():
            if not _is_within(module.name, inside):
                for target in self.entered(module):
                    if _is_within(target, inside):
                        found[target].add(module.name)
        return dict(found)

    def _imports(self, module: Module) -> Iterator[Import]:
        yield from _statements(module, ast.walk(module.tree))
        if module.is_door:
            yield from self._lazy(module)

    def _lazy(self, door: Module) -> Iterator[Import]:
        for name, home in _lazy_table(door):
            for source in (f"{door.name}.{home.lstrip('.')}", home):
                if source in self.modules:
                    yield Import(source, name, name)
                    break

    def _handed_out(self, door: Module) -> dict[str, tuple[str, str]]:
        """From which module, and under which name, a door has each name that it hands out."""
        found = [*_statements(door, door.top_level()), *self._lazy(door)]
        return {each.alias: (each.source, each.name) for each in found if each.source in self.modules}

    def _names_used(self, module: Module) -> Iterator[tuple[str, str]]:
        """Modules and the names that are taken of them, also as attributes of a door: `store.Store`."""
        doors = {}
        for found in self._imports(module):
            target = self._module_of(found)
            if target in self._doors and target == f"{found.source}.{found.name}".rstrip("."):
                doors[found.alias or found.source] = target
            yield (target, "") if target != found.source else (found.source, found.name)
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and (door := doors.get(ast.unparse(node.value))):
                yield door, node.attr

    def _module_of(self, found: Import) -> str:
        """The module that an import names; empty where it is none of the package."""
        inner = f"{found.source}.{found.name}"
        if found.name and inner in self.modules:
            return inner
        return found.source if found.source in self.modules else ""

    def _home_of(self, source: str, name: str) -> str:
        """The module that defines a name, however many doors hand it on."""
        seen = set()
        while name and (source, name) not in seen:
            seen.add((source, name))
            if f"{source}.{name}" in self.modules:
                return f"{source}.{name}"
            if name not in self._doors.get(source, {}):
                break
            source, name = self._doors[source][name]
        return source


def _read_modules(root: Path) -> Iterator[Module]:
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        is_door = parts[-1] == "__init__"
        text = path.read_text(encoding="utf-8")
        yield Module(".".join(parts[:-1] if is_door else parts), ast.parse(text), len(text.splitlines()), is_door)


def _is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _statements(module: Module, nodes: Iterator[ast.AST]) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, "", alias.asname or "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, node)
            yield from (Import(source, alias.name, alias.asname or alias.name) for alias in node.names)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    """The full name of the module after `from`, which may be relative to this one."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    kept = parts[: len(parts) - node.level + module.is_door]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _lazy_table(door: Module) -> Iterator[tuple[str, str]]:
    """Each name of the table of lazy names, with the module that it is in."""
    for node in door.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(value, ast.Dict) and any(isinstance(to, ast.Name) and to.id == LAZY_NAMES for to in targets):
            for name, home in zip(value.keys, value.values, strict=True):
                if isinstance(name, ast.Constant) and isinstance(home, ast.Constant):
                    yield str(name.value), str(home.value)
