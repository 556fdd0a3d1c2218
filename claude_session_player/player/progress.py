"""The progress log: what is known at each line of a session, collected while its frame index is built.

It holds facts of the main conversation. Only tokens are those of all responses in the file: each response counts once,
with the largest of each number, as in the statistics.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from claude_session_player.format.blocks import ToolResult, Usage
from claude_session_player.format.events import (
    COMPACTION,
    Assistant,
    Attachment,
    Event,
    Metadata,
    Progress,
    System,
    UsageLine,
    User,
)
from claude_session_player.linking.notices import ATTACHMENTS
from claude_session_player.player.prompt_log import PromptLine as PromptLine, PromptLog
from claude_session_player.stats import LargestContexts, context_tokens
from claude_session_player.store import SYNTHETIC_MODEL, largest_tokens, named_tokens, sound_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claude_session_player.store import NamedTokens, TokenCounts

T = TypeVar("T")


class LineFacts(NamedTuple):
    """What is known at a line."""

    model: str | None = None
    """The model of the latest response."""
    git_branch: str | None = None
    context: int | None = None
    """The tokens in the context after the latest response; `None` until the first one, and after a compaction."""
    tokens: int = 0
    """All tokens that were used until then."""


class EditLine(NamedTuple):
    """A change of a file that a tool reports as done."""

    line: int
    path: str


class ResponseTokens(NamedTuple):
    """The tokens of a response, as far as they are known at a line; a later one with the same key replaces it."""

    line: int
    key: str
    tokens: TokenCounts
    model: str | None
    time: str | None


class _Changes(Generic[T]):
    """A value that changes from line to line."""

    def __init__(self) -> None:
        self._lines = array("Q")
        self._values: list[T] = []

    @property
    def latest(self) -> T | None:
        """The latest value."""
        return self._values[-1] if self._values else None

    def set(self, line: int, value: T) -> None:
        """Note the value from a line on."""
        if not self._values or self._values[-1] != value:
            self._lines.append(line)
            self._values.append(value)

    def at(self, line: int) -> T | None:
        """The value at a line."""
        place = bisect_right(self._lines, line)
        return self._values[place - 1] if place else None


class Lasted(NamedTuple):
    """Seconds of the session's own time."""

    so_far: float = 0.0
    """Until a line."""
    total: float = 0.0
    """Until the last line that is known."""


class SessionTimes:
    """From the earliest time in a file to the latest one: times that go backwards do not pass again.

    Filled line by line, it grows with every later time, and with every one that is earlier than the first.

    >>> times = SessionTimes()
    >>> for line, time in enumerate((100.0, None, 160.0, 110.0, 150.0, 170.0), start=1):
    ...     times.add(line, time)
    >>> [times.at(line).so_far for line in range(7)], times.at(1).total
    ([0.0, 0.0, 0.0, 60.0, 60.0, 60.0, 70.0], 70.0)
    """

    def __init__(self) -> None:
        self._earliest = self._latest = 0.0
        self._lines = array("Q")
        """The lines that made it last longer; the first of them is the first with a time."""
        self._seconds = array("d")
        """How long it had lasted at each of them."""

    def add(self, line: int, time: float | None) -> None:
        """Take the time of the next line, in seconds since 1970."""
        if time is None:
            return
        if not self._lines:
            self._earliest = self._latest = time
        elif self._earliest <= time <= self._latest:
            return
        self._earliest, self._latest = min(self._earliest, time), max(self._latest, time)
        self._lines.append(line)
        self._seconds.append(self._latest - self._earliest)

    def at(self, line: int) -> Lasted:
        """How long the session had lasted at a line."""
        place = bisect_right(self._lines, line)
        return Lasted(self._seconds[place - 1] if place else 0.0, self._seconds[-1] if self._seconds else 0.0)


