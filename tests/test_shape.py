"""`make shape`: what it counts in a small package, and that every limit can fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import shape
from scripts.shape import Measurement
from scripts.source_tree import Package

NAME = shape.PACKAGE.name
Files = dict[str, str]
Build = Callable[[Files], Package]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Write a package of these files, and read it; every directory has an `__init__`."""

    def write(files: Files) -> Package:
        root = tmp_path / NAME
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("PACKAGE", NAME))
        for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
            (folder / "__init__.py").touch()
        return Package(root)

    return write


def importers(package: Package) -> dict[str, set[str]]:
    """The modules that are used by others, without the name of the package."""
    strip = f"{NAME}."
    return {
        name.removeprefix(strip): {by.removeprefix(strip) for by in others}
        for name, others in package.importers().items()
        if others
    }


def by_name(measurements: list[Measurement]) -> dict[str, float]:
    """The numbers by what they are of."""
    return {each.what: each.value for each in measurements}


def test_modules_and_their_lines_are_counted_and_later_rooms_are_left_out_of_the_number_alone(build: Build) -> None:
    package = build({"a.py": "x = 1\n" * 10, "room/b.py": "x = 1\n" * 20, "web/c.py": "x = 1\n" * 30})
    numbers = by_name(list(shape.measure_modules(package)))
    assert numbers["modules"] == 4  # with two `__init__`; web and its `__init__` come later
    assert numbers["lines per module, on average"] == 60 / 6
    assert numbers["modules at the top level"] == 2


def test_imports_count_wherever_they_are_written(build: Build) -> None:
    package = build(
        {
            "top.py": "from PACKAGE import far\nimport PACKAGE.room.one\nfrom .room import two\n",
            "lazy.py": "def run():\n    from PACKAGE.far import thing\n",
            "typed.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from PACKAGE.far import Thing\n",
            "far.py": "import os\nfrom collections import abc\n",
            "room/one.py": "from .two import thing\nfrom ..far import thing\nfrom PACKAGE.far import other\n",
            "room/two.py": "from . import two\n",
        }
    )
    assert importers(package) == {
        "far": {"top", "lazy", "typed", "room.one"},
        "room.one": {"top"},
        "room.two": {"top", "room.one"},
    }
    single = next(each for each in shape.measure_modules(package) if "exactly one" in each.what)
    assert single.value == pytest.approx(100 / 8)
    assert single.details == (f"{NAME}.room.one: {NAME}.top",)


LAZY_DOOR = '_HOMES = {"Store": "store", "Filter": "filters"}\n'
TYPED_DOOR = '_HOMES: Final[dict[str, str]] = {"Store": ".store", "Filter": "PACKAGE.store.filters"}\n'
EAGER_DOOR = "from PACKAGE.store.store import Store\nfrom .filters import Filter\n"
CHECKED_DOOR = "if TYPE_CHECKING:\n    from PACKAGE.store.store import Store\n    from .filters import Filter\n"


@pytest.mark.parametrize("door", [LAZY_DOOR, TYPED_DOOR, EAGER_DOOR, CHECKED_DOOR])
def test_a_name_that_comes_through_a_door_counts_for_the_module_that_defines_it(build: Build, door: str) -> None:
    package = build(
        {
            "__init__.py": '_HOMES = {"Store": "store"}\n',
            "store/__init__.py": door,
            "store/store.py": "class Store: ...\n",
            "store/filters.py": "class Filter: ...\n",
            "a.py": "from PACKAGE.store import Store, Filter\n",
            "b.py": "from PACKAGE import Store\n",
            "c.py": "from PACKAGE import store\nstore.Filter()\n",
        }
    )
    found = importers(package)
    assert found["store.store"] == {"a", "b"}
    assert found["store.filters"] == {"a", "c"}
    assert {name.removeprefix(NAME) for name in package.doors("store")} == {".store"}


def test_a_door_counts_as_importer_outside_of_its_own_room_only(build: Build) -> None:
    package = build({"room/__init__.py": "from PACKAGE.room.one import x\nfrom PACKAGE.far import y\n", "far.py": ""})
    assert importers(package) == {"far": {"room"}}


def test_names_that_a_function_of_a_door_imports_are_not_handed_out(build: Build) -> None:
    package = build(
        {
            "room/__init__.py": "def run():\n    from PACKAGE.room.one import x\n",
            "room/one.py": "x = 1\n",
            "a.py": "from PACKAGE.room import x\n",
        }
    )
    assert importers(package) == {"room": {"a"}}


def test_doors_are_the_modules_of_a_room_that_others_import(build: Build) -> None:
    package = build(
        {
            "__init__.py": '_HOMES = {"Layout": "store.layout"}\n',
            "a.py": "from PACKAGE.store import index\n",
            "b.py": "from PACKAGE.store.index import Index\nfrom PACKAGE.store import Store\n",
            "store/index.py": "from PACKAGE.store import hidden\n",
            "store/layout.py": "",
            "store/hidden.py": "",
            "stores.py": "",
            "c.py": "from PACKAGE import stores\n",
        }
    )
    doors = {name.removeprefix(f"{NAME}."): len(by) for name, by in package.doors("store").items()}
    assert doors == {"store": 1, "store.index": 2, "store.layout": 1}
    assert by_name(list(shape.measure_doors(package)))["doors into store"] == 3


