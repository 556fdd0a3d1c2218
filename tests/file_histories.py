"""The life of a file in a session, as Claude Code writes it: reads, writes and edits of a text that is known here."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any

from tests.builder import SessionBuilder, call

PATH = "/home/ada/engine/kettle.py"
CONTEXT = 3


class Life:
    """A session and the text of one file in it; every method is one call with its result."""

    def __init__(self, text: str = "", path: str = PATH, **session: Any) -> None:
        self.session = SessionBuilder(**session)
        self.text = text
        self.path = path
        self._calls = 0

    def write(self, text: str, *, error: bool | None = None, bare: bool = False) -> Life:
        """The file is written."""
        told = {"type": "create", "filePath": self.path, "content": text, "structuredPatch": []}
        if error:
            return self._call("Write", "<tool_use_error>No</tool_use_error>", None, True, content=text)
        self.text = text
        return self._call("Write", "File created successfully", None if bare else told, None, content=text)

    def read(self, start: int = 1, count: int | None = None, *, bare: bool = False) -> Life:
        """Some lines of the file are read; all of them without a number."""
        lines = self.text.split("\n")
        part = lines[start - 1 :][: len(lines) if count is None else count]
        asked = {} if count is None else {"offset": start, "limit": count}
        shown = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(part, start))
        file = {
            "filePath": self.path,
            "content": "\n".join(part),
            "numLines": len(part),
            "startLine": start,
            "totalLines": len(lines),
        }
        reminder = "\n\n<system-reminder>\nBe careful.\n</system-reminder>\n"
        return self._call("Read", shown + reminder, None if bare else {"type": "text", "file": file}, None, **asked)

    def edit(self, old: str, new: str, everywhere: bool = False, *, original: bool = True, patch: bool = True) -> Life:
        """Words of the file are replaced, as Claude Code does it; without `original` and `patch`, nothing is told."""
        before = self.text
        self.text = replaced(before, old, new, everywhere)
        told: dict[str, Any] = {"filePath": self.path, "oldString": old, "newString": new, "replaceAll": everywhere}
        told["originalFile"] = before if original else None
        if patch:
            told["structuredPatch"] = hunks(before, self.text)
        asked: dict[str, Any] = {"old_string": old, "new_string": new, "replace_all": everywhere}
        return self._call("Edit", "The file has been updated", told if original or patch else None, None, **asked)

    def change_outside(self, text: str) -> Life:
        """Somebody else changes the file."""
        self.text = text
        return self

    def _call(self, name: str, shown: str, told: Any, error: bool | None = None, /, **arguments: Any) -> Life:
        self._calls += 1
        id = f"toolu_{self._calls}"
        self.session.response(call(name, id, file_path=self.path, **arguments))
        self.session.result(id, shown, error=error, **({} if told is None else {"toolUseResult": told}))
        return self


def can_edit(text: str, old: str, everywhere: bool) -> bool:
    """True where Claude Code would carry out an edit."""
    return bool(old) and (text.count(old) == 1 or (everywhere and old in text))


def replaced(text: str, old: str, new: str, everywhere: bool) -> str:
    """What an edit makes of a text: with words that become nothing goes the line break behind them."""
    if not new and not old.endswith("\n") and f"{old}\n" in text:
        old += "\n"
    return text.replace(old, new) if everywhere else text.replace(old, new, 1)


def hunks(before: str, after: str) -> list[dict[str, Any]]:
    """The places where two texts differ, as Claude Code tells them: as if tabs at the beginning were spaces."""
    spaced = (re.sub(r"^\t+", lambda tabs: "  " * len(tabs[0]), text, flags=re.MULTILINE) for text in (before, after))
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in spaced)
    found = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT):
        lines: list[str] = []
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                lines += _marked(" ", old[i1:i2])
            else:
                lines += _marked("-", old[i1:i2]) + _marked("+", new[j1:j2])
        first, last = group[0], group[-1]
        found.append(
            {
                "oldStart": first[1] + 1,
                "oldLines": last[2] - first[1],
                "newStart": first[3] + 1,
                "newLines": last[4] - first[3],
                "lines": lines,
            }
        )
    return found


def _marked(mark: str, lines: list[str]) -> list[str]:
    marked = []
    for line in lines:
        marked.append(mark + line.removesuffix("\n"))
        if not line.endswith("\n"):
            marked.append("\\ No newline at end of file")
    return marked
