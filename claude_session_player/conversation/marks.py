"""What is worth to be known of the lines of a conversation: who spoke where, compactions, calls."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from claude_session_player.conversation.branches import Branches, Problem
from claude_session_player.events import COMPACTION, Assistant, Event, Malformed, System, ToolUse, Unknown
from claude_session_player.linking.copies import Copies
from claude_session_player.linking.prompts import human_prompt, with_queued_prompts
from claude_session_player.text import as_title


class MarkKind(StrEnum):
    """What happened on a marked line."""

    PROMPT = "prompt"
    RESPONSE = "response"
    COMPACTED = "compaction"
    CALLED = "call"


class Mark(NamedTuple):
    """Something that happened on a line."""

    line: int
    kind: MarkKind
    time: str | None = None
    text: str | None = None
    """The beginning of a prompt, or why it was compacted."""
    tokens: int | None = None


class Reading:
    """The marks and the branches of a conversation."""

    def __init__(self, *, skips_sidechains: bool) -> None:
        self.branches = Branches()
        self.marks: list[Mark] = []
        self.calls: dict[str, int] = {}
        """The line of each call."""
        self.problems: list[Problem] = []
        """Lines that could not be read, and the first of each type that nobody knows."""
        self._unknown: set[str] = set()
        self._responses: set[str] = set()
        self._skips_sidechains = skips_sidechains

    def read(self, events: Iterable[Event]) -> None:
        """Take in all events of the conversation."""
        for event, is_copy in Copies().mark(with_queued_prompts(events)):
            if not (self._skips_sidechains and (event.is_sidechain or event.agent_call)):
                self._take(event, is_copy)

    def _take(self, event: Event, is_copy: bool) -> None:
        if is_copy:
            self.branches.add_copy(event)
            return
        self.branches.add(event)
        if (prompt := human_prompt(event)) is not None:
            self._mark(event, MarkKind.PROMPT, as_title(prompt))
        elif isinstance(event, Assistant):
            self._answer(event)
        elif isinstance(event, System) and event.subtype == COMPACTION:
            about = event.compact_metadata or event.stream_compaction
            self._mark(event, MarkKind.COMPACTED, about.trigger if about else None, about.pre_tokens if about else None)
        elif isinstance(event, Malformed):
            self.problems.append(Problem(event.line, event.reason))
        elif isinstance(event, Unknown) and event.name not in self._unknown:
            self._unknown.add(event.name)
            self.problems.append(Problem(event.line, f"unknown record {event.name!r}"))

    def _answer(self, event: Assistant) -> None:
        response = event.request_id or (event.message.id if event.message else None)
        if response is None or response not in self._responses:
            self._responses.add(response or "")
            self._mark(event, MarkKind.RESPONSE)
        said: Any = event.said
        for block in said if isinstance(said, list) else ():
            if isinstance(block, ToolUse) and block.id:
                self.calls.setdefault(block.id, event.line)

    def _mark(self, event: Event, kind: MarkKind, text: str | None = None, tokens: int | None = None) -> None:
        self.marks.append(Mark(event.line, kind, event.timestamp, text, tokens))
