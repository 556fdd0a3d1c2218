"""A file that a session reads, writes and edits as Claude Code does, while the test knows its true text."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any

from tests.builder import SessionBuilder, call

PATH = "/home/ada/engine/kettle.py"
CONTEXT = 3


class SimulatedFile:
    """A session and the text of one file; every method adds a tool call with its result."""

    def __init__(self, text: str = "", path: str = PATH, **session: Any) -> None:
        self.session = SessionBuilder(**session)
        self.text = text
        self.path = path
        self._calls = 0

    def write(self, text: str, *, error: bool | None = None, bare: bool = False) -> SimulatedFile:
        """Write the file."""
        structured = {"type": "create", "filePath": self.path, "content": text, "structuredPatch": []}
        if error:
            return self._call("Write", "<tool_use_error>No</tool_use_error>", None, True, content=text)
        self.text = text
        return self._call("Write", "File created successfully", None if bare else structured, None, content=text)

    def read(self, start: int = 1, count: int | None = None, *, bare: bool = False) -> SimulatedFile:
        """Read some lines of the file, or without `count` all of them."""
        lines = self.text.split("\n")
        part = lines[start - 1 :][: len(lines) if count is None else count]
        given = {} if count is None else {"offset": start, "limit": count}
        shown = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(part, start))
        file = {
            "filePath": self.path,
            "content": "\n".join(part),
            "numLines": len(part),
            "startLine": start,
            "totalLines": len(lines),
        }
        reminder = "\n\n<system-reminder>\nBe careful.\n</system-reminder>\n"
        return self._call("Read", shown + reminder, None if bare else {"type": "text", "file": file}, None, **given)

    def edit(
        self, old: str, new: str, everywhere: bool = False, *, original: bool = True, patch: bool = True
    ) -> SimulatedFile:
        """Replace a string as Claude Code does; without `original` and `patch` there is no structured result."""
        before = self.text
        self.text = replace(before, old, new, everywhere)
        structured: dict[str, Any] = {
            "filePath": self.path,
            "oldString": old,
            "newString": new,
            "replaceAll": everywhere,
        }
        structured["originalFile"] = before if original else None
        if patch:
            structured["structuredPatch"] = hunks(before, self.text)
        given: dict[str, Any] = {"old_string": old, "new_string": new, "replace_all": everywhere}
        return self._call("Edit", "The file has been updated", structured if original or patch else None, None, **given)

    def change_outside(self, text: str) -> SimulatedFile:
        """Change the file outside the session."""
        self.text = text
        return self

    def _call(
        self, name: str, shown: str, structured: Any, error: bool | None = None, /, **arguments: Any
    ) -> SimulatedFile:
        self._calls += 1
        id = f"toolu_{self._calls}"
        self.session.response(call(name, id, file_path=self.path, **arguments))
        self.session.result(id, shown, error=error, **({} if structured is None else {"toolUseResult": structured}))
        return self


def can_edit(text: str, old: str, everywhere: bool) -> bool:
    """True if Claude Code would carry out an edit."""
    return bool(old) and (text.count(old) == 1 or (everywhere and old in text))


def replace(text: str, old: str, new: str, everywhere: bool) -> str:
    """The text after an edit; where a string is removed, so is the line break after it."""
    if not new and not old.endswith("\n") and f"{old}\n" in text:
        old += "\n"
    return text.replace(old, new) if everywhere else text.replace(old, new, 1)


def hunks(before: str, after: str) -> list[dict[str, Any]]:
    """The differences of two texts as hunks of Claude Code, in which leading tabs are spaces."""
    spaced = (re.sub(r"^\t+", lambda tabs: "  " * len(tabs[0]), text, flags=re.MULTILINE) for text in (before, after))
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in spaced)
    result = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT):
        lines: list[str] = []
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                lines += _mark_lines(" ", old[i1:i2])
            else:
                lines += _mark_lines("-", old[i1:i2]) + _mark_lines("+", new[j1:j2])
        first, last = group[0], group[-1]
        result.append(
            {
                "oldStart": first[1] + 1,
                "oldLines": last[2] - first[1],
                "newStart": first[3] + 1,
                "newLines": last[4] - first[3],
                "lines": lines,
            }
        )
    return result


def _mark_lines(mark: str, lines: list[str]) -> list[str]:
    marked = []
    for line in lines:
        marked.append(mark + line.removesuffix("\n"))
        if not line.endswith("\n"):
            marked.append("\\ No newline at end of file")
    return marked
