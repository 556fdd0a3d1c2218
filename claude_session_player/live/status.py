"""The status of a session: thinking, running a tool, waiting for the person, or idle; and the reason.

It is derived from the latest events alone, without guessing: a tool that waits for permission looks like one that runs,
and then the reason names both possibilities.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player import tools
from claude_session_player.format.blocks import RedactedThinking, Text, Thinking, ToolResult, ToolUse, raw_as_text
from claude_session_player.format.content import join_texts
from claude_session_player.format.events import (
    COMPACTION,
    CONVERSATION,
    QUEUED,
    Assistant,
    Attachment,
    Event,
    Progress,
    System,
    User,
)
from claude_session_player.format.prompts import ClassifiedPrompt, classify_prompt
from claude_session_player.linking.pairing import Pairing
from claude_session_player.util.humanize import short_duration
from claude_session_player.util.text import strip_escapes
from claude_session_player.util.times import to_epoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

IDLE_SECONDS: Final = 600
"""A session is idle when nothing was written for this long."""
_RESTORED_SECONDS: Final = 24 * 60 * 60
"""A file that was last written to this long after its last event was copied or restored, not continued. Clocks that
differ by less, for example by their time zones, do not make a running session idle."""
_EXITS: Final = ("/exit", "/quit")
"""The commands that end a session."""
_SETTLING_SECONDS: Final = 8
"""Seconds within which a call may still follow a response that does not say that it is the last."""
_MANUAL: Final = "manual"
_UNNAMED: Final = "a tool"


class Phase(Enum):
    """What a session does."""

    THINKING = "thinking"
    RUNNING = "running a tool"
    WAITING = "waiting for the person"
    IDLE = "idle"


_WORDS: Final = {
    Phase.THINKING: "thinking",
    Phase.RUNNING: "running",
    Phase.WAITING: "waits for you",
    Phase.IDLE: "idle",
}


def phase_word(phase: Phase, count: int = 1) -> str:
    """A state in a few words, of one session or several.

    >>> phase_word(Phase.WAITING), phase_word(Phase.WAITING, 3), phase_word(Phase.IDLE, 3)
    ('waits for you', 'wait for you', 'idle')
    """
    return "wait for you" if phase is Phase.WAITING and count != 1 else _WORDS[phase]


class Cause(Enum):
    """The latest event that decides the status."""

    NOTHING = "nothing"
    PROMPT = "prompt"
    RESULT = "result"
    THINKING = "thinking"
    RESPONSE = "response"
    CALLING = "calling"
    LAST_RESPONSE = "last response"
    FAILED = "failed"
    RETRIED = "retried"
    TURN_OVER = "turn over"
    INTERRUPTED = "interrupted"
    COMMAND = "command"
    ENDED = "ended"
    COMPACTED = "compacted"


_PHASES: Final[dict[Cause, tuple[Phase, str]]] = {
    Cause.NOTHING: (Phase.IDLE, "no prompt yet"),
    Cause.PROMPT: (Phase.THINKING, "prompt {ago}, no response yet"),
    Cause.RESULT: (Phase.THINKING, "last tool result {ago}, no response yet"),
    Cause.THINKING: (Phase.THINKING, "last thinking {ago}"),
    Cause.RESPONSE: (Phase.THINKING, "response {ago}, which may continue"),
    Cause.CALLING: (Phase.THINKING, "response {ago}, a tool call follows"),
    Cause.LAST_RESPONSE: (Phase.WAITING, "last response {ago}, without a tool call"),
    Cause.FAILED: (Phase.WAITING, "last request failed {ago}"),
    Cause.RETRIED: (Phase.THINKING, "request failed {ago}, being retried"),
    Cause.TURN_OVER: (Phase.WAITING, "turn ended {ago}"),
    Cause.INTERRUPTED: (Phase.WAITING, "interrupted {ago}"),
    Cause.COMMAND: (Phase.WAITING, "last command {ago}"),
    Cause.ENDED: (Phase.IDLE, "ended {ago}"),
    Cause.COMPACTED: (Phase.THINKING, "compacted {ago}, continuing"),
}
"""The phase that each cause means, and the reason."""

_STOP_CAUSES: Final = {None: Cause.RESPONSE, "tool_use": Cause.CALLING}
"""The cause of a response by its stop reason; with any other stop reason, it is the last one."""

_TEXT_CAUSES: Final = (
    ("[Request interrupted by user", Cause.INTERRUPTED),
    ("<local-command-", Cause.COMMAND),
    ("<bash-", Cause.COMMAND),
)
"""The beginnings of user texts that are not prompts, and ask nothing of the model."""


class OpenCall(NamedTuple):
    """A tool call that has no result yet."""

    name: str
    label: str
    since: float | None
    request: str | None = None
    running: str = ""
    """What it does, on one line; see `tools.running_label`."""
    shows_progress: bool = False
    """True if it has reported progress, so that it runs and does not wait for permission."""


class SessionStatus(NamedTuple):
    """What a session does at a certain time."""

    phase: Phase
    reason: str
    """The events that it is derived from, in words."""
    since: float | None = None
    """When it began, in seconds since 1970."""
    calls: tuple[OpenCall, ...] = ()

    @property
    def is_live(self) -> bool:
        """True unless the session is idle: the one rule for everything that is marked as live."""
        return self.phase is not Phase.IDLE

    @property
    def running(self) -> str:
        """What runs, or what the person is asked: one call in its own words, several by their tools.

        >>> calls = [OpenCall("Bash", "", None, running="Bash: mix test"), *[OpenCall("Read", "", None)] * 2]
        >>> SessionStatus(Phase.RUNNING, "", calls=tuple(calls)).running
        '3 calls: Bash: mix test · Read ×2'
        """
        if not (calls := _asking(self.calls) or self.calls):
            return ""
        groups: dict[str, list[OpenCall]] = {}
        for call in calls:
            groups.setdefault(call.name or _UNNAMED, []).append(call)
        words = [
            f"{name} ×{len(group)}" if len(group) > 1 else group[0].running or name for name, group in groups.items()
        ]
        return f"{len(calls)} calls: {' · '.join(words)}" if len(calls) > 1 else words[0]


class SessionActivity:
    """Derives the status of a session from its events. Only the calls without a result are kept."""

    def __init__(self, *, is_subagent: bool = False) -> None:
        self.calls: dict[str, OpenCall] = {}
        self.cause = Cause.NOTHING
        self.since: float | None = None
        """The time of the cause, in seconds since 1970."""
        self.latest: float | None = None
        """The latest time of any event."""
        self._is_subagent = is_subagent
        self._pairing: Pairing[str, bool] = Pairing()
        self._count = 0

    def take(self, events: Iterable[Event]) -> None:
        """Process the next events."""
        for event in events:
            time = to_epoch(event.timestamp)
            if time is not None:
                self.latest = max(self.latest or time, time)
            is_side = (event.is_sidechain or event.agent_call) and isinstance(event, CONVERSATION)
            if (handler := _HANDLERS.get(type(event))) and (self._is_subagent or not is_side):
                handler(self, event, time)

    def status(
        self, now: float, written_at: float | None = None, agents_active_at: float | None = None
    ) -> SessionStatus:
        """The status at a time; `written_at` is when the file was last written to. All in seconds since 1970."""
        status = self._status(now)
        times = (self.active_at(written_at), agents_active_at)
        last = max((time for time in times if time is not None), default=None)
        if status.phase is Phase.IDLE or last is None or now - last < IDLE_SECONDS:
            return status
        quiet = f"nothing written for {short_duration(now - last)}"
        return status._replace(phase=Phase.IDLE, reason=f"{quiet}; {status.reason}")

    def active_at(self, written_at: float | None) -> float | None:
        """When the session was last active: the latest event and the last write count, but not a copy made later."""
        if self.latest is not None and written_at is not None and written_at - self.latest >= _RESTORED_SECONDS:
            return self.latest
        return max((time for time in (self.latest, written_at) if time is not None), default=None)

    def _status(self, now: float) -> SessionStatus:
        if self.calls:
            return _status_of_calls(tuple(self.calls.values()), now)
        cause = self.cause
        if cause is Cause.RESPONSE and self.since is not None and now - self.since >= _SETTLING_SECONDS:
            cause = Cause.LAST_RESPONSE
        phase, reason = _PHASES[cause]
        return SessionStatus(phase, reason.format(ago=_ago(self.since, now)), self.since)

    # --- handlers of events ---------------------------------------------------------------------------

    def _set(self, cause: Cause, time: float | None) -> None:
        self.cause, self.since = cause, self.latest if time is None else time

    def _user(self, event: User, time: float | None) -> None:
        said = event.message_content
        results = [block for block in said if type(block) is ToolResult] if isinstance(said, list) else []
        for result in results:
            key = self._pairing.add_result(True, result.tool_use_id, result.name, event.source_uuid)
            self.calls.pop(key or "", None)
            self._set(Cause.RESULT, time)
        if event.is_meta or event.is_compact_summary or event.is_visible_in_transcript_only or not said:
            return
        text = said if isinstance(said, str) else join_texts([block for block in said if type(block) is not ToolResult])
        if text:
            self._take_text(text, time)

    def _take_text(self, text: str, time: float | None) -> None:
        beginning = text[:100].lstrip()
        cause = next((cause for mark, cause in _TEXT_CAUSES if beginning.startswith(mark)), Cause.PROMPT)
        classified = classify_prompt(text)
        if cause is Cause.PROMPT and classified.prompt is None and not classified.outputs:
            return
        if self._is_end(cause, classified):
            cause = Cause.ENDED
        self.calls.clear()  # calls without a result will not get one any more
        self._set(cause, time)

    def _attachment(self, event: Attachment, time: float | None) -> None:
        attached = event.attachment
        if attached is not None and attached.type == QUEUED and not attached.is_meta and not self.calls:
            self._set(Cause.PROMPT, time)

    def _assistant(self, event: Assistant, time: float | None) -> None:
        message, said = event.message, event.message_content
        request = event.request_id or (message.id if message else None)
        if request:  # a new response: the calls of all previous ones have got their results
            self.calls = {id: call for id, call in self.calls.items() if call.request in (request, None)}
        stop = message.stop_reason if message else None
        for block in [Text(said)] if isinstance(said, str) else said or ():
            if type(block) is ToolUse:
                self._open(block, event.uuid, request, time)
            elif type(block) is Text and event.is_api_error:
                self._set(Cause.FAILED, time)
            elif type(block) is Text and block.text and not block.text.isspace():
                self._set(_STOP_CAUSES.get(stop, Cause.LAST_RESPONSE), time)
            elif isinstance(block, Thinking | RedactedThinking):
                self._set(Cause.THINKING, time)

    def _open(self, block: ToolUse, uuid: str | None, request: str | None, time: float | None) -> None:
        self._count += 1
        name, key = strip_escapes(block.name or ""), block.id or f"({self._count})"
        if self._pairing.add_call(key, block.id, name, uuid) is None:
            running = tools.running_label(name, block.input)
            self.calls[key] = OpenCall(name, tools.label(name, block.input), time, request, running)

    def _progress(self, event: Progress, time: float | None) -> None:
        call = self.calls.get(event.parent_call or "")
        if call is not None and event.data is not None and event.data.type != "hook_progress":
            self.calls[event.parent_call or ""] = call._replace(shows_progress=True)

    def _system(self, event: System, time: float | None) -> None:
        if event.subtype == COMPACTION:
            compaction = event.compact_metadata or event.stream_compaction
            is_manual = compaction is not None and compaction.trigger == _MANUAL
            self.calls.clear()
            self._set(Cause.COMMAND if is_manual else Cause.COMPACTED, time)
        elif cause := _SYSTEM_CAUSES.get(event.subtype or ""):
            self.calls.clear()
            self._set(Cause.ENDED if self._is_end(cause, classify_prompt(raw_as_text(event.content))) else cause, time)

    def _is_end(self, cause: Cause, classified: ClassifiedPrompt) -> bool:
        """True for a command that ends the session, and for what it printed."""
        if cause is Cause.COMMAND and classified.prompt is None:
            return self.cause is Cause.ENDED
        return classified.is_command and classified.prompt in _EXITS


_SYSTEM_CAUSES: Final = {
    "turn_duration": Cause.TURN_OVER,
    "local_command": Cause.COMMAND,
    "api_error": Cause.RETRIED,
}

_HANDLERS: Final[dict[type[Event], Callable[[SessionActivity, Any, float | None], None]]] = {
    User: SessionActivity._user,
    Assistant: SessionActivity._assistant,
    Attachment: SessionActivity._attachment,
    Progress: SessionActivity._progress,
    System: SessionActivity._system,
}


def _status_of_calls(calls: tuple[OpenCall, ...], now: float) -> SessionStatus:
    """The status of a session with open calls."""
    since = min((call.since for call in calls if call.since is not None), default=None)
    if asking := _asking(calls):
        return SessionStatus(Phase.WAITING, f"no answer{_for(asking[0].since, now)}", since, calls)
    reason = f"no result{_for(since, now)}"
    if not all(call.shows_progress or call.name in tools.AGENTS for call in calls):
        reason += "; running, or waiting for permission"
    return SessionStatus(Phase.RUNNING, reason, since, calls)


def _asking(calls: Iterable[OpenCall]) -> tuple[OpenCall, ...]:
    """The calls that a person has to answer."""
    return tuple(call for call in calls if call.name in tools.ASKING)


def _ago(time: float | None, now: float) -> str:
    return "at an unknown time" if time is None else f"{short_duration(max(now - time, 0))} ago"


def _for(time: float | None, now: float) -> str:
    return "" if time is None else f" for {short_duration(max(now - time, 0))}"