def test_public_names_that_two_modules_define_are_counted_once(build: Build) -> None:
    text = "class Row: ...\nclass _Own: ...\ndef plan(): ...\nasync def wait(): ...\ndef _own(): ...\n"
    nested = "class Holder:\n    class Row: ...\n    def plan(self): ...\ndef command(): ...\ndef main(): ...\n"
    overloaded = "if True:\n    def twice(): ...\nelse:\n    def twice(): ...\n"
    files = {"a.py": text, "b.py": text, "c.py": text, "d.py": nested, "e.py": nested.replace("Holder", "Other")}
    classes, functions = shape.measure_names(build({**files, "f.py": overloaded}))
    assert classes.details == (f"Row: {NAME}.a, {NAME}.b, {NAME}.c",)
    assert functions.value == 2
    assert [line.partition(":")[0] for line in functions.details] == ["plan", "wait"]
    assert "command, main" in functions.what


def test_the_longest_function_and_file_are_found(build: Build) -> None:
    body = "    x = 1\n"
    files = {"a.py": f"@cache\ndef short():\n{body}", "b.py": f"class A:\n  async def long(self):\n{body * 7}\n\n"}
    function, file = shape.measure_lengths(build(files))
    assert (function.value, function.details[0]) == (8, f"{NAME}.b.long: 8")
    assert (file.value, file.details[0]) == (11, f"{NAME}.b: 11")


def test_the_readme_is_counted_in_lines(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("one\n\nthree\n")
    assert shape.measure_readme(tmp_path / "README.md").value == 3


def too_much() -> Files:
    """A package that keeps to no limit that is counted in the source."""
    files = {f"m{number}.py": "" for number in range(161)}
    files |= {f"d{number}.py": "class A: ...\n" + "".join(f"def f{n}(): ...\n" for n in range(6)) for number in (1, 2)}
    for room in shape.ROOMS_WITH_ONE_DOOR:
        files |= {f"{room}/part{number}.py": "" for number in range(6)}
        files[f"use_{room}.py"] = "".join(f"import PACKAGE.{room}.part{number}\n" for number in range(6))
    files |= {f"by{number}.py": f"import PACKAGE.m{number}\n" for number in range(50)}
    files["long.py"] = "def f():\n" + "    x = 1\n" * 500
    return files


def test_every_limit_of_the_source_can_fail(build: Build, tmp_path: Path) -> None:
    package = build(too_much())
    (tmp_path / "README.md").write_text("\n" * 151)
    sources = (shape.measure_modules, shape.measure_names, shape.measure_doors, shape.measure_lengths)
    numbers = [each for source in sources for each in source(package)]
    numbers.append(shape.measure_readme(tmp_path / "README.md"))
    assert [each.what for each in numbers if each.is_met] == []


def test_a_small_package_keeps_to_every_limit_of_the_source(build: Build) -> None:
    package = build({"a.py": "def f(): ...\n" * 2 * 165})
    sources = (shape.measure_modules, shape.measure_names, shape.measure_doors, shape.measure_lengths)
    assert [each.what for source in sources for each in source(package) if not each.is_met] == []


def test_a_limit_may_be_reached_but_not_exceeded() -> None:
    assert [Measurement("most", value, 5).is_met for value in (4, 5, 6)] == [True, True, False]
    assert [Measurement("least", value, 5, is_minimum=True).is_met for value in (4, 5, 6)] == [False, True, True]


def test_a_time_fails_the_check_only_where_times_are_asked_for() -> None:
    slow, large = Measurement("slow", 11, 10, " ×", depends_on_load=True), Measurement("large", 2, 1)
    assert shape.failures([slow, large], with_time=False) == [large]
    assert shape.failures([slow, large], with_time=True) == [slow, large]


def test_the_table_names_what_is_worse_and_what_it_consists_of() -> None:
    rows = [
        Measurement("small", 1, 5),
        Measurement("free", 7),
        Measurement("share", 23.44, 15, " %", details=("a: b",)),
    ]
    assert shape.table(rows).splitlines() == [
        "what      now  limit",
        "small       1  at most 5     ok",
        "free        7",
        "share  23.4 %  at most 15 %  worse",
    ]
    assert shape.table(rows, with_details=True).splitlines()[-1] == "    a: b"


def test_the_modules_that_a_command_loads_and_calls_are_counted_in_a_process_of_its_own() -> None:
    numbers = {each.what: each for each in shape.measure_commands()}
    for command in shape.COMMANDS:
        loaded, called = (
            numbers[f"modules loaded by `{command}`"],
            numbers[f"modules that run for `{command}`"],
        )
        assert {f"{NAME}.cli", f"{NAME}.cli.app"} <= set(called.details) < set(loaded.details)
        assert (called.value, loaded.value) == (len(called.details), len(loaded.details))
        assert called.is_met
        assert loaded.limit is None


def test_a_command_takes_longer_than_an_empty_process() -> None:
    assert shape.measure_time(1).value > 1


@pytest.mark.parametrize(("value", "arguments", "code"), [(2, [], 0), (2, ["--check"], 1), (1, ["--check"], 0)])
def test_the_check_fails_where_a_number_is_worse(
    value: int, arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shape, "measure", lambda *_: [Measurement("large", value, 1)])
    assert shape.main(arguments) == code
    assert "large" in capsys.readouterr().out


def test_all_numbers_are_measured_for_this_project() -> None:
    numbers = list(shape.measure(shape.ROOT, runs=1))
    assert len({each.what for each in numbers}) == len(numbers) == 21
