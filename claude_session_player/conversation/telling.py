"""Events to entries, one after another: results go to their calls, and sub-agents to the calls that started them.

Only a window of entries is held back, until the first of them has its result, so that the beginning of a long session
is told without reading the rest. A result that comes too late for that is an entry of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any, Final

from claude_session_player import rawjson
from claude_session_player.account import BLANK, MALFORMED, MERGED, SHOWN, Account, Issue, Outcome, hidden, unknown
from claude_session_player.content import joined, pictures_of, result_parts
from claude_session_player.conversation.branches import PLAIN, SIDE, TOOL
from claude_session_player.conversation.cast import Cast
from claude_session_player.conversation.copies import Copies
from claude_session_player.conversation.entries import Call, Entry, Kind, Result
from claude_session_player.conversation.growth import Growth
from claude_session_player.conversation.strands import Fork
from claude_session_player.events import (
    CONVERSATION,
    NOTHING,
    QUEUED,
    QUIET_RECORDS,
    REFUSALS,
    AnyBlock,
    Assistant,
    Attachment,
    Blank,
    Content,
    Document,
    Event,
    Image,
    Malformed,
    Other,
    Progress,
    Quiet,
    RedactedThinking,
    ServerToolUse,
    System,
    Text,
    Thinking,
    Title,
    ToolResult,
    ToolUse,
    Turn,
    Unknown,
    User,
    decode_task_made,
    text_of,
)
from claude_session_player.normalized import is_injected, is_peer
from claude_session_player.prompts import CONTINUATION, classify
from claude_session_player.text import clean, trim_breaks

COPY: Final = hidden("copy of an earlier line")
SIDECHAIN: Final = hidden("sub-agent that is told elsewhere")

_WINDOW: Final = 200
"""So many entries are held back at most while a call waits for its result."""
_PATIENCE: Final = 30
"""So many, while a result waits for its call."""
_NO_CONTENT: Final = "(No content)"
_EMPTY: Final = "(Empty)"
_LOUD: Final = frozenset(("error", "warning", "notice"))
"""The levels of remarks that a person should see."""
_TASK_LISTS: Final = frozenset(("TaskCreate", "TaskUpdate"))


class Telling:
    """One conversation as it is told: that of a session, or that of a sub-agent (`is_agent`).

    `account` says what became of every line, `growth` how the conversation forked.
    """

    def __init__(self, cast: Cast, *, is_agent: bool = False, known: Set[str | None] = frozenset()) -> None:
        self.cast = cast
        self.account = Account()
        self.growth = Growth(SIDE if is_agent else PLAIN)
        self.odd_blocks: dict[str, int] = {}
        """The kinds of blocks that nobody knows, and the first line of each."""
        self._is_agent = is_agent
        self._copies = Copies(known)
        self._waiting: deque[Entry] = deque()
        self._calls: dict[str, Call] = {}
        self._early: dict[str, Call] = {}
        self._tasks: dict[str, str] = {}

    def entries(self, events: Iterable[Event]) -> Iterator[Entry]:
        """Every entry, in the order of the file."""
        waiting, book, takers = self._waiting, self.account.add, _TAKERS
        is_agent = self._is_agent
        for event in events:
            if not is_agent and (event.is_sidechain or event.agent_call) and type(event) in CONVERSATION:
                book(event.line, self._overheard(event))
            else:
                book(event.line, takers[type(event)](self, event))
            while waiting:
                if type(waiting[0]) is Entry:
                    yield waiting.popleft()
                elif self._is_ready(waiting[0]):
                    yield self._settled(waiting.popleft())
                else:
                    break
        while waiting:
            yield self._settled(waiting.popleft())

    def _overheard(self, event: Event) -> Outcome:
        """A line of a sub-agent inside of the file, which is told where it was called."""
        self.growth.remark(event)
        if self._copies.has(event.uuid, event.timestamp, event.said if isinstance(event, Turn) else None):
            return COPY
        self.cast.overhear(event)
        return SIDECHAIN

    def _is_ready(self, entry: Entry) -> bool:
        """True for a call or a result that needs not wait for the other."""
        assert isinstance(entry, Call)
        if entry.kind is Kind.RESULT:
            return entry.id not in self._early or len(self._waiting) > _PATIENCE
        return entry.result is not None or len(self._waiting) > _WINDOW

    def _settled(self, entry: Entry) -> Entry:
        """An entry as it leaves the window."""
        if not isinstance(entry, Call):
            return entry
        if entry.kind is Kind.RESULT:
            self._early.pop(entry.id or "", None)
            return entry
        if not self.cast.is_alone:
            entry.actors = self.cast.called_by(entry)
        if entry.id and self._calls.get(entry.id) is entry:  # what it holds is not needed any more
            self._calls[entry.id] = Call(Kind.CALL, entry.line, name=entry.name, is_told=True)
        return entry

    def _fork(self, event: Event, fork: Fork | None) -> None:
        """Tell where the conversation goes back."""
        if fork is not None:
            self._add(event, Kind.FORK, body=fork)

    def _add(self, event: Event, kind: Kind, text: str = "", **more: Any) -> Outcome:
        self._waiting.append(Entry(kind, event.line, event.timestamp, event.uuid, text, **more))
        return SHOWN

    # --- in a user's place --------------------------------------------------------------------------

    def user(self, event: User) -> Outcome:
        """A prompt, results, or something that the harness put in."""
        said = event.said
        if type(said) is list and len(said) == 1 and type(block := said[0]) is ToolResult:  # nine lines of ten
            self.growth.plain(event, TOOL)
            if self._copies.has(event.uuid, event.timestamp, said):
                return COPY
            return self._result(event, block, event.tool_use_result)
        if self._copies.has(event.uuid, event.timestamp, said):
            return self._copied(event)
        blocks = said if isinstance(said, list) else []
        results = [block for block in blocks if type(block) is ToolResult]
        if not results:
            return self._said(event, said, event)
        alone = event.tool_use_result if len(results) == 1 else NOTHING
        outcomes = [self._result(event, block, alone) for block in results]
        if rest := [block for block in blocks if type(block) is not ToolResult]:
            outcomes.append(self._said(event, rest, event))
        else:
            self.growth.plain(event, TOOL)
        return min(outcomes, key=lambda outcome: outcome.fate)

    def attachment(self, event: Attachment) -> Outcome:
        """What a person typed while the model was at work; all else is context."""
        attached = event.attachment
        if attached is None or attached.type != QUEUED:
            self.growth.plain(event)
            return hidden(f"attachment {attached.type}" if attached else "attachment")
        if self._copies.has(event.uuid, event.timestamp, attached.prompt):
            return self._copied(event)
        return self._said(event, attached.prompt, User(is_meta=attached.is_meta))

    def _copied(self, event: Event) -> Outcome:
        self.growth.copy(event)
        return COPY

    def _said(self, event: Event, said: Content, flags: User) -> Outcome:
        """A text in a user's place, with the flags that say whose it is."""
        if not said and said != "":
            self.growth.remark(event)
            return self._add(event, Kind.TASK, _EMPTY if said is None else _NO_CONTENT)
        pictures: tuple[Any, ...] = ()
        if isinstance(said, list):
            pictures = pictures_of(said)
            self._note_odd(event, said)
            said = joined([block for block in said if not isinstance(block, Image | Document)])
        if flags.is_compact_summary:
            self.growth.remark(event)
            return self._add(event, Kind.SUMMARY, trim_breaks(clean(said)))
        if flags.is_meta or flags.is_visible_in_transcript_only:
            self.growth.remark(event)
            return self._add(event, Kind.INJECTED, trim_breaks(clean(said)), pictures=pictures, aside=True)
        return self._classified(event, said, pictures, is_injected(flags))

    def _classified(self, event: Event, text: str, pictures: tuple[Any, ...], injected: bool) -> Outcome:
        found = classify(text)
        prompt = found.prompt if found.prompt and not found.prompt.isspace() else ""
        if prompt or pictures:
            is_person = not injected and not is_peer(text)
            if is_person:
                self._fork(event, self.growth.prompt(event))
            else:
                self.growth.plain(event)
            kind = Kind.TASK if self._is_agent else Kind.PROMPT if is_person else Kind.MESSAGE
            return self._add(event, kind, prompt, pictures=pictures)
        self.growth.remark(event)
        if found.outputs:
            return self._add(event, Kind.OUTPUT, "\n".join(found.outputs))
        if found.hidden_by is CONTINUATION:
            return self._add(event, Kind.SUMMARY, trim_breaks(clean(text)))
        if text.strip():
            return self._add(event, Kind.INJECTED, trim_breaks(clean(text)), aside=True)
        return found.hidden_by

    def _note_odd(self, event: Event, blocks: list[AnyBlock]) -> None:
        for block in blocks:
            if isinstance(block, Other):
                self._block(event, block)

    # --- tools ----------------------------------------------------------------------------------------

    def _result(self, event: User, block: ToolResult, structured: Any) -> Outcome:
        result = Result(block, structured, event.line, event.timestamp, event.uuid)
        call = self._calls.get(block.tool_use_id) if block.tool_use_id else self._unnamed(event, block)
        if call is not None and call.result is None and not call.is_told:
            call.result = result
            if call.name in _TASK_LISTS:
                self._remember(call)
            return MERGED
        name = call.name if call else block.name or ""
        late = Call(
            Kind.RESULT, event.line, event.timestamp, event.uuid, name=name, id=block.tool_use_id, result=result
        )
        if call is not None:
            late.body = call.line
        elif block.tool_use_id:
            self._early[block.tool_use_id] = late
        self._waiting.append(late)
        return SHOWN

    def _unnamed(self, event: User, block: ToolResult) -> Call | None:
        """The call that a result without a call id answers: the first open one of its name, or that of its source."""
        open_calls = [
            entry for entry in self._waiting if isinstance(entry, Call) and not entry.id and entry.result is None
        ]
        for call in open_calls:
            if block.name in (None, call.name):
                return call
        return next(
            (e for e in self._waiting if isinstance(e, Call) and event.source_uuid and e.uuid == event.source_uuid),
            None,
        )

    def _remember(self, call: Call) -> None:
        """Of a task list, only the first call says what a task is; later ones have its number."""
        if not isinstance(call.input, dict) or call.result is None:
            return
        try:
            number = str(decode_task_made(call.result.structured).task.id)
        except REFUSALS:
            words = result_parts(call.result.block)[0].split()
            number = next((word.strip("#:") for word in words if word.startswith("#")), "")
        if isinstance(subject := call.input.get("subject"), str):
            self._tasks.setdefault(number, subject)

    def _call(self, event: Event, block: ToolUse) -> Outcome:
        name = clean(block.name or "")
        call = Call(
            Kind.CALL, event.line, event.timestamp, event.uuid, name=name, id=block.id or None, input=block.input
        )
        if name in _TASK_LISTS and isinstance(block.input, dict):
            call.subject = self._tasks.get(str(block.input.get("taskId")))
        if block.id:
            self._calls[block.id] = call
            early = self._early.pop(block.id, None)
            if early is not None:
                call.result = early.result
                self._waiting.remove(early)
        self._waiting.append(call)
        return SHOWN

    # --- the model ----------------------------------------------------------------------------------

    def assistant(self, event: Assistant) -> Outcome:
        """Every block of an answer."""
        message, said = event.message, event.said
        if self._copies.has(event.uuid, event.timestamp, said):
            return self._copied(event)
        self._fork(event, self.growth.response(event, event.request_id or (message.id if message else None)))
        if said is None or said == []:
            return self._add(event, Kind.ANSWER, _EMPTY if said is None else _NO_CONTENT)
        blocks = [Text(said)] if isinstance(said, str) else said
        outcomes = [_BLOCKS.get(type(block), Telling._block)(self, event, block) for block in blocks]
        return outcomes[0] if len(outcomes) == 1 else min(outcomes, key=lambda outcome: outcome.fate)

    def _text(self, event: Assistant, block: Text) -> Outcome:
        text = trim_breaks(clean(block.text or ""))
        if not text or text.isspace():
            return hidden("answer without text")
        return self._add(event, Kind.ERROR if event.is_api_error else Kind.ANSWER, text)

    def _thought(self, event: Event, block: Thinking) -> Outcome:
        text = trim_breaks(clean(text_of(block.thinking)))
        return self._add(event, Kind.THOUGHT, text) if text.strip() else hidden("thought without text")

    def _redacted(self, event: Event, block: RedactedThinking) -> Outcome:
        return self._add(event, Kind.THOUGHT, "(redacted)")

    def _picture(self, event: Event, block: Image | Document) -> Outcome:
        return self._add(event, Kind.ANSWER, pictures=pictures_of([block]))

    def _answered(self, event: Event, block: ToolResult) -> Outcome:
        return self._result(User(line=event.line, timestamp=event.timestamp, uuid=event.uuid), block, NOTHING)

    def _block(self, event: Event, block: AnyBlock) -> Outcome:
        self.odd_blocks.setdefault(block.kind, event.line)
        body = block.body if isinstance(block, Other) else None
        return self._add(event, Kind.BLOCK, block.kind, body=body)

    # --- the harness --------------------------------------------------------------------------------

    def system(self, event: System) -> Outcome:
        """Compactions, errors, recaps; what else the harness remarks is told only in full."""
        self.growth.remark(event)
        if self._copies.has(event.uuid, event.timestamp, None):
            return COPY
        match event.subtype:
            case "compact_boundary":
                facts = event.compact_metadata or event.stream_compaction
                return self._add(event, Kind.COMPACTION, _compaction(facts), body=facts)
            case "turn_duration":
                return self._add(event, Kind.NOTE, f"turn took {int(event.duration_ms or 0) / 1000:.0f} s", aside=True)
            case "api_error" | "error":
                return self._add(event, Kind.ERROR, _reason(event))
        said = classify(text_of(event.content))
        text = trim_breaks("\n".join(said.outputs) or said.prompt or "")
        if not text.strip():
            return hidden(f"system {event.subtype}" if event.subtype else "system")
        if event.subtype == "away_summary":
            return self._add(event, Kind.SUMMARY, text)
        if event.subtype == "local_command":
            return self._add(event, Kind.OUTPUT, text)
        return self._add(event, Kind.NOTE, text, aside=event.level not in _LOUD)

    def progress(self, event: Progress) -> Outcome:
        """A sign of life is not told, but it names a sub-agent."""
        self.growth.plain(event)
        data = event.data
        if data is not None and data.agent_id:
            self.cast.note(event.parent_call, data.agent_id)
        return hidden(f"progress {data.type}" if data else "progress")

    def quiet(self, event: Quiet) -> Outcome:
        """Titles, state, links: a summary is told."""
        self.growth.plain(event)
        if isinstance(event, Title) and event.kind == "summary" and event.title:
            return self._add(event, Kind.SUMMARY, trim_breaks(clean(event.title)))
        return hidden(event.kind)

    def unknown(self, event: Unknown) -> Outcome:
        """A record of a type that nobody knows."""
        self.growth.remark(event)
        self.account.unknown_events[event.name] += 1
        self.account.first_seen.setdefault(event.name, event.line)
        return unknown(event.name)

    def malformed(self, event: Malformed) -> Outcome:
        """A line that could not be read."""
        self.account.issues.append(Issue(event.line, event.offset, event.reason))
        return MALFORMED

    def blank(self, event: Blank) -> Outcome:
        """A line with nothing on it."""
        return BLANK


