"""Redacted copies of single files, for tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from claude_session_player.playback import replay
from claude_session_player.redact import Redactor, SourceFile, copy_redacted
from claude_session_player.redact.records import STRUCTURE

IDS: Final = STRUCTURE - {"name", "slug", "signature", "version"}


def redacted(path: Path, target: Path, redactor: Redactor | None = None) -> bytes:
    """The bytes of a redacted copy of a file; places are not reported, so that most lines are copied as bytes."""
    redactor = redactor or Redactor(reports_places=False)
    copy_redacted([SourceFile(str(path), "one")], redactor, lambda source: str(target))
    return target.read_bytes()


def audit(path: Path) -> Any:
    """What became of the lines of a file, without places in bytes, which depend on the length of masks."""
    account = replay(str(path)).account
    issues = [(issue.line, re.sub(r"\d+", "0", issue.reason)) for issue in account.issues]
    return account.outcomes, issues, account.unknown_events, account.first_seen


def records(data: bytes) -> Iterator[Any]:
    """The lines that are JSON."""
    for line in data.splitlines():
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            yield None


def structure(value: Any, key: str = "") -> Any:
    """A JSON value without its texts: types, order of keys, numbers and ids."""
    if isinstance(value, dict):
        return [(name if len(name) < 8 else "", structure(item, name)) for name, item in value.items()]
    if isinstance(value, list):
        return [structure(item) for item in value]
    if isinstance(value, str):
        return value if key in IDS and len(value) < 60 else str
    return repr(value)
