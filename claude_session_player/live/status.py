"""What goes on in a session: thinking, running a tool, waiting for the person, or nothing; and how this is known.

It is told by the last events alone, and never guessed where they do not tell: a tool that waits for permission looks
like one that runs, and then both are said.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player import tools
from claude_session_player.format.blocks import RedactedThinking, Text, Thinking, ToolResult, ToolUse
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
from claude_session_player.format.prompts import classify_prompt
from claude_session_player.linking.pairing import Pairing
from claude_session_player.util.humanize import short_duration
from claude_session_player.util.text import strip_escapes
from claude_session_player.util.times import to_epoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

IDLE_SECONDS: Final = 600
"""When nothing was written for so long, nobody works with a session."""
_SETTLING: Final = 8
"""Seconds in which a call may still follow an answer that does not say that it is the last."""
_MANUAL: Final = "manual"


class Phase(Enum):
    """What a session does."""

    THINKING = "thinking"
    RUNNING = "running a tool"
    WAITING = "waiting for the person"
    IDLE = "idle"


class Cause(Enum):
    """What happened last, and decides."""

    NOTHING = "nothing"
    PROMPT = "prompt"
    RESULT = "result"
    THOUGHT = "thought"
    ANSWER = "answer"
    CALLING = "calling"
    LAST_ANSWER = "last answer"
    FAILED = "failed"
    RETRIED = "retried"
    TURN_OVER = "turn over"
    INTERRUPTED = "interrupted"
    COMMAND = "command"
    COMPACTED = "compacted"


_TOLD: Final[dict[Cause, tuple[Phase, str]]] = {
    Cause.NOTHING: (Phase.IDLE, "nobody has said anything yet"),
    Cause.PROMPT: (Phase.THINKING, "a prompt came {ago}, and no answer yet"),
    Cause.RESULT: (Phase.THINKING, "the last result came {ago}, the model has the word"),
    Cause.THOUGHT: (Phase.THINKING, "the last thought came {ago}"),
    Cause.ANSWER: (Phase.THINKING, "an answer came {ago}, and may go on"),
    Cause.CALLING: (Phase.THINKING, "an answer came {ago}, and a call is to follow"),
    Cause.LAST_ANSWER: (Phase.WAITING, "the last answer, {ago}, calls no tool"),
    Cause.FAILED: (Phase.WAITING, "the last request failed {ago}"),
    Cause.RETRIED: (Phase.THINKING, "a request failed {ago}, and is tried again"),
    Cause.TURN_OVER: (Phase.WAITING, "the turn was over {ago}"),
    Cause.INTERRUPTED: (Phase.WAITING, "the person interrupted it {ago}"),
    Cause.COMMAND: (Phase.WAITING, "the last was a command of the person, {ago}"),
    Cause.COMPACTED: (Phase.THINKING, "it was compacted {ago}, and goes on"),
}

_STOPS: Final = {None: Cause.ANSWER, "tool_use": Cause.CALLING}
"""What an answer is, by why the model stopped; for all other reasons, it is the last."""

_MARKS: Final = (
    ("[Request interrupted by user", Cause.INTERRUPTED),
    ("<local-command-", Cause.COMMAND),
    ("<bash-", Cause.COMMAND),
)
"""How texts in a user's place begin that are no prompt, and ask nothing of the model."""


class OpenCall(NamedTuple):
    """A call that has no result yet."""

    name: str
    label: str
    since: float | None
    request: str | None = None
    shows_life: bool = False
    """True where it told of its progress: it runs, and does not wait for permission."""


class SessionStatus(NamedTuple):
    """What a session does at a moment."""

    phase: Phase
    how: str
    """How this is known, in words."""
    since: float | None = None
    """When it began, in seconds since 1970."""
    calls: tuple[OpenCall, ...] = ()

    @property
    def is_live(self) -> bool:
        """True while the session is written to, or may be: the one rule for every mark that says so."""
        return self.phase is not Phase.IDLE


