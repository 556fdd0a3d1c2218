"""A store like that of a person who works with Claude Code every day, made up for pictures."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.builder import SessionBuilder, call, text

NOW: Final = datetime(2026, 1, 17, 14, tzinfo=UTC)
_OPUS, _SONNET, _HAIKU = "claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"


class _Work(NamedTuple):
    """One session: when it began, where, and what for."""

    hours_ago: float
    minutes: float
    project: str
    branch: str
    model: str
    prompt: str
    output: int
    """How many tokens the model wrote, in thousands."""
    entrypoint: str = "cli"


_WORK: Final = (
    _Work(1.5, 74, "kettle", "whistle", _OPUS, "The kettle does not whistle any more. Find out why, and fix it.", 61),
    _Work(4, 41, "tea-timer", "main", _SONNET, "Let the timer tell green tea from black tea", 33),
    _Work(5, 3, "tea-timer", "main", _HAIKU, "What does steep() return?", 2),
    *(
        _Work(20 + number / 10, 1, "tea-shop", "main", _HAIKU, f"Summarize the reviews of tea {number}", 4, "sdk-py")
        for number in range(24)
    ),
    _Work(26, 133, "tea-shop", "checkout", _OPUS, "Move the checkout to the new payment form, one step at a time", 118),
    _Work(29, 18, "kettle", "main", _SONNET, "/review", 12),
    _Work(50, 55, "dotfiles", "main", _SONNET, "Make my shell start in less than 100 ms", 37),
    _Work(53, 9, "tea-timer", "seconds", _SONNET, "Count seconds, not minutes, below one minute", 8),
    _Work(75, 210, "tea-shop", "search", _OPUS, "Search teas by taste: compare three ways before you build one", 164),
    _Work(99, 26, "kettle", "main", _SONNET, "Write the release notes since the last tag", 15),
    _Work(123, 47, "tea-shop", "main", _SONNET, "Why is the list of teas slow with a thousand of them?", 29),
    _Work(170, 12, "dotfiles", "main", _HAIKU, "Explain every line of my git configuration", 9),
)
_PATCH: Final = {
    "structuredPatch": [
        {
            "oldStart": 31,
            "newStart": 31,
            "lines": [
                " def on_steam(self, pressure):",
                "-    if pressure > 10:",
                "+    if pressure >= self.whistle_at:",
                "         self.whistle.blow()",
            ],
        }
    ]
}


def build_example_store(root: Path) -> None:
    """Write the sessions below a directory."""
    for number, work in enumerate(_WORK):
        id = f"{number * 0x1F3D5B79 + 0x5D1F0C3A & 0xFFFFFFFF:08x}-7b52-4c8e-9a46-2f6b1e0d8c11"
        cwd = f"/home/ada/{work.project}"
        session = _Session(work, session_id=id, cwd=cwd, branch=work.branch, start=_begin(work))
        session.prompt(work.prompt, entrypoint=work.entrypoint)
        if not number:
            _mend(session)
        session.say("Done.", ends=True)
        path = session.write(root / "projects" / f"-home-ada-{work.project}" / f"{id}.jsonl")
        ended = _end(work).timestamp()
        os.utime(path, (ended, ended))  # files that were just written look as if they were in use


def _begin(work: _Work) -> datetime:
    return NOW - timedelta(hours=work.hours_ago)


def _end(work: _Work) -> datetime:
    return _begin(work) + timedelta(minutes=work.minutes)


class _Session(SessionBuilder):
    """A session whose last line has the time at which the work ended, and the tokens of all of it."""

    def __init__(self, work: _Work, **where: Any) -> None:
        super().__init__(**where)
        self._work = work

    def say(self, words: str, *calls: dict[str, Any], ends: bool = False) -> None:
        """A response."""
        work = self._work
        tokens = 1000 * work.output if ends else 40
        usage = {"input_tokens": 900, "output_tokens": tokens, "cache_read_input_tokens": 9 * tokens}
        at = {"timestamp": _end(work).isoformat(timespec="milliseconds").replace("+00:00", "Z")} if ends else {}
        self.response(text(words), *calls, model=work.model, usage=usage, entrypoint=work.entrypoint, **at)


def _mend(session: _Session) -> None:
    """What the preview shows: a change, and a test that fails."""
    session.say(
        "It waits for a pressure that the new lid never lets it reach.",
        call("Edit", "e", file_path="/home/ada/kettle/kettle.py", old_string="", new_string=""),
    )
    session.result("e", "The file has been updated.", toolUseResult=_PATCH)
    session.say("", call("Bash", "b", command="pytest -q", description="Run the tests"))
    session.result("b", "Exit code 1\nE   AttributeError: whistle_at\n1 failed, 41 passed in 0.61s", error=True)