class ProgressLog:
    """What is known at each line, filled event by event in the order of the file."""

    def __init__(self, *, is_subagent: bool = False) -> None:
        """In the file of a sub-agent, sidechain lines are the main conversation."""
        self.first_line: int | None = None
        """The first line that shows something other than a notice."""
        self.prompt_log = PromptLog()
        self.times = SessionTimes()
        self.edits: list[EditLine] = []
        self.error_lines = array("Q")
        """The line of each frame that shows an error."""
        self.responses: list[ResponseTokens] = []
        self.result_lines: dict[str, int] = {}
        """The line of each call's result, by the id of the call."""
        self.contexts = LargestContexts()
        """The largest contexts of the whole session."""
        self.repeats_failure = False
        """True if the last event says that a call has failed that is known to, and tells of no other error."""
        self._tells_failure = False
        self._failed_calls: set[str] = set()
        self._is_subagent = is_subagent
        self._models: _Changes[str] = _Changes()
        self._branches: _Changes[str] = _Changes()
        self._contexts: _Changes[int | None] = _Changes()
        self._totals: _Changes[int] = _Changes()
        self._branch: str | None = None
        self._last: tuple[str | None, str | None, str | None, Usage | None] | None = None
        """The last line of a response: an equal one adds nothing."""
        self._by_key: dict[str, ResponseTokens] = {}

    # --- filling it -------------------------------------------------------------------------------------

    def add(self, event: Event) -> None:
        """Take what an event says."""
        self.repeats_failure = self._tells_failure = False
        reader = _READERS.get(type(event))
        is_own = self._is_subagent or not (event.is_sidechain or event.agent_call)
        if is_own and event.git_branch is not None and event.git_branch != self._branch:
            self._branch = event.git_branch
            self._branches.set(event.line, event.git_branch)
        if reader is not None:
            reader(self, event, is_own)

    def begin(self, line: int) -> None:
        """Note that a line shows something other than a notice."""
        if self.first_line is None:
            self.first_line = line

    def add_error(self, line: int) -> None:
        """Note a line whose frame shows an error."""
        self.error_lines.append(line)

    def add_edit(self, line: int, path: str) -> None:
        """Note that a tool has changed a file."""
        self.edits.append(EditLine(line, path))

    def _add_response(self, event: Assistant, is_own: bool) -> None:
        if is_own:
            self.prompt_log.add_response(event)
        message = event.message
        if message is None:
            return
        same = message.id, event.request_id, message.model, message.usage
        if same == self._last and (message.id or event.request_id):
            return
        self._last = same
        if is_own and message.model and message.model != SYNTHETIC_MODEL:
            self._models.set(event.line, message.model)
        self._add_tokens(event, is_own)

    def _add_tokens(self, event: Event, is_own: bool) -> None:
        for named in named_tokens(event):
            tokens = self._add_named(event.line, named)
            if is_own and any(tokens) and not isinstance(event, Progress):
                message = event.message if isinstance(event, Assistant) else None
                size = context_tokens(message.usage) if message and message.usage else sum(tokens[:4])
                self._contexts.set(event.line, size)
                self.contexts.note(self._models.latest, size)

    def _add_named(self, line: int, named: NamedTokens) -> TokenCounts:
        """Add what a line names; the largest of each number counts."""
        before = self._by_key.get(named.key)
        if before is None:
            tokens, model, time = sound_tokens(named.tokens), named.model or self._models.latest, named.time
        elif before.tokens == named.tokens:
            return before.tokens
        else:
            tokens = largest_tokens(before.tokens, named.tokens)
            model, time = before.model or named.model, before.time or named.time
        self._by_key[named.key] = response = ResponseTokens(line, named.key, tokens, model, time)
        self.responses.append(response)
        more = sum(tokens[:4]) - (sum(before.tokens[:4]) if before else 0)
        self._totals.set(line, (self._totals.latest or 0) + more)
        return tokens

    def _add_results(self, event: User, is_own: bool) -> None:
        content = event.message_content
        if is_own and type(content) is list:
            for block in content:
                if type(block) is ToolResult:
                    if block.tool_use_id:
                        self.result_lines[block.tool_use_id] = event.line
                    if block.is_error:
                        self._add_failure(block.tool_use_id)

    def _add_failure(self, call: str | None) -> None:
        self._tells_failure = self._tells_failure or not call or call not in self._failed_calls
        self._failed_calls.add(call or "")
        self.repeats_failure = not self._tells_failure

    def _add_attachment(self, event: Attachment, is_own: bool) -> None:
        attached = event.attachment
        rule = ATTACHMENTS.get(attached.type) if attached is not None else None
        if is_own and attached is not None and rule is not None and rule.is_error:
            self._add_failure(attached.call_id)

    def _add_notice(self, event: System, is_own: bool) -> None:
        if is_own and event.subtype == COMPACTION:
            self._contexts.set(event.line, None)
        if is_own and event.model:
            self._models.set(event.line, event.model)

    def _add_head(self, event: Metadata, is_own: bool) -> None:
        if event.model:
            self._models.set(event.line, event.model)

    # --- reading it -------------------------------------------------------------------------------------

    @property
    def prompts(self) -> list[PromptLine]:
        """What people typed, each prompt once, and the lines that show it."""
        return self.prompt_log.prompts

    def at(self, line: int) -> LineFacts:
        """What is known at a line."""
        return LineFacts(
            self._models.at(line), self._branches.at(line), self._contexts.at(line), self._totals.at(line) or 0
        )

    def errors_in(self, first: int, after: int | None) -> int:
        """How many errors there are from one line to just before another, or to the end."""
        return len(_slice(self.error_lines, first, after, int))

    def files_in(self, first: int, after: int | None) -> list[str]:
        """The files that were changed from one line to just before another, each once, in order."""
        edits = _slice(self.edits, first, after, lambda edit: edit.line)
        return list(dict.fromkeys(edit.path for edit in edits))


def _slice(items: Sequence[T], first: int, after: int | None, line_of: Callable[[T], int]) -> Sequence[T]:
    start = bisect_left(items, first, key=line_of)
    return items[start : len(items) if after is None else bisect_left(items, after, key=line_of)]


_READERS: Final[dict[type[Event], Callable[[ProgressLog, Any, bool], None]]] = {
    Assistant: ProgressLog._add_response,
    User: ProgressLog._add_results,
    Attachment: ProgressLog._add_attachment,
    System: ProgressLog._add_notice,
    Metadata: ProgressLog._add_head,
    Progress: ProgressLog._add_tokens,
    UsageLine: ProgressLog._add_tokens,
}
