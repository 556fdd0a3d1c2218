"""Every output of every command that says what a session says."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from claude_session_player.cli._redaction import RedactionOptions
from claude_session_player.export import export_formats
from claude_session_player.export.registry import OutputKind
from claude_session_player.redact import RedactedStore, Redactor
from tests.agreement import csp
from tests.redact.places import MAIN
from tests.redact.planted import WORD

_SWITCH: Final = ("--redact", "--no-redact")
_DOCUMENTS: Final = ("markdown", "json", "jsonl", "text")


class Output(NamedTuple):
    """What a command wrote."""

    name: str
    text: str


def outputs(root: Path, work: Path, redaction: Sequence[str], files: Sequence[str], lines: int) -> Iterator[Output]:
    """What all commands say about the one session of a store, with these options."""
    common = [*redaction, "--root", str(root), "--no-cache"]
    for words in commands(files, lines):
        told = csp(*words, *(word for word in common if words[0] != "secrets" or word not in _SWITCH))
        assert told[0] in (0, 1), (words, told)
        name = " ".join(words)
        yield Output(name, told[1])
        yield Output(f"stderr of {name}", told[2])
    for words in (["show", MAIN, "--full", "--assets"], ["show", MAIN, "--assets"]):
        folder = work / f"assets{len(words)}"
        told = csp(*words, str(folder), *common)
        assert told[0] in (0, 1), told
        yield Output(" ".join(words), told[1] + told[2])
        yield from files_below(folder, " ".join(words))
    for name, options in exports():
        path = work / name
        told = csp("export", MAIN, *options, "-o", str(path), *common)
        assert told[0] in (0, 1), told
        yield Output(f"export {' '.join(options)}", path.read_text(errors="replace") + told[1] + told[2])


def commands(files: Sequence[str], lines: int) -> Iterator[list[str]]:
    """The words of each command that prints."""
    for format in _DOCUMENTS:
        yield ["replay", MAIN, "--format", format, "--history", "--thinking", "--full"]
        yield ["show", MAIN, "--format", format, "--full"]
    yield ["replay", MAIN]
    yield ["show", MAIN]
    yield ["show", MAIN, "--chain", "--line-numbers"]
    yield ["get", MAIN]
    yield ["get", MAIN, "--json"]
    yield ["get", MAIN, "--jsonl"]
    for line in range(1, lines, max(lines // 3, 1)):
        yield ["get", MAIN, "--line", str(line)]
    yield ["files", MAIN]
    yield ["files", MAIN, "--json"]
    for path in files[:4]:
        yield ["files", MAIN, path]
        yield ["files", "--all", path, "--diff"]
    yield ["find", WORD, "--all-hits"]
    yield ["find", WORD, "--all-hits", "--json"]
    for group in ("file", "project", "tool"):
        yield ["find", WORD, "--by", group]
    yield ["find", "--exact", WORD, "--all-hits"]
    yield ["summary", MAIN]
    yield ["summary", MAIN, "--json"]
    yield ["tree", MAIN, "--prompts"]
    yield ["tree", MAIN, "--json"]
    yield ["prompts", MAIN, "--full"]
    yield ["prompts", "--jsonl"]
    yield ["prompts"]
    yield ["secrets", MAIN, "--details"]
    yield ["secrets", "--all", "--json"]


def exports() -> Iterator[tuple[str, list[str]]]:
    """A file name and the options for each format; videos are drawn from the rows of the recording."""
    for format in export_formats():
        if format.writes is not OutputKind.VIDEO:
            yield f"tea{format.suffix}", ["--format", format.name, "--full", "--thinking"]
    yield "tea3.cast", ["--format", "asciicast", "--v3", "--full", "--thinking", "--width", "200"]
    yield "screen.cast", ["--format", "asciicast", "--view", "screen"]


def copy(root: Path, work: Path, redaction: Sequence[str]) -> Iterator[Output]:
    """Names and bytes of the files of a redacted copy, its report, and what is said of it."""
    folder, report = work / "copy", work / "report.json"
    options = [*redaction, "--redaction-report", str(report), "--root", str(root), "--no-cache"]
    told = csp("redact", MAIN, "-o", f"{folder}{os.sep}", *(option for option in options if option != "--redact"))
    assert told[0] in (0, 1), told
    yield Output("redact", told[1] + told[2])
    yield Output("report", report.read_text())
    yield from files_below(folder, "redact -o")


def files_below(folder: Path, name: str) -> Iterator[Output]:
    """The names and bytes of all files of a directory."""
    for path in sorted(folder.rglob("*")):
        yield Output(f"{name}: name of {path.suffix}", str(path.relative_to(folder)))
        if path.is_file():
            yield Output(f"{name}: {path.suffix}", path.read_bytes().decode("utf-8", "replace"))


def known_file(path: Path, values: Sequence[str]) -> Path:
    """A file for `--known`: an object of JSON, which can hold any value."""
    path.write_text(json.dumps({f"value{number}": value for number, value in enumerate(values)}))
    return path


@contextmanager
def shared_copies(folder: Path, redactor: Redactor) -> Iterator[None]:
    """All commands read the same redacted copy, which is made once: copying takes longer than printing."""
    store = RedactedStore(str(folder), redactor)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RedactionOptions, "redactor", property(lambda options: redactor))
        patch.setattr(RedactionOptions, "_store", property(lambda options: store))
        yield
