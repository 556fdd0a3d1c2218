"""The tool registry: every row of the specification's table, and the decisions about labels."""

from __future__ import annotations

from typing import Any

import pytest

from claude_session_player import ScreenState, render
from tests.builder import SessionBuilder, call, parsed


def head(name: str, **tool_input: Any) -> str:
    """The line of a call."""
    state = ScreenState()
    for line in parsed(SessionBuilder().response(call(name, **tool_input)).lines):
        render(state, line)
    return state.to_markdown()


@pytest.mark.parametrize(
    ("name", "tool_input", "label"),
    [
        ("Bash", {"description": "Remove build artifacts", "command": "rm -r build"}, "Remove build artifacts"),
        ("Bash", {"command": "rm -r build"}, "rm -r build"),
        ("Bash", {"description": "", "command": "rm -r build"}, "rm -r build"),
        ("Read", {"file_path": "/home/ada/README.md"}, "README.md"),
        ("Write", {"file_path": "/home/ada/.gitignore"}, ".gitignore"),
        ("Edit", {"file_path": "/home/ada/config.py"}, "config.py"),
        ("Glob", {"pattern": "**/*.ts"}, "**/*.ts"),
        ("Grep", {"pattern": "TODO"}, "TODO"),
        ("Task", {"description": "Explore", "prompt": "Look around"}, "Explore"),
        ("Agent", {"description": "Explore", "prompt": "Look around"}, "Explore"),
        ("WebSearch", {"query": "Claude hooks 2026"}, "Claude hooks 2026"),
        ("WebFetch", {"url": "https://example.com", "prompt": "x"}, "https://example.com"),
        ("UnknownTool", {"description": "x"}, "…"),
        ("mcp__github__search", {"query": "x"}, "…"),
    ],
)
def test_each_tool_shows_its_field(name: str, tool_input: dict[str, Any], label: str) -> None:
    assert head(name, **tool_input) == f"● {name}({label})"


@pytest.mark.parametrize("name", ["Bash", "Read", "Glob", "Task", "WebSearch", "WebFetch"])
def test_a_missing_or_empty_field_is_an_ellipsis(name: str) -> None:
    assert head(name) == f"● {name}(…)"
    empty = dict.fromkeys(("description", "command", "file_path", "pattern", "query", "url"), "")
    assert head(name, **empty) == f"● {name}(…)"


def test_a_label_of_60_characters_is_whole_and_a_longer_one_is_cut() -> None:
    assert head("Bash", command="x" * 60) == f"● Bash({'x' * 60})"
    assert head("Bash", command="x" * 61) == f"● Bash({'x' * 60}…)"


def test_a_label_is_one_line() -> None:
    assert head("Bash", command="cd a\r\nmake\nmake test") == "● Bash(cd a make make test)"


def test_file_names_of_windows_are_shortened_too() -> None:
    assert head("Read", file_path="C:\\code\\main.rs") == "● Read(main.rs)"


@pytest.mark.parametrize(
    ("value", "label"), [(7, "7"), (0, "0"), (False, "false"), (["a", 1], '["a",1]'), ({"x": None}, '{"x":null}')]
)
def test_a_field_that_is_no_string_is_compact_json(value: Any, label: str) -> None:
    assert head("Grep", pattern=value) == f"● Grep({label})"


def test_a_file_path_that_is_no_string_is_compact_json() -> None:
    assert head("Read", file_path=["/a/b.py"]) == '● Read(["/a/b.py"])'


def test_a_tool_name_is_cut_like_a_label() -> None:
    assert head("t" * 61) == f"● {'t' * 60}…(…)"


def test_a_nameless_tool_is_an_ellipsis() -> None:
    assert head("") == "● …(…)"


def test_escape_sequences_are_not_part_of_a_label() -> None:
    assert head("Bash", command="\x1b[31mred\x1b[0m") == "● Bash(red)"