class SessionActivity:
    """Is fed with the events of a session, and says what goes on in it. What it keeps are the calls that are open."""

    def __init__(self, *, is_subagent: bool = False) -> None:
        self.calls: dict[str, OpenCall] = {}
        self.cause = Cause.NOTHING
        self.since: float | None = None
        """When the cause was, in seconds since 1970."""
        self.latest: float | None = None
        """The latest time that any event carries."""
        self._is_subagent = is_subagent
        self._pairing: Pairing[str, bool] = Pairing()
        self._count = 0

    def take(self, events: Iterable[Event]) -> None:
        """Take in the events that come next."""
        for event in events:
            time = to_epoch(event.timestamp)
            if time is not None:
                self.latest = max(self.latest or time, time)
            is_side = (event.is_sidechain or event.agent_call) and isinstance(event, CONVERSATION)
            if (handler := _HANDLERS.get(type(event))) and (self._is_subagent or not is_side):
                handler(self, event, time)

    def status(self, now: float, written: float | None = None) -> SessionStatus:
        """What goes on at a moment, both in seconds since 1970; `written` is when the file was last written to."""
        found = self._status(now)
        last = max((time for time in (self.latest, written) if time is not None), default=None)
        if found.phase is Phase.IDLE or last is None or now - last < IDLE_SECONDS:
            return found
        quiet = f"nothing was written for {short_duration(now - last)}"
        return found._replace(phase=Phase.IDLE, how=f"{quiet}; {found.how}")

    def _status(self, now: float) -> SessionStatus:
        if self.calls:
            return _of_calls(tuple(self.calls.values()), now)
        cause = self.cause
        if cause is Cause.ANSWER and self.since is not None and now - self.since >= _SETTLING:
            cause = Cause.LAST_ANSWER
        phase, words = _TOLD[cause]
        return SessionStatus(phase, words.format(ago=_ago(self.since, now)), self.since)

    # --- what events do -------------------------------------------------------------------------------

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
        words = (
            said if isinstance(said, str) else join_texts([block for block in said if type(block) is not ToolResult])
        )
        if words:
            self._said(words, time)

    def _said(self, words: str, time: float | None) -> None:
        beginning = words[:100].lstrip()
        cause = next((cause for mark, cause in _MARKS if beginning.startswith(mark)), Cause.PROMPT)
        told = classify_prompt(words)
        if cause is Cause.PROMPT and told.prompt is None and not told.outputs:
            return
        self.calls.clear()  # whatever has no result by now will never have one
        self._set(cause, time)

    def _attachment(self, event: Attachment, time: float | None) -> None:
        attached = event.attachment
        if attached is not None and attached.type == QUEUED and not attached.is_meta and not self.calls:
            self._set(Cause.PROMPT, time)

    def _assistant(self, event: Assistant, time: float | None) -> None:
        message, said = event.message, event.message_content
        request = event.request_id or (message.id if message else None)
        if request:  # the model speaks again: it had an answer to every call of its responses before
            self.calls = {id: call for id, call in self.calls.items() if call.request in (request, None)}
        stop = message.stop_reason if message else None
        for block in [Text(said)] if isinstance(said, str) else said or ():
            if type(block) is ToolUse:
                self._open(block, event.uuid, request, time)
            elif type(block) is Text and event.is_api_error:
                self._set(Cause.FAILED, time)
            elif type(block) is Text and block.text and not block.text.isspace():
                self._set(_STOPS.get(stop, Cause.LAST_ANSWER), time)
            elif isinstance(block, Thinking | RedactedThinking):
                self._set(Cause.THOUGHT, time)

    def _open(self, block: ToolUse, uuid: str | None, request: str | None, time: float | None) -> None:
        self._count += 1
        name, key = strip_escapes(block.name or ""), block.id or f"({self._count})"
        if self._pairing.add_call(key, block.id, name, uuid) is None:
            self.calls[key] = OpenCall(name, tools.label(name, block.input), time, request)

    def _progress(self, event: Progress, time: float | None) -> None:
        call = self.calls.get(event.parent_call or "")
        if call is not None and event.data is not None and event.data.type != "hook_progress":
            self.calls[event.parent_call or ""] = call._replace(shows_life=True)

    def _system(self, event: System, time: float | None) -> None:
        if event.subtype == COMPACTION:
            facts = event.compact_metadata or event.stream_compaction
            by_person = facts is not None and facts.trigger == _MANUAL
            self.calls.clear()
            self._set(Cause.COMMAND if by_person else Cause.COMPACTED, time)
        elif cause := _REMARKS.get(event.subtype or ""):
            self.calls.clear()
            self._set(cause, time)


_REMARKS: Final = {
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


def _of_calls(calls: tuple[OpenCall, ...], now: float) -> SessionStatus:
    since = min((call.since for call in calls if call.since is not None), default=None)
    if asking := [call for call in calls if call.name in tools.ASKING]:
        how = f"{asking[0].name} has no answer{_for(asking[0].since, now)}"
        return SessionStatus(Phase.WAITING, how, since, calls)
    if len(calls) == 1:
        how = f"a call of {calls[0].name or 'a tool'} has no result{_for(since, now)}"
    else:
        how = f"{len(calls)} calls have no result{_for(since, now)}: {', '.join(_names(calls))}"
    if not all(call.shows_life or call.name in tools.AGENTS for call in calls):
        how += "; it runs, or waits for permission" if len(calls) == 1 else "; they run, or wait for permission"
    return SessionStatus(Phase.RUNNING, how, since, calls)


def _names(calls: Iterable[OpenCall]) -> Iterable[str]:
    return dict.fromkeys(call.name for call in calls)


def _ago(time: float | None, now: float) -> str:
    return "at a time that is not known" if time is None else f"{short_duration(max(now - time, 0))} ago"


def _for(time: float | None, now: float) -> str:
    return "" if time is None else f" for {short_duration(max(now - time, 0))}"