def _compaction(facts: Any) -> str:
    if facts is None:
        return ""
    tokens = f"{facts.pre_tokens:,} tokens" if facts.pre_tokens else ""
    return ", ".join(filter(None, (facts.trigger, tokens)))


def _reason(event: System) -> str:
    """Why a request failed, in the words of the API where there are any."""
    text = text_of(event.content)
    error = rawjson.load(event.error)
    if not text and isinstance(error, dict):
        inner = error.get("error")
        found = next((v for v in (error.get("formatted"), error.get("message")) if isinstance(v, str) and v), None)
        text = found or rawjson.compact(inner if isinstance(inner, dict) else error)
    return trim_breaks(clean(text)) or "a request failed"


_BLOCKS: Final[dict[type, Callable[[Telling, Any, Any], Outcome]]] = {
    Text: Telling._text,
    Thinking: Telling._thought,
    RedactedThinking: Telling._redacted,
    ToolUse: Telling._call,
    ServerToolUse: Telling._call,
    ToolResult: Telling._answered,
    Image: Telling._picture,
    Document: Telling._picture,
}

_TAKERS: Final[dict[type, Callable[[Telling, Any], Outcome]]] = {
    User: Telling.user,
    Assistant: Telling.assistant,
    System: Telling.system,
    Progress: Telling.progress,
    Attachment: Telling.attachment,
    Unknown: Telling.unknown,
    Malformed: Telling.malformed,
    Blank: Telling.blank,
    **dict.fromkeys(QUIET_RECORDS, Telling.quiet),
}
